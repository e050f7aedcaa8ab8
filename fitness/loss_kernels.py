"""Losses of predictions in the registry's metrics, the residual of each fitting space, and value signatures."""

from __future__ import annotations

import math

import numpy as np

from fitness.jit import kernel
from fitness.metrics import BAD_LOSS, LOG_FLOOR, METRICS, Space

RMSE, MAE, MSE, MDAE = (METRICS[n].opcode for n in ("rmse", "mae", "mse", "mdae"))
SMAPE, MAPE, LOG_MAE, R2 = (METRICS[n].opcode for n in ("smape", "mape", "log_mae", "r2"))
SYMMETRIC, LOG = int(Space.SYMMETRIC), int(Space.LOG)
SIGNATURE_ROWS = 64
_DIGITS = 1e7


@kernel
def all_finite(f):  # type: ignore[no-untyped-def]
    """True when no entry is NaN or infinite."""
    bad = 0
    for r in range(f.size):
        bad += not math.isfinite(f[r])
    return bad == 0


@kernel
def loss_of(metric, y, f, scratch):  # type: ignore[no-untyped-def]
    """The loss of predictions f against y (both (rows,)), as `Metric.loss`; `scratch` has room for the rows."""
    if not all_finite(f):
        return BAD_LOSS
    n = y.size
    total, count = 0.0, n
    if metric == RMSE or metric == MSE or metric == R2:
        for r in range(n):
            total += (f[r] - y[r]) * (f[r] - y[r])
    elif metric == MAE:
        for r in range(n):
            total += abs(f[r] - y[r])
    elif metric == MDAE:
        for r in range(n):
            scratch[r] = abs(f[r] - y[r])
        total, count = median(scratch[:n]), 1
    elif metric == SMAPE:
        count = 0
        for r in range(n):
            size = (abs(y[r]) + abs(f[r])) / 2.0
            total += abs(f[r] - y[r]) / size if size > 0.0 else 0.0
            count += size > 0.0
    elif metric == MAPE:
        count = 0
        for r in range(n):
            total += abs(f[r] - y[r]) / abs(y[r]) if y[r] != 0.0 else 0.0
            count += y[r] != 0.0
    elif metric == LOG_MAE:
        count = 0
        for r in range(n):
            total += abs(math.log10(max(f[r], LOG_FLOOR)) - math.log10(y[r])) if y[r] > 0.0 else 0.0
            count += y[r] > 0.0
    if count == 0:
        return BAD_LOSS
    loss = total / sum_of_squares(y) if metric == R2 else total / count
    if metric == RMSE:
        loss = math.sqrt(loss)
    return loss if loss < BAD_LOSS else BAD_LOSS


@kernel
def sum_of_squares(y):  # type: ignore[no-untyped-def]
    """Sum of squared deviations from the mean; 0 for a constant."""
    mean = y.sum() / y.size
    total, same = 0.0, True
    for r in range(y.size):
        total += (y[r] - mean) * (y[r] - mean)
        same = same and y[r] == y[0]
    return 0.0 if same else total


@kernel
def median(v):  # type: ignore[no-untyped-def]
    """The median of v, which is reordered (Hoare's selection)."""
    n = v.size
    high = _select(v, n // 2)
    if n % 2 == 1:
        return high
    low = v[0]
    for r in range(n // 2):
        low = max(low, v[r])
    return 0.5 * (low + high)


@kernel
def _select(v, k):  # type: ignore[no-untyped-def]
    """The k-th smallest entry; afterwards v[:k] <= v[k] <= v[k:]."""
    lo, hi = 0, v.size - 1
    while lo < hi:
        pivot = v[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while v[i] < pivot:
                i += 1
            while v[j] > pivot:
                j -= 1
            if i <= j:
                v[i], v[j] = v[j], v[i]
                i += 1
                j -= 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return v[k]


@kernel
def residuals(space, y, weight, f, residual, slope):  # type: ignore[no-untyped-def]
    """residual = what a fitting space squares, slope = its derivative by the prediction, row by row.

    `weight` (rows,) is the square root of the rows' weights, the space's own 1/|y| included; a row that the metric
    skips has weight 0. Returns the sum of squares (not finite when a row is bad).
    """
    n = y.size
    total = 0.0
    if space == SYMMETRIC:
        for r in range(n):
            size = abs(f[r]) + abs(y[r])
            agree = f[r] * y[r] > 0.0
            residual[r] = weight[r] * 2.0 * (f[r] - y[r]) / size if size > 0.0 else 0.0
            slope[r] = weight[r] * 4.0 * abs(y[r]) / (size * size) if agree else 0.0
    elif space == LOG:
        for r in range(n):
            inside = f[r] > LOG_FLOOR
            logarithm = math.log(f[r]) if inside else math.log(LOG_FLOOR)
            residual[r] = weight[r] * (logarithm - math.log(y[r])) if weight[r] > 0.0 else 0.0
            slope[r] = weight[r] / f[r] if inside else 0.0
    else:
        for r in range(n):
            residual[r] = weight[r] * (f[r] - y[r])
            slope[r] = weight[r]
    bad = 0
    for r in range(n):
        total += residual[r] * residual[r]
        bad += not math.isfinite(f[r])
    return total if bad == 0 else math.inf


@kernel
def signature(f):  # type: ignore[no-untyped-def]
    """A hash that predictions share when they agree to about 7 digits of their spread, on at most 64 even rows."""
    n = f.size
    m = min(n, SIGNATURE_ROWS)
    low, high = math.inf, -math.inf
    for j in range(m):
        v = f[j * (n - 1) // max(m - 1, 1)]
        if not math.isfinite(v):
            return np.uint64(0)
        low, high = min(low, v), max(high, v)
    spread = high - low
    size = max(abs(low), abs(high))
    if not (spread > 1e-9 * size):
        spread = size
    if spread == 0.0:
        return np.uint64(1)
    # Unusual factors keep round numbers away from the edges of the bins.
    _, exponent = math.frexp(spread * 0.7236067977)
    scale = math.ldexp(1.0, -exponent) * _DIGITS
    hashed = np.uint64(1469598103934665603) ^ np.uint64(exponent + 5000)
    for j in range(m):
        v = f[j * (n - 1) // max(m - 1, 1)]
        binned = np.int64(min(max(math.floor(v * scale + 0.3819660113), -9e18), 9e18))
        hashed = (hashed ^ np.uint64(binned)) * np.uint64(1099511628211)
        hashed ^= hashed >> np.uint64(29)
    return hashed
