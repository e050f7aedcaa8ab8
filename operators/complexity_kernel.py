"""C = 2*binary + unary over the tree sympy would build, for a batch of programs, without sympy.

What is reproduced of sympy's automatic evaluation (1.14): like terms and like powers merge, numbers fold and are
spread over a sum that stands alone with them, an integer power is spread over a product, ``(x**a)**b`` merges for
integer b or \\|a\\| < 1, numbers leave ``exp`` of a sum, ``exp(k*log(x))`` is a power, odd and even functions shed a
leading minus. FREE numbers are Floats, FIXED ones exact; `sqrt` is the power 0.5. Not reproduced: sort-key ties for
the sign of an argument such as sin(x - y), and the rarer powers of exact numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from operators.arena import (
    ADD,
    COUNT,
    E_NODE,
    FUN,
    MINUS_ONE,
    MUL,
    NUM,
    ONE,
    POW,
    Arena,
    child_of,
    is_integer,
    is_number,
    joint,
    make_arena,
    node1,
    node2,
    number,
    reset,
    symbol,
)
from operators.jit import inner, kernel, outer
from operators.primitives import ARITY, CONST, OPCODE, VAR
from operators.program import FIXED, FREE, LOCAL
from operators.terms import (
    add_scaled,
    core,
    power_node,
    product_absorb,
    product_begin,
    product_end,
    product_power,
    scaled,
    spread,
)

_ADD, _SUB, _MUL, _DIV, _POW, _NEG, _INV, _SQUARE, _CUBE, _SQRT, _ABS, _EXP, _LOG = (
    OPCODE[n] for n in ["add", "sub", "mul", "div", "pow", "neg", "inv", "square", "cube", "sqrt", "abs", "exp", "log"]
)
_SIN, _COS, _TAN, _ASIN, _ACOS, _ATAN, _SINH, _COSH, _TANH, _MIN, _MAX = (
    OPCODE[n] for n in ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "min", "max"]
)
LOCALS = 100000  # local slot k is the symbol LOCALS + role, after every feature


@outer
def fold_unary(op: int, x: float) -> float:
    """The value of a unary primitive at a number (NaN or inf where it has none)."""
    if op == _ABS:
        return abs(x)
    if op == _EXP:
        return np.exp(x)
    if op == _LOG:
        return np.log(x)
    if op == _SIN:
        return np.sin(x)
    if op == _COS:
        return np.cos(x)
    if op == _TAN:
        return np.tan(x)
    if op == _ASIN:
        return np.arcsin(x)
    if op == _ACOS:
        return np.arccos(x)
    if op == _ATAN:
        return np.arctan(x)
    if op == _SINH:
        return np.sinh(x)
    if op == _COSH:
        return np.cosh(x)
    if op == _TANH:
        return np.tanh(x)
    return np.nan


@inner
def _standing_alone(a: Arena, i: int) -> int:
    """A number times one sum: sympy spreads it."""
    if a.node[i].kind == MUL and a.node[i].count == 1 and a.node[child_of(a, i, 0)].kind == ADD:
        return spread(a, child_of(a, i, 0), a.node[i].num, a.node[i].role)
    return i


@outer
def _times(a: Arena, i: int, j: int) -> int:
    product_begin(a)
    product_absorb(a, i)
    product_absorb(a, j)
    return _standing_alone(a, product_end(a))


@outer
def _power(a: Arena, base: int, exponent: int) -> int:
    if is_number(a, exponent, 1.0):
        return base
    if is_number(a, exponent, 0.0) or is_number(a, base, 1.0):
        return ONE
    if a.node[exponent].kind == NUM:
        return _number_power(a, base, exponent)
    return node2(a, POW, 0, base, exponent)


@outer
def _number_power(a: Arena, base: int, exponent: int) -> int:
    e, kind = a.node[exponent].num, a.node[base].kind
    if kind == NUM and (a.node[base].role == FREE or a.node[exponent].role == FREE or is_integer(a, exponent)):
        value = a.node[base].num ** e
        return number(a, value, joint(a, a.node[base].role, a.node[exponent].role, value))
    if kind == MUL and is_integer(a, exponent):
        product_begin(a)
        product_power(a, base, exponent)
        return _standing_alone(a, product_end(a))
    scale = 1.0
    if kind == MUL and abs(a.node[base].num) != 1.0:  # (-1.5*x)**0.7 is 1.5**0.7*(-x)**0.7
        scale = abs(a.node[base].num) ** e
        base = scaled(a, core(a, base), np.sign(a.node[base].num), FIXED)
    return scaled(a, _nested_power(a, base, exponent), scale, FIXED if scale == 1.0 else FREE)


@outer
def _nested_power(a: Arena, base: int, exponent: int) -> int:
    """(x**p)**q is x**(p*q) for an integer q, or |p| < 1."""
    if a.node[base].kind == POW:
        inside = child_of(a, base, 1)
        if is_integer(a, exponent) or (a.node[inside].kind == NUM and abs(a.node[inside].num) < 1.0):
            merged = spread(a, inside, a.node[exponent].num, a.node[exponent].role)
            return power_node(a, child_of(a, base, 0), merged)
    return node2(a, POW, 0, base, exponent)


@inner
def _log_inside(a: Arena, i: int) -> int:
    """v where node i is log(v), else -1."""
    return child_of(a, i, 0) if a.node[i].kind == FUN and a.node[i].op == _LOG else -1


@outer
def _exp(a: Arena, u: int) -> int:
    if a.node[u].kind == NUM:
        if a.node[u].role == FREE or a.node[u].num == 0.0:
            return number(a, np.exp(a.node[u].num), a.node[u].role)
        return node2(a, POW, 0, E_NODE, u)
    if a.node[u].kind == ADD:
        return _exp_of_sum(a, u)
    inside = _log_inside(a, core(a, u))
    if inside >= 0:
        return _power(a, inside, number(a, a.node[u].num, a.node[u].role) if a.node[u].kind == MUL else ONE)
    return node2(a, POW, 0, E_NODE, u)


@outer
def _exp_of_sum(a: Arena, u: int) -> int:
    """exp(x + 1.5 + 2*log(y)) is 4.48*y**2*exp(x)."""
    rest, out = u, ONE
    if a.node[u].num != 0.0 and a.node[u].role == FREE:
        out = number(a, np.exp(a.node[u].num), FREE)
        rest = add_scaled(a, rest, number(a, a.node[u].num, FREE), -1.0, FIXED)
    for k in range(a.node[u].first, a.node[u].first + a.node[u].count):
        inside = _log_inside(a, a.pool[k].child)
        if inside >= 0:
            out = _times(a, out, _power(a, inside, number(a, a.pool[k].coef, a.pool[k].role)))
            rest = add_scaled(a, rest, a.pool[k].child, -a.pool[k].coef, a.pool[k].role)
    if a.node[rest].kind == NUM:
        return out if a.node[rest].num == 0.0 else _times(a, out, node2(a, POW, 0, E_NODE, rest))
    return _times(a, out, node2(a, POW, 0, E_NODE, rest))


@outer
def _sheds_minus(a: Arena, u: int) -> bool:
    """Would sympy pull a minus sign out of the argument u of an odd or even function?"""
    if a.node[u].kind == NUM or a.node[u].kind == MUL:
        return a.node[u].num < 0.0
    if a.node[u].kind != ADD:
        return False
    minus, first_negative = 0, False
    for k in range(a.node[u].first, a.node[u].first + a.node[u].count):
        negative = a.pool[k].coef < 0.0
        minus += negative
        if k == a.node[u].first:
            first_negative = negative
    n = a.node[u].count + (a.node[u].num != 0.0)
    minus += a.node[u].num < 0.0
    return 2 * minus > n or (2 * minus == n and first_negative)


@outer
def _function(a: Arena, op: int, u: int) -> int:
    if op == _EXP:
        return _exp(a, u)
    exact_value = a.node[u].num == 0.0 or (op == _LOG and a.node[u].num == 1.0)
    if a.node[u].kind == NUM and (a.node[u].role == FREE or exact_value):
        return number(a, fold_unary(op, a.node[u].num), a.node[u].role)
    odd = op == _SIN or op == _TAN or op == _ASIN or op == _ATAN or op == _SINH or op == _TANH
    even = op == _COS or op == _COSH or op == _ABS
    if (odd or even) and _sheds_minus(a, u):
        positive = node1(a, FUN, op, spread(a, u, -1.0, FIXED))
        return scaled(a, positive, -1.0, FIXED) if odd else positive
    return node1(a, FUN, op, u)


@inner
def _extremum(a: Arena, op: int, i: int, j: int) -> int:
    if a.node[i].kind == NUM and a.node[j].kind == NUM:
        value = min(a.node[i].num, a.node[j].num) if op == _MIN else max(a.node[i].num, a.node[j].num)
        return number(a, value, joint(a, a.node[i].role, a.node[j].role, value))
    return i if a.node[i].hash == a.node[j].hash else node2(a, FUN, op, i, j)


@outer
def _binary(a: Arena, op: int, i: int, j: int) -> int:
    if op == _ADD:
        return _standing_alone(a, add_scaled(a, i, j, 1.0, FIXED))
    if op == _SUB:
        return _standing_alone(a, add_scaled(a, i, j, -1.0, FIXED))
    if op == _MUL:
        return _times(a, i, j)
    if op == _DIV:
        return _times(a, i, _power(a, j, MINUS_ONE))
    if op == _POW:
        return _power(a, i, j)
    return _extremum(a, op, i, j)


@outer
def _unary(a: Arena, op: int, u: int) -> int:
    if op == _NEG:
        return _times(a, MINUS_ONE, u)
    if op == _INV:
        return _power(a, u, MINUS_ONE)
    if op == _SQUARE:
        return _power(a, u, number(a, 2.0, FIXED))
    if op == _CUBE:
        return _power(a, u, number(a, 3.0, FIXED))
    if op == _SQRT:
        return _power(a, u, number(a, 0.5, FREE))
    return _function(a, op, u)


class Postfix(NamedTuple):
    """One program of a batch inside kernels: its rows of code, arg and value."""

    code: Any
    arg: Any
    value: Any


@inner
def count_one(a: Arena, p: Postfix, length: int, stack: Any) -> int:
    """C of one program; -1 when the arena is too small or a constant part has no real value."""
    reset(a, COUNT)
    sp = 0
    for i in range(length):
        c = p.code[i]
        if c == VAR:
            node = symbol(a, p.arg[i], 0.0)
        elif c == CONST:
            node = symbol(a, LOCALS + p.arg[i], 0.0) if p.arg[i] >= LOCAL else number(a, p.value[i], p.arg[i])
        elif ARITY[c] == 1:
            sp -= 1
            node = _unary(a, c, stack[sp])
        else:
            sp -= 2
            node = _binary(a, c, stack[sp], stack[sp + 1])
        if a.state[0].bad:
            return -1
        stack[sp] = node
        sp += 1
    return a.node[stack[0]].cost


@inner
def count_plain(code: Any, length: int) -> int:
    """C of the tree as it stands, the fallback for a program the arena cannot hold."""
    total = 0
    for i in range(length):
        c = code[i]
        if c == _INV or c == _SQUARE or c == _CUBE or c == _SQRT or c == _NEG:
            total += 2
        elif c > VAR:
            total += 2 if ARITY[c] == 2 else 1
            if c == _SUB or c == _DIV:
                total += 2
    return total


@kernel
def count_batch(code: Any, arg: Any, value: Any, length: Any, out: Any) -> None:
    """out[p] = C of program p of the batch (code, arg, value) (P, L), length (P,)."""
    width = code.shape[1]
    a = make_arena(width)
    stack = np.zeros(width + 2, np.int64)
    for p in range(len(length)):
        c = count_one(a, Postfix(code[p], arg[p], value[p]), length[p], stack)
        out[p] = c if c >= 0 else count_plain(code[p], length[p])
