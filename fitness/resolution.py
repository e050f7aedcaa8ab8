"""Oscillations that the rows cannot show: too fast, or too slow.

Over few distinct values a fast sine is a hash: sin(6*month) or sin(Height**2) takes any values one likes, fits the noise,
and no fold notices, because equal inputs stand on both sides of every fold. Sampling asks for more than two points a
period (Shannon 1949) where they are even and without noise, and cos(x)**2 has two periods in one of cos(x); a law that
has fewer than five is not believed.

A wave of which the rows hold less than two periods is a bump or a trend like any other: nothing in them says that it
returns. Where the law will be asked beyond the rows, such a wave with a fitted frequency is not believed either.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fitness.constants import predict
from operators.periodic import periodic_arguments
from operators.primitives import CONST, VAR
from operators.program import FREE, ProgramBatch

F64 = NDArray[np.float64]

_ROWS = 500
_PER_PERIOD = 5.0  # distinct values of the argument in a period, at the least
_REPEATS = 2.0  # periods after which something is seen to repeat
_SAME = 1e-9  # of the argument's range: values closer than this are one


class Resolution:
    """Knows the rows, X (features, rows), at most 500 of which are looked at, and the features `beyond` whose values
    the law will have to leave."""

    def __init__(self, X: F64, beyond: Sequence[int] = ()) -> None:
        step = max(1, -(-X.shape[1] // _ROWS))
        self._X = np.ascontiguousarray(X[:, ::step])
        self._beyond = np.array(beyond, dtype=np.int64)

    def unresolved(self, batch: ProgramBatch) -> NDArray[np.bool_]:
        """(P,): has the program a sin, cos or tan with fewer than five distinct argument values in a period, or with a
        fitted frequency and fewer than two periods along a feature beyond whose values it will be used?"""
        arguments, owner = periodic_arguments(batch)
        out = np.zeros(len(batch), dtype=np.bool_)
        if len(arguments):
            values = predict(arguments, self._X)
            with np.errstate(invalid="ignore", over="ignore"):
                span = np.ptp(values, axis=1)
            out[owner[self._too_fast(values, span) | self._too_slow(arguments, span)]] = True
        return out

    def _too_slow(self, arguments: ProgramBatch, span: F64) -> NDArray[np.bool_]:
        inside = np.arange(arguments.width) < arguments.length[:, None]
        fitted = inside & (arguments.code == CONST) & (arguments.arg == FREE)
        leaves = inside & (arguments.code == VAR) & np.isin(arguments.arg, self._beyond)
        return fitted.any(axis=1) & leaves.any(axis=1) & (span < _REPEATS * 2.0 * np.pi)

    def _too_fast(self, values: F64, span: F64) -> NDArray[np.bool_]:
        periods = span / (2.0 * np.pi)
        fast = np.flatnonzero((periods > 1.0) & np.isfinite(periods))
        ordered = np.sort(values[fast], axis=1)
        distinct = 1 + np.count_nonzero(np.diff(ordered, axis=1) > _SAME * span[fast, None], axis=1)
        out = np.zeros(len(values), dtype=np.bool_)
        out[fast] = distinct < _PER_PERIOD * periods[fast]
        return out
