"""Proofs of finiteness hold at random points; what is not finite is never proven; guards leave the rows alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_strategies import NAMES, evaluate, programs

from operators.interval import bounds, guard, node_values, unsafe_arguments
from operators.interval_rules import RULES
from operators.primitives import ALL_NAMES
from operators.program import Program
from operators.text import parse, render

XY = ("x", "y")
_END = st.floats(-20.0, 20.0).map(lambda v: round(v, 3))
BOXES = st.lists(st.tuples(_END, _END).map(lambda e: (min(e), max(e))), min_size=3, max_size=3)


def _points(box: list[tuple[float, float]], seed: int, n: int = 200) -> np.ndarray:
    """Random points of the box and all its corners."""
    lo, hi = np.array(box).T
    inside = lo[:, None] + np.random.default_rng(seed).random((len(box), n)) * (hi - lo)[:, None]
    corners = np.array(np.meshgrid(*box)).reshape(len(box), -1)
    return np.hstack([np.clip(inside, lo[:, None], hi[:, None]), corners])


def test_every_primitive_has_a_rule() -> None:
    assert set(RULES) == set(ALL_NAMES)


@settings(max_examples=400, deadline=None)
@given(programs(max_leaves=6), BOXES, st.integers(0, 2**31))
def test_what_is_proven_holds_at_random_points(program: Program, box: list[tuple[float, float]], seed: int) -> None:
    proven = bounds(program, box, pieces=256)
    if proven is None:
        return
    values = evaluate(program, _points(box, seed))
    assert np.isfinite(values).all()
    assert proven[0] <= values.min()
    assert values.max() <= proven[1]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ALL_NAMES), BOXES, st.integers(0, 2**31))
def test_each_rule_alone(name: str, box: list[tuple[float, float]], seed: int) -> None:
    program = parse(f"{name}(x1, x2)" if name in ("min", "max") else _call(name), NAMES)
    proven = bounds(program, box, pieces=64)
    values = evaluate(program, _points(box, seed))
    if proven is not None:
        assert np.isfinite(values).all()
        assert proven[0] <= values.min()
        assert values.max() <= proven[1]
    else:
        assert unsafe_arguments(program, box)


def _call(name: str) -> str:
    infix = {"add": "x1 + x2", "sub": "x1 - x2", "mul": "x1*x2", "div": "x1/x2", "pow": "x1**x2", "neg": "-x1"}
    return infix.get(name, {"inv": "1/x1", "square": "x1**2", "cube": "x1**3"}.get(name, f"{name}(x1)"))


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("1/(x**2 - x + 1)", [(-5, 5), (0, 1)]),  # needs pieces
        ("log(x**2 + y**2 - x*y + 1/10)", [(-3, 3), (-3, 3)]),
        ("sqrt(1 - x)", [(0, 1), (0, 1)]),  # the end of the domain itself
        ("sqrt(x*x)", [(-4, 1), (0, 1)]),
        ("1/(x - x + y)", [(0, 1), (1, 2)]),
        ("x**(-3)", [(-4, -1), (0, 1)]),
        ("x**2.5", [(0, 4), (0, 1)]),
        ("x**y", [(0.5, 4), (-2, 2)]),
        ("asin(sin(x))", [(-100, 100), (0, 1)]),
        ("tan(x)", [(-1.57, 1.57), (0, 1)]),
        ("(x - y)**(-2)", [(1, 2), (3, 4)]),
        ("exp(-exp(x))", [(-5, 6), (0, 1)]),
    ],
)
def test_proves_what_is_finite(text: str, box: list[tuple[float, float]]) -> None:
    assert bounds(parse(text, XY), box) is not None


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("1/(x**2 - 1)", [(-5, 5), (0, 1)]),
        ("1/x", [(0, 1), (0, 1)]),
        ("log(x)", [(0, 1), (0, 1)]),
        ("sqrt(x - y)", [(0, 1), (0, 1)]),
        ("x**2.5", [(-1, 4), (0, 1)]),
        ("x**y", [(-1, 4), (1, 2)]),
        ("x**(-2)", [(-1, 4), (1, 2)]),
        ("tan(x)", [(1, 2), (0, 1)]),
        ("asin(x)", [(0, 1.001), (0, 1)]),
        ("exp(x)", [(0, 800), (0, 1)]),
        ("exp(x) - exp(x)", [(0, 800), (0, 1)]),
        ("x/x", [(-1, 1), (0, 1)]),
        ("1/(y - y)", [(0, 1), (0, 1)]),
        ("x", [(0, math.inf), (0, 1)]),
    ],
)
def test_never_proves_what_is_not(text: str, box: list[tuple[float, float]]) -> None:
    assert bounds(parse(text, XY), box) is None
    assert unsafe_arguments(parse(text, XY), box)


def test_bounds_are_close() -> None:
    lo, hi = bounds(parse("x**2 - 2*y", XY), [(-1.0, 2.0), (0.0, 1.0)]) or (0.0, 0.0)
    assert lo == pytest.approx(-2.0, abs=1e-12)
    assert hi == pytest.approx(4.0, abs=1e-12)


def test_the_unsafe_node_is_named() -> None:
    program = parse("sqrt(y) + log(x)", XY)
    unsafe = unsafe_arguments(program, [(-1, 1), (0, 1)])
    assert [render(program.subtree(i), XY) for i in unsafe] == ["log(x)"]


@pytest.mark.parametrize(
    "text",
    ["log(x)", "1/x", "y/x", "sqrt(x)", "x**1.5", "x**(-2)", "asin(x - 1/2)", "tan(x)", "exp(1.0/x)", "log(x)/x",
     "1/(x - 3)", "x/(x + y - 1/2)"],
)  # fmt: skip
def test_guards_prove_and_leave_training_rows_alone(text: str) -> None:
    X = np.random.default_rng(3).uniform([[0.33], [0.41]], [[1.37], [0.9]], (2, 80))
    box = [(-4.0, 4.0), (-1.0, 1.0)]
    program = parse(text, XY)
    assert bounds(program, box) is None
    guarded = guard(program, box, X)
    assert guarded is not None, text
    lo, hi = bounds(guarded, box) or (math.nan, math.nan)
    assert np.array_equal(node_values(guarded, X)[-1], node_values(program, X)[-1])
    outside = evaluate(guarded, _points(box, 4))
    assert np.isfinite(outside).all()
    assert lo <= outside.min() <= outside.max() <= hi
    assert guarded.n_constants == program.n_constants


def test_no_guard_where_a_training_row_is_the_pole() -> None:
    X = np.array([[-1.0, 0.0, 0.5, 1.0], [0.0, 0.0, 0.0, 0.0]])
    assert guard(parse("1/x", XY), [(-1, 1), (0, 0)], X) is None


@settings(max_examples=150, deadline=None)
@given(programs(max_leaves=5), st.integers(0, 2**31))
def test_guarded_programs_are_finite_in_the_box(program: Program, seed: int) -> None:
    box = [(-3.0, 3.0)] * 3
    X = _points([(0.5, 1.5)] * 3, seed, 40)
    if not np.isfinite(evaluate(program, X)).all():
        return
    guarded = guard(program, box, X)
    if guarded is not None:
        assert np.isfinite(evaluate(guarded, _points(box, seed))).all()
        assert np.array_equal(evaluate(guarded, X), evaluate(program, X))


@pytest.mark.parametrize("text", ["1/x", "z/(x - 0.1)", "cos(z)/tan(x)", "1/tan(x) + z", "z/sin(x)", "x/(x*z)"])
def test_a_divisor_of_both_signs_is_kept_from_zero(text: str) -> None:
    """cos(theta)/tan(phi) over a range with phi = 0: provable, and the same law on the training rows."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.4, 1.4, (2, 80))
    X = X[:, np.abs(X).min(axis=0) > 0.01]
    program = parse(text.replace("z", "y"), XY)
    box = ((-2.0, 2.0), (-2.0, 2.0))
    assert bounds(program, box) is None
    guarded = guard(program, box, X)
    assert guarded is not None
    assert bounds(guarded, box) is not None
    np.testing.assert_allclose(node_values(guarded, X)[-1], node_values(program, X)[-1], rtol=1e-12)


def test_numbers_near_the_largest_are_not_proven() -> None:
    assert bounds(parse("1/3.6e-301 + x", XY), [(0, 1), (0, 1)]) is None
    assert bounds(parse("1/3.6e-299 + x", XY), [(0, 1), (0, 1)]) is not None
