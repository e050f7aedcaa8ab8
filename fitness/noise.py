"""The noise of a target, where the rows themselves tell: rows with equal inputs that differ in y.

No law of the inputs explains the differences between such replicates. Their size is the pure error of the classical
lack-of-fit test (Draper & Smith 1998, ch. 2), here in each metric's own space and measure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitness.data import Dataset
from fitness.metrics import METRICS, Space

F64 = NDArray[np.float64]

_LEAST_FREEDOM = 20  # degrees of freedom from which on an estimate is worth having
_LEAST_SHARE = 0.3  # of all rows that are replicates, for these to speak for the rest
_STANDARD_ERRORS = 2.0  # by which the estimate is lowered: more than this is seldom missing by chance


def noise_loss(data: Dataset, metric: str) -> float:
    """The loss in `metric` that the true law leaves at least on rows like these; 0.0 where replicates do not tell.

    Each row's deviation from the mean of its replicates is scaled by sqrt(n / (n - 1)), which gives it the variance of
    the error, and enters with the weight (n - 1) / n of its freedom. The estimate is lowered by two standard errors
    (over the sets of replicates), so that laws at it may be taken to have nothing left to gain.
    """
    spec = METRICS[metric]
    if metric == "mdae":  # half of the rows may be fitted as closely as one likes
        return 0.0
    z, size = _in_space(data.y, spec.space)
    used = np.flatnonzero(np.isfinite(z) & (size > 0.0))
    if not len(used):
        return 0.0
    _, owner, count = np.unique(data.X[:, used], axis=1, return_inverse=True, return_counts=True)
    owner = owner.reshape(-1)
    freedom = int(np.sum(count - 1))
    if freedom < _LEAST_FREEDOM or count[count > 1].sum() < _LEAST_SHARE * len(data.y):
        return 0.0
    mean = np.bincount(owner, z[used]) / count
    n = np.maximum(count[owner], 2)
    deviation = np.abs(z[used] - mean[owner]) * np.sqrt(n / (n - 1.0)) / size[used]
    measure = deviation if spec.absolute else np.square(deviation)
    by_set = np.bincount(owner, measure * (count[owner] - 1.0) / count[owner])
    estimate = float(by_set.sum()) / freedom
    error = float(np.sqrt(np.sum(np.square(by_set - (count - 1) * estimate)))) / freedom
    least = max(estimate - _STANDARD_ERRORS * error, 0.0)
    if metric == "rmse":
        return float(np.sqrt(least))
    return least / (float(np.var(data.y)) or 1.0) if metric == "r2" else least


def _in_space(y: F64, space: Space) -> tuple[F64, F64]:
    """The target where a metric measures differences, and the size they are relative to."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if space == Space.LOG:
            return np.where(y > 0.0, np.log10(y), np.nan), np.ones_like(y)
    relative = space in (Space.RELATIVE, Space.SYMMETRIC)
    return y, np.abs(y) if relative else np.ones_like(y)
