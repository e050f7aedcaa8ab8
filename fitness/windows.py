"""The windows of grouped data: which rows of a cluster calibrate its locals, and which judge the law.

A scorer calibrates the locals on one window of an unseen cluster and judges the law on another. Training clusters
are cut the same way, so that what the search rewards is what is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fitness.data import Dataset

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

SORTED, INTERLEAVED, RANDOM = "sorted", "interleaved", "random"
FIT_SHARE = 0.6  # of a cluster's rows, when the window is the lower part of an input
EVERY = 3  # of interleaved rows the one in so many judges


@dataclass(frozen=True)
class Cut:
    """How clusters are cut: the kind, the feature along which rows are ordered (-1: as they come), and how much.

    `share` of the ordered rows calibrate a sorted window; of an interleaved one every `every`-th row judges.
    """

    kind: str
    feature: int
    share: float = FIT_SHARE
    every: int = EVERY


@dataclass(frozen=True, eq=False)
class Windows:
    """G clusters, each cut in K ways: window w = g * K + k is rows start[w] to stop[w], calibrated before cut[w].

    `data` holds every row K times over, in window order; `groups` (G,) are the clusters of the data set that was cut.
    """

    data: Dataset
    start: I64
    cut: I64
    stop: I64
    groups: I64
    kinds: int

    @property
    def n_groups(self) -> int:
        return len(self.groups)

    def take(self, chosen: I64) -> Windows:
        """The windows of some clusters (indices into `groups`), in the given order."""
        return self._cut_down(chosen, lambda first, last: np.arange(first, last))

    def thinned(self, most: int) -> Windows:
        """At most about `most` rows in each part of a window, evenly spread along it."""
        return self._cut_down(np.arange(self.n_groups), lambda first, last: _even(first, last, most))

    def _cut_down(self, chosen: I64, pick: Callable[[int, int], I64]) -> Windows:
        rows, start, cut, stop, at = [], [], [], [], 0
        for g in chosen:
            for w in range(g * self.kinds, (g + 1) * self.kinds):
                fit, judge = pick(self.start[w], self.cut[w]), pick(self.cut[w], self.stop[w])
                rows += [fit, judge]
                start.append(at)
                cut.append(at + len(fit))
                at += len(fit) + len(judge)
                stop.append(at)
        data = _rows(self.data, np.concatenate(rows))
        edges = (np.array(start, dtype=np.int64), np.array(cut, dtype=np.int64), np.array(stop, dtype=np.int64))
        return Windows(data, *edges, self.groups[chosen], self.kinds)


def cut_windows(data: Dataset, cuts: Sequence[Cut]) -> Windows:
    """Cut every cluster of two rows or more in all the given ways; a cluster of one row cannot judge anything.

    If no cluster has two rows, the row that calibrates a cluster judges it as well.
    """
    offsets = data.offsets
    sizes = np.diff(offsets)
    usable = np.flatnonzero(sizes >= 2)
    groups = usable if len(usable) else np.arange(len(sizes))
    rows, start, cut, stop, at = [], [], [], [], 0
    for g in groups:
        for kind in cuts:
            fit, judge = _split(data, np.arange(offsets[g], offsets[g + 1]), kind, int(g))
            rows += [fit, judge]
            start.append(at)
            cut.append(at + len(fit))
            at += len(fit) + len(judge)
            stop.append(at)
    edges = (np.array(start, dtype=np.int64), np.array(cut, dtype=np.int64), np.array(stop, dtype=np.int64))
    return Windows(_rows(data, np.concatenate(rows)), *edges, groups.astype(np.int64), len(cuts))


def _split(data: Dataset, rows: I64, kind: Cut, group: int) -> tuple[I64, I64]:
    """(rows that calibrate, rows that judge) of one cluster."""
    n = len(rows)
    if n == 1:
        return rows, rows
    if kind.feature >= 0:
        rows = rows[np.argsort(data.X[kind.feature, rows], kind="stable")]
    if kind.kind == SORTED:
        at = min(max(round(kind.share * n), 1), n - 1)
        return rows[:at], rows[at:]
    if kind.kind == RANDOM:
        rows = rows[np.random.default_rng(group).permutation(n)]
    judge = np.arange(n) % kind.every == (group % kind.every if n >= kind.every else n - 1)
    return rows[~judge], rows[judge]


def within(data: Dataset) -> NDArray[np.bool_]:
    """Which features vary within clusters, (features,): in at least a tenth of those with two rows or more."""
    offsets = data.offsets
    varies = np.zeros(data.n_features)
    several = 0
    for first, last in pairwise(offsets.tolist()):
        if last - first > 1:
            several += 1
            varies += np.ptp(data.X[:, first:last], axis=1) > 0.0
    return varies > 0.1 * several if several else np.ptp(data.X, axis=1) > 0.0


def _rows(data: Dataset, index: I64) -> Dataset:
    weight = None if data.weight is None else data.weight[index]
    return Dataset(np.ascontiguousarray(data.X[:, index]), data.y[index], data.names, weight, None)


def _even(first: int, last: int, most: int) -> I64:
    return np.unique(np.linspace(first, last - 1, min(most, last - first)).round().astype(np.int64))
