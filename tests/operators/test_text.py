"""Text and programs: there and back is the identity, and text means what Python means by it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_strategies import evaluate, programs

from operators.errors import InputError
from operators.primitives import ALL_NAMES, BY_NAME, CONST
from operators.program import FIXED, FREE, Program, apply, constant, variable
from operators.text import parse, render

NAMES = ("x", "y", "z")
LOCAL_NAMES = ("p0", "p1")


@settings(max_examples=500)
@given(programs(n_locals=2))
def test_program_to_text_to_program_is_the_identity(program: Program) -> None:
    text = render(program, NAMES, LOCAL_NAMES)
    assert parse(text, NAMES, LOCAL_NAMES) == program, text


@given(programs(n_locals=2))
def test_text_is_stable(program: Program) -> None:
    text = render(program, NAMES, LOCAL_NAMES)
    assert render(parse(text, NAMES, LOCAL_NAMES), NAMES, LOCAL_NAMES) == text


@given(st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0))  # a structural -0 is written 0
def test_numbers_of_any_size_survive(value: float) -> None:
    for role in (FREE, FIXED):
        for program in (constant(value, role), apply("pow", variable(0), constant(value, role))):
            assert parse(render(program, NAMES), NAMES) == program


def _of_floats(name: str) -> Callable[..., Any]:
    """A primitive as Python would call it: numpy alone refuses whole numbers to negative powers."""
    return lambda *operands: BY_NAME[name].function(*(np.asarray(o, dtype=float) for o in operands))


_PYTHON = {name: _of_floats(name) for name in ALL_NAMES} | {"pi": math.pi, "fixed": float}


@settings(max_examples=300, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_text_means_in_python_what_the_program_computes(program: Program, seed: int) -> None:
    X = np.random.default_rng(seed).uniform(0.2, 2.0, (3, 5))
    names = dict(zip(NAMES, X, strict=True))
    expected = evaluate(program, X)
    if not np.all(np.isfinite(expected)):
        return
    with np.errstate(all="ignore"):
        try:
            value = eval(render(program, NAMES), {"__builtins__": {}}, {**_PYTHON, **names})
        except (ZeroDivisionError, OverflowError, TypeError):
            return  # plain numbers of Python raise, or turn complex, where numpy's are infinite or NaN
    if isinstance(value, complex):
        return
    moved = [evaluate(program.with_values(program.value * (1 + e)), X * (1 + e)) for e in (1e-13, -1e-13)]
    tolerance = 1e-9 * np.abs(expected) + 20 * sum(np.abs(m - expected) for m in moved)  # x**3 rounds unlike x*x*x
    assert not np.any(np.abs(value - expected) > tolerance)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("x ** 2", "x**2"), ("x**3.0", "x**3.0"), ("-x**2", "-x**2"), ("(-x)**2", "(-x)**2"), ("1/x", "1/x"),
        ("-(2)", "-2"), ("2/4*x", "1/2*x"), ("x - (y - z)", "x - (y - z)"), ("x/(y*z)", "x/(y*z)"), ("+x", "x"),
        ("2**x", "2**x"), ("x**y**z", "x**y**z"), ("(x**y)**z", "(x**y)**z"), ("pi*x", "pi*x"), ("1e-300*x", "1e-300*x"),
        ("max(x, min(y, 2.5))", "max(x, min(y, 2.5))"),
    ],
)  # fmt: skip
def test_canonical_spelling(text: str, canonical: str) -> None:
    assert render(parse(text, NAMES), NAMES) == canonical


def test_literals_say_their_role() -> None:
    program = parse("2*x + 2.0*y + 1/3", NAMES)
    numbers = [
        (float(v), int(a)) for c, a, v in zip(program.code, program.arg, program.value, strict=True) if c == CONST
    ]
    assert numbers == [(2.0, FIXED), (2.0, FREE), (1 / 3, FIXED)]
    assert parse("pi", NAMES) == constant(math.pi, FIXED)


@pytest.mark.parametrize(
    "text",
    [
        "", "x +", "import os", "x; y", "__import__('os')", "x.real", "x[0]", "lambda: 1", "x if y else z", "[x]",
        "exec(x)", "x == y", "x and y", "'a'", "1j", "True", "None", "sin(x, y)", "max(x)", "sin()", "sin(x=1)",
        "w + 1", "sine(x)", "x // y", "x % y", "x @ y", "~x", "not x", "f'{x}'", "(x := 1)", "x\ny", "1" + "0" * 400,
    ],
)  # fmt: skip
def test_what_is_not_an_expression_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse(text, NAMES)


def test_errors_name_the_nearest() -> None:
    with pytest.raises(InputError, match="sinh"):
        parse("sinhh(x)", NAMES)
    with pytest.raises(InputError, match="'temperature'"):
        parse("temperatur + 1", ("temperature", "pressure"))


def test_columns_may_be_called_like_functions_of_python() -> None:
    names = ("exec", "lambda_", "sin")
    assert parse("exec + sin(sin)", names) == apply("add", variable(0), apply("sin", variable(2)))


def test_deep_text_is_refused_or_read_not_a_crash() -> None:
    shallow = "sin(" * 40 + "x" + ")" * 40
    assert parse(shallow, NAMES).depth == 41
    for text in ("(" * 5000 + "x" + ")" * 5000, "-" * 100000 + "x", "+".join(["x"] * 100000)):
        with pytest.raises(InputError):
            parse(text, NAMES)
