"""The configuration of a run: YAML to frozen dataclasses.

One sentence says who wins: command line > `--config` file > preset > the defaults written in the dataclasses below.
A key that no dataclass has is an `InputError` naming the file, the key and the nearest known one.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from operators.errors import InputError, nearest

DEFAULT_PRESET = "default"

_UNITS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*[a-z]*", re.IGNORECASE)
_PART = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)", re.IGNORECASE)


def seconds(value: Any) -> Any:
    """``"60s"``, ``"2m"``, ``"1h30m"`` or a plain number, in seconds; ValueError for text that is no duration."""
    if not isinstance(value, str):
        return value
    parts = _DURATION.findall(value)
    if not parts or "".join(value.split()) != "".join("".join(parts).split()):
        raise ValueError("not a duration: write it like 60s, 2m or 1h")
    total = 0.0
    for part in parts:
        match = _PART.fullmatch(part)
        assert match is not None  # _PART is _DURATION with groups
        unit = match[2].lower()
        if unit not in _UNITS:
            raise ValueError(f"unknown unit of time {unit!r}: use ms, s, m, h or d")
        total += float(match[1]) * _UNITS[unit]
    return total


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_STRICT)
class SearchConfig:
    """How candidates arise and compete."""

    population: Annotated[int, Field(ge=4)] = 500  # candidates alive on one island
    islands: Count = 2  # populations that exchange their best now and then
    migrate_every: Count = 5  # generations between exchanges
    immigrants: Fraction = 0.1  # share of a generation that is new random programs
    max_length: Annotated[int, Field(ge=1, le=64)] = 40  # nodes of a program; the kernels hold 64
    max_depth: Count = 12  # nodes from the root to the deepest leaf
    max_complexity: Count = 60  # C = 2 * binary + unary
    lm_iterations: Annotated[int, Field(ge=0)] = 5  # Levenberg-Marquardt steps a new candidate gets
    tournament: Count = 5  # candidates that compete for being a parent
    crossover: Fraction = 0.5  # share of children with two parents; the rest are mutants
    front_depth: Count = 3  # laws kept at each complexity, different by value
    seeding_units: Annotated[int, Field(ge=0)] = 200_000  # work spent on laws found by enumeration; 0: none
    sample_rows: Annotated[int, Field(ge=10)] = 2000  # rows a search on larger data begins with
    growth_patience: Count = 20_000  # evaluations without progress after which the sample grows fourfold
    most_rows: Annotated[int, Field(ge=10)] = 32_000  # rows of the largest sample a search uses
    settle: bool = True  # stop by itself when no law that pays for its length was found for `patience` evaluations
    patience: Count = 200_000
    exact_patience: Count = 15_000  # evaluations after which an exact law is not made shorter any more


@dataclass(frozen=True, config=_STRICT)
class ChooseConfig:
    """How one law is taken from the front of loss against complexity."""

    folds: Annotated[int, Field(ge=2)] = 5  # random train-split folds
    rows: Annotated[int, Field(ge=10)] = 20_000  # rows of larger data that laws are judged and polished on
    standard_errors: Annotated[float, Field(ge=0)] = 1.0  # how much worse than the best a simpler law may be
    snap: bool = True  # replace constants by simple numbers where no fold notices


@dataclass(frozen=True, config=_STRICT)
class ReportConfig:
    """What the page `report.html` shows."""

    enabled: bool = True
    plots: bool = True
    max_points: Count = 2000  # rows drawn in a scatter plot


@dataclass(frozen=True, config=_STRICT)
class RunConfig:
    """Everything that decides a run, apart from the task and the place it is written to."""

    preset: str = DEFAULT_PRESET
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None  # None: one is drawn and printed
    time: Seconds | None = None  # wall seconds of the whole run, compiling included
    evaluations: Count | None = None  # programs scored on the data, whatever their constants cost
    workers: Count = 1  # processes that score candidates; 1 starts none
    threads: Count | None = None  # threads within a process; None: one a core
    search: SearchConfig = field(default_factory=SearchConfig)
    choose: ChooseConfig = field(default_factory=ChooseConfig)
    report: ReportConfig = field(default_factory=ReportConfig)


@dataclasses.dataclass(frozen=True)
class _Layer:
    """One source of settings: where it comes from and its values under dotted keys."""

    origin: str
    values: dict[str, Any]


def load(
    preset: str | None = None,
    file: Path | None = None,
    settings: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Lay the sources over each other: `flags` and `settings` ("search.population=500") > `file` > preset > defaults.

    Flags whose value is None were not given. Raises InputError for anything unknown or out of range.
    """
    given = _flag_layer(flags or {})
    overlays = [*([_file_layer(file)] if file else []), _setting_layer(settings), given]
    chosen = preset or _last("preset", overlays) or DEFAULT_PRESET
    layers = [_preset_layer(str(chosen)), *overlays, _Layer("--preset", {"preset": chosen})]
    return _build(layers, budget_given=any({"time", "evaluations"} & set(o.values) for o in overlays))


def presets() -> tuple[str, ...]:
    """Names of the bundled presets."""
    return tuple(sorted(p.name.removesuffix(".yaml") for p in _bundled().iterdir() if p.name.endswith(".yaml")))


def dump(config: RunConfig) -> str:
    """The resolved configuration as YAML that `--config` reads back to an equal one."""
    return yaml.safe_dump(dataclasses.asdict(config), sort_keys=False, allow_unicode=True)


def known_keys(cls: type = RunConfig, prefix: str = "") -> Iterator[str]:
    """All dotted keys, for messages and completion."""
    for f in dataclasses.fields(cls):
        section = _section(f)
        if section is None:
            yield prefix + f.name
        else:
            yield from known_keys(section, f"{prefix}{f.name}.")


def _section(f: dataclasses.Field[Any]) -> type | None:
    factory: Any = f.default_factory
    return factory if isinstance(factory, type) and dataclasses.is_dataclass(factory) else None


def _bundled() -> Any:
    return resources.files("configs")


def _preset_layer(name: str) -> _Layer:
    if name not in presets():
        raise InputError(f"unknown preset {name!r}; known: {', '.join(presets())}{nearest(name, presets())}")
    return _yaml_layer(f"preset {name}", (_bundled() / f"{name}.yaml").read_text(encoding="utf-8"))


def _file_layer(file: Path) -> _Layer:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the configuration {file}: {error}") from None
    return _yaml_layer(str(file), text)


def _yaml_layer(origin: str, text: str) -> _Layer:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{origin} is not valid YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return _Layer(origin, {})
    if not isinstance(content, dict):
        raise InputError(f"{origin}: expected keys and values, found {type(content).__name__}")
    return _Layer(origin, dict(_flatten(content, origin)))


def _setting_layer(settings: Sequence[str]) -> _Layer:
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write it as key=value, e.g. --set search.population=500")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            value = text
        _check_key(key.strip(), "--set")
        values[key.strip()] = value
    return _Layer("--set", values)


def _flag_layer(flags: Mapping[str, Any]) -> _Layer:
    return _Layer("the command line", {key: value for key, value in flags.items() if value is not None})


def _flatten(content: Mapping[Any, Any], origin: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        key = f"{prefix}{name}"
        if any(known.startswith(f"{key}.") for known in known_keys()):
            if not isinstance(value, dict):
                raise InputError(f"{origin}: {key} is a section of keys, found {value!r}")
            yield from _flatten(value, origin, f"{key}.")
        else:
            _check_key(key, origin)
            yield key, value


def _check_key(key: str, origin: str) -> None:
    known = list(known_keys())
    if key in known:
        return
    leaf = key.rpartition(".")[2]
    same_leaf = [k for k in known if k.rpartition(".")[2] == leaf]
    hint = f"; did you mean {same_leaf[0]!r}?" if same_leaf else nearest(key, known)
    raise InputError(f"{origin}: unknown key {key!r}{hint or '; known keys: ' + ', '.join(known)}")


def _last(key: str, layers: Sequence[_Layer]) -> Any:
    return next((layer.values[key] for layer in reversed(layers) if key in layer.values), None)


def _build(layers: Sequence[_Layer], budget_given: bool) -> RunConfig:
    values = {key: (value, layer.origin) for layer in layers for key, value in layer.values.items()}
    if budget_given and values.get("time", (None, ""))[1].startswith("preset "):
        del values["time"]  # the preset's time is for runs without a budget; a clock would unsettle --evaluations
    nested: dict[str, Any] = {}
    for key, (value, _) in values.items():
        *sections, leaf = key.split(".")
        target = nested
        for section in sections:
            target = target.setdefault(section, {})
        target[leaf] = value
    try:
        return TypeAdapter(RunConfig).validate_python(nested)
    except ValidationError as error:
        raise InputError("; ".join(_explain(e, values) for e in error.errors())) from None


def _explain(error: Any, values: Mapping[str, tuple[Any, str]]) -> str:
    loc = [str(part) for part in error["loc"]]
    key = next((k for k in (".".join(loc[:n]) for n in range(len(loc), 0, -1)) if k in values), ".".join(loc))
    origin = values[key][1] if key in values else "the configuration"
    problem = error["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    return f"{origin}: {key} = {error['input']!r}: {problem}"


def with_seed(config: RunConfig) -> RunConfig:
    """The configuration with a seed: its own, or one drawn from the system."""
    return config if config.seed is not None else dataclasses.replace(config, seed=secrets.randbelow(2**31))
