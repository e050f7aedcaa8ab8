"""What seeding finds by itself, without any search: laws, seconds and evaluations on every kind of problem.

    PYTHONPATH=. python tests/bench/bench_seeding.py                        # all sets, without noise
    PYTHONPATH=. python tests/bench/bench_seeding.py --sets feynman --noise
    PYTHONPATH=. python tests/bench/bench_seeding.py --sets physics --problems planck -v

Sets: frontier, feynman, strogatz (their data are looked for in ../shared beside the checkout), physics and surfaces
(textbook.py). "exact": seeding stopped with a law as exact as the numbers are. "R2": some law that was proposed has
test R2 > 0.999999 against clean values; the seconds are those until it came. The law printed is the simplest such
one, else the one of least error. Seconds are processor seconds of this process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from problems import Problem, feynman, frontier, select, strogatz
from recovery import SOLVED_R2, r2
from textbook import PHYSICS, SURFACES, made

from evolve.seeding import Proposal, propose
from fitness.constants import predict_one
from fitness.data import Dataset
from operators.complexity import complexity
from operators.grammar import Grammar
from operators.primitives import ALL_NAMES, FRONTIER_NAMES
from operators.text import render

ROOT = Path(__file__).resolve().parents[2]
SETS = ("frontier", "strogatz", "feynman", "physics", "surfaces")
NOISE = 0.01


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    exact: bool
    solved: bool
    seconds: float
    total: float
    evaluations: int
    units: int
    law: Proposal | None


def main() -> None:
    given = options()
    console = Console(width=max(160, Console().width))
    for name in given.sets.split(","):
        rows = []
        for problem in problems_of(name, given):
            rows.append(measure(problem, given))
            if given.verbose:
                console.print(describe(rows[-1], problem), highlight=False, soft_wrap=True)
        show(console, name, rows, given)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS), help="with commas")
    parser.add_argument("--problems", default="", help="names with commas; all problems without it")
    parser.add_argument(
        "--noise", action="store_true", help="1%% noise on the training target (not frontier, strogatz)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--units", type=int, default=200_000, help="work units of a problem")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="the material")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line as soon as a problem is done")
    return parser.parse_args()


def problems_of(name: str, given: argparse.Namespace) -> list[Problem]:
    noise = NOISE if given.noise else 0.0
    scratch = Path(tempfile.gettempdir()) / "evolve_bench_data"
    make = {
        "frontier": lambda: frontier(given.shared),
        "strogatz": lambda: strogatz(given.shared, scratch / "strogatz"),
        "feynman": lambda: feynman(given.shared, given.noise, scratch / "feynman"),
        "physics": lambda: made(PHYSICS, noise),
        "surfaces": lambda: made(SURFACES, noise),
    }[name]
    scratch.mkdir(parents=True, exist_ok=True)
    names = set(filter(None, given.problems.split(",")))
    return select(make(), lambda n: not names or n in names)


def measure(problem: Problem, given: argparse.Namespace) -> Row:
    """Run seeding on one problem and look at everything it proposes."""
    assert problem.X is not None
    assert problem.y is not None
    names = tuple(f"v{k}" for k in range(len(problem.X)))
    primitives = FRONTIER_NAMES if problem.suite == "frontier" else ALL_NAMES
    seeder = propose(
        np.random.default_rng(given.seed), Dataset.of(problem.X, problem.y, names),
        Grammar(len(names), primitives, max_length=64, max_constants=12), given.units,
    )  # fmt: skip
    X_test, y_test = _test_rows(problem)
    started = time.process_time()
    found: list[tuple[Proposal, float, float]] = []
    for proposal in seeder:
        quality = r2(y_test, predict_one(proposal.program, X_test))
        found.append((proposal, quality, time.process_time() - started))
    right = [f for f in found if f[1] > SOLVED_R2]
    if right:
        law, _, _ = min(right, key=lambda f: complexity(f[0].program))
        seconds = right[0][2]
    else:
        law, _, seconds = min(found, key=lambda f: f[0].error, default=(None, 0.0, 0.0))
    total = time.process_time() - started
    return Row(problem.name, seeder.solved, bool(right), seconds, total, seeder.evaluations, seeder.units, law)


def _test_rows(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    assert problem.X is not None
    assert problem.clean is not None
    if problem.truth is None or problem.X_test is None:
        return problem.X, problem.clean
    return problem.X_test, problem.truth(problem.X_test)


def describe(row: Row, problem: Problem) -> str:
    """One line of text for a problem."""
    law = render(row.law.program, [f"{n}" for n in problem.names]) if row.law else "-"
    mark = "exact" if row.exact else "R2" if row.solved else "-"
    origin = row.law.origin if row.law else ""
    return f"{row.name:22} {mark:5} {row.seconds:6.2f} of {row.total:6.2f} s {row.units:7} units  {law}  [{origin}]"


def show(console: Console, name: str, rows: list[Row], given: argparse.Namespace) -> None:
    title = f"{name}{', 1% noise' if given.noise else ''}, seed {given.seed}"
    table = Table(title=title, title_justify="left")
    for heading in ("problem", "found", "seconds", "all", "evaluations", "units", "C", "error", "origin", "law"):
        table.add_column(heading, overflow="fold")
    by_name = {p.name: p for p in problems_of(name, given)}
    for row in rows:
        law = row.law
        table.add_row(
            row.name, "exact" if row.exact else "R2" if row.solved else "-", f"{row.seconds:.2f}", f"{row.total:.2f}",
            str(row.evaluations), str(row.units), str(complexity(law.program)) if law else "",
            f"{law.error:.1e}" if law else "", law.origin if law else "",
            render(law.program, by_name[row.name].names) if law else "",
        )  # fmt: skip
    console.print(table)
    solved = sum(row.solved for row in rows)
    console.print(
        f"{solved} of {len(rows)} found, {sum(row.exact for row in rows)} exactly; {sum(r.total for r in rows):.0f} s\n"
    )


if __name__ == "__main__":
    main()
