"""The bundled examples: where they are, and what they are."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import yaml

from operators.errors import InputError, nearest

PREFIX = "example:"


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


def resolve(task: str) -> str:
    """``example:NAME`` as the path of its folder; any other text unchanged. Raises InputError for unknown names."""
    if not task.startswith(PREFIX):
        return task
    name, known = task.removeprefix(PREFIX), [example.name for example in listing()]
    if name not in known:
        raise InputError(f"unknown example {name!r}; bundled are {', '.join(known)}{nearest(name, known)}")
    return str(folder() / name)
