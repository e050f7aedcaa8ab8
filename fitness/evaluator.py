"""The seam between search and scoring: a batch of programs goes in, a `Scored` comes out.

Islands, checkpoints and clusters stand on this one protocol: the search never knows where a batch was scored.
Every program is scored on its own, so the result does not depend on threads, workers or the split of the batch.
"""

from __future__ import annotations

from typing import Protocol

from fitness.constants import fit
from fitness.data import Dataset
from fitness.score import Scored
from operators.complexity import complexities
from operators.program import ProgramBatch


class Evaluator(Protocol):
    """Scores batches of programs on the data it holds."""

    evaluations: int  # programs scored so far

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        """Fit the constants of every program by at most `iterations` descent steps and score it."""

    def close(self) -> None:
        """Release threads, processes and memory; safe to call twice."""


class InProcessEvaluator:
    """Scores in this process, on threads over kernels that do not hold the interpreter lock."""

    def __init__(self, data: Dataset, metric: str, threads: int = 1) -> None:
        self.data = data
        self.metric = metric
        self.threads = threads
        self.evaluations = 0

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        self.evaluations += len(batch)
        fitted = fit(batch, self.data, self.metric, max_iterations=iterations, threads=self.threads)
        best = ProgramBatch(batch.code, batch.arg, fitted.value, batch.length)
        return Scored(best, fitted.loss, complexities(best), fitted.signature)

    def close(self) -> None:
        """Nothing is held open."""
