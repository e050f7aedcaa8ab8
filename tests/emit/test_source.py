"""Emitted numpy text means what the program means, to the last digits, and stays readable."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from emit.errors import NotExpressible
from emit.evaluate import fold_constants, values
from emit.source import FRONTIER, LINE, SYMPY, expression, fitted_constants, statements
from operators.primitives import ALL_NAMES, BY_OPCODE, FRONTIER_NAMES
from operators.program import FIXED, FREE, LOCAL, Program, ProgramBatch, apply, constant, variable
from operators.text import parse, render

NAMES = ("a", "bb", "c_1")


def run(lines: list[str], result: str, X: np.ndarray) -> np.ndarray:
    space = {"np": np, **dict(zip(NAMES, X, strict=True))}
    with np.errstate(all="ignore"):
        exec("\n".join([*lines, f"result = {result}"]), space)
    return np.broadcast_to(np.asarray(space["result"], dtype=float), X.shape[1])


POWERS = {"cube", "square", "pow"}


def program_names(program: Program) -> set[str]:
    return {BY_OPCODE[int(code)].name for code in program.code if int(code) in BY_OPCODE}


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_text_evaluated_by_numpy_is_the_program(programs, reference, sample, data):
    program = data.draw(programs(tuple(n for n in ALL_NAMES if n not in POWERS)))
    try:
        folded = fold_constants(program, keep_functions=True)
    except NotExpressible:
        reject()
    found = run(*statements(folded, NAMES), sample)
    assert np.array_equal(found, reference(folded, sample), equal_nan=True), render(folded, NAMES)


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_text_with_powers_is_the_program_up_to_rounding(programs, reference, sample, data):
    """x*x*x and numpy's x**3 differ in the last digit: what that may do is told by moving the inputs as little."""
    program = data.draw(programs(("add", "mul", "sub", "div", "inv", "sqrt", "exp", *sorted(POWERS))))
    try:
        folded = fold_constants(program, keep_functions=True)
    except NotExpressible:
        reject()
    found, truth = run(*statements(folded, NAMES), sample), reference(folded, sample)
    moved = [reference(folded, sample * (1 + step)) for step in (-1e-13, 1e-13)]
    usable = np.isfinite([truth, *moved]).all(axis=0) & (np.abs(truth) < 1e200)
    found, truth, moved = found[usable], truth[usable], [m[usable] for m in moved]
    allowed = 10 * sum(np.abs(m - truth) for m in moved) + 1e-12 * np.abs(truth) + 1e-200
    assert (np.abs(found - truth) <= allowed).all(), render(folded, NAMES)


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_our_evaluation_is_the_reference(programs, reference, sample, data):
    program = data.draw(programs(tuple(n for n in ALL_NAMES if n != "pow")))
    assert np.array_equal(values(program, sample), reference(program, sample), equal_nan=True)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_kernel_agrees_with_emitted_text(programs, sample, data):
    kernel = pytest.importorskip("fitness.constants")
    smooth = ("add", "sub", "mul", "neg", "square", "sin", "cos", "atan", "tanh", "min", "max", "abs")
    program = fold_constants(data.draw(programs(smooth)), keep_functions=True)
    found = run(*statements(program, NAMES), sample)
    by_kernel = kernel.predict(ProgramBatch.of([program]), sample)[0]
    ordinary = np.abs(found) < 1e6
    assert np.allclose(found[ordinary], by_kernel[ordinary], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a - 1.5*bb", "a - 1.5*bb"),
        ("a + -1.5*bb", "a - 1.5*bb"),
        ("a - -1.5*bb", "a + 1.5*bb"),
        ("pow(a, 3.0)", "a**3"),
        ("pow(a, -2.0)", "a**(-2)"),
        ("a**0.5", "a**0.5"),
        ("(a + bb)**2/c_1**3", "(a + bb)**2/c_1**3"),
        ("-(a**2)", "-a**2"),
        ("(-a)**2", "(-a)**2"),
        ("2**a", "2**a"),
        ("(-2)**cube(a)", "(-2)**a**3"),
        ("1/(a*bb)", "1/(a*bb)"),
        ("a/(bb/c_1)", "a/(bb/c_1)"),
        ("a - (bb - c_1)", "a - (bb - c_1)"),
        ("max(a, min(bb, 2.5))", "np.maximum(a, np.minimum(bb, 2.5))"),
        ("asin(a) + abs(bb)", "np.arcsin(a) + np.abs(bb)"),
        ("sqrt(2)*a + pi", "np.sqrt(2)*a + np.pi"),
        ("1/3*a", "1/3*a"),
        ("fixed(0.123456789)*a", "0.123456789*a"),
        ("0.1*a + 1e-20", "0.1*a + 1e-20"),
    ],
)
def test_text(text, expected):
    assert expression(fold_constants(parse(text, NAMES), keep_functions=True), NAMES) == expected


def test_constants_keep_every_digit():
    value = 0.1 + 0.2
    text = expression(apply("mul", constant(value), variable(0)), NAMES)
    assert ast.literal_eval(text.split("*")[0]) == value


def test_whole_exponents_stay_finite_for_negative_bases():
    X = np.array([[-7.3, -2.0], [1.0, 1.0], [1.0, 1.0]])
    program = apply("pow", variable(0), constant(3.0, FREE))
    assert run(*statements(program, NAMES), X) == pytest.approx([-(7.3**3), -8.0], rel=1e-15)


def test_a_long_law_is_cut_into_lines_and_repeats_get_a_name():
    text = " + ".join(f"sin(a*{k}.5 + bb)*exp(-(a - bb)**2/{k}.25)" for k in range(1, 6))
    lines, result = statements(parse(text, NAMES), NAMES)
    assert len(lines) >= 2
    assert all(len(line) <= LINE + 12 for line in [*lines, result])
    assert sum("(a - bb)**2" in line for line in [*lines, result]) == 1


def test_names_of_intermediates_shadow_no_column():
    names = ("t1", "t2", "t3")
    lines, _ = statements(parse("sin(t1 + t2*t3)*(t1 + t2*t3)", names), names)
    assert lines == ["t1_ = t1 + t2*t3"]


def test_height_250_is_cut_not_crashed(reference, sample):
    program = variable(0)
    for _ in range(250):
        program = apply("sin", program)
    lines, result = statements(program, NAMES)
    assert np.array_equal(run(lines, result, sample), values(program, sample))
    assert max(line.count("(") for line in [*lines, result]) < 50


@pytest.mark.parametrize("name", ["tan", "abs", "asin", "tanh", "sinh"])
def test_frontier_form_refuses_other_functions(name):
    assert name not in FRONTIER_NAMES
    with pytest.raises(NotExpressible, match=name):
        expression(apply(name, variable(0)), NAMES, FRONTIER)


def test_frontier_and_sympy_spellings():
    program = parse("sqrt(a)*abs(1/2)", NAMES)
    assert expression(fold_constants(program), NAMES, FRONTIER) == "a**0.5*(1/2)"
    assert expression(parse("min(a, 1/2)", NAMES), NAMES, SYMPY) == "Min(a, Rational(1, 2))"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("log(-2)*a", "not real"),
        ("(-8)**(1/3)*a", "not real"),
        ("a/0", "divides by the constant 0"),
        ("0/0 + a", "not real"),
        ("exp(800)*a", "not finite"),
        ("1e308*10*a", "not finite"),
        ("log(0)*a", "not finite"),
        ("10**10**10*a", "not finite"),
        ("a/(1.5 - 1.5)", "divides by the constant 0"),
    ],
)
def test_constant_parts_that_are_no_number_are_refused_with_the_reason(text, reason):
    with pytest.raises(NotExpressible, match=reason):
        fold_constants(parse(text, NAMES))


def test_folding_uses_the_engines_function_and_keeps_the_role():
    folded = fold_constants(parse("sin(0.3)*2.0*a + log(10)*bb", NAMES))
    assert folded.value[0] == np.sin(0.3) * 2.0
    assert folded.arg[0] == FREE
    assert fitted_constants(folded) == (np.sin(0.3) * 2.0,)
    assert folded.arg[3] == FIXED
    assert folded.value[3] == np.log(10)


def test_locals_are_no_constants():
    program = apply("add", constant(1.0, LOCAL), constant(2.0, LOCAL + 1))
    assert fold_constants(program) == program
    assert expression(program, NAMES, local_names=("p", "q")) == "p + q"


def test_equal_constants_are_counted_once():
    assert fitted_constants(parse("1.5*a + 1.5*bb + 2*a + 2.5", NAMES)) == (1.5, 2.5)
