"""Train-split folds: random ones, and ones that hold out the ends of an input when the test will extrapolate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitness.data import Dataset, Fold, Folds

_LEAVE_ONE_OUT = 12  # up to this many rows every row is a fold of its own
_END_SHARE = 0.2  # of the rows, held out at one end
_BEYOND = 0.05  # a range this much (of the data's span) wider than the data announces extrapolation
_LEAST = 8  # rows below which no end is held out


def make_folds(
    rng: np.random.Generator, data: Dataset, n_folds: int = 5, ranges: Sequence[tuple[float, float]] = ()
) -> Folds:
    """Folds of a data set without groups.

    `ranges[i]` is where the law must hold in feature i; where it exceeds the rows by more than 5% of their span,
    a fold holds out the fifth of the rows nearest to that end. With one row there is nothing to hold out.
    """
    n = data.n_rows
    if n < 2:
        return Folds(())
    items = _random_folds(rng, n, n if n <= _LEAVE_ONE_OUT else n_folds)
    for feature, (low, high) in enumerate(ranges):
        items += _end_folds(data.X[feature], low, high)
    return Folds(tuple(items))


def _random_folds(rng: np.random.Generator, n: int, k: int) -> list[Fold]:
    order = rng.permutation(n)
    parts = [np.sort(order[i::k]) for i in range(k)]
    everything = np.arange(n)
    return [Fold(np.setdiff1d(everything, part), part, "random") for part in parts]


def ends_exceeded(x: np.ndarray, low: float, high: float) -> tuple[bool, bool]:
    """Does the range from `low` to `high` leave the values `x` (n,) below, and above?"""
    span = float(np.ptp(x))
    return float(np.min(x)) - low > _BEYOND * span > 0.0, high - float(np.max(x)) > _BEYOND * span > 0.0


def _end_folds(x: np.ndarray, low: float, high: float) -> list[Fold]:
    if len(x) < _LEAST:
        return []
    count = round(_END_SHARE * len(x))
    below, above = ends_exceeded(x, low, high)
    order = np.argsort(x, kind="stable")
    folds = []
    if above:
        folds.append(Fold(np.sort(order[:-count]), np.sort(order[-count:]), "ends"))
    if below:
        folds.append(Fold(np.sort(order[count:]), np.sort(order[:count]), "ends"))
    return [f for f in folds if np.ptp(x[f.fit]) > 0.0]
