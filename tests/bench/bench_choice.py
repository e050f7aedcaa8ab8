"""Was the choice right? The official score of the chosen law beside the best one that the front held, in hindsight.

    PYTHONPATH=. python tests/bench/bench_choice.py --tasks leavitt_1912,mauna_loa_co2 [--time 60] [--laws 12]

Runs `python -m evolve run` on Type I tasks of the material (all without --tasks) and scores the chosen law and up to
LAWS others of `front.csv`, evenly spread, each by the harness in a process of its own. No law is changed by what this
finds out: it says how much a better choice could gain, and how much only a better search.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from evolve.export import export
from evolve.record import FrontLaw, read_front
from evolve.rundir import RunDirectory
from harness_adapter import official
from harness_adapter.read import read_task
from operators.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def score(place: Path, run: RunDirectory, law: int | None, scratch: Path) -> float:
    """Official score of one law of a run (None: the chosen one); nan where it cannot be exported or scored."""
    file = scratch / f"law{law}.py"
    try:
        file.write_bytes(export(run, "contract", law))
        return float(official.score(read_task(place), file).get("numeric_score", math.nan))
    except InputError:
        return math.nan


def tried(laws: list[FrontLaw], most: int) -> list[FrontLaw]:
    """At most so many laws of a front, evenly spread over it, without the chosen one."""
    others = [law for law in laws if not law.chosen]
    return [others[i] for i in np.unique(np.linspace(0, len(others) - 1, min(most, len(others))).astype(int))]


def one(place: Path, given: argparse.Namespace) -> tuple[str, float, int, float, int]:
    """Task, score and C of the chosen law, score and C of the best law."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / place.name
        command = [
            sys.executable, "-m", "evolve", "run", str(place), "--seed", str(given.seed), "--time", f"{given.time}s",
            "--out", str(out), "--set", "report.enabled=false",
        ]  # fmt: skip
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        run = RunDirectory.open(out)
        laws = read_front(run)
        own = next(law for law in laws if law.chosen)
        chosen = score(place, run, None, Path(folder))
        scored = [(score(place, run, law.law, Path(folder)), law.complexity) for law in tried(laws, given.laws)]
        best, c = max(
            ((s, c) for s, c in [*scored, (chosen, own.complexity)] if not math.isnan(s)), key=lambda x: (x[0], -x[1])
        )
    return place.name, chosen, own.complexity, best, c


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="", help="names with commas")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="the material")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--laws", type=int, default=12)
    given = parser.parse_args()
    names = set(filter(None, given.tasks.split(",")))
    places = [p for p in sorted((given.shared / "bench" / "tasks" / "typeI").iterdir()) if not names or p.name in names]
    table = Table(
        title=f"--time {given.time:g}s, seed {given.seed}, up to {given.laws} other laws; load {os.getloadavg()[0]:.1f}"
    )
    for column in ("task", "chosen", "C", "best of the front", "C"):
        table.add_column(column, justify="left" if column == "task" else "right")
    rows = [one(place, given) for place in places]
    for name, chosen, c, best, other in rows:
        table.add_row(name, f"{chosen:.3f}", str(c), f"{best:.3f}", str(other))
    table.add_row("mean", f"{np.nanmean([r[1] for r in rows]):.3f}", "", f"{np.nanmean([r[3] for r in rows]):.3f}", "")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
