"""The thorough fit: each metric's own optimum, restarts, large data, the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from metric_problems import PROBLEMS, Problem

from fitness.constants import evaluate, fit, polish, predict_one
from fitness.data import Dataset
from fitness.polish import perturbed, refine
from operators.program import ProgramBatch
from operators.text import parse


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.metric)
def test_polished_constants_beat_least_squares_in_the_metric(problem: Problem) -> None:
    squares = problem.least_squares()
    polished, loss = polish(problem.start, problem.data, problem.metric)
    assert loss == pytest.approx(problem.loss(polished), rel=1e-9, abs=1e-15)
    if problem.gains:
        assert loss < 0.9 * problem.loss(squares)
    assert loss <= problem.loss(squares) * (1 + 1e-9)
    assert loss <= problem.loss(problem.law) * (1 + 1e-6) + 1e-14
    if problem.exact:
        np.testing.assert_allclose(polished.value[polished.free], problem.law.value[problem.law.free], rtol=1e-4)


def test_polish_returns_the_program_when_nothing_is_better() -> None:
    x = np.linspace(1, 4, 25)
    data = Dataset.of(x[None], 4 * x + 3, ["x"])
    law = parse("4.0*x + 3.0", ["x"])
    assert polish(law, data, "mae") == (law, 0.0)
    assert polish(parse("x", ["x"]), data, "mse")[0] == parse("x", ["x"])


def test_polishing_again_gains_nothing() -> None:
    """SR-45: nobody lowers the error of a polished law by starting from its own constants."""
    x = np.linspace(0, 6, 40)
    data = Dataset.of(x[None], 2 * np.sin(5 * x) + 0.1 * np.random.default_rng(1).standard_normal(40), ["x"])
    program, loss = polish(parse("1.0*sin(1.0*x + 0.5)", ["x"]), data, "mse")
    assert loss < 0.02
    again = fit(ProgramBatch.of([program]), data, "mse", 100, small_gain=0.0).loss[0]
    assert again > loss * (1 - 1e-9)
    for other in perturbed(program, 3):
        assert fit(ProgramBatch.of([other]), data, "mse", 100).loss[0] > loss * (1 - 1e-9)


def test_large_data_are_polished_on_a_part_and_finished_on_all() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, (1, 60_000))
    y = 2.0 * np.exp(-1.5 * X[0]) + 0.5 + 0.1 * rng.standard_normal(60_000)
    data = Dataset.of(X, y, ["x"])
    program, loss = polish(parse("1.0*exp(-1.0*x) + 1.0", ["x"]), data, "rmse")
    assert loss == pytest.approx(evaluate(ProgramBatch.of([program]), data, "rmse")[0])
    best = fit(ProgramBatch.of([program]), data, "rmse", 50, small_gain=0.0).loss[0]
    assert loss <= best * (1 + 1e-10)
    np.testing.assert_allclose(program.value[program.free], [2.0, -1.5, 0.5], atol=0.02)


def test_refine_goes_to_the_last_digit_on_an_ill_conditioned_law() -> None:
    """Normal equations square the condition number and stop at half the digits; orthogonal factors do not."""
    x = np.linspace(0.0, 1.15, 24)
    law = parse("0.0951*exp(-1.0*x) + 0.8607*exp(-3.0*x) + 1.5576*exp(-5.0*x)", ["x"])
    data = Dataset.of(x[None], predict_one(law, x[None]), ["x"])
    start = parse("1.2*exp(-0.3*x) + 5.6*exp(-5.5*x) + 6.5*exp(-7.6*x)", ["x"])
    program, _ = refine(start, data, "mse")
    found = sorted(zip(program.value[program.free][1::2], program.value[program.free][::2], strict=True))
    np.testing.assert_allclose(found, [(-5.0, 1.5576), (-3.0, 0.8607), (-1.0, 0.0951)], rtol=1e-8)
