"""NIST's certified nonlinear regression problems: our careful descent beside scipy's `curve_fit`.

    PYTHONPATH=. python tests/bench/bench_nist.py [folder of the .dat files, default ../shared/nist]

Each problem is started from both official starts, with the certified form and nothing else; no scans, no restarts.
Printed: correct digits of the worst parameter (6 or more count as solved) and seconds. `quick` is the batch kernel of
the search (normal equations) with 100 steps.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import curve_fit

sys.path.insert(0, str(Path(__file__).parents[1] / "fitness"))
from nist_models import Certified, matching_digits, parameters_of, read, with_parameters

from fitness.constants import fit, predict_one
from fitness.polish import refine
from operators.program import ProgramBatch


def careful(problem: Certified, which: int) -> np.ndarray:
    return parameters_of(refine(problem.start(which), problem.data, "mse")[0])


def quick(problem: Certified, which: int) -> np.ndarray:
    start = problem.start(which)
    values = fit(ProgramBatch.of([start]), problem.data, "mse", 100, small_gain=1e-16).value[0, : len(start)]
    return parameters_of(start.with_values(values))


def scipys(problem: Certified, which: int) -> np.ndarray:
    def model(X: np.ndarray, *parameters: float) -> np.ndarray:
        return predict_one(with_parameters(problem.program, np.array(parameters)), X)

    try:
        return curve_fit(model, problem.data.X, problem.data.y, problem.starts[which], maxfev=100_000)[0]
    except (RuntimeError, ValueError):
        return np.full(len(problem.values), np.nan)


TOOLS: dict[str, Callable[[Certified, int], np.ndarray]] = {"ours": careful, "quick": quick, "curve_fit": scipys}


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[3] / "shared" / "nist"
    table = Table(title="correct digits (from start 1, from start 2)")
    for column in ("problem", "constants", *TOOLS):
        table.add_column(column, justify="left" if column == "problem" else "right")
    solved, seconds = dict.fromkeys(TOOLS, 0), dict.fromkeys(TOOLS, 0.0)
    for path in sorted(folder.glob("*.dat")):
        problem = read(path)
        cells = []
        for name, tool in TOOLS.items():
            start = time.perf_counter()
            digits = [matching_digits(tool(problem, which), problem.values) for which in (0, 1)]
            seconds[name] += time.perf_counter() - start
            solved[name] += sum(d >= 6.0 for d in digits)
            cells.append(", ".join(f"{max(d, 0.0):.1f}" for d in digits))
        table.add_row(path.stem, str(len(problem.values)), *cells)
    table.add_section()
    table.add_row("solved of 48", "", *(str(v) for v in solved.values()))
    table.add_row("seconds", "", *(f"{v:.1f}" for v in seconds.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
