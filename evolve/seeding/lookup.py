"""Meet in the middle: T(y) * f matched against c*g + c_0 for many factors f and all table entries g at once.

A law such as y = T^-1((c*g + c_0)/f) is found by look-up though it is twice as deep as what the table holds. The
weighted regressions of all factors on all entries are three matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding import sparse
from evolve.seeding.images import Target
from evolve.seeding.sparse import Combination
from evolve.seeding.table import Table
from evolve.seeding.work import Meter

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_ENTRY_BLOCK = 4096
_LEAST_PART = 0.02  # of the rows, or of the target's size, that has to lie on either side of zero
_WRONG_SIGNS = 0.01  # of the size
_WRONG_ROWS = 0.005


@dataclass(frozen=True, eq=False)
class Match:
    """A combination for the target times a factor."""

    target: Target
    combination: Combination


def usable_factors(table: Table, n: int) -> I64:
    """The n cheapest entries that have no zero on the rows and keep within six orders of magnitude."""
    order = 1 + np.argsort(table.cost[1:], kind="stable")[: 4 * n]
    size = np.abs(table.values[order])
    least = size.min(axis=1)
    return order[(least > 0.0) & (size.max(axis=1) < 1e6 * least)][:n]


def products(
    table: Table, targets: Sequence[Target], factors: I64, meter: Meter, n: int | None = None, keep: int = 12
) -> list[Match]:
    """The best single entries for every target times every factor."""
    out: list[Match] = []
    for target in targets:
        found = _best(table, target, factors, meter, n, keep)
        for factor, entry in found:
            scaled = target.times(table.values[factor], table.program(int(factor)), table.builder)
            out += [Match(scaled, c) for c in sparse.solve(table, np.array([[entry]]), scaled)]
    return out


def _best(table: Table, target: Target, factors: I64, meter: Meter, n: int | None, keep: int) -> list[tuple[int, int]]:
    """(factor, entry) with the smallest error in y, by float32 regression."""
    F = table.values[factors]
    omega = (target.w / F) ** 2
    z = target.z * F
    total = omega.sum(axis=1, keepdims=True)
    omega /= total
    z = z - (omega * z).sum(axis=1, keepdims=True)
    variance = (omega * z * z).sum(axis=1)
    z /= np.sqrt(np.maximum(variance, 1e-300))[:, None]
    scale = (variance * total[:, 0])[:, None]  # sum of squared errors in y when nothing is explained
    omega32, pull32 = omega.astype(np.float32), (omega * z).astype(np.float32)
    columns = table.columns
    best: list[tuple[float, int, int]] = []
    for a in range(0, len(columns.unit[:n]), _ENTRY_BLOCK):
        C = columns.unit[a : a + _ENTRY_BLOCK][: None if n is None else n - a] * np.float32(np.sqrt(F.shape[1]))
        c = pull32 @ C.T
        spread = omega32 @ (C * C).T - (omega32 @ C.T) ** 2
        left = scale * (1.0 - np.where(spread > 1e-4, c * c / np.maximum(spread, 1e-4), 0.0))
        flat = np.argpartition(left, min(keep, left.size - 1), axis=None)[:keep]
        rows, cols = np.unravel_index(flat, left.shape)
        best += [
            (float(left[i, j]), int(factors[i]), int(columns.entry[a + j])) for i, j in zip(rows, cols, strict=True)
        ]
    meter.spend(3 * len(factors) * len(columns.unit[:n]) * F.shape[1])
    return [(f, e) for _, f, e in sorted(best)[:keep]]


def pair_products(table: Table, target: Target, factors: I64, meter: Meter, n: int, keep: int = 2) -> list[Match]:
    """The best pairs of entries for the target times every factor, all with the target's own weights."""
    scaled = [
        Target(
            (t := target.times(table.values[f], table.program(int(f)), table.builder)).z, target.w, t.rebuild, t.label
        )
        for f in factors
    ]
    out: list[Match] = []
    for t, f, found in zip(scaled, factors, sparse.pairs(table, scaled, meter, n, keep), strict=True):
        weighted = target.times(table.values[f], table.program(int(f)), table.builder)
        entries = np.array([c.entries for c in found], dtype=np.int64).reshape(-1, 2)
        out += [Match(Target(t.z, weighted.w, t.rebuild, t.label), c) for c in sparse.solve(table, entries, weighted)]
    return sorted(out, key=lambda m: m.combination.error)


def sign_factors(table: Table, target: Target, meter: Meter, most: int = 3) -> I64:
    """The cheapest entries that change sign with the target, of each pattern of signs one.

    Near its zeros noise decides the target's sign: a wrong sign counts by the target's size.
    """
    size = target.w * np.abs(target.z)
    size /= max(float(size.sum()), 1e-300)
    sign = np.sign(target.z)
    rows = float(np.mean(sign > 0.0))
    if not _LEAST_PART < rows < 1.0 - _LEAST_PART:
        return np.zeros(0, np.int64)
    entries = 1 + np.argsort(table.cost[1:], kind="stable")
    signs = np.sign(table.values[entries]).astype(np.float32)
    by_rows, by_size = np.abs(signs @ np.column_stack([sign / len(sign), sign * size]).astype(np.float32)).T
    meter.spend(2 * signs.size)
    balanced = _LEAST_PART < float(size[sign > 0.0].sum()) < 1.0 - _LEAST_PART
    out: list[int] = []
    for k in np.flatnonzero((by_rows > 1.0 - _WRONG_ROWS) | ((by_size > 1.0 - _WRONG_SIGNS) & balanced)):
        if all(abs(float(signs[k] @ signs[j])) < (1.0 - _WRONG_SIGNS) * signs.shape[1] for j in out):
            out.append(int(k))
        if len(out) == most:
            break
    return entries[out]
