"""The official score of a finished file, computed by the benchmark's own code or, for Frontier-CS, as it does.

Held-out data are opened here only by the harness's own process, after the file is final; nothing it says goes back
to a search.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness_adapter.child import PACKAGES, Ended, run_python
from harness_adapter.frontier_cs import data_files, layout_of, read_references
from harness_adapter.registry import find_harness
from harness_adapter.task import Task
from operators.errors import InputError

SCILAWS_TIMEOUT = 3600.0
FRONTIER_TIMEOUT = 600.0
SCORER = "evaluate_numeric.py"
# The judge's machine has four cores; more threads would also reserve memory beyond its limit.
_FOUR_CORES = {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"}
_ZIP_LIMIT = 50 * 1024**2


def score(task: Task, file: Path, harness: Path | None = None, timeout: float | None = None) -> dict[str, Any]:
    """The official result for `file` on `task`, as the scorer's own JSON object, with at least the key ``status``.

    A SciLaws task needs a harness and the references that only it may read. A failing file is a result (its status
    is not "ok"); an InputError means that scoring itself was not possible.
    """
    if not file.is_file():
        raise InputError(f"{file} does not exist; give the file to score, such as RUN/best.py")
    if task.kind == "scilaws":
        return _score_scilaws(task, file.resolve(), harness, timeout or SCILAWS_TIMEOUT)
    if task.kind == "frontier_cs":
        return _score_frontier(task, file.resolve(), timeout or FRONTIER_TIMEOUT)
    raise InputError(f"{task.source} is a table of your own; only benchmark tasks have an official score")


def in_words(result: dict[str, Any]) -> str:
    """One line for people about what `score` returned."""
    if "summary" in result:
        mean = result["summary"]
        counts = "; ".join(f"C {row['complexity']} (reference {row['C_ref']})" for row in result["by_dataset"].values())
        return (
            f"score {mean['mean_score']:.6f} of 100 (unbounded {mean['mean_score_unbounded']:.6f}), "
            f"MSE {mean['mean_mse']:.6g}, {counts}"
        )
    if "numeric_score" not in result:
        return f"no score: {result.get('error', result['status'])}"
    raw, metric = result.get("raw_metric"), (result.get("score") or {}).get("metric", "metric")
    reason = "; ".join(map(str, result.get("violations") or ())) or result.get("error")
    shown = f"{metric} {raw:.6g}" if isinstance(raw, (int, float)) else "no predictions"
    return f"numeric_score {result['numeric_score']:.4f} ({shown}), status {result['status']}" + (
        f": {reason}" if reason else ""
    )


def _score_scilaws(task: Task, file: Path, given: Path | None, timeout: float) -> dict[str, Any]:
    harness = find_harness(task.source, given)
    if harness is None:
        raise InputError(f"no harness above {task.source}; give the benchmark's checkout with --harness")
    scorer = harness / SCORER
    if not scorer.is_file():
        raise InputError(f"{harness} holds no {SCORER}, so nothing can be scored with it")
    with tempfile.TemporaryDirectory() as empty:
        ended = run_python([str(scorer), "score", str(task.source), str(file)], Path(empty), timeout)
    if ended.code is None:
        raise InputError(f"the scorer did not finish {file} within {timeout:g} s")
    result = _last_object(ended.stdout) if ended.code == 0 else None
    if result is None:
        raise InputError(_why(task, ended))
    return result


def _why(task: Task, ended: Ended) -> str:
    words = ended.last_words
    if "reference_metrics" in words or "scoring" in words:
        return f"{task.source}: the scorer's references are not there ({words}); only a full checkout can score"
    return f"{task.source}: the scorer failed: {words}"


def _last_object(text: str) -> dict[str, Any] | None:
    """The JSON object that ends a text; a submission may have printed before it."""
    position = 0
    for line in text.splitlines(keepends=True):
        if line.startswith("{"):
            try:
                value = json.loads(text[position:])
            except ValueError:
                value = None
            if isinstance(value, dict) and "status" in value:
                return value
        position += len(line)
    return None


def _score_frontier(task: Task, file: Path, timeout: float) -> dict[str, Any]:
    layout = layout_of(task.source)
    if layout is None:
        raise InputError(f"{task.source} is no Frontier-CS problem any more")
    references = read_references(layout)
    datasets = [
        {**asdict(references[path.name]), "name": path.name, "path": str(path.resolve())} for path in data_files(layout)
    ]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        request, result = here / "request.json", here / "result.json"
        work = here / "workspace"
        work.mkdir()
        solution = _solution(file, work)
        request.write_text(json.dumps({"solution": str(solution), "datasets": datasets}), encoding="utf-8")
        arguments = ["-m", "harness_adapter.frontier_scorer", str(request), str(result)]
        ended = run_python(arguments, work, timeout, {"PYTHONPATH": str(PACKAGES), **_FOUR_CORES})
        if ended.code is None:
            return {"status": "error", "error": f"no result within {timeout:g} s"}
        if not result.is_file():
            return {"status": "error", "error": ended.last_words}
        scored: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return scored


def _solution(file: Path, work: Path) -> Path:
    """The Python file to score; a ZIP project is unpacked into the empty folder `work` first."""
    if not zipfile.is_zipfile(file):
        return file
    with _archive(file) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _ZIP_LIMIT:
            raise InputError(f"{file} unpacks to more than {_ZIP_LIMIT // 1024**2} MiB")
        if "solution.py" not in archive.namelist():
            raise InputError(f"{file} holds no solution.py at its top")
        archive.extractall(work)
    return work / "solution.py"


@contextlib.contextmanager
def _archive(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, OSError, RuntimeError) as error:  # RuntimeError: it asks for a password
        raise InputError(f"{file} cannot be unpacked: {error}") from None
