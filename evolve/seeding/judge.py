"""Which of the laws found are worth telling the search: those on the front of error against length, and exact ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Inexpressible, evaluate, nearest_simple
from evolve.seeding.work import Meter
from operators.complexity import complexity
from operators.program import FIXED, Program

F64 = NDArray[np.float64]

EXACT = 1e-9  # relative rms error that numbers printed with ten digits still reach


class GrammarLike(Protocol):
    """What a proposal has to obey."""

    @property
    def primitives(self) -> tuple[str, ...]: ...
    @property
    def n_features(self) -> int: ...
    @property
    def max_length(self) -> int: ...
    @property
    def max_constants(self) -> int: ...
    def is_legal(self, program: Program) -> bool: ...


@dataclass(frozen=True)
class Proposal:
    """A law for the search: `error` is its weighted rms error over the target's spread on the rows it was judged on."""

    program: Program
    origin: str
    error: float


class Judge:
    """Scores programs on the data and remembers the front of what was proposed."""

    def __init__(self, X: F64, y: F64, w: F64, grammar: GrammarLike, meter: Meter, slack: float = 1.05) -> None:
        self.X, self.y, self.w = X, y, w
        self.grammar, self.meter, self.slack = grammar, meter, slack
        mean = float(np.average(y, weights=w * w))
        self.spread = float(np.sqrt(np.mean((w * (y - mean)) ** 2))) or 1.0
        self.front: list[tuple[int, float]] = []
        self.seen: set[bytes] = set()
        self.best = np.inf

    @property
    def solved(self) -> bool:
        return self.best <= EXACT

    def error(self, program: Program) -> float:
        """Relative weighted rms error; inf where the program is not finite on every row."""
        self.meter.evaluate(1, len(self.y))
        with np.errstate(all="ignore"):
            e = float(np.sqrt(np.mean((self.w * (self.y - evaluate(program, self.X))) ** 2)) / self.spread)
        return e if np.isfinite(e) else np.inf

    def offer(self, write: Callable[[], Program], origin: str) -> Proposal | None:
        """The proposal if the program is legal and improves the front (length, error), with exact numbers snapped."""
        try:
            program = write()
        except Inexpressible:
            return None
        if len(program) > self.grammar.max_length or program.shape_key in self.seen:
            return None
        self.seen.add(program.shape_key)
        error = self.error(program)
        if error <= 100 * EXACT:
            program, error = self._snapped(program, error)
        if not self.grammar.is_legal(program) or not self._enters(complexity(program), error):
            return None
        self.best = min(self.best, error)
        return Proposal(program, origin, error)

    def _enters(self, cost: int, error: float) -> bool:
        if not np.isfinite(error) or any(c <= cost and e <= error * self.slack + EXACT / 10 for c, e in self.front):
            return False
        self.front = [(c, e) for c, e in self.front if c < cost or e < error] + [(cost, error)]
        return True

    def _snapped(self, program: Program, error: float) -> tuple[Program, float]:
        """An exact law with those constants fixed that are small fractions but for rounding."""
        value, arg = program.value.copy(), program.arg.copy()
        for i in program.free:
            simple = nearest_simple(float(value[i]), 1e-6)
            if simple != value[i]:
                value[i], arg[i] = simple, FIXED
        snapped = Program(program.code, arg, value)
        after = self.error(snapped)
        return (snapped, after) if after <= max(2.0 * error, EXACT / 10) else (program, error)
