"""What the polish of a metric gains over least squares, for each metric on data that suit it.

    PYTHONPATH=. python tests/bench/bench_metrics.py

Printed, in the task's metric: the loss of the law that made the data, of constants fitted by plain least squares, of
the quick fit in the metric's own space (5 steps) and of the polish; and how far the polished constants are from the
law's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "fitness"))
from metric_problems import PROBLEMS

from fitness.constants import fit, polish
from operators.program import ProgramBatch


def main() -> None:
    table = Table(title="loss in the metric")
    for column in ("metric", "data", "law", "least squares", "quick fit", "polish", "worst constant"):
        table.add_column(column, justify="left" if column == "data" else "right")
    for problem in PROBLEMS:
        quick = fit(ProgramBatch.of([problem.start]), problem.data, problem.metric, 5)
        polished, loss = polish(problem.start, problem.data, problem.metric)
        true, found = (p.value[problem.law.free] for p in (problem.law, polished))
        losses = (problem.loss(problem.law), problem.loss(problem.least_squares()), float(quick.loss[0]), loss)
        table.add_row(
            problem.metric, problem.what, *(f"{v:.4g}" for v in losses), f"{np.max(np.abs(found / true - 1)):.1e}"
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
