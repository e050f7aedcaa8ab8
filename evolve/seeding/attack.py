"""Every look-up on one problem: the quick ones, those with factors, inner constants or quotients, the deep ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from evolve.seeding import adaptive, assemble, lookup, polynomial, powerlaw, rational, scan, sparse
from evolve.seeding.build import Builder, evaluate
from evolve.seeding.envelope import envelopes
from evolve.seeding.growth import grow
from evolve.seeding.images import Target, images
from evolve.seeding.inner import InnerSums, Sum
from evolve.seeding.judge import GrammarLike, Judge, Proposal, Writer
from evolve.seeding.problem import Problem
from evolve.seeding.scan import Inner
from evolve.seeding.table import Table
from evolve.seeding.waves import Periodogram
from evolve.seeding.work import Meter
from operators.program import Program

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Batch = list[Proposal]

SMALL, LARGE = 3000, 30000
_TABLE_ROWS = 320
_PAIR_COLUMNS = 8000
_GROWN_PAIR_COLUMNS = 5000
_FACTORS = 250
_PAIR_FACTORS, _PAIR_FACTOR_COLUMNS = 60, 1200
_INPUTS = 20  # of a sine, and of functions with inner constants
_MODULATORS = 24
_WAVE_IMAGES = ("y", "1/y", "log y", "y^2")


@dataclass(frozen=True, eq=False)
class Context:
    """What all look-ups of one seeder share: the inputs X (features, rows) and who spells, judges and counts."""

    X: F64
    builder: Builder
    grammar: GrammarLike
    judge: Judge
    meter: Meter


class Attack:
    """The look-ups for one problem, on at most `breadth` images of its target.

    Every stage is a generator of proposals in batches; a batch is what was judged together.
    """

    def __init__(self, problem: Problem, context: Context, breadth: int = 8) -> None:
        self.whole, self.problem = problem, problem.first_rows(_TABLE_ROWS)
        self.context = context
        self.X, self.builder, self.judge, self.meter = context.X, context.builder, context.judge, context.meter
        self.targets = [self.problem.target, *images(self.problem.target, self.builder)]
        self.best_targets = self.targets[:breadth]

    @cached_property
    def small(self) -> Table:
        return self._table(SMALL)

    @cached_property
    def large(self) -> Table:
        return self._table(LARGE)

    def _table(self, size: int) -> Table:
        p = self.problem
        table = grow(Table(p.leaves, p.values, self.builder, getattr(self.context.grammar, "banned", ())), size)
        self.meter.evaluate(table.size, p.values.shape[1])
        return table

    def quick(self) -> Iterator[Batch]:
        """Power laws, single entries, polynomials, short sums and pairs over the small table."""
        table = self.small
        targets = self.targets if len(self.best_targets) > 3 else self.best_targets
        for t in targets:
            yield self._told([(partial(_same, p), f"power law, {t.label}") for p in powerlaw.power_laws(table, t)])
        for t in targets:
            yield self._offered(table, t, sparse.singles(table, t, self.meter), "table")
        for t in self.best_targets[:6]:
            found = polynomial.polynomials(self.problem.values, t, self.meter)
            laws = [partial(p.write, self.problem.leaves, t, self.builder) for p in found]
            yield self._told([(law, f"polynomial, {t.label}") for law in laws])
        yield from self._pursued(table, self.problem.target, 6)
        for t in self.best_targets:
            yield self._offered(table, t, sparse.pairs(table, [t], self.meter, SMALL)[0], "pairs")
        for t in self.best_targets[1:6]:
            yield from self._pursued(table, t, 4)

    def factors(self) -> Iterator[Batch]:
        """Targets times a factor, matched against single entries and pairs."""
        table = self.small
        factors = lookup.usable_factors(table, _FACTORS)
        yield self._matched(table, lookup.products(table, self.best_targets, factors, self.meter), "factor")
        for t in self.best_targets[:3]:
            matches = lookup.pair_products(table, t, factors[:_PAIR_FACTORS], self.meter, _PAIR_FACTOR_COLUMNS)
            yield self._matched(table, matches[:30], "factor and pair")

    def signed(self) -> list[Attack]:
        """The problems of the target divided by an entry that changes sign where the target does."""
        found = lookup.sign_factors(self.small, self.problem.target, self.meter)
        programs = [self.small.program(int(e)) for e in found]
        return [self._divided(p, evaluate(p, self.X), "signs of ") for p in programs]

    def enveloped(self) -> list[Attack]:
        """The problems of the target divided by an exponential factor that leaves something smooth."""
        leaves = self.whole.leaves
        found = envelopes(self.problem, self.builder, self.meter)
        return [
            self._divided(e.write(leaves, self.builder), e.values(self.whole.values), "envelope of ") for e in found
        ]

    def _divided(self, factor: Program, values: F64, label: str) -> Attack:
        return Attack(self.whole.divided_by(factor, values, label, self.builder), self.context)

    def waves(self) -> Iterator[Batch]:
        """Frequencies: each sine found becomes a leaf, or a factor, of a problem that is looked up anew."""
        inputs, programs = self._tame(self._cheapest(self.small.phases), _INPUTS)
        modulators, factors = self._tame(self._modulators(), 2 * _MODULATORS)
        if not len(inputs) or "sin" not in self.builder.names:
            return
        periodogram = Periodogram(inputs, modulators, self.meter)
        for t in (self.whole.target, *images(self.whole.target, self.builder)):
            if t.label.split(", ")[-1] not in _WAVE_IMAGES:
                continue
            found = periodogram.find(t, thorough=t is self.whole.target)
            for together in found:
                functions = [periodogram.functions(w, t, programs, self.builder) for w in together]
                if len(together) == 1:
                    m = together[0].modulator
                    values, factor = (modulators[m], [factors[m]]) if m >= 0 else (np.ones_like(t.z), [])
                    laws = [
                        (partial(_scaled_wave, self.builder, f, values, factor, t), f"wave, {t.label}")
                        for f in functions[0]
                    ]
                    yield self._told(laws, 30)
                yield from self._waved([f[0] for f in functions])
            for wave in {w.terms: w for (w, *_) in found}.values():
                sharp = periodogram.functions(periodogram.sharpened(wave, t), t, programs, self.builder, free=True)
                yield from self._divided(sharp[0].write(), sharp[0].values, "wave of ").quick()

    def _waved(self, functions: Sequence[Inner]) -> Iterator[Batch]:
        """The look-ups with waves as leaves."""
        problem = self.whole
        for inner in functions:
            problem = problem.with_leaf(inner.write(), inner.values, "wave")
        larger = Attack(problem, self.context, 3)
        yield from larger.quick()
        yield from larger.factors()

    def _cheapest(self, entries: I64) -> I64:
        return entries[np.argsort(self.small.cost[entries], kind="stable")]

    def _modulators(self) -> I64:
        """The cheapest factors, then the cheapest entries of any kind."""
        table = self.small
        factors = self._cheapest(table.factors)[:_MODULATORS]
        return np.concatenate([factors, np.setdiff1d(table.columns.entry[:_MODULATORS], factors)])

    def _tame(self, entries: I64, n: int) -> tuple[F64, list[Program]]:
        """Values on all rows and programs of the first n entries without wild values."""
        programs = [self.small.program(int(e)) for e in entries[: 2 * n]]
        values = np.array([evaluate(p, self.X) for p in programs]).reshape(len(programs), -1)
        tame = np.flatnonzero(_is_tame(values))[:n]
        return values[tame], [programs[i] for i in tame]

    def mixtures(self) -> Iterator[Batch]:
        """Sums of three rates, exponents, offsets, steps and bells of the inputs as they are."""
        for t, sums in self._inner_sums(self.problem.leaves, self.problem.values):
            yield self._with_inner(t, sums.triples())

    def scans(self) -> Iterator[Batch]:
        """Sums of small expressions and such functions of the inputs, then of small expressions."""
        inputs, programs = self._tame(self.small.columns.entry[:_INPUTS], 16)
        for leaves, values in ((self.problem.leaves, self.problem.values), (programs, inputs[:, :_TABLE_ROWS])):
            for t, sums in self._inner_sums(leaves, values):
                yield self._with_inner(t, sums.run())

    def _inner_sums(self, leaves: Sequence[Program], values: F64) -> Iterator[tuple[Target, InnerSums]]:
        grids = list(scan.grid_columns(leaves, values, self.builder))
        legal = self.context.grammar.is_legal
        for t in self.best_targets[:4]:
            yield t, InnerSums(self.small, t, self.X[:, :_TABLE_ROWS], grids, self.meter, 1500, legal)

    def _with_inner(self, t: Target, sums: Sequence[Sum]) -> Batch:
        return self._told([(partial(t.rebuild, s.program), f"inner constants, {t.label}") for s in sums[:10]])

    def ratios(self) -> Iterator[Batch]:
        """Quotients of two short sums."""
        for t in self.best_targets[:3]:
            found = rational.rationals(self.small, t, self.meter)
            yield self._told([(partial(r.write, self.small, t), f"quotient, {t.label}") for r in found[:10]])

    def adaptive(self) -> Iterator[Batch]:
        """For the target and its images a table of their own, grown from what explains them."""
        for t in self.best_targets[:6]:
            table = self._table(SMALL)
            for _ in range(2):
                adaptive.extend(table, t, self.meter)
                self.meter.evaluate(3 * SMALL, len(t.z))
                yield self._offered(table, t, sparse.singles(table, t, self.meter), "grown table")
                found = sparse.pairs(table, [t], self.meter, _GROWN_PAIR_COLUMNS)[0]
                yield self._offered(table, t, found, "grown pairs")
                yield from self._pursued(table, t, 4)
                if table.size > LARGE:
                    break

    def deep(self) -> Iterator[Batch]:
        """The large table: single entries, factors, sums and pairs."""
        table = self.large
        for t in self.targets:
            yield self._offered(table, t, sparse.singles(table, t, self.meter), "large table")
        factors = lookup.usable_factors(table, 100)
        yield self._matched(table, lookup.products(table, self.best_targets[:6], factors, self.meter), "large factor")
        for t in self.best_targets[:6]:
            yield from self._pursued(table, t, 5)
        for t in self.best_targets[:5]:
            yield self._offered(table, t, sparse.pairs(table, [t], self.meter, _PAIR_COLUMNS)[0], "large pairs")

    def _pursued(self, table: Table, target: Target, most: int) -> Iterator[Batch]:
        pursuit = sparse.Pursuit(table, target, self.meter)
        for layer in pursuit.run(most, exact=1e-7):
            yield self._offered(table, target, pursuit.combinations(layer), f"sum of {len(layer[0])}")

    def _matched(self, table: Table, matches: Sequence[lookup.Match], origin: str) -> Batch:
        matches = sorted(matches, key=lambda m: (round(m.combination.error / self.judge.spread, 9), m.combination.cost))
        return self._told([w for m in matches[:20] for w in self._writers(table, m.combination, m.target, origin)])

    def _offered(self, table: Table, target: Target, found: Sequence[sparse.Combination], origin: str) -> Batch:
        spread = self.judge.spread
        found = sorted(found, key=lambda c: (round(c.error / spread, 9), c.cost))[:6]
        return self._told([w for c in found for w in self._writers(table, c, target, origin)])

    def _writers(self, table: Table, c: sparse.Combination, target: Target, origin: str) -> list[Writer]:
        rows = len(target.z)
        allowance = float(1.0 + np.log(rows) / rows)
        c = assemble.without_intercept(table, c, target, allowance)
        return [(partial(assemble.write, table, c, target), f"{origin}, {target.label}")]

    def _told(self, writers: Sequence[Writer], iterations: int = 8) -> Batch:
        label = self.problem.label
        return self.judge.offer([(w, f"{origin}{label}") for w, origin in writers], iterations)


def _is_tame(values: F64) -> NDArray[np.bool_]:
    """Rows without a value far beyond the usual ones: those make a poor phase and a poor modulator."""
    size = np.abs(values).max(axis=1)
    with np.errstate(all="ignore"):
        out: NDArray[np.bool_] = (
            np.isfinite(size) & (np.ptp(values, axis=1) > 0.0) & (size < 1e4 * np.median(np.abs(values), axis=1))
        )
    return out


def _scaled_wave(builder: Builder, wave: Inner, modulator: F64, factors: list[Program], target: Target) -> Program:
    """target = a * factors * wave + b, by least squares; modulator: the values of the factors."""
    values = modulator * wave.values
    A = np.column_stack([values, np.ones_like(values)]) * target.w[:, None]
    a, b = np.linalg.lstsq(A, target.w * target.z, rcond=1e-12)[0]
    b = b if abs(b) > 1e-3 * abs(a) * np.abs(values).max() else 0.0
    return target.rebuild(builder.linear([float(a)], [builder.product([*factors, wave.write()])], float(b)))


def _same(program: Program) -> Program:
    return program
