"""A law has to be finite wherever it may be asked: proven by intervals, or made so by clipping what offends."""

from __future__ import annotations

from fitness.data import Dataset
from harness_adapter.task import Range, Task
from operators.interval import bounds, guard
from operators.program import Program


def safe(program: Program, exact: bool, task: Task) -> Program | None:
    """The law as it may be published for a task; None where no clip that leaves the training rows alone makes it safe.

    Two kinds are left as they are: Frontier-CS has no clip to write, and the poles of an `exact` law of a plain table,
    which announces no range, are where the data put them.
    """
    if task.kind == "frontier_cs" or (exact and task.kind == "table"):
        return program
    return guarded(program, task.ranges, task.dataset)


def guarded(program: Program, ranges: tuple[Range, ...], data: Dataset) -> Program | None:
    """The program if it is proven finite over the box of `ranges`, else with its offending arguments clipped.

    None when no clip that leaves the training rows alone makes it provably finite.
    """
    if bounds(program, ranges) is not None:
        return program
    return guard(program, ranges, data.X)
