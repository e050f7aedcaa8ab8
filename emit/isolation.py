"""Starts `fresh.py`: a job and arrays go into a new Python process, an answer and arrays come out."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def run_fresh(
    job: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], timeout: float
) -> tuple[dict[str, Any], dict[str, F64]]:
    """Run a job of `fresh.py` in ``python -I``: (answer, arrays). A crash or a timeout is an answer with an error.

    The job's ``path``, the file to run, may be relative to the current directory; the process has another.
    """
    job = {**job, "path": str(Path(job["path"]).resolve())}
    site = str(Path(np.__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "arrays.npz", **dict(arrays))  # type: ignore[arg-type]
        (folder / "job.json").write_text(json.dumps({**job, "site": [site]}), encoding="utf-8")
        command = [sys.executable, "-I", str(Path(__file__).with_name("fresh.py")), str(folder)]
        try:
            done = subprocess.run(command, cwd=folder, timeout=timeout, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"no result within {timeout:g} s"}, {}
        answer_file = folder / "answer.json"
        if not answer_file.exists():
            return {"error": f"the process ended with code {done.returncode}: {done.stderr.strip()[-300:]}"}, {}
        with np.load(folder / "result.npz") as file:
            return json.loads(answer_file.read_text(encoding="utf-8")), {key: file[key] for key in file.files}
