"""Sparse linear combinations of table entries: y ~ sum c_i f_i + c_0 with one to a few terms.

All single terms and all pairs are tried (the pairs on a Gram matrix, 1e8 of them a second); longer sums by
orthogonal least squares with a beam and exchange steps, the forward regression of Chen, Billings and Luo (1989). Choices are
made in float32 on standardised columns and decided again in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.images import Target
from evolve.seeding.table import Table, standardised
from evolve.seeding.work import Meter
from fitness.match_kernels import best_partners

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

LEAST_SINE = np.float32(3e-5)  # squared: columns closer than this are one column
_GRAM_ROWS = 256


@dataclass(frozen=True, eq=False)
class Combination:
    """coefficients (k,) and intercept of table entries (k,); `error` is the weighted rms error of the target's y."""

    entries: I64
    coefficients: F64
    intercept: float
    error: float
    cost: float


def weighted_unit(unit: F32, w: F64) -> F32:
    """Standardised columns times w, without their part along w (the intercept), at norm 1; 0 where nothing is left."""
    if np.ptp(w) == 0.0:
        return unit
    w32 = (w / np.linalg.norm(w)).astype(np.float32)
    out = unit * w32
    out -= np.outer(out @ w32, w32)
    norm = np.sqrt(np.einsum("ij,ij->i", out, out))
    before = np.abs(unit) @ w32
    np.divide(out, norm[:, None], out=out, where=(norm > 1e-4 * before)[:, None])
    out[norm <= 1e-4 * before] = 0.0
    return out


def residual_target(target: Target) -> F32:
    """The weighted target without its part along the intercept, at norm 1."""
    w = target.w / np.linalg.norm(target.w)
    v = w * target.z
    v = v - (v @ w) * w
    norm = np.linalg.norm(v)
    return (v / norm if norm > 0.0 else v).astype(np.float32)


def solve(table: Table, entries: I64, target: Target) -> list[Combination]:
    """Weighted least squares with intercept for every row of entries (n, k), in float64."""
    if not len(entries):
        return []
    n, k = entries.shape
    w = target.w
    with np.errstate(all="ignore"):
        A = table.values[entries] * w  # (n, k, rows)
        scale = np.sqrt(np.einsum("nkm,nkm->nk", A, A))
        A /= scale[:, :, None]
        w_norm = float(np.linalg.norm(w))
        A = np.concatenate([A, np.broadcast_to(w / w_norm, (n, 1, len(w)))], axis=1).transpose(0, 2, 1)
        good = np.isfinite(A).all(axis=(1, 2))
    A, entries, scale = A[good], entries[good], scale[good]
    if not len(entries):
        return []
    b = w * target.z
    Q, R = np.linalg.qr(A)
    R = R + 1e-15 * np.eye(k + 1)
    x = np.linalg.solve(R, np.einsum("nmk,m->nk", Q, b)[:, :, None])[:, :, 0]
    error = np.sqrt(np.mean((b - np.einsum("nmk,nk->nm", A, x)) ** 2, axis=1))
    cost = table.cost[entries].sum(axis=1)
    return [
        Combination(entries[i], x[i, :k] / scale[i], float(x[i, k] / w_norm), float(error[i]), float(cost[i]))
        for i in range(len(entries))
        if np.isfinite(error[i])
    ]


def singles(table: Table, target: Target, meter: Meter, n: int | None = None, keep: int = 8) -> list[Combination]:
    """The best one-term models over the first n columns."""
    columns = table.columns
    unit = weighted_unit(columns.unit[:n], target.w)
    c = np.abs(unit @ residual_target(target))
    meter.spend(unit.size * 3)
    best = np.argsort(-np.round(c, 6), kind="stable")[:keep]
    return solve(table, columns.entry[best][:, None], target)


def pairs(table: Table, targets: Sequence[Target], meter: Meter, n: int, keep: int = 12) -> list[list[Combination]]:
    """The best two-term models over the first n columns, for targets that share their weights."""
    columns = table.columns
    unit = weighted_unit(columns.unit[:n], targets[0].w)
    gain, partner = pair_partners(unit, np.stack([residual_target(t) for t in targets]), meter)
    out = []
    for k, target in enumerate(targets):
        best = np.argsort(-np.round(gain[k], 6), kind="stable")[:keep]
        best = best[partner[k, best] >= 0]
        out.append(solve(table, columns.entry[np.column_stack([best, partner[k, best]])], target))
    return out


def pair_partners(unit: F32, targets: F32, meter: Meter) -> tuple[F32, I64]:
    """For each target (t, rows) and unit column (n, rows): the best gain with a later column, and that column; (t, n)."""
    n = len(unit)
    c = targets @ unit.T
    gain, partner = np.zeros(c.shape, np.float32), np.full(c.shape, -1, np.int64)
    for a in range(0, n, _GRAM_ROWS):
        b = min(a + _GRAM_ROWS, n)
        g, p = np.zeros((len(targets), b - a), np.float32), np.zeros((len(targets), b - a), np.int64)
        best_partners(unit[a:b] @ unit[a:].T, c, a, LEAST_SINE, g, p)
        gain[:, a:b], partner[:, a:b] = g, p
    meter.spend(n * n * (unit.shape[1] // 2 + 2 * len(targets)))
    return gain, partner


class Pursuit:
    """Longer sums for one target over the first n columns, by orthogonal least squares with a beam."""

    def __init__(
        self, table: Table, target: Target, meter: Meter, n: int | None = None, width: int = 6, extra: F64 | None = None
    ) -> None:
        """`extra` (columns, rows) are further columns, numbered after the table's."""
        self.table, self.target, self.meter, self.width = table, target, meter, width
        self.columns = table.columns
        self.unit = weighted_unit(self.columns.unit[:n], target.w)
        if extra is not None:
            self.unit = np.concatenate([self.unit, weighted_unit(standardised(extra).astype(np.float32), target.w)])
        self.t = residual_target(target)

    def run(
        self, most: int, start: Sequence[tuple[int, ...]] = ((),), exact: float = 0.0
    ) -> list[list[tuple[int, ...]]]:
        """Best sets of columns of each size up to `most`, grown from `start`; stops where all is explained."""
        layers: list[list[tuple[int, ...]]] = []
        beam = list(start)
        while beam and len(beam[0]) < most:
            scored = self._extended(beam)
            scored = self._exchanged(scored) if len(scored[0][1]) > 2 else scored
            beam = [s for _, s in scored]
            layers.append(beam)
            if 1.0 - scored[0][0] <= exact:
                break
        return layers

    def _extended(self, beam: list[tuple[int, ...]]) -> list[tuple[float, tuple[int, ...]]]:
        """The `width` best sets with one more column."""
        found: dict[tuple[int, ...], float] = {}
        for members in beam:
            explained, gain = self._gains(members)
            for j in np.argsort(-np.round(gain, 7), kind="stable")[: self.width]:
                found.setdefault(tuple(sorted((*members, int(j)))), explained + float(gain[j]))
        return sorted(((e, s) for s, e in found.items()), key=lambda x: (-round(x[0], 7), x[1]))[: self.width]

    def gains(self, members: tuple[int, ...]) -> F32:
        """What each column would add to the explained part of the target, beside the members."""
        return self._gains(members)[1]

    def _gains(self, members: tuple[int, ...]) -> tuple[float, F32]:
        """(part of the target the members explain, what each other column would add)."""
        unit, residual = self.unit, self.t
        self.meter.spend(unit.size * (len(members) + 1))
        if not members:
            c = unit @ residual
            return 0.0, c * c
        Q = np.linalg.qr(unit[list(members)].astype(np.float64).T)[0].astype(np.float32)
        along = Q.T @ residual
        residual = residual - Q @ along
        left = 1.0 - np.einsum("ij,ij->i", P := unit @ Q, P)
        c = unit @ residual
        gain = np.where(left > LEAST_SINE, c * c / np.maximum(left, LEAST_SINE), 0.0)
        gain[list(members)] = 0.0
        return float(along @ along), gain

    def _exchanged(self, scored: list[tuple[float, tuple[int, ...]]]) -> list[tuple[float, tuple[int, ...]]]:
        """Replace one member at a time by the best other column while that helps."""
        out = {s: e for e, s in scored}
        for explained, members in scored[:2]:
            for _ in range(2):
                best_explained, best = explained, members
                for i in range(len(members)):
                    rest = members[:i] + members[i + 1 :]
                    base, gain = self._gains(rest)
                    j = int(np.argmax(gain))
                    if base + float(gain[j]) > best_explained + 1e-6 * (1.0 - best_explained) + 1e-7:
                        best_explained, best = base + float(gain[j]), tuple(sorted((*rest, j)))
                if best == members:
                    break
                explained, members = best_explained, best
                out[members] = explained
        return sorted(((e, s) for s, e in out.items()), key=lambda x: (-round(x[0], 7), x[1]))[: self.width]

    def combinations(self, layer: list[tuple[int, ...]]) -> list[Combination]:
        """The sets of one layer with their coefficients."""
        return solve(self.table, self.columns.entry[np.array(layer, dtype=np.int64)], self.target)
