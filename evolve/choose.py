"""From the front to the law: refit every candidate on the folds and take the simplest that is as good as the best.

"As good as" is one standard error of the paired difference of the rows' errors. Two laws that differ by less cannot be
told apart by these data, and the shorter one is the one to believe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.candidate import Candidate
from evolve.description import Description
from fitness.constants import fit, predict
from fitness.data import Dataset, Fold, Folds
from fitness.metrics import BAD_LOSS, METRICS
from fitness.row_errors import row_errors
from operators.program import ProgramBatch

F64 = NDArray[np.float64]

_ITERATIONS = 20
_MOST_WORSE = 2.0  # times the best error; one row far off, as by a pole, is within any standard error


@dataclass(frozen=True)
class Judged:
    """A candidate and what the folds say of it: mean loss over held-out rows (`cv_loss`), and the errors of the rows,
    each over all folds that hold the row out, weighted as in the mean."""

    candidate: Candidate
    cv_loss: float
    errors: F64


def judge(candidates: Sequence[Candidate], data: Dataset, folds: Folds, metric: str, threads: int = 1) -> list[Judged]:
    """Refit all candidates on every fold, judge them on what it holds out.

    A fold's held-out loss is in the task's metric; folds that hold out ends weigh as much together as the random
    ones. Without folds (one row) the training loss stands in.
    """
    if not len(folds):
        return [Judged(c, c.loss, np.array([c.loss])) for c in candidates]
    batch = ProgramBatch.of([c.program for c in candidates])
    results = [_judge_fold(batch, data, fold, metric, threads) for fold in folds]
    weights = _fold_weights(folds)
    mean = np.minimum(weights @ np.minimum([loss for loss, _ in results], BAD_LOSS), BAD_LOSS)
    errors = np.zeros((len(candidates), data.n_rows))
    for (_, held_out), fold, weight in zip(results, folds, weights, strict=True):
        errors[:, fold.judge] += weight * data.n_rows / len(fold.judge) * held_out
    return [Judged(c, float(mean[i]), errors[i]) for i, c in enumerate(candidates)]


def _judge_fold(batch: ProgramBatch, data: Dataset, fold: Fold, metric: str, threads: int) -> tuple[F64, F64]:
    """Held-out loss (P,) and errors by row (P, rows held out) of one fold."""
    fitted = fit(batch, data.rows(fold.fit), metric, max_iterations=_ITERATIONS, threads=threads)
    refitted = ProgramBatch(batch.code, batch.arg, fitted.value, batch.length)
    held_out = data.rows(fold.judge)
    predictions = predict(refitted, held_out.X, threads=threads)
    losses = np.array([METRICS[metric].loss(held_out.y, p) for p in predictions])
    losses[fitted.loss >= BAD_LOSS] = BAD_LOSS
    return losses, row_errors(metric, held_out.y, predictions)


def _fold_weights(folds: Folds) -> F64:
    kinds = np.array([f.kind for f in folds])
    weights = np.zeros(len(kinds))
    present = sorted(set(kinds))
    for kind in present:
        weights[kinds == kind] = 1.0 / (len(present) * np.count_nonzero(kinds == kind))
    return weights


def choose(judged: Sequence[Judged], description: Description, exact: float, standard_errors: float) -> Judged:
    """The simplest law within `standard_errors` of the best; among exact laws simply the shortest.

    The best is the one of least description, with the held-out error: error penalised by complexity.
    """
    exact_laws = [j for j in judged if j.candidate.loss <= exact]
    if exact_laws:
        return min(exact_laws, key=lambda j: (j.candidate.complexity, j.candidate.program.n_constants, j.cv_loss))
    best = min(judged, key=lambda j: description.of(j.candidate.program, j.cv_loss))
    most = _MOST_WORSE**2 if description.squared else _MOST_WORSE
    within = [
        j
        for j in judged
        if j is best or (j.cv_loss <= most * best.cv_loss and _within(j.errors - best.errors, standard_errors))
    ]
    return min(within, key=lambda j: (description.law(j.candidate.program), j.cv_loss))


def _within(difference: F64, standard_errors: float) -> bool:
    """Is the mean difference no further above 0 than its standard errors allow?"""
    n = len(difference)
    if n < 2:
        return n == 1 and bool(difference[0] <= 0.0)
    error = float(np.std(difference, ddof=1)) / np.sqrt(n)
    return float(np.mean(difference)) <= standard_errors * error
