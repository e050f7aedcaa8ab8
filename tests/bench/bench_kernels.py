"""Speed of the interpreter, one thread, against pyoperon on the same trees.

    PYTHONPATH=. python tests/bench/bench_kernels.py [--trees 1000] [--rows 1000 10000] [--repeats 7]

Ours computes in float64, pyoperon in float32. Both evaluate the same finite random trees of 19-20 nodes (19 when all
primitives are binary); the repeats of the two take turns, so that a busy machine slows both. Printed: the medians in G
node-evaluations per second, and the median of the ratios of neighbouring repeats.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
import pyoperon_trees
from random_trees import ARITHMETIC, FULL, random_tree

from fitness.constants import predict
from fitness.kernels import predict_batch
from operators.program import Program, ProgramBatch

N_FEATURES = 2


def finite_trees(rng: np.random.Generator, count: int, names: Sequence[str], X: Any) -> list[Program]:
    """Random trees of 19-20 nodes without a bad row on X."""
    trees: list[Program] = []
    while len(trees) < count:
        sizes = rng.integers(19, 21, count) if names is FULL else np.full(count, 19)
        some = [random_tree(rng, int(size), names, N_FEATURES) for size in sizes]
        good = np.isfinite(predict(ProgramBatch.of(some), X)).all(axis=1)
        trees += [t for t, keep in zip(some, good, strict=True) if keep]
    return trees[:count]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(trees: list[Program], X: Any, repeats: int) -> tuple[list[float], list[float]]:
    """Seconds per repeat: ours, and pyoperon's (empty when it is not installed)."""
    batch = ProgramBatch.of(trees)
    out = np.empty((len(trees), X.shape[1]))

    def ours() -> None:
        predict_batch(batch.code, batch.arg, batch.value, batch.length, X, 0, len(trees), out)

    try:
        import pyoperon
    except ImportError:
        return [seconds(ours) for _ in range(repeats + 1)][1:], []
    data = pyoperon_trees.dataset(X)
    theirs_trees = [pyoperon_trees.tree(t, data.VariableHashes) for t in trees]
    result = np.empty((len(trees), X.shape[1]), dtype=np.float32)

    def theirs() -> None:
        pyoperon.EvaluateTrees(theirs_trees, data, pyoperon.Range(0, X.shape[1]), result, 1)

    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats + 1)][1:]
    size = np.maximum(1.0, np.median(np.abs(out), axis=1))
    agree = np.mean(np.median(np.abs(result - out), axis=1) < 1e-3 * size)
    if agree < 0.95:  # float32 loses the sine of a large number, but not many trees are of that kind
        raise AssertionError(f"only {agree:.0%} of the trees have the same values in both")
    return [a for a, _ in pairs], [b for _, b in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    table = Table(title=f"G node-evaluations/s, one thread; load {os.getloadavg()[0]:.1f}")
    for column in ("rows", "primitives", "nodes", "ours float64", "pyoperon float32", "ratio"):
        table.add_column(column, justify="right")
    for rows in options.rows:
        rng = np.random.default_rng(1)
        X = rng.uniform(0.1, 3.0, (N_FEATURES, rows))
        for label, names in (("+ - * /", ARITHMETIC), ("full", FULL)):
            trees = finite_trees(rng, options.trees, names, X)
            nodes = sum(len(t) for t in trees)
            ours, theirs = measure(trees, X, options.repeats)
            speed = nodes * rows / np.median(ours) / 1e9
            peer = f"{nodes * rows / np.median(theirs) / 1e9:.2f}" if theirs else "-"
            ratio = f"{np.median(np.array(theirs) / ours):.2f}" if theirs else "-"
            table.add_row(str(rows), label, str(nodes), f"{speed:.2f}", peer, ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
