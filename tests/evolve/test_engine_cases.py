"""Cases of layer `engine` that users of other tools reported, as whole runs through the command line.

Each is the case's own data with a budget in evaluations, so that the outcome depends on no clock.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from evolve.__main__ import main
from evolve.prediction import load_module

BUDGET = "10000"


def law_of(task: Any, out: Path, budget: str = BUDGET) -> ModuleType:
    """best.py of a run on a case that has to end well."""
    assert main(["run", str(task.folder), "--seed", "0", "--evaluations", budget, "--out", str(out)]) == 0
    return load_module(out / "best.py")


def rows(law: ModuleType, columns: dict[str, Any]) -> np.ndarray:
    return np.array([np.asarray(columns[name], float) for name in law.USED_INPUTS]).reshape(-1, len(columns["y"])).T


def misses(law: ModuleType, task: Any) -> float:
    """rmse from the truth in units of the truth's spread, on the case's clean rows."""
    c = {
        name: np.asarray(values) if name == "n" else np.asarray(values, float) for name, values in task.columns.items()
    }
    truth = eval(task.right["truth"], {"np": np, "c": c})  # an expression of the case file
    return float(np.sqrt(np.mean((law.predict(rows(law, task.columns)) - truth) ** 2)) / np.std(truth))


@pytest.mark.parametrize(
    ("case_id", "variant"),
    [
        ("SR-14", None),
        ("SR-18", None),
        ("SR-18", "negative power of integers"),
        ("SR-19", None),
        ("SR-19", "square with noise"),
        ("SR-21", None),
        ("SR-22", None),
        ("SR-22", "smape where truth is zero"),
        ("SR-45", None),
        ("SR-48", None),
    ],
)
def test_the_truth_is_found(case, tmp_path, case_id, variant):
    task = case(case_id, variant)
    law = law_of(task, tmp_path / "out")
    assert misses(law, task) <= task.right["tol"]
    assert len(law.LAW_CONSTANTS) <= 4
    assert all(abs(v) < 1e6 for v in law.LAW_CONSTANTS.values())
    if case_id == "SR-48":
        assert sorted(law.USED_INPUTS) == ["x3", "x7"]


def test_one_row_gives_its_value_and_a_warning(case, tmp_path, capfd):
    """SR-13"""
    law = law_of(case("SR-13"), tmp_path / "out")
    assert law.predict(np.full((1, len(law.USED_INPUTS)), 2.0)) == pytest.approx([5.0], abs=1e-9)
    assert "one row" in capfd.readouterr().err


def test_two_rows_give_the_line_through_them(case, tmp_path):
    """SR-13"""
    law = law_of(case("SR-13", "two rows"), tmp_path / "out")
    assert law.predict(np.array([[2.0], [4.0]])) == pytest.approx([5.0, 9.0], abs=1e-6)


def test_integers_are_predicted_as_floats_are(case, tmp_path):
    """SR-18"""
    law = law_of(case("SR-18", "negative power of integers"), tmp_path / "out")
    whole = np.arange(1, 21).reshape(-1, 1)
    assert np.array_equal(law.predict(whole), law.predict(whole.astype(float)))


@pytest.mark.parametrize("variant", [None, "cube root", "square with noise"])
def test_powers_stay_real_beyond_the_rows(case, tmp_path, variant):
    """SR-19"""
    law = law_of(case("SR-19", variant), tmp_path / "out")
    values = law.predict(np.array([[-7.3], [-5.0], [0.0], [5.0]])[:, : len(law.USED_INPUTS)])
    assert np.isrealobj(values)
    assert np.isfinite(values).all()


def test_a_log_metric_ignores_the_rows_it_is_not_defined_on(case, tmp_path):
    """SR-22: with log_mae only rows with y > 0 count; y = 2x is right on them."""
    law = law_of(case("SR-22", "log_mae with a target that is partly negative"), tmp_path / "out")
    x = np.linspace(0.5, 4.0, 8).reshape(-1, 1)
    assert law.predict(x) == pytest.approx(2.0 * x[:, 0], rel=1e-6)


def test_an_undefined_metric_is_replaced_aloud(case, tmp_path, capfd):
    """SR-22"""
    law_of(case("SR-22", "log_mae with no positive target"), tmp_path / "out")
    assert re.search(r"log_mae.*rmse", capfd.readouterr().err)


def test_pure_noise_with_room_for_200_constants_gives_a_short_law(case, tmp_path):
    """SR-35: no crash and no tower of terms."""
    law = law_of(case("SR-35"), tmp_path / "out")
    assert len(law.LAW_CONSTANTS) <= 5
    assert np.isfinite(law.predict(rows(law, case("SR-35").columns))).all()


def test_an_exact_law_of_a_table_keeps_its_pole(tmp_path):
    """A plain table announces no range: the pole of cos(x)/tan(y) at y = 0 is the law's own, and is not clipped away."""
    x, y = np.random.default_rng(4).uniform(-1.5, 1.5, (2, 200))
    table = tmp_path / "cot.csv"
    np.savetxt(table, np.column_stack([np.cos(x) / np.tan(y), x, y]), delimiter=",", header="z,x,y", comments="")
    assert (
        main(["run", str(table), "--target", "z", "--seed", "0", "--evaluations", BUDGET, "--out", str(tmp_path / "o")])
        == 0
    )
    assert "max(" not in (tmp_path / "o" / "best.py").read_text()


def test_curves_of_very_different_size_are_calibrated_from_one_start(case, tmp_path):
    """SR-45, grouped: one logistic curve for plants of 1.2 and of 40, which descent from ones does not find."""
    task = case("SR-45", "grouped logistic")
    law = law_of(task, tmp_path / "out", "2000")
    group, y = np.asarray(task.columns["group_id"]), np.asarray(task.columns["y"])
    X = rows(law, task.columns)
    for g in np.unique(group):
        began = time.monotonic()
        local = law.fit(X[group == g], y[group == g])
        assert time.monotonic() - began < 10.0
        error = law.predict(X[group == g], **local) - y[group == g]
        assert np.sqrt(np.mean(error**2)) < 1e-3 * np.sqrt(np.mean(y[group == g] ** 2))
