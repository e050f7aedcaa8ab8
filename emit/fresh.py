"""Runs one emitted file in a process of its own. Started as a script by `verify.py`; imports nothing of this project.

``python -I fresh.py FOLDER``: reads job.json and arrays.npz there, writes answer.json and result.npz. What the file
under test prints goes nowhere.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

Arrays = dict[str, Any]


class _Refuse:
    """An import hook that lets through the standard library and the packages that the judge has."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self.allowed = {*allowed, *sys.stdlib_module_names}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        known = name.partition(".")[0] in self.allowed or name.startswith("_sysconfigdata")
        if path is None and not known:
            raise ModuleNotFoundError(f"No module named {name!r} where this file will run", name=name)
        return None


def load(path: str) -> types.ModuleType:
    """Run the file's code as a module, as a scorer does."""
    module = types.ModuleType("law_under_test")
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec"), module.__dict__)
    return module


def describe(module: types.ModuleType) -> dict[str, Any]:
    """The contract fields of a module, in a form that fits into JSON."""
    used = getattr(module, "USED_INPUTS", None)
    found: dict[str, Any] = {"used_inputs": list(map(str, used)) if isinstance(used, (list, tuple)) else None}
    for name in ("LAW_CONSTANTS", "OTHER_CONSTANTS", "LOCAL_FITTABLE"):
        value = getattr(module, name, None)
        found[name] = [str(k) for k in value] if isinstance(value, dict) else None
    found["predict"], found["fit"] = (callable(getattr(module, name, None)) for name in ("predict", "fit"))
    return found


def contract(job: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Fields of a module, and what predict gives on the columns it asks for (and on whole numbers as integers)."""
    import numpy as np

    module = load(job["path"])
    answer = describe(module)
    if answer["used_inputs"] is None or not answer["predict"]:
        return answer, {}
    unknown = [name for name in answer["used_inputs"] if name not in job["headers"]]
    if unknown:
        return {**answer, "unknown": unknown}, {}
    X = np.ascontiguousarray(arrays["X"][[job["headers"].index(name) for name in answer["used_inputs"]]].T)
    began = time.perf_counter()
    with np.errstate(all="ignore"):
        results = [np.asarray(module.predict(X[rows].copy(), **local)) for rows, local in _parts(job, arrays, len(X))]
        answer["shapes"] = sorted({str(r.shape) for r in results})
        answer["dtype"] = str(results[0].dtype) if results else ""
        answer["seconds"] = time.perf_counter() - began
        good = all(r.ndim == 1 and r.dtype.kind in "fiu" for r in results)
        whole = np.rint(X[:100])
        if good and not answer["LOCAL_FITTABLE"] and np.isfinite(whole).all() and (np.abs(whole) < 2**53).all():
            as_int, as_float = (np.asarray(module.predict(whole.astype(t))) for t in (np.int64, np.float64))
            answer["integers_agree"] = bool(np.array_equal(as_int, as_float, equal_nan=True))
    return answer, {"predictions": np.concatenate(results).astype(np.float64)} if good and results else {}


def _parts(job: Mapping[str, Any], arrays: Arrays, n: int) -> list[tuple[Any, dict[str, float]]]:
    """(rows, locals) of each call of predict: one call, or one a group."""
    if "groups" not in arrays:
        return [(slice(0, n), {})]
    edges = [*arrays["groups"].tolist(), n]
    return [
        (slice(edges[g], edges[g + 1]), dict(zip(job["local_names"], row, strict=True)))
        for g, row in enumerate(arrays["locals"].tolist())
    ]


def calibrate(job: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """For each window: fit on its first rows, predict on its last ones. A window that fails is told, not raised."""
    import numpy as np

    module = load(job["path"])
    names = list(module.LOCAL_FITTABLE)
    columns = [job["headers"].index(name) for name in module.USED_INPUTS]
    failed: dict[str, str] = {}
    seconds, fitted, predictions = [], [], []
    for w in range(job["n_windows"]):
        X_fit, y_fit, X_judge = (arrays[f"{key}{w}"] for key in ("X_fit", "y_fit", "X_judge"))
        local = dict.fromkeys(names, float("nan"))
        values = np.full(X_judge.shape[1], np.nan)
        began = time.perf_counter()
        try:
            local = module.fit(X_fit[columns].T.copy(), y_fit.copy())
            with np.errstate(all="ignore"):
                values = np.asarray(module.predict(X_judge[columns].T.copy(), **local), dtype=np.float64)
            if set(local) != set(names):
                raise ValueError(f"fit returned {sorted(local)}, not {sorted(names)}")
        except Exception as error:
            failed[str(w)] = f"{type(error).__name__}: {error}"
        seconds.append(time.perf_counter() - began)
        fitted.append([float(local.get(name, float("nan"))) for name in names])
        predictions.append(values)
    answer = {"locals": names, "failed": failed, "seconds": seconds}
    return answer, {"locals": np.array(fitted), "predictions": np.concatenate(predictions)}


def solution(job: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """What Solution().solve gives, with only the judge's packages importable."""
    sys.meta_path.insert(0, _Refuse(job["packages"]))
    module = load(job["path"])
    began = time.perf_counter()
    output = module.Solution().solve(arrays["X"].T.copy(), arrays["y"].copy())
    answer: dict[str, Any] = {"seconds": time.perf_counter() - began, "type": type(output).__name__}
    if isinstance(output, dict):
        predictions = output.get("predictions")
        details = output.get("details")
        answer["expression"] = output.get("expression")
        answer["details"] = type(details).__name__
        answer["complexity"] = details.get("complexity") if isinstance(details, dict) else None
        answer["predictions"] = None if predictions is None else [float(v) for v in list(predictions)]
    return answer, {}


RUNNERS: dict[str, Callable[[Mapping[str, Any], Arrays], tuple[dict[str, Any], Arrays]]] = {
    "contract": contract, "calibrate": calibrate, "solution": solution,
}  # fmt: skip


def main(folder: Path) -> None:
    """Run the job in a folder and leave its answer there."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    sys.path.extend(job["site"])  # -I leaves out a user's own site-packages
    import numpy as np

    with np.load(folder / "arrays.npz") as file:
        arrays = {name: file[name] for name in file.files}
    results: Arrays = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            answer, results = RUNNERS[job["runner"]](job, arrays)
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        answer = {"error": f"{type(error).__name__}: {error} (line {last.lineno} of {Path(last.filename).name})"}
    np.savez(folder / "result.npz", **results)
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
