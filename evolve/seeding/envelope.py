"""Envelopes: a target exp(q(x)) * p(x) is divided by exp(q) before anything is known of p but that it is smooth.

For every q a polynomial p is a linear regression, so that the rates in q are all that has to be searched (variable
projection, Golub and Pereyra 1973). Bumps, wave packets, decays and products of exponentials lie this way: no sum of small
expressions comes near them, but what is left after the division is often one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy  # its subpackages load when they are used
from numpy.typing import NDArray

from evolve.seeding.build import Builder
from evolve.seeding.images import Target
from evolve.seeding.polynomial import monomials, monomials_up_to
from evolve.seeding.problem import Problem
from evolve.seeding.work import Meter
from operators.program import Program

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_ROWS = 320
_MOST_LEAVES = 4
_MOST_COLUMNS = 24  # of the polynomial beside the envelope
_STARTS = (0.1, 0.5, 2.0)  # rates in units of one over the spread of what they multiply
_WORTH = 0.3  # an envelope leaves at most this part of what the polynomial alone leaves
_AS_GOOD = 2.0  # a simpler envelope, or simpler rates, may leave so much more: the polynomial is not p itself
_NOTHING = 1e-4  # less than this part of what the polynomial alone leaves tells no envelope from another
_SMALLEST_FACTOR = 1e-30
_STEPS = 40


@dataclass(frozen=True, eq=False)
class Envelope:
    """exp(sum(rates[i] * monomial i)); exponents (monomials, leaves); `left` is what it leaves of the target, rms."""

    exponents: I64
    rates: F64
    left: float

    def values(self, leaves: F64) -> F64:
        """Of the factor, on leaves (k, rows)."""
        out: F64 = np.exp(np.clip(self.rates @ monomials(leaves, self.exponents), -600.0, 600.0))
        return out

    def write(self, leaves: tuple[Program, ...], builder: Builder) -> Program:
        """The factor as a program."""
        terms = [builder.monomial(1.0, leaves, e.astype(float).tolist()) for e in self.exponents]
        return builder.call("exp", builder.linear(self.rates.tolist(), terms, 0.0))


def envelopes(problem: Problem, builder: Builder, meter: Meter) -> Iterator[Envelope]:
    """The simplest envelope that explains about as much as any, with simple rates first if they serve as well."""
    problem = problem.first_rows(_ROWS)
    if not builder.has("exp", "mul") or not 0 < problem.n_leaves <= _MOST_LEAVES:
        return
    fit = _Fit(problem.values, problem.target, meter)
    without = fit.left(np.zeros((0, problem.n_leaves), dtype=np.int64), np.zeros(0))
    found = [fit.best(exponents) for exponents in _families(problem.n_leaves)]
    allowed = max(_AS_GOOD * min(e.left for e in found), _NOTHING * without)
    simplest = next(e for e in found if e.left <= allowed)
    if not simplest.left < _WORTH * without:
        return
    rounded = fit.rounded(simplest, max(_AS_GOOD * simplest.left, allowed))
    if rounded is not None:
        yield rounded
    if rounded is None or rounded.left > 1.01 * simplest.left:
        yield simplest


def _families(k: int) -> Iterator[I64]:
    """Exponents of the terms of q, few first: all squares, all leaves, and both."""
    eye = np.eye(k, dtype=np.int64)
    yield 2 * eye
    yield eye
    yield np.concatenate([2 * eye, eye])


class _Fit:
    """Rates by variable projection on one target; values (k, rows) are those of the leaves."""

    def __init__(self, values: F64, target: Target, meter: Meter) -> None:
        self.values, self.target, self.meter = values, target, meter
        powers = monomials_up_to(len(values), _MOST_COLUMNS)
        self.columns = monomials((values - values.mean(axis=1)[:, None]) / values.std(axis=1)[:, None], powers)

    def left(self, exponents: I64, rates: F64) -> float:
        """Root mean square of what the best polynomial times this envelope leaves."""
        return float(np.sqrt(np.mean(self._residual(rates, monomials(self.values, exponents)) ** 2)))

    def best(self, exponents: I64) -> Envelope:
        """The best rates for these terms of q, from a few starts of either sign."""
        terms = monomials(self.values, exponents)
        unit = 1.0 / terms.std(axis=1)
        squares = (exponents == 2).any(axis=1)
        shape = squares.astype(float) if squares.any() else np.ones(len(unit))

        def residual(rates: F64) -> F64:
            self.meter.spend(self.columns.size * len(self.columns))
            return self._residual(rates * unit, terms)

        found = []
        for start in _STARTS:
            result = scipy.optimize.least_squares(residual, -start * shape, method="lm", max_nfev=_STEPS * len(unit))
            found.append(Envelope(exponents, result.x * unit, float(np.sqrt(2.0 * result.cost / len(result.fun)))))
        return min(found, key=lambda e: e.left)

    def rounded(self, envelope: Envelope, allowed: float) -> Envelope | None:
        """With rates that are halves, where that leaves no more than `allowed`; None where it leaves more."""
        halves = np.round(2.0 * envelope.rates) / 2.0
        kept = halves != 0.0
        if not kept.any():
            return None
        exponents, rates = envelope.exponents[kept], halves[kept]
        left = self.left(exponents, rates)
        return Envelope(exponents, rates, left) if left <= allowed else None

    def _residual(self, rates: F64, terms: F64) -> F64:
        q = rates @ terms
        A = (self.columns * np.exp(np.clip(q - q.max(), -600.0, 0.0)) * self.target.w).T
        b = self.target.w * self.target.z
        Q = np.linalg.qr(A / np.maximum(np.linalg.norm(A, axis=0), _SMALLEST_FACTOR))[0]
        out: F64 = b - Q @ (Q.T @ b)
        return out
