"""A Frontier-CS problem folder, or the Agentics challenge that was ported from one.

Both hold CSV files of inputs and ``y`` and a JSON of reference metrics. In a Solution xi is the i-th input column,
whatever its header says, so these are the identifiers. The reference expression in the JSON is never read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from fitness.data import Dataset
from harness_adapter.csv_file import listed, read_body, read_header
from harness_adapter.select import select
from harness_adapter.task import Column, FrontierReference, Task
from operators.errors import InputError
from operators.primitives import FRONTIER_NAMES

TARGET = "y"


@dataclass(frozen=True)
class Layout:
    """Where a problem keeps its things; `root` is the folder it is named after."""

    root: Path
    name: str
    data: Path
    references: Path


class _Reference(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    m_base: float
    m_ref: float
    C_ref: int


def layout_of(folder: Path) -> Layout | None:
    """The layout of a folder of either kind, or None for another kind of folder. Raises InputError."""
    for bundle in (folder / "v1", folder):  # first, since a bundle holds a folder resources/ of another meaning
        if (bundle / "spec.json").is_file():
            return _agentics(bundle)
    resources = folder / "resources"
    if resources.is_dir():
        return Layout(folder, folder.name, resources / "data", resources / "reference_metrics.json")
    return None


def _agentics(bundle: Path) -> Layout:
    """The public part of a challenge bundle, as its configuration names it."""
    config_path = bundle / "public" / "config.json"
    config = _json(config_path)
    name = _json(bundle / "spec.json").get("challenge_name") or bundle.resolve().parent.name
    places = [_inside(bundle, config_path, key, config.get(key)) for key in ("data_dir", "reference_path")]
    return Layout(bundle, str(name), *places)


def _inside(bundle: Path, config_path: Path, key: str, value: object) -> Path:
    """A path that the configuration names, which must lie in the bundle's public folder."""
    if not isinstance(value, str):
        raise InputError(f"{config_path}: {key} is {value!r}; expected a path such as 'public/data'")
    path, public = (bundle / value).resolve(), (bundle / "public").resolve()
    if not path.is_relative_to(public):
        raise InputError(f"{config_path}: {key} is {value!r}, which is not inside 'public/'; only public data are read")
    return bundle / value


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not readable JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} must hold a JSON object; it holds {value!r:.60}")
    return value


def read_references(layout: Layout) -> dict[str, FrontierReference]:
    """The reference metrics of every data set, by file name. Raises InputError."""
    references = {}
    for name, value in _json(layout.references).items():
        try:
            checked = _Reference.model_validate(value)
        except ValidationError as error:
            problem = error.errors()[0]
            key = ".".join(str(part) for part in problem["loc"]) or name
            raise InputError(f"{layout.references}: {name}: {key}: {problem['msg']}") from None
        references[name] = FrontierReference(name, checked.m_base, checked.m_ref, checked.C_ref)
    return references


def data_files(layout: Layout) -> list[Path]:
    """The CSV files that have reference metrics, sorted. Raises InputError where the two do not match."""
    if not layout.data.is_dir():
        raise InputError(f"{layout.data} is missing; expected a folder with the problem's CSV file")
    found = {path.name: path for path in sorted(layout.data.glob("*.csv"))}
    references = read_references(layout)
    absent = sorted(set(references) - set(found))
    if absent or not references:
        raise InputError(
            f"{layout.references} names {listed(sorted(references)) or 'no data set'}; {layout.data} holds "
            f"{listed(found) or 'no CSV file'}"
        )
    return [path for name, path in found.items() if name in references]


def read_frontier(layout: Layout) -> Task:
    """Read a problem with one data set into a Task. Raises InputError."""
    files = data_files(layout)
    if len(files) > 1:
        names = listed(file.name for file in files)
        raise InputError(f"{layout.data} holds several data sets ({names}), but a law belongs to one; keep one of them")
    header = read_header(files[0])
    header.index(TARGET, "target")
    inputs = [name for name in header.names if name != TARGET]
    chosen = select(read_body(header), TARGET, inputs, insist=True)
    identifiers = tuple(f"x{i + 1}" for i in range(len(inputs)))
    data = chosen.dataset
    return Task(
        task_id=layout.name,
        kind="frontier_cs",
        source=layout.root,
        train_path=files[0],
        dataset=Dataset(data.X, data.y, identifiers),
        target=TARGET,
        inputs=chosen.inputs,
        identifiers=identifiers,
        metric="mse",
        primitives=FRONTIER_NAMES,
        ranges=chosen.ranges,
        extrapolates=(False,) * len(inputs),
        rows=chosen.rows,
        max_locals=0,
        target_column=Column(TARGET),
        columns=tuple(Column(name) for name in inputs),
        frontier=read_references(layout)[files[0].name],
        notes=(*header.notes, *_renaming(inputs, identifiers), *chosen.notes),
        warnings=chosen.warnings,
    )


def _renaming(inputs: list[str], names: tuple[str, ...]) -> list[str]:
    pairs = [f"{name} is column {header!r}" for header, name in zip(inputs, names, strict=True) if header != name]
    return [f"a Solution's inputs go by position: {', '.join(pairs)}"] if pairs else []
