"""Each row's contribution to a metric, for paired comparisons between laws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

_WORST = 1e100  # stands for the error of a bad row, so that means stay finite


def row_errors(metric: str, y: F64, predictions: F64) -> F64:
    """Errors by row, shape of `predictions` (..., rows), whose mean orders laws as the metric does.

    Squared for rmse, mse and r2, absolute for mae and mdae, relative for mape and smape, of logarithms for
    log_mae; 0 for rows the metric skips.
    """
    with np.errstate(all="ignore"):
        errors = _errors(metric, y, predictions)
    return np.where(np.isfinite(errors), np.minimum(errors, _WORST), _WORST)


def _errors(metric: str, y: F64, f: F64) -> F64:
    if metric == "log_mae":
        logs = np.abs(np.log10(np.maximum(f, 1e-300)) - np.log10(np.where(y > 0, y, 1.0)))
        return np.where(y > 0, logs, 0.0)
    absolute = np.abs(f - y)
    if metric == "mape":
        return np.where(y != 0, absolute / np.where(y != 0, np.abs(y), 1.0), 0.0)
    if metric == "smape":
        size = (np.abs(y) + np.abs(f)) / 2.0
        return np.where(size > 0, absolute / np.where(size > 0, size, 1.0), 0.0)
    return absolute if metric in ("mae", "mdae") else np.square(absolute)
