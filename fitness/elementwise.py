"""Block loops of every primitive and of its derivatives: pointers to one block of rows in, one block out.

Each branch is a plain loop over contiguous numbers, which the compiler vectorises; an output never overlaps an
input unless it says so. NaN, infinities and domain errors behave as in numpy. A function here is longer than
elsewhere in this project because a primitive is a branch.
"""

from __future__ import annotations

import math

import numpy as np

from fitness import vector_math as vm
from fitness.jit import COUNT, NUMBER, NUMBERS, block_function
from operators.primitives import OPCODE

ADD, SUB, MUL, DIV, POW, MIN, MAX = (OPCODE[n] for n in ("add", "sub", "mul", "div", "pow", "min", "max"))
NEG, INV, SQUARE, CUBE, SQRT, ABS = (OPCODE[n] for n in ("neg", "inv", "square", "cube", "sqrt", "abs"))
EXP, LOG, SIN, COS, TAN = (OPCODE[n] for n in ("exp", "log", "sin", "cos", "tan"))
ASIN, ACOS, ATAN, SINH, COSH, TANH = (OPCODE[n] for n in ("asin", "acos", "atan", "sinh", "cosh", "tanh"))

_REPEATED = 64  # integer exponents up to this are powers by repeated multiplication


@block_function(NUMBERS, NUMBER, COUNT)
def fill(out, value, n):
    """out = value"""
    for r in range(n):
        out[r] = value


@block_function(NUMBERS, NUMBERS, NUMBER, COUNT)
def scaled_copy(out, a, scale, n):
    """out = scale * a"""
    for r in range(n):
        out[r] = scale * a[r]


@block_function(NUMBERS, NUMBERS, NUMBER, COUNT)
def scaled_add(out, a, scale, n):
    """out += scale * a"""
    for r in range(n):
        out[r] += scale * a[r]


@block_function(COUNT, NUMBERS, NUMBERS, COUNT)
def _large_angles(c, a, out, n):
    """Redo sin, cos or tan with the C library where |a| is too large for the fast argument reduction."""
    large = 0
    for r in range(n):
        large += abs(a[r]) > vm.TRIG_LIMIT
    if large == 0:
        return
    for r in range(n):
        if abs(a[r]) > vm.TRIG_LIMIT:
            out[r] = math.sin(a[r]) if c == SIN else (math.cos(a[r]) if c == COS else math.tan(a[r]))


@block_function(COUNT, NUMBERS, NUMBERS, COUNT)
def unary(c, a, out, n):
    """out = primitive c of a"""
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
            out[r] = vm.exp(a[r])
    elif c == LOG:
        for r in range(n):
            out[r] = vm.log(a[r])
    elif c == SIN:
        for r in range(n):
            out[r] = vm.sin(a[r])
    elif c == COS:
        for r in range(n):
            out[r] = vm.cos(a[r])
    elif c == TAN:
        for r in range(n):
            out[r] = vm.tan(a[r])
    elif c == ASIN:
        for r in range(n):
            out[r] = vm.asin(a[r])
    elif c == ACOS:
        for r in range(n):
            out[r] = vm.acos(a[r])
    elif c == ATAN:
        for r in range(n):
            out[r] = vm.atan(a[r])
    elif c == SINH:
        for r in range(n):
            out[r] = vm.sinh(a[r])
    elif c == COSH:
        for r in range(n):
            out[r] = vm.cosh(a[r])
    elif c == TANH:
        for r in range(n):
            out[r] = vm.tanh(a[r])
    if c in (SIN, COS, TAN):
        _large_angles(c, a, out, n)


@block_function(COUNT, NUMBERS, NUMBERS, NUMBERS, COUNT)
def binary(c, a, b, out, n):
    """out = primitive c of a and b"""
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
            out[r] = vm.exp(b[r] * vm.log(a[r]))
        for r in range(n):  # negative and zero bases, infinities
            if out[r] != out[r]:
                out[r] = a[r] ** b[r]
    elif c == MIN:
        for r in range(n):
            out[r] = a[r] if a[r] < b[r] or a[r] != a[r] else b[r]
    elif c == MAX:
        for r in range(n):
            out[r] = a[r] if a[r] > b[r] or a[r] != a[r] else b[r]


@block_function(NUMBERS, NUMBER, NUMBERS, COUNT)
def power(a, s, out, n):
    """out = a ** s for one exponent: integers by repeated squaring, other exponents through the logarithm"""
    if s == 0.0 or abs(s) == math.inf or s != s:
        for r in range(n):
            out[r] = a[r] ** s
    elif s == math.floor(s) and abs(s) <= _REPEATED:
        exponent = np.int64(abs(s))
        bit = 1
        while 2 * bit <= exponent:
            bit *= 2
        scaled_copy(out, a, 1.0, n)
        while bit > 1:
            bit //= 2
            if exponent & bit:
                for r in range(n):
                    out[r] = out[r] * out[r] * a[r]
            else:
                for r in range(n):
                    out[r] = out[r] * out[r]
        if s < 0.0:
            for r in range(n):
                out[r] = 1.0 / out[r]
    elif s == math.floor(s):
        for r in range(n):
            out[r] = a[r] ** s
    elif s == 0.5:
        for r in range(n):
            out[r] = math.sqrt(a[r])
    else:
        for r in range(n):
            out[r] = vm.exp(s * vm.log(a[r]))


@block_function(COUNT, NUMBERS, NUMBER, NUMBERS, COUNT)
def binary_number_right(c, a, s, out, n):
    """out = primitive c of a and the number s"""
    if c in (ADD, SUB):
        s = s if c == ADD else -s
        for r in range(n):
            out[r] = a[r] + s
    elif c == MUL:
        for r in range(n):
            out[r] = a[r] * s
    elif c == DIV:
        for r in range(n):
            out[r] = a[r] / s
    elif c == POW:
        power(a, s, out, n)
    elif c == MIN:
        for r in range(n):
            out[r] = a[r] if a[r] < s or a[r] != a[r] else s
    elif c == MAX:
        for r in range(n):
            out[r] = a[r] if a[r] > s or a[r] != a[r] else s


@block_function(COUNT, NUMBER, NUMBERS, NUMBERS, COUNT)
def binary_number_left(c, s, b, out, n):
    """out = primitive c of the number s and b"""
    if c == SUB:
        for r in range(n):
            out[r] = s - b[r]
    elif c == DIV:
        for r in range(n):
            out[r] = s / b[r]
    elif c == POW and s > 0.0 and s < math.inf:
        logarithm = math.log(s)
        for r in range(n):
            out[r] = vm.exp(b[r] * logarithm)
    elif c == POW:
        for r in range(n):
            out[r] = s ** b[r]
    else:  # the commutative ones
        binary_number_right(c, b, s, out, n)


@block_function(COUNT, NUMBERS, NUMBERS, NUMBERS, NUMBER, NUMBERS, COUNT)
def reverse_unary(c, a, out, above, scale, below, n):
    """below = scale * above * d(primitive c)/da, given its argument a and its value out"""
    if c == INV:
        for r in range(n):
            below[r] = -scale * above[r] * out[r] * out[r]
    elif c == SQUARE:
        for r in range(n):
            below[r] = 2.0 * scale * above[r] * a[r]
    elif c == CUBE:
        for r in range(n):
            below[r] = 3.0 * scale * above[r] * (a[r] * a[r])
    elif c == SQRT:
        for r in range(n):
            below[r] = 0.5 * scale * above[r] / out[r]
    elif c == ABS:
        for r in range(n):
            below[r] = scale * (above[r] if a[r] >= 0.0 else -above[r])
    elif c == EXP:
        for r in range(n):
            below[r] = scale * above[r] * out[r]
    elif c == LOG:
        for r in range(n):
            below[r] = scale * above[r] / a[r]
    elif c == SIN:
        unary(COS, a, below, n)
        for r in range(n):
            below[r] *= scale * above[r]
    elif c == COS:
        unary(SIN, a, below, n)
        for r in range(n):
            below[r] *= -scale * above[r]
    elif c == TAN:
        for r in range(n):
            below[r] = scale * above[r] * (1.0 + out[r] * out[r])
    elif c in (ASIN, ACOS):
        scale = scale if c == ASIN else -scale
        for r in range(n):
            below[r] = scale * above[r] / math.sqrt(1.0 - a[r] * a[r])
    elif c == ATAN:
        for r in range(n):
            below[r] = scale * above[r] / (1.0 + a[r] * a[r])
    elif c in (SINH, COSH):
        unary(COSH if c == SINH else SINH, a, below, n)
        for r in range(n):
            below[r] *= scale * above[r]
    elif c == TANH:
        for r in range(n):
            below[r] = scale * above[r] * (1.0 - out[r] * out[r])


@block_function(COUNT, COUNT, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBER, NUMBERS, COUNT)
def reverse_binary(c, side, a, b, out, above, scale, below, n):
    """below = scale * above * d(primitive c)/d(operand `side`), given both operands and the value out"""
    if c == MUL:
        other = b if side == 0 else a
        for r in range(n):
            below[r] = scale * above[r] * other[r]
    elif c == DIV and side == 0:
        for r in range(n):
            below[r] = scale * above[r] / b[r]
    elif c == DIV:
        for r in range(n):
            below[r] = -scale * above[r] * out[r] / b[r]
    elif c == POW and side == 0:
        for r in range(n):
            below[r] = scale * above[r] * b[r] * (out[r] / a[r])
        for r in range(n):
            if a[r] == 0.0:
                below[r] = scale * above[r] * b[r] * a[r] ** (b[r] - 1.0)
    elif c == POW:
        # At a base that is not positive the value exists for integer exponents only: no derivative, no move.
        for r in range(n):
            below[r] = scale * above[r] * out[r] * vm.log(a[r]) if a[r] > 0.0 else 0.0
    elif c == MIN:
        for r in range(n):
            below[r] = scale * above[r] if (a[r] <= b[r]) == (side == 0) else 0.0
    elif c == MAX:
        for r in range(n):
            below[r] = scale * above[r] if (a[r] >= b[r]) == (side == 0) else 0.0
