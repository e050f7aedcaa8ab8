"""Value-keeping rules for products: numbers leave factors and sums, like powers merge, equal roots share one sign.

"Keeps values" means: wherever the program was finite and real, the rewritten one has the same value up to rounding;
it may be defined at more points (x/x becomes 1). Rules that hold on a part of the domain ask for what they need: the
sign of a base is known from its form (`nonnegative`), exponents are asked for being whole, even or odd. The table of
all rules with their domains stands in `operators.simplify`. The layers of rules never call upwards:
products < functions < powers, sums. A kernel module.
"""

from __future__ import annotations

import math

import numpy as np

from operators.arena import (
    ADD,
    E_NODE,
    MUL,
    NUM,
    POW,
    Arena,
    child_of,
    is_integer,
    is_one,
    is_simple,
    joint,
    node2,
    number,
    pool_push,
)
from operators.jit import inner, outer
from operators.program import FIXED, FREE
from operators.terms import (
    add_scaled,
    core,
    power_node,
    product_absorb,
    product_begin,
    product_end,
    product_factor,
    product_number,
    product_power,
    scaled,
    spread,
    sum_begin,
    sum_constant,
    sum_end,
    sum_term,
)


@inner
def allows(a: Arena, op: int) -> bool:
    return (a.state[0].allowed >> op) & 1


@inner
def is_even(value: float) -> bool:
    return np.rint(value / 2.0) == value / 2.0


@inner
def is_whole(value: float) -> bool:
    return np.rint(value) == value


@outer
def scale(a: Arena, i: int, coef: float, role: int) -> int:
    """coef * node i. The number is spread over a sum when that makes no constant more."""
    if coef == 0.0:
        return number(a, 0.0, FIXED)
    if is_one(coef, role):
        return i
    kind = a.node[i].kind
    if kind == NUM or kind == MUL:
        value = coef * a.node[i].num
        folded = joint(a, role, a.node[i].role, value)
        if kind == NUM:
            return number(a, value, folded)
        inside = core(a, i)
        if a.node[inside].kind != ADD:
            return scaled(a, inside, value, folded)
        return scale_sum(a, inside, value, folded)
    return scale_sum(a, i, coef, role) if kind == ADD else scaled(a, i, coef, role)


@outer
def scale_sum(a: Arena, i: int, coef: float, role: int) -> int:
    if is_one(coef, role):
        return i
    structural, grows = 0, False
    for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
        if a.pool[k].role == FIXED:
            structural += 1
            grows = grows or not is_simple(coef * a.pool[k].coef)
    if a.node[i].num != 0.0 and a.node[i].role == FIXED:
        structural += 1
        grows = grows or not is_simple(coef * a.node[i].num)
    fits = not grows if role == FIXED else (role == FREE and structural <= 1)
    return spread(a, i, coef, role) if fits else scaled(a, i, coef, role)


@outer
def pull(a: Arena, i: int, outer_free: bool, signed: bool) -> int:
    """The sum i divided by a number that leaves no constant more behind; -1 when there is none.

    Leaves the number in state.pulled, its role in state.pulled_role. A fitted coefficient of a term is pulled when
    every other number of the sum is fitted too (it absorbs the division), or only the constant is not and a fitted
    factor stands outside. A common structural factor is pulled always.
    """
    node = a.node[i]
    lead, structural = -1, 0
    for k in range(node.first, node.first + node.count):
        if a.pool[k].role == FIXED:
            structural += 1
        elif lead < 0 and a.pool[k].role == FREE:
            lead = k
    fixed_constant = node.num != 0.0 and node.role == FIXED
    if lead >= 0 and structural == 0 and (outer_free or not fixed_constant):
        s = a.pool[lead].coef if signed else abs(a.pool[lead].coef)
        return _divided(a, i, s, FREE, lead)
    if lead >= 0 or structural < node.count or (node.num != 0.0 and node.role != FIXED):
        return -1
    return _pull_common(a, i, signed)


@outer
def _pull_common(a: Arena, i: int, signed: bool) -> int:
    node = a.node[i]
    size = abs(a.pool[node.first].coef)
    negative = node.num <= 0.0
    for k in range(node.first, node.first + node.count):
        if abs(a.pool[k].coef) != size:
            return -1
        negative = negative and a.pool[k].coef < 0.0
    if node.num != 0.0 and abs(node.num) != size:
        return -1
    s = -size if negative and signed else size
    return -1 if s == 1.0 else _divided(a, i, s, FIXED, -1)


@outer
def _divided(a: Arena, i: int, s: float, role: int, lead: int) -> int:
    """Sum i divided by s, exactly 1 or -1 at pool entry `lead`."""
    first, count, constant, constant_role = a.node[i].first, a.node[i].count, a.node[i].num, a.node[i].role
    if s == 0.0 or not math.isfinite(1.0 / s):
        return -1
    sum_begin(a)
    for k in range(first, first + count):
        if k == lead:
            sum_term(a, a.pool[k].child, np.sign(a.pool[k].coef) * np.sign(s), FIXED)
        else:
            value = a.pool[k].coef / s
            sum_term(a, a.pool[k].child, value, joint(a, role, a.pool[k].role, value))
    if constant != 0.0:
        sum_constant(a, constant / s, joint(a, role, constant_role, constant / s))
    a.state[0].pulled, a.state[0].pulled_role = s, role
    return sum_end(a)


@outer
def times(a: Arena, i: int, j: int) -> int:
    product_begin(a)
    product_absorb(a, i)
    product_absorb(a, j)
    return finish_product(a, product_end(a))


@outer
def finish_product(a: Arena, i: int) -> int:
    """Numbers leave the factors and join the coefficient; equal roots share one sign; a lone sum takes its number."""
    i = _shared_roots(a, _collect_numbers(a, i))
    if a.node[i].kind == MUL and a.node[i].count == 1 and a.node[child_of(a, i, 0)].kind == ADD:
        return scale_sum(a, child_of(a, i, 0), a.node[i].num, a.node[i].role)
    return i


@outer
def _collect_numbers(a: Arena, i: int) -> int:
    kind = a.node[i].kind
    if kind != MUL and kind != POW:
        return i
    alone = kind == POW
    count = 1 if alone else a.node[i].count
    coef, role = (1.0, FIXED) if alone else (a.node[i].num, a.node[i].role)
    first = a.state[0].pooled
    for k in range(count):
        pool_push(a, i if alone else child_of(a, i, k), 1.0, FIXED)
    changed = False
    for k in range(first, first + count):
        factor = _without_number(a, a.pool[k].child, role != FIXED, count > 1)
        if factor >= 0:
            a.pool[k].child = factor
            value = coef * a.state[0].pulled
            coef, role, changed = value, joint(a, role, a.state[0].pulled_role, value), True
    if not changed:
        return i
    product_begin(a)
    product_number(a, coef, role)
    for k in range(first, first + count):
        product_absorb(a, a.pool[k].child)
    return product_end(a)


@outer
def _without_number(a: Arena, i: int, outer_free: bool, crowded: bool) -> int:
    """Factor i with a number taken out (left in state.pulled), or -1."""
    if a.node[i].kind == ADD:
        return pull(a, i, outer_free, True) if crowded else -1
    if a.node[i].kind != POW:
        return -1
    base, exponent = child_of(a, i, 0), child_of(a, i, 1)
    if base == E_NODE or a.node[base].kind == NUM:
        return _without_shift(a, base, exponent, outer_free)
    if a.node[exponent].kind != NUM:
        return -1
    inside = -1
    if a.node[base].kind == ADD:
        inside = pull(a, base, outer_free, is_integer(a, exponent))
    elif a.node[base].kind == MUL and a.node[base].role < 2 and outer_free and not is_integer(a, exponent):
        inside = scaled(a, core(a, base), np.sign(a.node[base].num), FIXED)
        a.state[0].pulled, a.state[0].pulled_role = abs(a.node[base].num), a.node[base].role
        if a.state[0].pulled == 1.0:
            return -1
    if inside < 0 or not _raise_pulled(a, exponent):
        return -1
    return power_node(a, inside, exponent)


@outer
def _raise_pulled(a: Arena, exponent: int) -> bool:
    """pulled -> pulled ** exponent; False when that is no ordinary number."""
    value = a.state[0].pulled ** a.node[exponent].num
    if value == 0.0 or not math.isfinite(value):
        return False
    a.state[0].pulled_role = joint(a, a.state[0].pulled_role, FIXED, value)
    a.state[0].pulled = value
    return True


@outer
def _without_shift(a: Arena, base: int, exponent: int, outer_free: bool) -> int:
    """exp(k*(u + c)) -> exp(k*c) * exp(k*u) for a fitted c, or any c when a fitted factor takes it."""
    inside, k = exponent, 1.0
    if a.node[exponent].kind == MUL and a.node[exponent].role < 2:
        inside, k = core(a, exponent), a.node[exponent].num
    if a.node[inside].kind != ADD:
        return -1
    shift, role = a.node[inside].num, a.node[inside].role
    if shift == 0.0 or role > 1 or (role == FIXED and not outer_free):
        return -1
    value = np.exp(k * shift) if base == E_NODE else a.node[base].num ** (k * shift)
    if value == 0.0 or not math.isfinite(value):
        return -1
    rest = add_scaled(a, inside, number(a, shift, role), -1.0, FIXED)
    if k != 1.0:
        rest = scale(a, rest, k, a.node[exponent].role)
    a.state[0].pulled, a.state[0].pulled_role = value, FREE
    return node2(a, POW, 0, base, rest)


@outer
def _shared_roots(a: Arena, i: int) -> int:
    """x**0.5 * y**0.5 -> (x*y)**0.5: one power fewer. Defined at more points (both negative)."""
    if a.node[i].kind != MUL:
        return i
    first, count = a.node[i].first, a.node[i].count
    for k in range(count):
        for j in range(k + 1, count):
            left, right = a.pool[first + k].child, a.pool[first + j].child
            if not _is_root(a, left) or not _is_root(a, right):
                continue
            exponent = child_of(a, left, 1)
            if a.node[exponent].hash != a.node[child_of(a, right, 1)].hash:
                continue
            product_begin(a)
            product_absorb(a, child_of(a, left, 0))
            product_absorb(a, child_of(a, right, 0))
            base = product_end(a)
            product_begin(a)
            product_number(a, a.node[i].num, a.node[i].role)
            for m in range(count):
                if m != k and m != j:
                    product_factor(a, a.pool[first + m].child)
            product_power(a, base, exponent)
            return product_end(a)
    return i


@inner
def _is_root(a: Arena, i: int) -> bool:
    """A power with a structural exponent that is not whole."""
    if a.node[i].kind != POW or child_of(a, i, 0) == E_NODE:
        return False
    e = a.node[child_of(a, i, 1)]
    return e.kind == NUM and e.role == FIXED and not is_whole(e.num)


@outer
def leading_positive(a: Arena, i: int) -> int:
    """(y - x)**2 -> (x - y)**2: the first structural coefficient is made positive."""
    for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
        if a.pool[k].role == FIXED:
            return spread(a, i, -1.0, FIXED) if a.pool[k].coef < 0.0 else i
    return i


@inner
def steps_of_power(e: float) -> int:
    """How many squares, cubes and square roots raise a base to the structural power e > 0; 0 when they cannot."""
    if e == 0.5 or e == 2.0 or e == 3.0:
        return 1
    if e == 0.25 or e == 1.5 or e == 4.0 or e == 6.0 or e == 9.0:
        return 2
    if e == 0.75 or e == 8.0 or e == 12.0 or e == 18.0 or e == 27.0 or e == 4.5:
        return 3
    return 0
