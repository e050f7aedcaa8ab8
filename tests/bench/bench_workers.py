"""Two workers against one process and against two threads: seconds, bytes moved, and whether best.py is the same.

    PYTHONPATH=. python tests/bench/bench_workers.py [--rows 30 1000 100000] [--evaluations 15000]

Every run scores on all rows (no sample), with the same seed and the same number of evaluations. A short run comes
first, so that compiling does not count; starting Ray does.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from profile_run import run

LAYOUTS = ((1, 1), (1, 2), (2, 1))  # workers, threads in each


def make_task(folder: Path, rows: int) -> Path:
    """A noisy law of two inputs, so that no run ends early."""
    rng = np.random.default_rng(rows)
    a, b = rng.uniform(-3.0, 3.0, (2, rows))
    y = np.sin(2.0 * a) * b + 0.3 * a * a - np.exp(0.4 * b) + 0.2 * rng.standard_normal(rows)
    path = folder / f"rows{rows}.csv"
    np.savetxt(path, np.column_stack([y, a, b]), delimiter=",", fmt="%.17g", header="y,a,b", comments="")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 1000, 100_000])
    parser.add_argument("--evaluations", type=int, default=15_000)
    given = parser.parse_args()
    table = Table(title=f"{given.evaluations} evaluations, the same seed")
    for column in ("rows", "workers x threads", "seconds", "scoring s", "by worker", "here", "data MB", "programs MB",
                   "load", "same best.py"):  # fmt: skip
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as scratch:
        for rows in given.rows:
            task = make_task(Path(scratch), rows)
            run(str(task), Path(scratch) / f"first{rows}", "--evaluations", "600", "--seed", "1")
            laws = []
            for workers, threads in LAYOUTS:
                began = time.monotonic()
                folder = run(
                    str(task), Path(scratch) / f"{rows}-{workers}-{threads}", "--seed", "1", "--workers", str(workers),
                    "--evaluations", str(given.evaluations), "--set", f"threads={threads}",
                    "--set", f"search.sample_rows={max(rows, 10)}", "--set", "search.seeding_units=2000",
                )  # fmt: skip
                elapsed = time.monotonic() - began
                laws.append(folder.best.read_bytes())
                log = folder.read_log()
                phases = next(e for e in log if e["event"] == "phases")["seconds"]
                scored = next(e for e in log if e["event"] == "scored")
                scoring = phases.get("evaluate", 0.0) + phases.get("evaluate deep", 0.0)
                moved = scored["sent_bytes"] + scored["received_bytes"]
                table.add_row(
                    f"{rows}", f"{workers} x {threads}", f"{elapsed:.1f}", f"{scoring:.1f}",
                    " + ".join(map(str, scored["by_worker"])) or "-", str(scored["in_process"]),
                    f"{scored['data_bytes'] / 1e6:.2f}", f"{moved / 1e6:.2f}", f"{os.getloadavg()[0]:.1f}",
                    "yes" if laws[-1] == laws[0] else "NO",
                )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 160).print(table)


if __name__ == "__main__":
    main()
