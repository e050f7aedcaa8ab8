"""`report.html`: one page, without outside files, that a person opens to judge a law."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray

from evolve import plots
from evolve.config import ReportConfig
from evolve.record import FrontLaw, Result, read_front
from evolve.rundir import CONFIG, REPORT, VERSIONS, RunDirectory
from harness_adapter.task import Task

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """An extra table of the page, e.g. the fitted locals of each cluster; the first column is text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Plot:
    """A picture of the page: base64 text of a PNG."""

    caption: str
    png: str


def write_report(
    run: RunDirectory,
    task: Task,
    result: Result,
    predictions: F64,
    config: ReportConfig,
    tables: Sequence[Table] = (),
    figures: Sequence[Plot] = (),
) -> None:
    """Write the page. `predictions` (rows,) are the law's on the training rows, in the order of `task.dataset`."""
    laws = read_front(run)
    drawn = list(_plots(run, task, result, laws, predictions, config.max_points)) if config.plots else []
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            result=result,
            context=task.context,
            front=laws,
            plots=[*drawn, *figures],
            tables=tables,
            columns=[task.target_column, *task.columns],
            rows=task.dataset.n_rows,
            notes=[*task.notes, *task.warnings],
            configuration=(run.path / CONFIG).read_text(encoding="utf-8").strip(),
            versions=_versions(run),
        )
    )
    run.write_text(REPORT, page)


def _plots(
    run: RunDirectory, task: Task, result: Result, laws: Sequence[FrontLaw], predictions: F64, max_points: int
) -> Iterator[Plot]:
    measured, target, metric = task.dataset.y, result.target, result.metric
    shown = _thinned(len(measured), max_points)
    y, p = measured[shown], predictions[shown]
    yield _plot("Predicted against measured; on the line they agree.", plots.agreement(y, p, target))
    yield _plot("Residuals: a pattern here is something the law does not say.", plots.residuals(p, y - p, target))
    if laws:
        chosen = next((k for k, law in enumerate(laws) if law.chosen), None)
        picture = plots.front([law.complexity for law in laws], [law.loss for law in laws], chosen, metric)
        yield _plot("The front: the best law found at each complexity.", picture)
    entries = [e for e in run.read_log() if e.get("event") == "generation" and isinstance(e["best_loss"], float)]
    if len(entries) > 1:
        picture = plots.history([e["elapsed"] for e in entries], [e["best_loss"] for e in entries], metric)
        yield _plot("The best loss as the search went on.", picture)


def _plot(caption: str, png: bytes) -> Plot:
    return Plot(caption, base64.b64encode(png).decode("ascii"))


def _thinned(n: int, limit: int) -> NDArray[np.int64]:
    """At most `limit` of n rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, limit)).astype(np.int64))


def _versions(run: RunDirectory) -> str:
    known = json.loads((run.path / VERSIONS).read_text(encoding="utf-8"))
    return "\n".join(f"{name:<12} {version}" for name, version in known.items())


def _environment() -> Environment:
    environment = Environment(loader=PackageLoader("evolve"), autoescape=True, undefined=StrictUndefined)
    environment.globals["number"] = number
    environment.filters["thousands"] = lambda value: f"{value:,}"
    return environment


def number(value: Any) -> str:
    """A number for people: six digits, a dash where there is none; other things as they are."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.6g}"
