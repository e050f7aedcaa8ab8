"""Quotients y = (c_0 + sum c_i f_i)/(1 + b*g): linear in all unknowns once multiplied out.

For every denominator g of the table the column y*g is held fixed beside one or two numerator terms, and what is
compared is the error in y, which multiplying out by a small denominator would hide. The weights that multiplying out
brought in are taken back by iteration (Sanathanan and Koerner 1963).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.images import Target
from evolve.seeding.sparse import pair_partners, residual_target, weighted_unit
from evolve.seeding.table import Table, standardised
from evolve.seeding.work import Meter
from operators.program import Program

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

_NUMERATORS = 2000
_DENOMINATORS = 300
_PAIR_NUMERATORS = 600
_PAIR_DENOMINATORS = 60


@dataclass(frozen=True, eq=False)
class Rational:
    """(c_0 + sum coefficients*above)/(1 + slope*below) of table entries, with the weighted rms error in the target."""

    above: I64
    coefficients: F64
    intercept: float
    below: int
    slope: float
    error: float

    def write(self, table: Table, target: Target) -> Program:
        b = table.builder
        top = b.linear(self.coefficients.tolist(), [table.program(int(e)) for e in self.above], self.intercept)
        bottom = b.linear([self.slope], [table.program(self.below)], 1.0)
        return target.rebuild(b.quotient(top, bottom))


def rationals(table: Table, target: Target, meter: Meter, keep: int = 40) -> list[Rational]:
    """The best quotients, best first."""
    search = _Search(table, target, meter)
    found = [
        r for above, below in [*search.singles(keep), *search.pairs()] if (r := search.solve(above, below)) is not None
    ]
    return sorted(found, key=lambda r: r.error)[:keep]


class _Search:
    def __init__(self, table: Table, target: Target, meter: Meter) -> None:
        self.table, self.target, self.meter = table, target, meter
        self.unit = weighted_unit(table.columns.unit[:_NUMERATORS], target.w)
        self.t = residual_target(target)
        order = 1 + np.argsort(table.cost[1:], kind="stable")[:_DENOMINATORS]
        size = np.abs(table.values[order]).max(axis=1)
        self.below = order[size < 1e8]
        G = table.values[self.below]
        self.v = weighted_unit(standardised(G * target.z).astype(np.float32), target.w)  # the fixed columns, (d, rows)
        w2 = target.w**2 / np.sum(target.w**2)
        self.means = G @ w2, (G * G) @ w2
        self.scales = _weighted_norms(G * target.z, target.w), _weighted_norms(target.z[None, :], target.w)[0]
        meter.spend(self.unit.size * len(self.below))

    def singles(self, keep: int) -> list[tuple[I64, int]]:
        """(numerator entries, denominator entry) with the least estimated error in y."""
        vf, vt, ft = self.v @ self.unit.T, self.v @ self.t, self.unit @ self.t
        det = np.maximum(1.0 - vf * vf, 1e-5)
        b = (vt[:, None] - ft[None, :] * vf) / det
        a = (ft[None, :] - vt[:, None] * vf) / det
        left = np.maximum(1.0 - b * vt[:, None] - a * ft[None, :], 1e-9)
        left /= self._denominator_size(b)
        left[1.0 - vf * vf <= 1e-5] = np.inf
        best = np.argsort(left, axis=None, kind="stable")[:keep]
        rows, columns = np.unravel_index(best, left.shape)
        return [(self.table.columns.entry[[j]], int(self.below[i])) for i, j in zip(rows, columns, strict=True)]

    def _denominator_size(self, b: F32 | F64) -> F64:
        """Mean square of 1 - slope*g for slopes given in the units of the standardised columns (d, n)."""
        slope = b * (self.scales[1] / np.maximum(self.scales[0], 1e-300))[:, None]
        first, second = self.means
        out: F64 = np.maximum(1.0 - 2.0 * slope * first[:, None] + slope**2 * second[:, None], 1e-12)
        return out

    def pairs(self) -> list[tuple[I64, int]]:
        """The same with the best pair of numerator terms for each of the cheapest denominators."""
        out: list[tuple[I64, int]] = []
        for i, v in enumerate(self.v[:_PAIR_DENOMINATORS]):
            unit = self.unit[:_PAIR_NUMERATORS] - np.outer(self.unit[:_PAIR_NUMERATORS] @ v, v)
            norm = np.linalg.norm(unit, axis=1)
            unit = np.where(norm[:, None] > 1e-3, unit / np.maximum(norm, 1e-3)[:, None], np.float32(0.0))
            t = self.t - (self.t @ v) * v
            gain, partner = pair_partners(unit, t[None, :], self.meter)
            for j in np.argsort(-gain[0], kind="stable")[:2]:
                if partner[0, j] >= 0:
                    out.append((self.table.columns.entry[[j, partner[0, j]]], int(self.below[i])))
        return out

    def solve(self, above: I64, below: int) -> Rational | None:
        """The quotient's constants, the weights of multiplying out taken back; None where it is singular."""
        z, w = self.target.z, self.target.w
        g = self.table.values[below]
        A = np.column_stack([self.table.values[above].T, np.ones(len(z)), -g * z])
        best: Rational | None = None
        for _ in range(4):
            scaled = A * w[:, None]
            norm = np.linalg.norm(scaled, axis=0)
            if not (np.isfinite(scaled).all() and np.all(norm > 0.0)):
                return best
            x = np.linalg.lstsq(scaled / norm, w * z, rcond=1e-14)[0] / norm
            bottom = 1.0 + x[-1] * g
            if bottom.min() <= 0.0 <= bottom.max():
                return best
            error = float(np.sqrt(np.mean((self.target.w * (z - A[:, :-1] @ x[:-1] / bottom)) ** 2)))
            if best is not None and not error < best.error:
                return best
            best = Rational(above, x[:-2], float(x[-2]), below, float(x[-1]), error)
            w = self.target.w / np.abs(bottom)
        return best


def _weighted_norms(rows: F64, w: F64) -> F64:
    """Norms of the rows times w without their part along w."""
    unit = w / np.linalg.norm(w)
    scaled = rows * w
    out: F64 = np.linalg.norm(scaled - np.outer(scaled @ unit, unit), axis=1)
    return out
