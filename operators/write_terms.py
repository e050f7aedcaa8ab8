"""Writes the terms of the arena back as postfix: which of several equal spellings a law gets.

Sums begin with a term that needs no minus, structural minus signs become `sub`, negative structural exponents a `div`,
fitted coefficients stay in front with their sign, so that programs which differ in fitted values only have one shape.
A number is multiplied in last, where sympy will not spread it over a sum. A kernel module.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from operators.arena import ADD, E_NODE, FUN, MUL, NUM, POW, SYM, Arena, child_of, is_one
from operators.complexity_kernel import LOCALS, Postfix
from operators.fold_kernel import put
from operators.jit import inner, named_tuple, outer, register
from operators.primitives import CONST, OPCODE, VAR
from operators.program import FIXED
from operators.rules_products import steps_of_power

_ADD, _CUBE, _DIV, _EXP, _INV, _MUL, _NEG, _POW, _SQRT, _SQUARE, _SUB = (
    OPCODE[n] for n in ["add", "cube", "div", "exp", "inv", "mul", "neg", "pow", "sqrt", "square", "sub"]
)

_TASK_NODE, _TASK_CODE, _TASK_NUMBER = 0, 1, 2
_TASK = np.dtype([("kind", "i8"), ("what", "i8"), ("value", "f8")])
_WRITER_STATE = np.dtype([("n", "i8"), ("full", "i8"), ("allowed", "i8"), ("cost", "i8")])


class Writer(NamedTuple):
    """The writer's stack of tasks and its counters, record arrays."""

    task: Any
    state: Any


register("Writer", named_tuple(Writer, _TASK, _WRITER_STATE))


@inner
def make_writer(width: int) -> Writer:
    """A writer for programs of up to `width` nodes."""
    return Writer(np.zeros(8 * width + 64, _TASK), np.zeros(1, _WRITER_STATE))


@inner
def _push(w: Writer, kind: int, what: int, value: float) -> None:
    """Put a task on the writer's stack: tasks are pushed last first."""
    n = w.state[0].n
    if n >= len(w.task):
        w.state[0].full = 1
        return
    w.task[n].kind, w.task[n].what, w.task[n].value = kind, what, value
    w.state[0].n = n + 1


@inner
def _push_code(w: Writer, op: int) -> None:
    _push(w, _TASK_CODE, op, 0.0)


@inner
def _push_number(w: Writer, value: float, role: int) -> None:
    _push(w, _TASK_NUMBER, role, value)


@inner
def _push_node(w: Writer, i: int) -> None:
    _push(w, _TASK_NODE, i, 0.0)


@outer
def _push_power(a: Arena, w: Writer, base: int, exponent: int) -> None:
    """base ** exponent, by the spelling of its own where the exponent has one."""
    if base == E_NODE:
        _push_code(w, _EXP)
        _push_node(w, exponent)
        return
    e = a.node[exponent]
    if e.kind != NUM or e.role != FIXED:
        _push_code(w, _POW)
        _push_node(w, exponent)
        _push_node(w, base)
        return
    if e.num < 0.0:
        _push_code(w, _INV)
    _push_exponent(w, abs(e.num))
    _push_node(w, base)


@outer
def _push_exponent(w: Writer, e: float) -> None:
    """The operations that raise what stands before them to the structural power e > 0."""
    steps = steps_of_power(e)
    if e == 1.0:
        return
    if steps == 0 or (steps == 3 and (w.state[0].allowed >> _POW) & 1):
        _push_code(w, _POW)
        _push_number(w, e, FIXED)
        return
    whole = e
    while whole != np.rint(whole):
        whole = 2.0 * whole
    roots = whole / e
    while whole != 1.0:  # pushed last first: roots are taken first, so that sympy makes one power of cube(sqrt(x))
        if np.rint(whole / 3.0) == whole / 3.0:
            _push_code(w, _CUBE)
            whole = whole / 3.0
        else:
            _push_code(w, _SQUARE)
            whole = whole / 2.0
    while roots > 1.0:
        _push_code(w, _SQRT)
        roots = roots / 2.0


@inner
def _exponent_of(a: Arena, i: int) -> float:
    """Structural exponent of a factor, 1 where it has none."""
    if a.node[i].kind != POW or child_of(a, i, 0) == E_NODE:
        return 1.0
    e = a.node[child_of(a, i, 1)]
    return e.num if e.kind == NUM and e.role == FIXED else 1.0


@inner
def _n_factors(a: Arena, i: int) -> int:
    return a.node[i].count if a.node[i].kind == MUL else 1


@inner
def _factor(a: Arena, i: int, k: int) -> int:
    """Factor k of node i, which is its only one unless it is a product."""
    return child_of(a, i, k) if a.node[i].kind == MUL else i


@inner
def _side_before(a: Arena, i: int, end: int, sign: float) -> bool:
    """Has any of the first `end` factors of node i a structural exponent of the given sign?"""
    for k in range(end):
        if _exponent_of(a, _factor(a, i, k)) * sign > 0.0:
            return True
    return False


@inner
def _exponent_before(a: Arena, i: int, end: int, e: float) -> bool:
    """Has any of the first `end` factors of node i the structural exponent e?"""
    for k in range(end):
        if _exponent_of(a, _factor(a, i, k)) == e:
            return True
    return False


@inner
def _has_side(a: Arena, i: int, sign: float) -> bool:
    return _side_before(a, i, _n_factors(a, i), sign)


@outer
def _push_bases(a: Arena, w: Writer, i: int, e: float) -> None:
    """The product of the bases of the factors of node i with the structural exponent e."""
    for k in range(_n_factors(a, i) - 1, -1, -1):
        factor = _factor(a, i, k)
        if _exponent_of(a, factor) == e:
            if _exponent_before(a, i, k, e):
                _push_code(w, _MUL)
            _push_node(w, child_of(a, factor, 0))


@outer
def _push_side(a: Arena, w: Writer, i: int, sign: float) -> None:
    """The product of the factors of node i whose structural exponent has the given sign, exponents made positive.

    Factors of equal exponent share it: x**2*y**2 is written (x*y)**2.
    """
    for k in range(_n_factors(a, i) - 1, -1, -1):
        e = _exponent_of(a, _factor(a, i, k))
        if e * sign <= 0.0 or (e != 1.0 and _exponent_before(a, i, k, e)):
            continue
        if _side_before(a, i, k, sign):
            _push_code(w, _MUL)
        if e == 1.0:
            _push_node(w, _factor(a, i, k))
        else:
            _push_exponent(w, abs(e))
            _push_bases(a, w, i, e)


@inner
def _only_sum_above(a: Arena, i: int) -> bool:
    """Is the numerator of node i one sum? Then a number goes to the denominator first: (c/z)*(x + y)."""
    if a.node[i].kind != MUL:
        return False
    above = 0
    for k in range(a.node[i].count):
        factor = child_of(a, i, k)
        if _exponent_of(a, factor) > 0.0:
            above += 1
            if a.node[factor].kind != ADD:
                return False
    return above == 1


@inner
def _shared_exponent(a: Arena, i: int) -> float:
    """n where every factor of node i is a power n or -n, both occur and n is not 1; else 0."""
    if a.node[i].kind != MUL or not _has_side(a, i, 1.0) or not _has_side(a, i, -1.0):
        return 0.0
    n = abs(_exponent_of(a, child_of(a, i, 0)))
    for k in range(a.node[i].count):
        if abs(_exponent_of(a, child_of(a, i, k))) != n:
            return 0.0
    return n if n != 1.0 else 0.0


@outer
def _push_quotient(a: Arena, w: Writer, i: int) -> None:
    """The factors of node i: above, below, or a quotient; (x/y)**n where all share the exponent n."""
    n = _shared_exponent(a, i)
    if n != 0.0:
        _push_exponent(w, n)
        _push_code(w, _DIV)
        _push_bases(a, w, i, -n)
        _push_bases(a, w, i, n)
    elif not _has_side(a, i, -1.0):
        _push_side(a, w, i, 1.0)
    elif not _has_side(a, i, 1.0):
        _push_code(w, _INV)
        _push_side(a, w, i, -1.0)
    else:
        _push_code(w, _DIV)
        _push_side(a, w, i, -1.0)
        _push_side(a, w, i, 1.0)


@outer
def _push_product(a: Arena, w: Writer, i: int, coef: float, role: int) -> None:
    """coef * node i (a MUL whose own coefficient is not looked at, or one factor)."""
    below = _has_side(a, i, -1.0)
    if role == FIXED and abs(coef) == 1.0:
        if coef < 0.0:
            _push_code(w, _NEG)
        _push_quotient(a, w, i)
    elif below and not _has_side(a, i, 1.0):
        _push_code(w, _DIV)
        _push_side(a, w, i, -1.0)
        _push_number(w, coef, role)
    elif below and _only_sum_above(a, i):
        _push_code(w, _MUL)
        _push_side(a, w, i, 1.0)
        _push_code(w, _DIV)
        _push_side(a, w, i, -1.0)
        _push_number(w, coef, role)
    elif below and _shared_exponent(a, i) == 0.0:
        _push_code(w, _DIV)
        _push_side(a, w, i, -1.0)
        _push_code(w, _MUL)
        _push_side(a, w, i, 1.0)
        _push_number(w, coef, role)
    else:
        _push_code(w, _MUL)
        _push_quotient(a, w, i)
        _push_number(w, coef, role)


@outer
def _push_scaled(a: Arena, w: Writer, i: int, coef: float, role: int) -> None:
    """coef * node i for a term of a sum; structural coefficients arrive positive."""
    kind = a.node[i].kind
    if kind == MUL or kind == POW:
        _push_product(a, w, i, coef, role)
        return
    if not is_one(coef, role):
        _push_code(w, _MUL)
    _push_node(w, i)
    if not is_one(coef, role):
        _push_number(w, coef, role)


@outer
def _common_factor(a: Arena, i: int) -> float:
    """The size all numbers of a sum share, when they are structural; else 1."""
    node = a.node[i]
    size = abs(a.pool[node.first].coef)
    for k in range(node.first, node.first + node.count):
        if a.pool[k].role != FIXED or abs(a.pool[k].coef) != size:
            return 1.0
    if node.num != 0.0 and (node.role != FIXED or abs(node.num) != size):
        return 1.0
    return size if node.count > 1 or node.num != 0.0 else 1.0


@outer
def _push_sum(a: Arena, w: Writer, i: int) -> None:
    """A sum: terms that need no minus first, structural minus signs as `sub`, the constant last."""
    node = a.node[i]
    factor = _common_factor(a, i)
    positive = 0
    for k in range(node.first, node.first + node.count):
        positive += a.pool[k].role != FIXED or a.pool[k].coef > 0.0
    constant = node.num != 0.0
    minus_constant = constant and node.role == FIXED and node.num < 0.0
    flip = positive == 0 and (not constant or minus_constant)
    if flip:
        _push_code(w, _NEG)
    if factor != 1.0:
        _push_code(w, _MUL)
    constant_first = constant and positive == 0 and not flip
    if constant and not constant_first:
        _push_code(w, _SUB if minus_constant and not flip else _ADD)
        _push_number(w, (abs(node.num) if minus_constant else node.num) / factor, node.role)
    first_sign = -1.0 if flip else 1.0
    left = positive if not flip else node.count
    # pushed last first: the minus terms, then the plus terms down to the one that opens the sum
    if not flip:
        for k in range(node.first + node.count - 1, node.first - 1, -1):
            if a.pool[k].role == FIXED and a.pool[k].coef < 0.0:
                _push_code(w, _SUB)
                _push_scaled(a, w, a.pool[k].child, -a.pool[k].coef / factor, FIXED)
    if constant_first:
        _push_number(w, node.num / factor, node.role)
    for k in range(node.first + node.count - 1, node.first - 1, -1):
        if flip or a.pool[k].role != FIXED or a.pool[k].coef > 0.0:
            left -= 1
            if left > 0:
                _push_code(w, _ADD)
            _push_scaled(a, w, a.pool[k].child, first_sign * a.pool[k].coef / factor, a.pool[k].role)
    if factor != 1.0:
        _push_number(w, factor, FIXED)


@outer
def _push_children(a: Arena, w: Writer, i: int) -> None:
    kind = a.node[i].kind
    if kind == FUN:
        for _ in range(max(1, a.node[i].count - 1)):
            _push_code(w, a.node[i].op)
        for k in range(a.node[i].count - 1, -1, -1):
            _push_node(w, child_of(a, i, k))
    elif kind == POW:
        if _exponent_of(a, i) < 0.0:
            _push_product(a, w, i, 1.0, FIXED)
        else:
            _push_power(a, w, child_of(a, i, 0), child_of(a, i, 1))
    elif kind == MUL:
        _push_product(a, w, i, a.node[i].num, a.node[i].role)
    else:
        _push_sum(a, w, i)


@inner
def _put_code(p: Postfix, n: int, op: int, allowed: int) -> int:
    """Write a primitive, or what says the same where the primitive is not in the language."""
    if (allowed >> op) & 1:
        return put(p, n, op, 0, 0.0)
    if op == _NEG or op == _SUB:
        n = put(p, put(p, n, CONST, FIXED, -1.0), _MUL, 0, 0.0)
        return n if op == _NEG else put(p, n, _ADD, 0, 0.0)
    if op == _INV or op == _DIV:
        n = put(p, put(p, n, CONST, FIXED, -1.0), _POW, 0, 0.0)
        return n if op == _INV else put(p, n, _MUL, 0, 0.0)
    if op == _SQUARE or op == _CUBE or op == _SQRT:
        e = 2.0 if op == _SQUARE else 3.0 if op == _CUBE else 0.5
        return put(p, put(p, n, CONST, FIXED, e), _POW, 0, 0.0)
    return put(p, n, op, 0, 0.0)


@inner
def write(a: Arena, w: Writer, root: int, p: Postfix) -> int:
    """Write node `root` as postfix into p; returns the length, or -1 when it does not fit."""
    w.state[0].n, w.state[0].full = 0, 0
    _push_node(w, root)
    n = 0
    while w.state[0].n > 0 and n >= 0:
        w.state[0].n -= 1
        task = w.task[w.state[0].n]
        kind, what, number_ = task.kind, task.what, task.value
        if kind == _TASK_CODE:
            n = _put_code(p, n, what, w.state[0].allowed)
        elif kind == _TASK_NUMBER:
            n = put(p, n, CONST, what, number_)
        elif a.node[what].kind == NUM:
            n = put(p, n, CONST, a.node[what].role, a.node[what].num)
        elif a.node[what].kind != SYM:
            _push_children(a, w, what)
        elif a.node[what].op >= LOCALS:
            n = put(p, n, CONST, a.node[what].op - LOCALS, a.node[what].num)
        else:
            n = put(p, n, VAR, a.node[what].op, 0.0)
    return -1 if w.state[0].full else n
