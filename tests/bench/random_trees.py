"""Random programs of a given size for the benches and tests: uniform over shapes built from the root down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from operators.primitives import BY_NAME
from operators.program import FREE, Program, apply, constant, variable

ARITHMETIC = ("add", "sub", "mul", "div")
FULL = (*ARITHMETIC, *ARITHMETIC, "sin", "cos", "exp", "log", "sqrt")


def random_tree(
    rng: np.random.Generator,
    size: int,
    names: Sequence[str],
    n_features: int,
    constants: float = 0.3,
    role: int = FREE,
) -> Program:
    """A program of `size` nodes over primitives `names`; a leaf is a number with probability `constants`."""
    if size <= 1:
        if rng.random() < constants:
            return constant(float(rng.uniform(0.2, 2.0)), role)
        return variable(int(rng.integers(n_features)))
    unary = [n for n in names if BY_NAME[n].arity == 1]
    binary = [n for n in names if BY_NAME[n].arity == 2]
    name = str(rng.choice(unary if size == 2 else [*unary, *binary]))
    if BY_NAME[name].arity == 1:
        return apply(name, random_tree(rng, size - 1, names, n_features, constants, role))
    step = 1 if unary else 2  # without unary primitives every subtree has an odd size
    left = 1 + step * int(rng.integers((size - 1) // step))
    left = min(left, size - 2)
    return apply(
        name,
        random_tree(rng, left, names, n_features, constants, role),
        random_tree(rng, size - 1 - left, names, n_features, constants, role),
    )
