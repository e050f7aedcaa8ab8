"""Polynomials with as many terms as it takes: all monomials at once, then backward elimination.

Forward choice gets lost among the correlated terms of a quartic; the full regression does not, as long as there are more rows than
terms. What is eliminated is what the Bayesian information criterion does not miss; without noise, what is zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder, nearest_simple
from evolve.seeding.images import Target
from evolve.seeding.work import Meter
from operators.program import Program

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_MOST_COLUMNS = 130
_MOST_DEGREE = 8
_MOST_TERMS = 14  # in a law worth writing down
_ROUNDING = 1e-11  # of the target's size: what is left of an exact fit


@dataclass(frozen=True, eq=False)
class Polynomial:
    """sum(coefficients[i] * prod(leaf**exponents[i])) with its weighted rms error; exponents (terms, leaves)."""

    exponents: I64
    coefficients: F64
    error: float

    def write(self, leaves: tuple[Program, ...], target: Target, builder: Builder) -> Program:
        constant = ~self.exponents.any(axis=1)
        terms = [builder.monomial(1.0, leaves, e.astype(float).tolist()) for e in self.exponents[~constant]]
        c = [nearest_simple(float(c), 1e-9) for c in self.coefficients[~constant]]
        return target.rebuild(builder.linear(c, terms, float(self.coefficients[constant].sum())))


def polynomials(values: F64, target: Target, meter: Meter) -> Iterator[Polynomial]:
    """Sparse polynomials in the leaves (k, rows): for the best degree, each step of the elimination worth keeping."""
    best: tuple[float, I64] | None = None
    for exponents in _dictionaries(len(values), values.shape[1]):
        A, b = _system(values, exponents, target)
        meter.spend(A.size * A.shape[1])
        if not np.isfinite(A).all():
            break
        rss = _solve(A, b)[1]
        score = _criterion(rss, b, A.shape[1])
        if best is None or score < best[0]:
            best = score, exponents
        if rss <= (_ROUNDING * np.linalg.norm(b)) ** 2:
            break
    if best is not None:
        yield from _eliminated(values, best[1], target, meter)


def _dictionaries(k: int, rows: int) -> Iterator[I64]:
    """Exponents of all monomials of total degree 2, 3, ... while there are few enough."""
    for degree in range(2, _MOST_DEGREE + 1):
        powers = [p for d in range(degree + 1) for p in _of_degree(k, d)]
        if len(powers) > min(_MOST_COLUMNS, rows // 2):
            return
        yield np.array(powers, dtype=np.int64)


def monomials_up_to(k: int, most: int) -> I64:
    """Exponents (monomials, k) of all monomials of the highest total degree, at most 8, that gives `most` or fewer."""
    powers = [tuple([0] * k)]
    for degree in range(1, _MOST_DEGREE + 1):
        longer = [*powers, *_of_degree(k, degree)]
        if len(longer) > most:
            break
        powers = longer
    return np.array(powers, dtype=np.int64)


def _of_degree(k: int, degree: int) -> Iterator[tuple[int, ...]]:
    for chosen in itertools.combinations_with_replacement(range(k), degree):
        yield tuple(chosen.count(i) for i in range(k))


def monomials(values: F64, exponents: I64) -> F64:
    """Values (monomials, rows) of monomials with exponents (monomials, k), on values (k, rows)."""
    with np.errstate(all="ignore"):
        columns = [np.prod(values ** e[:, None], axis=0) for e in exponents]
    return np.array(columns).reshape(len(exponents), values.shape[1])


def _system(values: F64, exponents: I64, target: Target) -> tuple[F64, F64]:
    return monomials(values, exponents).T * target.w[:, None], target.w * target.z


def _solve(A: F64, b: F64) -> tuple[F64, float, F64]:
    """(coefficients, residual sum of squares, |t| of every coefficient but for the noise level)."""
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    Q, R = np.linalg.qr(A / scale)
    if not np.abs(np.diag(R)).min() > 1e-11:
        c = np.linalg.lstsq(A / scale, b, rcond=1e-12)[0]
        return c / scale, float(np.sum((b - A @ (c / scale)) ** 2)), np.abs(c)
    inverse = np.linalg.solve(R, np.eye(len(R)))
    c = inverse @ (Q.T @ b)
    rss = float(np.sum((b - (A / scale) @ c) ** 2))
    return c / scale, rss, np.abs(c) / np.linalg.norm(inverse, axis=1)


def _criterion(rss: float, b: F64, terms: int) -> float:
    """BIC, with the rounding of an exact fit as the least noise."""
    n = len(b)
    floor = (_ROUNDING * float(np.linalg.norm(b))) ** 2
    return n * float(np.log(max(rss, floor, 1e-300) / n)) + terms * float(np.log(n))


def _eliminated(values: F64, exponents: I64, target: Target, meter: Meter) -> Iterator[Polynomial]:
    """Drop the least significant term again and again; yield what has few terms, the best by the criterion first."""
    A, b = _system(values, exponents, target)
    kept = np.arange(len(exponents))
    found: list[tuple[float, Polynomial]] = []
    while len(kept):
        c, rss, t = _solve(A[:, kept], b)
        meter.spend(A.shape[0] * len(kept) ** 2)
        if len(kept) <= _MOST_TERMS:
            error = float(np.sqrt(rss / len(b)))
            found.append((_criterion(rss, b, len(kept)), Polynomial(exponents[kept], c, error)))
        drop = 1 + max(0, (len(kept) - 2 * _MOST_TERMS) // 4)
        kept = np.delete(kept, np.argsort(t, kind="stable")[:drop])
    found.sort(key=lambda f: f[0])
    yield from (p for _, p in found[:4])
