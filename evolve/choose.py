"""From the front to the law: refit every candidate on the folds and take the simplest that is as good as the best.

"As good as" is one standard error of the paired difference of the rows' errors. Two laws that differ by less than
that cannot be told apart by these data, and the shorter one is the one to believe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.candidate import Candidate
from fitness.constants import fit, predict
from fitness.data import Dataset, Fold, Folds
from fitness.metrics import BAD_LOSS, METRICS
from fitness.row_errors import row_errors
from operators.program import ProgramBatch

F64 = NDArray[np.float64]

_ITERATIONS = 20


@dataclass(frozen=True)
class Judged:
    """A candidate and what the folds say of it: mean loss over held-out rows (`cv_loss`), and the rows' errors."""

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
    losses = np.array([loss for loss, _ in results])
    mean = np.minimum(weights @ np.minimum(losses, BAD_LOSS), BAD_LOSS)
    scale = [w * len(folds) for w in weights]
    errors = np.concatenate([e * s for (_, e), s in zip(results, scale, strict=True)], axis=1)
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


def choose(judged: Sequence[Judged], exact: float, standard_errors: float, preferred_constants: int | None) -> Judged:
    """The simplest law within `standard_errors` of the best; among exact laws simply the shortest.

    A law with more fitted constants than the task prefers (its cap) pays for each extra one like for one more
    standard error of evidence: it must be clearly better to be taken.
    """
    exact_laws = [j for j in judged if j.candidate.loss <= exact]
    if exact_laws:
        return min(exact_laws, key=lambda j: (j.candidate.complexity, j.candidate.program.n_constants, j.cv_loss))
    best = min(judged, key=lambda j: (j.cv_loss, j.candidate.complexity))
    within = [j for j in judged if _as_good(j, best, standard_errors)]

    def simplicity(j: Judged) -> tuple[int, int, float]:
        extra = 0 if preferred_constants is None else max(j.candidate.program.n_constants - preferred_constants, 0)
        return (j.candidate.complexity + 2 * extra, j.candidate.program.n_constants, j.cv_loss)

    return min(within, key=simplicity)


def _as_good(one: Judged, best: Judged, standard_errors: float) -> bool:
    if one is best:
        return True
    if one.cv_loss >= BAD_LOSS:
        return False
    difference = one.errors - best.errors
    n = len(difference)
    if n < 2:
        return one.cv_loss <= best.cv_loss
    error = float(np.std(difference, ddof=1)) / np.sqrt(n)
    return float(np.mean(difference)) <= standard_errors * error
