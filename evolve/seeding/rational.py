"""Rational laws y = (c_0 + sum c_i f_i)/(1 + sum b_j g_j): linear in all unknowns once multiplied out.

The columns y*g_j stand beside the f_i in one orthogonal least squares; the weights that multiplying out brought in are then
taken back by iteration (Sanathanan and Koerner 1963).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.images import Target
from evolve.seeding.sparse import Pursuit
from evolve.seeding.table import Table
from evolve.seeding.work import Meter
from operators.program import Program

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rational:
    """above: (coefficient, entry) of the numerator with its intercept; below: those beside the 1 of the denominator."""

    above: tuple[tuple[float, int], ...]
    intercept: float
    below: tuple[tuple[float, int], ...]
    error: float

    def write(self, table: Table, target: Target) -> Program:
        b = table.builder
        top = b.linear([c for c, _ in self.above], [table.program(e) for _, e in self.above], self.intercept)
        if not self.below:
            return target.rebuild(top)
        bottom = b.linear([c for c, _ in self.below], [table.program(e) for _, e in self.below], 1.0)
        return target.rebuild(b.quotient(top, bottom))


def rationals(table: Table, target: Target, meter: Meter, numerators: int, denominators: int, most: int) -> list[Rational]:
    """The best rational models with up to `most` terms above and below together."""
    columns = table.columns
    n = min(numerators, len(columns))
    order = 1 + np.argsort(table.cost[1:], kind="stable")[:denominators]
    pursuit = Pursuit(table, target, meter, n, extra=table.values[order] * target.z)
    out: list[Rational] = []
    for layer in pursuit.run(most):
        for members in layer:
            above = columns.entry[[j for j in members if j < n]]
            below = order[[j - n for j in members if j >= n]]
            if len(below):
                found = _solve(table, target, above, below)
                out += [found] if found is not None else []
    return sorted(out, key=lambda r: r.error)


def _solve(table: Table, target: Target, above: I64, below: I64) -> Rational | None:
    A = np.column_stack([table.values[above].T, np.ones(len(target.z)), -(table.values[below] * target.z).T])
    G = table.values[below]
    w, best = target.w, None
    for _ in range(4):
        scaled = A * w[:, None]
        norm = np.linalg.norm(scaled, axis=0)
        if not (np.isfinite(scaled).all() and np.all(norm > 0.0)):
            return best
        x = np.linalg.lstsq(scaled / norm, w * target.z, rcond=1e-14)[0] / norm
        k = len(above)
        bottom = 1.0 + x[k + 1 :] @ G
        if not np.abs(bottom).min() > 1e-9 * np.abs(bottom).max():
            return best
        top = A[:, : k + 1] @ x[: k + 1]
        error = float(np.sqrt(np.mean((target.w * (target.z - top / bottom)) ** 2)))
        if best is not None and not error < best.error:
            return best
        best = Rational(
            tuple(zip(x[:k].tolist(), above.tolist(), strict=True)), float(x[k]),
            tuple(zip(x[k + 1 :].tolist(), below.tolist(), strict=True)), error,
        )  # fmt: skip
        w = target.w / np.abs(bottom)
    return best
