"""A SciLaws-Bench task folder: `metadata.yaml` and `data/train.csv`, and no other file of it.

`data/test*.csv`, `eval/` and `simulator/` are answers. Nothing here lists, opens or looks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fitness.data import Dataset
from fitness.metrics import METRICS
from harness_adapter.columns import identifiers
from harness_adapter.csv_file import CsvFile, Header, read_body, read_header
from harness_adapter.groups import GROUP_ID, integer_groups
from harness_adapter.metadata import Metadata, Variable, as_number, read_metadata
from harness_adapter.select import Groups, select
from harness_adapter.split_text import read_split
from harness_adapter.task import DEFAULT_FIT_TIMEOUT, Column, Prior, Range, Split, Task
from operators.errors import InputError, nearest
from operators.primitives import ALL_NAMES

# A metadata range this much wider than the data (as a share of the data's span) announces extrapolation.
EXTRAPOLATION = 0.05


def read_scilaws(folder: Path) -> Task:
    """Read a Type I or Type II task folder. Raises InputError; see `Task` for what comes out."""
    metadata_path, train_path = folder / "metadata.yaml", folder / "data" / "train.csv"
    meta = read_metadata(metadata_path)
    metric = _metric(metadata_path, meta.metric)
    header = read_header(train_path)
    warnings: list[str] = []
    inputs = _check_columns(metadata_path, header, meta, warnings)
    file = read_body(header)
    groups = _groups(file, meta)
    chosen = select(file, meta.target.name, [v.name for v in inputs], groups=groups)
    variables = [next(v for v in inputs if v.name == name) for name in chosen.inputs]
    columns = tuple(_column(v) for v in variables)
    split = _split(meta, columns)
    extrapolates = _extrapolates(variables, chosen.ranges, split)
    names = identifiers(chosen.inputs)
    return Task(
        task_id=meta.task_id or folder.name,
        kind="scilaws",
        source=folder,
        train_path=train_path,
        metadata_path=metadata_path,
        dataset=_renamed(chosen.dataset, names),
        target=meta.target.name,
        inputs=chosen.inputs,
        identifiers=names,
        metric=metric,
        primitives=ALL_NAMES,
        ranges=tuple(_union(v.bounds(), data) for v, data in zip(variables, chosen.ranges, strict=True)),
        extrapolates=extrapolates,
        rows=chosen.rows,
        grouped=meta.grouped,
        group_column=GROUP_ID if meta.grouped else None,
        group_ids=chosen.group_ids,
        target_column=_column(meta.target),
        columns=columns,
        context=meta.context or meta.problem_statement,
        split_text=meta.split,
        split=_along(split, chosen.inputs, extrapolates),
        priors=tuple(_prior(p) for p in meta.priors),
        notes=header.notes + chosen.notes,
        warnings=(*warnings, *_odd_ranges(variables), *_odd_caps(meta), *chosen.warnings),
        **_caps(meta),
    )


def _renamed(data: Dataset, names: tuple[str, ...]) -> Dataset:
    return Dataset(data.X, data.y, names, data.weight, data.group)


def _metric(path: Path, metric: object) -> str:
    if isinstance(metric, str) and metric in METRICS:
        return metric
    if metric is None:
        raise InputError(f"{path}: the key metric is missing; it must be one of {', '.join(METRICS)}")
    raise InputError(f"{path}: metric is {metric!r}; it must be one of {', '.join(METRICS)}{nearest(metric, METRICS)}")


def _check_columns(path: Path, header: Header, meta: Metadata, warnings: list[str]) -> list[Variable]:
    """The inputs that may be columns of X, after checking every name against the header."""
    header.index(meta.target.name, "target")
    if meta.grouped:
        header.index(GROUP_ID, "the group column of a Type II task,")
    kept: list[Variable] = []
    for position, variable in enumerate(meta.inputs):
        where = f"{path}: inputs[{position}].name"
        if variable.name in (v.name for v in kept):
            raise InputError(f"{where} is {variable.name!r} a second time; name each input once")
        if variable.name == meta.target.name:
            raise InputError(f"{where} is {variable.name!r}, which is the target; the target is no input")
        if variable.name == GROUP_ID:
            warnings.append(f"{GROUP_ID!r} is listed under inputs; it names the group and is left out")
            continue
        header.index(variable.name, f"inputs[{position}]")
        kept.append(variable)
    return kept


def _groups(file: CsvFile, meta: Metadata) -> Groups | None:
    return integer_groups(file) if meta.grouped else None


def _column(variable: Variable) -> Column:
    return Column(variable.name, variable.symbol, variable.unit, variable.description)


def _caps(meta: Metadata) -> dict[str, Any]:
    timeout = meta.caps.fit_timeout_seconds
    return {
        "max_constants": meta.caps.max_law_constants,
        "max_locals": meta.caps.max_local_params if meta.grouped else 0,
        "max_init_size": meta.caps.max_init_size_per_param,
        "fit_timeout": (timeout or DEFAULT_FIT_TIMEOUT) if meta.grouped else None,
    }


def _odd_caps(meta: Metadata) -> list[str]:
    if meta.grouped and meta.caps.max_local_params == 0:
        return ["caps.max_local_params is 0: one law with the same constants in every group is searched"]
    return []


def _union(announced: Range | None, data: Range) -> Range:
    return data if announced is None else (min(announced[0], data[0]), max(announced[1], data[1]))


def _extrapolates(variables: Sequence[Variable], data: Sequence[Range], split: Split) -> tuple[bool, ...]:
    """Per input: does the test set go beyond the training data? The announced range tells, or else the words do.

    Words count for an input without an announced range, or whose range is wider at all: they may speak of
    months while the column that ends is the year.
    """
    flags = []
    for variable, span in zip(variables, data, strict=True):
        beyond = _beyond(variable.bounds(), span)
        said = split.kind == "ends" and split.column == variable.name and (beyond > 0.0 or not variable.announces)
        flags.append(said or beyond > EXTRAPOLATION)
    return tuple(flags)


def _beyond(announced: Range | None, data: Range) -> float:
    """How far an announced range goes beyond the data, as a share of the data's span; 0 within rounding."""
    if announced is None:
        return 0.0
    span = data[1] - data[0]
    excess = max(data[0] - announced[0], announced[1] - data[1])
    if excess <= 1e-3 * (span or max(map(abs, data))):
        return 0.0  # announced ranges are rounded to a few digits
    return excess / span if span > 0.0 else float("inf")


def _odd_ranges(variables: Sequence[Variable]) -> list[str]:
    return [
        f"the range of input {v.name!r} is not [low, high] ({v.range!r:.60}): that of the data is used"
        for v in variables
        if v.announces and v.bounds() is None
    ]


def _split(meta: Metadata, columns: Sequence[Column]) -> Split:
    split = read_split(meta.split, columns)
    # Sorted rows cut in two are, without groups, a test set beyond the end of the data.
    return Split("ends", split.column) if split.kind == "sorted" and not meta.grouped else split


def _along(split: Split, inputs: Sequence[str], extrapolates: Sequence[bool]) -> Split:
    """The split with its column corrected by the ranges: the one that ends, where the words named another."""
    beyond = [name for name, flag in zip(inputs, extrapolates, strict=True) if flag]
    if split.kind != "ends" or split.column in beyond:
        return split
    return Split("ends", beyond[0] if len(beyond) == 1 else None)


def _prior(raw: object) -> Prior:
    """A prior in any of the forms that have been seen: a mapping, or a bare value."""
    if not isinstance(raw, dict):
        return Prior(str(raw), as_number(raw))
    texts = {key: str(raw[key]) for key in ("unit", "description") if raw.get(key) is not None}
    return Prior(str(raw.get("name") or raw.get("symbol") or "prior"), as_number(raw.get("value")), **texts)
