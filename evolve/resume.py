"""Continuing an earlier run: its folder, and the laws of its front to begin with.

What a run had found is front.csv, which is on disk, whole, at any moment. A resumed run scores those laws first, so
that its front is never behind the one it continues; best.py stays until a law takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from evolve.options import RunOptions
from evolve.record import TaskRecord, read_front, read_task_record
from evolve.rundir import TASK, RunDirectory
from harness_adapter.task import Task
from operators.errors import InputError
from operators.program import Program

_SAME = ("task_id", "target", "inputs", "metric", "rows", "grouped", "digest")  # what makes a task the same one


def open_earlier(task: Task, options: RunOptions) -> RunDirectory:
    """The folder of the run to continue. Raises InputError, before anything is written, when it is of another task."""
    assert options.resume is not None
    folder = RunDirectory.open(options.resume)
    if options.out is not None and options.out.absolute() != folder.path:
        raise InputError(f"--resume continues {folder.path} in place; --out {options.out} is another folder")
    before, now = read_task_record(folder), TaskRecord.of(task)
    for name in _SAME:
        was, is_now = getattr(before, name), getattr(now, name)
        if was != is_now:
            what = "its rows are other ones" if name == "digest" else f"its {name} is {was!r}, here it is {is_now!r}"
            raise InputError(f"{folder.path / TASK}: the run is of another task than {task.source}: {what}")
    earlier_laws(task, folder)  # a damaged front is found before anything is written
    return folder


def earlier_laws(task: Task, folder: RunDirectory) -> Sequence[Program]:
    """The front of the run that is continued; none if it ended before it had one."""
    if not folder.front.exists():
        return []
    try:
        return [law.program(task.identifiers) for law in read_front(folder)]
    except SyntaxError as error:
        raise InputError(f"{folder.front} is damaged: {error}") from None
