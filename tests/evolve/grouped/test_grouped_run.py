"""Grouped tasks from the folder to a verified best.py: known laws come back, odd input is met with sense."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml

from evolve.prediction import load_module

PLANTS, ROWS = 12, 20


def write(folder: Path, columns: dict[str, np.ndarray], max_locals: int = 2, **more: object) -> Path:
    (folder / "data").mkdir(parents=True)
    names = list(columns)
    with (folder / "data" / "train.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(names)
        out.writerows(zip(*columns.values(), strict=True))
    meta = {
        "task_id": folder.name, "type": "typeII", "has_group_id": True, "target": {"name": names[0]},
        "inputs": [{"name": n} for n in names[1:] if n != "group_id"], "metric": "rmse",
        "split": "Within a held-out group the rows are interleaved along x: every third row is a test row.",
        "caps": {"max_law_constants": 0, "max_local_params": max_locals, "fit_timeout_seconds": 10}, **more,
    }  # fmt: skip
    (folder / "metadata.yaml").write_text(yaml.safe_dump(meta))
    return folder


def clusters(function, spans, low, high, seed=1, noise=0.01, groups=PLANTS, rows=ROWS):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), rows)
    x = np.sort(rng.uniform(low, high, (groups, rows)), axis=1).ravel()
    local = np.array([[rng.uniform(*span) for span in spans] for _ in range(groups)])
    y = function(x, *local[group].T)
    y = y + noise * np.std(y) * rng.normal(size=len(y))
    return {"y": y, "x": x, "group_id": group + 1}


def run(folder: Path, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evolve", "run", str(folder), "--seed", "1", "--out", str(out), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)


def relative_error(best: ModuleType, function, spans, low, high, seed=99) -> float:
    """Median over new clusters, calibrated on half of noise-free rows, of the rmse on the others by the spread."""
    new = clusters(function, spans, low, high, seed, noise=0.0)
    found = []
    for g in range(1, PLANTS + 1):
        rows = np.flatnonzero(new["group_id"] == g)
        X, y = new["x"][rows, None], new["y"][rows]
        local = best.fit(X[::2], y[::2])
        found.append(np.sqrt(np.mean((best.predict(X[1::2], **local) - y[1::2]) ** 2)) / np.std(y))
    return float(np.median(found))


LAWS = {
    "michaelis": (lambda x, a, b: a * x / (b + x), ((2, 9), (1, 6)), 0.2, 20.0, 2),
    "logistic": (lambda x, a, b, c: a / (1 + np.exp(-(x - b) / c)), ((2, 9), (4, 8), (0.8, 2.0)), 0.0, 14.0, 3),
    "power": (lambda x, a: a * x**1.37, ((1, 5),), 0.5, 9.0, 1),
    "cooling": (lambda x, a, b, c: a + b * np.exp(-c * x), ((1, 4), (5, 9), (0.2, 0.7)), 0.0, 9.0, 3),
    "wave": (lambda x, a, b, c: a + b * np.sin(1.3 * x + c), ((1, 4), (2, 5), (0, 3)), 0.0, 12.0, 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_a_known_law_is_recovered(name: str, tmp_path: Path) -> None:
    function, spans, low, high, max_locals = LAWS[name]
    folder = write(tmp_path / name, clusters(function, spans, low, high), max_locals)
    done = run(folder, tmp_path / "out", "--time", "60s")
    assert done.returncode == 0, done.stderr
    best = load_module(tmp_path / "out" / "best.py")
    assert len(best.LOCAL_FITTABLE) == len(spans)
    assert relative_error(best, function, spans, low, high) < 5e-3


def test_a_line_is_recovered_quickly_with_its_table_of_locals(tmp_path: Path) -> None:
    def line(x, a, b):
        return a + b * x

    spans = ((-2, 2), (1, 3))
    folder = write(tmp_path / "line", clusters(line, spans, 0.0, 5.0, noise=0.0))
    done = run(folder, tmp_path / "out", "--evaluations", "3000")
    assert done.returncode == 0, done.stderr
    best = load_module(tmp_path / "out" / "best.py")
    assert list(best.LOCAL_FITTABLE) == ["a", "b"]
    assert relative_error(best, line, spans, 0.0, 5.0) < 1e-6
    table = list(csv.reader((tmp_path / "out" / "locals.csv").open()))
    assert table[0][:2] == ["group_id", "rows"]
    assert [row[0] for row in table[1:]] == [*(str(g) for g in range(1, PLANTS + 1)), "start", "spread"]
    assert "Locals of each training cluster" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_cap_of_no_locals_is_a_task_of_pooled_rows(tmp_path: Path) -> None:
    columns = clusters(lambda x, a: 2.0 * x + 0.0 * a, ((1, 2),), 0.0, 5.0, noise=0.0, groups=3, rows=8)
    done = run(write(tmp_path / "none", columns, 0), tmp_path / "out", "--evaluations", "2000")
    assert done.returncode == 0, done.stderr
    best = load_module(tmp_path / "out" / "best.py")
    assert best.LOCAL_FITTABLE == {}
    assert not hasattr(best, "fit")
    np.testing.assert_allclose(best.predict(np.array([[3.0]])), 6.0, rtol=1e-6)


@pytest.mark.parametrize("sizes", [(12,), (1, 8, 9), (1, 1, 1, 1)])
def test_one_group_and_groups_of_one_row(sizes, tmp_path: Path) -> None:
    n = sum(sizes)
    x = np.linspace(1.0, 4.0, n)
    columns = {"y": 3.0 * x + 1.0, "x": x, "group_id": np.repeat(np.arange(len(sizes)), sizes)}
    done = run(write(tmp_path / "odd", columns), tmp_path / "out", "--evaluations", "1500")
    assert done.returncode == 0, done.stderr
    best = load_module(tmp_path / "out" / "best.py")
    local = best.fit(x[:, None], columns["y"])
    assert np.isfinite(best.predict(x[:, None], **local)).all()


@pytest.mark.parametrize("groups", [None, "1.5"])
def test_a_missing_or_broken_group_id_is_a_message(groups, tmp_path: Path) -> None:
    columns = clusters(lambda x, a: a * x, ((1, 2),), 0.0, 5.0, groups=3, rows=8)
    del columns["group_id"]
    if groups:
        columns["group_id"] = np.full(24, float(groups))
    done = run(write(tmp_path / "bad", columns), tmp_path / "out", "--evaluations", "500")
    assert done.returncode == 2
    assert "group_id" in done.stderr
    assert "Traceback" not in done.stderr
