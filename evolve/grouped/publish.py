"""Publishing grouped laws: modules with a `fit`, the table of locals by cluster, small multiples of data and fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emit.evaluate import values
from emit.verify import Report, calibrate, verify_contract
from evolve import __version__
from evolve.candidate import Front
from evolve.description import Description
from evolve.grouped.locals_table import LOCALS, Fitted, as_csv, as_table, small_multiples
from evolve.grouped.text import compact, local_names, module
from evolve.publish import Publisher
from evolve.record import Result
from evolve.report import write_report
from fitness.grouped import Calibrator, GroupedData
from fitness.metrics import METRICS
from fitness.windows import SORTED, Cut, cut_windows
from harness_adapter.task import DEFAULT_FIT_TIMEOUT, Task
from operators.primitives import CONST
from operators.program import FIXED, FREE, LOCAL, Program, ProgramBatch

F64 = NDArray[np.float64]

_TRIED_CLUSTERS = 6  # whose fit is timed when a law is verified
_FAR_INSIDE = 0.5  # of the time a fit may take


class GroupedPublisher(Publisher):
    """Writes the laws of one grouped run into its folder."""

    def _interim(self, front: Front, description: Description) -> tuple[Program, float] | None:
        laws = [c for c in front.pareto() if c.program.local_slots]
        if not laws:
            return None
        best = min(laws, key=lambda c: description.of(c.program, c.loss))
        return compact(best.program), best.loss

    def _module(self, program: Program, c: int, loss: float, cv_loss: float | None) -> str:
        spec = METRICS[self.metric]
        held = "" if cv_loss is None else f", {spec.from_loss(cv_loss):.6g} on held-out clusters"
        notes = (
            f"{self.metric} on judge windows: {spec.from_loss(loss):.6g} over the training clusters{held}",
            f"C = {c}; seed {self.config.seed}; evolve {__version__}",
        )
        return module(program, self.task, self.metric, notes)

    def _verify(self, path: Path, searched: Program) -> Report:
        """predict against the law with each cluster's locals; fit on a few clusters, in time and finite."""
        data = self.task.dataset
        fitted = self._fitted(searched)
        by_name = dict(zip(local_names(searched), fitted.locals.T, strict=True))
        report = verify_contract(
            path, self.task.inputs, data.X, fitted.predictions, float(np.std(data.y)),
            max_locals=len(by_name), groups=data.offsets[:-1], locals_=by_name,
        )  # fmt: skip
        return report if not report.ok else _try_fit(path, self.task, report)

    def _fitted(self, law: Program) -> Fitted:
        """The locals of every training cluster, fitted on all its rows, and the law's values with them."""
        return fit_clusters(law, self.task, self.metric)

    def _report(self, program: Program, result: Result) -> None:
        fitted = self._fitted(program)
        self.folder.write_text(LOCALS, as_csv(fitted, self.task))
        figures = small_multiples(fitted, self.task) if self.config.report.plots else ()
        write_report(
            self.folder, self.task, result, fitted.predictions, self.config.report,
            tables=(as_table(fitted, self.task),), figures=figures,
        )  # fmt: skip


def fit_clusters(law: Program, task: Task, metric: str) -> Fitted:
    """The law calibrated on all rows of each cluster by the kernel, and the predictions of the exact numbers.

    A cluster of one row that judged nothing keeps the starts.
    """
    data = task.dataset
    windows = cut_windows(data, [Cut(SORTED, -1)])
    ready = _fixed(law)
    found = Calibrator(GroupedData.of(windows, metric)).run(ProgramBatch.of([ready]), 60, keep=True, given=True)
    nodes = [int(np.flatnonzero((law.code == CONST) & (law.arg == LOCAL + s))[0]) for s in law.local_slots]
    locals_ = np.tile(law.value[nodes], (data.n_groups, 1))
    locals_[windows.groups] = found.locals_[0][:, nodes]
    predictions = np.empty(data.n_rows)
    for g, (first, last) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        predictions[first:last] = values(law, data.X[:, first:last], locals_[g])
        if not np.isfinite(predictions[first:last]).all():
            locals_[g] = law.value[nodes]
            predictions[first:last] = values(law, data.X[:, first:last], locals_[g])
    return Fitted(local_names(law), locals_, predictions, law.value[nodes])


def _fixed(law: Program) -> Program:
    arg = np.where((law.code == CONST) & (law.arg == FREE), FIXED, law.arg).astype(np.int16)
    return Program(law.code.copy(), arg, law.value.copy())


def _try_fit(path: Path, task: Task, report: Report) -> Report:
    """Does the written fit work on training clusters, on the largest one too, far inside the time it may take?"""
    data = task.dataset
    offsets = data.offsets
    largest = int(np.argmax(np.diff(offsets)))
    some = {largest, *np.linspace(0, data.n_groups - 1, min(_TRIED_CLUSTERS, data.n_groups)).astype(int).tolist()}
    parts = [slice(int(offsets[g]), int(offsets[g + 1])) for g in sorted(some)]
    limit = _FAR_INSIDE * (task.fit_timeout or DEFAULT_FIT_TIMEOUT)
    try:
        found = calibrate(path, task.inputs, [(data.X[:, p], data.y[p], data.X[:, p]) for p in parts])
    except RuntimeError as error:
        return Report((str(error),), report.difference, report.seconds)
    problems = [f"fit fails on a training cluster: {reason}" for reason in dict.fromkeys(found.failed.values())]
    if not all(np.isfinite(p).all() for p in found.predictions):
        problems.append("predict is not finite after fit on a training cluster")
    if max(found.seconds) > limit:
        problems.append(f"fit took {max(found.seconds):.1f} s on a training cluster; {limit:.1f} s is allowed")
    return Report(tuple(problems), report.difference, max(found.seconds))
