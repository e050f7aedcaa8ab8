"""Which columns and rows of a file become the data set, and what is said about those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fitness.data import Dataset
from harness_adapter.csv_file import CsvFile, Numbers
from harness_adapter.task import Range, Rows
from operators.errors import InputError

F64 = NDArray[np.float64]
Labels = tuple[int | str, ...]


@dataclass(frozen=True, eq=False)
class Groups:
    """The cluster of every row of the file: `index` into `labels`, -1 where the cell is missing. Shape (rows,)."""

    header: str
    index: NDArray[np.int64]
    labels: Labels


@dataclass(frozen=True, eq=False)
class Selection:
    """The data set, the headers of its features, and what was left out."""

    dataset: Dataset
    inputs: tuple[str, ...]
    rows: Rows
    group_ids: Labels = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Least and greatest value of each input."""
        return tuple((float(row.min()), float(row.max())) for row in self.dataset.X)


@dataclass
class _Said:
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def select(
    file: CsvFile,
    target: str,
    inputs: Sequence[str],
    *,
    groups: Groups | None = None,
    marks: Iterable[str] = (),
    insist: bool = False,
) -> Selection:
    """Numeric inputs and the rows in which every one of them and the target is finite.

    `marks` are texts that stand for a missing value. Inputs that hold text are left out with a warning, or are
    an error when the user named them (`insist`). The data set's names are the headers. Raises InputError for a
    target that holds text, when no input is left and when no row is usable.
    """
    said = _Said()
    y = _target(file, target, marks, said)
    kept, columns = _inputs(file, inputs, marks, insist, said)
    if not kept:
        why = "; ".join(said.warnings) or "no other column than the target"
        raise InputError(f"{file.header.path}: no numeric input column is left; {why}")
    X = np.vstack(columns)
    rows, used = _usable(X, y, groups)
    if not used.any():
        raise InputError(f"{file.header.path}: no usable row; {_dropped(rows, kept, X, target, y)}")
    if rows.dropped:
        said.warnings.append(_dropped(rows, kept, X, target, y))
    _look(X[:, used], y[used], kept, target, said)
    group, group_ids = _grouped(groups, used, said)
    dataset = Dataset.of(X[:, used], y[used], kept, group=group)
    return Selection(dataset, kept, rows, group_ids, tuple(said.notes), tuple(said.warnings))


def _target(file: CsvFile, target: str, marks: Iterable[str], said: _Said) -> F64:
    numbers = file.numbers(file.header.index(target, "target"), marks)
    if numbers.texts:
        raise InputError(
            f"{file.header.path}: column {target!r}, the target, must hold numbers, but has {file.text_found(numbers)}"
        )
    _say_marks(target, numbers, said)
    return numbers.values


def _inputs(
    file: CsvFile, inputs: Sequence[str], marks: Iterable[str], insist: bool, said: _Said
) -> tuple[tuple[str, ...], list[F64]]:
    kept: list[str] = []
    columns: list[F64] = []
    for header in inputs:
        numbers = file.numbers(file.header.index(header, "input"), marks)
        reason = _unusable(file, numbers)
        if reason is None:
            kept.append(header)
            columns.append(numbers.values)
            _say_marks(header, numbers, said)
        elif insist:
            raise InputError(f"{file.header.path}: input {header!r} {reason}; leave it out or mend the file")
        else:
            said.warnings.append(f"input {header!r} {reason}: left out")
    return tuple(kept), columns


def _unusable(file: CsvFile, numbers: Numbers) -> str | None:
    if numbers.texts:
        return f"holds text ({file.text_found(numbers)})"
    if not np.isfinite(numbers.values).any():
        return "has no finite number in any row"
    return None


def _say_marks(header: str, numbers: Numbers, said: _Said) -> None:
    if numbers.marks:
        said.notes.append(f"column {header!r}: {', '.join(map(repr, numbers.marks))} read as missing values")


def _usable(X: F64, y: F64, groups: Groups | None) -> tuple[Rows, NDArray[np.bool_]]:
    missing = np.isnan(X).any(axis=0) | np.isnan(y)
    if groups is not None:
        missing |= groups.index < 0
    infinite = ~missing & ~(np.isfinite(X).all(axis=0) & np.isfinite(y))
    return Rows(len(y), int(missing.sum()), int(infinite.sum())), ~missing & ~infinite


def _dropped(rows: Rows, kept: Sequence[str], X: F64, target: str, y: F64) -> str:
    """``12 of 200 rows dropped: 10 with a missing value, 2 with an infinite one ('x2': 8, 'y': 4)``."""
    columns = {target: y} | dict(zip(kept, X, strict=True))
    bad = {name: int((~np.isfinite(values)).sum()) for name, values in columns.items()}
    where = ", ".join(f"{name!r}: {count}" for name, count in bad.items() if count) or "the group is missing"
    return (
        f"{rows.dropped} of {rows.read} rows dropped: {rows.missing} with a missing value, "
        f"{rows.infinite} with an infinite one ({where})"
    )


def _look(X: F64, y: F64, kept: Sequence[str], target: str, said: _Said) -> None:
    """Say what a person would want to know about the rows that are left."""
    if len(y) == 1:
        said.warnings.append("only one row: it cannot determine a law, any law through it fits")
    elif len(y) <= 3:
        said.warnings.append(f"only {len(y)} rows: they hardly determine a law, and none is left to check it")
    elif np.all(y == y[0]):
        said.notes.append(f"the target {target!r} is {y[0]:g} in every row")
    constant = [name for name, row in zip(kept, X, strict=True) if len(y) > 1 and np.all(row == row[0])]
    if constant:
        said.notes.append(f"the same value in every row: {', '.join(map(repr, constant))}")


def _grouped(groups: Groups | None, used: NDArray[np.bool_], said: _Said) -> tuple[NDArray[np.int64] | None, Labels]:
    if groups is None:
        return None, ()
    index = groups.index[used]
    present = np.unique(index)
    if len(present) == 1:
        said.warnings.append(
            f"one group only (column {groups.header!r}): nothing tells what differs between groups from what does not"
        )
    return index, tuple(groups.labels[int(g)] for g in present)
