"""Tuned individuals per second of the whole loop, against pyoperon's, on mccormick in one run.

    PYTHONPATH=. python tests/bench/bench_loop.py [--seconds 15] [--threads 2] [--rounds 3] [--rows 0]

Both have a population of 1000, programs of at most 30 nodes and at most 5 Levenberg-Marquardt steps for each new
individual; an individual counts once, however many steps it took. Rounds of the two take turns, so that a busy machine
slows both; each is a search with another seed. Ours is the loop alone (ask, evaluate, tell, front): no seeding, no
grafts, no choice, no files; and the loop with all of that in `--everything`. Only the search's clock counts, compiling
and imports do not. `--rows` draws a larger sample of the same function instead of the problem's own rows.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
import pyoperon_search
from profile_run import KERNELS

from evolve.config import RunConfig, SearchConfig
from evolve.description import Description
from evolve.engine import Streams, open_search, pose
from evolve.search import Search
from fitness.evaluator import InProcessEvaluator
from harness_adapter.read import read_task
from harness_adapter.task import Task
from operators.grammar import Grammar

F64 = NDArray[np.float64]
POPULATION, LENGTH, STEPS = pyoperon_search.POPULATION, 30, pyoperon_search.STEPS
PRIMITIVES = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square")


def with_rows(task: Task, rows: int) -> Task:
    """The task, or its function on another number of random rows."""
    if not rows:
        return task
    X = np.random.default_rng(0).uniform(-1.5, 3.0, (2, rows))
    a, b = X
    y = np.sin(a + b) + (a - b) ** 2 - 1.5 * a + 2.5 * b + 1.0
    return replace(task, dataset=type(task.dataset).of(X, y, task.dataset.names))


def bare(task: Task, seed: int, threads: int) -> Search:
    """One island and nothing beside it."""
    grammar = Grammar(task.dataset.n_features, PRIMITIVES, max_length=LENGTH, max_depth=LENGTH, max_constants=LENGTH)
    config = SearchConfig(population=POPULATION, islands=1, max_length=LENGTH, lm_iterations=STEPS, settle=False,
                          exact_patience=10**12)  # fmt: skip
    evaluator = InProcessEvaluator(task.dataset, "mse", threads)
    description = Description(grammar, "mse", task.dataset.n_rows)
    return Search(np.random.default_rng(seed), grammar, evaluator, config, 0.0, description)


def complete(task: Task, seed: int, threads: int) -> Search:
    """The engine as a run opens it: islands, seeding, grafts."""
    search = SearchConfig(population=POPULATION, max_length=LENGTH, lm_iterations=STEPS, settle=False,
                          exact_patience=10**12, sample_rows=10**6)  # fmt: skip
    config = RunConfig(seed=seed, threads=threads, search=search)
    streams = Streams.of(seed)
    return open_search(task, pose(task, streams, config), streams, config)[0]


def speed(search: Search, seconds: float) -> tuple[float, float]:
    """Evaluations per second, and the share of the time that is not spent in `evaluate` and `simplify`."""
    generations = search.generations()
    next(generations)
    before = dict(search.timer.seconds)
    began, used = time.perf_counter(), search.evaluator.evaluations
    while time.perf_counter() - began < seconds:
        next(generations)
    elapsed = time.perf_counter() - began
    kernels = sum(search.timer.seconds.get(n, 0.0) - before.get(n, 0.0) for n in KERNELS)
    return (search.evaluator.evaluations - used) / elapsed, 1.0 - kernels / elapsed


def theirs(X: F64, y: F64, seed: int, threads: int, seconds: float) -> float:
    result = pyoperon_search.search(X, y, seconds, seed, threads, max_length=LENGTH)
    return float(result["individuals"] / result["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--everything", action="store_true")
    given = parser.parse_args()
    task = with_rows(read_task("example:mccormick"), given.rows)
    make: Any = complete if given.everything else bare
    speed(make(task, 0, given.threads), 1.0)  # compiles
    rows: list[tuple[float, float, float]] = []
    for seed in range(1, given.rounds + 1):
        mine, outside = speed(make(task, seed, given.threads), given.seconds)
        try:
            peer = theirs(task.dataset.X, task.dataset.y, seed, given.threads, given.seconds)
        except ImportError:
            peer = float("nan")
        rows.append((mine, outside, peer))
    where = f"{task.dataset.n_rows} rows, {given.threads} threads, {given.seconds:g} s each"
    table = Table(title=f"{where}; load {os.getloadavg()[0]:.1f}")
    for column in ("round", "ours, individuals/s", "pyoperon, individuals/s", "ratio", "ours outside kernels"):
        table.add_column(column, justify="right")
    for number, (mine, outside, peer) in enumerate([*rows, tuple(np.median(rows, axis=0))], 1):
        label = str(number) if number <= len(rows) else "median"
        table.add_row(label, f"{mine:.0f}", f"{peer:.0f}", f"{mine / peer:.2f}", f"{outside:.0%}")
    Console().print(table)


if __name__ == "__main__":
    main()
