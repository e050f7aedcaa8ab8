"""The one table of primitives: name, arity, opcode, numpy function, source text and domain.

Every other table (kernel branches, interval rules, LaTeX, sympy) is keyed by `name` or `opcode` and a test
holds each of them to this list. Opcodes are stable: they are written into checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

CONST = 0
VAR = 1

# Precedence of the text a node is written as, loosest first. A negative number binds like a product.
SUM, PRODUCT, POWER, ATOM = 1, 2, 4, 5


@dataclass(frozen=True)
class Primitive:
    """One math function.

    `text` is its Python form with one ``{}`` per operand; `binds` the precedence of that form and `needs` the
    least precedence each operand may have without parentheses. `numpy_text` is what an emitted module calls
    when it differs from `text`. `domain` says where the function is finite and real (None: everywhere, up to
    overflow).
    """

    name: str
    arity: int
    opcode: int
    function: Callable[..., Any]
    text: str
    binds: int = ATOM
    needs: tuple[int, ...] = ()
    numpy_text: str | None = None
    domain: str | None = None
    commutative: bool = False


def _call(
    name: str, opcode: int, function: Callable[..., Any], numpy_name: str | None = None, **more: Any
) -> Primitive:
    arity = 2 if name in ("min", "max") else 1
    slots = ", ".join(["{}"] * arity)
    numpy_text = f"np.{numpy_name or name}({slots})"
    return Primitive(name, arity, opcode, function, f"{name}({slots})", ATOM, (0,) * arity, numpy_text, **more)


PRIMITIVES: tuple[Primitive, ...] = (
    Primitive("add", 2, 2, np.add, "{} + {}", SUM, (SUM, PRODUCT), commutative=True),
    Primitive("sub", 2, 3, np.subtract, "{} - {}", SUM, (SUM, PRODUCT)),
    Primitive("mul", 2, 4, np.multiply, "{}*{}", PRODUCT, (PRODUCT, POWER), commutative=True),
    Primitive("div", 2, 5, np.divide, "{}/{}", PRODUCT, (PRODUCT, POWER), domain="denominator is not 0"),
    Primitive("pow", 2, 6, np.power, "{}**{}", POWER, (ATOM, POWER), domain="base > 0, or integer exponent"),
    _call("min", 7, np.minimum, "minimum", commutative=True),
    _call("max", 8, np.maximum, "maximum", commutative=True),
    Primitive("neg", 1, 16, np.negative, "-{}", PRODUCT, (POWER,)),
    Primitive("inv", 1, 17, lambda x: 1.0 / x, "1/{}", PRODUCT, (POWER,), domain="argument is not 0"),
    Primitive("square", 1, 18, np.square, "{}**2", POWER, (ATOM,)),
    Primitive("cube", 1, 19, lambda x: x * x * x, "{}**3", POWER, (ATOM,)),
    _call("sqrt", 20, np.sqrt, domain="argument >= 0"),
    _call("abs", 21, np.abs),
    _call("exp", 22, np.exp),
    _call("log", 23, np.log, domain="argument > 0"),
    _call("sin", 24, np.sin),
    _call("cos", 25, np.cos),
    _call("tan", 26, np.tan),
    _call("asin", 27, np.arcsin, "arcsin", domain="-1 <= argument <= 1"),
    _call("acos", 28, np.arccos, "arccos", domain="-1 <= argument <= 1"),
    _call("atan", 29, np.arctan, "arctan"),
    _call("sinh", 30, np.sinh),
    _call("cosh", 31, np.cosh),
    _call("tanh", 32, np.tanh),
)

BY_NAME: dict[str, Primitive] = {p.name: p for p in PRIMITIVES}
BY_OPCODE: dict[int, Primitive] = {p.opcode: p for p in PRIMITIVES}
OPCODE: dict[str, int] = {p.name: p.opcode for p in PRIMITIVES}

N_OPCODES = 1 + max(BY_OPCODE)

# ARITY[opcode], as an array for the kernels; leaves have arity 0.
ARITY = np.zeros(N_OPCODES, dtype=np.int64)
for _p in PRIMITIVES:
    ARITY[_p.opcode] = _p.arity
ARITY.setflags(write=False)

ALL_NAMES: tuple[str, ...] = tuple(p.name for p in PRIMITIVES)

# What Frontier-CS allows: + - * / **, sin, cos, exp, log. The rest of this list are spellings of powers and signs.
FRONTIER_NAMES: tuple[str, ...] = (
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "neg",
    "inv",
    "square",
    "cube",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
)
