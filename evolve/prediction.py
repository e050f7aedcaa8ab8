"""Applying a run's law to a table of new rows."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.record import TaskRecord
from evolve.rundir import RunDirectory
from harness_adapter.csv_file import MISSING_MARKS, CsvFile, read_body, read_header
from harness_adapter.dialect import sniff
from operators.errors import InputError

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The new table, and the law's value in each of its rows (NaN where an input is missing)."""

    file: CsvFile
    column: str
    values: F64

    @property
    def missing(self) -> int:
        """Rows without a prediction."""
        return int(np.count_nonzero(~np.isfinite(self.values)))

    def write(self, path: Path) -> None:
        """The table with one more column, as CSV."""
        frame = self.file.frame.assign(prediction=self.values)
        try:
            frame.to_csv(path, index=False, header=[*self.file.header.names, self.column])
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def predict_table(run: RunDirectory, task: TaskRecord, path: Path, sep: str | None, decimal: str | None) -> Predictions:
    """The law in best.py on the rows of a CSV file.

    A grouped law is calibrated first: on the rows of each group in which the target is given. Raises InputError
    for a column that the law needs and the file lacks, and for a group without such rows.
    """
    law = load_module(run.best)
    try:
        file = read_body(read_header(path, sniff(path, sep, decimal)))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    X = np.empty((file.n_rows, len(law.USED_INPUTS)))
    for position, name in enumerate(law.USED_INPUTS):
        X[:, position] = _column(file, name)
    values = np.full(file.n_rows, np.nan)
    complete: NDArray[np.bool_] = np.asarray(np.isfinite(X).all(axis=1))
    for rows, params in _clusters(law, task, file, X, complete):
        with np.errstate(all="ignore"):
            values[rows] = law.predict(X[rows], **params)
    return Predictions(file, f"{task.target}_predicted", values)


def _clusters(
    law: ModuleType, task: TaskRecord, file: CsvFile, X: F64, complete: NDArray[np.bool_]
) -> Sequence[tuple[NDArray[np.int64], dict[str, Any]]]:
    """Rows to predict together, and the parameters to do it with: one group of all rows for a law without locals."""
    if not law.LOCAL_FITTABLE:
        return [(np.flatnonzero(complete), {})]
    assert task.group_column is not None
    labels = file.labels(file.header.index(task.group_column, "group"))
    y = _column(file, task.target)
    fit: Callable[[F64, F64], dict[str, Any]] = law.fit
    clusters = []
    for label in dict.fromkeys(labels):
        rows = np.array([i for i, other in enumerate(labels) if other == label and complete[i]], dtype=np.int64)
        known = rows[np.isfinite(y[rows])]
        if not len(known):
            raise InputError(
                f"{file.header.path}: group {label!r} has no row with {task.target!r}; "
                "a grouped law is calibrated on a few rows of each group whose target is known"
            )
        clusters.append((rows, fit(X[known], y[known])))
    return clusters


def _column(file: CsvFile, name: str) -> F64:
    numbers = file.numbers(file.header.index(name, "column"), MISSING_MARKS)
    if numbers.texts:
        raise InputError(f"{file.header.path}: column {name!r} must hold numbers, but has {file.text_found(numbers)}")
    return numbers.values


def load_module(path: Path) -> ModuleType:
    """Import a contract module of ours from its file. Raises InputError when it is missing or does not import."""
    spec = importlib.util.spec_from_file_location("best_law", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path} is missing: the run has no law yet")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path} does not import: {error!r}") from None
    return module
