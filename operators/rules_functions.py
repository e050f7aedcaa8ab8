"""Value-keeping rules for functions: exp and log, odd and even ones, abs, min and max. A kernel module."""

from __future__ import annotations

import numpy as np

from operators.arena import (
    ADD,
    E_NODE,
    FUN,
    MINUS_ONE,
    MUL,
    NUM,
    ONE,
    POW,
    Arena,
    child_of,
    is_simple,
    new_node,
    node1,
    node2,
    number,
    pool_push,
)
from operators.complexity_kernel import fold_unary
from operators.jit import inner, outer
from operators.primitives import OPCODE
from operators.program import FIXED, FREE
from operators.rules_products import (
    allows,
    finish_product,
    is_even,
    leading_positive,
    pull,
    scale,
    steps_of_power,
    times,
)
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

_ABS, _ACOS, _ASIN, _ATAN, _COS, _COSH, _EXP, _LOG, _MIN, _POW, _SIN, _TAN = (
    OPCODE[n] for n in ["abs", "acos", "asin", "atan", "cos", "cosh", "exp", "log", "min", "pow", "sin", "tan"]
)


@inner
def _writable(a: Arena, exponent: int) -> bool:
    """Can a power with this exponent be written in the language of the program?"""
    e = a.node[exponent]
    spelled = e.kind == NUM and e.role == FIXED and (abs(e.num) == 1.0 or steps_of_power(abs(e.num)) > 0)
    return spelled or allows(a, _POW)


@inner
def log_inside(a: Arena, i: int) -> int:
    return child_of(a, i, 0) if a.node[i].kind == FUN and a.node[i].op == _LOG else -1


@outer
def exponential(a: Arena, u: int) -> int:
    """exp(u): logarithms inside become powers, a fitted shift a factor."""
    if a.node[u].kind == NUM:
        return _fold(a, _EXP, u)
    if a.node[u].kind == ADD:
        return _exp_of_sum(a, u)
    if a.node[u].kind == MUL:
        for k in range(a.node[u].count):
            inside = log_inside(a, child_of(a, u, k))
            if inside >= 0:
                product_begin(a)
                product_absorb(a, u)
                product_power(a, child_of(a, u, k), MINUS_ONE)
                exponent = product_end(a)
                if _writable(a, exponent):
                    return _general_power(a, inside, exponent)
    inside = log_inside(a, u)
    return inside if inside >= 0 else node2(a, POW, 0, E_NODE, u)


@outer
def _general_power(a: Arena, base: int, exponent: int) -> int:
    """A power whose base is known to be positive where it is defined."""
    if a.node[exponent].kind == NUM and a.node[base].kind != MUL:
        return finish_product(a, power_node(a, base, exponent))
    return node2(a, POW, 0, base, exponent)


@outer
def _exp_of_sum(a: Arena, u: int) -> int:
    rest, out = u, ONE
    for k in range(a.node[u].first, a.node[u].first + a.node[u].count):
        inside = log_inside(a, a.pool[k].child)
        coef, role = a.pool[k].coef, a.pool[k].role
        if inside >= 0 and _writable(a, number(a, coef, role)):
            factor = _general_power(a, inside, number(a, coef, role))
            rest = add_scaled(a, rest, scaled(a, a.pool[k].child, coef, role), -1.0, FIXED)
            out = times(a, out, factor)
    if a.node[rest].kind == NUM and a.node[rest].num == 0.0:
        return out
    return times(a, out, node2(a, POW, 0, E_NODE, rest))


@outer
def logarithm(a: Arena, u: int) -> int:
    """log(u): exponentials and fitted factors leave it, exponents of a base that must be positive come in front."""
    kind = a.node[u].kind
    if kind == NUM:
        return _fold(a, _LOG, u)
    if kind == POW:
        return _log_of_power(a, u)
    if kind == ADD:
        inside = pull(a, u, False, False)
        if inside >= 0 and a.state[0].pulled_role != FIXED:
            shift = number(a, np.log(a.state[0].pulled), a.state[0].pulled_role)
            return add_scaled(a, node1(a, FUN, _LOG, inside), shift, 1.0, FIXED)
    if kind == MUL:
        return _log_of_product(a, u)
    return node1(a, FUN, _LOG, u)


@outer
def _log_of_power(a: Arena, u: int) -> int:
    base, p = child_of(a, u, 0), child_of(a, u, 1)
    if base == E_NODE:
        return p
    if a.node[base].kind == NUM:
        return scale(a, p, np.log(a.node[base].num), FREE) if a.node[base].num > 0.0 else node1(a, FUN, _LOG, u)
    if a.node[base].nonnegative and a.node[p].kind != NUM:
        return times(a, p, node1(a, FUN, _LOG, base))
    if a.node[p].kind == NUM and (a.node[base].nonnegative or not is_even(a.node[p].num)):
        return scale(a, node1(a, FUN, _LOG, base), a.node[p].num, a.node[p].role)
    return node1(a, FUN, _LOG, u)


@outer
def _log_of_product(a: Arena, u: int) -> int:
    out, rest = number(a, 0.0, FIXED), u
    for k in range(a.node[u].count):
        factor = child_of(a, u, k)
        if a.node[factor].kind == POW and child_of(a, factor, 0) == E_NODE:
            out = add_scaled(a, out, child_of(a, factor, 1), 1.0, FIXED)
            product_begin(a)
            product_absorb(a, rest)
            product_power(a, E_NODE, scale(a, child_of(a, factor, 1), -1.0, FIXED))
            rest = product_end(a)
    if a.node[rest].kind == MUL and a.node[rest].role == FREE and a.node[rest].num != 0.0:
        size = abs(a.node[rest].num)
        out = add_scaled(a, out, number(a, np.log(size), a.node[rest].role), 1.0, FIXED)
        rest = scaled(a, core(a, rest), np.sign(a.node[rest].num), FIXED)
    if a.node[rest].kind == NUM:
        return add_scaled(a, out, _fold(a, _LOG, rest), 1.0, FIXED)
    if rest != u and a.node[rest].kind == POW:
        return add_scaled(a, out, _log_of_power(a, rest), 1.0, FIXED)
    return add_scaled(a, out, node1(a, FUN, _LOG, rest), 1.0, FIXED)


@outer
def _folded_role(a: Arena, value: float, role: int) -> int:
    if role != FIXED:
        return role
    return FIXED if is_simple(value) else FREE


@outer
def _fold(a: Arena, op: int, u: int) -> int:
    """A function of a number is a number; of a local it stays (the function may be there to keep a sign)."""
    if a.node[u].role > 1:
        return node2(a, POW, 0, E_NODE, u) if op == _EXP else node1(a, FUN, op, u)
    value = fold_unary(op, a.node[u].num)
    return number(a, value, _folded_role(a, value, a.node[u].role))


@inner
def _undoes(outer: int, inside: int) -> bool:
    return (
        (outer == _SIN and inside == _ASIN)
        or (outer == _COS and inside == _ACOS)
        or (outer == _TAN and inside == _ATAN)
    )


@outer
def function(a: Arena, op: int, u: int) -> int:
    """op(u) for a function of one operand."""
    if a.node[u].kind == NUM:
        return _fold(a, op, u)
    if op == _EXP:
        return exponential(a, u)
    if op == _LOG:
        return logarithm(a, u)
    if op == _ABS:
        return absolute(a, u)
    if a.node[u].kind == FUN and _undoes(op, a.node[u].op):
        return child_of(a, u, 0)
    even = op == _COS or op == _COSH
    if even and a.node[u].kind == MUL:
        u = scaled(a, core(a, u), abs(a.node[u].num), a.node[u].role)
    elif even and a.node[u].kind == ADD:
        u = leading_positive(a, u)
    elif not even and op != _ACOS and _all_negative(a, u):
        return scale(a, node1(a, FUN, op, spread(a, u, -1.0, FIXED)), -1.0, FIXED)
    return node1(a, FUN, op, u)


@outer
def _all_negative(a: Arena, u: int) -> bool:
    """Is every number in front of the terms of u structural and negative?"""
    node = a.node[u]
    if node.kind == MUL:
        return node.role == FIXED and node.num < 0.0
    if node.kind != ADD or node.num > 0.0 or (node.num != 0.0 and node.role != FIXED):
        return False
    for k in range(node.first, node.first + node.count):
        if a.pool[k].role != FIXED or a.pool[k].coef >= 0.0:
            return False
    return True


@outer
def absolute(a: Arena, u: int) -> int:
    if a.node[u].nonnegative:
        return u
    if a.node[u].kind == FUN and a.node[u].op == _ABS:
        return u
    if a.node[u].kind == MUL and abs(a.node[u].num) != 1.0:
        return scale(a, absolute_plain(a, core(a, u)), abs(a.node[u].num), a.node[u].role)
    if a.node[u].kind == MUL:
        u = core(a, u)
    return absolute_plain(a, u)


@outer
def absolute_plain(a: Arena, u: int) -> int:
    if a.node[u].nonnegative:
        return u
    if a.node[u].kind == ADD:
        inside = pull(a, u, False, True)
        if inside >= 0:
            s, role = abs(a.state[0].pulled), a.state[0].pulled_role
            return scale(a, node1(a, FUN, _ABS, inside), s, role)
        u = leading_positive(a, u)
    return node1(a, FUN, _ABS, u)


@outer
def extremum(a: Arena, op: int, i: int, j: int) -> int:
    """min or max, flattened: equal operands once, the numbers among them folded into one."""
    first = a.state[0].pooled
    best, role, found = 0.0, FIXED, False
    for side in (i, j):
        nested = a.node[side].kind == FUN and a.node[side].op == op
        for k in range(a.node[side].count if nested else 1):
            child = child_of(a, side, k) if nested else side
            if a.node[child].kind == NUM:
                better = a.node[child].num < best if op == _MIN else a.node[child].num > best
                if not found or better:
                    best, role = a.node[child].num, a.node[child].role
                found = True
            elif not _has_child(a, first, child):
                pool_push(a, child, 1.0, FIXED)
    count = a.state[0].pooled - first
    if count == 0:
        return number(a, best, role)
    if found:
        n = number(a, best, role)
        pool_push(a, n, 1.0, FIXED)
        count += 1
    if count == 1:
        return a.pool[first].child
    return new_node(a, FUN, op, 0.0, 0, first, count)


@outer
def _has_child(a: Arena, first: int, child: int) -> bool:
    for k in range(first, a.state[0].pooled):
        if a.node[a.pool[k].child].hash == a.node[child].hash:
            return True
    return False
