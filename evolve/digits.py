"""How exact a law can be on numbers that were printed with so many digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitness.constants import predict_one
from fitness.data import Dataset
from operators.program import Program

F64 = NDArray[np.float64]

_LOOKED_AT = 200  # values of a column


def quantum(values: F64) -> float:
    """The smallest step between printed values: 1e-10 for numbers with ten decimals, about 0 for full precision."""
    steps = []
    for v in values[:_LOOKED_AT]:
        mantissa, _, exponent = repr(float(v)).partition("e")
        decimals = len(mantissa.partition(".")[2]) if not mantissa.endswith(".0") else 0
        digits = len(mantissa.replace(".", "").lstrip("-0"))
        if digits >= 16:
            return 0.0  # as precise as a float64 is
        steps.append(10.0 ** (int(exponent or 0) - decimals))
    return min(steps, default=0.0)


class Digits:
    """The rounding of a data set's numbers, and what it does to the error of an exact law."""

    def __init__(self, data: Dataset) -> None:
        self.X = np.ascontiguousarray(data.X[:, :_LOOKED_AT])
        self.y_rounding = quantum(data.y) / np.sqrt(12.0)
        steps = np.array([quantum(x) for x in data.X])
        shift = np.random.default_rng(22).uniform(-0.5, 0.5, self.X.shape)
        self.X_rounded = self.X + shift * steps[:, None]

    def expected_error(self, program: Program) -> float:
        """The rms error that the law would have, were it the truth, for the rounding alone."""
        with np.errstate(all="ignore"):
            moved = predict_one(program, self.X_rounded) - predict_one(program, self.X)
        size = float(np.sqrt(np.mean(moved**2) + self.y_rounding**2))
        return size if np.isfinite(size) else 0.0
