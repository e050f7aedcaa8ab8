"""A harness's metrics and ours: equal, or the harness is right and the difference is told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fitness.metrics import METRICS, metrics
from harness_adapter.registry import find_harness, metric_registry, probes
from operators.errors import InputError

# A registry as another author would write it; {sabotage} may spoil it.
HARNESS = """
import numpy as np
import neighbour
def rel(t, p):
    k = t != 0
    return np.abs((p[k] - t[k]) / t[k]).mean() if k.any() else None
def sym(t, p):
    d = np.abs(t) + np.abs(p)
    return (2 * np.abs(t - p)[d > 0] / d[d > 0]).mean() if (d > 0).any() else None
def logs(t, p):
    k = t > 0
    return np.abs(np.log10(t[k]) - np.log10(np.clip(p[k], 1e-300, None))).mean() if k.any() else None
def det(t, p):
    s = ((t - t.mean()) ** 2).sum()
    return 1 - ((t - p) ** 2).sum() / s if s > 0 else None
F = {"rmse": lambda t, p: ((t - p) ** 2).mean() ** 0.5, "mae": lambda t, p: np.abs(t - p).mean(),
     "mse": lambda t, p: ((t - p) ** 2).mean(), "mdae": lambda t, p: np.median(np.abs(t - p)),
     "smape": sym, "mape": rel, "log_mae": logs, "r2": det}
METRICS = {n: {"fn": f, "direction": "lower", "perfect": 0.0} for n, f in F.items()}
METRICS["r2"].update(direction="higher", perfect=1.0)
def metrics(y_true, y_pred):
    m = np.isfinite(y_true) & np.isfinite(y_pred)
    t, p = y_true[m], y_pred[m]
    return {n: s["fn"](t, p) if m.any() else None for n, s in METRICS.items()} | {"n_finite": len(t)}
"""


@pytest.fixture
def harness(tmp_path: Path) -> Callable[[str], Path]:
    """harness(more): a folder whose eval_formula.py ends with `more`."""

    def build(more: str = "") -> Path:
        folder = tmp_path / "bench" / "harness"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "eval_formula.py").write_text(HARNESS + more)
        (folder / "neighbour.py").write_text("import decimal\n")
        return folder

    return build


def test_an_equal_registry_gives_no_warning(harness: Callable[[str], Path]) -> None:
    registry = metric_registry(harness(""))
    assert registry.warnings == ()
    assert registry("rmse", [1.0, 2.0, np.nan], [1.0, 4.0, 3.0]) == pytest.approx(2.0**0.5)
    assert registry("r2", [1.0, 1.0], [1.0, 2.0]) is None


def test_the_real_registry_agrees_with_ours(shared_dir: Path) -> None:
    registry = metric_registry(shared_dir / "bench" / "harness")
    assert registry.warnings == ()
    rng = np.random.default_rng(3)
    for scale in (1e-8, 1.0, 1e12):
        truth = scale * rng.standard_normal(50)
        prediction = truth * rng.normal(1.0, 0.3, 50)
        for name in METRICS:
            assert registry(name, truth, prediction) == pytest.approx(metrics(truth, prediction)[name], rel=1e-12)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('F["smape"] = METRICS["smape"]["fn"] = lambda t, p: 100 * (sym(t, p) or 0)', "metric smape on 1 random rows"),
        ('METRICS["log_mae"]["fn"] = lambda t, p: logs(t, np.maximum(p, 1e-9))', "metric log_mae on"),
        ('METRICS["r2"]["fn"] = lambda t, p: det(t, p) or 0.0', "metric r2 on"),
        ('METRICS["mdae"]["direction"] = "higher"', "metric mdae: direction is 'higher' in the harness"),
        ('METRICS["r2"]["perfect"] = 100.0', "metric r2: perfect is 100.0"),
        ('del METRICS["mape"]', "does not know the metric mape"),
    ],
)
def test_a_difference_is_told_and_the_harness_is_used(harness: Callable[[str], Path], more: str, words: str) -> None:
    registry = metric_registry(harness(more))
    assert len(registry.warnings) == 1
    assert words in registry.warnings[0]
    if "smape" in more:
        assert registry("smape", [1.0], [3.0]) == pytest.approx(100.0)


def test_a_registry_that_fails_on_some_data_is_told(harness: Callable[[str], Path]) -> None:
    registry = metric_registry(harness('METRICS["r2"]["fn"] = lambda t, p: 1 / 0'))
    assert len(registry.warnings) == len(METRICS)  # it computes all or none
    assert all("None in the harness" in warning for warning in registry.warnings)
    assert registry("mae", [1.0], [3.0]) is None


def test_awkward_data_are_among_the_probes() -> None:
    found = {what: (t, p) for what, t, p in probes()}
    assert any(np.all(t == 0) for t, _ in found.values())
    assert any(len(t) > 1 and np.all(t == t[0]) and t[0] != 0 for t, _ in found.values())
    assert any(not np.isfinite(p).all() for _, p in found.values())
    assert any(not np.isfinite(p).any() for _, p in found.values())
    assert any((p < 0).any() and (t > 0).all() for t, p in found.values())


def test_loading_leaves_nothing_behind(harness: Callable[[str], Path]) -> None:
    folder = harness("import sys\nsys.path.insert(0, '/elsewhere')\n")
    paths, modules = list(sys.path), set(sys.modules)
    registry = metric_registry(folder)
    assert registry("mae", [1.0], [3.0]) == 2.0
    assert sys.path == paths
    assert not [name for name in set(sys.modules) - modules if "neighbour" in name or "eval_formula" in name]
    assert {path.name for path in folder.iterdir()} == {"eval_formula.py", "neighbour.py"}  # and no bytecode


@pytest.mark.parametrize(
    "text", ["raise RuntimeError('no')", "import sys; sys.exit(1)", "x = (", "METRICS = {}", "METRICS = 3"]
)
def test_a_harness_that_will_not_load(harness: Callable[[str], Path], text: str) -> None:
    folder = harness("")
    (folder / "eval_formula.py").write_text(text)
    with pytest.raises(InputError, match=r"eval_formula\.py"):
        metric_registry(folder)


def test_without_a_harness_our_table_is_used() -> None:
    registry = metric_registry(None)
    assert (registry.origin, registry.warnings) == (None, ())
    assert registry("mae", [1.0, np.inf], [3.0, 1.0]) == 2.0


def test_finding_a_harness(harness: Callable[[str], Path], tmp_path: Path) -> None:
    folder = harness("")
    task = tmp_path / "bench" / "tasks" / "typeI" / "some_task"
    assert find_harness(task) == folder.resolve()
    assert find_harness(None, folder) == find_harness(None, folder.parent) == folder.resolve()
    assert find_harness(tmp_path / "other" / "task") is None
    assert find_harness(None) is None
    with pytest.raises(InputError, match="is no harness"):
        find_harness(task, tmp_path)
