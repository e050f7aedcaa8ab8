"""Sums with inner constants: scanned columns beside the table's, refined together by least squares.

A first pursuit finds which columns matter; their constants are then fitted together with the whole sum, the exact
columns take the place of the scanned ones, and a second pursuit looks for what is still missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Inexpressible, evaluate, nearest_simple
from evolve.seeding.images import Target
from evolve.seeding.scan import Inner
from evolve.seeding.sparse import LEAST_SINE, Pursuit, residual_target
from evolve.seeding.table import Table
from evolve.seeding.work import Meter
from fitness.constants import fit
from fitness.data import Dataset
from fitness.match_kernels import best_partners
from operators.program import Program, ProgramBatch

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Members = tuple[int, ...]

_ITERATIONS = 15
_MOST_IN_TRIPLES = 600  # scanned columns; their number counts with its third power
_PAIRS_OF_A_COLUMN = 40
_REFINED_OF_A_MIXTURE = 8


@dataclass(frozen=True, eq=False)
class Sum:
    """A law for the target's z (constants refined), the terms that hold inner constants, and its weighted rms error."""

    program: Program
    inner: tuple[Program, ...]
    error: float


class InnerSums:
    """Searches sums of table entries and scanned columns for one target. X (features, rows) are the inputs.

    Sums that are not `legal` (too long, too many constants) are left out before they are fitted, so that the best of the
    others are found.
    """

    def __init__(
        self, table: Table, target: Target, X: F64, scanned: Sequence[Inner], meter: Meter, n: int,
        legal: Callable[[Program], bool],
    ) -> None:  # fmt: skip
        self.table, self.target, self.X, self.meter = table, target, X, meter
        self._allowed = legal
        self.scanned = scanned
        self.n = min(n, len(table.columns))
        self.data = Dataset(np.ascontiguousarray(X), target.z, ("",) * len(X), target.w**2)

    def run(self, most: int = 4, first: int = 2) -> list[Sum]:
        """Laws for z, best first, with `first` terms from the first pursuit and up to `most` after the second."""
        pursuit = self._pursuit(self.scanned)
        out: list[Sum] = []
        for layer in pursuit.run(first):
            sets = [m for m in layer if any(j >= self.n for j in m)]
            out += self._fitted([self._written(m, self.scanned) for m in sets])
        out.sort(key=lambda s: s.error)
        for found in out[:3]:
            out += self._longer(found, most)
        return sorted(out, key=lambda s: s.error)

    def triples(self) -> list[Sum]:
        """Sums of three scanned columns, best first: all of them weighed, the best few of each mixture refined.

        A pursuit that takes one column after the other misses peaks that overlap. On a grid the right mixture seldom
        looks best before its constants are refined, so every mixture of families gets its chance.
        """
        if len(self.scanned) > _MOST_IN_TRIPLES:
            return []
        chosen: dict[tuple[str, ...], list[Members]] = {}
        for members in _weighed_triples(self._pursuit(self.scanned).unit[self.n :], self.target, self.meter):
            same = chosen.setdefault(tuple(sorted(self.scanned[j].label for j in members)), [])
            if len(same) < _REFINED_OF_A_MIXTURE:
                same.append(tuple(self.n + j for j in members))
        return sorted(
            self._fitted([self._written(m, self.scanned) for same in chosen.values() for m in same]),
            key=lambda s: s.error,
        )

    def _pursuit(self, scanned: Sequence[Inner]) -> Pursuit:
        extra = np.array([s.values for s in scanned])
        return Pursuit(self.table, self.target, self.meter, self.n, extra=extra)

    def _longer(self, found: Sum, most: int) -> list[Sum]:
        """Sums that keep the refined inner terms of a sum and add what the table and the scan still have."""
        refined = [Inner(v, _given(p), "refined") for p in found.inner if np.isfinite(v := evaluate(p, self.X)).all()]
        if not refined or len(refined) >= most:
            return []
        scanned = [*refined, *self.scanned]
        start: Members = tuple(range(self.n, self.n + len(refined)))
        layers = self._pursuit(scanned).run(most, [start], exact=1e-7)
        return self._fitted([self._written(m, scanned) for layer in layers for m in layer[:3]])

    def _written(self, members: Members, scanned: Sequence[Inner]) -> tuple[Program, tuple[Program, ...]] | None:
        """(program with linear coefficients solved for, its terms with inner constants)."""
        try:
            plain = [self.table.program(int(self.table.columns.entry[j])) for j in members if j < self.n]
            inner = [scanned[j - self.n].write() for j in members if j >= self.n]
        except Inexpressible:
            return None
        values = [self.table.values[self.table.columns.entry[j]] for j in members if j < self.n]
        values += [scanned[j - self.n].values for j in members if j >= self.n]
        c = _coefficients([*values, np.ones(self.X.shape[1])], self.target)
        if c is None:
            return None
        try:
            coefficients = [nearest_simple(float(v), 1e-9) for v in c[:-1]]
            program = self.table.builder.linear(coefficients, [*plain, *inner], float(c[-1]))
            return (program, tuple(inner)) if self._allowed(self.target.rebuild(program)) else None
        except Inexpressible:
            return None

    def _fitted(self, written: Sequence[tuple[Program, tuple[Program, ...]] | None]) -> list[Sum]:
        laws = [w for w in written if w is not None]
        if not laws:
            return []
        batch = ProgramBatch.of([p for p, _ in laws])
        result = fit(batch, self.data, "rmse", _ITERATIONS)
        self.meter.evaluate(len(laws) * _ITERATIONS, self.data.n_rows)
        out = []
        for i, (program, inner) in enumerate(laws):
            after = program.with_values(result.value[i, : len(program)])
            out.append(Sum(after, tuple(_same_place(program, after, term) for term in inner), float(result.loss[i])))
        return out


def _weighed_triples(unit: F32, target: Target, meter: Meter) -> list[Members]:
    """Triples of unit columns (n, rows), those that explain most of the target first; for each first column a few."""
    n = len(unit)
    gram, c = unit @ unit.T, unit @ residual_target(target)
    meter.spend(n * n * (unit.shape[1] + n // 3))
    found: list[tuple[float, Members]] = []
    for a in range(n - 2):
        rest = slice(a + 1, n)
        g = gram[a, rest]
        left = 1.0 - g * g  # of the later columns, beside column a
        scale = np.where(left > LEAST_SINE, 1.0 / np.sqrt(np.maximum(left, LEAST_SINE)), 0.0).astype(np.float32)
        beside = (gram[rest, rest] - np.outer(g, g)) * np.outer(scale, scale)
        along = ((c[rest] - g * c[a]) * scale)[None]
        gain, partner = np.zeros((1, n - a - 1), np.float32), np.full((1, n - a - 1), -1, np.int64)
        best_partners(np.ascontiguousarray(beside), along, 0, LEAST_SINE, gain, partner)
        for i in np.argsort(-np.round(gain[0], 6), kind="stable")[:_PAIRS_OF_A_COLUMN].tolist():
            if partner[0, i] >= 0:
                found.append((float(c[a] ** 2 + gain[0, i]), (a, a + 1 + i, a + 1 + int(partner[0, i]))))
    found.sort(key=lambda f: (-round(f[0], 6), f[1]))
    return [members for _, members in found]


def _coefficients(columns: list[F64], target: Target) -> F64 | None:
    """Weighted least squares; the last column (the intercept) gets 0 if leaving it out costs less than a constant may."""
    A = np.column_stack(columns) * target.w[:, None]
    norm = np.linalg.norm(A, axis=0)
    if not (np.isfinite(A).all() and np.all(norm > 0.0)):
        return None
    b = target.w * target.z
    full = np.linalg.lstsq(A / norm, b, rcond=1e-13)[0] / norm
    short = np.append(np.linalg.lstsq(A[:, :-1] / norm[:-1], b, rcond=1e-13)[0] / norm[:-1], 0.0)
    errors = [float(np.mean((b - A @ c) ** 2)) for c in (full, short)]
    out: F64 = short if errors[1] <= errors[0] * (1.0 + 2.0 * np.log(len(b)) / len(b)) else full
    return out


def _same_place(before: Program, after: Program, term: Program) -> Program:
    """The subtree of `after` that stands where `term` stands in `before`."""
    for i in range(len(before)):
        if before.code[i] == term.code[-1] and before.subtree(i).key == term.key:
            return after.subtree(i)
    return term


def _given(program: Program) -> Callable[[], Program]:
    return lambda: program
