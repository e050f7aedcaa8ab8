"""Value-keeping rewrites of sums, products, powers and functions, on the arena of `operators.terms`.

"Keeps values" means: wherever the program was finite and real, the rewritten one has the same value up to rounding;
it may be defined at more points (x/x becomes 1). Rules that hold on a part of the domain ask for what they need: the
sign of a base is known from its form (`nonnegative`), exponents are asked for being whole, even or odd.
The table of rules with their domains stands in `operators.simplify`. A kernel module.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import math

import numpy as np

from operators.complexity_kernel import fold_unary
from operators.jit import inner, outer
from operators.primitives import OPCODE
from operators.program import FIXED, FREE
from operators.terms import (
    ADD,
    E_NODE,
    FUN,
    MINUS_ONE,
    MUL,
    NUM,
    ONE,
    POW,
    Arena,
    add_scaled,
    child_of,
    core,
    is_integer,
    is_number,
    is_one,
    is_simple,
    joint,
    new_node,
    node1,
    node2,
    number,
    pool_push,
    power_node,
    product_absorb,
    product_begin,
    product_end,
    product_factor,
    product_number,
    product_power,
    scaled,
    spread,
    sum_absorb,
    sum_begin,
    sum_constant,
    sum_end,
    sum_term,
    without_coefficient,
)  # fmt: skip

_ABS, _LOG, _EXP, _POW, _MIN = (OPCODE[n] for n in ["abs", "log", "exp", "pow", "min"])
_SIN, _COS, _TAN, _ASIN, _ACOS, _ATAN, _SINH, _COSH, _TANH = (
    OPCODE[n] for n in ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"]
)


@inner
def _allows(a: Arena, op: int) -> bool:
    return (a.state[0].allowed >> op) & 1


@inner
def _is_even(value: float) -> bool:
    return np.rint(value / 2.0) == value / 2.0


@inner
def _is_whole(value: float) -> bool:
    return np.rint(value) == value


# Scaling ------------------------------------------------------------------------------------------------------------


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


# Products -----------------------------------------------------------------------------------------------------------


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
    return e.kind == NUM and e.role == FIXED and not _is_whole(e.num)


# Powers -------------------------------------------------------------------------------------------------------------


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
        if a.node[whole].kind == ADD and _allows(a, _EXP):
            return exponential(a, whole)
    return finish_product(a, node2(a, POW, 0, base, exponent))


@outer
def _symbolic_power(a: Arena, base: int, exponent: int) -> int:
    """u ** v; (x**p)**v -> x**(p*v) where x cannot be negative."""
    if a.node[base].kind == POW:
        inside, p = child_of(a, base, 0), child_of(a, base, 1)
        if inside == E_NODE:
            return exponential(a, times(a, p, exponent))
        if a.node[inside].nonnegative or (a.node[p].kind == NUM and not _is_whole(a.node[p].num)):
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
    if kind == FUN and a.node[base].op == _ABS and whole and _is_even(e):
        return _plain_power_of(a, child_of(a, base, 0), exponent)
    if kind == POW:
        return _nested_power(a, base, exponent)
    return _plain_power_of(a, base, exponent)


@outer
def _plain_power_of(a: Arena, base: int, exponent: int) -> int:
    if a.node[base].kind == ADD and is_integer(a, exponent) and _is_even(a.node[exponent].num):
        base = _leading_positive(a, base)
    return finish_product(a, power_node(a, base, exponent))


@outer
def _leading_positive(a: Arena, i: int) -> int:
    """(y - x)**2 -> (x - y)**2: the first structural coefficient is made positive."""
    for k in range(a.node[i].first, a.node[i].first + a.node[i].count):
        if a.pool[k].role == FIXED:
            return spread(a, i, -1.0, FIXED) if a.pool[k].coef < 0.0 else i
    return i


@outer
def _nested_power(a: Arena, base: int, exponent: int) -> int:
    """(x**p)**e -> x**(p*e), where both mean the same."""
    inside, p, e = child_of(a, base, 0), child_of(a, base, 1), a.node[exponent].num
    whole = _is_whole(e)
    if inside == E_NODE:
        return exponential(a, scale(a, p, e, a.node[exponent].role))
    if a.node[p].kind == NUM:
        value = a.node[p].num
        product = value * e
        even = _is_even(value) and not whole
        if even and not _is_even(product) and not a.node[inside].nonnegative:
            if not _allows(a, _ABS):
                return node2(a, POW, 0, base, exponent)
            inside = node1(a, FUN, _ABS, inside)
        merged = number(a, product, joint(a, a.node[p].role, a.node[exponent].role, product))
        return finish_product(a, power_node(a, inside, merged))
    if (whole and a.node[exponent].role == FIXED) or a.node[inside].nonnegative:
        return node2(a, POW, 0, inside, scale(a, p, e, a.node[exponent].role))
    return node2(a, POW, 0, base, exponent)


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


@inner
def _writable(a: Arena, exponent: int) -> bool:
    """Can a power with this exponent be written in the language of the program?"""
    e = a.node[exponent]
    spelled = e.kind == NUM and e.role == FIXED and (abs(e.num) == 1.0 or steps_of_power(abs(e.num)) > 0)
    return spelled or _allows(a, _POW)


# Functions ----------------------------------------------------------------------------------------------------------


@inner
def _log_inside(a: Arena, i: int) -> int:
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
            inside = _log_inside(a, child_of(a, u, k))
            if inside >= 0:
                product_begin(a)
                product_absorb(a, u)
                product_power(a, child_of(a, u, k), MINUS_ONE)
                exponent = product_end(a)
                if _writable(a, exponent):
                    return _general_power(a, inside, exponent)
    inside = _log_inside(a, u)
    return inside if inside >= 0 else node2(a, POW, 0, E_NODE, u)


@outer
def _general_power(a: Arena, base: int, exponent: int) -> int:
    """A power whose base is known to be positive where it is defined."""
    if a.node[exponent].kind == NUM:
        return finish_product(a, power_node(a, base, exponent)) if a.node[base].kind != MUL else node2(
            a, POW, 0, base, exponent
        )
    return node2(a, POW, 0, base, exponent)


@outer
def _exp_of_sum(a: Arena, u: int) -> int:
    rest, out = u, ONE
    for k in range(a.node[u].first, a.node[u].first + a.node[u].count):
        inside = _log_inside(a, a.pool[k].child)
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
    if a.node[p].kind == NUM and (a.node[base].nonnegative or not _is_even(a.node[p].num)):
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
    return (outer == _SIN and inside == _ASIN) or (outer == _COS and inside == _ACOS) or (
        outer == _TAN and inside == _ATAN
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
        u = _leading_positive(a, u)
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
        u = _leading_positive(a, u)
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


# Sums ---------------------------------------------------------------------------------------------------------------


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
        inside = _log_inside(a, term)
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
