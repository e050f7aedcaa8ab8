"""Fitting and evaluating constants: the Python face of the kernels.

Programs of a batch are independent and rows are added up in fixed blocks, so results are identical, bit for bit,
for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fitness import least_squares
from fitness.batch_fit import Effort, Target, fit_batch
from fitness.data import Dataset
from fitness.kernels import predict_batch
from fitness.metrics import BAD_LOSS, Metric, Space, metric_of
from operators.program import Program, ProgramBatch

F64 = NDArray[np.float64]
ALL_ROWS = slice(None)
_CHUNKS_PER_THREAD = 8  # enough to even out the threads' work


class StopReason(IntEnum):
    """Why the fit of a program ended."""

    NOTHING_TO_FIT = least_squares.NOTHING_TO_FIT
    ITERATIONS = least_squares.ITERATIONS
    CONVERGED = least_squares.CONVERGED
    PERFECT = least_squares.PERFECT
    STUCK = least_squares.STUCK
    BAD_START = least_squares.BAD_START


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit gives for each of P programs.

    value (P, L): node values with the fitted constants in place. loss (P,): in the task's metric, lower is better,
    finite (BAD_LOSS for a law with a bad row). iterations (P,), reason (P,): see `StopReason`. redundant (P,): how
    many constants the data cannot tell from the others, so that they stayed where they were. signature (P,): equal
    for programs whose predictions agree to about 7 digits.
    """

    value: F64
    loss: F64
    iterations: NDArray[np.int64]
    reason: NDArray[np.int8]
    redundant: NDArray[np.int8]
    signature: NDArray[np.uint64]


def fit(
    batch: ProgramBatch,
    data: Dataset,
    metric: str,
    max_iterations: int = 5,
    rows: slice = ALL_ROWS,
    threads: int = 1,
    robust: bool = False,
    small_gain: float = 1e-10,
) -> Fitted:
    """Fit the constants of every program by at most `max_iterations` steps; 0 only evaluates.

    `rows` (contiguous) are the rows fitted and scored. Constants are fitted by least squares in the metric's space;
    `robust` adds rounds of reweighting for metrics of absolute errors. A descent has converged when it expects to
    lower the squared error by less than the share `small_gain`. The start values are kept where no fit lowers the
    loss.
    """
    spec = metric_of(metric)
    X = np.ascontiguousarray(data.X[:, rows])
    target = _target(spec, np.ascontiguousarray(data.y[rows]), None if data.weight is None else data.weight[rows])
    effort = Effort(max_iterations, small_gain, robust)
    n = len(batch)
    out = Fitted(
        value=batch.value.copy(),
        loss=np.full(n, BAD_LOSS),
        iterations=np.zeros(n, np.int64),
        reason=np.zeros(n, np.int8),
        redundant=np.zeros(n, np.int8),
        signature=np.zeros(n, np.uint64),
    )

    def run(first: int, last: int) -> None:
        fit_batch(
            batch.code, batch.arg, out.value, batch.length, X, target, effort, first, last,
            out.loss, out.iterations, out.reason, out.redundant, out.signature,
        )  # fmt: skip

    in_threads(run, n, threads)
    return out


def _target(spec: Metric, y: F64, weight: F64 | None) -> Target:
    own, start = fitting_weights(spec, y, weight)
    spread = float(np.sum(np.square(y - np.mean(y)))) if np.any(y != y[:1]) else 0.0
    size = float(np.sum(np.square(own * y)))
    return Target(y, spec.opcode, int(spec.space), spec.absolute, own, start, size, spread)


def evaluate(batch: ProgramBatch, data: Dataset, metric: str, threads: int = 1, rows: slice = ALL_ROWS) -> F64:
    """Losses (P,) of the programs as they are."""
    return fit(batch, data, metric, 0, rows, threads).loss


def predict(batch: ProgramBatch, X: F64, threads: int = 1) -> F64:
    """Values (P, rows) of every program on X (features, rows); NaN and infinities as they come."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty((len(batch), X.shape[1]))

    def run(first: int, last: int) -> None:
        predict_batch(batch.code, batch.arg, batch.value, batch.length, X, first, last, out)

    in_threads(run, len(batch), threads)
    return out


def predict_one(program: Program, X: F64) -> F64:
    """Values (rows,) of one program on X (features, rows)."""
    values: F64 = predict(ProgramBatch.of([program]), X)[0]
    return values


def fitting_weights(metric: Metric, y: F64, weight: F64 | None) -> tuple[F64, F64]:
    """Square roots of the rows' weights in the metric's space, and in the relative space that a fit starts from."""
    own = np.ones_like(y) if weight is None else np.sqrt(weight)
    size = np.abs(y)
    with np.errstate(divide="ignore"):
        relative = np.where(size > 0.0, 1.0 / size, 0.0)
    if metric.space == Space.RELATIVE:
        return own * relative, own * relative
    if metric.space == Space.LOG:
        return own * (y > 0.0), own * np.where(y > 0.0, relative, 0.0)
    if metric.space == Space.SYMMETRIC:
        floor = 1e-3 * float(np.median(size)) or 1.0
        return own, own / np.maximum(size, floor)
    return own, own


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process (a fork inherits the object, but not the threads: hence the process number)."""
    return ThreadPoolExecutor(threads, thread_name_prefix="kernels")


def in_threads(run: Callable[[int, int], None], n: int, threads: int) -> None:
    """Call run(first, last) over contiguous chunks of range(n), in `threads` threads."""
    if threads <= 1 or n <= 1:
        run(0, n)
        return
    edges = np.unique(np.linspace(0, n, min(n, threads * _CHUNKS_PER_THREAD) + 1).astype(int))
    list(_pool(threads, os.getpid()).map(run, edges[:-1].tolist(), edges[1:].tolist()))


def polish(program: Program, data: Dataset, metric: str, restarts: int = 8, threads: int = 1) -> tuple[Program, float]:
    """The thorough fit of one program, see `fitness.polish`: the program with better constants, and its loss."""
    from fitness.polish import polish as thorough  # that module fits through this one

    return thorough(program, data, metric, restarts, threads)


def scan(batch: ProgramBatch, data: Dataset, metric: str, threads: int = 1) -> Fitted:
    """Fit with grids over frequencies, rates and exponents, see `fitness.scan`; for few promising programs."""
    from fitness.scan import scan as over_grids

    return over_grids(batch, data, metric, threads)
