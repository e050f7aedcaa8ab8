"""Sums of three functions with constants inside are found, also where the functions overlap and look like one."""

from __future__ import annotations

import numpy as np
import pytest

from evolve.seeding import scan
from evolve.seeding.attack import Attack, Context
from evolve.seeding.build import Builder
from evolve.seeding.images import plain
from evolve.seeding.judge import Judge
from evolve.seeding.problem import Problem
from evolve.seeding.work import Meter
from fitness.data import Dataset
from operators.grammar import Grammar
from operators.primitives import ALL_NAMES, CONST
from operators.program import FIXED, variable

NOISE = 0.01
GRAMMAR = Grammar(1, ALL_NAMES, max_length=40, max_constants=12)


def best_error(y: np.ndarray, x: np.ndarray) -> float:
    """Smallest error of what is proposed, by the spread of y."""
    data, meter = Dataset.of(x[None], y, ("x",)), Meter()
    context = Context(data.X, Builder(GRAMMAR.primitives), GRAMMAR, Judge(data, GRAMMAR, meter), meter)
    attack = Attack(Problem((variable(0),), data.X, plain(y, np.ones(len(y)))), context)
    return min((p.error for batch in attack.mixtures() for p in batch), default=np.inf)


def bell(x: np.ndarray, centre: float, width: float) -> np.ndarray:
    return np.exp(-(((x - centre) / width) ** 2))


@pytest.mark.parametrize(
    "law",
    [
        lambda x: 9.0 * np.exp(-0.6 * x) + 10.0 * bell(x, 3.1, 0.7) + 7.0 * bell(x, 6.0, 0.5),
        lambda x: 9.0 * np.exp(-0.6 * x) + 10.0 * bell(x, 3.1, 0.7) + 7.0 * bell(x, 4.3, 0.6),
        lambda x: 3.0 * np.exp(-2.3 * x) + 4.0 * np.exp(-0.3 * x) + 2.0 / (1.0 + np.exp(4.0 * (x - 5.3))),
        lambda x: bell(x, 1.7, 0.5) + 2.0 * bell(x, 4.1, 0.9) - 1.5 * bell(x, 7.2, 0.6),
    ],
    ids=["peaks apart", "peaks that overlap", "rates and a step", "three peaks"],
)
def test_three_functions_are_found_down_to_the_noise(law) -> None:
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0.1, 9.0, 150))
    clean = law(x)
    assert best_error(clean + NOISE * np.std(clean) * rng.standard_normal(len(x)), x) < 1.2 * NOISE


def test_a_point_of_a_grid_is_refined_however_simple_it_looks() -> None:
    """On x from 0 to 8 the grid falls on whole numbers, which are no part of any law."""
    x = np.linspace(0.0, 8.0, 50)
    for column in scan.grid_columns([variable(0)], x[None], Builder(ALL_NAMES)):
        program = column.write()
        fixed = program.value[(program.code == CONST) & (program.arg == FIXED)]
        assert set(fixed.tolist()) <= {1.0}, column.label  # the 1 of 1/(1 + exp(...))
