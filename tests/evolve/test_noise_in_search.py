"""Where the rows tell the noise, the search does not grow laws below it."""

from __future__ import annotations

import numpy as np
import pytest

from evolve.candidate import Candidate
from evolve.config import SearchConfig
from evolve.description import Description
from evolve.exact import Rounding, exact_loss
from evolve.search import Search, State
from fitness.data import Dataset
from fitness.evaluator import InProcessEvaluator
from operators.grammar import Grammar
from operators.text import parse

PRIMITIVES = ("add", "sub", "mul", "div", "sin", "exp", "square")


SIGMA = 0.3


def searched(noise: float, seed: int = 0) -> tuple[Search, list[State]]:
    """A short search on a noisy line, told that the truth leaves `noise`."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 4.0, 120)
    data = Dataset.of(x[None], 2.0 * x + 1.0 + SIGMA * rng.standard_normal(len(x)), ("x",))
    grammar = Grammar(1, PRIMITIVES)
    search = Search(
        np.random.default_rng(seed), grammar, InProcessEvaluator(data, "rmse", 1), SearchConfig(population=200, islands=1), 1e-9,
        Description(grammar, "rmse", data.n_rows, noise=noise), max_evaluations=20_000,
    )  # fmt: skip
    return search, list(search.generations())


def lengths_below(search: Search, noise: float) -> set[int]:
    return {c.complexity for c in search.front.items if c.loss <= noise}


def test_of_laws_below_the_noise_only_the_shortest_are_kept() -> None:
    assert len(lengths_below(searched(1.05 * SIGMA)[0], 1.05 * SIGMA)) == 1
    assert len(lengths_below(searched(0.0)[0], 1.05 * SIGMA)) > 5


def test_losses_below_the_noise_are_told_as_they_are() -> None:
    search, _ = searched(1.05 * SIGMA)
    assert min(c.loss for c in search.front.items) < 1.0499 * SIGMA


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fitting_noise_is_no_progress(seed: int) -> None:
    """The front grows on, each law a little better and longer, but what counts as progress ends with the line."""
    search, states = searched(0.0, seed)
    assert len(search.front.pareto()) > 5
    assert sum(s.improved for s in states) < len(states) / 2
    assert not any(s.improved for s in states[-5:])


def test_once_a_law_is_exact_only_a_shorter_exact_law_is_progress() -> None:
    search, _ = searched(0.0)
    search.exact = search.front.pareto()[-1].loss  # the longest law of the front is now an exact one
    longest = search.front.pareto()[-1].complexity
    search._remember_front()

    def law(loss: float, complexity: int) -> Candidate:
        return Candidate(parse("x", ("x",)), loss, complexity)

    assert search._pays(law(search.exact, longest - 1))
    assert not search._pays(law(search.exact, longest + 2))
    assert not search._pays(law(1.01 * search.exact, 1))  # far better than any law of its length


def test_a_law_that_is_exact_but_for_the_digits_of_the_inputs_ends_the_search() -> None:
    x = np.random.default_rng(0).uniform(0.5, 3.0, 200)
    data = Dataset.of(np.round(x, 9)[None], np.round(np.sin(40.0 * x * x), 9), ("x",))
    grammar = Grammar(1, PRIMITIVES)
    config = SearchConfig(population=100, islands=1, exact_patience=2_000)

    def ended(rounding: Rounding | None) -> str | None:
        search = Search(
            np.random.default_rng(0), grammar, InProcessEvaluator(data, "mse", 1), config, exact_loss(data.y, "mse"),
            Description(grammar, "mse", data.n_rows), starts=[parse("sin(40.0*x**2)", ("x",))], rounding=rounding,
            max_evaluations=10_000,
        )  # fmt: skip
        return list(search.generations())[-1].reason

    assert str(ended(None)).startswith("evaluations")
    assert str(ended(Rounding(data, "mse"))).startswith("exact")
