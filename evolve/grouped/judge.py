"""Judging the laws of a front on clusters that had no part in their constants: by kernel, then by the emitted code."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emit.errors import NotExpressible
from emit.verify import calibrate
from evolve.grouped.problem import GroupedProblem, evenly
from evolve.grouped.text import module
from fitness.grouped import Calibrator, GroupedData, relative_errors
from fitness.metrics import BAD_LOSS, METRICS
from harness_adapter.task import Task
from operators.program import Program, ProgramBatch

F64 = NDArray[np.float64]

_FOLDS, _FOLDS_OF_MANY, _MANY = 8, 4, 24  # fewer folds of many clusters
_ROWS_JUDGED = 4000  # about so many rows of thinned clusters decide between laws
_ROWS_THAT_COUNT = 10  # of a judge window: rows of one cluster are not independent given the law
_STEPS, _OUTER = 30, 15
_MOST_WINDOWS = 24  # windows that the emitted code calibrates for each law
_HOPELESS = 1e3  # a window that failed, in units of its scale


def cross_validate(laws: Sequence[Program], problem: GroupedProblem) -> F64:
    """Errors (laws, clusters) by scale: constants and starts from the other clusters, locals from the fit window."""
    data = judged_clusters(problem)
    n = data.windows.n_groups
    if n < 3:
        found = Calibrator(data, problem.threads).run(ProgramBatch.of(laws), _STEPS, _OUTER)
        return relative_errors(found.errors, data)
    errors = np.empty((len(laws), n))
    folds = min(_FOLDS if n <= _MANY else _FOLDS_OF_MANY, n)
    parts = [np.arange(k, n, folds) for k in range(folds)]
    for held in parts:
        train = data.take(np.setdiff1d(np.arange(n), held))
        batch = ProgramBatch.of(laws)
        fitted = Calibrator(train, problem.threads).run(batch, _STEPS, _OUTER)
        ready = ProgramBatch(batch.code, batch.arg, fitted.value, batch.length)
        judge = data.take(held)
        found = Calibrator(judge, problem.threads).run(ready, _STEPS, given=True)
        errors[:, held] = relative_errors(found.errors, judge)
    return errors


def judged_clusters(problem: GroupedProblem) -> GroupedData:
    """The thinned clusters on which laws are compared: all of them, or some of many."""
    assert problem.thinned is not None
    return evenly(problem.thinned, _ROWS_JUDGED)


def evidence(problem: GroupedProblem) -> float:
    """The number of independent rows that the judge windows of all clusters amount to."""
    windows = judged_clusters(problem).windows
    return float(np.minimum(windows.stop - windows.cut, _ROWS_THAT_COUNT).sum()) / windows.kinds


def fit_thinned(laws: Sequence[Program], problem: GroupedProblem) -> list[Program]:
    """Constants fitted on thinned clusters, locals at their medians."""
    assert problem.thinned is not None
    return [law for law, _ in _fit(laws, problem.thinned, problem.threads)]


def fit_whole(laws: Sequence[Program], problem: GroupedProblem) -> list[tuple[Program, float]]:
    """Constants fitted on all rows of all clusters, locals at their medians, and the loss."""
    assert problem.whole is not None
    return _fit(laws, problem.whole, problem.threads)


def _fit(laws: Sequence[Program], data: GroupedData, threads: int) -> list[tuple[Program, float]]:
    batch = ProgramBatch.of(laws)
    found = Calibrator(data, threads).run(batch, 50, 30)
    return [(law.with_values(found.value[i, : len(law)]), float(found.loss[i])) for i, law in enumerate(laws)]


def emitted_errors(laws: Sequence[Program], task: Task, problem: GroupedProblem, seconds: float) -> F64:
    """Errors (laws, clusters) of the emitted modules on windows of training clusters; nan where time did not suffice.

    The modules run in fresh processes, two laws at a time.
    """
    data = problem.thinned
    assert data is not None
    some = np.unique(np.linspace(0, data.windows.n_groups - 1, _most_clusters(data)).astype(np.int64))
    chosen = data.take(some)
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(min(2, problem.threads)) as pool:
        jobs = [pool.submit(_one, law, k, Path(folder), task, chosen, deadline) for k, law in enumerate(laws)]
        return np.array([job.result() for job in jobs])


def _most_clusters(data: GroupedData) -> int:
    return min(data.windows.n_groups, max(1, _MOST_WINDOWS // data.windows.kinds))


def _one(law: Program, k: int, folder: Path, task: Task, data: GroupedData, deadline: float) -> F64:
    windows, spec = data.windows, METRICS[data.metric]
    unknown = np.full(windows.n_groups, np.nan)
    left = deadline - time.monotonic()
    if left < 1.0:
        return unknown
    path = folder / f"law{k}.py"
    try:
        path.write_text(module(law, task, data.metric, ()), encoding="utf-8")
        rows = windows.data
        cuts = [
            (rows.X[:, a:b], rows.y[a:b], rows.X[:, b:c])
            for a, b, c in zip(windows.start, windows.cut, windows.stop, strict=True)
        ]
        found = calibrate(path, task.inputs, cuts, timeout=left)
    except NotExpressible:
        return np.full(windows.n_groups, _HOPELESS)
    except RuntimeError:
        return unknown
    finally:
        if path.exists():
            os.unlink(path)
    losses = np.array(
        [spec.loss(rows.y[b:c], p) for b, c, p in zip(windows.cut, windows.stop, found.predictions, strict=True)]
    )
    return relative_errors(np.minimum(losses, BAD_LOSS)[None], data)[0]
