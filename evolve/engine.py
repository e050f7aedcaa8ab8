"""Setting up the engine for a task: which rows, which grammar, which evaluator, which ideas to begin with."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial

import numpy as np

from evolve.config import RunConfig
from evolve.description import Description
from evolve.exact import Rounding, exact_loss
from evolve.finish import Problem
from evolve.graft import Grafter
from evolve.grouped.opening import open_grouped
from evolve.grouped.problem import GroupedProblem, is_grouped, max_locals, pose_grouped
from evolve.grouped.publish import GroupedPublisher
from evolve.publish import Publisher
from evolve.rundir import RunDirectory
from evolve.search import Search
from evolve.seeding import propose
from evolve.seeding.background import BackgroundSeeder
from fitness.data import Dataset
from fitness.evaluator import Evaluator, InProcessEvaluator, LoadableEvaluator
from fitness.folds import ends_exceeded, make_folds
from fitness.growing import GrowingEvaluator
from fitness.metrics import usable_metric
from fitness.noise import noise_loss
from fitness.ray_pool import open_ray, worth_sharing
from fitness.resolution import Resolution
from fitness.sample import stratified_sample
from fitness.windows import within
from harness_adapter.task import Task
from operators.grammar import Grammar

_ALLOWANCE = 3  # fitted literals beyond the cap that a judge lets pass
_MOST_CONSTANTS = 12  # where the task sets no cap
_ROWS_PER_CONSTANT = 2  # fewer rows than this for each constant describe the noise


@dataclass(frozen=True)
class Streams:
    """Independent random generators, one a purpose, so that no stage disturbs another."""

    folds: np.random.Generator
    sample: np.random.Generator
    seeding: np.random.Generator
    search: np.random.Generator

    @staticmethod
    def of(seed: int) -> Streams:
        return Streams(*np.random.default_rng(seed).spawn(4))


def pose(task: Task, streams: Streams, config: RunConfig) -> Problem:
    """The numerical problem behind a task: rows, folds (or the windows of clusters), metric, and when a law is exact."""
    if is_grouped(task):
        return pose_grouped(task, grammar_for(task, config), threads(config))
    metric, _ = usable_metric(task.metric, task.dataset.y)
    data = stratified_sample(streams.sample, task.dataset, config.choose.rows)
    return Problem(
        everything=task.dataset,
        data=data,
        folds=make_folds(streams.folds, data, config.choose.folds, task.ranges),
        metric=metric,
        exact=exact_loss(task.dataset.y, metric),
        noise=noise_loss(task.dataset, metric),
        priors=tuple(p.value for p in task.priors if p.value is not None),
        threads=threads(config),
    )


def threads(config: RunConfig) -> int:
    """Threads of this process: as configured, else one a core."""
    return config.threads or os.cpu_count() or 1


def grammar_for(task: Task, config: RunConfig) -> Grammar:
    """The language of a task's laws: its primitives, and as many constants as the judge and the rows allow."""
    data, search = task.dataset, config.search
    cap = _MOST_CONSTANTS if task.max_constants is None else task.max_constants + _ALLOWANCE
    if task.kind == "frontier_cs":
        cap = 2 * _MOST_CONSTANTS
    spread = np.std(data.X, axis=1)
    varying = tuple(int(i) for i in np.flatnonzero(spread > 0.0)) or tuple(range(data.n_features))
    grouped = is_grouped(task)
    return Grammar(
        n_features=data.n_features,
        primitives=task.primitives,
        max_length=search.max_length,
        max_depth=search.max_depth,
        max_complexity=search.max_complexity,
        max_constants=max(1, min(cap, data.n_rows // _ROWS_PER_CONSTANT)),
        max_locals=max_locals(task) if grouped else 0,
        between=tuple(int(i) for i in np.flatnonzero(~within(data))) if grouped else (),
        features=varying,
        scale=tuple(float(s) for s in spread),
    )


def open_evaluator(data: Dataset, metric: str, config: RunConfig) -> LoadableEvaluator:
    """Scoring in this process, or in `config.workers` processes where a generation is large enough to pay for them."""
    local = InProcessEvaluator(data, metric, threads(config))
    if config.workers == 1:
        return local
    population = config.search.population
    if not worth_sharing(data.n_rows, population):
        _note(f"{data.n_rows} rows times {population} programs are too few for workers; scoring stays in this process")
        return local
    threads_each = config.threads or max(1, (os.cpu_count() or 1) // config.workers)
    make = partial(InProcessEvaluator, metric=metric, threads=threads_each)
    return open_ray(make, local, data, config.workers, _note)


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


def open_search(task: Task, problem: Problem, streams: Streams, config: RunConfig) -> tuple[Search, Evaluator]:
    """A search ready to run, and the evaluator to close afterwards."""
    grammar = grammar_for(task, config)
    if isinstance(problem, GroupedProblem):
        return open_grouped(problem, grammar, streams.search, streams.sample, config)
    samples = _samples(problem.everything, streams.sample, config)
    sample = samples[0]
    evaluator = GrowingEvaluator(open_evaluator(sample, problem.metric, config), samples[1:])
    seeder = propose(streams.seeding, sample, grammar, config.search.seeding_units)
    search = Search(
        streams.search,
        grammar,
        evaluator,
        config.search,
        problem.exact,
        Description(grammar, problem.metric, samples[-1].n_rows, task.max_constants, problem.noise),
        proposals=BackgroundSeeder(seeder, paced=config.evaluations is not None),
        grafter=Grafter(streams.sample, sample, grammar, problem.metric),
        grow=evaluator.grow,
        resolution=Resolution(sample.X, _beyond(task)),
        rounding=Rounding(sample, problem.metric),
        max_evaluations=config.evaluations,
    )
    return search, evaluator


def _beyond(task: Task) -> list[int]:
    """Features that the law will meet outside the values of the training rows."""
    X = task.dataset.X
    return [i for i, (low, high) in enumerate(task.ranges) if any(ends_exceeded(X[i], low, high))]


def _samples(data: Dataset, rng: np.random.Generator, config: RunConfig) -> list[Dataset]:
    """The rows to begin with, and fourfold more each time, up to `most_rows`; all rows where there are few."""
    size, most = config.search.sample_rows, min(config.search.most_rows, data.n_rows)
    sizes = [size]
    while sizes[-1] < most:
        sizes.append(min(4 * sizes[-1], most))
    return [stratified_sample(rng, data, n) for n in sizes]


def open_publisher(task: Task, folder: RunDirectory, config: RunConfig) -> Publisher:
    """What writes the laws of this task."""
    return GroupedPublisher(task, folder, config) if is_grouped(task) else Publisher(task, folder, config)
