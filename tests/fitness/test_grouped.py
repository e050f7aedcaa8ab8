"""Batched calibration against scipy's curve_fit, cluster by cluster, and the loss that the search ranks by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import curve_fit

from fitness.data import Dataset
from fitness.grouped import Calibrator, GroupedData, GroupedEvaluator, relative_errors
from fitness.metrics import BAD_LOSS, METRICS
from fitness.windows import INTERLEAVED, SORTED, Cut, cut_windows
from operators.primitives import CONST
from operators.program import LOCAL, ProgramBatch
from operators.text import parse

RNG_SEED = 7
GROUPS, ROWS = 10, 30

FORMS = {
    "michaelis": ("a*x/(b + x)", lambda x, a, b: a * x / (b + x), ((4.0, 9.0), (1.0, 5.0))),
    "line": ("a + b*x", lambda x, a, b: a + b * x, ((-3.0, 3.0), (0.5, 2.0))),
    "cooling": ("a + b*exp(-c*x)", lambda x, a, b, c: a + b * np.exp(-c * x), ((1, 3), (4, 8), (0.3, 0.8))),
    "logistic": ("a/(1 + exp(b - c*x))", lambda x, a, b, c: a / (1 + np.exp(b - c * x)), ((5, 9), (2, 4), (0.8, 1.5))),
}


def grouped(function, spans, noise=0.01, metric="rmse", cut=SORTED, groups=GROUPS):
    rng = np.random.default_rng(RNG_SEED)
    truth = np.array([[rng.uniform(*span) for span in spans] for _ in range(groups)])
    x = np.tile(np.linspace(0.2, 10.0, ROWS), groups)
    group = np.repeat(np.arange(groups), ROWS)
    y = function(x, *truth[group].T)
    y = y * (1.0 + noise * rng.normal(size=len(y)))
    data = Dataset.of(x[None], y, ("x",), group=group)
    return GroupedData.of(cut_windows(data, [Cut(cut, 0)]), metric), truth


def slots(program, values):
    """values (..., nodes) -> (..., slots)"""
    nodes = [np.flatnonzero((program.code == CONST) & (program.arg == LOCAL + s))[0] for s in program.local_slots]
    return values[..., nodes]


@pytest.mark.parametrize("name", FORMS)
def test_locals_of_whole_clusters_agree_with_curve_fit(name):
    text, function, spans = FORMS[name]
    data, truth = grouped(function, spans)
    program = parse(text, ("x",), "abc"[: len(spans)])
    found = Calibrator(data).run(ProgramBatch.of([program]), 50, keep=True)
    ours = slots(program, found.locals_[0])
    windows = data.windows
    for g in range(GROUPS):
        rows = slice(windows.start[g], windows.stop[g])
        scipy, _ = curve_fit(function, windows.data.X[0, rows], windows.data.y[rows], truth[g], xtol=1e-12, ftol=1e-12)
        np.testing.assert_allclose(ours[g], scipy, rtol=1e-4)


@pytest.mark.parametrize("name", FORMS)
def test_windows_are_fitted_and_judged_as_curve_fit_would(name):
    text, function, spans = FORMS[name]
    data, truth = grouped(function, spans, cut=INTERLEAVED)
    program = parse(text, ("x",), "abc"[: len(spans)])
    found = Calibrator(data).run(ProgramBatch.of([program]), 50, keep=True)
    windows = data.windows
    for w in range(GROUPS):
        a, b, c = windows.start[w], windows.cut[w], windows.stop[w]
        scipy, _ = curve_fit(function, windows.data.X[0, a:b], windows.data.y[a:b], truth[w], xtol=1e-12, ftol=1e-12)
        np.testing.assert_allclose(slots(program, found.fitted[0, w]), scipy, rtol=1e-4)
        loss = METRICS["rmse"].loss(windows.data.y[b:c], function(windows.data.X[0, b:c], *scipy))
        assert found.errors[0, w] == pytest.approx(loss, rel=1e-4)


def test_a_constant_is_shared_by_all_clusters():
    def law(x, a):
        return a * x**1.7

    data, _ = grouped(law, ((1.0, 5.0),), noise=0.002)
    program = parse("a*x**1.0", ("x",), ("a",))
    found = Calibrator(data).run(ProgramBatch.of([program]), 30, 20, keep=True)
    assert found.value[0, 2] == pytest.approx(1.7, abs=0.005)
    assert np.ptp(found.locals_[0][:, 2]) == 0.0


def test_constants_reach_the_joint_optimum_of_scipy():
    def law(x, a, b):
        return a * np.exp(-b * x)

    data, truth = grouped(lambda x, a: law(x, a, 0.37), ((2.0, 5.0),), noise=0.05)
    program = parse("a*exp(-0.9*x)", ("x",), ("a",))
    found = Calibrator(data).run(ProgramBatch.of([program]), 40, 40, keep=True)
    windows = data.windows
    scale = np.repeat(data.scale, ROWS)
    group = np.repeat(np.arange(GROUPS), ROWS)

    def joint(_, b, *a):
        return law(windows.data.X[0], np.array(a)[group], b) / scale

    scipy, _ = curve_fit(joint, windows.data.X[0], windows.data.y / scale, [0.4, *truth[:, 0]])
    (free,) = program.free
    assert abs(found.value[0, free]) == pytest.approx(scipy[0], rel=1e-4)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_ranks_the_true_form_first(metric):
    _, function, spans = FORMS["michaelis"]
    data, _ = grouped(function, spans, metric=metric)
    texts = ["a*x/(b + x)", "a + b*x", "a + b*log(x)", "a*sqrt(x) + b", "a*exp(b*x)"]
    found = Calibrator(data).run(ProgramBatch.of([parse(t, ("x",), ("a", "b")) for t in texts]), 30)
    assert np.argmin(found.loss) == 0
    assert np.all(np.isfinite(found.loss))


def test_the_result_does_not_depend_on_threads_or_on_company():
    text, function, spans = FORMS["cooling"]
    data, _ = grouped(function, spans)
    programs = [parse(t, ("x",), "abc") for t in (text, "a*x + b", "a/(b + x) + 0.5", "a*sin(b*x) + c", "a*x**2.0")]
    batch = ProgramBatch.of(programs * 5)
    one, two = Calibrator(data).run(batch, 10), Calibrator(data, threads=2).run(batch, 10)
    np.testing.assert_array_equal(one.loss, two.loss)
    np.testing.assert_array_equal(one.value, two.value)
    alone = Calibrator(data).run(ProgramBatch.of([programs[2]]), 10)
    assert alone.loss[0] == one.loss[2]


def test_a_law_that_fails_everywhere_is_bad_and_one_that_fails_in_one_cluster_is_only_worse():
    data, _ = grouped(*FORMS["line"][1:])
    texts = ["a*log(x - 100.0)", "a + b*x"]
    evaluator = GroupedEvaluator(data, data)
    scored = evaluator.evaluate(ProgramBatch.of([parse(t, ("x",), ("a", "b")) for t in texts]), 5)
    assert scored.loss[0] == BAD_LOSS
    assert scored.loss[1] < 1.0
    failed = np.zeros((1, GROUPS))
    failed[0, 3] = BAD_LOSS
    relative = relative_errors(failed, data)
    assert np.isfinite(relative).all()
    assert relative[0, 3] > 50.0


def test_few_rows_stay_near_the_starts():
    """Two rows cannot tell three locals; what they do not determine stays at the start, the median of the clusters."""
    text, function, spans = FORMS["cooling"]
    data, _ = grouped(function, spans, noise=0.02)
    program = parse(text, ("x",), "abc")
    fitted = Calibrator(data).run(ProgramBatch.of([program]), 40)
    ready = ProgramBatch.of([program.with_values(fitted.value[0])])
    away = []
    for pull in (0.0, 0.03, 1.0):
        found = Calibrator(data.thinned(2), pull=pull).run(ready, 40, keep=True, given=True)
        away.append(float(np.mean(np.abs(slots(program, found.fitted[0] - fitted.value[0])))))
    assert away[0] > away[1] > away[2]


def test_sampled_clusters_never_hide_a_better_law():
    _, function, spans = FORMS["michaelis"]
    full, _ = grouped(function, spans)
    evaluator = GroupedEvaluator(full, full.take(np.array([0, 4, 7])))
    texts = ["a + b*x", "a + b*log(x)", "a*x/(b + x)"]
    batch = ProgramBatch.of([parse(t, ("x",), ("a", "b")) for t in texts])
    scored = evaluator.evaluate(batch, 20)
    whole = Calibrator(full).run(batch, 20, 20)
    assert np.argmin(scored.loss) == 2
    assert scored.loss[2] == pytest.approx(whole.loss[2], rel=1e-6)


def test_only_the_promising_are_judged_on_all_clusters_and_no_other_looks_better():
    text, function, spans = FORMS["michaelis"]
    data, _ = grouped(function, spans, groups=40)
    sample = data.take(np.arange(0, 40, 4))
    evaluator = GroupedEvaluator(data, sample)
    texts = ["a*x", "a + b*x", "a*x**b", text, "a + b*log(x)", "a*exp(b*x)", "(a + b*x)/(1 + x)"]
    batch = ProgramBatch.of([parse(t, ("x",), ("a", "b")) for t in texts])
    scored = evaluator.evaluate(batch, 30)
    full = Calibrator(data).run(batch, 30, 30).loss
    best = int(np.argmin(scored.loss))
    assert texts[best] == text
    assert scored.loss[best] == pytest.approx(full[best], rel=1e-6)
    again = evaluator.evaluate(batch, 30)
    promoted = np.isclose(again.loss, full, rtol=1e-6)
    assert 0 < promoted.sum() < len(texts)
    for k in np.flatnonzero(~promoted):
        simpler = promoted & (scored.complexity <= scored.complexity[k])
        assert not simpler.any() or again.loss[k] > again.loss[simpler].min()


def test_a_batch_in_which_nothing_is_finite_is_bad_on_a_sample_too():
    data, _ = grouped(*FORMS["line"][1:], groups=40)
    evaluator = GroupedEvaluator(data, data.take(np.arange(12)))
    scored = evaluator.evaluate(ProgramBatch.of([parse("a*log(x - 100.0)", ("x",), ("a",))]), 5)
    assert scored.loss[0] == BAD_LOSS
