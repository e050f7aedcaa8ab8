"""When is a law exact? When what is left of the target is the rounding of its numbers, or of those of the inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evolve.digits import Digits, quantum
from fitness.data import Dataset
from fitness.metrics import METRICS
from operators.program import Program

F64 = NDArray[np.float64]

_FINE = 1e-6  # a quantum coarser than this, relative to the spread of y, is resolution of a measurement, not rounding
_ARITHMETIC = 1e-10  # what float64 descent reaches, relative to the spread of y
_SPARE = 3.0  # times the error to expect from rounding


def exact_loss(y: F64, metric: str) -> float:
    """The loss at or below which any law is exact to rounding."""
    spread = _spread(y)
    step = quantum(y)
    rounding = step if step <= _FINE * spread else 0.0
    return _loss_of(max(0.5 * rounding, _ARITHMETIC * spread), y, metric)


class Rounding:
    """What rounded inputs do to a law: x1*sin(10*x1**2) on numbers of ten decimals is not met to ten decimals."""

    def __init__(self, data: Dataset, metric: str) -> None:
        self._digits = Digits(data)
        self._y, self._metric = data.y, metric
        self._largest = _FINE * _spread(data.y)
        self._most = _loss_of(self._largest, data.y, metric)

    def explains(self, program: Program, loss: float) -> bool:
        """Could the law be the truth, and its loss the rounding of the data's numbers?"""
        if loss > self._most:
            return False
        error = _SPARE * self._digits.expected_error(program)
        return error <= self._largest and loss <= _loss_of(error, self._y, self._metric)


def _spread(y: F64) -> float:
    return float(np.std(y)) or float(np.max(np.abs(y), initial=0.0)) or 1.0


def _loss_of(error: float, y: F64, metric: str) -> float:
    signs = np.where(np.arange(len(y)) % 2 == 0, 1.0, -1.0)
    return METRICS[metric].loss(y, y + signs * error)
