"""Speed of grouped calibration: against a loop of scipy's curve_fit, and forms judged per second on real tasks.

    PYTHONPATH=. python tests/bench/bench_grouped.py [--clusters 50] [--rows 20] [--repeats 100] [--tasks FOLDER ...]

First part: four textbook forms are calibrated on the same synthetic clusters, each as a whole and then on its fit window
from the median locals, by the kernel in one and in two threads and by a loop of curve_fit. Printed are microseconds a
cluster (wall time, median of five rounds), the ratios, and how far the kernel's squared error lies above that of curve_fit
at worst. Second part: textbook forms calibrated and judged on every window of a task, in two threads.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import curve_fit

from evolve.config import RunConfig
from evolve.engine import Streams, grammar_for, pose
from evolve.grouped.problem import GroupedProblem
from evolve.grouped.starts import textbook
from fitness.constants import predict
from fitness.data import Dataset
from fitness.grouped import Calibrator, GroupedData
from fitness.windows import SORTED, Cut, Windows, cut_windows, within
from harness_adapter.options import ReadOptions
from harness_adapter.read import read_task
from operators.program import ProgramBatch
from operators.text import parse

ROUNDS = 5
FORMS = {
    "michaelis": ("a*x/(b + x)", lambda x, a, b: a * x / (b + x), ((4, 9), (1, 5))),
    "cooling": ("a + b*exp(-c*x)", lambda x, a, b, c: a + b * np.exp(-c * x), ((1, 3), (4, 8), (0.3, 0.8))),
    "logistic": ("a/(1 + exp(b - c*x))", lambda x, a, b, c: a / (1 + np.exp(b - c * x)), ((5, 9), (2, 4), (0.8, 1.5))),
    "power": ("a*x**b", lambda x, a, b: a * x**b, ((1, 5), (0.5, 2))),
}


def compare(name: str, clusters: int, rows: int, repeats: int) -> tuple[float, float, float, float]:
    """Seconds for all clusters of the kernel in one and in two threads and of curve_fit, and the largest relative
    excess of our squared error."""
    text, function, spans = FORMS[name]
    rng = np.random.default_rng(5)
    truth = np.array([[rng.uniform(*span) for span in spans] for _ in range(clusters)])
    x, group = np.tile(np.linspace(0.2, 10.0, rows), clusters), np.repeat(np.arange(clusters), rows)
    y = function(x, *truth[group].T)
    y = y + 0.01 * np.std(y) * rng.normal(size=len(y))
    data = GroupedData.of(cut_windows(Dataset.of(x[None], y, ("x",), group=group), [Cut(SORTED, 0)]), "rmse")
    program = parse(text, ("x",), "abc"[: len(spans)])
    batch = ProgramBatch.of([program] * repeats)
    single, double = Calibrator(data), Calibrator(data, threads=2)
    found = single.run(ProgramBatch.of([program]), 40, keep=True).locals_[0]
    seconds = np.median([_round(single, double, batch, function) for _ in range(ROUNDS)], axis=0)
    excess = 0.0
    for g, theirs in enumerate(_loop(function, data.windows)):
        own = program.with_values(found[g])
        rows_g = group == g
        squares = np.sum((predict(ProgramBatch.of([own]), x[None, rows_g])[0] - y[rows_g]) ** 2)
        excess = max(excess, squares / np.sum((function(x[rows_g], *theirs) - y[rows_g]) ** 2) - 1.0)
    return seconds[0] / repeats, seconds[1] / repeats, seconds[2], excess


def _round(single: Calibrator, double: Calibrator, batch: ProgramBatch, function: Any) -> list[float]:
    """Wall seconds of the three, one after the other, so that all see the same machine."""
    return [
        _seconds(lambda: single.run(batch, 40)), _seconds(lambda: double.run(batch, 40)),
        _seconds(lambda: _loop(function, single.data.windows)),
    ]  # fmt: skip


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _loop(function: Any, windows: Windows) -> list[np.ndarray]:
    """Each cluster by curve_fit, as a whole and then on its window from the median; the parameters of the whole."""
    n_parameters = function.__code__.co_argcount - 1
    ones = np.ones(n_parameters)
    whole = [_scipy(function, windows, a, b, ones) for a, b in zip(windows.start, windows.stop, strict=True)]
    middle = np.median(whole, axis=0)
    for a, b in zip(windows.start, windows.cut, strict=True):
        _scipy(function, windows, a, b, middle)
    return whole


def _scipy(function: Any, windows: Windows, first: int, last: int, start: np.ndarray) -> np.ndarray:
    x, y = windows.data.X[0, first:last], windows.data.y[first:last]
    try:
        return curve_fit(function, x, y, start, maxfev=5000)[0]
    except RuntimeError:  # no convergence: what a loop would have to live with
        return start


def forms_per_second(folder: Path) -> tuple[int, int, float]:
    """Clusters, textbook forms, and forms calibrated and judged per second on a task, two threads."""
    task, config = read_task(folder, ReadOptions()), RunConfig(time=60.0, seed=0, threads=2)
    problem = pose(task, Streams.of(0), config)
    assert isinstance(problem, GroupedProblem)
    assert problem.thinned is not None
    varying = [int(f) for f in np.flatnonzero(within(problem.data))]
    laws = textbook(grammar_for(task, config), problem.data.X, varying)
    calibrator = Calibrator(problem.thinned, threads=2)
    began = time.perf_counter()
    calibrator.run(ProgramBatch.of(laws), 8)
    return problem.thinned.windows.n_groups, len(laws), len(laws) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--tasks", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    table = Table(title=f"wall time a cluster, median of {ROUNDS} rounds; load {os.getloadavg()[0]:.1f}")
    for column in (
        "form",
        "kernel us",
        "2 threads us",
        "curve_fit us",
        "ratio",
        "ratio, 2 threads",
        "excess of squared error",
    ):
        table.add_column(column, justify="right")
    for name in FORMS:
        single, double, loop, excess = compare(name, options.clusters, options.rows, options.repeats)
        us = 1e6 / options.clusters
        table.add_row(
            name, f"{us * single:.1f}", f"{us * double:.1f}", f"{us * loop:.0f}", f"{loop / single:.0f}",
            f"{loop / double:.0f}", f"{excess:.1e}",
        )  # fmt: skip
    Console(width=120).print(table)
    for folder in options.tasks:
        clusters, count, rate = forms_per_second(folder)
        print(f"{folder.name}: {count} forms on {clusters} clusters, {rate:.0f} forms/s")


if __name__ == "__main__":
    main()
