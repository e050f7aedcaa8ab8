"""Sums and products being built in the arena: like terms and like powers merge. A kernel module."""

from __future__ import annotations

import numpy as np

from operators.arena import (
    ADD,
    E_NODE,
    LAW,
    MUL,
    NUM,
    ONE,
    POW,
    TOO_LARGE,
    Arena,
    child_of,
    is_integer,
    is_number,
    is_one,
    is_zero,
    joint,
    new_node,
    node2,
    number,
    pool_push,
)
from operators.jit import inner, outer
from operators.program import FIXED, FREE


@inner
def without_coefficient(a: Arena, i: int) -> int:
    """Node i (a MUL with a coefficient) as the same product with coefficient 1."""
    if a.node[i].count == 1:
        return child_of(a, i, 0)
    return new_node(a, MUL, 0, 1.0, FIXED, a.node[i].first, a.node[i].count)


@inner
def sum_begin(a: Arena) -> None:
    a.state[0].n_sum = 0
    a.state[0].constant, a.state[0].constant_role = 0.0, FIXED


@inner
def kept(value: float, role: int) -> float:
    """A local whose start happens to be 0 is still there: it must not be dropped like a number that is 0."""
    return 1e-12 if value == 0.0 and role > 1 else value


@inner
def sum_constant(a: Arena, value: float, role: int) -> None:
    total = kept(a.state[0].constant + value, max(role, a.state[0].constant_role))
    if a.state[0].constant == 0.0 and a.state[0].constant_role == FIXED:
        a.state[0].constant_role = role
    elif value != 0.0 or role != FIXED:
        a.state[0].constant_role = joint(a, a.state[0].constant_role, role, total)
    a.state[0].constant = total


@outer
def sum_term(a: Arena, term: int, coef: float, role: int) -> None:
    """Add coef * term to the sum being built; like terms merge."""
    n = a.state[0].n_sum
    for k in range(n):
        if a.node[a.work[k].term].hash == a.node[term].hash:
            total = kept(a.work[k].coef + coef, max(role, a.work[k].role))
            a.work[k].role = joint(a, a.work[k].role, role, total)
            a.work[k].coef = total
            return
    if n >= len(a.work):
        a.state[0].bad = TOO_LARGE
        return
    a.work[n].term, a.work[n].coef, a.work[n].role = term, coef, role
    a.state[0].n_sum = n + 1


@outer
def sum_absorb(a: Arena, i: int, coef: float, role: int) -> None:
    """Add coef * node i to the sum being built: a sum is spread over its terms, a product gives its coefficient."""
    kind = a.node[i].kind
    if kind == NUM:
        v = coef * a.node[i].num
        sum_constant(a, v, joint(a, role, a.node[i].role, v))
    elif kind == ADD:
        for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
            v = coef * a.pool[k].coef
            sum_term(a, a.pool[k].child, v, joint(a, role, a.pool[k].role, v))
        v = coef * a.node[i].num
        if v != 0.0:
            sum_constant(a, v, joint(a, role, a.node[i].role, v))
    elif kind == MUL and not is_one(a.node[i].num, a.node[i].role):
        v = coef * a.node[i].num
        r = joint(a, role, a.node[i].role, v)
        sum_term(a, without_coefficient(a, i), v, r)
    else:
        sum_term(a, i, coef, role)


@outer
def sum_end(a: Arena) -> int:
    """The finished sum as a node: a number, one scaled term, or an ADD."""
    first = a.state[0].pooled
    for k in range(a.state[0].n_sum):
        if not is_zero(a.work[k].coef, a.work[k].role):
            pool_push(a, a.work[k].term, a.work[k].coef, a.work[k].role)
    count = a.state[0].pooled - first
    if count == 0:
        return number(a, a.state[0].constant, a.state[0].constant_role)
    if count == 1 and a.state[0].constant == 0.0:
        a.state[0].pooled = first
        return scaled(a, a.pool[first].child, a.pool[first].coef, a.pool[first].role)
    return new_node(a, ADD, 0, a.state[0].constant, a.state[0].constant_role, first, count)


@outer
def scaled(a: Arena, i: int, coef: float, role: int) -> int:
    """coef * node i, where node i has no coefficient of its own."""
    if is_one(coef, role):
        return i
    if a.node[i].kind == MUL:
        return new_node(a, MUL, 0, coef, role, a.node[i].first, a.node[i].count)
    first = a.state[0].pooled
    pool_push(a, i, 1.0, FIXED)
    return new_node(a, MUL, 0, coef, role, first, 1)


@outer
def add_scaled(a: Arena, i: int, j: int, coef: float, role: int) -> int:
    """Node i + coef * node j."""
    sum_begin(a)
    sum_absorb(a, i, 1.0, FIXED)
    sum_absorb(a, j, coef, role)
    return sum_end(a)


@outer
def spread(a: Arena, i: int, coef: float, role: int) -> int:
    """coef * node i with the number spread over the terms of a sum."""
    if coef == 0.0:
        return number(a, 0.0, role)
    if is_one(coef, role):
        return i
    sum_begin(a)
    sum_absorb(a, i, coef, role)
    return sum_end(a)


@inner
def product_begin(a: Arena) -> None:
    a.state[0].n_product = 0
    a.state[0].coefficient, a.state[0].coefficient_role = 1.0, FIXED


@inner
def product_number(a: Arena, value: float, role: int) -> None:
    total = a.state[0].coefficient * value
    if is_one(a.state[0].coefficient, a.state[0].coefficient_role):
        a.state[0].coefficient_role = role
    elif not is_one(value, role):
        a.state[0].coefficient_role = joint(a, a.state[0].coefficient_role, role, total)
    a.state[0].coefficient = total


@inner
def same_direction(a: Arena, e: int, f: int) -> bool:
    """Do two exponents add up to one term (2 and 3, y and 3*y), as sympy asks before it merges like powers?"""
    if a.node[e].kind == NUM or a.node[f].kind == NUM:
        return a.node[e].kind == a.node[f].kind
    return a.node[core(a, e)].hash == a.node[core(a, f)].hash


@inner
def core(a: Arena, i: int) -> int:
    """Node i without its coefficient."""
    return without_coefficient(a, i) if a.node[i].kind == MUL and not is_one(a.node[i].num, a.node[i].role) else i


@outer
def product_power(a: Arena, base: int, exponent: int) -> None:
    """Multiply the product being built by base ** exponent; like powers merge."""
    n = a.state[0].n_product
    for k in range(n):
        before = a.work[k].exponent
        if a.node[a.work[k].base].hash != a.node[base].hash:
            continue
        if a.state[0].mode == LAW or same_direction(a, before, exponent):
            a.work[k].exponent = add_scaled(a, before, exponent, 1.0, FIXED)
            return
    if n >= len(a.work):
        a.state[0].bad = TOO_LARGE
        return
    a.work[n].base, a.work[n].exponent = base, exponent
    a.state[0].n_product = n + 1


@outer
def product_absorb(a: Arena, i: int) -> None:
    """Multiply the product being built by node i, factor by factor."""
    if a.node[i].kind == NUM:
        product_number(a, a.node[i].num, a.node[i].role)
    elif a.node[i].kind == MUL:
        product_number(a, a.node[i].num, a.node[i].role)
        for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
            product_factor(a, a.pool[k].child)
    else:
        product_factor(a, i)


@inner
def product_factor(a: Arena, i: int) -> None:
    if a.node[i].kind == POW:
        product_power(a, child_of(a, i, 0), child_of(a, i, 1))
    else:
        product_power(a, i, ONE)


@inner
def power_node(a: Arena, base: int, exponent: int) -> int:
    """base ** exponent as a node, nothing merged: the caller has split base and exponent."""
    if is_number(a, exponent, 1.0):
        return base
    if a.node[exponent].kind == NUM:
        value, role = a.node[exponent].num, a.node[exponent].role
        if role > 1 or (a.node[base].kind == NUM and a.node[base].role > 1):
            return node2(a, POW, 0, base, exponent)  # a function of a local stays as it is
        if base == E_NODE and (role != FIXED or a.state[0].mode == LAW):
            return number(a, np.exp(value), FREE if role == FIXED else role)
        if a.node[base].kind == NUM:
            folded = a.node[base].num ** value
            return number(a, folded, joint(a, a.node[base].role, role, folded))
    return node2(a, POW, 0, base, exponent)


@inner
def expand_products(a: Arena) -> None:
    """Where a factor of the product being built is (c*u*v)**n, n an integer: split it into its own factors."""
    k = 0
    while k < a.state[0].n_product:
        base, exponent = a.work[k].base, a.work[k].exponent
        if a.node[base].kind != MUL or not is_integer(a, exponent):
            k += 1
            continue
        last = a.state[0].n_product - 1
        a.work[k].base, a.work[k].exponent = a.work[last].base, a.work[last].exponent
        a.state[0].n_product = last
        n = a.node[exponent].num
        value = a.node[base].num ** n
        product_number(a, value, joint(a, a.node[base].role, a.node[base].role, value))
        for j in range(a.node[base].first, a.node[base].first + a.node[base].count):
            factor = a.pool[j].child
            if a.node[factor].kind == POW:
                product_power(a, child_of(a, factor, 0), spread(a, child_of(a, factor, 1), n, FIXED))
            else:
                product_power(a, factor, exponent)
        k = 0


@inner
def merge_number_powers(a: Arena) -> None:
    """2.5**x * 1.5**x -> 3.75**x (positive numeric bases) in the product being built."""
    for k in range(a.state[0].n_product):
        for j in range(a.state[0].n_product - 1, k, -1):
            left, right = a.node[a.work[k].base], a.node[a.work[j].base]
            if left.kind != NUM or right.kind != NUM or left.num <= 0.0 or right.num <= 0.0:
                continue
            if a.node[a.work[j].exponent].hash != a.node[a.work[k].exponent].hash:
                continue
            value = left.num * right.num
            a.work[k].base = number(a, value, joint(a, left.role, right.role, value))
            last = a.state[0].n_product - 1
            a.work[j].base, a.work[j].exponent = a.work[last].base, a.work[last].exponent
            a.state[0].n_product = last


@outer
def product_end(a: Arena) -> int:
    """The finished product as a node: a number, one factor, or a MUL (coefficient kept apart from a sum)."""
    expand_products(a)
    merge_number_powers(a)
    kept = 0
    for k in range(a.state[0].n_product):
        if a.node[a.work[k].exponent].kind == NUM and a.node[a.work[k].exponent].num == 0.0:
            continue
        factor = power_node(a, a.work[k].base, a.work[k].exponent)
        if a.node[factor].kind == NUM:
            product_number(a, a.node[factor].num, a.node[factor].role)
            continue
        a.work[kept].base = factor
        kept += 1
    if kept == 0 or a.state[0].coefficient == 0.0:
        return number(a, a.state[0].coefficient, a.state[0].coefficient_role)
    if kept == 1:
        return scaled(a, a.work[0].base, a.state[0].coefficient, a.state[0].coefficient_role)
    first = a.state[0].pooled
    for k in range(kept):
        pool_push(a, a.work[k].base, 1.0, FIXED)
    return new_node(a, MUL, 0, a.state[0].coefficient, a.state[0].coefficient_role, first, kept)
