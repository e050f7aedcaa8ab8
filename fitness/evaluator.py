"""The seam between search and scoring: a batch of programs goes in, a `Scored` comes out.

Islands, checkpoints and clusters stand on this one protocol: the search never knows where a batch was scored.
Every program is scored on its own, so the result does not depend on threads, workers or the split of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fitness.constants import fit
from fitness.data import Dataset
from fitness.metrics import BAD_LOSS
from fitness.score import Scored
from operators.complexity import complexities
from operators.primitives import ARITY, CONST
from operators.program import FIXED, ProgramBatch

_AMPLIFIED = 1e9


@dataclass(frozen=True)
class Account:
    """Where programs were scored, and what that moved between processes."""

    in_process: int  # programs scored in this process
    by_worker: tuple[int, ...] = ()  # programs scored by each worker
    data_bytes: int = 0  # the data, moved once
    sent_bytes: int = 0  # programs, to the workers
    received_bytes: int = 0  # programs with fitted constants and scores, from the workers
    calls: int = 0
    replaced: int = 0  # workers that were lost and had a successor


class Evaluator(Protocol):
    """Scores batches of programs on the data it holds."""

    @property
    def evaluations(self) -> int:
        """Programs scored so far."""

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        """Fit the constants of every program by at most `iterations` descent steps and score it."""

    def account(self) -> Account:
        """Where the programs were scored so far."""

    def close(self) -> None:
        """Release threads, processes and memory; safe to call twice."""


class LoadableEvaluator(Evaluator, Protocol):
    """An `Evaluator` that can go on with other rows of the same features."""

    def load(self, data: Dataset) -> None:
        """Score on `data` from now on. Earlier scores do not compare with later ones."""


class InProcessEvaluator:
    """Scores in this process, on threads over kernels that do not hold the interpreter lock."""

    def __init__(self, data: Dataset, metric: str, threads: int = 1) -> None:
        self.metric = metric
        self.threads = threads
        self.evaluations = 0
        self.load(data)

    def load(self, data: Dataset) -> None:
        self.data = data
        self._largest = largest_constant(data)

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        self.evaluations += len(batch)
        fitted = fit(batch, self.data, self.metric, max_iterations=iterations, threads=self.threads)
        best = ProgramBatch(batch.code, batch.arg, fitted.value, batch.length)
        loss = np.where(runaway(best, self._largest), BAD_LOSS, fitted.loss)
        return Scored(best, loss, search_complexity(best), fitted.signature)

    def account(self) -> Account:
        return Account(self.evaluations)

    def close(self) -> None:
        """Nothing is held open."""


def largest_constant(data: Dataset) -> float:
    """A fitted constant beyond this amplifies rounding errors: ``1e14*(x - x*x/x)`` is noise, not a law."""
    spread = np.std(data.X, axis=1)
    smallest = float(np.min(spread[spread > 0.0], initial=1.0))
    return _AMPLIFIED * max(1.0, float(np.max(np.abs(data.y)))) * max(1.0, 1.0 / smallest) ** 2


def runaway(batch: ProgramBatch, largest: float) -> NDArray[np.bool_]:
    within = np.arange(batch.width) < batch.length[:, None]
    fitted = within & (batch.code == CONST) & (batch.arg != FIXED)
    return np.any(fitted & (np.abs(batch.value) > largest), axis=1)


def search_complexity(batch: ProgramBatch) -> NDArray[np.int64]:
    """C, but never less than the operations written down: terms that cancel must not come for free."""
    within = np.arange(batch.width) < batch.length[:, None]
    arity = np.where(within, ARITY[batch.code], 0)
    written = 2 * np.count_nonzero(arity == 2, axis=1) + np.count_nonzero(arity == 1, axis=1)
    return np.maximum(complexities(batch), written)
