"""What a grouped run leaves about its clusters: `locals.csv`, a table for the report, small multiples."""

from __future__ import annotations

import base64
import csv
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve import plots
from evolve.grouped.problem import main_feature
from evolve.report import Plot, Table
from harness_adapter.task import Task

F64 = NDArray[np.float64]

LOCALS = "locals.csv"
_MOST_ROWS = 40  # clusters in the table of the report
_MOST_PANELS = 20


@dataclass(frozen=True, eq=False)
class Fitted:
    """A law on its training clusters: locals (groups, locals) under their names, predictions (rows,), the starts."""

    names: tuple[str, ...]
    locals: F64
    predictions: F64
    starts: F64


def as_csv(fitted: Fitted, task: Task) -> str:
    """One line a cluster (its label, rows, locals), then the starts, and the spread between clusters."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([task.group_column or "group", "rows", *fitted.names])
    sizes = np.diff(task.dataset.offsets)
    for label, size, row in zip(_labels(task), sizes, fitted.locals, strict=True):
        writer.writerow([label, size, *(repr(float(v)) for v in row)])
    writer.writerow(["start", int(sizes.sum()), *(repr(float(v)) for v in fitted.starts)])
    writer.writerow(["spread", "", *(repr(float(v)) for v in spread(fitted.locals))])
    return out.getvalue()


def spread(locals_: F64) -> F64:
    """Robust standard deviation of each local between clusters: 1.4826 times the median distance from the median."""
    return 1.4826 * np.median(np.abs(locals_ - np.median(locals_, axis=0)), axis=0)


def as_table(fitted: Fitted, task: Task) -> Table:
    """The locals of the first clusters, below start and spread."""
    head = [["start", *fitted.starts.tolist()], ["spread", *spread(fitted.locals).tolist()]]
    rows = [[str(label), *row] for label, row in zip(_labels(task), fitted.locals.tolist(), strict=True)]
    more = f" (the first {_MOST_ROWS} of {len(rows)}; all in {LOCALS})" if len(rows) > _MOST_ROWS else ""
    return Table(f"Locals of each training cluster{more}", ("cluster", *fitted.names), [*head, *rows[:_MOST_ROWS]])


def small_multiples(fitted: Fitted, task: Task) -> tuple[Plot, ...]:
    """Data and fit of some clusters along their main input, one small panel each."""
    feature = main_feature(task)
    data = task.dataset
    labels = _labels(task)
    some = np.unique(np.linspace(0, data.n_groups - 1, min(_MOST_PANELS, data.n_groups)).astype(int))
    panels = []
    for g in some:
        rows = np.arange(data.offsets[g], data.offsets[g + 1])
        x = data.X[feature, rows] if feature >= 0 else np.arange(len(rows), dtype=np.float64)
        order = rows[np.argsort(x, kind="stable")]
        panels.append((str(labels[g]), np.sort(x), data.y[order], fitted.predictions[order]))
    name = task.inputs[feature] if feature >= 0 else "row"
    png = plots.small_multiples(panels, name, task.target)
    caption = "Data (points) and the law with the locals of each training cluster (line)."
    return (Plot(caption, base64.b64encode(png).decode("ascii")),)


def _labels(task: Task) -> list[object]:
    n = task.dataset.n_groups
    return list(task.group_ids) if len(task.group_ids) == n else list(range(n))
