"""What a run leaves for other commands: the task in short, the laws of the front, and the result.

`task.json` and `front.csv` are enough to write any law of the front in any form later, without the data.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from evolve.rundir import RESULT, TASK, RunDirectory
from fitness.data import Dataset
from harness_adapter.task import Task
from operators.errors import InputError
from operators.program import Program
from operators.text import parse, render

T = TypeVar("T")


@dataclass(frozen=True)
class TaskRecord:
    """The part of a `Task` that writing a law needs; JSON, without data."""

    task_id: str
    name: str
    kind: str
    source: str
    target: str
    inputs: tuple[str, ...]
    identifiers: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]
    metric: str
    rows: int
    grouped: bool = False
    group_column: str | None = None
    max_constants: int | None = None
    max_locals: int | None = None
    fit_timeout: float | None = None
    digest: str = ""  # of the rows, so that a run is not continued on others
    sep: str | None = None  # as said by the user about a CSV file, to read it again the same way
    decimal: str | None = None

    @staticmethod
    def of(task: Task, said: Mapping[str, str] | None = None) -> TaskRecord:
        """What to remember of a task; `said` is what the user told about a CSV file."""
        own = {"rows", "source", "digest", "sep", "decimal"}
        shared = {f.name: getattr(task, f.name) for f in fields(TaskRecord) if f.name not in own}
        dialect = {key: value for key, value in (said or {}).items() if key in ("sep", "decimal")}
        own_values: dict[str, Any] = {"source": str(task.source.resolve()), "rows": task.dataset.n_rows, **dialect}
        return TaskRecord(**shared, **own_values, digest=_digest(task.dataset))


@dataclass(frozen=True)
class FrontLaw:
    """One row of front.csv. `text` is the exact program over the task's identifiers; `law` numbers it from 1."""

    law: int
    complexity: int
    constants: int
    loss: float
    cv_loss: float
    chosen: bool
    text: str

    @staticmethod
    def of(law: int, program: Program, names: Sequence[str], complexity: int, loss: float, **more: Any) -> FrontLaw:
        """A row for one program; `more` may give `cv_loss` and `chosen`."""
        given = {"cv_loss": math.nan, "chosen": False, **more}
        return FrontLaw(law, complexity, program.n_constants, loss, text=render(program, names), **given)

    def program(self, names: Sequence[str]) -> Program:
        """The law as a program; local parameters are called p0, p1, ..."""
        return parse(self.text, names, locals_in(self.text, names))


@dataclass(frozen=True)
class Result:
    """How a run ended. `text` is the exact law over identifiers, `expression` the same for people to read."""

    task: str
    target: str
    metric: str
    text: str
    expression: str
    complexity: int
    constants: int
    loss: float  # on all training rows
    cv_loss: float  # on the rows that the folds hold out
    seed: int
    reason: str
    elapsed: float
    evaluations: int
    valid: bool
    problems: tuple[str, ...] = ()
    latex: str = ""
    version: str = ""


def write_task(run: RunDirectory, task: Task, said: Mapping[str, str] | None = None) -> TaskRecord:
    """Write task.json; `said` is what the user told about a CSV file."""
    record = TaskRecord.of(task, said)
    run.write_json(TASK, asdict(record))
    return record


def read_task_record(run: RunDirectory) -> TaskRecord:
    """Read task.json. Raises InputError when it is missing or damaged."""
    return _rebuild(TaskRecord, run.read_json(TASK), run.path / TASK)


def write_result(run: RunDirectory, result: Result) -> None:
    """Write result.json."""
    run.write_json(RESULT, asdict(result))


def read_result(run: RunDirectory) -> Result:
    """Read result.json. Raises InputError when it is missing or damaged."""
    return _rebuild(Result, run.read_json(RESULT), run.path / RESULT)


def write_front(run: RunDirectory, laws: Iterable[FrontLaw]) -> None:
    """Write front.csv."""
    run.write_front([asdict(law) for law in laws])


def read_front(run: RunDirectory) -> tuple[FrontLaw, ...]:
    """The laws of front.csv, in order. Raises InputError when it is missing or damaged."""
    try:
        return tuple(
            FrontLaw(
                int(row["law"]), int(row["complexity"]), int(row["constants"]), float(row["loss"]),
                float(row["cv_loss"]), row["chosen"] == "True", row["text"],
            )
            for row in run.read_front()
        )  # fmt: skip
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{run.front} is damaged: {error!r}") from None


def find_law(run: RunDirectory, number: int) -> FrontLaw:
    """Law `number` of the front. Raises InputError naming the numbers there are."""
    laws = read_front(run)
    for law in laws:
        if law.law == number:
            return law
    raise InputError(f"--law {number}: {run.front} has laws {', '.join(str(law.law) for law in laws) or 'none'}")


def _digest(data: Dataset) -> str:
    """Tells one data set from another."""
    seen = hashlib.blake2b(data.X.data, digest_size=12)
    seen.update(data.y.data)
    return seen.hexdigest()


def _rebuild(cls: type[T], content: Any, file: Path) -> T:
    try:
        return TypeAdapter(cls).validate_python(content)
    except ValidationError as error:
        raise InputError(f"{file} is damaged: {error.errors()[0]['msg']}") from None


def locals_in(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """p0, p1, ... as far as the text goes; parsing refuses any other unknown name."""
    used = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)} - set(names)
    slots = [int(name[1:]) for name in used if name[:1] == "p" and name[1:].isdigit()]
    return tuple(f"p{k}" for k in range(max(slots, default=-1) + 1))
