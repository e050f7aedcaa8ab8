"""A CSV file of the user's own: what is not said is decided here, and said aloud in the task's notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fitness.metrics import METRICS
from harness_adapter.columns import identifiers
from harness_adapter.csv_file import MISSING_MARKS, Header, read_body, read_header
from harness_adapter.dialect import Dialect, sniff
from harness_adapter.groups import labelled_groups
from harness_adapter.options import ReadOptions
from harness_adapter.select import Selection, select
from harness_adapter.task import DEFAULT_FIT_TIMEOUT, Column, Task
from operators.errors import InputError, nearest
from operators.primitives import ALL_NAMES

_TARGETS = ("y", "target")


def read_table(path: Path, options: ReadOptions | None = None) -> Task:
    """Read a CSV file into a Task of kind "table". Raises InputError; see `ReadOptions` for what can be said."""
    said = options or ReadOptions()
    metric = _metric(said.metric)
    header = _header(path, said)
    target, why = _target(header, said)
    inputs = _inputs(header, target, said)
    file = read_body(header)
    groups = labelled_groups(file, said.group) if said.group is not None else None
    chosen = select(file, target, inputs, groups=groups, marks=MISSING_MARKS, insist=bool(said.inputs))
    notes = [*_spoken(header, said), *why, *_unnamed(header, said)]
    if said.metric is None:
        notes.append(f"metric: {metric}")
    return _task(path, chosen, target, metric, said, tuple(notes))


def _task(path: Path, chosen: Selection, target: str, metric: str, said: ReadOptions, notes: tuple[str, ...]) -> Task:
    grouped = said.group is not None
    names = identifiers(chosen.inputs)
    return Task(
        task_id=path.stem,
        kind="table",
        source=path,
        train_path=path,
        dataset=replace(chosen.dataset, names=names),
        target=target,
        inputs=chosen.inputs,
        identifiers=names,
        metric=metric,
        primitives=ALL_NAMES,
        ranges=chosen.ranges,
        extrapolates=(False,) * len(names),
        rows=chosen.rows,
        grouped=grouped,
        group_column=said.group,
        group_ids=chosen.group_ids,
        max_locals=None if grouped else 0,
        fit_timeout=DEFAULT_FIT_TIMEOUT if grouped else None,
        target_column=Column(target),
        columns=tuple(Column(name) for name in chosen.inputs),
        notes=(*notes, *chosen.notes),
        warnings=chosen.warnings,
    )


def _metric(name: str | None) -> str:
    if name is None:
        return "rmse"
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}; known are {', '.join(METRICS)}{nearest(name, METRICS)}")
    return name


def _header(path: Path, said: ReadOptions) -> Header:
    try:
        dialect = sniff(path, said.sep, said.decimal)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    header = read_header(path, dialect)
    if len(header.names) == 1:
        raise InputError(
            f"{path} was read as the single column {header.names[0]!r} ({dialect.spoken}), but a law needs inputs; "
            "if the separator is another, say so with --sep"
        )
    return header


def _spoken(header: Header, said: ReadOptions) -> list[str]:
    """What was found out about how the file is written, where it is not the plain way."""
    dialect = header.dialect
    sniffed = said.sep is None or said.decimal is None
    plain = (dialect.sep, dialect.decimal) == (Dialect.sep, Dialect.decimal)
    return [*header.notes, *([f"{header.path.name} read with {dialect.spoken}"] if sniffed and not plain else [])]


def _target(header: Header, said: ReadOptions) -> tuple[str, list[str]]:
    if said.target is not None:
        header.index(said.target, "target")
        return said.target, []
    free = [name for name in header.names if name and name not in (said.group, *said.inputs, *said.ignore)]
    if not free:
        raise InputError(f"{header.path}: no column is left for the target; say which one with --target")
    called = [name for name in free if name.lower() in _TARGETS]
    target = called[0] if called else free[0]
    header.index(target, "target")
    reason = "by its name" if called else "the first column"
    return target, [f"target: {target!r} ({reason}; --target says another)"]


def _inputs(header: Header, target: str, said: ReadOptions) -> list[str]:
    for role, names in (("--ignore", said.ignore), ("--inputs", said.inputs)):
        for name in names:
            if name not in header.names or role == "--inputs":
                header.index(name, role)
    taken = {target, said.group}
    for name in said.inputs:
        if name in taken:
            role = "target" if name == target else "group"
            raise InputError(f"{header.path}: {name!r} is the {role} column; it cannot be an input as well")
    wanted = said.inputs or tuple(name for name in header.names if name and name not in taken)
    return [name for name in dict.fromkeys(wanted) if name not in said.ignore]


def _unnamed(header: Header, said: ReadOptions) -> list[str]:
    count = sum(not name for name in header.names)
    return [f"{count} column(s) without a header left out"] if count and not said.inputs else []
