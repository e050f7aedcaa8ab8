"""Every primitive of the kernel against the numpy function of the table, on ordinary and on awkward numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fitness.constants import predict_one
from operators.primitives import BY_NAME, PRIMITIVES
from operators.program import FIXED, apply, constant, variable

UNARY = [p.name for p in PRIMITIVES if p.arity == 1]
BINARY = [p.name for p in PRIMITIVES if p.arity == 2]
_ORDINARY = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1e-17, np.pi, np.pi / 2, 1 + 1e-15, 1 - 1e-15]
_LARGE = [1e-300, -1e-300, 1e16, 1e22, -1e22, 1e300, 709.5, 710.2, -710.2, 711.0, -700.0, 1e5, 1e6, 1000001.5, -1e7]
AWKWARD = np.array([*_ORDINARY, *_LARGE, np.inf, -np.inf, np.nan])
TINY = 2.3e-308  # below the least normal number results may be flushed to 0


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-13) -> np.ndarray:
    """Equal up to a relative error, or both NaN, or the same infinity, or both too small to matter."""
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= tolerance * np.abs(expected) + TINY
    return near | (found == expected) | (np.isnan(found) & np.isnan(expected))


def assert_close(found: np.ndarray, expected: np.ndarray, *arguments: np.ndarray, tolerance: float = 1e-13) -> None:
    wrong = ~close(found, expected, tolerance)
    assert not wrong.any(), [(*(a[wrong][:3] for a in arguments), found[wrong][:3], expected[wrong][:3])]


def reference(name: str, *arguments: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(BY_NAME[name].function(*arguments))


floats = st.floats(allow_nan=True, allow_infinity=True, width=64, allow_subnormal=False)
blocks = hnp.arrays(np.float64, st.integers(1, 70), elements=floats)


@pytest.mark.parametrize("name", UNARY)
def test_unary_primitives_on_awkward_numbers(name: str) -> None:
    found = predict_one(apply(name, variable(0)), AWKWARD[None])
    assert_close(found, reference(name, AWKWARD), AWKWARD)


@pytest.mark.parametrize("name", UNARY)
@given(x=blocks)
def test_unary_primitives_on_any_numbers(name: str, x: np.ndarray) -> None:
    assert_close(predict_one(apply(name, variable(0)), x[None]), reference(name, x), x)


@pytest.mark.parametrize("name", UNARY)
def test_unary_primitives_on_a_dense_grid(name: str) -> None:
    """The ranges laws live in, where the polynomials and their seams are."""
    rng = np.random.default_rng(1)
    x = np.concatenate([np.linspace(-30, 30, 20011), np.linspace(-2, 2, 20011), 10.0 ** rng.uniform(-12, 3, 20000)])
    assert_close(predict_one(apply(name, variable(0)), x[None]), reference(name, x), x, tolerance=2e-14)


@pytest.mark.parametrize("name", BINARY)
def test_binary_primitives_on_awkward_numbers(name: str) -> None:
    a, b = (m.ravel() for m in np.meshgrid(AWKWARD, AWKWARD))
    found = predict_one(apply(name, variable(0), variable(1)), np.array([a, b]))
    tolerance = 1e-13 if name != "pow" else 3e-13  # e**(b log a) loses digits as its exponent grows
    assert_close(found, reference(name, a, b), a, b, tolerance=tolerance)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("number", [-3.0, -2.0, -0.5, 0.0, 0.5, 1.0, 1.7, 2.0, 3.0, 5.0, 13.0, 64.0, 100.0, 2.5e-3])
def test_binary_primitives_with_a_number(name: str, number: float) -> None:
    x = np.concatenate([AWKWARD[np.isfinite(AWKWARD)], np.linspace(-9, 9, 301)])
    numbers = np.full_like(x, number)
    right = predict_one(apply(name, variable(0), constant(number, FIXED)), x[None])
    assert_close(right, reference(name, x, numbers), x, tolerance=3e-13)
    left = predict_one(apply(name, constant(number, FIXED), variable(0)), x[None])
    assert_close(left, reference(name, numbers, x), x, tolerance=3e-13)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_primitives_of_numbers_alone(name: str) -> None:
    arity = BY_NAME[name].arity
    numbers = [0.7, 1.3][:arity]
    found = predict_one(apply(name, *(constant(v, FIXED) for v in numbers)), np.zeros((1, 5)))
    assert_close(found, np.full(5, reference(name, *(np.array(v) for v in numbers))))
