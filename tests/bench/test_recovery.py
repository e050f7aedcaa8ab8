"""The judge of the search bench: it must know the right law in other words, and refuse what only comes close."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from problems import Formula, Problem
from recovery import judge, same_form, symbolic

from fitness.constants import fit
from fitness.data import Dataset
from operators.program import ProgramBatch
from operators.text import parse

NAMES = ("a", "b")
BOX = ((1.0, 5.0), (1.0, 5.0))


@pytest.fixture(scope="module")
def problem():
    """y = 2.5*a*exp(-b/3) with 1% noise on the training target."""
    rng = np.random.default_rng(3)
    truth = Formula("5*a*exp(-b/3)/2", NAMES)
    X, X_test = (np.array([rng.uniform(*side, 500) for side in BOX]) for _ in range(2))
    clean = truth(X)
    noisy = clean + 0.01 * np.std(clean) * rng.standard_normal(500)
    return Problem("own", "decay", Path(), (), NAMES, X, noisy, clean, X_test, truth, BOX)


def fitted(text, problem):
    """The law with its constants fitted to the noisy target."""
    law = parse(text, NAMES)
    found = fit(ProgramBatch.of([law]), Dataset.of(problem.X, problem.y, NAMES), "mse", 100)
    return law.with_values(found.value[0, : len(law)])


@pytest.mark.parametrize(
    "text", ["2.5*a*exp(-b/3)", "2.5*a/exp(0.333333333333333*b)", "a*exp(0.916290731874155 - b*0.33333333333333331)"]
)
def test_the_law_in_any_words_is_solved(problem, text):
    verdict = judge(parse(text, NAMES), problem, noise=False)
    assert verdict.solved, verdict


@pytest.mark.parametrize("text", ["2.5001*a*exp(-b/3)", "2.5*a*exp(-b/3) + 0.0001*a", "2.5*a*exp(-0.33334*b)"])
def test_a_law_that_only_comes_close_is_not(problem, text):
    verdict = judge(parse(text, NAMES), problem, noise=False)
    assert verdict.r2 > 0.999999
    assert not verdict.solved
    assert verdict.why


def test_sympy_alone_proves_equality_and_denies_it(problem):
    assert symbolic(parse("2.5*a/exp(b/3)", NAMES), problem.truth)
    assert not symbolic(parse("2.5*a/exp(b/4)", NAMES), problem.truth)


def test_under_noise_the_right_form_with_fitted_constants_is_solved(problem):
    assert judge(fitted("2.0*a*exp(-0.3*b)", problem), problem, noise=True).solved


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2.0*a*exp(-0.3*b) + 0.1", "a term that is not in the formula"),
        ("2.0*a*exp(-0.3*b) + 0.1*b", "a term that is not in the formula"),
        ("2.0*a*exp(-0.3*b - 0.01*b*b)", "a term that is not in the formula"),
    ],
)
def test_under_noise_a_term_too_many_is_refused(problem, text, why):
    law = fitted(text, problem)
    verdict = judge(law, problem, noise=True)
    assert verdict.r2 > 0.999999
    assert not verdict.solved
    assert verdict.why == why


def test_under_noise_constants_far_from_the_truth_are_refused(problem):
    assert "standard errors off" in same_form(parse("2.51*a*exp(-0.333*b)", NAMES), problem)


def test_under_noise_another_form_is_refused(problem):
    verdict = judge(fitted("2.0*a*exp(-0.3*b)*(1 + 0.001*a)**2", problem), problem, noise=True)
    assert not verdict.solved
