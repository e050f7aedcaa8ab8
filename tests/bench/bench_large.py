"""Large data: wall time, evaluations per second and peak memory of whole runs.

    PYTHONPATH=. python tests/bench/bench_large.py [--rows 300000] [--groups 300] [--time 60] [--runs DIR]

Two runs of `python -m evolve run CSV`, one of a Michaelis-Menten curve with two parameters for each group, one of a law of
two inputs without groups, both with 1% noise. Each is a process of its own, whose peak memory the system tells.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from evolve.record import read_result
from evolve.rundir import RunDirectory

ROOT = Path(__file__).resolve().parents[2]
NOISE = 0.01


def grouped(rows: int, groups: int) -> pd.DataFrame:
    """Rows of a saturating curve whose height and half point differ from group to group."""
    rng = np.random.default_rng(1)
    group = np.sort(rng.integers(0, groups, rows))
    height, half = rng.uniform(2.0, 9.0, groups)[group], rng.uniform(1.0, 6.0, groups)[group]
    x = rng.uniform(0.2, 20.0, rows)
    y = height * x / (half + x)
    return pd.DataFrame({"y": y + NOISE * np.std(y) * rng.standard_normal(rows), "x": x, "group": group})


def ungrouped(rows: int) -> pd.DataFrame:
    """Rows of one law of two inputs."""
    rng = np.random.default_rng(2)
    x, z = rng.uniform(0.0, 4.0, (2, rows))
    y = x * np.exp(-0.7 * z) + 0.5 * z**2
    return pd.DataFrame({"y": y + NOISE * np.std(y) * rng.standard_normal(rows), "x": x, "z": z})


def one(name: str, table: pd.DataFrame, given: argparse.Namespace) -> tuple[str, ...]:
    """A line of the result: seconds, evaluations, their rate, peak memory, law."""
    given.runs.mkdir(parents=True, exist_ok=True)
    path, out = given.runs / f"{name}.csv", given.runs / f"{name}-{time.time_ns()}"
    table.to_csv(path, index=False)
    command = [
        sys.executable, "-m", "evolve", "run", str(path), "--target", "y", "--seed", "0", "--time", f"{given.time}s",
        "--out", str(out), *(["--group", "group"] if "group" in table else []),
    ]  # fmt: skip
    began = time.monotonic()
    _, status, used = os.wait4(
        os.spawnve(os.P_NOWAIT, sys.executable, command, {**os.environ, "PYTHONPATH": str(ROOT)}), 0
    )
    seconds = time.monotonic() - began
    if status:
        return name, f"exit code {os.waitstatus_to_exitcode(status)}", "", "", "", ""
    result = read_result(RunDirectory.open(out))
    rate = result.evaluations / result.elapsed
    memory = used.ru_maxrss / 2**20
    return name, f"{seconds:.0f}", str(result.evaluations), f"{rate:.0f}", f"{memory:.2f}", result.expression


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "bench_large")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    lines = [one("groups", grouped(given.rows, given.groups), given), one("one law", ungrouped(given.rows), given)]
    table = Table(title=f"{given.rows} rows, {given.groups} groups; --time {given.time:g}s; load before {load:.1f}")
    for column in ("data", "seconds", "evaluations", "a second", "peak GiB", "law"):
        table.add_column(column, justify="left" if column in ("data", "law") else "right")
    for line in lines:
        table.add_row(*line)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
