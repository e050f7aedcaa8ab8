"""Rules that write a sympy node in another equal form. A rule is ``node -> other forms of that node``, possibly none.

Which form is shorter depends on the whole tree (sympy multiplies numbers into sums, the judge counts after that), so
rules only propose; `lowest_form` counts, checks on data, and keeps what is shorter. Rules may be wrong on part of the
domain (roots and logarithms of negative numbers): the check on data is what makes them safe.

`READABLE` rules give forms people would write. `TERSE` adds forms that only a counter likes: ``exp(-2*z)`` as
``0.135...**z`` (a power of a number counts 2, exp of a product 3) and whole float exponents, which sympy leaves alone:
``(x*y)**2.0`` stays one power where ``(x*y)**2`` becomes ``x**2*y**2``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import sympy as sp

Rule = Callable[[Any], Iterator[Any]]

_NEAR = 1e-12  # relative: numbers this close are the same number
_SAFE_BASE = (1e-200, 1e200)


def _terms(node: Any) -> list[tuple[Any, Any]]:
    """(coefficient, rest) of every term of a sum."""
    return [t.as_coeff_Mul() for t in sp.Add.make_args(node)]


def _is(number: Any, value: float) -> bool:
    """Is a number this value, whether sympy holds it exactly or as a float (to sympy 1.0 is not 1)?"""
    return bool(number.is_number) and float(number) == value


def _is_whole(exponent: Any) -> bool:
    return bool(exponent.is_Integer) or bool(exponent.is_Float and float(exponent).is_integer())


def _same(a: Any, b: Any) -> bool:
    return abs(float(a) - float(b)) <= _NEAR * max(abs(float(a)), abs(float(b)))


def _coefficients(node: Any) -> list[Any]:
    """The different coefficients of a sum's terms, without 1, in the order of the terms."""
    return [c for c in dict.fromkeys(c for c, _ in _terms(node)) if not _is(c, 1.0)]


def powers_of_numbers(node: Any) -> Iterator[Any]:
    """exp(c*z) or b**(c*z) -> (number)**z, for each coefficient c that the exponent offers."""
    if node.func is sp.exp:
        log_base, exponent = 1.0, node.args[0]
    elif node.func is sp.Pow and node.base.is_number and node.base.is_positive:
        log_base, exponent = math.log(float(node.base)), node.exp
    else:
        return
    if exponent.is_number:
        return
    for c in _coefficients(exponent):
        base = math.exp(min(float(c) * log_base, 700.0))
        if _SAFE_BASE[0] < base < _SAFE_BASE[1] and base != 1.0:
            yield sp.Float(base) ** sp.Add(*(k / c * rest for k, rest in _terms(exponent)))


def exponentials(node: Any) -> Iterator[Any]:
    """The way back: a power of a number as an exp, which may merge with others."""
    if node.func is sp.Pow and node.base.is_Float and node.base.is_positive and not node.exp.is_number:
        yield sp.exp(sp.expand_mul(sp.Float(math.log(float(node.base))) * node.exp))
    if node.is_Mul:
        inside = [f.args[0] for f in node.args if f.func is sp.exp]
        if len(inside) > 1:
            yield sp.Mul(*(f for f in node.args if f.func is not sp.exp)) * sp.exp(sp.Add(*inside))


def offset_of_exponent(node: Any) -> Iterator[Any]:
    """exp(z + c) -> number*exp(z), and the same for a power of a number: the number may merge with others."""
    if node.func is sp.exp:
        base, exponent = sp.E, node.args[0]
    elif node.func is sp.Pow and node.base.is_number and node.base.is_positive:
        base, exponent = node.args
    else:
        return
    c, rest = exponent.as_coeff_Add()
    factor = math.exp(min(float(c) * math.log(float(base)), 700.0))
    if exponent.is_Add and c != 0 and _SAFE_BASE[0] < factor < _SAFE_BASE[1]:
        yield sp.Float(factor) * base**rest


def share_exponential(node: Any) -> Iterator[Any]:
    """p*exp(u) + q*exp(v) + ... -> exp(u)*(p + q*exp(v - u) + ...), for each exponential of the sum."""
    if not node.is_Add:
        return
    parts = [_exponent_of(term) for term in node.args]
    with_exp = [k for k, (_, exponent) in enumerate(parts) if exponent != 0]
    if len(with_exp) < 2:
        return
    outside = sp.Add(*(node.args[k] for k in range(len(parts)) if k not in with_exp))
    for shared in dict.fromkeys(parts[k][1] for k in with_exp):
        inside = [parts[k][0] * sp.exp(sp.expand(parts[k][1] - shared)) for k in with_exp]
        yield sp.exp(shared) * sp.Add(*inside) + outside


def _exponent_of(term: Any) -> tuple[Any, Any]:
    """(rest, z) with term = rest*exp(z); z is 0 where there is no exponential."""
    exponent, rest = sp.S.Zero, []
    for factor in sp.Mul.make_args(term):
        if factor.func is sp.exp:
            exponent += factor.args[0]
        elif factor.func is sp.Pow and factor.base.is_Float and factor.base.is_positive and not factor.exp.is_number:
            exponent += sp.Float(math.log(float(factor.base))) * factor.exp
        else:
            rest.append(factor)
    return sp.Mul(*rest), sp.expand(exponent)


def common_power(node: Any) -> Iterator[Any]:
    """x**n * y**n -> (x*y)**float(n), which sympy does not take apart again."""
    if not node.is_Mul:
        return
    by_exponent: dict[Any, list[Any]] = {}
    for factor in node.args:
        if factor.func is sp.Pow and factor.exp.is_number:
            by_exponent.setdefault(sp.Float(factor.exp), []).append(factor)
    for exponent, factors in by_exponent.items():
        if len(factors) > 1:
            merged = sp.Pow(sp.Mul(*(f.base for f in factors)), exponent)
            yield sp.Mul(*(f for f in node.args if f not in factors), merged)


def whole_exponent(node: Any) -> Iterator[Any]:
    """x**2.0 -> x**2: sympy may then merge it."""
    if node.func is sp.Pow and node.exp.is_Float and _is_whole(node.exp):
        yield node.base ** int(node.exp)


def scale_of_sum(node: Any) -> Iterator[Any]:
    """k*(a*x + b)**n*z: multiply k into the sum, or divide the sum by one of its coefficients."""
    number, rest = node.as_coeff_Mul()
    factors = sp.Mul.make_args(rest)
    for factor in factors:
        base, n = factor.as_base_exp() if factor.func is sp.Pow else (factor, sp.S.One)
        if not base.is_Add or not n.is_number or n == 0 or not n.is_real:
            continue
        others = sp.Mul(*(f for f in factors if f is not factor))
        scales = [] if _is(number, 1.0) else [number]
        for scale in [*scales, *(1 / c**n for c in _coefficients(base))]:
            inside = _real_power(scale, 1 / n)
            if inside is not None:
                yield (number / scale) * others * sp.Pow(sp.Add(*(inside * c * r for c, r in _terms(base))), n)


def _real_power(value: Any, exponent: Any) -> Any | None:
    """value**exponent if it is a real number of ordinary size, else None."""
    if value.is_positive:
        result = value**exponent
    elif value.is_negative and exponent.is_Integer:
        result = value ** int(exponent)
    elif value.is_negative and (1 / exponent).is_Integer and int(1 / exponent) % 2:
        result = -((-value) ** exponent)
    else:
        return None
    return result if result.is_Rational else sp.Float(float(result))


def complete_square(node: Any) -> Iterator[Any]:
    """a*u**2 + u*L + rest -> a*(u + L/(2a))**2 + rest - L**2/(4a), for each square and each choice of L."""
    if not node.is_Add:
        return
    terms = node.args
    for square in terms:
        a, power = square.as_coeff_Mul()
        if power.func is not sp.Pow or not power.exp.is_Integer or int(power.exp) % 2 or int(power.exp) <= 0:
            continue
        u = power.base ** (int(power.exp) // 2)
        linear = [t for t in terms if t is not square and u in sp.Mul.make_args(t.as_coeff_Mul()[1])]
        for chosen in [linear, *([t] for t in linear if len(linear) > 1)]:
            if chosen:
                half = sp.Add(*(t / u for t in chosen)) / (2 * a)
                rest = sp.Add(*(t for t in terms if t is not square and t not in chosen))
                yield a * (u + half) ** 2 + rest - sp.expand_mul(sp.expand_multinomial(a * half**2))


def shift_square(node: Any) -> Iterator[Any]:
    """a*B**2 + c*g + rest, where the sum B holds g: take the term c*g into the square."""
    if not node.is_Add:
        return
    for square in node.args:
        a, power = square.as_coeff_Mul()
        if power.func is not sp.Pow or power.exp != 2 or not power.base.is_Add:
            continue
        inside = {rest: c for c, rest in _terms(power.base)}
        others = sp.Add(*(t for t in node.args if t is not square))
        for c, rest in _terms(others):
            if rest in inside and rest is not sp.S.One:
                step = c / inside[rest] / (2 * a)
                moved = sp.Add(*(2 * a * step * k * r for r, k in inside.items()))
                yield a * (power.base + step) ** 2 + (others - moved) - a * step**2


def pull_out(node: Any) -> Iterator[Any]:
    """g*a + g*b + rest -> g*(a + b) + rest, for each factor that two terms share (one step of Horner's scheme)."""
    if not node.is_Add:
        return
    powers = [dict(t.as_coeff_Mul()[1].as_powers_dict()) for t in node.args]
    for g in dict.fromkeys(g for p in powers for g in p if not g.is_number):
        shared = [k for k, p in enumerate(powers) if p.get(g) is not None and p[g].is_number]
        for sign in (1, -1):
            group = [k for k in shared if sign * float(powers[k][g]) > 0]
            if len(group) > 1:
                n = min((powers[k][g] for k in group), key=lambda e: abs(float(e)))
                inner = sp.Add(*(node.args[k] / g**n for k in group))
                yield g**n * inner + sp.Add(*(t for k, t in enumerate(node.args) if k not in group))


def multiply_out(node: Any) -> Iterator[Any]:
    """(a + b)*c -> a*c + b*c, one product at a time; a small square is multiplied out too."""
    if node.is_Mul and any(f.is_Add for f in node.args):
        yield sp.expand_mul(node, deep=False)
    if node.func is sp.Pow and node.base.is_Add and node.exp == 2 and len(node.base.args) <= 4:
        yield sp.expand_multinomial(node, deep=False)


def hold_number(node: Any) -> Iterator[Any]:
    """k*a + k*b + k*c -> k*(a + b + c)**1.0: a power of 1.0 keeps sympy from multiplying k in again."""
    if not node.is_Add:
        return
    number, rest = node.as_coeff_Add()
    for k in _coefficients(rest):
        group = [r for c, r in _terms(rest) if c == k]
        if len(group) > 2:
            others = sp.Add(number, *(c * r for c, r in _terms(rest) if c != k))
            yield k * sp.Pow(sp.Add(*group), sp.Float(1)) + others


def invert(node: Any) -> Iterator[Any]:
    """f/(a + b) -> 1/(a/f + b/f)."""
    if not node.is_Mul:
        return
    for factor in node.args:
        if factor.func is sp.Pow and factor.exp == -1 and factor.base.is_Add:
            others = sp.Mul(*(f for f in node.args if f is not factor))
            yield 1 / sp.Add(*(t / others for t in factor.base.args))


def phase(node: Any) -> Iterator[Any]:
    """-sin(z + c) -> sin(z + c + pi); sin(z + pi/2) -> cos(z) and its kin; k*sin(u)*cos(u) -> k/2*sin(2u)."""
    if node.func in (sp.sin, sp.cos) and node.args[0].is_Add:
        shift, rest = node.args[0].as_coeff_Add()
        turns = float(shift) / (math.pi / 2)
        if turns != 0.0 and abs(turns - round(turns)) <= _NEAR * max(1.0, abs(turns)):
            yield node.func(rest + round(turns) * sp.pi / 2)
    if not node.is_Mul:
        return
    for factor in node.args:
        if factor.func in (sp.sin, sp.cos) and factor.args[0].is_Add and node.args[0] == -1:
            shift, rest = factor.args[0].as_coeff_Add()
            if shift.is_Float:
                turned = float(shift) - math.copysign(math.pi, float(shift))
                yield -node / factor * factor.func(rest + sp.Float(turned))
        partner = sp.cos(factor.args[0]) if factor.func is sp.sin else None
        if partner is not None and partner in node.args:
            yield node / (factor * partner) * sp.sin(2 * factor.args[0]) / 2


def pythagoras(node: Any) -> Iterator[Any]:
    """k - k*sin(u)**2 -> k*cos(u)**2, and the other way round."""
    if not node.is_Add:
        return
    number, _ = node.as_coeff_Add()
    for term in node.args:
        c, rest = term.as_coeff_Mul()
        squared = rest.func is sp.Pow and rest.exp == 2 and rest.base.func in (sp.sin, sp.cos)
        if squared and number != 0 and _same(c, -number):
            other = sp.cos if rest.base.func is sp.sin else sp.sin
            yield sp.Add(*(t for t in node.args if t not in (number, term))) + number * other(rest.base.args[0]) ** 2


def logarithms(node: Any) -> Iterator[Any]:
    """log(k*u) -> log(k) + log(u); log(u**n) -> n*log(u); c*log(u) + c*log(v) -> c*log(u*v)."""
    if node.func is sp.log:
        argument = node.args[0]
        k, rest = argument.as_coeff_Mul()
        if not _is(k, 1.0) and k.is_positive and not rest.is_number:
            yield sp.Float(math.log(float(k))) + sp.log(rest)
        if argument.func is sp.Pow:
            yield argument.exp * sp.log(argument.base)
        if argument.is_Add:
            for c in _coefficients(argument):
                if c.is_positive:
                    yield sp.Float(math.log(float(c))) + sp.log(sp.Add(*(k / c * r for k, r in _terms(argument))))
    if node.is_Add:
        logs = [(c, rest, rest.args[0]) for c, rest in _terms(node) if rest.func is sp.log]
        for (c1, l1, u), (c2, l2, v) in combinations(logs, 2):
            if c1 == c2 or c1 == -c2:
                yield node - c1 * l1 - c2 * l2 + c1 * sp.log(u * v if c1 == c2 else u / v)


def factorise(node: Any) -> Iterator[Any]:
    """sympy's own factor on a sum or quotient, with its floats kept as letters so that it stays exact and quick."""
    quotient = node.is_Mul and any(f.func is sp.Pow and _is_whole(f.exp) and f.exp.is_negative for f in node.args)
    if not (node.is_Add or quotient) or not _small(node):
        return
    letters: dict[Any, Any] = {}
    floats = sorted(node.atoms(sp.Float), key=float)
    for value in floats:
        letters.setdefault(abs(value), sp.Symbol(f"k{len(letters)}"))
    generic = node.xreplace({v: (-1 if v < 0 else 1) * letters[abs(v)] for v in floats})
    changed = sp.factor(generic)
    if changed != generic:
        yield changed.xreplace({letter: value for value, letter in letters.items()})


def _small(node: Any) -> bool:
    """Is this within what factoring does in milliseconds?"""
    exponents = [p.exp for p in node.atoms(sp.Pow)]
    whole = all(abs(e) <= 12 for e in exponents if e.is_Rational)
    return whole and len(node.free_symbols) <= 6 and sum(1 for _ in sp.preorder_traversal(node)) <= 60


READABLE: tuple[Rule, ...] = (
    whole_exponent, scale_of_sum, complete_square, shift_square, pull_out, multiply_out, phase, pythagoras, logarithms,
    exponentials, offset_of_exponent, share_exponential, factorise,
)  # fmt: skip
TERSE: tuple[Rule, ...] = (*READABLE, powers_of_numbers, common_power, hold_number, invert)


def tidy(tree: Any) -> Any:
    """1.0*x is x, and x**1.0 is left alone (see `hold_number`)."""
    products = [m for m in tree.atoms(sp.Mul) if m.args[0].is_Float and abs(m.args[0]) == 1.0]
    ones = {m: sp.Mul(int(m.args[0]), *m.args[1:]) for m in products}
    return tidy(tree.xreplace(ones)) if ones else tree
