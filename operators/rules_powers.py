"""Value-keeping rules for powers: when (x**p)**q is x**(p*q), and what leaves a power. A kernel module."""

from __future__ import annotations

import math

import numpy as np

from operators.arena import (
    ADD,
    E_NODE,
    FUN,
    MUL,
    NUM,
    ONE,
    POW,
    Arena,
    child_of,
    is_integer,
    is_number,
    is_simple,
    joint,
    node1,
    node2,
    number,
)
from operators.jit import outer
from operators.primitives import OPCODE
from operators.program import FIXED, FREE
from operators.rules_functions import exponential
from operators.rules_products import allows, finish_product, is_even, is_whole, leading_positive, scale, times
from operators.terms import add_scaled, core, power_node, product_begin, product_end, product_power, scaled

_ABS, _EXP = (OPCODE[n] for n in ["abs", "exp"])


@outer
def power(a: Arena, base: int, exponent: int) -> int:
    """base ** exponent."""
    if is_number(a, exponent, 1.0):
        return base
    if is_number(a, exponent, 0.0) or is_number(a, base, 1.0):
        return ONE
    if base == E_NODE:
        return exponential(a, exponent)
    if a.node[base].kind == NUM:
        return _power_of_number(a, base, exponent)
    if a.node[exponent].kind != NUM:
        return _symbolic_power(a, base, exponent)
    return _number_power(a, base, exponent)


@outer
def _power_of_number(a: Arena, base: int, exponent: int) -> int:
    """c ** u: the fitted numbers of base and exponent become one."""
    kind, role = a.node[exponent].kind, a.node[base].role
    if kind == NUM:
        return power_node(a, base, exponent)
    fitted = role == FREE or (kind == MUL and role == FIXED and a.node[exponent].role == FREE)
    if a.node[base].num <= 0.0 or not fitted:
        return finish_product(a, node2(a, POW, 0, base, exponent))
    if kind == MUL:
        value = a.node[base].num ** a.node[exponent].num
        if value > 0.0 and value != 1.0 and math.isfinite(value) and a.node[exponent].role < 2:
            base, exponent = number(a, value, FREE), core(a, exponent)
    elif kind == ADD:
        whole = scale(a, exponent, np.log(a.node[base].num), FREE)
        if a.node[whole].kind == ADD and allows(a, _EXP):
            return exponential(a, whole)
    return finish_product(a, node2(a, POW, 0, base, exponent))


@outer
def _symbolic_power(a: Arena, base: int, exponent: int) -> int:
    """u ** v; (x**p)**v -> x**(p*v) where x cannot be negative."""
    if a.node[base].kind == POW:
        inside, p = child_of(a, base, 0), child_of(a, base, 1)
        if inside == E_NODE:
            return exponential(a, times(a, p, exponent))
        if a.node[inside].nonnegative or (a.node[p].kind == NUM and not is_whole(a.node[p].num)):
            return node2(a, POW, 0, inside, times(a, p, exponent))
    if a.node[base].kind == MUL and a.node[base].count == 1 and a.node[base].num > 0.0 and a.node[base].role == FREE:
        inside = child_of(a, base, 0)
        if a.node[inside].kind == POW and child_of(a, inside, 0) == E_NODE:  # (c*exp(u))**v is exp((u + log(c))*v)
            shift = number(a, np.log(a.node[base].num), FREE)
            return exponential(a, times(a, add_scaled(a, child_of(a, inside, 1), shift, 1.0, FIXED), exponent))
    return node2(a, POW, 0, base, exponent)


@outer
def _number_power(a: Arena, base: int, exponent: int) -> int:
    e = a.node[exponent].num
    if a.node[base].kind == MUL and is_integer(a, exponent):
        product_begin(a)
        product_power(a, base, exponent)
        return finish_product(a, product_end(a))
    if a.node[base].kind == MUL:
        size, role = abs(a.node[base].num), a.node[base].role
        outside = size**e
        ordinary = size != 1.0 and outside > 0.0 and math.isfinite(outside)
        if ordinary and (role == FREE or (role == FIXED and is_simple(outside))):
            inside = scaled(a, core(a, base), np.sign(a.node[base].num), FIXED)
            return scale(a, _plain_power(a, inside, exponent), outside, role)
    return _plain_power(a, base, exponent)


@outer
def _plain_power(a: Arena, base: int, exponent: int) -> int:
    e, whole = a.node[exponent].num, is_integer(a, exponent)
    kind = a.node[base].kind
    if kind == FUN and a.node[base].op == _ABS and whole and is_even(e):
        return _plain_power_of(a, child_of(a, base, 0), exponent)
    if kind == POW:
        return _nested_power(a, base, exponent)
    return _plain_power_of(a, base, exponent)


@outer
def _plain_power_of(a: Arena, base: int, exponent: int) -> int:
    if a.node[base].kind == ADD and is_integer(a, exponent) and is_even(a.node[exponent].num):
        base = leading_positive(a, base)
    return finish_product(a, power_node(a, base, exponent))


@outer
def _nested_power(a: Arena, base: int, exponent: int) -> int:
    """(x**p)**e -> x**(p*e), where both mean the same."""
    inside, p, e = child_of(a, base, 0), child_of(a, base, 1), a.node[exponent].num
    whole = is_whole(e)
    if inside == E_NODE:
        return exponential(a, scale(a, p, e, a.node[exponent].role))
    if a.node[p].kind == NUM:
        value = a.node[p].num
        product = value * e
        even = is_even(value) and not whole
        if even and not is_even(product) and not a.node[inside].nonnegative:
            if not allows(a, _ABS):
                return node2(a, POW, 0, base, exponent)
            inside = node1(a, FUN, _ABS, inside)
        merged = number(a, product, joint(a, a.node[p].role, a.node[exponent].role, product))
        return finish_product(a, power_node(a, inside, merged))
    if (whole and a.node[exponent].role == FIXED) or a.node[inside].nonnegative:
        return node2(a, POW, 0, inside, scale(a, p, e, a.node[exponent].role))
    return node2(a, POW, 0, base, exponent)
