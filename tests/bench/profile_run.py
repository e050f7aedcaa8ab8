"""Where the time of a run goes, by named phase.

    PYTHONPATH=. python tests/bench/profile_run.py TASK [--time 30] [--seed 1] [--threads 2] [--workers 1]

TASK is anything that `evolve run` takes. Printed: seconds, share and entries of each phase of the main thread, from
the log that every run keeps; what the phases do not cover (imports, reading, starting) is the last line. Phases are
exclusive: "simplify" within "ask" counts as "simplify". A run of a few seconds comes first, so that compiling does
not count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evolve.record import read_result
from evolve.rundir import RunDirectory

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ("evaluate", "evaluate deep", "simplify")  # phases that spend nearly all their time in compiled code


def run(task: str, folder: Path, *more: str) -> RunDirectory:
    """A finished run of the command line; its last words when it fails."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = ["--out", str(folder), "--set", "report.enabled=false", *more]
    command = [sys.executable, "-m", "evolve", "run", task, *given]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"evolve run {task} ended with code {done.returncode}: {done.stderr or done.stdout}")
    return RunDirectory.open(folder)


def report(folder: RunDirectory) -> Table:
    """The table of phases."""
    phases = next(e for e in folder.read_log() if e["event"] == "phases")
    result = read_result(folder)
    seconds, entries = phases["seconds"], phases["entries"]
    table = Table(
        title=f"{result.task}: {result.elapsed:.1f} s, {result.evaluations} evaluations; load {os.getloadavg()[0]:.1f}"
    )
    for column in ("phase", "seconds", "share", "entries"):
        table.add_column(column, justify="left" if column == "phase" else "right")
    for name in sorted(seconds, key=lambda n: -seconds[n]):
        share = seconds[name] / result.elapsed
        table.add_row(name, f"{seconds[name]:.2f}", f"{share:.1%}", str(entries[name]))
    rest = result.elapsed - sum(seconds.values())
    table.add_row("(outside phases)", f"{rest:.2f}", f"{rest / result.elapsed:.1%}", "")
    search = {n: s for n, s in seconds.items() if n not in ("conclude", "publish interim")}
    outside = sum(s for n, s in search.items() if n not in KERNELS) / max(sum(search.values()), 1e-9)
    table.caption = f"{outside:.1%} of the search is spent outside {', '.join(KERNELS)}"
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--time", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run(given.task, Path(scratch) / "first", "--evaluations", "3000")
        endless = ("--set", "search.settle=false", "--set", "search.exact_patience=1000000000")
        settings = ("--seed", f"{given.seed}", "--workers", f"{given.workers}", "--set", f"threads={given.threads}")
        folder = run(given.task, Path(scratch) / "run", "--time", f"{given.time:g}s", *endless, *settings)
        Console().print(report(folder))


if __name__ == "__main__":
    main()
