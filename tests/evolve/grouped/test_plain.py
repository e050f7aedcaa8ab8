"""Functions of locals alone become locals, with the same curves; what carries information stays."""

from __future__ import annotations

import numpy as np
import pytest

from emit.evaluate import values
from evolve.grouped.plain import plain
from operators.program import LOCAL
from operators.text import parse, render


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("x*log(a)/(b + x)", "x*p0/(p1 + x)"),
        ("a*a**2/(1/x + b)", "p0/(1/x + p1)"),
        ("c/(exp(a)/x + exp(a))", "p2/(p0/x + p0)"),
        ("(a*b)*x + c", "p0*x + p2"),
        ("2.5*a*x", "p0*x"),
        ("sqrt(a + b)*x + exp(a + b)", "sqrt(p0)*x + exp(p0)"),
    ],
)
def test_a_function_of_locals_that_stand_nowhere_else_is_one_local(text, right):
    law = parse(text, ("x",), "abc")
    law = law.with_values(np.where(law.arg >= LOCAL, 1.7, law.value))
    found = plain(law)
    assert found.shape_key == parse(right, ("x",), ("p0", "p1", "p2")).shape_key, render(found, ("x",))
    X = np.linspace(0.5, 9.0, 12)[None]
    np.testing.assert_allclose(values(found, X), values(law, X), rtol=1e-12)


@pytest.mark.parametrize("text", ["a*x + exp(a)", "a*x**b", "exp(a*x)", "(a*b)*x + b", "a", "log(a)*x + a*b"])
def test_what_carries_information_stays(text):
    law = parse(text, ("x",), "ab")
    assert plain(law) == law


def test_a_function_that_is_not_finite_at_its_starts_is_left_alone():
    law = parse("log(a)*x", ("x",), ("a",))
    law = law.with_values(np.where(law.arg >= LOCAL, -1.0, law.value))
    assert plain(law) == law
