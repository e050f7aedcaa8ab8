"""The exponential factor of a target is found before the rest of it is known, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evolve.seeding.build import Builder
from evolve.seeding.envelope import Envelope, envelopes
from evolve.seeding.images import plain
from evolve.seeding.problem import Problem
from evolve.seeding.work import Meter
from fitness.constants import predict_one
from operators.primitives import ALL_NAMES
from operators.program import variable

Law = Callable[[np.ndarray], np.ndarray]


def found(law: Law, k: int, low: float = -2.0, high: float = 2.0) -> tuple[Problem, list[Envelope]]:
    X = np.random.default_rng(3).uniform(low, high, (k, 320))
    y = law(X)
    problem = Problem(tuple(variable(i) for i in range(k)), X, plain(y, np.ones(len(y))))
    return problem, list(envelopes(problem, Builder(ALL_NAMES), Meter()))


@pytest.mark.parametrize(
    ("law", "k", "factor"),
    [
        (
            lambda x: (x[0] ** 3 - x[1] + 2.0) * np.exp(-(x[0] ** 2) - x[1] ** 2),
            2,
            lambda x: np.exp(-(x[0] ** 2) - x[1] ** 2),
        ),
        (lambda x: np.sin(x[0]) * np.exp(-1.5 * x[0] ** 2), 1, lambda x: np.exp(-1.5 * x[0] ** 2)),
        (lambda x: (x[0] ** 2 + x[1]) * np.exp(2.5 * x[0] + 1.5 * x[1]), 2, lambda x: np.exp(2.5 * x[0] + 1.5 * x[1])),
    ],
    ids=["hermite", "packet", "growth"],
)
def test_simple_rates_are_found_and_come_first(law: Law, k: int, factor: Law) -> None:
    problem, envelopes = found(law, k)
    assert np.allclose(envelopes[0].values(problem.values), factor(problem.values), rtol=1e-12)


def test_the_written_factor_has_the_values_of_the_envelope() -> None:
    problem, envelopes = found(lambda x: (1.0 + x[0] * x[1]) * np.exp(-1.31 * x[0] ** 2 - 0.77 * x[1] ** 2), 2)
    for envelope in envelopes:
        program = envelope.write(problem.leaves, Builder(ALL_NAMES))
        assert np.allclose(predict_one(program, problem.values), envelope.values(problem.values), rtol=1e-12)


@pytest.mark.parametrize(
    "law",
    [lambda x: x[0] ** 2 + 3.0 * x[1], lambda x: np.random.default_rng(0).normal(size=x.shape[1])],
    ids=["polynomial", "noise"],
)
def test_nothing_is_proposed_where_a_polynomial_does_as_well(law: Law) -> None:
    assert not found(law, 2)[1]
