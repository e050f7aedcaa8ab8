"""The numerical problem behind a grouped task: how clusters are cut, what counts as good in each, what is thinned."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.exact import exact_loss
from evolve.finish import Problem
from evolve.grouped.starts import textbook
from fitness.data import Folds
from fitness.grouped import Calibrator, GroupedData
from fitness.metrics import BAD_LOSS, usable_metric
from fitness.windows import EVERY, FIT_SHARE, INTERLEAVED, RANDOM, SORTED, Cut, cut_windows, within
from harness_adapter.task import Task
from operators.grammar import Grammar
from operators.program import Program, ProgramBatch

I64 = NDArray[np.int64]

_MOST_LOCALS = 3  # where the task sets no cap
_ROWS_OF_A_PART = 40  # rows of a window's part that a search looks at; large clusters are thinned to this
_ROWS_OF_SAMPLE = 1500  # rows of all sampled clusters together
_LEAST_CLUSTERS = 12  # that a sample holds

_ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "tenth": 10}


@dataclass(frozen=True)
class GroupedProblem(Problem):
    """A `Problem` with its clusters cut into windows: `whole` has all rows, `thinned` fewer in large clusters."""

    whole: GroupedData | None = None
    thinned: GroupedData | None = None


def is_grouped(task: Task) -> bool:
    """Does the task have parameters of each cluster? With a cap of 0 locals it is an ordinary task of pooled rows."""
    return task.grouped and task.max_locals != 0


def max_locals(task: Task) -> int:
    """The number of locals a law of this task may have."""
    return _MOST_LOCALS if task.max_locals is None else task.max_locals


def pose_grouped(task: Task, grammar: Grammar, threads: int) -> GroupedProblem:
    """Windows of all training clusters, cut as the task's split tells; scales set by what textbook laws reach."""
    data = task.dataset
    metric, _ = usable_metric(task.metric, data.y)
    whole = GroupedData.of(cut_windows(data, cuts_of(task)), metric)
    problem = GroupedProblem(
        everything=data,
        data=data,
        folds=Folds(),
        metric=metric,
        exact=exact_loss(data.y, metric),
        priors=tuple(p.value for p in task.priors if p.value is not None),
        threads=threads,
        whole=whole,
        thinned=whole.thinned(_ROWS_OF_A_PART),
    )
    varying = [int(f) for f in np.flatnonzero(within(data))]
    return with_reference(problem, textbook(grammar, data.X, varying))


def main_feature(task: Task) -> int:
    """The feature along which clusters are cut: the one the split names, else the one with most values in a cluster."""
    if task.split.column in task.inputs:
        return task.inputs.index(task.split.column)
    varying = within(task.dataset)
    if not varying.any():
        return -1
    distinct = [len(np.unique(x)) if v else 0 for x, v in zip(task.dataset.X, varying, strict=True)]
    return int(np.argmax(distinct))


def cuts_of(task: Task) -> list[Cut]:
    """The ways in which to cut clusters: as the split says, along its column; both ways where it does not say."""
    feature = main_feature(task)
    share, every = _numbers(task.split_text)
    low, across = Cut(SORTED, feature, share), Cut(INTERLEAVED, feature, every=every)
    if task.split.kind in ("sorted", "ends"):
        return [low]
    if task.split.kind == "interleaved":
        return [across]
    if task.split.kind == "random":
        return [Cut(RANDOM, feature, every=every)]
    return [low, across]


def _numbers(text: str) -> tuple[float, int]:
    """The share of rows that a sorted window calibrates with and the step of an interleaved one, if the text tells."""
    percent = re.search(r"(\d+(?:\.\d+)?)\s?%", text)
    share = float(percent[1]) / 100.0 if percent else FIT_SHARE
    ordinal = re.search(r"every (\w+?)(?:th|nd|rd)? row", text + " row")
    every = EVERY
    if word := re.search(r"\bevery (second|third|fourth|fifth|sixth|seventh|eighth|tenth)\b", text, re.I):
        every = _ORDINALS[word[1].lower()]
    elif ordinal and ordinal[1].isdigit():
        every = int(ordinal[1])
    return (share if 0.05 < share < 0.95 else FIT_SHARE), max(every, 2)


def with_reference(problem: GroupedProblem, laws: list[Program]) -> GroupedProblem:
    """The problem with each cluster's scale set by the simple law that does best, see `GroupedData.rescaled`."""
    assert problem.thinned is not None
    assert problem.whole is not None
    if not laws:
        return problem
    batch = ProgramBatch.of(laws)
    few = evenly(problem.thinned, _ROWS_OF_SAMPLE)
    found = Calibrator(few, problem.threads).run(batch, 15)
    best = int(np.argmin(found.loss))
    if found.loss[best] >= BAD_LOSS:
        return problem
    errors = found.errors[best]
    if few is not problem.thinned:
        errors = Calibrator(problem.thinned, problem.threads).run(batch.take(np.array([best])), 15).errors[0]
    thinned = problem.thinned.rescaled(errors / np.repeat(problem.thinned.scale, _kinds(problem)))
    whole = GroupedData(problem.whole.windows, problem.metric, thinned.scale)
    return GroupedProblem(**{**problem.__dict__, "thinned": thinned, "whole": whole})


def _kinds(problem: GroupedProblem) -> int:
    assert problem.thinned is not None
    return problem.thinned.windows.kinds


def evenly(data: GroupedData, rows: int) -> GroupedData:
    """About `rows` rows of clusters spread evenly over all of them, a dozen at least; the data itself if it is small."""
    total, n = int(_sizes(data).sum()), data.windows.n_groups
    count = max(_LEAST_CLUSTERS, n * rows // max(total, 1))
    if total <= 2 * rows or count >= n:
        return data
    return data.take(np.linspace(0, n - 1, count).round().astype(np.int64))


def _sizes(data: GroupedData) -> I64:
    """Rows of each cluster, over all its windows."""
    return (data.windows.stop - data.windows.start).reshape(data.windows.n_groups, -1).sum(axis=1)


def sampled(data: GroupedData, rng: np.random.Generator) -> GroupedData:
    """Some clusters to look at first: as many as fit into a number of rows; all of them when they do."""
    sizes = _sizes(data)
    if sizes.sum() <= 2 * _ROWS_OF_SAMPLE or data.windows.n_groups <= _LEAST_CLUSTERS:
        return data
    order = rng.permutation(data.windows.n_groups)
    count = max(int(np.searchsorted(np.cumsum(sizes[order]), _ROWS_OF_SAMPLE)), _LEAST_CLUSTERS)
    return data.take(np.sort(order[:count]))
