"""A law of a finished run in any of the forms that other people and programs read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from emit.agentics_zip import build
from emit.contract_module import ContractLaw
from emit.contract_module import render as contract_module
from emit.export_text import python, sympy
from emit.frontier_complexity import LowForm, lowest_form
from emit.frontier_solution import render as solution_module
from emit.latex import latex, symbol
from evolve import __version__
from evolve.record import FrontLaw, TaskRecord, find_law, read_front, read_task_record
from evolve.rundir import RunDirectory
from harness_adapter.options import ReadOptions
from harness_adapter.read import read_task
from harness_adapter.task import Task
from operators.errors import InputError
from operators.program import Program


@dataclass(frozen=True)
class Law:
    """What is exported: a program of the run's task, and lines that say how good it is."""

    run: RunDirectory
    task: TaskRecord
    row: FrontLaw
    program: Program

    @property
    def notes(self) -> tuple[str, ...]:
        """For docstrings and manifests."""
        held = "" if self.row.cv_loss != self.row.cv_loss else f", {self.row.cv_loss:.6g} on held-out folds"
        return (
            f"{self.task.metric}: {self.row.loss:.6g} on the training rows{held}",
            f"C = {self.row.complexity}; law {self.row.law} of the front; evolve {__version__}",
        )


def export(run: RunDirectory, form: str, number: int | None = None) -> bytes:
    """The file's content: law `number` of the front, or the chosen one, in one of `FORMS`.

    Raises InputError for a law that the form cannot express, with the reason.
    """
    if form == "contract" and number is None:
        return run.best.read_bytes()  # that very file was verified
    task = read_task_record(run)
    row = _chosen(run) if number is None else find_law(run, number)
    content = FORMS[form](Law(run, task, row, row.program(task.identifiers)))
    return content if isinstance(content, bytes) else content.encode("utf-8")


def _chosen(run: RunDirectory) -> FrontLaw:
    laws = read_front(run)
    for law in laws:
        if law.chosen:
            return law
    raise InputError(
        f"{run.path} was ended before a law was chosen; take one of the front with --law "
        f"({', '.join(f'{law.law}: C {law.complexity}, {law.loss:.4g}' for law in laws[-5:])})"
    )


def _contract(law: Law) -> str:
    from evolve.guarding import guarded  # brings numba, which no other form needs

    task = _data(law)
    program = guarded(law.program, law.task.ranges, task.dataset)
    if program is None:
        raise InputError(f"law {law.row.law} cannot be proven finite over the ranges of the task's inputs")
    return contract_module(ContractLaw(program, law.task.inputs, law.task.identifiers, law.task.target, law.notes))


def _solution(law: Law) -> str:
    form = _low_form(law)
    notes = (law.notes[0], f"evolve {__version__}")
    return solution_module(form, len(law.task.inputs), notes)


def _zip(law: Law) -> bytes:
    note = f"{law.task.target} = {_low_form(law).text}\n{law.notes[0]}\nevolve {__version__}"
    return build(_solution(law), note)


def _low_form(law: Law) -> LowForm:
    """The equal form of lowest C. A Solution names its inputs by position, whatever their headers are."""
    if law.task.grouped:
        raise InputError("a law with parameters of each group has no Frontier-CS form: a Solution knows no groups")
    return lowest_form(law.program, _data(law).dataset.X)


def _data(law: Law) -> Task:
    """The task's rows, read again: a form is compared with the law on them."""
    record = law.task
    options = ReadOptions()
    if record.kind == "table":
        options = replace(
            options, target=record.target, inputs=record.inputs, metric=record.metric, group=record.group_column,
            sep=record.sep, decimal=record.decimal,
        )  # fmt: skip
    try:
        return read_task(record.source, options)
    except InputError as error:
        raise InputError(f"this form needs the rows that the law was found on: {error}") from None


def _sympy(law: Law) -> str:
    return sympy(law.program, law.task.inputs, law.task.target, law.notes)


def _latex(law: Law) -> str:
    return f"{symbol(law.task.target)} = {latex(law.program, law.task.inputs)}\n"


def _python(law: Law) -> str:
    return python(law.program, law.task.identifiers, law.task.target, law.notes)


FORMS: dict[str, Callable[[Law], str | bytes]] = {
    "contract": _contract,
    "frontier-cs": _solution,
    "agentics-zip": _zip,
    "sympy": _sympy,
    "latex": _latex,
    "python": _python,
}
