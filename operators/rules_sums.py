"""Value-keeping rules for sums: what a fitted constant or coefficient absorbs. A kernel module."""

from __future__ import annotations

import numpy as np

from operators.arena import ADD, FUN, MUL, Arena, child_of, node1, number
from operators.jit import inner, outer
from operators.primitives import OPCODE
from operators.program import FIXED, FREE
from operators.rules_functions import log_inside
from operators.rules_products import scale_sum
from operators.terms import add_scaled, sum_absorb, sum_begin, sum_constant, sum_end, sum_term, without_coefficient

_LOG = OPCODE["log"]


@outer
def plus(a: Arena, i: int, j: int, sign: float) -> int:
    """Node i + sign * node j, with what a fitted constant term absorbs."""
    out = add_scaled(a, i, j, sign, FIXED)
    if a.node[out].kind == MUL and a.node[out].count == 1 and a.node[child_of(a, out, 0)].kind == ADD:
        return scale_sum(a, child_of(a, out, 0), a.node[out].num, a.node[out].role)
    if a.node[out].kind != ADD:
        return out
    out = _merge_scaled_sums(a, out)
    if a.node[out].kind == ADD and a.node[out].num != 0.0 and a.node[out].role == FREE:
        out = _absorb_log_scales(a, out)
    return out


@outer
def _merge_scaled_sums(a: Arena, i: int) -> int:
    """c*(x + y) + d*x + e: a kept number times a sum is spread when its terms meet fitted ones outside."""
    for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
        inside = a.pool[k].child
        if a.node[inside].kind != ADD or a.pool[k].role > 1:
            continue
        absorbed = a.node[inside].num == 0.0 or a.node[i].role == FREE or a.node[inside].role == FREE
        lonely = 0 if absorbed else 1
        for m in range(a.node[inside].first, a.node[inside].first + a.node[inside].count):
            if a.pool[m].role == FIXED and not _meets_fitted(a, i, a.pool[m].child):
                lonely += 1
        if lonely <= 1:
            return _spread_term(a, i, k)
        if a.node[inside].num != 0.0 and a.node[i].num != 0.0 and a.node[i].role == FREE and a.node[inside].role < 2:
            return _lift_constant(a, i, k)
    return i


@inner
def _spread_term(a: Arena, i: int, at: int) -> int:
    """Sum i with the sum at pool entry `at` spread over its terms."""
    sum_begin(a)
    for m in range(a.node[i].first, a.node[i].first + a.node[i].count):
        if m == at:
            sum_absorb(a, a.pool[m].child, a.pool[m].coef, a.pool[m].role)
        else:
            sum_term(a, a.pool[m].child, a.pool[m].coef, a.pool[m].role)
    sum_constant(a, a.node[i].num, a.node[i].role)
    return sum_end(a)


@inner
def _lift_constant(a: Arena, i: int, at: int) -> int:
    """c*(x + y + d) + e -> c*(x + y) + e' : the fitted e takes the constant of the sum at pool entry `at`."""
    inside, coef = a.pool[at].child, a.pool[at].coef
    shift = a.node[inside].num
    bare = add_scaled(a, inside, number(a, shift, a.node[inside].role), -1.0, FIXED)
    sum_begin(a)
    for m in range(a.node[i].first, a.node[i].first + a.node[i].count):
        sum_term(a, bare if m == at else a.pool[m].child, coef if m == at else a.pool[m].coef, a.pool[m].role)
    sum_constant(a, a.node[i].num + coef * shift, FREE)
    return sum_end(a)


@outer
def _meets_fitted(a: Arena, i: int, term: int) -> bool:
    for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
        if a.pool[k].role == FREE and a.node[a.pool[k].child].hash == a.node[term].hash:
            return True
    return False


@outer
def _absorb_log_scales(a: Arena, i: int) -> int:
    """k*log(2*x) + c -> k*log(x) + c' : the fitted c takes the structural factor."""
    for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
        term = a.pool[k].child
        inside = log_inside(a, term)
        if inside < 0 or a.node[inside].kind != MUL or a.node[inside].num <= 0.0 or a.node[inside].num == 1.0:
            continue
        shift = np.log(a.node[inside].num)
        coef, role = a.pool[k].coef, a.pool[k].role
        if role > 1:
            continue
        bare = node1(a, FUN, _LOG, without_coefficient(a, inside))
        out = add_scaled(a, i, term, -coef, role)
        out = add_scaled(a, out, bare, coef, role)
        return add_scaled(a, out, number(a, coef * shift, FREE), 1.0, FIXED)
    return i
