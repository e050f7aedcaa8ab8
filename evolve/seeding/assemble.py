"""From a sparse combination of table entries back to a program for y."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evolve.seeding.build import Builder, nearest_simple
from evolve.seeding.images import Target
from evolve.seeding.sparse import Combination
from evolve.seeding.table import Table
from operators.primitives import OPCODE
from operators.program import Program

_LOG, _MUL, _DIV, _INV = (OPCODE[n] for n in ("log", "mul", "div", "inv"))


def write(table: Table, found: Combination, target: Target, simple: float = 1e-6) -> Program:
    """The law a combination stands for. Coefficients within `simple` of a small fraction become that fraction.

    Raises `Inexpressible` if the grammar cannot spell it.
    """
    coefficients = [nearest_simple(float(c), simple) for c in found.coefficients]
    if target.rebuild_exp is not None:
        return target.rebuild_exp(_exponential(table, found, coefficients))
    terms = [table.program(int(e)) for e in found.entries]
    return target.rebuild(table.builder.linear(coefficients, terms, found.intercept))


def _exponential(table: Table, found: Combination, coefficients: list[float]) -> Program:
    """exp(sum c_i f_i + c_0) as exp(c_0) * prod(u_j**c_j) * exp(rest), where f_j = log(u_j)."""
    builder = table.builder
    bases: list[Program] = []
    powers: list[float] = []
    rest: list[Program] = []
    slopes: list[float] = []
    for entry, c in zip(found.entries, coefficients, strict=True):
        op, inner, _ = table.operation(int(entry))
        if op == _LOG:
            bases.append(table.program(inner))
            powers.append(c)
        else:
            rest.append(table.program(int(entry)))
            slopes.append(c)
    scale = float(np.exp(np.clip(found.intercept, -600.0, 600.0)))
    if rest:
        bases.append(builder.call("exp", builder.linear(slopes, rest)))
        powers.append(1.0)
    return builder.monomial(scale, bases, powers)


def write_sum(
    coefficients: Sequence[float], terms: Sequence[Program], intercept: float, target: Target, builder: Builder
) -> Program:
    """The law of a sum of given programs."""
    return target.rebuild(builder.linear([nearest_simple(float(c), 1e-6) for c in coefficients], terms, intercept))


def without_intercept(table: Table, found: Combination, target: Target, rows_allowance: float) -> Combination:
    """The combination refitted through zero, if that costs no more than a factor `rows_allowance` in error."""
    A = (table.values[found.entries] * target.w).T
    b = target.w * target.z
    scale = np.linalg.norm(A, axis=0)
    if not np.all(scale > 0.0):
        return found
    x, *_ = np.linalg.lstsq(A / scale, b, rcond=1e-14)
    error = float(np.sqrt(np.mean((b - A @ (x / scale)) ** 2)))
    floor = 1e-10 * float(np.sqrt(np.mean(b * b)))
    if error <= found.error * rows_allowance + floor:
        return Combination(found.entries, x / scale, 0.0, error, found.cost)
    return found
