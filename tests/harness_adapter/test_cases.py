"""The reported cases of layer input, as far as reading goes: what reaches the search, or the message instead."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fitness.metrics import METRICS
from harness_adapter.read import read_task
from harness_adapter.task import Task
from operators.errors import InputError

Build = Callable[..., Any]

# (case, variant): read fine. The truth, written over the columns as the task has them, must hold for its rows.
READ = [
    ("SR-04", None),
    ("SR-04", "keyword and operator"),
    ("SR-04", "names that best.py itself uses"),
    ("SR-06", None),
    ("SR-06", "headers in another order than their numbers"),
    ("SR-08", None),
    ("SR-08", "blanks after the comma"),
    ("SR-10", None),
    ("SR-13", "two rows"),
    ("SR-14", None),
    ("SR-18", None),
    ("SR-18", "negative power of integers"),
]


@pytest.mark.parametrize(("case_id", "variant"), READ)
def test_what_is_read_is_what_was_written(case: Build, case_id: str, variant: str | None) -> None:
    built = case(case_id, variant)
    task = read_task(built.folder)
    c = dict(zip(task.inputs, task.dataset.X, strict=True))
    truth = eval(built.right["truth"], {"np": np, "c": c})  # the case's own formula for its target
    scale = float(np.std(truth)) or 1.0
    assert float(np.sqrt(np.mean((task.dataset.y - truth) ** 2))) / scale < max(built.right["tol"], 1e-6)
    assert len(set(task.identifiers)) == len(task.inputs)


def _error(built: Any) -> str:
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        read_task(built.folder)
    assert time.monotonic() - began < 5.0
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sr04_no_name_is_one_that_code_uses(case: Build) -> None:
    assert read_task(case("SR-04").folder).identifiers == ("exec_", "exp_", "sin_")
    task = read_task(case("SR-04", "keyword and operator").folder)
    assert (task.inputs, task.identifiers) == (("add", "class", "None"), ("add_", "class_", "None_"))
    task = read_task(case("SR-04", "names that best.py itself uses").folder)
    assert task.identifiers == ("X_", "np_", "predict_", "c0_")


def test_sr07_a_name_read_as_false_is_named_with_what_was_read(case: Build) -> None:
    message = _error(case("SR-07"))
    assert "inputs[0].name" in message
    assert "False" in message
    assert "quote it" in message


def test_sr07_once_quoted_the_caps_are_numbers(case: Build) -> None:
    built = case("SR-07")
    path = built.folder / "metadata.yaml"
    path.write_text(path.read_text().replace("{name: NO}", "{name: 'NO'}").replace("{name: on}", "{name: 'on'}"))
    task = read_task(built.folder)
    assert task.inputs == ("NO", "on")
    for text in ("1e1", "1.0e1"):
        path.write_text(path.read_text().replace("max_law_constants: 8", f"max_law_constants: {text}"))
        assert read_task(built.folder).max_constants == 10


def test_sr08_another_separator_is_asked_about(case: Build) -> None:
    message = _error(case("SR-08", "semicolon and decimal comma"))
    assert "'y' was not found" in message
    assert "'x;y'" in message
    assert "separator ';'" in message


def test_sr09_a_header_that_occurs_twice(case: Build) -> None:
    assert "header 'x' occurs twice" in _error(case("SR-09"))


def test_sr10_text_columns(case: Build) -> None:
    task = read_task(case("SR-10").folder)
    assert task.inputs == ("x",)
    assert [name for name in ("site", "day") if any(repr(name) in w for w in task.warnings)] == ["site", "day"]
    message = _error(case("SR-10", "text in the target"))
    assert "column 'y'" in message
    assert "'<0.1' on line 6" in message


def test_sr11_files_and_metadata_that_do_not_match(case: Build) -> None:
    message = _error(case("SR-11"))
    assert "'Temp' was not found" in message
    assert "'y', 'temp', 'pressure'" in message
    assert "did you mean 'temp'" in message
    assert "data/train.csv has no rows" in _error(case("SR-11", "header only"))
    assert "data/train.csv" in _error(case("SR-11", "zero bytes"))
    message = _error(case("SR-11", "unknown metric"))
    assert "'accuracy'" in message
    assert all(name in message for name in METRICS)


def test_sr13_one_row_is_read_with_a_warning(case: Build) -> None:
    task = read_task(case("SR-13").folder)
    assert (task.dataset.X.tolist(), task.dataset.y.tolist()) == ([[2.0]], [5.0])
    assert any("cannot determine a law" in warning for warning in task.warnings)


def test_sr18_integers_of_any_size_are_exact_floats(case: Build) -> None:
    task = read_task(case("SR-18").folder)
    assert task.dataset.X.dtype == np.float64
    assert task.dataset.y.tolist() == [float((10**9 + 4 * 10**8 * k) ** 2) for k in range(24)]


def _every_task(case: Build) -> list[Task]:
    return [read_task(case(case_id, variant).folder) for case_id, variant in READ]


def test_nothing_that_is_read_is_executed(case: Build, capfd: pytest.CaptureFixture[str]) -> None:
    assert len(_every_task(case)) == len(READ)
    built = case("SR-04")
    for name in ("metadata.yaml", "data/train.csv"):
        path = built.folder / name
        path.write_text(path.read_text().replace("exec", "__import__('os').system('echo ran')"))
    task = read_task(built.folder)
    assert task.inputs[0] == "__import__('os').system('echo ran')"
    assert capfd.readouterr().out == ""
