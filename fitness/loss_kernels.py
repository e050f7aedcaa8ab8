"""Losses of predictions in the registry's metrics, residuals of the fitting spaces, and value signatures."""

from __future__ import annotations

import math

import numpy as np

from fitness import vector_math as vm
from fitness.jit import COUNT, NUMBER, NUMBERS, block_function, kernel, pointer
from fitness.metrics import BAD_LOSS, LOG_FLOOR, METRICS, Space

RMSE, MAE, MSE, MDAE = (METRICS[n].opcode for n in ("rmse", "mae", "mse", "mdae"))
SMAPE, MAPE, LOG_MAE, R2 = (METRICS[n].opcode for n in ("smape", "mape", "log_mae", "r2"))
SYMMETRIC, LOG = int(Space.SYMMETRIC), int(Space.LOG)
SIGNATURE_ROWS = 64

_DIGITS = 1e7
_LARGEST = 1.7976931348623157e308
_LOG_OF_FLOOR = math.log(LOG_FLOOR)
_LOG10_E = 1.0 / math.log(10.0)


@block_function(NUMBERS, COUNT, result=COUNT)
def bad_rows(f, n):
    """How many entries are NaN or infinite."""
    good = 0
    for r in range(n):
        good += abs(f[r]) <= _LARGEST
    return n - good


@block_function(COUNT, NUMBERS, NUMBERS, COUNT, NUMBERS, result=NUMBER)
def total_error(metric, y, f, n, count):
    """The sum that a metric averages, over n finite rows; count[0] = how many rows it looks at."""
    total, used = 0.0, n
    if metric in (RMSE, MSE, R2):
        for r in range(n):
            total += (f[r] - y[r]) * (f[r] - y[r])
    elif metric == MAE:
        for r in range(n):
            total += abs(f[r] - y[r])
    elif metric == SMAPE:
        used = 0
        for r in range(n):
            size = (abs(y[r]) + abs(f[r])) / 2.0
            total += abs(f[r] - y[r]) / size if size > 0.0 else 0.0
            used += size > 0.0
    elif metric == MAPE:
        used = 0
        for r in range(n):
            total += abs(f[r] - y[r]) / abs(y[r]) if y[r] != 0.0 else 0.0
            used += y[r] != 0.0
    elif metric == LOG_MAE:
        used = 0
        for r in range(n):
            ratio = vm.log(f[r] if f[r] > LOG_FLOOR else LOG_FLOOR) - vm.log(y[r])
            total += abs(ratio) * _LOG10_E if y[r] > 0.0 else 0.0
            used += y[r] > 0.0
    count[0] = used
    return total


@kernel(entry=False)
def loss_of(metric, y, spread, f, scratch):
    """The loss of predictions f against y, both (rows,), as `Metric.loss` defines it.

    `spread` is the sum of squares of y about its mean (r2 needs it); `scratch` has room for the rows.
    """
    n = y.size
    if bad_rows(pointer(f, 0), n) > 0:
        return BAD_LOSS
    if metric == MDAE:
        for r in range(n):
            scratch[r] = abs(f[r] - y[r])
        loss = median(scratch[:n])
    else:
        total = total_error(metric, pointer(y, 0), pointer(f, 0), n, pointer(scratch, 0))
        loss = total / (spread if metric == R2 else scratch[0])
    if metric == RMSE:
        loss = math.sqrt(loss)
    return loss if loss < BAD_LOSS else BAD_LOSS


@kernel(entry=False)
def median(v):
    """The median of v, which is reordered."""
    n = v.size
    high = _select(v, n // 2)
    if n % 2 == 1:
        return high
    low = v[0]
    for r in range(n // 2):
        low = max(low, v[r])
    return 0.5 * (low + high)


@kernel(entry=False)
def _select(v, k):
    """The k-th smallest entry; afterwards v[:k] <= v[k] <= v[k:] (Hoare's algorithm)."""
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


@block_function(COUNT, NUMBERS, NUMBERS, NUMBERS, COUNT, NUMBERS, NUMBERS)
def residuals(space, y, weight, f, n, residual, slope):
    """residual = what a fitting space squares, slope = its derivative by the prediction f, row by row.

    `weight` is the square root of the rows' weights, the 1/|y| of the relative space included; a row that the
    metric skips has weight 0.
    """
    if space == SYMMETRIC:
        for r in range(n):
            size = abs(f[r]) + abs(y[r])
            residual[r] = weight[r] * 2.0 * (f[r] - y[r]) / size if size > 0.0 else 0.0
            slope[r] = weight[r] * 4.0 * abs(y[r]) / (size * size) if f[r] * y[r] > 0.0 else 0.0
    elif space == LOG:
        for r in range(n):
            inside = f[r] > LOG_FLOOR
            ratio = (vm.log(f[r]) if inside else _LOG_OF_FLOOR) - vm.log(y[r])
            residual[r] = weight[r] * ratio if weight[r] > 0.0 else 0.0
            slope[r] = weight[r] / f[r] if inside else 0.0
    else:
        for r in range(n):
            residual[r] = weight[r] * (f[r] - y[r])
            slope[r] = weight[r]


@kernel
def residual_rows(space, y, weight, f, residual, slope):
    """`residuals` of whole vectors (rows,), for Python."""
    residuals(space, pointer(y, 0), pointer(weight, 0), pointer(f, 0), y.size, pointer(residual, 0), pointer(slope, 0))


@kernel(entry=False)
def signature(f):
    """A hash that predictions share when they agree to about 7 digits of their spread, on at most 64 even rows."""
    n = f.size
    m = min(n, SIGNATURE_ROWS)
    low, high = math.inf, -math.inf
    for j in range(m):
        v = f[j * (n - 1) // max(m - 1, 1)]
        if not abs(v) <= _LARGEST:
            return np.uint64(0)
        low, high = min(low, v), max(high, v)
    spread, size = high - low, max(abs(low), abs(high))
    if not spread > 1e-9 * size:
        spread = size
    if spread == 0.0:
        return np.uint64(1)
    # Odd factors keep round numbers away from the edges of the bins.
    _, exponent = math.frexp(spread * 0.7236067977)
    scale = _DIGITS * math.ldexp(1.0, -exponent)
    hashed = np.uint64(14695981039346656037) ^ np.uint64(exponent + 5000)
    for j in range(m):
        v = math.floor(f[j * (n - 1) // max(m - 1, 1)] * scale + 0.3819660113)
        hashed = (hashed ^ np.uint64(np.int64(min(max(v, -9e18), 9e18)))) * np.uint64(1099511628211)
        hashed ^= hashed >> np.uint64(29)
    return hashed
