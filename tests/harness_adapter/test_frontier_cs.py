"""Frontier-CS problem folders and Agentics challenge bundles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness_adapter.read import read_task
from harness_adapter.task import FrontierReference
from operators.errors import InputError
from operators.primitives import FRONTIER_NAMES

Frontier = Callable[..., Path]


@pytest.mark.parametrize("agentics", [False, True])
def test_a_problem(frontier: Frontier, agentics: bool) -> None:
    task = read_task(frontier(agentics=agentics))
    assert (task.kind, task.metric, task.target, task.inputs) == ("frontier_cs", "mse", "y", ("x1", "x2"))
    assert task.identifiers == task.dataset.names == ("x1", "x2")
    assert task.frontier == FrontierReference("d.csv", 5.0, 0.0, 4)
    assert (task.primitives, task.max_constants, task.max_locals, task.grouped) == (FRONTIER_NAMES, None, 0, False)
    assert task.name == ("symreg-d" if agentics else "problem")
    np.testing.assert_array_equal(task.dataset.X, [[1.0, 2.0, 4.0], [2.0, 1.0, 4.0]])


def test_a_bundle_by_its_own_folder(frontier: Frontier) -> None:
    folder = frontier(agentics=True)
    inner, outer = read_task(folder / "v1"), read_task(folder)
    assert (inner.name, inner.train_path) == (outer.name, outer.train_path)


def test_inputs_go_by_position_and_this_is_said(frontier: Frontier) -> None:
    task = read_task(frontier("x2,y,x1\n1,2,3\n2,1,5\n4,4,8\n"))
    assert (task.inputs, task.identifiers) == (("x2", "x1"), ("x1", "x2"))
    np.testing.assert_array_equal(task.dataset.X[0], [1.0, 2.0, 4.0])
    assert "x1 is column 'x2', x2 is column 'x1'" in task.notes[0]


def test_the_reference_expression_is_not_in_the_task(frontier: Frontier) -> None:
    task = read_task(frontier(reference_expression="exp(x1)*secret"))
    assert "secret" not in repr(task)


@pytest.mark.parametrize(
    ("reference", "words"),
    [({"m_base": None}, "m_base"), ({"C_ref": 1.5}, "C_ref"), ({"m_ref": "low"}, "m_ref")],
)
def test_broken_references_name_the_key(frontier: Frontier, reference: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"reference_metrics\.json: d\.csv: {words}"):
        read_task(frontier(**reference))


def test_references_and_data_must_match(frontier: Frontier) -> None:
    folder = frontier()
    data = folder / "resources" / "data"
    (data / "d.csv").rename(data / "e.csv")
    with pytest.raises(InputError, match=r"names 'd\.csv'; .* holds 'e\.csv'"):
        read_task(folder)
    (data / "e.csv").unlink()
    with pytest.raises(InputError, match="holds no CSV file"):
        read_task(folder)
    (folder / "resources" / "reference_metrics.json").unlink()
    with pytest.raises(InputError, match=r"reference_metrics\.json is missing"):
        read_task(folder)


def test_two_data_sets_are_too_many_for_one_law(frontier: Frontier) -> None:
    folder = frontier()
    resources = folder / "resources"
    (resources / "data" / "e.csv").write_text("x1,y\n1,2\n")
    assert read_task(folder).frontier  # without a reference it is not looked at, as by the judge
    references = json.loads((resources / "reference_metrics.json").read_text())
    references["e.csv"] = references["d.csv"]
    (resources / "reference_metrics.json").write_text(json.dumps(references))
    with pytest.raises(InputError, match=r"several data sets \('d\.csv', 'e\.csv'\)"):
        read_task(folder)


@pytest.mark.parametrize("place", ["../../elsewhere", "private-benchmark/data", "/etc", None, 3])
def test_only_public_data_are_read(frontier: Frontier, place: Any) -> None:
    folder = frontier(agentics=True)
    config = folder / "v1" / "public" / "config.json"
    config.write_text(json.dumps({"data_dir": place, "reference_path": "public/reference_metrics.json"}))
    with pytest.raises(InputError, match="data_dir"):
        read_task(folder)


@pytest.mark.parametrize(
    ("csv", "words"),
    [
        ("x1,x2\n1,2\n", "target 'y' was not found"),
        ("x1,x2,y\n1,2,a\n", "must hold numbers"),
        ("x1,x2,y\na,2,1\n", "input 'x1' holds text"),
        ("y\n1\n2\n", "no numeric input"),
    ],
)
def test_broken_data(frontier: Frontier, csv: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_task(frontier(csv))


def test_the_five_problems(shared_dir: Path) -> None:
    for name, features in (("mccormick", 2), ("mixed_polyexp_4d", 4), ("peaks", 2), ("ripple", 2), ("sincos", 2)):
        task = read_task(shared_dir / "frontier_cs" / name)
        assert task.name == name
        assert task.dataset.X.shape == (features, 1000)
        assert (task.notes, task.warnings) == ((), ())
