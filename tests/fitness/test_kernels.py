"""The interpreter on whole programs: values against numpy, derivatives against differences, blocks and slots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from program_strategies import evaluate, programs
from random_trees import FULL, random_tree

from fitness.constants import predict, predict_one
from fitness.kernels import BLOCK
from fitness.precise import Model
from operators.primitives import ALL_NAMES
from operators.program import FIXED, FREE, Program, ProgramBatch, apply, constant, variable
from operators.text import parse

RNG = np.random.default_rng(7)
X = np.concatenate([RNG.uniform(-3, 3, (3, 40)), RNG.uniform(0.1, 2, (3, 40))], axis=1)


def sensitivity(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """What relative errors of 1e-13 in the nodes do to the result, row by row, both (rows,).

    First how far they move it: a sum that cancels, or the sine of a large number, magnifies errors that are none of
    the kernel's. Then whether they decide between a number and none: on the edge of a domain (x**9.000000000000002 of
    a negative x), of overflow, or where a node is too small for a normal number, which kernels may flush to 0.
    """
    exact = evaluate(program, X)
    moved, edge = np.zeros_like(exact), np.zeros(exact.shape, dtype=bool)
    for i in range(len(program)):
        part = program.subtree(i)
        value = evaluate(part, X)
        edge |= (value != 0.0) & (np.abs(value) < 2.3e-308)
        for sign in (-1.0, 1.0):
            nudged = evaluate(program.splice(i, apply("mul", part, constant(1.0 + sign * 1e-13, FIXED))), X)
            with np.errstate(all="ignore"):
                moved = np.fmax(moved, np.abs(nudged - exact))
            edge |= np.isfinite(nudged) != np.isfinite(exact)
    return moved, edge


@settings(max_examples=300, deadline=None)
@given(programs(ALL_NAMES, features=3, max_leaves=8))
def test_random_programs_have_the_values_of_numpy(program: Program) -> None:
    expected, found = evaluate(program, X), predict_one(program, X)
    moved, edge = sensitivity(program)
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= 10 * moved + 1e-300
    same = near | (found == expected) | (np.isnan(found) & np.isnan(expected))
    assert np.all(same | edge)


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_any_number_of_rows(rows: int) -> None:
    program = parse("sin(x1)*x2 + 2.5/(1.0 + x1**2)", ["x1", "x2"])
    data = np.random.default_rng(rows).uniform(-3, 3, (2, rows))
    np.testing.assert_allclose(predict_one(program, data), evaluate(program, data), rtol=1e-13, atol=1e-14)


def test_a_leaf_is_a_program() -> None:
    data = np.arange(7.0)[None]
    assert predict_one(variable(0), data).tolist() == data[0].tolist()
    assert predict_one(constant(2.5), data).tolist() == [2.5] * 7


def test_batches_of_different_lengths_and_threads() -> None:
    rng = np.random.default_rng(3)
    items = [random_tree(rng, int(n), FULL, 3) for n in rng.integers(1, 40, 100)]
    batch = ProgramBatch.of(items, width=64)
    one = predict(batch, X)
    assert one.tobytes() == predict(batch, X, threads=2).tobytes()
    for i, program in enumerate(items):
        np.testing.assert_array_equal(one[i], predict_one(program, X))


@settings(max_examples=300, deadline=None)
@given(programs(ALL_NAMES, features=2, max_leaves=7, n_locals=2), st.integers(0, 2**32 - 1))
def test_derivatives_are_those_of_finite_differences(program: Program, seed: int) -> None:
    model = Model(program, np.random.default_rng(seed).uniform(0.3, 1.7, (2, 20)))
    assume(0 < model.size <= 24)
    away = np.random.default_rng(seed).uniform(0.9, 1.1, model.size)  # from kinks: equal arguments of min and max
    theta = np.where(np.abs(model.start) < 0.1, 0.7, model.start) * away
    prediction, jacobian = model.evaluate(theta)
    assume(np.isfinite(prediction).all() and np.isfinite(jacobian).all() and np.abs(prediction).max() < 1e6)
    for p in range(model.size):
        differences = []
        for h in (1e-4, 1e-5):  # of two steps one is short enough and long enough
            up, down = theta.copy(), theta.copy()
            step = h * max(1.0, abs(theta[p]))
            up[p] += step
            down[p] -= step
            with np.errstate(all="ignore"):
                differences.append((model.evaluate(up)[0] - model.evaluate(down)[0]) / (2 * step))
        close, rough = differences[1], np.abs(differences[1] - differences[0])
        smooth = np.isfinite(close) & (rough < 1e-3 * (1.0 + np.abs(close)))  # no kink of min, max or abs nearby
        tolerance = 1e-5 * (1.0 + np.abs(close) + np.abs(prediction)) + 10 * rough
        assert np.all(np.abs(jacobian[p] - close)[smooth] <= tolerance[smooth])


@pytest.mark.parametrize(
    ("text", "derivatives"),
    [
        ("x**3.0", lambda x, y: [x**3 * np.log(x)]),
        ("2.0**x", lambda x, y: [x * 2.0 ** (x - 1)]),
        ("(2.0*x)**y", lambda x, y: [x * y * (2 * x) ** (y - 1)]),
        ("min(3.0*x, y)", lambda x, y: [np.where(3 * x <= y, x, 0.0)]),
        ("max(3.0*x, y)", lambda x, y: [np.where(3 * x >= y, x, 0.0)]),
        ("abs(1.0 - x)", lambda x, y: [np.sign(1.0 - x)]),
        ("1.5*x - y/2.0", lambda x, y: [x, y / 4.0]),
        ("x - (2.0 - y)/4.0", lambda x, y: [np.full_like(x, -0.25), (2.0 - y) / 16.0]),
    ],
)
def test_derivatives_known_in_closed_form(text: str, derivatives) -> None:  # type: ignore[no-untyped-def]
    x, y = data = np.random.default_rng(1).uniform(0.2, 2.0, (2, 50))
    model = Model(parse(text, ["x", "y"]), data)
    _, jacobian = model.evaluate(model.start)
    found = {float(v): column for v, column in zip(model.start, jacobian, strict=True)}
    expected = derivatives(x, y)
    order = [
        float(v)
        for i, v in enumerate(model.program.value)
        if model.program.code[i] == 0 and model.program.arg[i] == FREE
    ]
    for number, column in zip(order, expected, strict=True):
        np.testing.assert_allclose(found[number], column, rtol=1e-12, atol=1e-13)


def test_a_power_of_a_negative_number_moves_its_base_only() -> None:
    model = Model(parse("(1.0*x)**2.0", ["x"]), np.array([[-2.0, -1.0, 3.0]]))
    _, jacobian = model.evaluate(model.start)
    assert sorted(jacobian[:, 0].tolist()) == [0.0, 8.0]  # the exponent, the factor


def test_affine_parameters_come_first() -> None:
    model = Model(parse("3.0*sin(2.0*x) + 5.0*x/(4.0 + x) - 6.0", ["x"]), X[:1])
    assert model.n_affine == 3
    assert set(model.start[:3]) == {3.0, 5.0, 6.0}
    assert set(model.start[3:]) == {2.0, 4.0}


def test_a_shared_parameter_is_one_and_not_affine() -> None:
    model = Model(parse("a*x + sin(a*x) + b", ["x"], ["a", "b"]), X[:1])
    assert (model.size, model.n_affine) == (2, 1)
    theta = np.array([0.3, 0.9])  # b, a
    _, jacobian = model.evaluate(theta)
    np.testing.assert_allclose(jacobian[1], X[0] + X[0] * np.cos(0.9 * X[0]), rtol=1e-12, atol=1e-13)
