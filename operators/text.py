"""Program <-> expression text, on Python's `ast`.

Text to Program to text is the identity, and so is the way back. Literals say their role: ``2`` and ``1/2`` are
FIXED, ``2.0`` is FREE; a local parameter is a name. Where Python's short form would be read back as another
program (``x**2`` is square(x), so pow(x, 2) needs another spelling) the call form ``pow(x, 2)`` is written.
Nothing is ever evaluated: a column called ``exec`` is a name and no more.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from fractions import Fraction

from operators.errors import InputError, nearest
from operators.primitives import ATOM, BY_NAME, BY_OPCODE, CONST, PRODUCT, VAR, Primitive
from operators.program import FIXED, FREE, LOCAL, Program, apply, constant, variable

_MAX_DENOMINATOR = 99
_INFIX = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}


def default_locals(program: Program) -> tuple[str, ...]:
    """Names p0, p1, ... for the local slots of a program."""
    return tuple(f"p{k}" for k in range(max(program.local_slots, default=-1) + 1))


def render(program: Program, names: Sequence[str], local_names: Sequence[str] | None = None) -> str:
    """Write a program as text; names[i] is the identifier of feature i, local_names[k] of local slot k."""
    locals_ = default_locals(program) if local_names is None else local_names
    stack: list[tuple[str, int]] = []
    for i in range(len(program)):
        code, arg, value = int(program.code[i]), int(program.arg[i]), float(program.value[i])
        if code == VAR:
            stack.append((names[arg], ATOM))
        elif code == CONST:
            stack.append((locals_[arg - LOCAL], ATOM) if arg >= LOCAL else number(value, arg))
        else:
            primitive = BY_OPCODE[code]
            operands = stack[-primitive.arity :]
            del stack[-primitive.arity :]
            stack.append(
                _call(primitive, operands) if _ambiguous(program, i, primitive) else compose(primitive, operands)
            )
    return stack[-1][0]


def compose(primitive: Primitive, operands: Sequence[tuple[str, int]], text: str | None = None) -> tuple[str, int]:
    """Put operand texts (with their precedence) into a primitive's form, with the parentheses it needs."""
    form = primitive.text if text is None else text
    parts = [t if binds >= need else f"({t})" for (t, binds), need in zip(operands, primitive.needs, strict=True)]
    return form.format(*parts), primitive.binds


def number(value: float, role: int = FREE) -> tuple[str, int]:
    """A literal that reads back as the same number in the same role, with its precedence."""
    if role == FREE or not math.isfinite(value):
        text = repr(float(value))
        return text, PRODUCT if text.startswith("-") else ATOM
    if value == math.pi:
        return "pi", ATOM
    ratio = Fraction(value).limit_denominator(_MAX_DENOMINATOR)
    if ratio.numerator / ratio.denominator != value or abs(ratio.numerator) > 10**15:
        return f"fixed({value!r})", ATOM
    return str(ratio), ATOM if ratio.denominator == 1 and ratio >= 0 else PRODUCT


def _call(primitive: Primitive, operands: Sequence[tuple[str, int]]) -> tuple[str, int]:
    return f"{primitive.name}({', '.join(t for t, _ in operands)})", ATOM


def _ambiguous(program: Program, i: int, primitive: Primitive) -> bool:
    """Would the short form be read back as another program?"""
    roots = program.children(i)

    def fixed(k: int) -> bool:
        return bool(program.code[roots[k]] == CONST and program.arg[roots[k]] == FIXED)

    if primitive.name == "neg":
        return bool(program.code[roots[0]] == CONST and program.arg[roots[0]] < LOCAL)
    if primitive.name == "inv":
        return fixed(0)
    if primitive.name == "pow":
        return fixed(1) and float(program.value[roots[1]]) in (2.0, 3.0)
    if primitive.name == "div":
        return fixed(0) and (float(program.value[roots[0]]) == 1.0 or fixed(1))
    return False


def parse(text: str, names: Sequence[str], local_names: Sequence[str] = ()) -> Program:
    """Read a program from text. Raises InputError for anything that is not an expression over `names`."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _Reader(names, local_names).read(tree)
    except SyntaxError as error:
        raise InputError(f"not an expression: {text!r} ({error.msg})") from None
    except (RecursionError, MemoryError):
        raise InputError("the expression is nested too deeply to read; the engine holds at most 64 nodes") from None


class _Reader:
    def __init__(self, names: Sequence[str], local_names: Sequence[str]) -> None:
        self.leaves = {name: variable(i) for i, name in enumerate(names)}
        self.leaves.update({name: constant(1.0, LOCAL + k) for k, name in enumerate(local_names)})

    def read(self, node: ast.expr) -> Program:
        match node:
            case ast.Name(id=name):
                return self._name(name)
            case ast.Constant(value=value):
                return _literal(value)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _negate(self.read(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _INFIX:
                return _infix(_INFIX[type(op)], self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self.read(a) for a in args])
        raise InputError(
            f"not allowed in an expression: {ast.unparse(node)!r}; use + - * / ** and {', '.join(BY_NAME)}"
        )

    def _name(self, name: str) -> Program:
        if name in self.leaves:
            return self.leaves[name]
        if name == "pi":
            return constant(math.pi, FIXED)
        raise InputError(f"unknown name {name!r} in the expression{nearest(name, self.leaves)}")

    def _call(self, name: str, operands: list[Program]) -> Program:
        if name == "fixed" and len(operands) == 1 and len(operands[0]) == 1:
            return constant(float(operands[0].value[0]), FIXED)
        if name not in BY_NAME:
            raise InputError(f"unknown function {name!r} in the expression{nearest(name, BY_NAME)}")
        if len(operands) != BY_NAME[name].arity:
            raise InputError(f"{name} takes {BY_NAME[name].arity} argument(s), got {len(operands)}")
        return apply(name, *operands)


def _literal(value: object) -> Program:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"not a real number: {value!r}")
    try:
        number_ = float(value)
    except OverflowError:
        number_ = math.inf
    if not math.isfinite(number_):
        raise InputError("a number in the expression is too large for float64")
    return constant(number_, FIXED if isinstance(value, int) else FREE)


def _is_number(program: Program) -> bool:
    return len(program) == 1 and bool(program.code[0] == CONST) and int(program.arg[0]) < LOCAL


def _negate(operand: Program) -> Program:
    if _is_number(operand):
        return constant(-float(operand.value[0]), int(operand.arg[0]))
    return apply("neg", operand)


def _infix(name: str, left: Program, right: Program) -> Program:
    """An infix operation, in the canonical spelling: squares, cubes, inverses and fixed ratios by their own nodes."""
    right_fixed = _is_number(right) and right.arg[0] == FIXED
    left_fixed = _is_number(left) and left.arg[0] == FIXED
    if name == "pow" and right_fixed and right.value[0] in (2.0, 3.0):
        return apply("square" if right.value[0] == 2.0 else "cube", left)
    if name == "div" and left_fixed:
        if right_fixed and right.value[0] != 0.0:
            return constant(float(left.value[0]) / float(right.value[0]), FIXED)
        if left.value[0] == 1.0:
            return apply("inv", right)
    return apply(name, left, right)
