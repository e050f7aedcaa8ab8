"""An evaluator on a sample of the rows that grows when the search asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fitness.data import Dataset
from fitness.evaluator import Account, Evaluator
from fitness.score import Scored
from operators.program import ProgramBatch


class GrowingEvaluator:
    """The `Evaluator` of ever larger `samples`; `open_on` makes one for each when it is needed."""

    def __init__(self, open_on: Callable[[Dataset], Evaluator], samples: Sequence[Dataset]) -> None:
        self._open_on = open_on
        self._later = list(samples[1:])
        self._inner = open_on(samples[0])
        self._before = 0  # evaluations on smaller samples

    @property
    def evaluations(self) -> int:
        return self._before + self._inner.evaluations

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        return self._inner.evaluate(batch, iterations)

    def grow(self) -> bool:
        """Go on to the next larger sample; False when this is the largest. Earlier scores do not compare with later."""
        if not self._later:
            return False
        self._before += self._inner.evaluations
        self._inner.close()
        self._inner = self._open_on(self._later.pop(0))
        return True

    def account(self) -> Account:
        """Of the sample in use."""
        return self._inner.account()

    def close(self) -> None:
        self._inner.close()
