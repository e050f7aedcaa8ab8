"""The law a run begins with: one constant, written before anything is imported that compiles.

From here on a run that is killed at any moment leaves a valid best.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emit.contract_module import ContractLaw, GroupedLaw, Local, render, render_grouped
from evolve import __version__
from evolve.config import RunConfig
from evolve.rundir import RunDirectory
from fitness.metrics import METRICS, Space, usable_metric
from harness_adapter.task import Task
from operators.program import FREE, LOCAL, Program, constant
from operators.text import render as render_text

F64 = NDArray[np.float64]


def write_first_law(task: Task, folder: RunDirectory, config: RunConfig) -> tuple[Program, float]:
    """Write the best constant (one level a cluster for a grouped law) as best.py; returns it and its loss.

    A best.py that is there already, of a run that is continued, stays.
    """
    metric, _ = usable_metric(task.metric, task.dataset.y)
    law, loss = constant_law(task, metric)
    if folder.best.exists():
        return law, loss
    notes = (
        f"{metric}: {METRICS[metric].from_loss(loss):.6g} on the training rows",
        f"C = 0; seed {config.seed}; evolve {__version__}",
    )
    if law.local_slots:
        local = Local("a", float(law.value[0]))
        grouped = GroupedLaw(
            law, task.inputs, task.identifiers, task.target, notes, locals=(local,), linear=(0,), metric=metric
        )
        folder.write_best(render_grouped(grouped))
    else:
        folder.write_best(render(ContractLaw(law, task.inputs, task.identifiers, task.target, notes)))
    return law, loss


def constant_law(task: Task, metric: str) -> tuple[Program, float]:
    """The best constant and its loss on the training rows; a local if the task's laws have any."""
    y = task.dataset.y
    local = task.grouped and task.max_locals != 0
    law = constant(best_constant(metric, y), LOCAL if local else FREE)
    return law, METRICS[metric].loss(y, np.full(len(y), law.value[0]))


def best_constant(metric: str, y: F64) -> float:
    """The constant of lowest loss, or close to it: median for absolute errors, mean for squares, both of logarithms
    where those count."""
    spec = METRICS[metric]
    if spec.space == Space.LOG:
        positive = y[y > 0]
        return float(np.exp(np.median(np.log(positive))))
    return float(np.median(y)) if spec.absolute else float(np.mean(y))


def as_text(task: Task, law: Program) -> str:
    """``target = 3.5``, for displays."""
    return f"{task.target} = {render_text(law, task.identifiers)}"
