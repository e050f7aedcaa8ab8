"""Writing down what linear algebra found: sums and products of programs in the primitives a task allows.

A grammar without ``square`` still has products, one without ``inv`` still has quotients: `Builder` picks a spelling
that is allowed and raises `Inexpressible` when there is none, so that finders need not know the grammar.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from operators.primitives import ARITY, CONST, OPCODE
from operators.program import FIXED, FREE, Program, apply, constant

_MAX_DENOMINATOR = 12
_LARGEST_SIMPLE = 144.0
_INVERSE = {"inv", "neg"}


class Inexpressible(Exception):
    """The allowed primitives cannot spell what was found."""


def is_simple(value: float) -> bool:
    """Is the number exactly a small fraction (which a fitted value never is by accident)?"""
    if not abs(value) <= _LARGEST_SIMPLE:
        return False
    ratio = Fraction(value).limit_denominator(_MAX_DENOMINATOR)
    return ratio.numerator / ratio.denominator == value


def nearest_simple(value: float, tolerance: float, max_denominator: int = _MAX_DENOMINATOR) -> float:
    """The small fraction within `tolerance` (relative) of the value, or the value itself."""
    if not abs(value) <= _LARGEST_SIMPLE:
        return value
    ratio = Fraction(value).limit_denominator(max_denominator)
    simple = ratio.numerator / ratio.denominator
    return simple if abs(simple - value) <= tolerance * max(abs(value), abs(simple)) else value


def number(value: float) -> Program:
    """A literal: FIXED when it is exactly a small fraction, else FREE (to be fitted)."""
    return constant(value, FIXED if is_simple(value) else FREE)


def fixed_value(program: Program) -> float | None:
    """The number a one-node FIXED program is, or None."""
    if len(program) == 1 and program.code[0] == CONST and program.arg[0] == FIXED:
        return float(program.value[0])
    return None


class Builder:
    """Spells expressions in the allowed primitives. Every method returns a `Program` or raises `Inexpressible`."""

    def __init__(self, primitives: Iterable[str]) -> None:
        self.names = frozenset(primitives)

    def has(self, *names: str) -> bool:
        return all(name in self.names for name in names)

    def call(self, name: str, *operands: Program) -> Program:
        """A primitive by name, by another spelling if it is not allowed itself."""
        if name in self.names:
            return apply(name, *operands)
        if ARITY[OPCODE[name]] == 2:
            return self._other_binary(name, *operands)
        return self._other_unary(name, operands[0])

    def _other_binary(self, name: str, a: Program, b: Program) -> Program:
        if name == "sub" and self.has("add"):
            return apply("add", a, self.call("neg", b))
        if name == "add" and self.has("sub", "neg"):
            return apply("sub", a, apply("neg", b))
        if name == "div" and self.has("mul") and (self.has("inv") or self.has("pow")):
            return apply("mul", a, self.call("inv", b))
        if name == "mul" and self.has("div", "inv"):
            return apply("div", a, apply("inv", b))
        raise Inexpressible(name)

    def _other_unary(self, name: str, a: Program) -> Program:
        power = {"square": 2.0, "cube": 3.0, "sqrt": 0.5, "inv": -1.0}
        if name == "neg":
            return self.product([constant(-1.0, FIXED), a]) if self.has("mul") else self._zero_minus(a)
        if name == "inv" and self.has("div"):
            return apply("div", constant(1.0, FIXED), a)
        if name in power and self.has("pow"):
            return apply("pow", a, constant(power[name], FIXED))
        if name == "square" and self.has("mul"):
            return apply("mul", a, a)
        if name == "cube" and self.has("mul"):
            return apply("mul", self.call("square", a), a)
        raise Inexpressible(name)

    def _zero_minus(self, a: Program) -> Program:
        if not self.has("sub"):
            raise Inexpressible("neg")
        return apply("sub", constant(0.0, FIXED), a)

    def power(self, base: Program, exponent: float) -> Program:
        """base**exponent with the cheapest spelling of a simple exponent."""
        if exponent == 1.0:
            return base
        if exponent == 0.0:
            return constant(1.0, FIXED)
        if exponent < 0.0 and not (exponent != -1.0 and not is_simple(exponent)):
            return self.call("inv", self.power(base, -exponent))
        named = {2.0: "square", 3.0: "cube", 0.5: "sqrt"}.get(exponent)
        if named is not None:
            return self.call(named, base)
        if exponent == 4.0 and self.has("square"):
            return self.call("square", self.call("square", base))
        if exponent == 1.5 and self.has("sqrt", "cube"):
            return self.call("sqrt", self.call("cube", base))
        if self.has("pow"):
            return apply("pow", base, number(exponent))
        if exponent == int(exponent) and 4.0 <= exponent <= 6.0:
            return self.call("mul", self.power(base, exponent - 2.0), self.call("square", base))
        if self.has("exp", "log", "mul"):
            return apply("exp", apply("mul", number(exponent), apply("log", base)))
        raise Inexpressible(f"power {exponent}")

    def product(self, factors: Sequence[Program]) -> Program:
        """The product of the factors, numbers first, ones left out."""
        kept = [f for f in factors if fixed_value(f) != 1.0]
        if not kept:
            return constant(1.0, FIXED)
        kept.sort(key=lambda f: len(f) != 1 or f.code[0] != CONST)
        if fixed_value(kept[0]) == -1.0 and len(kept) > 1 and self.has("neg"):
            return apply("neg", self.product(kept[1:]))
        out = kept[0]
        for factor in kept[1:]:
            out = self.call("mul", out, factor)
        return out

    def quotient(self, above: Program, below: Program) -> Program:
        """above/below, without dividing by one and with ``inv`` for one above."""
        if fixed_value(below) == 1.0:
            return above
        if fixed_value(above) == 1.0:
            return self.call("inv", below)
        return self.call("div", above, below)

    def monomial(self, coefficient: float, bases: Sequence[Program], exponents: Sequence[float]) -> Program:
        """coefficient * prod(base**exponent), negative powers gathered in one denominator."""
        above = [number(coefficient)]
        below: list[Program] = []
        for base, exponent in zip(bases, exponents, strict=True):
            if exponent > 0.0:
                above.append(self.power(base, exponent))
            elif exponent < 0.0:
                below.append(self.power(base, -exponent))
        return self.quotient(self.product(above), self.product(below))

    def scaled(self, coefficient: float, term: Program) -> Program:
        """coefficient*term; a coefficient of 1 is not written."""
        return self.product([number(coefficient), term])

    def linear(self, coefficients: Sequence[float], terms: Sequence[Program], intercept: float = 0.0) -> Program:
        """sum(coefficient*term) + intercept, a positive term first so that -1 becomes a subtraction."""
        parts = [(float(c), t) for c, t in zip(coefficients, terms, strict=True) if c != 0.0]
        parts.sort(key=lambda part: part[0] < 0.0)
        if not parts:
            return number(intercept)
        out: Program | None = number(intercept) if intercept != 0.0 and parts[0][0] < 0.0 < intercept else None
        rest = 0.0 if out is not None else intercept
        for c, term in parts:
            if out is None:
                out = self.scaled(c, term)
            elif c == -1.0 or (c < 0.0 and is_simple(c)):
                out = self.call("sub", out, self.scaled(-c, term))
            else:
                out = self.call("add", out, self.scaled(c, term))
        assert out is not None
        if rest < 0.0 and is_simple(rest):
            return self.call("sub", out, number(-rest))
        return out if rest == 0.0 else self.call("add", out, number(rest))


def evaluate(program: Program, X: np.ndarray) -> np.ndarray:
    """Values of a program on X (features, rows), by numpy: the slow, plain way, for a few candidates."""
    from operators.primitives import BY_OPCODE, VAR

    stack: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for code, arg, value in zip(program.code, program.arg, program.value, strict=True):
            if code == VAR:
                stack.append(X[arg])
            elif code == CONST:
                stack.append(np.full(X.shape[1], value))
            else:
                primitive = BY_OPCODE[int(code)]
                operands = stack[-primitive.arity :]
                del stack[-primitive.arity :]
                stack.append(primitive.function(*operands))
    return stack[-1]
