"""Random programs, and a reference evaluation of them that shares nothing with the package under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from operators.primitives import ALL_NAMES, BY_NAME, BY_OPCODE, CONST, VAR
from operators.program import FIXED, FREE, Program, apply, constant, variable

N_FEATURES = 3
_STRUCTURAL = [1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5, 1 / 3, 10.0, float(np.pi), 0.123456789, 1e17]


class Rows(np.ndarray):
    """An array with a short name for test output."""

    def __repr__(self) -> str:
        return f"<rows {self.shape}>"


def _grow(names: tuple[str, ...]) -> st.SearchStrategy[Program]:
    free = st.floats(-30.0, 30.0, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-6)
    leaves = st.one_of(
        st.integers(0, N_FEATURES - 1).map(variable),
        free.map(lambda v: constant(v, FREE)),
        st.sampled_from(_STRUCTURAL).map(lambda v: constant(v, FIXED)),
    )
    unary = [n for n in names if BY_NAME[n].arity == 1]
    binary = [n for n in names if BY_NAME[n].arity == 2]

    def extend(children: st.SearchStrategy[Program]) -> st.SearchStrategy[Program]:
        return st.one_of(
            st.builds(apply, st.sampled_from(unary), children),
            st.builds(apply, st.sampled_from(binary), children, children),
        )

    return st.recursive(leaves, extend, max_leaves=12)


@pytest.fixture(scope="session")
def programs() -> Callable[..., st.SearchStrategy[Program]]:
    """programs() or programs(names): a strategy for programs over three features."""
    return lambda names=ALL_NAMES: _grow(tuple(names))


@pytest.fixture(scope="session")
def sample() -> Rows:
    """(3, 40) rows of both signs, with zeros and whole numbers among them."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-3.0, 3.0, (N_FEATURES, 40))
    X[:, :3] = [[0.0, 1.0, -2.0], [2.0, 0.0, 3.0], [1.0, -1.0, 0.0]]
    return X.view(Rows)


_NUMPY: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": np.divide,
    "pow": np.power, "min": np.minimum, "max": np.maximum, "neg": lambda a: -a, "inv": lambda a: np.divide(1.0, a),
    "square": lambda a: a * a, "cube": lambda a: a * a * a, "sqrt": np.sqrt, "abs": np.abs, "exp": np.exp,
    "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
}  # fmt: skip


def _evaluate(program: Program, X: np.ndarray, i: int) -> np.ndarray:
    code = int(program.code[i])
    if code == VAR:
        return X[int(program.arg[i])]
    if code == CONST:
        return np.full(X.shape[1], program.value[i])
    return _NUMPY[BY_OPCODE[code].name](*(_evaluate(program, X, c) for c in program.children(i)))


@pytest.fixture(scope="session")
def reference() -> Callable[[Program, np.ndarray], np.ndarray]:
    """reference(program, X): values by plain recursion over numpy functions."""

    def evaluate(program: Program, X: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(_evaluate(program, X, len(program) - 1), dtype=float)

    return evaluate
