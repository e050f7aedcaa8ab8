"""Description length: what a law costs to write down, and what the rows' errors cost to write down given the law.

One currency, the nat, in which a longer law and a better fit can be weighed (minimum description length): a term that
costs more than it saves describes the noise. The law's part pays for the search, too: among e**k laws of k nats the
best fits that much better by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from operators.grammar import Grammar
from operators.program import Program

_LEAST = 1e-300  # errors of an exact law cost no less than this


@dataclass(frozen=True)
class Description:
    """Nats for laws of one task, whose errors are those of `rows` rows in `metric`.

    A law with more fitted constants than `cap` pays for each extra one twice. `noise` is the loss that the truth itself
    leaves, where the rows tell (see `fitness.noise`); a law below it is luck, and described as if it had that loss.
    """

    grammar: Grammar
    metric: str
    rows: float
    cap: int | None = None
    noise: float = 0.0

    @property
    def squared(self) -> bool:
        """Is the loss the square of an error?"""
        return self.metric in ("mse", "r2")

    def law(self, program: Program) -> float:
        """Nats for the nodes, and for each constant half a log of the rows that determine it."""
        extra = 0 if self.cap is None else max(program.n_constants - self.cap, 0)
        constant = 1.0 + 0.5 * float(np.log(self.rows + 1.0))
        return self.grammar.code_length(program) + constant * (program.n_constants + extra) + len(program.local_slots)

    def errors(self, loss: float) -> float:
        """Nats for the errors of independent rows, up to a constant: n log(rmse) for squared errors (Gaussian), n log(mae)
        for absolute ones (Laplace)."""
        power = 0.5 if self.squared else 1.0
        return self.rows * power * float(np.log(max(loss, self.noise, _LEAST)))

    def of(self, program: Program, loss: float) -> float:
        """Nats for a law and its errors."""
        return self.law(program) + self.errors(loss)
