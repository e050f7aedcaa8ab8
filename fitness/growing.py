"""An evaluator on a sample of the rows that grows when the search asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from fitness.data import Dataset
from fitness.evaluator import Account, LoadableEvaluator
from fitness.score import Scored
from operators.program import ProgramBatch


class GrowingEvaluator:
    """The `Evaluator` of ever larger samples: `inner` holds the first, `later` are those it loads in turn."""

    def __init__(self, inner: LoadableEvaluator, later: Sequence[Dataset]) -> None:
        self._inner = inner
        self._later = list(later)

    @property
    def evaluations(self) -> int:
        return self._inner.evaluations

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        return self._inner.evaluate(batch, iterations)

    def grow(self) -> bool:
        """Go on to the next larger sample; False when this is the largest. Earlier scores do not compare with later."""
        if not self._later:
            return False
        self._inner.load(self._later.pop(0))
        return True

    def account(self) -> Account:
        return self._inner.account()

    def close(self) -> None:
        self._inner.close()
