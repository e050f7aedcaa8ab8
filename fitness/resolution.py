"""Oscillations that the rows cannot resolve.

Over few distinct values a fast sine is a hash: sin(6*month) or sin(Height**2) takes any values one likes, fits the noise,
and no fold notices, because equal inputs stand on both sides of every fold. Sampling asks for more than two points a
period (Shannon 1949) where they are even and without noise, and cos(x)**2 has two periods in one of cos(x); a law that
has fewer than five is not believed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitness.constants import predict
from operators.periodic import periodic_arguments
from operators.program import ProgramBatch

F64 = NDArray[np.float64]

_ROWS = 500
_PER_PERIOD = 5.0  # distinct values of the argument in a period, at the least
_SAME = 1e-9  # of the argument's range: values closer than this are one


class Resolution:
    """Knows the rows, X (features, rows); at most 500 of them are looked at."""

    def __init__(self, X: F64) -> None:
        step = max(1, -(-X.shape[1] // _ROWS))
        self._X = np.ascontiguousarray(X[:, ::step])

    def unresolved(self, batch: ProgramBatch) -> NDArray[np.bool_]:
        """(P,): has the program a sin, cos or tan with fewer than five distinct argument values in a period?"""
        arguments, owner = periodic_arguments(batch)
        out = np.zeros(len(batch), dtype=np.bool_)
        if len(arguments):
            out[owner[self._too_fast(arguments)]] = True
        return out

    def _too_fast(self, arguments: ProgramBatch) -> NDArray[np.bool_]:
        values = predict(arguments, self._X)
        with np.errstate(invalid="ignore", over="ignore"):
            span = np.ptp(values, axis=1)
        periods = span / (2.0 * np.pi)
        fast = np.flatnonzero((periods > 1.0) & np.isfinite(periods))
        ordered = np.sort(values[fast], axis=1)
        distinct = 1 + np.count_nonzero(np.diff(ordered, axis=1) > _SAME * span[fast, None], axis=1)
        out = np.zeros(len(arguments), dtype=np.bool_)
        out[fast] = distinct < _PER_PERIOD * periods[fast]
        return out
