"""Speed of grouped calibration: against a loop of scipy's curve_fit, and forms judged per second on real tasks.

    PYTHONPATH=. python tests/bench/bench_grouped.py [--clusters 50] [--rows 20] [--repeats 20] [--tasks FOLDER ...]

First part, one thread: four textbook forms are calibrated on the same synthetic clusters, each as a whole and then on its
fit window from the median locals, by the kernel and by curve_fit. Printed are microseconds (CPU time) a cluster, the
ratio, and how far the kernel's squared error lies above that of curve_fit at worst. Second part: textbook forms
calibrated and judged on every window of a task.
"""

from __future__ import annotations

import argparse
import time
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

FORMS = {
    "michaelis": ("a*x/(b + x)", lambda x, a, b: a * x / (b + x), ((4, 9), (1, 5))),
    "cooling": ("a + b*exp(-c*x)", lambda x, a, b, c: a + b * np.exp(-c * x), ((1, 3), (4, 8), (0.3, 0.8))),
    "logistic": ("a/(1 + exp(b - c*x))", lambda x, a, b, c: a / (1 + np.exp(b - c * x)), ((5, 9), (2, 4), (0.8, 1.5))),
    "power": ("a*x**b", lambda x, a, b: a * x**b, ((1, 5), (0.5, 2))),
}


def compare(name: str, clusters: int, rows: int, repeats: int) -> tuple[float, float, float]:
    """Seconds of the kernel and of curve_fit for all clusters, and the largest relative excess of our squared error."""
    text, function, spans = FORMS[name]
    rng = np.random.default_rng(5)
    truth = np.array([[rng.uniform(*span) for span in spans] for _ in range(clusters)])
    x, group = np.tile(np.linspace(0.2, 10.0, rows), clusters), np.repeat(np.arange(clusters), rows)
    y = function(x, *truth[group].T)
    y = y + 0.01 * np.std(y) * rng.normal(size=len(y))
    data = GroupedData.of(cut_windows(Dataset.of(x[None], y, ("x",), group=group), [Cut(SORTED, 0)]), "rmse")
    program = parse(text, ("x",), "abc"[: len(spans)])
    batch = ProgramBatch.of([program] * repeats)
    calibrator = Calibrator(data)
    calibrator.run(batch, 40)
    began = time.process_time()
    calibrator.run(batch, 40)
    ours = (time.process_time() - began) / repeats
    found = calibrator.run(ProgramBatch.of([program]), 40, keep=True).locals_[0]
    windows, ones = data.windows, np.ones(len(spans))
    began = time.process_time()
    theirs = [_scipy(function, windows, a, b, ones) for a, b in zip(windows.start, windows.stop, strict=True)]
    middle = np.median(theirs, axis=0)
    for a, b in zip(windows.start, windows.cut, strict=True):
        _scipy(function, windows, a, b, middle)
    loop = time.process_time() - began
    excess = 0.0
    for g in range(clusters):
        own = program.with_values(found[g])
        rows_g = group == g
        squares = np.sum((predict(ProgramBatch.of([own]), x[None, rows_g])[0] - y[rows_g]) ** 2)
        excess = max(excess, squares / np.sum((function(x[rows_g], *theirs[g]) - y[rows_g]) ** 2) - 1.0)
    return ours, loop, excess


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
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--tasks", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    table = Table("form", "kernel us/cluster", "curve_fit us/cluster", "ratio", "excess of squared error")
    for name in FORMS:
        ours, loop, excess = compare(name, options.clusters, options.rows, options.repeats)
        per = 1e6 / options.clusters
        table.add_row(name, f"{per * ours:.1f}", f"{per * loop:.0f}", f"{loop / ours:.0f}", f"{excess:.1e}")
    Console().print(table)
    for folder in options.tasks:
        clusters, count, rate = forms_per_second(folder)
        print(f"{folder.name}: {count} forms on {clusters} clusters, {rate:.0f} forms/s")


if __name__ == "__main__":
    main()
