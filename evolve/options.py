"""What one call of `evolve run` is told, beyond the configuration."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evolve.config import RunConfig
from evolve.stopping import StopRequest


@dataclass(frozen=True)
class RunOptions:
    """`config` has its seed. `table` holds what was said about a CSV: target, inputs, ignore, metric, group, sep,
    decimal. `began` is when the clock of `config.time` started (time.monotonic). `stop` lets others end the run."""

    config: RunConfig
    out: Path | None = None
    resume: Path | None = None
    harness: Path | None = None
    table: Mapping[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    stop: StopRequest = field(default_factory=StopRequest)
