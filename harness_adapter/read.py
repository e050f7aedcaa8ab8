"""`read_task`: whatever a person points at, as a Task."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

from fitness.metrics import usable_metric
from harness_adapter.options import ReadOptions
from harness_adapter.task import Task
from operators.errors import InputError, nearest

EXAMPLE = "example:"
_KNOWN = (
    "a SciLaws task folder (metadata.yaml, data/train.csv), a Frontier-CS problem folder (resources/), "
    "an Agentics challenge folder (v1/spec.json), a CSV file or example:NAME"
)


def read_task(place: str | Path, options: ReadOptions | None = None) -> Task:
    """Read the task at `place`: a folder of a known kind, a CSV file, or ``example:NAME``.

    `options` are about a CSV file; for a task folder, which says all that itself, they are an error. Raises
    InputError with one message for anything that cannot be read.
    """
    task = _read(locate(place), options or ReadOptions())
    _, why = usable_metric(task.metric, task.dataset.y)
    return task if why is None else replace(task, warnings=(*task.warnings, why))


def _read(path: Path, said: ReadOptions) -> Task:
    if path.is_file() and path.name != "metadata.yaml":
        _refuse_answers(path)
        from harness_adapter.table import read_table

        return read_table(path, said)
    if said.given:
        flags = ", ".join(f"--{name}" for name in said.given)
        raise InputError(f"{flags}: only for a CSV file; the task folder {path} says that itself")
    return _read_folder(path.parent if path.is_file() else path)


def locate(place: str | Path) -> Path:
    """The file or folder meant by `place`; a bundled example for ``example:NAME``. Raises InputError."""
    if str(place).startswith(EXAMPLE):
        return _example(str(place).removeprefix(EXAMPLE))
    path = Path(place).expanduser()
    try:
        if path.exists():
            return path.resolve()
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or error}") from None
    raise InputError(f"{path} does not exist{_similar(path)}")


def _example(name: str) -> Path:
    folder = Path(str(resources.files("configs"))) / "examples"
    known = sorted(child.name for child in folder.iterdir() if child.is_dir() and not child.name.startswith("_"))
    if name not in known:
        raise InputError(f"unknown example {name!r}; bundled are {', '.join(known)}{nearest(name, known)}")
    return folder / name


def _similar(path: Path) -> str:
    """A hint with the names nearest to the missing part of a path."""
    try:
        beside = [child.name for child in path.parent.iterdir()]
    except OSError:
        return f"; there is no folder {path.parent} either"
    return nearest(path.name, beside)


def _refuse_answers(path: Path) -> None:
    """Held-out data of a benchmark task are not a table to learn from."""
    if path.parent.name == "data" and path.name.startswith("test") and (path.parent.parent / "metadata.yaml").exists():
        raise InputError(f"{path} is held-out data of a benchmark task; give the task folder {path.parent.parent}")


def _read_folder(folder: Path) -> Task:
    if (folder / "metadata.yaml").exists() or (folder / "data" / "train.csv").exists():
        from harness_adapter.scilaws import read_scilaws

        return read_scilaws(folder)
    from harness_adapter.frontier_cs import layout_of, read_frontier

    layout = layout_of(folder)
    if layout is None:
        raise InputError(f"{folder} is no task: expected {_KNOWN}{_inside(folder)}")
    return read_frontier(layout)


def _inside(folder: Path) -> str:
    """What a folder that is no task holds: tasks or tables that may have been meant."""
    children = sorted(folder.iterdir())
    tasks = [c.name for c in children if (c / "metadata.yaml").exists() or (c / "resources").exists()]
    tables = [c.name for c in children if c.suffix == ".csv"]
    for what, names in (("task folder", tasks), ("table", tables)):
        if len(names) == 1:
            return f"; it holds 1 {what}, give it ({names[0]})"
        if names:
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            return f"; it holds {len(names)} {what}s, give one of them ({shown})"
    return "; it is empty" if not children else ""
