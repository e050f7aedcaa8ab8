"""Equal forms of a law: the same values written another way, with fewer operations or fewer constants.

Each rule looks at one node as a sum of terms ``c * base**n * ...`` or as a product of factors and proposes other
forms of it. Which form is shorter depends on the whole program, so rules only propose: proposals are simplified
and counted in the whole. All rules are identities over the reals; where a form is defined at more points than the
original (log(a) + log(b) needs both positive, log(a*b) only the product) it still agrees wherever the original is real.

================================  ==============================================  ==============================
rule                              example                                         keeps values where
================================  ==============================================  ==============================
factor                            a*b + a*c -> a*(b + c)                          everywhere
distribute                        a*(b + c) -> a*b + a*c                          everywhere
square of a sum                   x**2 - 2*x*y + y**2 -> (x - y)**2               everywhere
completed square                  a*x**2 + b*x + c -> a*(x + h)**2 + c'           everywhere (c' fitted)
one wave                          a*sin(u) + b*cos(u) -> A*sin(u + p)             everywhere (a, b fitted)
Pythagoras                        a*sin(u)**2 + b*cos(u)**2 -> (a - b)*sin(u)**2 + b   everywhere
one logarithm                     c*log(a) - c*log(b) -> c*log(a/b)               a, b > 0 (as the original)
tangent                           sin(u)/cos(u) -> tan(u)                         cos(u) is not 0 (as the original)
expand                            (a + b)**2 -> a**2 + 2*a*b + b**2               everywhere
================================  ==============================================  ==============================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from operators.primitives import BY_OPCODE, CONST, OPCODE
from operators.program import FIXED, FREE, LOCAL, Program, apply, constant

_TOLERANCE = 1e-12
_MOST_TERMS = 12


@dataclass(frozen=True)
class Number:
    """A coefficient with its role; arithmetic keeps a number structural only when both sides are."""

    value: float
    role: int = FIXED

    def __mul__(self, other: Number) -> Number:
        return Number(self.value * other.value, self._joint(other))

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, self._joint(other))

    def _joint(self, other: Number) -> int:
        return FIXED if self.role == FIXED and other.role == FIXED else FREE

    @property
    def program(self) -> Program:
        return constant(self.value, self.role)


ONE = Number(1.0)
Factors = tuple[tuple[Program, int], ...]  # (base, whole exponent), each base once


@dataclass(frozen=True)
class Term:
    """coef * base**n * base**n ..."""

    coef: Number
    factors: Factors

    @property
    def program(self) -> Program:
        return _product(self.coef, self.factors)

    def exponent(self, base: Program) -> int:
        return dict(self.factors).get(base, 0)

    def without(self, base: Program, n: int) -> Term:
        """This term divided by base**n."""
        return Term(self.coef, tuple((b, e - n if b == base else e) for b, e in self.factors if b != base or e != n))


def _power(base: Program, n: int) -> Program:
    named = {1: "", 2: "square", 3: "cube", -1: "inv"}
    if n in named:
        return apply(named[n], base) if named[n] else base
    return apply("pow", base, constant(float(n), FIXED))


def _product(coef: Number, factors: Factors) -> Program:
    out: Program | None = None if coef == ONE and factors else coef.program
    for base, n in factors:
        out = _power(base, n) if out is None else apply("mul", out, _power(base, n))
    assert out is not None
    return out


def _sum(terms: list[Term]) -> Program:
    out = terms[0].program
    for term in terms[1:]:
        out = apply("add", out, term.program)
    return out


def _name(program: Program) -> str:
    code = int(program.code[-1])
    return BY_OPCODE[code].name if code in BY_OPCODE else ""


def _operands(program: Program) -> list[Program]:
    return [program.subtree(c) for c in program.children(len(program) - 1)]


def _is_number(program: Program) -> bool:
    return len(program) == 1 and int(program.code[0]) == CONST and int(program.arg[0]) < LOCAL


def terms_of(program: Program, sign: float = 1.0) -> list[Term]:
    """The terms of a sum, nested sums opened."""
    name = _name(program)
    if name in ("add", "sub"):
        left, right = _operands(program)
        return terms_of(left, sign) + terms_of(right, sign if name == "add" else -sign)
    if name == "neg":
        return terms_of(_operands(program)[0], -sign)
    coef, factors = factors_of(program)
    return [Term(Number(sign) * coef, factors)]


def factors_of(program: Program, n: int = 1) -> tuple[Number, Factors]:
    """Coefficient and factors of program**n, nested products, quotients and whole powers opened."""
    name = _name(program)
    if _is_number(program):
        value, role = float(program.value[0]), int(program.arg[0])
        return (Number(value**n, role), ()) if value != 0.0 or n > 0 else (ONE, ((program, n),))
    if name in ("mul", "div"):
        left, right = _operands(program)
        return _times(factors_of(left, n), factors_of(right, n if name == "mul" else -n))
    if name in ("square", "cube", "inv"):
        return factors_of(_operands(program)[0], n * {"square": 2, "cube": 3, "inv": -1}[name])
    if name == "neg":
        return _times((Number((-1.0) ** n), ()), factors_of(_operands(program)[0], n))
    return ONE, ((program, n),)


def _times(left: tuple[Number, Factors], right: tuple[Number, Factors]) -> tuple[Number, Factors]:
    merged = dict(left[1])
    for base, n in right[1]:
        merged[base] = merged.get(base, 0) + n
    return left[0] * right[0], tuple((b, n) for b, n in merged.items() if n)


# Rules over the terms of a sum --------------------------------------------------------------------------------------


def _factor(terms: list[Term]) -> Iterator[Program]:
    bases = {b for t in terms for b, _ in t.factors}
    for base in bases:
        for sign in (1, -1):
            sharing = [t for t in terms if t.exponent(base) * sign > 0]
            if len(sharing) < 2:
                continue
            n = sign * min(abs(t.exponent(base)) for t in sharing)
            inside = _sum([t.without(base, n) for t in sharing])
            others = [t for t in terms if t not in sharing]
            yield _sum([*others, Term(ONE, ((base, n), (inside, 1)))])


def _square_of_sum(terms: list[Term]) -> Iterator[Program]:
    """k*a**2 + c*a*b + m*b**2 with c**2 = 4*k*m is k*(a + c/(2*k)*b)**2."""
    squares = [t for t in terms if t.factors and all(n % 2 == 0 for _, n in t.factors)]
    for p, q in combinations(squares, 2):
        a, b = (tuple((base, n // 2) for base, n in t.factors) for t in (p, q))
        crossed = _times((ONE, a), (ONE, b))[1]
        for cross in terms:
            if dict(cross.factors) != dict(crossed) or p.coef.value * q.coef.value <= 0.0:
                continue
            if abs(cross.coef.value**2 - 4 * p.coef.value * q.coef.value) > _TOLERANCE * cross.coef.value**2:
                continue
            ratio = cross.coef.value / (2.0 * p.coef.value)
            role = FIXED if abs(ratio) in (1.0, 2.0, 3.0, 0.5) else FREE
            inside = _sum([Term(ONE, a), Term(Number(ratio, role), b)])
            yield _sum([*(t for t in terms if t not in (p, q, cross)), Term(p.coef, ((inside, 2),))])


def _completed_square(terms: list[Term]) -> Iterator[Program]:
    """a*x**2 + b*x + c with a fitted c, which takes what completing the square leaves over."""
    rest = [t for t in terms if not t.factors and t.coef.role == FREE]
    if len(rest) != 1:
        return
    for p in terms:
        root = tuple((base, n // 2) for base, n in p.factors)
        if not root or any(n % 2 for _, n in p.factors):
            continue
        for q in terms:
            if dict(q.factors) != dict(root) or p.coef.value == 0.0:
                continue
            h = q.coef.value / (2.0 * p.coef.value)
            inside = _sum([Term(ONE, root), Term(Number(h, FREE), ())])
            left = Term(Number(rest[0].coef.value - p.coef.value * h * h, FREE), ())
            yield _sum([*(t for t in terms if t not in (p, q, rest[0])), Term(p.coef, ((inside, 2),)), left])


def _wave_of(term: Term, n: int) -> tuple[str, Program, Factors] | None:
    """(sin or cos, its argument, the other factors) of a term that holds one of them to the power n."""
    for base, exponent in term.factors:
        if _name(base) in ("sin", "cos") and exponent == n:
            return _name(base), _operands(base)[0], tuple(f for f in term.factors if f[0] != base)
    return None


def _one_wave(terms: list[Term]) -> Iterator[Program]:
    for p, q in combinations(terms, 2):
        first, second = _wave_of(p, 1), _wave_of(q, 1)
        if first is None or second is None or first[0] == second[0] or first[1:] != second[1:]:
            continue
        if p.coef.role != FREE or q.coef.role != FREE:
            continue
        s, c = (p, q) if first[0] == "sin" else (q, p)
        phase = constant(math.atan2(c.coef.value, s.coef.value))
        size = Number(math.hypot(c.coef.value, s.coef.value), FREE)
        wave = apply("sin", apply("add", first[1], phase))
        yield _sum([*(t for t in terms if t not in (p, q)), Term(size, (*first[2], (wave, 1)))])


def _pythagoras(terms: list[Term]) -> Iterator[Program]:
    for p, q in combinations(terms, 2):
        first, second = _wave_of(p, 2), _wave_of(q, 2)
        if first is None or second is None or first[0] == second[0] or first[1:] != second[1:]:
            continue
        for keep, drop in ((p, q), (q, p)):
            difference = keep.coef + Number(-1.0) * drop.coef
            others = [t for t in terms if t not in (p, q)]
            yield _sum([*others, Term(difference, keep.factors), Term(drop.coef, first[2])])


def _one_logarithm(terms: list[Term]) -> Iterator[Program]:
    for p, q in combinations(terms, 2):
        logs = [[b for b, n in t.factors if _name(b) == "log" and n == 1] for t in (p, q)]
        if not logs[0] or not logs[1] or abs(p.coef.value) != abs(q.coef.value):
            continue
        if p.without(logs[0][0], 1).factors != q.without(logs[1][0], 1).factors:
            continue
        name = "mul" if p.coef.value == q.coef.value else "div"
        merged = apply("log", apply(name, _operands(logs[0][0])[0], _operands(logs[1][0])[0]))
        others = [t for t in terms if t not in (p, q)]
        yield _sum([*others, Term(p.coef, (*p.without(logs[0][0], 1).factors, (merged, 1)))])


# Rules over the factors of a product --------------------------------------------------------------------------------


def _distribute(coef: Number, factors: Factors) -> Iterator[Program]:
    for base, n in factors:
        if n != 1 or _name(base) not in ("add", "sub"):
            continue
        rest = tuple(f for f in factors if f[0] != base)
        if not rest and coef.role == FREE:
            continue
        yield _sum([Term(*_times((coef, rest), (t.coef, t.factors))) for t in terms_of(base)])


def _expand(coef: Number, factors: Factors) -> Iterator[Program]:
    for base, n in factors:
        if n != 2 or _name(base) not in ("add", "sub"):
            continue
        inner = terms_of(base)
        if len(inner) > 3:
            continue
        rest = tuple(f for f in factors if f[0] != base)
        products = [Term(*_times((s.coef, s.factors), (t.coef, t.factors))) for s in inner for t in inner]
        yield _product(coef, (*rest, (_sum(products), 1)))


def _tangent(coef: Number, factors: Factors) -> Iterator[Program]:
    for base, n in factors:
        if _name(base) != "sin" or n <= 0:
            continue
        below = apply("cos", _operands(base)[0])
        if dict(factors).get(below) == -n:
            rest = tuple(f for f in factors if f[0] not in (base, below))
            yield _product(coef, (*rest, (apply("tan", _operands(base)[0]), n)))


_SUM_RULES = (_factor, _square_of_sum, _completed_square, _one_wave, _pythagoras, _one_logarithm)
_PRODUCT_RULES = (_distribute, _expand, _tangent)
_IN_SUM = frozenset(OPCODE[n] for n in ("add", "sub", "neg"))
_IN_PRODUCT = frozenset(OPCODE[n] for n in ("mul", "div", "inv", "square", "cube", "neg"))


def _forms_at(program: Program, i: int, inside_sum: bool, inside_product: bool) -> Iterator[Program]:
    code = int(program.code[i])
    part = program.subtree(i)
    if code in _IN_SUM and not inside_sum:
        terms = terms_of(part)
        if 2 <= len(terms) <= _MOST_TERMS:
            for rule in _SUM_RULES:
                yield from rule(terms)
    if code in _IN_PRODUCT and not inside_product:
        coef, factors = factors_of(part)
        for product_rule in _PRODUCT_RULES:
            yield from product_rule(coef, factors)


def proposals(program: Program) -> Iterator[Program]:
    """Every form one rule away, not simplified. A rule is tried at the top of each sum and each product only."""
    parent = {c: i for i in range(len(program)) for c in program.children(i)}
    for i in range(len(program)):
        above = int(program.code[parent[i]]) if i in parent else -1
        for form in _forms_at(program, i, above in _IN_SUM, above in _IN_PRODUCT):
            yield program.splice(i, form)
