"""The metrics that reported numbers come from: a real harness's registry when there is one, else our own table.

A harness is a folder with `eval_formula.py`. It is loaded in isolation and compared with our table on random and
awkward data; where the two differ the harness is right, and a warning says which metric and which data.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitness.metrics import METRICS, metrics
from operators.errors import InputError

F64 = NDArray[np.float64]
MetricsFunction = Callable[[F64, F64], Mapping[str, float | int | None]]

MODULE = "eval_formula.py"
# Two registries may sum in another order; more than this is another definition.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class MetricRegistry:
    """The metrics for reported numbers. `origin` is the harness folder they come from, None for our own table."""

    evaluate: MetricsFunction
    origin: Path | None = None
    warnings: tuple[str, ...] = ()

    def __call__(self, name: str, y_true: ArrayLike, y_pred: ArrayLike) -> float | None:
        """The raw value of metric `name` over rows where both are finite; None where it is undefined."""
        return _value(self.evaluate, _flat(y_true), _flat(y_pred), name)


def find_harness(task_path: Path | None, given: Path | None = None) -> Path | None:
    """The harness folder: `given` (it or a checkout that holds it), or the nearest above the task; None without one.

    Raises InputError when `given` is no harness.
    """
    if given is not None:
        for folder in (given, given / "harness"):
            if (folder / MODULE).is_file():
                return folder.resolve()
        raise InputError(f"{given} is no harness: neither it nor its folder harness/ holds {MODULE}")
    if task_path is not None:
        for above in task_path.resolve().parents:
            if (above / "harness" / MODULE).is_file():
                return above / "harness"
    return None


def metric_registry(harness: Path | None) -> MetricRegistry:
    """The registry of a harness, compared with our table, or that table. Raises InputError for a broken harness."""
    if harness is None:
        return MetricRegistry(metrics)
    module = _load(harness / MODULE)
    table, evaluate = getattr(module, "METRICS", None), getattr(module, "metrics", None)
    if not isinstance(table, Mapping) or not callable(evaluate):
        raise InputError(f"{harness / MODULE} does not define METRICS and metrics(); is this a SciLaws harness?")
    return MetricRegistry(evaluate, harness, tuple(_differences(table, evaluate)))


def _load(path: Path) -> ModuleType:
    """Run a harness file as a module of its own that leaves nothing behind: no module, no path, no bytecode."""
    spec = importlib.util.spec_from_file_location("_harness_eval_formula", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _undisturbed(path.parent):
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            raise InputError(f"{path} could not be loaded: {type(error).__name__}: {error}") from None
    return module


@contextmanager
def _undisturbed(folder: Path) -> Iterator[None]:
    """Let a file import its neighbours in `folder`, then forget them and restore the import path."""
    paths, modules, bytecode = list(sys.path), set(sys.modules), sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.path[:] = paths
        sys.dont_write_bytecode = bytecode
        for name in set(sys.modules) - modules:
            origin = getattr(sys.modules[name], "__file__", None)
            if origin is not None and Path(origin).is_relative_to(folder):
                del sys.modules[name]


def _differences(table: Mapping[str, Any], evaluate: MetricsFunction) -> Iterator[str]:
    """One sentence for every metric in which the harness and our table disagree, with the first data that show it."""
    for name, ours in METRICS.items():
        entry = table.get(name)
        if not isinstance(entry, Mapping):
            yield f"the harness does not know the metric {name}"
            continue
        for key, mine in (("direction", ours.direction), ("perfect", ours.perfect)):
            if entry.get(key) != mine:
                yield f"metric {name}: {key} is {entry.get(key)!r} in the harness, {mine!r} here; the harness's is used"
        for what, y_true, y_pred in probes():
            their_value, our_value = (_value(f, y_true, y_pred, name) for f in (evaluate, metrics))
            if not _same(their_value, our_value):
                yield f"metric {name} on {what}: {their_value} in the harness, {our_value} here; the harness's is used"
                break


def probes() -> Iterator[tuple[str, F64, F64]]:
    """(what they are, truth, prediction): random and awkward data on which two registries are compared."""
    rng = np.random.default_rng(20260514)
    for n in (1, 2, 7, 500):
        truth = rng.standard_normal(n)
        yield f"{n} random rows", truth, truth + 0.1 * rng.standard_normal(n)
    decades = 10.0 ** rng.uniform(-12, 12, 200)
    yield "24 decades", decades, decades * rng.lognormal(0.0, 0.5, 200)
    yield "predictions at or below 0", np.abs(rng.standard_normal(40)), rng.standard_normal(40).round(1)
    yield "negative truth", -np.abs(rng.standard_normal(30)), rng.standard_normal(30)
    yield "zeros in truth and prediction", np.array([0.0, 0.0, 1.0, -2.0, 0.0]), np.array([0.0, 1.0, 0.0, -2.0, 0.0])
    yield "zeros only", np.zeros(5), np.zeros(5)
    yield "constant truth", np.full(6, 2.5), rng.standard_normal(6)
    yield "a perfect prediction", decades, decades.copy()
    holes = rng.standard_normal(9)
    holes[[1, 4]] = np.nan, np.inf
    yield "non-finite predictions", rng.standard_normal(9), holes
    yield "non-finite truth", holes, rng.standard_normal(9)
    yield "no finite prediction", rng.standard_normal(3), np.full(3, np.nan)
    yield "errors that overflow", np.array([1.0, 2.0]), np.array([1e200, -1e200])


def _value(evaluate: MetricsFunction, y_true: F64, y_pred: F64, name: str) -> float | None:
    """A registry's value; None where it is undefined, not finite or where the registry fails."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = evaluate(y_true, y_pred).get(name)
    except Exception:  # foreign code; the comparison has said so already
        return None
    return float(value) if value is not None and math.isfinite(value) else None


def _same(a: float | None, b: float | None) -> bool:
    return a is b if a is None or b is None else math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=1e-300)


def _flat(values: ArrayLike) -> F64:
    return np.asarray(values, dtype=np.float64).reshape(-1)
