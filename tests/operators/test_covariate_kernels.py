"""A local parameter never scales an input that is constant within clusters."""

from __future__ import annotations

import pytest

from operators.grammar import Grammar
from operators.primitives import BY_NAME
from operators.text import parse

NAMES, LOCALS = ("x", "z"), ("a", "b")
GRAMMAR = Grammar(2, tuple(BY_NAME), max_constants=3, max_locals=2, between=(1,))

# z is constant within clusters, a and b are locals, numbers are fitted constants.
IDLE = (
    "a*z", "a*x*z", "x + a*z", "z/a", "a/z", "-a*(x*z)", "a*square(z)", "a*sqrt(z)*x", "z**a", "exp(a*z)", "a + b*z + x",
    "(a + x)*(b*z)", "a*(z*2.5)", "x**(a*z)", "sin(a)*z", "a*exp(z)", "a*(z + inv(z))",
)  # fmt: skip
USEFUL = (
    "a + 2.5*z", "(a + 2.5*z)*x", "a*z**2.5", "a*x + 2.5*z", "z + a*x", "z*(1.5 + a*x)", "a*(z + 2.5)", "a*exp(2.5*z)*x",
    "x**(a + 2.5*z)", "a*x/(b + x)", "a*exp(b*x)", "sin(a + z)", "z*exp(a*x)",
)  # fmt: skip


@pytest.mark.parametrize("text", IDLE)
def test_a_local_slope_of_a_covariate_is_not_legal(text: str) -> None:
    assert not GRAMMAR.is_legal(parse(text, NAMES, LOCALS))


@pytest.mark.parametrize("text", USEFUL)
def test_a_covariate_enters_through_shared_constants(text: str) -> None:
    assert GRAMMAR.is_legal(parse(text, NAMES, LOCALS))


@pytest.mark.parametrize("text", IDLE)
def test_an_input_that_varies_within_clusters_has_local_slopes(text: str) -> None:
    assert Grammar(2, tuple(BY_NAME), max_constants=3, max_locals=2).is_legal(parse(text, NAMES, LOCALS))
