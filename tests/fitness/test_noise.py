"""The noise that replicates tell of: never above what the truth leaves, and not far below it."""

from __future__ import annotations

import numpy as np
import pytest

from fitness.data import Dataset
from fitness.metrics import METRICS
from fitness.noise import noise_loss


def replicated(seed: int, sets: int, each: int, noise: float, alone: int = 0) -> tuple[Dataset, np.ndarray]:
    """Rows of a positive law of two inputs with relative noise, `each` to a point and some alone; and the law's values."""
    rng = np.random.default_rng(seed)
    X = np.concatenate(
        [np.repeat(rng.uniform(1.0, 4.0, (2, sets)), each, axis=1), rng.uniform(1.0, 4.0, (2, alone))], axis=1
    )
    truth = 3.0 * X[0] ** 2 + 5.0 * X[1]
    order = rng.permutation(X.shape[1])
    y = truth * (1.0 + noise * rng.standard_normal(len(truth)))
    return Dataset.of(X[:, order], y[order], ("a", "b")), truth[order]


@pytest.mark.parametrize("metric", [m for m in METRICS if m != "mdae"])
@pytest.mark.parametrize(("sets", "each"), [(200, 2), (60, 5)])
def test_the_noise_is_what_the_truth_leaves(metric: str, sets: int, each: int) -> None:
    for seed in range(5):
        data, truth = replicated(seed, sets, each, 0.02)
        floor, left = noise_loss(data, metric), METRICS[metric].loss(data.y, truth)
        assert 0.6 * left < floor < 1.02 * left


@pytest.mark.parametrize(
    ("sets", "each", "alone"), [(0, 1, 100), (10, 2, 0), (30, 2, 200)], ids=["no replicates", "few", "a small share"]
)
def test_no_noise_is_claimed_where_the_rows_do_not_tell(sets: int, each: int, alone: int) -> None:
    assert noise_loss(replicated(0, sets, each, 0.02, alone)[0], "rmse") == 0.0


def test_equal_replicates_have_no_noise() -> None:
    assert noise_loss(replicated(0, 50, 3, 0.0)[0], "rmse") < 1e-12


@pytest.mark.parametrize("metric", ["mape", "log_mae"])
def test_rows_that_the_metric_skips_do_not_count(metric: str) -> None:
    data, _ = replicated(1, 100, 3, 0.02)
    skipped = Dataset.of(np.c_[data.X, data.X[:, :50]], np.r_[data.y, np.zeros(50)], data.names)
    assert noise_loss(skipped, metric) == pytest.approx(noise_loss(data, metric), rel=1e-12)
