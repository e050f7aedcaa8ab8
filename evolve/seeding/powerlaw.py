"""Power laws by log-log regression: |T(y)| = c * prod(x_i**a_i), exponents snapped to simple fractions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder, Inexpressible, nearest_simple
from evolve.seeding.images import Target
from evolve.seeding.table import Table
from operators.program import Program

F64 = NDArray[np.float64]


def log_regression(values: F64, z: F64, w: F64) -> tuple[F64, float, F64] | None:
    """(exponents, log coefficient, standard errors) of log|z| on log|x_i|, weighted; None where z has zeros.

    values (k, rows) are the leaves'; leaves with a zero or without spread get exponent 0.
    """
    if not np.abs(z).min() > 0.0:
        return None
    usable = np.flatnonzero(
        (np.abs(values).min(axis=1) > 0.0) & (np.ptp(np.log(np.abs(values) + 1e-300), axis=1) > 1e-9)
    )
    if not len(usable) or len(z) < len(usable) + 2:
        return None
    weight = w * np.abs(z)
    A = np.column_stack([np.log(np.abs(values[usable])).T, np.ones(len(z))]) * weight[:, None]
    b = np.log(np.abs(z)) * weight
    scale = np.linalg.norm(A, axis=0)
    if not (np.isfinite(A).all() and np.all(scale > 0.0)):
        return None
    x, *_ = np.linalg.lstsq(A / scale, b, rcond=1e-13)
    variance = float(np.sum((b - A @ (x / scale)) ** 2)) / max(1, len(b) - len(x))
    inverse = np.linalg.pinv((A / scale).T @ (A / scale), rcond=1e-13)
    errors = np.sqrt(np.maximum(variance * np.diag(inverse), 0.0)) / scale
    exponents, spread = np.zeros(len(values)), np.zeros(len(values))
    exponents[usable], spread[usable] = x[:-1] / scale[:-1], errors[:-1]
    return exponents, float(x[-1] / scale[-1]), spread


def power_laws(table: Table, target: Target) -> list[Program]:
    """`_power_laws` without those that the grammar cannot spell."""
    try:
        return list(_power_laws(table, target))
    except Inexpressible:
        return []


def _power_laws(table: Table, target: Target) -> Iterator[Program]:
    """Programs for y: exponents snapped to halves, to thirds, to two decimals' worth of fractions, and as fitted."""
    leaves = table.values[table.leaf_entries]
    found = log_regression(leaves, target.z, target.w)
    if found is None:
        return
    exponents, _, errors = found
    for denominator in (1, 2, 3, 12):
        tolerance = np.maximum(4.0 * errors, 1e-6)
        snapped = np.array([nearest_simple(float(a), 1e9, denominator) for a in exponents])
        near = np.abs(snapped - exponents) <= np.minimum(np.maximum(tolerance, 0.02), 0.2)
        yield _program(table.builder, table.leaves, leaves, np.where(near, snapped, exponents), target)
    yield _program(table.builder, table.leaves, leaves, exponents, target)


def _program(builder: Builder, leaves: tuple[Program, ...], values: F64, exponents: F64, target: Target) -> Program:
    chosen = np.flatnonzero(np.abs(exponents) > 1e-9)
    shape = np.exp(exponents[chosen] @ np.log(np.abs(values[chosen])))
    signed = shape * np.prod(np.where(_odd(exponents[chosen])[:, None], np.sign(values[chosen]), 1.0), axis=0)
    bases = [
        leaves[i] if values[i].min() > 0.0 or _integer(exponents[i]) else builder.call("abs", leaves[i]) for i in chosen
    ]
    w2 = target.w**2
    coefficient = float((w2 * signed) @ target.z / max((w2 * signed) @ signed, 1e-300))
    return target.rebuild(
        builder.monomial(nearest_simple(coefficient, 1e-9), bases, [float(exponents[i]) for i in chosen])
    )


def _integer(exponent: float) -> bool:
    return exponent == int(exponent)


def _odd(exponents: F64) -> NDArray[np.bool_]:
    odd: NDArray[np.bool_] = (exponents == np.round(exponents)) & (np.round(exponents) % 2 == 1)
    return odd
