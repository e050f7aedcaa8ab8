"""Speed of the constants' fit, one thread, against pyoperon's Levenberg-Marquardt on the same programs.

    PYTHONPATH=. python tests/bench/bench_constants.py [--programs 200] [--rows 1000] [--constants 10] [--repeats 5]

Random programs with that many fitted constants; the target is the program itself with other constants, plus noise.
Both start from the same numbers and take at most 5 steps. Printed: microseconds per iteration (everything a fit does
divided by the iterations it reports) and the median ratio of final to initial sum of squares.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
import pyoperon_trees
from random_trees import FULL, random_tree

from fitness.constants import fit, predict_one
from fitness.data import Dataset
from operators.program import Program, ProgramBatch

N_FEATURES, STEPS = 2, 5


def problems(rng: np.random.Generator, count: int, n_constants: int, rows: int) -> list[tuple[Program, Dataset]]:
    """Programs with n_constants constants away from the values that made their targets."""
    out: list[tuple[Program, Dataset]] = []
    X = rng.uniform(0.1, 3.0, (N_FEATURES, rows))
    while len(out) < count:
        program = random_tree(rng, int(rng.integers(24, 32)), FULL, N_FEATURES, constants=0.6)
        if program.n_constants != n_constants:
            continue
        moved = program.value.copy()
        moved[program.free] *= rng.uniform(0.8, 1.25, n_constants)
        start = program.with_values(moved)
        y = predict_one(program, X)
        if not np.all(np.abs(y) < 1e6):
            continue
        y += 0.01 * np.std(y) * rng.standard_normal(rows)
        if np.std(y) > 1e-3 and np.isfinite(predict_one(start, X)).all():
            out.append((start, Dataset.of(X, y, ["x1", "x2"])))
    return out


def ours(tasks: list[tuple[Program, Dataset]]) -> tuple[float, int, list[float]]:
    """Seconds, iterations and final sums of squares."""
    batches = [ProgramBatch.of([program]) for program, _ in tasks]
    start = time.perf_counter()
    results = [fit(batch, data, "mse", STEPS) for batch, (_, data) in zip(batches, tasks, strict=True)]
    elapsed = time.perf_counter() - start
    return elapsed, sum(int(r.iterations[0]) for r in results), [float(r.loss[0]) for r in results]


def theirs(tasks: list[tuple[Program, Dataset]]) -> tuple[float, int, list[float]]:
    """The same for pyoperon (its float32 predictions judged by the same formula)."""
    import pyoperon

    elapsed, iterations, losses = 0.0, 0, []
    rng = pyoperon.RandomGenerator(1)
    table = pyoperon.DispatchTable()
    for program, data in tasks:
        peer = pyoperon_trees.dataset(data.X, data.y)
        problem = pyoperon.Problem(peer)
        problem.TrainingRange = pyoperon.Range(0, data.n_rows)
        problem.Target = list(peer.Variables)[-1]
        problem.InputHashes = peer.VariableHashes[:-1]
        optimizer = pyoperon.LMOptimizer(table, problem, STEPS)
        search = pyoperon.CoefficientOptimizer(optimizer)
        tree = pyoperon_trees.tree(program, peer.VariableHashes)
        start = time.perf_counter()
        fitted, summary = search(rng, tree)
        elapsed += time.perf_counter() - start
        iterations += summary.Iterations
        losses.append(float(np.mean((pyoperon.Evaluate(fitted, peer, problem.TrainingRange) - data.y) ** 2)))
    return elapsed, iterations, losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--constants", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    tasks = problems(np.random.default_rng(1), options.programs, options.constants, options.rows)
    initial = [float(np.mean((predict_one(p, d.X) - d.y) ** 2)) for p, d in tasks]
    tools: dict[str, Any] = {"ours float64": ours}
    try:
        import pyoperon  # noqa: F401

        tools["pyoperon float32"] = theirs
    except ImportError:
        pass
    runs: dict[str, list[tuple[float, int, list[float]]]] = {name: [] for name in tools}
    for _ in range(options.repeats + 1):
        for name, tool in tools.items():
            runs[name].append(tool(tasks))
    table = Table(title=f"{options.constants} constants, {options.rows} rows; load {os.getloadavg()[0]:.1f}")
    for column in ("tool", "us / iteration", "us / program", "iterations", "final / initial error"):
        table.add_column(column, justify="right")
    for name, results in runs.items():
        seconds = float(np.median([r[0] for r in results[1:]]))
        _, iterations, losses = results[-1]
        table.add_row(
            name,
            f"{1e6 * seconds / iterations:.1f}",
            f"{1e6 * seconds / len(tasks):.0f}",
            str(iterations),
            f"{np.nanmedian(np.array(losses) / initial):.2e}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
