"""Block loops of every primitive and of its derivatives: arrays of one block in, an array of the block out.

Each branch is a plain loop over contiguous arrays, which the compiler vectorises. Outputs never alias inputs.
NaN, infinities and domain errors behave as in numpy.
"""

from __future__ import annotations

import math

from fitness.jit import kernel
from operators.primitives import OPCODE

ADD, SUB, MUL, DIV, POW, MIN, MAX = (OPCODE[n] for n in ("add", "sub", "mul", "div", "pow", "min", "max"))
NEG, INV, SQUARE, CUBE, SQRT, ABS = (OPCODE[n] for n in ("neg", "inv", "square", "cube", "sqrt", "abs"))
EXP, LOG, SIN, COS, TAN = (OPCODE[n] for n in ("exp", "log", "sin", "cos", "tan"))
ASIN, ACOS, ATAN, SINH, COSH, TANH = (OPCODE[n] for n in ("asin", "acos", "atan", "sinh", "cosh", "tanh"))


@kernel
def fill(out, value):  # type: ignore[no-untyped-def]
    """out[:] = value"""
    for r in range(out.size):
        out[r] = value


@kernel
def unary(c, a, out):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912 - one branch a primitive
    """out = primitive c of a"""
    n = out.size
    if c == NEG:
        for r in range(n):
            out[r] = -a[r]
    elif c == INV:
        for r in range(n):
            out[r] = 1.0 / a[r]
    elif c == SQUARE:
        for r in range(n):
            out[r] = a[r] * a[r]
    elif c == CUBE:
        for r in range(n):
            out[r] = a[r] * a[r] * a[r]
    elif c == SQRT:
        for r in range(n):
            out[r] = math.sqrt(a[r])
    elif c == ABS:
        for r in range(n):
            out[r] = abs(a[r])
    elif c == EXP:
        for r in range(n):
            out[r] = math.exp(a[r])
    elif c == LOG:
        for r in range(n):
            out[r] = math.log(a[r])
    elif c == SIN:
        for r in range(n):
            out[r] = math.sin(a[r])
    elif c == COS:
        for r in range(n):
            out[r] = math.cos(a[r])
    elif c == TAN:
        for r in range(n):
            out[r] = math.tan(a[r])
    elif c == ASIN:
        for r in range(n):
            out[r] = math.asin(a[r])
    elif c == ACOS:
        for r in range(n):
            out[r] = math.acos(a[r])
    elif c == ATAN:
        for r in range(n):
            out[r] = math.atan(a[r])
    elif c == SINH:
        for r in range(n):
            out[r] = math.sinh(a[r])
    elif c == COSH:
        for r in range(n):
            out[r] = math.cosh(a[r])
    elif c == TANH:
        for r in range(n):
            out[r] = math.tanh(a[r])


@kernel
def binary(c, a, b, out):  # type: ignore[no-untyped-def]
    """out = primitive c of a and b"""
    n = out.size
    if c == ADD:
        for r in range(n):
            out[r] = a[r] + b[r]
    elif c == SUB:
        for r in range(n):
            out[r] = a[r] - b[r]
    elif c == MUL:
        for r in range(n):
            out[r] = a[r] * b[r]
    elif c == DIV:
        for r in range(n):
            out[r] = a[r] / b[r]
    elif c == POW:
        for r in range(n):
            out[r] = a[r] ** b[r]
    elif c == MIN:
        for r in range(n):
            out[r] = a[r] if a[r] < b[r] or a[r] != a[r] else b[r]
    elif c == MAX:
        for r in range(n):
            out[r] = a[r] if a[r] > b[r] or a[r] != a[r] else b[r]


@kernel
def binary_const_right(c, a, s, out):  # type: ignore[no-untyped-def]
    """out = primitive c of a and the number s"""
    n = out.size
    if c == ADD:
        for r in range(n):
            out[r] = a[r] + s
    elif c == SUB:
        for r in range(n):
            out[r] = a[r] - s
    elif c == MUL:
        for r in range(n):
            out[r] = a[r] * s
    elif c == DIV:
        for r in range(n):
            out[r] = a[r] / s
    elif c == POW:
        power(a, s, out)
    elif c == MIN:
        for r in range(n):
            out[r] = a[r] if a[r] < s or a[r] != a[r] else s
    elif c == MAX:
        for r in range(n):
            out[r] = a[r] if a[r] > s or a[r] != a[r] else s


@kernel
def binary_const_left(c, s, b, out):  # type: ignore[no-untyped-def]
    """out = primitive c of the number s and b"""
    n = out.size
    if c == SUB:
        for r in range(n):
            out[r] = s - b[r]
    elif c == DIV:
        for r in range(n):
            out[r] = s / b[r]
    elif c == POW:
        for r in range(n):
            out[r] = s ** b[r]
    else:  # the commutative ones
        binary_const_right(c, b, s, out)


@kernel
def power(a, s, out):  # type: ignore[no-untyped-def]
    """out = a ** s for one exponent: small integers by repeated multiplication, otherwise the library's pow"""
    n = out.size
    if s == math.floor(s) and abs(s) <= 16.0 and s != 0.0:
        fill(out, 1.0)
        for _ in range(int(abs(s))):
            for r in range(n):
                out[r] *= a[r]
        if s < 0.0:
            for r in range(n):
                out[r] = 1.0 / out[r]
    elif s == 0.5:
        for r in range(n):
            out[r] = math.sqrt(a[r])
    else:
        for r in range(n):
            out[r] = a[r] ** s


@kernel
def reverse_unary(c, a, out, above, below):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912
    """below = above * d(primitive c)/da, given its argument a and its value out"""
    n = out.size
    if c == NEG:
        for r in range(n):
            below[r] = -above[r]
    elif c == INV:
        for r in range(n):
            below[r] = -above[r] * out[r] * out[r]
    elif c == SQUARE:
        for r in range(n):
            below[r] = 2.0 * above[r] * a[r]
    elif c == CUBE:
        for r in range(n):
            below[r] = 3.0 * above[r] * a[r] * a[r]
    elif c == SQRT:
        for r in range(n):
            below[r] = 0.5 * above[r] / out[r]
    elif c == ABS:
        for r in range(n):
            below[r] = above[r] if a[r] >= 0.0 else -above[r]
    elif c == EXP:
        for r in range(n):
            below[r] = above[r] * out[r]
    elif c == LOG:
        for r in range(n):
            below[r] = above[r] / a[r]
    elif c == SIN:
        for r in range(n):
            below[r] = above[r] * math.cos(a[r])
    elif c == COS:
        for r in range(n):
            below[r] = -above[r] * math.sin(a[r])
    elif c == TAN:
        for r in range(n):
            below[r] = above[r] * (1.0 + out[r] * out[r])
    elif c == ASIN:
        for r in range(n):
            below[r] = above[r] / math.sqrt(1.0 - a[r] * a[r])
    elif c == ACOS:
        for r in range(n):
            below[r] = -above[r] / math.sqrt(1.0 - a[r] * a[r])
    elif c == ATAN:
        for r in range(n):
            below[r] = above[r] / (1.0 + a[r] * a[r])
    elif c == SINH:
        for r in range(n):
            below[r] = above[r] * math.cosh(a[r])
    elif c == COSH:
        for r in range(n):
            below[r] = above[r] * math.sinh(a[r])
    elif c == TANH:
        for r in range(n):
            below[r] = above[r] * (1.0 - out[r] * out[r])


@kernel
def reverse_binary(c, side, a, b, out, above, below):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912
    """below = above * d(primitive c)/d(operand `side`), given both operands and the value out"""
    n = out.size
    if c == ADD or (c == SUB and side == 0):
        for r in range(n):
            below[r] = above[r]
    elif c == SUB:
        for r in range(n):
            below[r] = -above[r]
    elif c == MUL:
        other = b if side == 0 else a
        for r in range(n):
            below[r] = above[r] * other[r]
    elif c == DIV and side == 0:
        for r in range(n):
            below[r] = above[r] / b[r]
    elif c == DIV:
        for r in range(n):
            below[r] = -above[r] * out[r] / b[r]
    elif c == POW and side == 0:
        for r in range(n):
            below[r] = above[r] * b[r] * (out[r] / a[r] if a[r] != 0.0 else a[r] ** (b[r] - 1.0))
    elif c == POW:
        # At a base that is not positive the value exists for integer exponents only: no derivative, no move.
        for r in range(n):
            below[r] = above[r] * out[r] * math.log(a[r]) if a[r] > 0.0 else 0.0
    elif c == MIN:
        for r in range(n):
            below[r] = above[r] if (a[r] <= b[r]) == (side == 0) else 0.0
    elif c == MAX:
        for r in range(n):
            below[r] = above[r] if (a[r] >= b[r]) == (side == 0) else 0.0
