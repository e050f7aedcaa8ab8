"""C without sympy against C over sympy's own tree."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from program_strategies import NAMES, random_program

from operators.complexity import complexities, complexity
from operators.primitives import BY_OPCODE, CONST, VAR
from operators.program import FREE, Program, ProgramBatch
from operators.text import parse, render

SYMBOLS = sympy.symbols(NAMES)
_POWER = {"inv": -1, "square": 2, "cube": 3, "sqrt": 0.5}
_INFIX = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
}


def to_sympy(program: Program) -> sympy.Expr:
    """The tree sympy builds from the emitted text: floats for FREE, exact numbers for FIXED, sqrt as **0.5."""
    stack: list[sympy.Expr] = []
    for code, arg, value in zip(program.code, program.arg, program.value, strict=True):
        if code == VAR:
            stack.append(SYMBOLS[arg])
        elif code == CONST:
            exact = Fraction(float(value)).limit_denominator(99)
            stack.append(sympy.Float(value) if arg == FREE else sympy.Rational(exact.numerator, exact.denominator))
        else:
            p = BY_OPCODE[int(code)]
            operands = [stack.pop() for _ in range(p.arity)][::-1]
            if p.name in _POWER:
                stack.append(operands[0] ** sympy.sympify(_POWER[p.name]))
            else:
                stack.append(_INFIX[p.name](*operands) if p.name in _INFIX else getattr(sympy, p.name)(*operands))
    return stack[0]


def count(tree: sympy.Expr) -> int:
    """C = 2*binary + unary as contracted: n-ary Add and Mul n - 1 binary, Pow 1, a function 1 unary."""
    below = sum(count(a) for a in tree.args)
    if isinstance(tree, sympy.Add | sympy.Mul):
        return below + 2 * (len(tree.args) - 1)
    if isinstance(tree, sympy.exp):
        return below + 1
    if isinstance(tree, sympy.Pow):
        return below + 2
    return below + (1 if isinstance(tree, sympy.Function) else 0)


def has_real_constants(program: Program) -> bool:
    """Does every constant-only subtree have a finite real value? Others are illegal in the search."""
    stack: list[float | None] = []
    with np.errstate(all="ignore"):
        for code, value in zip(program.code, program.value, strict=True):
            if code in (VAR, CONST):
                stack.append(None if code == VAR else float(value))
                continue
            p = BY_OPCODE[int(code)]
            operands = [stack.pop() for _ in range(p.arity)][::-1]
            folded = None if None in operands else float(p.function(*operands))
            if folded is not None and not 1e-12 < abs(folded) < 1e12:
                return False
            stack.append(folded)
    return True


def is_real(tree: sympy.Expr) -> bool:
    return not tree.has(sympy.I, sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x1 - x2", 4), ("2.5*(x1 + x2)", 6), ("x1*x1", 2), ("x1*x1*x1/x1", 2), ("-(x1 + x2)", 6), ("2*x1/3.0", 2),
        ("exp(x1 + 1.5)", 3), ("sqrt(x1)", 2), ("1/x1", 2), ("x1/x2", 4), ("(x1*x2)**2", 6), ("2*(x1 + x2)*x3", 8),
        ("2*x3*(x1 + x2)", 6), ("exp(2*log(x1))", 2), ("x1 - x1", 0), ("1.5", 0), ("(x1**2)**2", 2), ("x1 + x1", 2),
        ("-1.5*x1", 2), ("-(-1.5*x1)", 2), ("sin(-x1)", 3), ("cos(-x1)", 1), ("x1**2*x1**3", 2),
    ],
)  # fmt: skip
def test_known_counts(text: str, expected: int) -> None:
    assert complexity(parse(text, NAMES)) == expected


def test_agrees_with_sympy_on_random_programs() -> None:
    rng = np.random.default_rng(5)
    wrong: list[str] = []
    compared = 0
    for _ in range(1500):
        program = random_program(rng, int(rng.integers(1, 16)))
        if not has_real_constants(program):
            continue
        tree = to_sympy(program)
        if not is_real(tree):
            continue
        compared += 1
        if complexity(program) != count(tree):
            wrong.append(f"{render(program, NAMES)}: {complexity(program)}, sympy {count(tree)} {tree}")
    rate = 1 - len(wrong) / compared
    print(f"C agrees with sympy on {rate:.2%} of {compared} random programs")
    print("\n".join(wrong[:30]))
    assert compared > 1000
    assert rate >= 0.97


def test_batch_and_single_counts_agree() -> None:
    rng = np.random.default_rng(6)
    programs = [random_program(rng, int(rng.integers(1, 40))) for _ in range(200)]
    assert complexities(ProgramBatch.of(programs)).tolist() == [complexity(p) for p in programs]


def test_a_chain_of_height_250_is_counted() -> None:
    chain = parse("x1", NAMES)
    program = Program(
        np.concatenate([chain.code, np.full(250, 24, np.uint8)]),
        np.zeros(251, np.int16),
        np.zeros(251),
    )
    assert complexity(program) == 250
    assert math.isfinite(complexity(program))
