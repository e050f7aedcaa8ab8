"""The eight metrics of the benchmark, in one table: function, direction, perfect value, fitting space.

`metrics` has the registry's semantics to the letter: the rows it skips, the values it clips, None where a metric
is undefined. Inside the engine every metric becomes a *loss*, lower is better (r2 -> 1 - r2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from operators.errors import InputError, nearest

F64 = NDArray[np.float64]

LOG_FLOOR = 1e-300  # log_mae clips predictions below at this value
BAD_LOSS = 1e300  # the loss of a law with a bad row; finite, so that it orders after every real loss


class Space(IntEnum):
    """The least-squares problem whose solution starts (or is) the fit for a metric."""

    PLAIN = 0  # f - y
    RELATIVE = 1  # (f - y) / |y|
    SYMMETRIC = 2  # 2 (f - y) / (|f| + |y|), reweighted
    LOG = 3  # log10 f - log10 y over y > 0


def _rmse(y: F64, f: F64) -> float | None:
    return float(np.sqrt(np.mean(np.square(f - y))))


def _mse(y: F64, f: F64) -> float | None:
    return float(np.mean(np.square(f - y)))


def _mae(y: F64, f: F64) -> float | None:
    return float(np.mean(np.abs(f - y)))


def _mdae(y: F64, f: F64) -> float | None:
    return float(np.median(np.abs(f - y)))


def _smape(y: F64, f: F64) -> float | None:
    size = (np.abs(y) + np.abs(f)) / 2.0
    used = size > 0
    return float(np.mean(np.abs(f[used] - y[used]) / size[used])) if used.any() else None


def _mape(y: F64, f: F64) -> float | None:
    used = y != 0
    return float(np.mean(np.abs(f[used] - y[used]) / np.abs(y[used]))) if used.any() else None


def _log_mae(y: F64, f: F64) -> float | None:
    used = y > 0
    if not used.any():
        return None
    return float(np.mean(np.abs(np.log10(np.maximum(f[used], LOG_FLOOR)) - np.log10(y[used]))))


def _r2(y: F64, f: F64) -> float | None:
    total = 0.0 if np.all(y == y[0]) else float(np.sum(np.square(y - np.mean(y))))
    return 1.0 - float(np.sum(np.square(f - y))) / total if total > 0.0 else None


@dataclass(frozen=True)
class Metric:
    """One metric. `function(y_true, y_pred)` takes finite arrays of equal, non-zero length; None means undefined.

    `opcode` is the kernels' number for it, `space` where its constants are fitted, and `absolute` says that it
    averages (or takes the median of) absolute errors of that space rather than squares.
    """

    name: str
    opcode: int
    function: Callable[[F64, F64], float | None]
    direction: Literal["lower", "higher"]
    perfect: float
    space: Space
    absolute: bool

    def to_loss(self, raw: float | None) -> float:
        """The loss of a raw value: lower is better, finite; an undefined value is BAD_LOSS."""
        if raw is None or not np.isfinite(raw):
            return BAD_LOSS
        return float(min(raw if self.direction == "lower" else self.perfect - raw, BAD_LOSS))

    def from_loss(self, loss: float) -> float:
        """The raw value of a loss, the inverse of `to_loss`."""
        return loss if self.direction == "lower" else self.perfect - loss

    def loss(self, y: F64, prediction: F64) -> float:
        """The loss of a prediction; BAD_LOSS when any row of it is not finite."""
        if not np.all(np.isfinite(prediction)):
            return BAD_LOSS
        with np.errstate(all="ignore"):
            return self.to_loss(_finite(self.function(y, prediction)))


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric("rmse", 0, _rmse, "lower", 0.0, Space.PLAIN, False),
        Metric("mae", 1, _mae, "lower", 0.0, Space.PLAIN, True),
        Metric("mse", 2, _mse, "lower", 0.0, Space.PLAIN, False),
        Metric("mdae", 3, _mdae, "lower", 0.0, Space.PLAIN, True),
        Metric("smape", 4, _smape, "lower", 0.0, Space.SYMMETRIC, True),
        Metric("mape", 5, _mape, "lower", 0.0, Space.RELATIVE, True),
        Metric("log_mae", 6, _log_mae, "lower", 0.0, Space.LOG, True),
        Metric("r2", 7, _r2, "higher", 1.0, Space.PLAIN, False),
    )
}


def metric_of(name: str) -> Metric:
    """The metric called `name`; InputError names the known ones."""
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}{nearest(name, METRICS)} (known: {', '.join(METRICS)})")
    return METRICS[name]


def metrics(y_true: ArrayLike, y_pred: ArrayLike) -> dict[str, float | int | None]:
    """All eight metrics and `n_finite`, over the rows where truth and prediction are both finite."""
    y = np.asarray(y_true, dtype=np.float64).reshape(-1)
    f = np.asarray(y_pred, dtype=np.float64).reshape(-1)
    if y.shape != f.shape:
        raise ValueError(f"y_true has {y.size} rows, y_pred has {f.size}")
    used = np.isfinite(y) & np.isfinite(f)
    y, f = y[used], f[used]
    with np.errstate(all="ignore"):
        out: dict[str, float | int | None] = {
            name: _finite(m.function(y, f)) if y.size else None for name, m in METRICS.items()
        }
    out["n_finite"] = int(y.size)
    return out


def usable_metric(name: str, y: F64) -> tuple[str, str | None]:
    """The metric to use for this target: `name`, or rmse with the reason why `name` says nothing about it."""
    metric_of(name)
    y = np.asarray(y, dtype=np.float64)
    if name == "log_mae" and not np.any(y > 0):
        return "rmse", "log_mae looks at rows with a positive target only, and there is none; rmse is used instead"
    if name == "mape" and not np.any(y != 0):
        return "rmse", "mape skips rows where the target is 0, and every row is; rmse is used instead"
    if name == "r2" and _r2(y, y) is None:
        return "rmse", "r2 is undefined for a constant target; rmse is used instead"
    return name, None


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
