"""Laws found by look-up and linear algebra, in the order of their promise: the seeds of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evolve.seeding import assemble, powerlaw, sparse
from evolve.seeding.build import Builder, Inexpressible
from evolve.seeding.growth import grow
from evolve.seeding.images import Target, images, plain
from evolve.seeding.judge import GrammarLike, Judge, Proposal
from evolve.seeding.table import Table
from evolve.seeding.work import Meter
from fitness.data import Dataset
from operators.program import Program, variable

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

SAMPLE_ROWS = 256
JUDGE_ROWS = 4000
SMALL, LARGE = 3000, 30000
PAIR_COLUMNS = {SMALL: 3000, LARGE: 8000}


def propose(rng: np.random.Generator, data: Dataset, grammar: GrammarLike, budget: int = 200_000) -> Seeder:
    """An iterator of `Proposal`s that ends when the budget (work units) is spent, a law is exact or ideas run out."""
    return Seeder(rng, data, grammar, budget)


class Seeder(Iterator[Proposal]):
    """Iterates over proposals; `evaluations` programs were scored so far, `units` of work were spent."""

    def __init__(self, rng: np.random.Generator, data: Dataset, grammar: GrammarLike, budget: int) -> None:
        self.meter = Meter()
        self.budget = budget
        self.grammar = grammar
        self.builder = Builder(grammar.primitives)
        rows = _sample(rng, data.n_rows, JUDGE_ROWS)
        w = np.ones(data.n_rows) if data.weight is None else np.sqrt(data.weight)
        self.judge = Judge(np.ascontiguousarray(data.X[:, rows]), data.y[rows], w[rows], grammar, self.meter)
        rows = _sample(rng, data.n_rows, SAMPLE_ROWS)
        self.X, self.y, self.w = data.X[:, rows], data.y[rows], w[rows]
        self._stream = self._run()

    @property
    def evaluations(self) -> int:
        return self.meter.evaluations

    @property
    def units(self) -> int:
        return self.meter.units

    def __next__(self) -> Proposal:
        if self.meter.units >= self.budget or self.judge.solved:
            raise StopIteration
        return next(self._stream)

    def _run(self) -> Iterator[Proposal]:
        if np.ptp(self.y) == 0.0 or len(self.y) < 3:
            return
        leaves = [i for i in range(len(self.X)) if np.ptp(self.X[i]) > 0.0]
        target = plain(self.y, self.w)
        for size in (SMALL, LARGE):
            table = self.table([variable(i) for i in leaves], self.X[leaves], size)
            yield from self._attack(table, target, size)

    def table(self, leaves: Sequence[Program], values: F64, size: int) -> Table:
        table = grow(Table(leaves, values, self.builder, getattr(self.grammar, "banned", ())), size)
        self.meter.evaluate(table.size, len(self.y))
        return table

    def _attack(self, table: Table, target: Target, size: int) -> Iterator[Proposal]:
        """Every cheap idea on one target over one table."""
        targets = [target, *images(target, self.builder)]
        yield from self._power_laws(table, targets)
        for t in targets:
            yield from self._offer(table, t, sparse.singles(table, t, self.meter), "table")
        yield from self._pursue(table, target, 6, size)
        for t in targets[:1] + targets[1:8]:
            yield from self._offer(table, t, sparse.pairs(table, [t], self.meter, PAIR_COLUMNS[size])[0], "pairs")
        for t in targets[1:6]:
            yield from self._pursue(table, t, 4, size)

    def _power_laws(self, table: Table, targets: Sequence[Target]) -> Iterator[Proposal]:
        for t in targets:
            programs = powerlaw.power_laws(table, t)
            while True:
                try:
                    program = next(programs)
                except StopIteration:
                    break
                except Inexpressible:
                    break
                yield from self._told(partial(_same, program), f"power law, {t.label}")

    def _pursue(self, table: Table, target: Target, most: int, size: int) -> Iterator[Proposal]:
        pursuit = sparse.Pursuit(table, target, self.meter)
        for layer in pursuit.run(most, exact=1e-7):
            yield from self._offer(table, target, pursuit.combinations(layer), f"sum of {len(layer[0])}")

    def _offer(self, table: Table, target: Target, found: list[sparse.Combination], origin: str) -> Iterator[Proposal]:
        """The most promising combinations as proposals."""
        spread = self.judge.spread
        found = sorted(found, key=lambda c: (round(c.error / spread, 9), c.cost))[:6]
        allowance = 1.0 + np.log(len(self.y)) / len(self.y)
        for c in found:
            c = assemble.without_intercept(table, c, target, allowance)
            yield from self._told(partial(assemble.write, table, c, target), f"{origin}, {target.label}")
            if self.judge.solved:
                return

    def _told(self, write: Callable[[], Program], origin: str) -> Iterator[Proposal]:
        proposal = self.judge.offer(write, origin)
        if proposal is not None:
            yield proposal


def _sample(rng: np.random.Generator, n: int, most: int) -> I64:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _same(program: Program) -> Program:
    return program
