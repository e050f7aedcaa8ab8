"""Compiled ranking for survival: how many rivals dominate each candidate."""

from __future__ import annotations

import numpy as np

from fitness.jit import kernel


@kernel
def dominance_counts(loss, complexity, age):
    """For each candidate, how many others are no worse in (loss, complexity, age) and better in one. (N,) int64."""
    n = len(loss)
    out = np.zeros(n, np.int64)
    for i in range(n):
        count = 0
        li, ci, ai = loss[i], complexity[i], age[i]
        for j in range(n):
            no_worse = (loss[j] <= li) & (complexity[j] <= ci) & (age[j] <= ai)
            better = (loss[j] < li) | (complexity[j] < ci) | (age[j] < ai)
            count += no_worse & better
        out[i] = count
    return out
