"""Proof that what was written is what was meant: the file is run in a fresh process and compared with known numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emit import source_rules
from emit.isolation import run_fresh

F64 = NDArray[np.float64]

TOLERANCE = 1e-9
TIMEOUT = 120.0


@dataclass(frozen=True)
class Report:
    """What was found. `difference` is the largest |found - expected| / max(|expected|, std(y)); nan if not compared."""

    problems: tuple[str, ...]
    difference: float = float("nan")
    seconds: float = float("nan")

    @property
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return "; ".join(self.problems) or f"verified (largest relative difference {self.difference:.1e})"


@dataclass(frozen=True, eq=False)
class Calibration:
    """What an emitted `fit` and `predict` gave on windows: locals (windows, locals), predictions by window."""

    names: tuple[str, ...]
    locals: F64
    predictions: tuple[F64, ...]
    seconds: tuple[float, ...]
    failed: Mapping[int, str] = field(default_factory=dict)


def verify_contract(
    path: Path, headers: Sequence[str], X: F64, predictions: F64, y_std: float, *, max_locals: int = 0,
    groups: NDArray[np.int64] | None = None, locals_: Mapping[str, F64] | None = None, timeout: float = TIMEOUT,
) -> Report:  # fmt: skip
    """Import a written module afresh, check its contract and compare predict with `predictions` (rows,).

    X is (features, rows), its rows headed by `headers`. For a Type II module `groups` holds the first row of each group
    and `locals_[name]` its local (groups,).
    """
    tree = source_rules.parse(path.read_text(encoding="utf-8"))
    if isinstance(tree, source_rules.Finding):
        return Report((str(tree),))
    problems = [str(f) for f in (*source_rules.contract_code(tree), *source_rules.dumps(tree))]
    if problems:
        return Report(tuple(problems))
    arrays: dict[str, NDArray[Any]] = {"X": X}
    job: dict[str, Any] = {"runner": "contract", "path": str(path), "headers": list(headers)}
    if groups is not None and locals_ is not None:
        arrays |= {"groups": groups, "locals": np.column_stack(list(locals_.values()))}
        job["local_names"] = list(locals_)
    answer, results = run_fresh(job, arrays, timeout)
    problems = _contract_problems(answer, len(predictions), max_locals)
    if problems or "predictions" not in results:
        return Report(tuple(problems) or ("predict gave nothing to compare",))
    found = results["predictions"]
    if not np.isfinite(found).all():
        bad = np.flatnonzero(~np.isfinite(found))
        problems.append(f"predict is not finite on {len(bad)} of {len(found)} training rows, first on row {bad[0] + 1}")
    difference = relative_difference(found, predictions, y_std)
    if not difference <= TOLERANCE:
        problems.append(
            f"predict differs from the search by {difference:.3g} of max(|p|, std(y)); {TOLERANCE:g} is allowed"
        )
    return Report(tuple(problems), difference, float(answer["seconds"]))


def relative_difference(found: F64, expected: F64, y_std: float) -> float:
    """Largest |found - expected| / max(|expected|, y_std); 0/0 is 0, anything not finite is inf."""
    if found.shape != expected.shape:
        return float("inf")
    scale = np.maximum(np.abs(expected), y_std)
    with np.errstate(all="ignore"):
        miss = np.abs(found - expected)
        relative = np.where(miss == 0.0, 0.0, miss / scale)
    return float(np.max(np.where(np.isfinite(relative), relative, np.inf), initial=0.0))


def _contract_problems(answer: Mapping[str, Any], n: int, max_locals: int) -> list[str]:
    if "error" in answer:
        return [f"the module fails: {answer['error']}"]
    problems = field_problems(answer)
    if "unknown" in answer:
        problems.append(f"USED_INPUTS names columns that do not exist: {', '.join(answer['unknown'])}")
    locals_ = answer.get("LOCAL_FITTABLE") or []
    if len(locals_) > max_locals:
        problems.append(f"{len(locals_)} locals, but only {max_locals} are allowed")
    shapes = answer.get("shapes", [])
    if len(shapes) == 1 and not locals_ and shapes != [f"({n},)"]:
        problems.append(f"predict returns shape {shapes[0]} for {n} rows")
    if shapes and answer.get("dtype") != "float64":
        problems.append(f"predict returns {answer.get('dtype')}, not float64")
    if answer.get("integers_agree") is False:
        problems.append("predict gives another result for integers than for floats")
    return problems


def field_problems(answer: Mapping[str, Any]) -> list[str]:
    """What is wrong with the contract fields that the fresh process found."""
    problems = [f"{name} is missing or no dict" for name in _DICTS if answer.get(name) is None]
    if answer.get("used_inputs") is None:
        problems.append("USED_INPUTS is missing or no list")
    if not answer.get("predict"):
        problems.append("there is no function predict")
    has_locals = bool(answer.get("LOCAL_FITTABLE"))
    if has_locals and not answer.get("fit"):
        problems.append("LOCAL_FITTABLE is not empty, so fit is needed")
    if not has_locals and answer.get("fit"):
        problems.append("LOCAL_FITTABLE is empty, so fit must not be defined")
    return problems


_DICTS = ("LAW_CONSTANTS", "OTHER_CONSTANTS", "LOCAL_FITTABLE")


def calibrate(
    path: Path, headers: Sequence[str], windows: Sequence[tuple[F64, F64, F64]], timeout: float = TIMEOUT
) -> Calibration:
    """Run an emitted fit and predict on windows (X_fit, y_fit, X_judge), X as (features, rows), in a fresh process.

    A window whose fit fails has nan predictions and its reason in `failed`. Raises RuntimeError if the module does not
    load or the time is up.
    """
    arrays = {f"{key}{w}": a for w, window in enumerate(windows) for key, a in zip(_PARTS, window, strict=True)}
    job = {"runner": "calibrate", "path": str(path), "headers": list(headers), "n_windows": len(windows)}
    answer, results = run_fresh(job, arrays, timeout)
    if "error" in answer:
        raise RuntimeError(f"the emitted module fails: {answer['error']}")
    edges = np.cumsum([window[2].shape[1] for window in windows])[:-1]
    return Calibration(
        tuple(answer["locals"]), results["locals"], tuple(np.split(results["predictions"], edges)),
        tuple(answer["seconds"]), {int(w): reason for w, reason in answer["failed"].items()},
    )  # fmt: skip


_PARTS = ("X_fit", "y_fit", "X_judge")
