"""What one call of `evolve run` is told, beyond the configuration."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from evolve.config import RunConfig
from harness_adapter.options import ReadOptions


@dataclass(frozen=True)
class RunOptions:
    """`config` has its seed. `read` is what was said about a CSV file. `began` is when the clock of `config.time`
    started (time.monotonic)."""

    config: RunConfig
    out: Path | None = None
    resume: Path | None = None
    harness: Path | None = None
    read: ReadOptions = field(default_factory=ReadOptions)
    began: float = field(default_factory=time.monotonic)
