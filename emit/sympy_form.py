"""Program <-> sympy, through symbols of our own (x1, x2, ...), and the count of a tree as the Frontier-CS judge counts.

Column names never reach sympy, so a column called E, I or beta is nothing special, and nothing is ever parsed by
sympy: `build` walks Python's `ast` and makes the same automatic evaluations that `sympify` would make. This module
is for the worker process (see `worker.py`): sympy may take for ever on an innocent-looking number.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from emit.errors import NotExpressible
from operators.primitives import BY_OPCODE, CONST, VAR
from operators.program import FIXED, FREE, Program, apply, constant, variable

MAX_DEPTH = 60  # sympy recurses several frames a level
_BIGGEST_INT = 10**15
_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": sp.exp, "log": sp.log, "sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "asin": sp.asin, "acos": sp.acos,
    "atan": sp.atan, "sinh": sp.sinh, "cosh": sp.cosh, "tanh": sp.tanh, "abs": sp.Abs, "min": sp.Min, "max": sp.Max,
}  # fmt: skip
FRONTIER_FUNCTIONS = ("sin", "cos", "exp", "log")
_PRIMITIVES: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "add": _OPERATORS[ast.Add], "sub": _OPERATORS[ast.Sub], "mul": _OPERATORS[ast.Mult], "div": _OPERATORS[ast.Div],
    "pow": _OPERATORS[ast.Pow], "neg": lambda a: -a, "inv": lambda a: 1 / a, "square": lambda a: a**2,
    "cube": lambda a: a**3, "sqrt": lambda a: a ** sp.Float(0.5),
}  # fmt: skip
_NAME_OF = {f: name for name, f in FUNCTIONS.items()}


def symbols(n: int) -> tuple[sp.Symbol, ...]:
    """x1 to xn, plain (complex) symbols as the judge's are."""
    return tuple(sp.Symbol(f"x{i + 1}") for i in range(n))


def number(value: float, role: int) -> Any:
    """A constant as sympy holds it: structural ones exact where they are simple, fitted ones as floats."""
    if role == FREE or value == math.pi:  # the judge reads pi as the digits it is written with
        return sp.Float(value)
    ratio = Fraction(value).limit_denominator(99)
    exact = ratio.numerator / ratio.denominator == value and abs(ratio.numerator) <= _BIGGEST_INT
    return sp.Rational(ratio.numerator, ratio.denominator) if exact else sp.Float(value)


def to_sympy(program: Program, n_features: int) -> Any:
    """The tree sympy holds for a program of global constants; whole-number exponents are Integers."""
    if program.depth > MAX_DEPTH:
        raise NotExpressible(f"the law is nested {program.depth} deep; the sympy form ends at {MAX_DEPTH}")
    x = symbols(n_features)
    stack: list[Any] = []
    for code, arg, value in zip(program.code.tolist(), program.arg.tolist(), program.value.tolist(), strict=True):
        if code == VAR:
            stack.append(x[arg])
        elif code == CONST:
            stack.append(number(value, arg))
        else:
            primitive = BY_OPCODE[code]
            operands = stack[-primitive.arity :]
            del stack[-primitive.arity :]
            if primitive.name == "pow" and operands[1].is_Float and float(operands[1]).is_integer():
                operands[1] = sp.Integer(int(operands[1]))
            stack.append(_PRIMITIVES[primitive.name](*operands))
    return stack[-1]


def build(text: str, n_features: int) -> Any:
    """The tree the judge gets from ``sympify(text)``. Raises NotExpressible for what a Frontier-CS law may not hold."""
    try:
        return _Builder(text, n_features).read(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise NotExpressible(f"not an expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise NotExpressible("the expression is nested too deeply") from None


class _Builder:
    def __init__(self, text: str, n_features: int) -> None:
        self.source = text.strip()
        self.names = {s.name: s for s in symbols(n_features)}

    def read(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id=name):
                raise NotExpressible(f"unknown name {name!r}; a Frontier-CS law knows {', '.join(self.names)}")
            case ast.Constant(value=value):
                return self._number(value, node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FRONTIER_FUNCTIONS:
                return FUNCTIONS[name](self.read(argument))
            case ast.Call(func=ast.Name(id=name)):
                allowed = " ".join(FRONTIER_FUNCTIONS)
                raise NotExpressible(f"{name} is not allowed; use + - * / ** {allowed} of one argument")
        raise NotExpressible(f"not allowed in a Frontier-CS law: {ast.unparse(node)[:60]!r}")

    def _number(self, value: object, node: ast.expr) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise NotExpressible(f"not a real number: {value!r}")
        if isinstance(value, int):
            return sp.Integer(value)
        return sp.Float(ast.get_source_segment(self.source, node))  # as many digits as were written


def count(tree: Any) -> int:
    """C = 2 binary + unary over a sympy tree as the judge counts, who knows Add, Mul, Pow, sin, cos, exp and log."""
    total = 0
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.is_Atom:
            continue
        if node.func in (sp.Add, sp.Mul):
            total += 2 * (len(node.args) - 1)
        elif node.func is sp.Pow:
            total += 2
        elif node.func in (sp.sin, sp.cos, sp.exp, sp.log):
            total += 1
        stack.extend(node.args)
    return total


def refuse_unreal(tree: Any) -> None:
    """Raise NotExpressible if a part of a tree without variables is no finite real number: log(-2), 1/0, exp(800)."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.free_symbols:
            stack.extend(node.args)
        elif not _is_finite_real(node):
            shown = "a number beyond float64" if node.is_Rational else str(node)[:40]
            raise NotExpressible(f"a constant part of the law is not a finite real number: {shown}")


def _is_finite_real(number: Any) -> bool:
    try:
        return math.isfinite(float(number))
    except (TypeError, OverflowError, ValueError):  # complex; beyond float64; an integer too long to print
        return False


def to_program(tree: Any, n_features: int) -> Program:
    """A program for a sympy tree, in the order people write: numbers first, what is divided by last."""
    refuse_unreal(tree)
    return _Unbuilder(symbols(n_features)).read(tree)


class _Unbuilder:
    def __init__(self, x: Sequence[sp.Symbol]) -> None:
        self.leaf = {s: variable(i) for i, s in enumerate(x)}

    def read(self, tree: Any) -> Program:
        if tree in self.leaf:
            return self.leaf[tree]
        if tree.is_Add:
            return self._sum(tree)
        if tree.is_Mul:
            return _negative(*self._signed(tree))
        if tree.func is sp.Pow:
            return self._power(tree.base, tree.exp)
        return self._number(tree) if tree.is_number and tree.is_Atom else self._call(tree)

    def _number(self, tree: Any) -> Program:
        try:
            value = float(tree)
        except (TypeError, OverflowError):
            raise NotExpressible(f"a constant of the law is not a finite real number: {str(tree)[:40]}") from None
        if not math.isfinite(value) or (value == 0.0 and not tree.is_zero):
            raise NotExpressible("a constant of the law is beyond the range of float64")
        return constant(value, FREE if tree.is_Float and value != math.pi else FIXED)

    def _sum(self, tree: Any) -> Program:
        terms = [self._signed(term) for term in tree.as_ordered_terms()]
        first = next((k for k, (sign, _) in enumerate(terms) if sign > 0), 0)  # begin with a positive term if possible
        out = _negative(*terms.pop(first))
        for sign, term in terms:
            out = apply("sub" if sign < 0 else "add", out, term)
        return out

    def _signed(self, term: Any) -> tuple[int, Program]:
        """Sign and absolute form of a term: -3*x/2 is (-1, 3*x/2)."""
        coefficient, rest = term.as_coeff_Mul()
        sign = -1 if coefficient.is_negative else 1
        coefficient = abs(coefficient)
        if rest is sp.S.One:
            return sign, self._number(coefficient)
        factors = list(sp.Mul.make_args(rest))
        over = [f for f in factors if f.func is sp.Pow and f.exp.is_Rational and f.exp.is_negative]
        top = [self.read(f) for f in factors if f not in over]
        bottom = [self._power(f.base, -f.exp) for f in over]
        numerator, denominator = (coefficient, None)
        if coefficient.is_Rational:
            numerator, denominator = sp.Integer(coefficient.p), sp.Integer(coefficient.q)
        if numerator != 1 or numerator.is_Float or not top:
            top.insert(0, self._number(numerator))
        if denominator is not None and denominator != 1:
            bottom.insert(0, self._number(denominator))
        return sign, _fraction(top, bottom)

    def _power(self, base: Any, exponent: Any) -> Program:
        inner = self.read(base)
        simple = {1: None, 2: "square", 3: "cube", -1: "inv"}
        if exponent.is_Integer and int(exponent) in simple:
            name = simple[int(exponent)]
            return inner if name is None else apply(name, inner)
        if exponent == sp.Rational(1, 2) or exponent == sp.Float(0.5):
            return apply("sqrt", inner)
        return apply("pow", inner, self.read(exponent))

    def _call(self, tree: Any) -> Program:
        name = _NAME_OF.get(tree.func)
        if name is None:
            raise NotExpressible(f"no primitive for {tree.func}")
        operands = [self.read(a) for a in tree.args]
        out = operands[0] if len(operands) > 1 else apply(name, operands[0])
        for operand in operands[1:]:
            out = apply(name, out, operand)
        return out


def _negative(sign: int, term: Program) -> Program:
    """sign*term; the sign goes into a leading number if there is one."""
    if sign > 0:
        return term
    if term.code[0] == CONST and _leads_product(term):
        value = term.value.copy()
        value[0] = -value[0]
        return term.with_values(value)
    return apply("neg", term)


def _leads_product(term: Program) -> bool:
    """Is the first leaf the leftmost factor of a chain of products and quotients?"""
    root = len(term) - 1
    while BY_OPCODE.get(int(term.code[root])) is not None and BY_OPCODE[int(term.code[root])].name in ("mul", "div"):
        root = term.children(root)[0]
    return root == 0


def _fraction(top: Sequence[Program], bottom: Sequence[Program]) -> Program:
    def product(factors: Sequence[Program]) -> Program:
        out = factors[0]
        for factor in factors[1:]:
            out = apply("mul", out, factor)
        return out

    if not bottom:
        return product(top)
    if len(top) == 1 and top[0] == constant(1.0, FIXED):
        return apply("inv", product(bottom))
    return apply("div", product(top), product(bottom))
