"""Which of the laws found are worth telling the search: those on the front of error against complexity, and exact ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Inexpressible, nearest_simple
from evolve.seeding.work import Meter
from fitness.constants import fit
from fitness.data import Dataset
from operators.complexity import complexities
from operators.program import FIXED, Program, ProgramBatch

F64 = NDArray[np.float64]

EXACT = 1e-9  # relative rms error that numbers printed with ten digits still reach
_SOLVED_COST = 4.0  # errors within this factor of the best are told apart by complexity once a law is exact

Writer = tuple[Callable[[], Program], str]  # a program to be spelled, and where it comes from


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
    """A law for the search; `error`: its weighted rms error over the target's spread, on the rows it was judged on."""

    program: Program
    origin: str
    error: float


class Judge:
    """Fits and scores programs on the data and remembers the front of what was proposed."""

    def __init__(self, data: Dataset, grammar: GrammarLike, meter: Meter, slack: float = 1.02) -> None:
        self.data, self.grammar, self.meter, self.slack = data, grammar, meter, slack
        weight = np.ones(data.n_rows) if data.weight is None else data.weight
        mean = float(np.average(data.y, weights=weight))
        self.spread = float(np.sqrt(np.average((data.y - mean) ** 2, weights=weight))) or 1.0
        self.front: list[tuple[int, float]] = []
        self.seen: set[bytes] = set()
        self.best = np.inf

    @property
    def solved(self) -> bool:
        return self.best <= EXACT

    def offer(self, writers: Sequence[Writer], iterations: int = 8) -> list[Proposal]:
        """Those of the programs, fitted, that are legal and improve the front (complexity, error), best error first."""
        spelled = list(self._spelled(writers))
        if not spelled:
            return []
        batch = ProgramBatch.of([p for p, _ in spelled])
        fitted = fit(batch, self.data, "rmse", iterations)
        self.meter.evaluate(len(spelled) * (1 + iterations), self.data.n_rows)
        programs = [p.with_values(fitted.value[i, : len(p)]) for i, (p, _) in enumerate(spelled)]
        out = []
        for i in np.argsort(fitted.loss, kind="stable"):
            proposal = self._proposal(programs[i], spelled[i][1], float(fitted.loss[i]) / self.spread)
            if proposal is not None:
                out.append(proposal)
        return out

    def _spelled(self, writers: Sequence[Writer]) -> Iterator[tuple[Program, str]]:
        for write, origin in writers:
            try:
                program = write()
            except Inexpressible:
                continue
            if len(program) <= self.grammar.max_length and program.shape_key not in self.seen:
                self.seen.add(program.shape_key)
                if self.grammar.is_legal(program):
                    yield program, origin

    def _proposal(self, program: Program, origin: str, error: float) -> Proposal | None:
        if not error < 10.0:
            return None
        if error <= 100 * EXACT:
            program, error = self._snapped(program, error)
        cost = int(complexities(ProgramBatch.of([program]))[0])
        slack = _SOLVED_COST if error <= EXACT else self.slack
        if any(c <= cost and e <= max(error * slack, EXACT / 10) for c, e in self.front):
            return None
        self.front = [(c, e) for c, e in self.front if c < cost or e < error] + [(cost, error)]
        self.best = min(self.best, error)
        return Proposal(program, origin, error)

    def _snapped(self, program: Program, error: float) -> tuple[Program, float]:
        """An exact law with those constants fixed that are small fractions but for rounding."""
        value, arg = program.value.copy(), program.arg.copy()
        for i in program.free:
            simple = nearest_simple(float(value[i]), 1e-6)
            if simple != value[i]:
                value[i], arg[i] = simple, FIXED
        snapped = Program(program.code, arg, value)
        after = float(fit(ProgramBatch.of([snapped]), self.data, "rmse", 4).loss[0]) / self.spread
        self.meter.evaluate(5, self.data.n_rows)
        return (snapped, after) if after <= max(2.0 * error, EXACT / 10) else (program, error)
