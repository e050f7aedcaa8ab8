"""Are known laws of groups recovered: the form, and which of its numbers are local and which are shared?

    PYTHONPATH=. python tests/bench/bench_recovery_grouped.py [--seeds 1,2,3] [--time 120] [--laws wave,power] [--set K=V]

Each run is `python -m evolve run CSV --group group` on 12 clusters of 20 rows with 1% noise; the seed draws the data
and is that of the run. A law counts as recovered when it has as many locals and as many fitted constants as the truth,
and becomes the truth when these are fitted to noise-free rows: then the form is right in whatever words, and nothing
in it is too much. Run folders stay in RUNS (runs/bench_grouped without --runs).
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from evolve.record import locals_in, read_result
from evolve.rundir import RunDirectory
from fitness.constants import predict
from fitness.data import Dataset
from fitness.grouped import Calibrator, GroupedData
from fitness.windows import SORTED, Cut, cut_windows
from operators.primitives import CONST
from operators.program import LOCAL, Program, ProgramBatch
from operators.text import parse

F64 = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS, ROWS, NOISE = 12, 20, 0.01
_EXACT = 1e-5  # largest difference from the truth, in units of the spread of a cluster


@dataclass(frozen=True)
class Law:
    """A truth over x and its locals, with the spans of these, the span of x, and the number of shared constants."""

    formula: Callable[..., F64]
    spans: tuple[tuple[float, float], ...]
    low: float
    high: float
    constants: int


_STARTS = (1.0, 0.3, 3.0)  # of the locals, when a law is fitted to the clean rows

LAWS = {
    "michaelis": Law(lambda x, a, b: a * x / (b + x), ((2, 9), (1, 6)), 0.2, 20.0, 0),
    "logistic": Law(lambda x, a, b: a / (1 + np.exp(-(x - b) / 1.43)), ((2, 9), (4, 8)), 0.0, 14.0, 1),
    "power": Law(lambda x, a: a * x**1.37, ((1, 5),), 0.5, 9.0, 1),
    "exponential": Law(lambda x, a, b: 0.83 + a * np.exp(-b * x), ((3, 9), (0.2, 0.7)), 0.0, 9.0, 1),
    "wave": Law(lambda x, a, b, c: a + b * np.sin(1.3 * x + c), ((1, 4), (2, 5), (0, 3)), 0.0, 12.0, 1),
}


def rows_of(law: Law, seed: int) -> tuple[F64, F64, F64, NDArray[np.int64]]:
    """x, noisy y, clean y, and the cluster of each row."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(CLUSTERS), ROWS)
    x = np.sort(rng.uniform(law.low, law.high, (CLUSTERS, ROWS)), axis=1).ravel()
    local = np.array([[rng.uniform(*span) for span in law.spans] for _ in range(CLUSTERS)])
    clean = law.formula(x, *local[group].T)
    return x, clean + NOISE * np.std(clean) * rng.normal(size=len(x)), clean, group


def verdict(found: Program, law: Law, seed: int) -> str:
    """Empty when the law is the truth with the right split, else what is wrong."""
    x, _, clean, group = rows_of(law, seed)
    difference = min(_difference(_begun_at(found, start), x, clean, group) for start in _STARTS)
    if not difference < _EXACT:
        return f"another form: {difference:.1e} of the spread away from clean rows"
    split, right = (len(found.local_slots), found.n_constants), (len(law.spans), law.constants)
    return "" if split == right else f"{split[0]} locals and {split[1]} constants, not {right[0]} and {right[1]}"


def _begun_at(found: Program, start: float) -> Program:
    """The law with all locals at a number to begin with: its text does not tell where its own fit begins."""
    locals_ = (found.code == CONST) & (found.arg >= LOCAL)
    return found.with_values(np.where(locals_, start, found.value))


def _difference(found: Program, x: F64, clean: F64, group: NDArray[np.int64]) -> float:
    """Largest distance from the clean rows, by the spread of the cluster, once fitted to them."""
    data = GroupedData.of(cut_windows(Dataset.of(x[None], clean, ("x",), group=group), [Cut(SORTED, 0)]), "rmse")
    fit = Calibrator(data).run(ProgramBatch.of([found]), 200, 200, keep=True)
    worst = 0.0
    for g in range(CLUSTERS):
        own, rows = found.with_values(fit.locals_[0, g, : len(found)]), group == g
        away = np.abs(predict(ProgramBatch.of([own]), x[None, rows])[0] - clean[rows])
        worst = max(worst, float(np.max(away) / np.std(clean[rows])))
    return worst


def one(name: str, seed: int, given: argparse.Namespace) -> tuple[str, str, float, str]:
    """The law found, what is wrong with it, the seconds of the run, and why it ended."""
    folder = given.runs / f"{name}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    x, y, _, group = rows_of(LAWS[name], seed)
    with (folder / "rows.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["x", "y", "group"])
        out.writerows(zip(x.tolist(), y.tolist(), group.tolist(), strict=True))
    command = [
        sys.executable, "-m", "evolve", "run", str(folder / "rows.csv"), "--target", "y", "--group", "group",
        "--seed", str(seed), "--time", f"{given.time}s", "--out", str(folder / f"run-{time.time_ns()}"),
        *(part for setting in given.set for part in ("--set", setting)),
    ]  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    seconds = time.monotonic() - began
    if done.returncode:
        return "", f"exit code {done.returncode}: {done.stderr[-300:]}", seconds, ""
    result = read_result(RunDirectory.open(Path(command[command.index("--out") + 1])))
    program = parse(result.text, ("x",), locals_in(result.text, ("x",)))
    return result.expression, verdict(program, LAWS[name], seed), seconds, result.reason


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--time", type=float, default=120.0)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "bench_grouped")
    given = parser.parse_args()
    table = Table("law", "seed", "recovered", "s", "load", "found", "note")
    right: dict[int, int] = {}
    for seed in map(int, given.seeds.split(",")):
        for name in given.laws.split(","):
            found, why, seconds, reason = one(name, seed, given)
            right[seed] = right.get(seed, 0) + (not why)
            load = f"{os.getloadavg()[0]:.1f}"
            table.add_row(name, str(seed), "no" if why else "yes", f"{seconds:.0f}", load, found, why or reason)
            print(name, seed, "no" if why else "yes", f"{seconds:.0f} s", found, why or reason, flush=True)
    Console(width=200).print(table)
    count = len(given.laws.split(","))
    print("; ".join(f"seed {seed}: {n} of {count}" for seed, n in right.items()))


if __name__ == "__main__":
    main()
