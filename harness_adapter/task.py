"""`Task`: the one description of a problem, whatever kind of folder or file it came from. Pure data."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fitness.data import Dataset

Kind = Literal["scilaws", "frontier_cs", "table"]
Range = tuple[float, float]

# How a scorer's `fit` is timed where nobody says.
DEFAULT_FIT_TIMEOUT = 10.0


@dataclass(frozen=True)
class FrontierReference:
    """What a Frontier-CS score is measured against; the reference expression itself is never read."""

    dataset: str
    m_base: float
    m_ref: float
    C_ref: int


@dataclass(frozen=True)
class Column:
    """What the metadata tells of one column; for reports only, so every text may be empty."""

    name: str
    symbol: str = ""
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Prior:
    """A constant the metadata offers as a candidate; some are distractors. `value` is None when it is no number."""

    name: str
    value: float | None
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Split:
    """How the hidden test rows were divided from the training rows, as far as the `split` text tells.

    `ends`: beyond some value of `column`; `groups`: whole clusters or trajectories; `sorted` and `interleaved`
    describe the windows inside a held-out cluster along `column`. `column` is an input's header, or None.
    """

    kind: Literal["unknown", "random", "ends", "groups", "sorted", "interleaved"] = "unknown"
    column: str | None = None


@dataclass(frozen=True)
class Rows:
    """How many data rows the file has, and why some were not used."""

    read: int
    missing: int = 0
    infinite: int = 0

    @property
    def dropped(self) -> int:
        return self.missing + self.infinite

    @property
    def used(self) -> int:
        return self.read - self.dropped


@dataclass(frozen=True)
class Task:
    """A problem: usable numeric rows, the names of things, what a law may use, and what a scorer will do.

    `inputs`, `identifiers`, `columns`, `ranges` and `extrapolates` run parallel to the rows of `dataset.X`.
    `inputs` are headers exactly as a submission must name them, `identifiers` (= `dataset.names`) what code
    may call them. `ranges` is where a law must be finite: the metadata's range and the training data together.
    `max_constants` and `max_locals` are caps, None where there is none. `group_ids[g]` is the label that the
    file gives to the group of index g. `notes` say aloud what was assumed, `warnings` what may be wrong.
    """

    task_id: str
    kind: Kind
    source: Path
    train_path: Path
    dataset: Dataset
    target: str
    inputs: tuple[str, ...]
    identifiers: tuple[str, ...]
    metric: str
    primitives: tuple[str, ...]
    ranges: tuple[Range, ...]
    extrapolates: tuple[bool, ...]
    rows: Rows
    grouped: bool = False
    group_column: str | None = None
    group_ids: tuple[int | str, ...] = ()
    max_constants: int | None = None
    max_locals: int | None = None
    max_init_size: int | None = None
    fit_timeout: float | None = None
    metadata_path: Path | None = None
    target_column: Column = field(default_factory=lambda: Column(""))
    columns: tuple[Column, ...] = ()
    context: str = ""
    split_text: str = ""
    split: Split = field(default_factory=Split)
    priors: tuple[Prior, ...] = ()
    frontier: FrontierReference | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name fit for files; a benchmark's submissions are named after the task's folder."""
        name = self.source.name if self.kind == "scilaws" else self.task_id
        return re.sub(r"[^\w.-]+", "_", name).strip("._") or "task"
