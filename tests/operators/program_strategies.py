"""Random programs for the tests: a seeded generator for counting rates, and hypothesis strategies for properties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from operators.primitives import ALL_NAMES, BY_NAME, FRONTIER_NAMES
from operators.program import FIXED, FREE, LOCAL, Program, apply, constant, variable

NAMES = ("x1", "x2", "x3")
_FIXED_NUMBERS = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 0.5, 4.0)


def random_program(
    rng: np.random.Generator,
    nodes: int,
    primitives: Sequence[str] = FRONTIER_NAMES,
    features: int = 2,
    fixed: float = 0.0,
) -> Program:
    """A random program of `nodes` nodes (or one fewer, in a language without functions of one operand).

    Of its numbers a share `fixed` is structural.
    """
    if nodes == 1:
        return _random_leaf(rng, features, fixed)
    fitting = [n for n in primitives if BY_NAME[n].arity < nodes]
    if not fitting:  # two nodes, and no function of one operand
        return _random_leaf(rng, features, fixed)
    name = fitting[rng.integers(len(fitting))]
    if BY_NAME[name].arity == 1:
        return apply(name, random_program(rng, nodes - 1, primitives, features, fixed))
    left = int(rng.integers(1, nodes - 1))
    parts = (random_program(rng, n, primitives, features, fixed) for n in (left, nodes - 1 - left))
    return apply(name, *parts)


def _random_leaf(rng: np.random.Generator, features: int, fixed: float) -> Program:
    if rng.random() < 0.6:
        return variable(int(rng.integers(features)))
    if rng.random() < fixed:
        return constant(float(rng.choice(_FIXED_NUMBERS)), FIXED)
    return constant(float(np.round(rng.uniform(-3.0, 3.0), 4)), FREE)


def numbers() -> st.SearchStrategy[Program]:
    """Constants of both roles, of sizes a law may hold."""
    free = st.floats(-1e3, 1e3, allow_nan=False).map(lambda v: constant(v + 0.0, FREE))
    fixed = st.sampled_from(_FIXED_NUMBERS).map(lambda v: constant(v, FIXED))
    return free | fixed


def programs(
    primitives: Sequence[str] = ALL_NAMES, features: int = 3, max_leaves: int = 8, n_locals: int = 0
) -> st.SearchStrategy[Program]:
    """Programs over `primitives` with up to `max_leaves` leaves."""
    leaves = st.integers(0, features - 1).map(variable) | numbers()
    if n_locals:
        leaves = leaves | st.integers(0, n_locals - 1).map(lambda k: constant(1.0, LOCAL + k))
    unary = [n for n in primitives if BY_NAME[n].arity == 1]
    binary = [n for n in primitives if BY_NAME[n].arity == 2]

    def grow(children: st.SearchStrategy[Program]) -> st.SearchStrategy[Program]:
        grown = []
        if unary:
            grown.append(st.builds(apply, st.sampled_from(unary), children))
        if binary:
            grown.append(st.builds(apply, st.sampled_from(binary), children, children))
        return st.one_of(grown)

    return st.recursive(leaves, grow, max_leaves=max_leaves)


def evaluate(program: Program, X: np.ndarray) -> np.ndarray:
    """Values of a program on X (features, rows) by the numpy functions of the table: the tests' reference."""
    from operators.primitives import BY_OPCODE, CONST, VAR

    stack: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for code, arg, value in zip(program.code, program.arg, program.value, strict=True):
            if code == VAR:
                stack.append(X[arg])
            elif code == CONST:
                stack.append(np.full(X.shape[1], value))
            else:
                p = BY_OPCODE[int(code)]
                operands = [stack.pop() for _ in range(p.arity)][::-1]
                stack.append(p.function(*operands))
    return stack[0]
