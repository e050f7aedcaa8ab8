"""Our engine and its peers on the same data, cores, budget and seeds: the tables of the search.

    PYTHONPATH=. python tests/bench/bench_search.py --only frontier --seeds 1,2,3 --time 60
    PYTHONPATH=. python tests/bench/bench_search.py --only feynman --noise --seeds 1
    PYTHONPATH=. python tests/bench/bench_search.py --only typeI --seeds 0 --problems leavitt_1912,mauna_loa_co2
    PYTHONPATH=. python tests/bench/bench_search.py --only strogatz --tools pyoperon
    PYTHONPATH=. python tests/bench/bench_search.py --only feynman --time 20 --set search.seeding_units=0 --runs runs/ablation

Suites: frontier, feynman, strogatz, typeI, typeII (all of them without --only). The material is looked for in ../shared
beside the checkout. A run of ours that finds an exact law stops early by itself. `--set` changes our engine: an ablation,
which wants a --runs folder of its own.

What was measured is kept: our rows in RUNS/ours.csv (a table that was interrupted goes on where it stopped; --fresh
measures again), the peers' in tests/bench/peers.csv with date and version (--tools pyoperon measures what is
missing there; otherwise peers only appear where they were measured before).
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

sys.path.insert(0, str(Path(__file__).parent))
from outcomes import Outcome, Setting, append_rows, ours, pyoperon, read_rows, warm_up
from problems import Problem, feynman, frontier, scilaws, select, strogatz

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).with_name("peers.csv")
SUITES = ("frontier", "feynman", "strogatz", "typeI", "typeII")
TOOLS: dict[str, Callable[[Problem, Setting], Outcome]] = {"evolve": ours, "pyoperon": pyoperon}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SUITES, action="append", help="a suite; may be given several times")
    parser.add_argument("--problems", default="", help="names with commas; all problems without it")
    parser.add_argument("--tools", default="evolve", help="tools to run, with commas: evolve, pyoperon")
    parser.add_argument("--noise", action="store_true", help="Feynman: 1%% noise on the training target")
    parser.add_argument("--seeds", default="1", help="with commas")
    parser.add_argument("--time", type=float, default=60.0, help="seconds of a run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; each gets its share of the cores")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="cores for all runs together")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="the material")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "bench", help="folder of results and runs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of our engine")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    return parser.parse_args()


def problems_of(suite: str, given: argparse.Namespace) -> list[Problem]:
    names = set(filter(None, given.problems.split(",")))
    made = {
        "frontier": lambda: frontier(given.shared),
        "feynman": lambda: feynman(given.shared, given.noise, given.runs / "data" / "feynman"),
        "strogatz": lambda: strogatz(given.shared, given.runs / "data" / "strogatz"),
        "typeI": lambda: scilaws(given.shared, "typeI"),
        "typeII": lambda: scilaws(given.shared, "typeII"),
    }[suite]()
    return select(made, lambda name: not names or name in names)


def measure(suite: str, tool: str, given: argparse.Namespace, console: Console) -> list[Outcome]:
    """The rows of one tool on one suite: those kept from before, and the missing ones measured now."""
    file = given.runs / "ours.csv" if tool == "evolve" else PEERS
    noise = given.noise and suite == "feynman"
    kept = {row.key: row for row in read_rows(file)}  # of equal keys the newest
    rows: list[Outcome] = []
    missing: list[tuple[Problem, int]] = []
    chosen = tool in given.tools.split(",")
    for problem in problems_of(suite, given):
        for seed in map(int, given.seeds.split(",")):
            old = kept.get((tool, suite, problem.name, noise, seed, given.time))
            if old is not None and not (given.fresh and chosen):
                rows.append(old)
            elif chosen and not (tool != "evolve" and suite == "typeII"):  # no peer fits clusters
                missing.append((problem, seed))
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(given.jobs) as jobs:
        if missing and tool == "evolve":
            warm_up(Path(scratch) / "warm-up")
        threads = max(1, given.cores // given.jobs)

        def one(job: tuple[Problem, int]) -> Outcome:
            row = TOOLS[tool](job[0], Setting(job[1], given.time, threads, noise, Path(scratch), tuple(given.set)))
            append_rows(file, [row])
            console.print(Text(f"{tool} {suite} {row.problem} seed {row.seed}: {summary(row)}"))
            return row

        rows += jobs.map(one, missing)
    return sorted(rows, key=lambda r: (r.problem, r.seed))


def summary(row: Outcome) -> str:
    """One line about a row."""
    score = "" if math.isnan(row.score) else f"score {row.score:.4g} (unbounded {row.unbounded:.4g}) "
    error = f"R2 {row.r2:.9f} MSE {row.mse:.2g} C {row.complexity} {row.seconds:.1f} s"
    return f"{'SOLVED ' * row.solved}{score}{error} {row.note}"


def show(suite: str, rows: list[Outcome], console: Console, noise: bool) -> None:
    """The table of one suite, the laws, and what they sum up to."""
    table = Table(title=f"{suite}{', 1% noise' * noise}", title_justify="left")
    for column in ("problem", "seed", "tool", "solved", "score", "unbounded", "R2", "MSE", "C", "found s", "total s",
                   "load", "law", "note"):  # fmt: skip
        table.add_column(column, overflow="fold", justify="left" if column in ("problem", "law", "note") else "right")
    for r in sorted(rows, key=lambda r: (r.problem, r.seed, r.tool)):
        numbers = (_short(v) for v in (r.score, r.unbounded, r.r2, r.mse, r.complexity, r.found, r.seconds, r.load))
        cells = (r.problem, str(r.seed), r.tool, "yes" if r.solved else "", *numbers, r.law, r.note)
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)
    for tool in sorted({r.tool for r in rows}):
        console.print(total(tool, [r for r in rows if r.tool == tool]), highlight=False)


def total(tool: str, rows: list[Outcome]) -> str:
    """A tool's sums over a suite."""
    scores = [r.score for r in rows if not math.isnan(r.score)]
    found = [r.found for r in rows if not math.isnan(r.found)]
    parts = [f"{tool}: {sum(r.solved for r in rows)} of {len(rows)} solved"]
    parts += [f"mean score {np.mean(scores):.4f}"] if scores else []
    parts += [f"median time to solution {np.median(found):.1f} s ({len(found)} runs)"] if found else []
    versions = sorted({f"{r.version} on {r.date}" for r in rows})
    return "; ".join([*parts, f"measured: {', '.join(versions)}"])


def _short(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "" if math.isnan(value) else f"{value:.9f}".rstrip("0") if 0.99 < value < 1 else f"{value:.4g}"


def main() -> None:
    given = options()
    console = Console(width=None if sys.stdout.isatty() else 200)
    if not given.shared.is_dir():
        console.print(f"nothing to do: the material is not at {given.shared}; give its place with --shared")
        return
    for suite in given.only or SUITES:
        rows = [row for tool in TOOLS for row in measure(suite, tool, given, console)]
        show(suite, rows, console, given.noise and suite == "feynman")


if __name__ == "__main__":
    main()
