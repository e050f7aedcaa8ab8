"""LaTeX, plain Python and sympy text of a law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from emit.errors import NotExpressible
from emit.evaluate import fold_constants, values
from emit.export_text import python, sympy
from emit.latex import latex, symbol
from operators.primitives import PRIMITIVES
from operators.program import apply, variable
from operators.text import parse

NAMES = ("a", "b", "c")


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_python_text_is_the_program(programs, sample, data):
    program = data.draw(programs(("add", "sub", "mul", "div", "sqrt", "exp", "log", "sin", "max", "neg", "abs")))
    try:
        source = python(program, NAMES, "y")
    except NotExpressible:
        reject()
    space: dict[str, Any] = {}
    exec(source, space)
    used = [sample[f] for f in program.features]
    with np.errstate(all="ignore"):
        found = np.broadcast_to(space["law"](*used), sample.shape[1])
    assert np.array_equal(found, values(fold_constants(program, keep_functions=True), sample), equal_nan=True)


def test_python_text_takes_plain_numbers():
    space: dict[str, Any] = {}
    exec(python(parse("a**(-2) + b", NAMES), NAMES), space)
    assert space["law"](2, 3) == 3.25


@pytest.mark.parametrize(
    "text", ["2.5*a - 1/3*b**2 + pi", "min(a, 2.5) + abs(b)", "asin(a/4) + tanh(b)*atan(c)", "3", "sqrt(a)*exp(-b)"]
)
def test_sympy_text_is_the_program(text, sample):
    X = np.abs(np.asarray(sample[:, :6])) + 0.01
    program = parse(text, NAMES)
    space: dict[str, Any] = {}
    exec(sympy(program, ("E", "lambda (x)", "x1"), "y"), space)
    law = sp.sympify(space["law"])
    for row, truth in zip(X.T, values(program, X), strict=True):
        headers = dict(zip(("E", "lambda (x)", "x1"), row, strict=True))
        assert float(law.subs({s: headers[s.name] for s in law.free_symbols})) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("headers", [('a"b', "'", "\\"), ("E", "I", "S"), ("α", "new\nline", "__import__('os')")])
def test_headers_are_only_strings(headers):
    space: dict[str, Any] = {}
    exec(sympy(parse("a + b*c", NAMES), headers, headers[0], headers), space)
    assert {s.name for s in space["law"].free_symbols} == set(headers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + -1.5*b", "a - 1.5 b"),
        ("a/(b + c)", r"\frac{a}{b + c}"),
        ("(a + b)**2", r"\left(a + b\right)^{2}"),
        ("a**(b + 1)", "a^{b + 1}"),
        ("sqrt(a)*abs(b)", r"\sqrt{a} \left|b\right|"),
        ("1/2*a", r"\frac{1}{2} a"),
        ("a*2.5", r"a \cdot 2.5"),
        ("1.5e-07*a", r"1.5 \cdot 10^{-7} a"),
        ("-(a + b)", r"-\left(a + b\right)"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("log(a)*max(b, c)", r"\ln\left(a\right) \max\left(b, c\right)"),
        ("(a/b)**2", r"\left(\frac{a}{b}\right)^{2}"),
        ("(-2.5)**a", r"\left(-2.5\right)^{a}"),
    ],
)
def test_latex(text, expected):
    assert latex(parse(text, NAMES), NAMES) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("x", "x"), ("x12", "x_{12}"), ("dist_km", r"\mathrm{dist\_km}"), ("α (Å)", r"\mathrm{α\ (Å)}"),
        ("100%", r"\mathrm{100\%}"), ("{a}$", r"\mathrm{\{a\}\$}"), ("a\\b", r"\mathrm{a\textbackslash{}b}"),
    ],
)  # fmt: skip
def test_headers_in_latex(header, expected):
    assert symbol(header) == expected


def test_every_primitive_has_a_latex_form_with_closed_brackets():
    for primitive in PRIMITIVES:
        program = apply(primitive.name, *[apply("add", variable(0), variable(1))] * primitive.arity)
        text = latex(program, NAMES)
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
        assert "a + b" in text


def test_height_250_in_latex():
    program = variable(0)
    for _ in range(250):
        program = apply("sin", program)
    assert latex(program, NAMES).count(r"\sin") == 250
