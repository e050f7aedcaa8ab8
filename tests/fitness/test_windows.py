"""Cutting clusters into windows: which rows calibrate, which judge, and that nothing is lost or doubled."""

from __future__ import annotations

import numpy as np
import pytest

from fitness.data import Dataset
from fitness.windows import INTERLEAVED, RANDOM, SORTED, Cut, cut_windows, within


def data(sizes=(10, 7, 1, 2)) -> Dataset:
    rng = np.random.default_rng(1)
    n = sum(sizes)
    x = rng.permutation(n).astype(float)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return Dataset.of(np.array([x, group * 10.0]), 100.0 + x, ("x", "dose"), group=group)


def parts(windows, w):
    a, b, c = windows.start[w], windows.cut[w], windows.stop[w]
    return windows.data.X[0, a:b], windows.data.X[0, b:c]


def test_a_sorted_window_calibrates_below_and_judges_above():
    windows = cut_windows(data(), [Cut(SORTED, 0, 0.6)])
    assert windows.groups.tolist() == [0, 1, 3]  # a cluster of one row cannot judge
    for w, sizes in enumerate([(6, 4), (4, 3), (1, 1)]):
        fit, judge = parts(windows, w)
        assert (len(fit), len(judge)) == sizes
        assert fit.max() < judge.min()


@pytest.mark.parametrize("kind", [SORTED, INTERLEAVED, RANDOM])
def test_every_row_stands_in_one_part(kind):
    d = data()
    windows = cut_windows(d, [Cut(kind, 0)])
    for w, g in enumerate(windows.groups):
        fit, judge = parts(windows, w)
        assert len(fit)
        assert len(judge)
        assert sorted([*fit, *judge]) == sorted(d.X[0, d.offsets[g] : d.offsets[g + 1]])


def test_interleaved_windows_judge_every_third_row_at_changing_phases():
    windows = cut_windows(data((9, 9, 9)), [Cut(INTERLEAVED, 0)])
    ranks = []
    for w in range(3):
        fit, judge = parts(windows, w)
        everything = np.sort([*fit, *judge])
        ranks.append(np.searchsorted(everything, np.sort(judge)).tolist())
    assert ranks == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_two_ways_of_cutting_keep_a_cluster_together():
    windows = cut_windows(data(), [Cut(SORTED, 0), Cut(INTERLEAVED, 0)])
    assert windows.kinds == 2
    assert len(windows.start) == 2 * windows.n_groups
    chosen = windows.take(np.array([2, 0]))
    assert chosen.groups.tolist() == [3, 0]
    np.testing.assert_array_equal(parts(chosen, 3)[0], parts(windows, 1)[0])


def test_thinning_keeps_the_ends():
    thin = cut_windows(data((200, 50)), [Cut(SORTED, 0)]).thinned(10)
    whole = cut_windows(data((200, 50)), [Cut(SORTED, 0)])
    for w in range(2):
        for few, many in zip(parts(thin, w), parts(whole, w), strict=True):
            assert len(few) == 10
            assert (few[0], few[-1]) == (many[0], many[-1])


def test_clusters_of_one_row_judge_themselves_when_there_are_no_others():
    windows = cut_windows(data((1, 1, 1)), [Cut(SORTED, 0)])
    assert windows.n_groups == 3
    for w in range(3):
        fit, judge = parts(windows, w)
        np.testing.assert_array_equal(fit, judge)


def test_a_covariate_of_the_cluster_does_not_vary_within():
    assert within(data()).tolist() == [True, False]
