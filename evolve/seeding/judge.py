"""Which of the laws found are worth telling the search: those on the front of error against complexity, and exact ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.digits import Digits
from evolve.seeding.build import Builder, Inexpressible, nearest_simple
from evolve.seeding.prune import prune
from evolve.seeding.work import Meter
from fitness.constants import fit
from fitness.data import Dataset
from operators.complexity import complexities
from operators.program import FIXED, Program, ProgramBatch

F64 = NDArray[np.float64]

EXACT = 1e-9  # relative rms error of a law that is the truth, unless the data's digits say otherwise
_ROUNDED = 1e-5  # the largest error, relative, that may be put down to rounding
_PRUNE_ROWS = 500

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
        self.solved = False
        self._digits = Digits(data)

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
        exact = self._exact(program, error)
        if exact > 0.0:
            program, error = self._snapped(program, error, exact)
        cost = int(complexities(ProgramBatch.of([program]))[0])
        if any(c <= cost and e <= max(error * self.slack, exact) for c, e in self.front):
            return None
        self.solved |= exact > 0.0
        self.front = [(c, e) for c, e in self.front if c < cost or e < error] + [(cost, error)]
        self.best = min(self.best, error)
        return Proposal(program, origin, error)

    def _exact(self, program: Program, error: float) -> float:
        """The relative error up to which this program counts as exact, if it does; else 0."""
        if error > _ROUNDED:
            return 0.0
        bound = max(EXACT, 3.0 * self._digits.expected_error(program) / self.spread)
        return bound if error <= bound else 0.0

    def _snapped(self, program: Program, error: float, bound: float) -> tuple[Program, float]:
        """An exact law without terms that are zero, and with those constants fixed that are small fractions."""
        pruned = prune(program, self.data.X[:, :_PRUNE_ROWS], Builder(self.grammar.primitives))
        program, error = self._if_exact(pruned, program, error, bound)
        value, arg = program.value.copy(), program.arg.copy()
        for i in program.free:
            simple = nearest_simple(float(value[i]), 1e-6)
            if simple != value[i]:
                value[i], arg[i] = simple, FIXED
        return self._if_exact(Program(program.code, arg, value), program, error, bound)

    def _if_exact(self, changed: Program, program: Program, error: float, bound: float) -> tuple[Program, float]:
        """The changed program, refitted, if it is as exact as the program was; else the program."""
        if changed == program:
            return program, error
        fitted = fit(ProgramBatch.of([changed]), self.data, "rmse", 8)
        self.meter.evaluate(9, self.data.n_rows)
        after = float(fitted.loss[0]) / self.spread
        if after <= max(2.0 * error, bound):
            return changed.with_values(fitted.value[0, : len(changed)]), after
        return program, error
