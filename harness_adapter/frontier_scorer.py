"""The child process that scores a Solution: ``python -m harness_adapter.frontier_scorer REQUEST RESULT``.

It runs foreign code, so the parent (`official.py`) gives it a time limit and an empty folder, and reads nothing but
the RESULT file. Steps, order and failures are those of the public Frontier-CS evaluator.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import resource
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emit.frontier_judge import Judged
from harness_adapter.frontier_score import frontier_score
from harness_adapter.task import FrontierReference

F64 = NDArray[np.float64]
MEMORY = 4 * 1024**3  # what the Agentics runtime allows


def main(request_path: str, result_path: str) -> None:
    """Score what the request names and write the outcome, failures included."""
    _limit_memory()
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    try:
        result = {"status": "ok", **score_solution(Path(request["solution"]), request["datasets"])}
    except (Exception, SystemExit) as error:
        result = {"status": "error", "error": f"{type(error).__name__}: {error}"}
    Path(result_path).write_text(json.dumps(result), encoding="utf-8")


def score_solution(solution: Path, datasets: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """``{"by_dataset": ..., "summary": ...}`` for a solution file; any failure leaves as an exception."""
    module = _load(solution)
    results = {}
    for entry in datasets:
        reference = FrontierReference(entry["name"], entry["m_base"], entry["m_ref"], entry["C_ref"])
        results[reference.dataset] = _score_one(module, Path(entry["path"]), reference)
    rows = list(results.values())
    means = {key: sum(row[key] for row in rows) / len(rows) for key in ("score", "score_unbounded", "mse")}
    summary = {f"mean_{key}": value for key, value in means.items()} | {"num_datasets": len(rows)}
    return {"by_dataset": results, "summary": summary}


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("submitted_solution", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "Solution"):
        raise AttributeError(f"{path.name} defines no class Solution; `evolve export --to frontier-cs` writes one")
    return module


def _score_one(module: Any, path: Path, reference: FrontierReference) -> dict[str, Any]:
    frame = pd.read_csv(path)
    y = frame["y"].to_numpy(dtype=float)
    X = frame.drop(columns=["y"]).to_numpy(dtype=float)
    output = module.Solution().solve(X, y)
    if not isinstance(output, dict):
        raise TypeError(f"Solution.solve must return a dict, it returned {type(output).__name__}")
    expression, details = output.get("expression", ""), output.get("details") or {}
    judged = Judged(expression, X.shape[1])
    predictions = _predictions(output.get("predictions"), judged, X)
    if predictions.shape != y.shape:
        raise ValueError(f"{predictions.size} prediction(s) for {y.size} rows")
    mse = float(np.mean((y - predictions) ** 2))
    told = details.get("complexity")
    complexity = judged.complexity if told is None else int(told)
    score, unbounded = frontier_score(mse, complexity, reference)
    return {
        "mse": mse,
        "expression": str(expression),
        "complexity": complexity,
        "score": score,
        "score_unbounded": unbounded,
        "m_base": reference.m_base,
        "m_ref": reference.m_ref,
        "C_ref": reference.C_ref,
    }


def _predictions(given: Any, judged: Judged, X: F64) -> F64:
    """The predictions given, if there are as many as rows; else what the expression gives."""
    if given is not None:
        values = np.asarray(list(given), dtype=float).ravel()
        if values.shape == (X.shape[0],):
            return values
    return judged.values(X)


def _limit_memory() -> None:
    with contextlib.suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
