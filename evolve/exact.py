"""When is a law exact? When what is left of the target is the rounding of its numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitness.metrics import METRICS

F64 = NDArray[np.float64]

_MOST_DECIMALS = 12
_FINE = 1e-6  # a quantum coarser than this, relative to the spread of y, is resolution of a measurement, not rounding
_ARITHMETIC = 1e-10  # what float64 descent reaches, relative to the spread of y


def quantum(y: F64) -> float:
    """The step to which y was rounded in decimal (10 decimals: 1e-10), or 0 when no such step is seen."""
    for decimals in range(_MOST_DECIMALS + 1):
        step = 10.0**-decimals
        if np.all(np.abs(np.round(y, decimals) - y) <= 4e-16 * np.abs(y)):
            return step
    return 0.0


def exact_loss(y: F64, metric: str) -> float:
    """The loss at or below which a law is exact to rounding."""
    spread = float(np.std(y)) or float(np.max(np.abs(y), initial=0.0)) or 1.0
    step = quantum(y)
    rounding = step if step <= _FINE * spread else 0.0
    error = max(0.5 * rounding, _ARITHMETIC * spread)
    signs = np.where(np.arange(len(y)) % 2 == 0, 1.0, -1.0)
    return METRICS[metric].loss(y, y + signs * error)
