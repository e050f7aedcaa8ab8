"""The bundled examples: where they are, and what they are."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Example:
    """One entry of `configs/examples/index.yaml`."""

    name: str
    layout: str
    what: str
    source: str
    licence: str


def folder() -> Path:
    """Where the examples are installed."""
    return Path(str(resources.files("configs"))) / "examples"


def listing() -> tuple[Example, ...]:
    """All examples, in the order of the index."""
    index = yaml.safe_load((folder() / "index.yaml").read_text(encoding="utf-8"))
    return tuple(Example(name=name, **about) for name, about in index.items())
