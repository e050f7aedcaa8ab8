"""Laws found by look-up and linear algebra, in the order of their promise: the seeds of the search."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from evolve.seeding import structure
from evolve.seeding.attack import Attack, Batch, Context
from evolve.seeding.build import Builder
from evolve.seeding.images import plain
from evolve.seeding.judge import GrammarLike, Judge, Proposal
from evolve.seeding.problem import Problem
from evolve.seeding.work import Meter
from fitness.data import Dataset
from operators.program import variable

I64 = NDArray[np.int64]

SAMPLE_ROWS = 800  # in random order: waves use them all, tables and surrogates the first few hundred
JUDGE_ROWS = 4000
_GRACE = 1500  # units spent after the first exact law, to find it in a simpler form
_NEVER = 1 << 62


def propose(rng: np.random.Generator, data: Dataset, grammar: GrammarLike, budget: int = 1_000_000) -> Seeder:
    """An iterator of `Proposal`s that ends when the budget (work units) is spent, a law is exact or ideas run out."""
    return Seeder(rng, data, grammar, budget)


class Seeder(Iterator[Proposal]):
    """Iterates over proposals; `evaluations` programs were scored so far, `units` of work were spent."""

    def __init__(self, rng: np.random.Generator, data: Dataset, grammar: GrammarLike, budget: int) -> None:
        self.meter = Meter()
        self.budget = budget
        self.judge = Judge(data.rows(_judged(rng, data)), grammar, self.meter)
        rows = rng.permutation(data.n_rows)[:SAMPLE_ROWS]
        self.X = np.ascontiguousarray(data.X[:, rows])
        self.y = data.y[rows]
        self.w = np.ones(len(rows)) if data.weight is None else np.sqrt(data.weight[rows])
        self._context = Context(self.X, Builder(grammar.primitives), grammar, self.judge, self.meter)
        self._batches = self._run()
        self._ready: list[Proposal] = []
        self._last_unit = _NEVER

    @property
    def evaluations(self) -> int:
        return self.meter.evaluations

    @property
    def units(self) -> int:
        return self.meter.units

    @property
    def solved(self) -> bool:
        """Has a law been proposed that is as exact as the numbers are?"""
        return self.judge.solved

    def __next__(self) -> Proposal:
        while not self._ready:
            if self.meter.units >= min(self.budget, self._last_unit):
                raise StopIteration
            self._ready += next(self._batches)
            if self.judge.solved and self._last_unit == _NEVER:
                self._last_unit = self.meter.units + _GRACE
        return self._ready.pop(0)

    def _run(self) -> Iterator[Batch]:
        usable = [i for i in range(len(self.X)) if np.ptp(self.X[i]) > 0.0]
        if np.ptp(self.y) == 0.0 or len(self.y) < 3 or not usable:
            return
        whole = Problem(tuple(variable(i) for i in usable), self.X[usable], plain(self.y, self.w))
        raw = Attack(whole, self._context)
        yield from raw.quick()
        attacks = [raw]
        for easier in (*raw.enveloped(), *raw.signed()):
            attacks.append(easier)
            yield from easier.quick()
        for start in [a.whole for a in attacks]:
            for problem in structure.reductions(start, self._context.builder, self.meter):
                attacks.append(Attack(problem, self._context))
                yield from attacks[-1].quick()
        for stage in (
            Attack.factors,
            Attack.mixtures,
            Attack.waves,
            Attack.scans,
            Attack.ratios,
            Attack.adaptive,
            Attack.deep,
        ):
            for attack in reversed(attacks):
                yield from stage(attack)


def _judged(rng: np.random.Generator, data: Dataset) -> I64:
    n = data.n_rows
    return np.arange(n) if n <= JUDGE_ROWS else np.sort(rng.choice(n, JUDGE_ROWS, replace=False))
