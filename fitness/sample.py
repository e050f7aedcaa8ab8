"""A smaller data set that stands for a large one."""

from __future__ import annotations

import numpy as np

from fitness.data import Dataset


def stratified_sample(rng: np.random.Generator, data: Dataset, n: int) -> Dataset:
    """n rows spread evenly over the sorted target, and the rows with the extremes of every feature.

    The data set itself when it has no more than n rows. Groups are not looked at.
    """
    if data.n_rows <= n:
        return data
    order = np.argsort(data.y, kind="stable")
    edges = np.linspace(0, data.n_rows, n + 1).astype(np.int64)
    chosen = order[edges[:-1] + (rng.random(n) * np.diff(edges)).astype(np.int64)]
    extremes = np.concatenate([np.argmin(data.X, axis=1), np.argmax(data.X, axis=1)])
    return data.rows(np.unique(np.concatenate([chosen, extremes])))
