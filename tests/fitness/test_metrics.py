"""The metrics against the harness's own registry, on awkward data; losses; undefined metrics."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fitness.constants import evaluate
from fitness.data import Dataset
from fitness.metrics import BAD_LOSS, METRICS, metric_of, metrics, usable_metric
from operators.errors import InputError
from operators.program import ProgramBatch, variable

AWKWARD = [0.0, -0.0, 1.0, -1.0, 1e-300, 1e-310, -1e-300, 1e300, 1.7e308, np.nan, np.inf, -np.inf, 3.5, -2.25]
pairs = hnp.arrays(
    np.float64, st.tuples(st.just(2), st.integers(0, 12)), elements=st.sampled_from(AWKWARD) | st.floats(-1e3, 1e3)
)


@pytest.fixture(scope="module")
def registry(shared_dir: Path) -> ModuleType:
    path = shared_dir / "bench" / "harness" / "eval_formula.py"
    spec = importlib.util.spec_from_file_location("eval_formula", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_same_table(registry: ModuleType) -> None:
    assert {n: (m.direction, m.perfect) for n, m in METRICS.items()} == {
        n: (m["direction"], m["perfect"]) for n, m in registry.METRICS.items()
    }


@given(pairs)
def test_same_numbers(registry: ModuleType, pair: np.ndarray) -> None:
    assert metrics(pair[0], pair[1]) == registry.metrics(pair[0], pair[1])


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="3 rows"):
        metrics(np.zeros(3), np.zeros(2))


@pytest.mark.parametrize("name", METRICS)
@given(hnp.arrays(np.float64, st.tuples(st.just(2), st.integers(1, 40)), elements=st.floats(-50, 50, width=32)))
def test_the_kernel_computes_the_same_loss(name: str, pair: np.ndarray) -> None:
    y, f = pair
    found = float(evaluate(ProgramBatch.of([variable(0)]), Dataset.of(f[None], y, ["f"]), name)[0])
    expected = METRICS[name].loss(y, f)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("name", METRICS)
def test_losses_are_lower_is_better_and_finite(name: str) -> None:
    y = np.array([1.0, 2.0, 4.0])
    metric = METRICS[name]
    assert metric.loss(y, y) == 0.0
    assert 0.0 < metric.loss(y, y * 1.01) < metric.loss(y, y * 1.2)
    assert metric.loss(y, np.array([1.0, np.nan, 4.0])) == BAD_LOSS
    assert metric.to_loss(None) == metric.to_loss(np.nan) == BAD_LOSS
    raw = metric.function(y, y * 1.2)
    assert metric.from_loss(metric.to_loss(raw)) == pytest.approx(raw)


def test_unknown_metric_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'rmse'"):
        metric_of("rsme")


@pytest.mark.parametrize(
    ("name", "y", "used"),
    [
        ("log_mae", [-1.0, 0.0, -2.0], "rmse"),
        ("log_mae", [-1.0, 2.0], "log_mae"),
        ("mape", [0.0, 0.0], "rmse"),
        ("mape", [0.0, 1.0], "mape"),
        ("r2", [3.0, 3.0, 3.0], "rmse"),
        ("r2", [3.0, 4.0], "r2"),
        ("smape", [0.0, 0.0], "smape"),
    ],
)
def test_a_metric_that_says_nothing_about_the_target_is_replaced(name: str, y: list[float], used: str) -> None:
    found, reason = usable_metric(name, np.array(y))
    assert found == used
    assert (reason is None) == (found == name)
    assert reason is None or (name in reason and "rmse" in reason)
