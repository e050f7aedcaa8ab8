"""metadata.yaml of a SciLaws task, checked key by key. Unknown keys are ignored, known ones must make sense."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from harness_adapter.task import Range
from operators.errors import InputError


def as_number(value: object) -> float | None:
    """The finite number a YAML value means, text such as ``1e3`` included (YAML 1.1 reads it as text), else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _name(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    if value is None or isinstance(value, str):
        raise ValueError("a column name is missing")
    kind = "true/false" if isinstance(value, bool) else type(value).__name__
    raise ValueError(f"YAML reads it as {value!r} ({kind}); quote it, as in name: 'NO'")


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _count(value: object) -> int | None:
    number = as_number(value)
    if value is None:
        return None
    if number is None or number < 0 or number != int(number):
        raise ValueError("expected a whole number, 0 or more, or null")
    return int(number)


def _seconds(value: object) -> float | None:
    number = as_number(value)
    if value is not None and (number is None or number <= 0):
        raise ValueError("expected a number of seconds above 0, or null")
    return number


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


Name = Annotated[str, BeforeValidator(_name)]
Text = Annotated[str, BeforeValidator(_text)]
Count = Annotated[int | None, BeforeValidator(_count)]
Seconds = Annotated[float | None, BeforeValidator(_seconds)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())


class Variable(_Part):
    """The target or one input. `range` and `values` are kept as they are; `bounds` makes sense of them."""

    name: Name
    symbol: Text = ""
    unit: Text = ""
    description: Text = ""
    range: Any = None
    values: Any = None

    def bounds(self) -> Range | None:
        """Least and greatest value announced: over training and test, or over `values`; None where nothing is."""
        spans = list(self.range.values()) if isinstance(self.range, Mapping) else [self.range]
        numbers = [number for span in spans for number in _ends(span)]
        if isinstance(self.values, list):
            numbers += [n for n in map(as_number, self.values) if n is not None]
        return (min(numbers), max(numbers)) if numbers else None

    @property
    def announces(self) -> bool:
        """Does the metadata say anything of this variable's range?"""
        return self.range is not None or self.values is not None


def _ends(span: object) -> list[float]:
    """The numeric ends of ``[lo, hi]``; an end that is null or infinite is left to the data."""
    if not isinstance(span, (list, tuple)) or len(span) != 2:
        return []
    numbers = [as_number(end) for end in span]
    open_ended = [end is None or (isinstance(end, float) and not math.isfinite(end)) for end in span]
    known = all(n is not None or free for n, free in zip(numbers, open_ended, strict=True))
    return [n for n in numbers if n is not None] if known else []


class Caps(_Part):
    """Bounds on what a submission may hold; None where there is none."""

    max_law_constants: Count = None
    max_local_params: Count = None
    max_init_size_per_param: Count = None
    fit_timeout_seconds: Seconds = None


class Metadata(_Part):
    """The keys of metadata.yaml that a solver can use."""

    task_id: Text = ""
    domain: Text = ""
    type: Literal["typeI", "typeII"] | None = None
    has_group_id: bool | None = None
    context: Text = ""
    problem_statement: Text = ""
    target: Variable
    inputs: list[Variable] = Field(min_length=1)
    caps: Annotated[Caps, BeforeValidator(lambda v: {} if v is None else v)] = Caps()
    metric: Any = None
    split: Text = ""
    priors: Annotated[list[Any], BeforeValidator(_list)] = []

    @property
    def grouped(self) -> bool:
        return self.type == "typeII" if self.type is not None else bool(self.has_group_id)


def read_metadata(path: Path) -> Metadata:
    """Read and check the file. Raises InputError that names the file, the key, the value seen and what to do."""
    raw = _load(path)
    if not isinstance(raw, dict):
        raise InputError(f"{path} must be a mapping of keys such as target and inputs; it holds {raw!r:.60}")
    try:
        return Metadata.model_validate(raw)
    except ValidationError as error:
        raise InputError(_told(path, error)) from None


def _load(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{path}{line} is not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a date such as 2024-13-45
        raise InputError(f"{path} is not YAML: {error}") from None


def _told(path: Path, error: ValidationError) -> str:
    problem = error.errors()[0]
    where = ""
    for part in problem["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    if problem["type"] == "missing":
        return f"{path}: the key {where} is missing"
    reason = problem["msg"].removeprefix("Value error, ")
    return f"{path}: {where} is {problem['input']!r:.80}: {reason}"
