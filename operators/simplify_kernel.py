"""Reads programs into the arena under the value-keeping rules and writes them back, a batch at a time.

A pass that would add to C or to the fitted constants is dropped, and only constants are folded. A kernel module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from operators.arena import FINE, LAW, MINUS_ONE, NOT_REAL, TOO_LARGE, Arena, make_arena, number, reset, symbol
from operators.complexity_kernel import LOCALS, Postfix, count_one
from operators.fold_kernel import fold_one
from operators.jit import inner, kernel, outer
from operators.primitives import ARITY, CONST, OPCODE, VAR
from operators.program import FIXED, FREE, LOCAL
from operators.rules_functions import extremum, function
from operators.rules_powers import power
from operators.rules_products import scale, times
from operators.rules_sums import plus
from operators.write_terms import Writer, make_writer, write

_ADD, _CUBE, _DIV, _INV, _MUL, _NEG, _POW, _SQRT, _SQUARE, _SUB = (
    OPCODE[n] for n in ["add", "cube", "div", "inv", "mul", "neg", "pow", "sqrt", "square", "sub"]
)

_PASSES = 3
_UNKNOWN = 1 << 40  # C of a program that could not be counted


@outer
def _unary(a: Arena, op: int, u: int) -> int:
    if op == _NEG:
        return scale(a, u, -1.0, FIXED)
    if op == _INV:
        return power(a, u, MINUS_ONE)
    if op == _SQUARE:
        return power(a, u, number(a, 2.0, FIXED))
    if op == _CUBE:
        return power(a, u, number(a, 3.0, FIXED))
    if op == _SQRT:
        return power(a, u, number(a, 0.5, FIXED))
    return function(a, op, u)


@outer
def _binary(a: Arena, op: int, i: int, j: int) -> int:
    if op == _ADD:
        return plus(a, i, j, 1.0)
    if op == _SUB:
        return plus(a, i, j, -1.0)
    if op == _MUL:
        return times(a, i, j)
    if op == _DIV:
        return times(a, i, power(a, j, MINUS_ONE))
    if op == _POW:
        return power(a, i, j)
    return extremum(a, op, i, j)


@inner
def read_law(a: Arena, p: Postfix, length: int, stack: Any) -> int:
    """The root node of a program; state.bad says when a constant part is not real or the arena is too small."""
    sp = 0
    for i in range(length):
        c = p.code[i]
        if c == VAR:
            node = symbol(a, p.arg[i], 0.0)
        elif c == CONST:
            lone = p.arg[i] < LOCAL or (p.value[i] != 0.0 and _uses(p, length, p.arg[i]) == 1)
            node = number(a, p.value[i], p.arg[i]) if lone else symbol(a, LOCALS + p.arg[i], p.value[i])
        elif ARITY[c] == 1:
            sp -= 1
            node = _unary(a, c, stack[sp])
        else:
            sp -= 2
            node = _binary(a, c, stack[sp], stack[sp + 1])
        if a.state[0].bad != FINE:
            return 0
        stack[sp] = node
        sp += 1
    return stack[0]


@inner
def _uses(p: Postfix, length: int, role: int) -> int:
    """How many constants of a program have the given role."""
    n = 0
    for i in range(length):
        n += p.code[i] == CONST and p.arg[i] == role
    return n


@inner
def _is_spelled(p: Postfix, length: int, allowed: int) -> bool:
    for i in range(length):
        if (allowed >> np.int64(p.code[i])) & 1 == 0:
            return False
    return True


@inner
def _pass(a: Arena, w: Writer, stack: Any, old: Postfix, length: int, cost: int, allowed: int, new: Postfix) -> int:
    """Rewrite `old` into `new`. Returns the new length, 0 when `old` is not real, -1 when it should stay as it is.

    Leaves C of `new` in the writer's state.
    """
    reset(a, LAW)
    a.state[0].allowed = allowed
    root = read_law(a, old, length, stack)
    if a.state[0].bad == NOT_REAL:
        return 0
    if a.state[0].bad == TOO_LARGE:
        return -1
    w.state[0].allowed = allowed
    n = write(a, w, root, new)
    if n <= 0 or not _is_spelled(new, n, allowed) or _uses(new, n, FREE) > _uses(old, length, FREE):
        return -1
    w.state[0].cost = count_one(a, new, n, stack)
    return n if 0 <= w.state[0].cost <= cost else -1


@inner
def _copy(p: Postfix, length: int, to: Postfix) -> bool:
    """Copy a program; False when it was there already."""
    changed = False
    for i in range(length):
        changed = changed or p.code[i] != to.code[i] or p.arg[i] != to.arg[i] or p.value[i] != to.value[i]
        to.code[i], to.arg[i], to.value[i] = p.code[i], p.arg[i], p.value[i]
    return changed


@inner
def _folded_or_same(a: Arena, p: Postfix, length: int, cost: int, stack: Any, new: Postfix) -> int:
    """Fold p into `new` where that makes neither C nor the fitted constants more, else copy it."""
    n = fold_one(p, length, stack, new)
    if n > 0 and (_uses(new, n, FREE) > _uses(p, length, FREE) or count_one(a, new, n, stack) > cost):
        _copy(p, length, new)
        return length
    return n


@kernel
def simplify_batch(
    code: Any, arg: Any, value: Any, length: Any, allowed: Any,
    out_code: Any, out_arg: Any, out_value: Any, out_length: Any,
) -> None:  # fmt: skip
    """Simplify every program (code, arg, value) (P, L) into out_*; out_length[p] = 0 marks one that is not real.

    allowed[p] is a bit mask of the opcodes program p may be written with.
    """
    width = code.shape[1]
    a = make_arena(width)
    w = make_writer(width)
    stack = np.zeros(2 * width + 2, np.int64)
    new = Postfix(np.zeros(width, np.uint8), np.zeros(width, np.int16), np.zeros(width))
    for p in range(len(length)):
        out = Postfix(out_code[p], out_arg[p], out_value[p])
        n = length[p]
        _copy(Postfix(code[p], arg[p], value[p]), n, out)
        cost = count_one(a, out, n, stack)
        for _ in range(_PASSES):
            m = _pass(a, w, stack, out, n, cost if cost >= 0 else _UNKNOWN, allowed[p], new)
            if m < 0:
                m = _folded_or_same(a, out, n, cost, stack, new)
            else:
                cost = w.state[0].cost
            n = m
            if m == 0 or not _copy(new, m, out):
                break
        out_length[p] = n
