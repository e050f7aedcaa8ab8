"""From a law to files: render, verify in a fresh process, replace best.py in one step, leave the records."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emit.contract_module import ContractLaw, render
from emit.errors import NotExpressible
from emit.evaluate import values
from emit.frontier_complexity import LowForm, lowest_form
from emit.latex import latex
from emit.verify import Report, verify_contract
from evolve import __version__
from evolve.candidate import Candidate, Front
from evolve.config import RunConfig
from evolve.description import Description
from evolve.exact import exact_loss
from evolve.first_law import constant_law
from evolve.guarding import safe
from evolve.record import FrontLaw, Result, write_front, write_result
from evolve.report import write_report
from evolve.rundir import RunDirectory
from evolve.settled import Settled
from evolve.wording import readable
from fitness.metrics import METRICS, usable_metric
from harness_adapter.task import Task
from operators.complexity import complexity
from operators.program import Program
from operators.text import render as render_text

F64 = NDArray[np.float64]

_CANDIDATE = ".candidate.py"
_FRONTIER_SECONDS = 8.0  # for the search of the equal form of lowest C


@dataclass(frozen=True)
class Written:
    """A law as it was written: the program in the file, its C, and what verification found."""

    program: Program
    complexity: int
    report: Report


class Publisher:
    """Writes the laws of one run into its folder. What stands in best.py has always been verified."""

    def __init__(self, task: Task, folder: RunDirectory, config: RunConfig) -> None:
        self.task = task
        self.folder = folder
        self.config = config
        self.metric, _ = usable_metric(task.metric, task.dataset.y)
        self._exact = exact_loss(task.dataset.y, self.metric)

    def publish_interim(self, front: Front, description: Description) -> bool:
        """The law of least description so far, if it can be guarded and verified."""
        write_front(self.folder, _front_rows(front.pareto(), self.task, {}, None))
        law = self._interim(front, description)
        return law is not None and self._replace_best(law[0], law[1], None).report.ok

    def _interim(self, front: Front, description: Description) -> tuple[Program, float] | None:
        """That law, guarded, and its loss."""
        best = min(front.items, key=lambda c: description.of(c.program, c.loss))
        program = safe(best.program, best.loss <= self._exact, self.task)
        return None if program is None else (program, best.loss)

    def conclude(self, laws: Iterable[Settled], reason: str, evaluations: int, elapsed: float) -> Result:
        """Publish the first law that verifies, at worst the constant; then the front, the result and the report."""
        for settled in chain(laws, [self._constant_law()]):
            written = self._replace_best(settled.program, settled.loss, settled.cv_loss)
            if written.report.ok:
                break
        result = self._result(settled, written, reason, evaluations, elapsed)
        self._leave_records(settled, written, result)
        return result

    def _constant_law(self) -> Settled:
        law, loss = constant_law(self.task, self.metric)
        return Settled(law, loss, loss, ())

    def _replace_best(self, program: Program, loss: float, cv_loss: float | None) -> Written:
        """Write the law beside best.py, verify that file, and let it take best.py's place if it is right."""
        try:
            form = self._final_form(program)
            text = self._module(form.program, form.complexity, loss, cv_loss)
        except NotExpressible as error:
            return Written(program, complexity(program), Report((str(error),)))
        path = self.folder.write_text(_CANDIDATE, text)
        report = self._verify(path, program)
        if report.ok:
            os.replace(path, self.folder.best)
        else:
            path.unlink()
        return Written(form.program, form.complexity, report)

    def _final_form(self, program: Program) -> LowForm:
        """For Frontier-CS, where C is scored, the equal form of lowest C with its exact count; else the law itself."""
        if self.task.kind == "frontier_cs":
            return lowest_form(program, self.task.dataset.X, _FRONTIER_SECONDS)
        return LowForm(program, render_text(program, self.task.identifiers), complexity(program))

    def _module(self, program: Program, c: int, loss: float, cv_loss: float | None) -> str:
        spec = METRICS[self.metric]
        held = "" if cv_loss is None else f", {spec.from_loss(cv_loss):.6g} on held-out folds"
        notes = (
            f"{self.metric}: {spec.from_loss(loss):.6g} on the training rows{held}",
            f"C = {c}; seed {self.config.seed}; evolve {__version__}",
        )
        return render(ContractLaw(program, self.task.inputs, self.task.identifiers, self.task.target, notes))

    def _verify(self, path: Path, searched: Program) -> Report:
        """The file against the numbers of the law that was searched, whatever form it was written in."""
        data = self.task.dataset
        headers = self.task.inputs
        return verify_contract(path, headers, data.X, values(searched, data.X), float(np.std(data.y)))

    def _result(self, law: Settled, written: Written, reason: str, evaluations: int, elapsed: float) -> Result:
        spec = METRICS[self.metric]
        text = render_text(written.program, self.task.identifiers)
        return Result(
            task=self.task.task_id, target=self.task.target, metric=self.metric, text=text, expression=readable(text),
            complexity=written.complexity, constants=written.program.n_constants, loss=spec.from_loss(law.loss),
            cv_loss=spec.from_loss(law.cv_loss), seed=int(self.config.seed or 0), reason=reason, elapsed=elapsed,
            evaluations=evaluations, valid=written.report.ok, problems=written.report.problems,
            latex=f"{latex(written.program, self.task.inputs)}", version=__version__,
        )  # fmt: skip

    def _leave_records(self, law: Settled, written: Written, result: Result) -> None:
        cv = {id(j.candidate): j.cv_loss for j in law.judged}
        chosen = Candidate(written.program, law.loss, written.complexity)
        cv[id(chosen)] = law.cv_loss
        shorter = [j.candidate for j in law.judged]
        front = _pareto([*shorter, chosen])
        write_front(self.folder, _front_rows(front, self.task, cv, chosen))
        write_result(self.folder, result)
        if self.config.report.enabled:
            self._report(written.program, result)

    def _report(self, program: Program, result: Result) -> None:
        predictions = values(program, self.task.dataset.X)
        write_report(self.folder, self.task, result, predictions, self.config.report)


def _pareto(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Laws no other beats in loss and C, by rising C; the last of the list (the chosen one) always stays."""
    chosen = candidates[-1]
    out: list[Candidate] = []
    for c in sorted(candidates, key=lambda c: (c.complexity, c.loss)):
        if c is chosen or not out or c.loss < out[-1].loss:
            out.append(c)
    return out


def _front_rows(
    front: Sequence[Candidate], task: Task, cv: dict[int, float], chosen: Candidate | None
) -> list[FrontLaw]:
    return [
        FrontLaw.of(
            number,
            c.program,
            task.identifiers,
            c.complexity,
            c.loss,
            cv_loss=cv.get(id(c), float("nan")),
            chosen=c is chosen,
        )
        for number, c in enumerate(front, 1)
    ]
