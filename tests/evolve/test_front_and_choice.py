"""The front, survival, folds and the choice of a law."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from deap import tools

from evolve.candidate import Candidate, Front
from evolve.choose import Judged, choose, judge
from evolve.description import Description
from evolve.digits import quantum
from evolve.exact import Rounding, exact_loss
from evolve.islands import _distinct, _survivors
from evolve.simple_numbers import simple_values
from fitness.constants import fit, predict_one
from fitness.data import Dataset
from fitness.evaluator import InProcessEvaluator
from fitness.folds import make_folds
from fitness.metrics import BAD_LOSS, METRICS
from fitness.row_errors import row_errors
from fitness.sample import stratified_sample
from fitness.score import Scored
from operators.grammar import Grammar
from operators.primitives import ALL_NAMES
from operators.program import Program, ProgramBatch, constant
from operators.text import parse


def law(text: str) -> Program:
    return parse(text, ["x", "z"])


def candidate(text: str, loss: float, complexity: int, signature: int = 0) -> Candidate:
    return Candidate(law(text), loss, complexity, signature or hash(text) % 10**6)


def test_front_keeps_the_best_few_of_each_complexity() -> None:
    front = Front(depth=2)
    front.update([candidate("x", 3.0, 2), candidate("z", 2.0, 2), candidate("x + z", 1.0, 4), candidate("x*z", 2.5, 2)])
    assert [(c.complexity, c.loss) for c in front.items] == [(2, 2.0), (2, 2.5), (4, 1.0)]
    assert [c.loss for c in front.pareto()] == [2.0, 1.0]


def test_front_takes_equal_values_once_and_tells_what_improved() -> None:
    front = Front()
    first = front.update([candidate("x", 3.0, 2, 7)])
    again = front.update([candidate("x*1.0", 3.0, 2, 7), candidate("z", 4.0, 2, 8)])
    better = front.update([candidate("x + z", 1.0, 4, 9)])
    assert [len(first), len(again), len(better)] == [1, 0, 1]
    assert len(front.items) == 3


def test_a_law_of_fewer_constants_is_kept_beside_one_that_fits_better() -> None:
    """Equal C: the power law with its exponent fitted is always a little better than the one with a square."""
    front = Front(depth=1)
    front.update([candidate("1.5*(z*x**1.94)", 6.30, 6, 1), candidate("1.5*(z*x**2)", 6.40, 6, 2)])
    assert [c.parameters for c in front.items] == [1, 2]
    assert [c.loss for c in front.pareto()] == [6.30]
    assert front.update([candidate("1.5*(x*z**2)", 6.35, 6, 3)])  # no law of at most one constant was as good
    assert [c.loss for c in front.items] == [6.35, 6.30]


def test_one_form_is_kept_once_however_well_its_constants_are_fitted() -> None:
    front = Front()
    front.update(
        [candidate("2.1*x + 1.0", 3.0, 4, 1), candidate("2.0*x + 1.1", 2.0, 4, 2), candidate("2.2*x + 1.0", 4.0, 4, 3)]
    )
    assert [c.loss for c in front.items] == [2.0]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_programs_with_bad_rows_never_win(order: tuple[int, ...]) -> None:
    """log(x), x**0.5 and 1/(x - x) on rows of both signs against a good law, in every order (SR-21)."""
    x = np.linspace(-3.0, 3.0, 25)
    data = Dataset.of(np.array([x, x]), x**2 + 1.0, ("x", "z"))
    texts = ["log(x)", "sqrt(x)", "1/(x - x)", "square(x) + 1.0"]
    programs = [law(texts[k]) for k in order]
    scored = InProcessEvaluator(data, "rmse").evaluate(ProgramBatch.of(programs), 5)
    mean_loss = float(np.std(data.y))
    for program, loss in zip(programs, scored.loss, strict=True):
        assert loss == BAD_LOSS if program != law(texts[3]) else loss < 1e-9 < mean_loss
    assert len(_distinct(scored)) == 1
    front = Front()
    front.update(
        Candidate(p, float(s), int(c), int(k))
        for p, s, c, k in zip(programs, scored.loss, scored.complexity, scored.signature, strict=True)
    )
    assert front.pareto()[-1].program.shape_key == law(texts[3]).shape_key
    best = tools.selBest([Candidate(p, float(s), 1) for p, s in zip(programs, scored.loss, strict=True)], 1)
    assert best[0].program.shape_key == law(texts[3]).shape_key


def test_runaway_constants_are_bad() -> None:
    """1e14*(x - x*x/x) amplifies rounding errors; it is no law."""
    x = np.linspace(1.0, 2.0, 30)
    data = Dataset.of(np.array([x, x]), x, ("x", "z"))
    program = law("1e15*x + 1.0")
    assert InProcessEvaluator(data, "rmse").evaluate(ProgramBatch.of([program]), 0).loss[0] == BAD_LOSS


def test_survivors_are_the_least_dominated() -> None:
    scored = Scored(
        ProgramBatch.of([law("x")] * 5),
        np.array([1.0, 2.0, 3.0, 1.5, 9.0]),
        np.array([9, 5, 1, 9, 9]),
        np.arange(5, dtype=np.uint64),
    )
    assert _survivors(scored, np.zeros(5, dtype=np.int64), 3).tolist() == [0, 1, 2]
    young = np.array([5, 5, 5, 5, 0])
    assert 4 in _survivors(scored, young, 4)  # the worst of all, but nobody else is as young


def test_folds_cover_every_row_once_and_hold_out_the_ends_that_extrapolate() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 50)
    data = Dataset.of(np.array([x, x]), x, ("x", "z"))
    folds = make_folds(rng, data, 5, ((0.0, 20.0), (float(x.min()), float(x.max()))))
    random = [f for f in folds if f.kind == "random"]
    ends = [f for f in folds if f.kind == "ends"]
    assert sorted(np.concatenate([f.judge for f in random]).tolist()) == list(range(50))
    assert all(set(f.fit).isdisjoint(f.judge) for f in folds)
    assert [len(f.judge) for f in ends] == [10]
    assert x[ends[0].judge].min() >= x[ends[0].fit].max()


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 13])
def test_few_rows_leave_one_out(rows: int) -> None:
    data = Dataset.of(np.arange(rows, dtype=float)[None], np.arange(rows, dtype=float), ("x",))
    folds = make_folds(np.random.default_rng(0), data, 5, ((-100.0, 100.0),))
    assert len([f for f in folds if f.kind == "random"]) == (0 if rows == 1 else rows if rows <= 12 else 5)


def _judged(texts: list[str], data: Dataset, metric: str = "rmse") -> list[Judged]:
    fitted = fit(ProgramBatch.of([law(t) for t in texts]), data, metric, 30)
    programs = [law(t).with_values(fitted.value[k, : len(law(t))]) for k, t in enumerate(texts)]
    candidates = [Candidate(p, fitted.loss[k], 2 * len(p)) for k, p in enumerate(programs)]
    return judge(candidates, data, make_folds(np.random.default_rng(1), data, 5), metric)


def described(judged: list[Judged], metric: str) -> Description:
    return Description(Grammar(2, ALL_NAMES), metric, len(judged[0].errors), 8)


def test_a_noisy_line_is_a_line() -> None:
    rng = np.random.default_rng(5)
    x = np.linspace(0.0, 4.0, 40)
    data = Dataset.of(np.array([x, x]), 2.0 * x + 1.0 + 0.1 * rng.standard_normal(40), ("x", "z"))
    judged = _judged(["1.0", "1.0*x + 1.0", "1.0*x + 1.0 + 0.1*square(x)", "1.0*x + 1.0 + 0.1*sin(5.0*x)"], data)
    assert choose(judged, described(judged, "rmse"), 1e-12, 1.0) is judged[1]


def test_a_real_term_is_kept() -> None:
    rng = np.random.default_rng(6)
    x = np.linspace(0.0, 4.0, 200)
    data = Dataset.of(np.array([x, x]), 2.0 * x + 0.5 * x**2 + 0.1 * rng.standard_normal(200), ("x", "z"))
    judged = _judged(["1.0*x", "1.0*x + 1.0*square(x)", "1.0*x + 1.0*square(x) + 0.1*cos(x)"], data)
    assert choose(judged, described(judged, "rmse"), 1e-12, 1.0) is judged[1]


@pytest.mark.parametrize("metric", ["rmse", "log_mae"])
@pytest.mark.parametrize("far", [30.0, 1e8, 1e99])
def test_a_short_law_that_fails_on_one_held_out_row_is_not_as_good(metric: str, far: float) -> None:
    """The mean of differences of which one is huge is about one standard error, whatever its size."""
    errors = np.full(14, 0.1)
    once = errors.copy()
    once[3] = far
    good = Judged(candidate("x + 2.5*sin(z)", 0.1, 9), 0.1, errors)
    pole = Judged(candidate("log(x)", 0.1, 1), float(np.mean(once)), once)
    assert choose([pole, good], described([good], metric), 1e-12, 1.0) is good


def test_the_description_counts_error_and_program() -> None:
    short, long = law("x"), law("x + z*sin(x)")
    rmse, r2 = (Description(Grammar(2, ALL_NAMES), m, 100) for m in ("rmse", "r2"))
    assert rmse.of(long, 0.1) < rmse.of(short, 1.0) < rmse.of(long, 1.0)
    assert rmse.of(short, 0.25) - rmse.of(short, 0.5) == pytest.approx(2.0 * (r2.of(short, 0.25) - r2.of(short, 0.5)))
    capped = Description(Grammar(2, ALL_NAMES), "rmse", 100, cap=1)
    assert capped.law(law("1.0*x + 1.0")) > rmse.law(law("1.0*x + 1.0"))
    assert capped.law(law("1.0*x")) == rmse.law(law("1.0*x"))


def test_below_the_noise_nothing_is_gained() -> None:
    description = Description(Grammar(2, ALL_NAMES), "rmse", 100, noise=0.1)
    assert description.errors(0.05) == description.errors(0.1) < description.errors(0.11)


def test_rounding_and_exactness() -> None:
    x = np.linspace(0.0, 1.0, 50)
    y = np.round(np.sin(x), 10)
    assert quantum(y) == 1e-10
    assert quantum(np.sin(x)) == 0.0
    data = Dataset.of(np.array([x, x]), y, ("x", "z"))
    loss = float(fit(ProgramBatch.of([law("sin(x)")]), data, "mse", 0).loss[0])
    assert loss <= exact_loss(y, "mse") < 1e-15
    assert exact_loss(np.array([1.0, 2.0, 3.0, 5.0]), "mse") < 1e-15  # integers measured are not integers rounded


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "mdae"])
def test_a_steep_law_is_exact_to_the_digits_of_its_inputs(metric: str) -> None:
    """Ten decimals of x leave an error in sin(40*x**2) that is far above ten decimals of y."""
    x = np.random.default_rng(0).uniform(0.5, 3.0, 300)
    y = np.round(np.sin(40.0 * x * x), 10)
    data = Dataset.of(np.round(x, 10)[None], y, ("x",))
    rounding = Rounding(data, metric)
    true, near = law("sin(40.0*x**2)"), law("sin(40.000001*x**2)")
    loss, other = (METRICS[metric].loss(y, predict_one(p, data.X)) for p in (true, near))
    assert loss > exact_loss(y, metric)
    assert rounding.explains(true, loss)
    assert not rounding.explains(near, other)
    assert not Rounding(Dataset.of(x[None], y, ("x",)), metric).explains(near, other)  # x has all its digits


@pytest.mark.parametrize(
    ("value", "reach", "first"),
    [
        (1.9999999, 1e-6, 2.0),
        (0.3333333, 1e-6, 1 / 3),
        (3.1415926, 1e-6, np.pi),
        (9.8066, 0.01, 9.8),
        (-1.5, 1e-9, -1.5),
    ],
)
def test_simple_numbers(value: float, reach: float, first: float) -> None:
    assert simple_values(value, reach)[0][1] == pytest.approx(first, abs=1e-12)


def test_priors_are_simple_numbers_too() -> None:
    assert simple_values(280.3, 1.0, priors=(280.0,))[0][1] == 280.0
    assert simple_values(1.2345678, 1e-9) == []


def test_the_sample_keeps_the_extremes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 5000))
    data = Dataset.of(X, X.sum(axis=0), ("a", "b", "c"))
    sample = stratified_sample(rng, data, 400)
    assert 400 <= sample.n_rows <= 406
    assert np.array_equal(sample.X.max(axis=1), X.max(axis=1))
    assert abs(np.median(sample.y) - np.median(data.y)) < 0.05


@pytest.mark.parametrize("metric", ["rmse", "mse", "mae", "mdae", "smape", "mape", "log_mae", "r2"])
def test_row_errors_are_finite_and_order_laws_as_the_metric_does(metric: str) -> None:
    y = np.array([1.0, 2.0, 4.0, 0.0])
    good, worse, bad = y + 0.01, y + 1.0, np.array([np.nan, 1.0, np.inf, -np.inf])
    errors = row_errors(metric, y, np.array([good, worse, bad]))
    assert errors.shape == (3, 4)
    assert np.isfinite(errors).all()
    means = errors.mean(axis=1)
    assert means[0] < means[1] < means[2]


def test_constants_make_a_law() -> None:
    """A constant target, and one row."""
    for rows in (1, 6):
        data = Dataset.of(np.ones((1, rows)), np.full(rows, 5.0), ("x",))
        judged = judge([Candidate(constant(5.0), 0.0, 0)], data, make_folds(np.random.default_rng(0), data), "rmse")
        assert judged[0].cv_loss == pytest.approx(0.0, abs=1e-12)


def test_each_row_counts_once_however_many_folds_hold_it_out() -> None:
    """The held-out loss is the mean of the rows' errors, those at an end that two folds hold out included."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, 40)
    data = Dataset.of(x[None], 2.0 * x + rng.normal(size=40), ("x",))
    folds = make_folds(rng, data, 5, [(0.0, 2.0)])
    judged = judge([candidate("3.0*x", 1.0, 2), candidate("x + 1.5", 1.0, 2)], data, folds, "mse")
    assert len(folds) == 6
    assert all(j.errors.shape == (40,) for j in judged)
    assert [float(np.mean(j.errors)) for j in judged] == pytest.approx([j.cv_loss for j in judged])
