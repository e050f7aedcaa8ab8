"""Constant-only subtrees become one number. A kernel module."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from operators.arena import is_simple
from operators.complexity_kernel import Postfix, fold_unary
from operators.jit import inner, kernel
from operators.primitives import ARITY, CONST, OPCODE
from operators.program import FIXED, FREE, LOCAL

_ADD, _CUBE, _DIV, _INV, _MIN, _MUL, _NEG, _POW, _SQRT, _SQUARE, _SUB = (
    OPCODE[n] for n in ["add", "cube", "div", "inv", "min", "mul", "neg", "pow", "sqrt", "square", "sub"]
)


@inner
def fold_one(p: Postfix, length: int, starts: Any, new: Postfix) -> int:
    """Write p into `new` with every constant-only subtree as one number; 0 when one of them is not finite and real.

    starts[k] is where the k-th value on the stack begins in `new`.
    """
    sp, n = 0, 0
    for i in range(length):
        c = p.code[i]
        arity = ARITY[c]
        sp -= arity
        begin = n if arity == 0 else starts[sp]
        if arity > 0 and n - begin == arity and _all_numbers(new, begin, n):
            value, role = _folded(c, new, begin)
            if not math.isfinite(value):
                return 0
            n = put(new, begin, CONST, role, value)
        else:
            n = put(new, n, c, p.arg[i], p.value[i])
        starts[sp] = begin
        sp += 1
    return n


@inner
def _all_numbers(p: Postfix, begin: int, end: int) -> bool:
    for i in range(begin, end):
        if p.code[i] != CONST or p.arg[i] >= LOCAL:
            return False
    return True


@inner
def _folded(c: int, p: Postfix, at: int) -> tuple[float, int]:
    """Value and role of primitive c of the numbers that stand at p[at], p[at + 1]."""
    x, role = p.value[at], p.arg[at]
    if ARITY[c] == 1:
        value = _unary_value(c, x)
    else:
        value = _binary_value(c, x, p.value[at + 1])
        role = FIXED if role == FIXED and p.arg[at + 1] == FIXED else FREE
    return value, FIXED if role == FIXED and is_simple(value) else FREE


@inner
def _unary_value(c: int, x: float) -> float:
    if c == _NEG:
        return -x
    if c == _INV:
        return 1.0 / x
    if c == _SQUARE:
        return x * x
    if c == _CUBE:
        return x * x * x
    if c == _SQRT:
        return np.sqrt(x)
    return fold_unary(c, x)


@inner
def _binary_value(c: int, x: float, y: float) -> float:
    if c == _ADD:
        return x + y
    if c == _SUB:
        return x - y
    if c == _MUL:
        return x * y
    if c == _DIV:
        return x / y
    if c == _POW:
        return x**y
    return min(x, y) if c == _MIN else max(x, y)


@inner
def put(p: Postfix, n: int, code: int, arg: int, value: float) -> int:
    """Write node n of p; returns n + 1, or -1 when p is full."""
    if n < 0 or n >= len(p.code):
        return -1
    p.code[n], p.arg[n], p.value[n] = code, arg, value
    return n + 1


@kernel
def fold_batch(
    code: Any, arg: Any, value: Any, length: Any, out_code: Any, out_arg: Any, out_value: Any, out_length: Any
) -> None:
    """Fold the constant-only subtrees of every program; out_length[p] = 0 marks one that is not finite and real."""
    starts = np.zeros(code.shape[1] + 2, np.int64)
    for p in range(len(length)):
        out = Postfix(out_code[p], out_arg[p], out_value[p])
        out_length[p] = fold_one(Postfix(code[p], arg[p], value[p]), length[p], starts, out)
