"""Laws to begin with on any grouped task: the curves that textbooks fit to one series after another.

Offered for every input that varies within clusters, with every split of their parameters into locals and shared
constants that the caps allow. Evolution goes on from them; a task on which none of them holds loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from operators.grammar import Grammar
from operators.primitives import CONST
from operators.program import FREE, LOCAL, Program
from operators.text import parse

F64 = NDArray[np.float64]

# A form over x with parameters a, b, c, d, and their starts: numbers, or how they scale with x ("x": as x, "1/x").
_CURVES: tuple[tuple[str, str], ...] = (
    ("a + b*x", "1 1"),
    ("a*x", "1"),
    ("a + b*x + c*x**2", "1 1 1"),
    ("a*x + b*x**2", "1 1"),
    ("a + b*x**2", "1 1"),
    ("a + b*x + c*x**2 + d*x**3", "1 1 1 1"),
    ("a*x**b", "1 1"),
    ("a + b*x**c", "1 1 .5"),
    ("a + b/x", "1 1"),
    ("a + b/x**2", "1 1"),
    ("a + b/x**2 + c/x**4", "1 1 1"),
    ("a + b/x**2 + c*x**2", "1 1 1"),
    ("a + b*log(x)", "1 1"),
    ("a + b*log(x) + c*log(x)**2", "1 1 1"),
    ("a + b*log(x + c)", "1 1 x"),
    ("a*log(1.0 + x/b)", "1 x"),
    ("a + b*sqrt(x)", "1 1"),
    ("a*exp(b*x)", "1 1/x"),
    ("a + b*exp(c*x)", "1 1 1/x"),
    ("a + b*exp(-c*x)", "1 -1 1/x"),
    ("a*(1 - exp(-b*x))", "1 1/x"),
    ("a*(1 - exp(-b*(x - c)))", "1 1/x 0"),
    ("a*(1 - exp(-b*x))**c", "1 1/x 1"),
    ("a*exp(-b/x)", "1 x"),
    ("a*exp(-b/(x + c))", "1 x x"),
    ("a*exp(b*x + c*x**2)", "1 1/x 0"),
    ("a*exp(-b*exp(-c*x))", "1 1 1/x"),
    ("a*exp(b*(1 - exp(-c*x)))", "1 1 1/x"),
    ("a*x*exp(-b*x)", "1 1/x"),
    ("a*x**b*exp(-c*x)", "1 1 1/x"),
    ("a*x/(b + x)", "1 x"),
    ("a + b*x/(c + x)", "1 1 x"),
    ("(a + b*x)/(c + x)", "1 1 x"),
    ("a*x/(b + x + c*x**2)", "1 x 1/x"),
    ("a*x**c/(b + x**c)", "1 1 1"),
    ("a/(1 + (b/x)**c)", "1 x 1"),
    ("d + a/(1 + (b/x)**c)", "1 x 1 0"),
    ("d + a/(1 + (b/x))", "1 x 0"),
    ("a/(1 + exp((b - x)/c))", "1 x x"),
    ("d + a/(1 + exp((b - x)/c))", "1 x x 0"),
    ("a/(1 + exp(b - c*log(x)))", "1 1 1"),
    ("a/(1 + b*exp(-c*x))", "1 5 1/x"),
    ("a/(b - x)", "1 -x"),
    ("1/(a + b*x)", "1 1/x"),
    ("a*(1 - b*x)**c", "1 1/x -1"),
    ("a*(1 + b*x)**c", "1 1/x 1"),
    ("sqrt(a + b*x**2/(x**2 - c))", "1 1 0"),
    ("a + b*x**2/(x**2 - c)", "1 1 0"),
    ("a + b/(x**2 - c) + d*x**2", "1 1 0 0"),
    ("a*tanh(b*x)", "1 1/x"),
    ("a + b*tanh(c*x)", "1 1 1/x"),
    ("a*max(x - b, 0)", "1 0"),
    ("min(a*(x - b), c)", "1 0 1"),
)
# The same over two inputs x and z.
_SURFACES: tuple[tuple[str, str], ...] = (
    ("a + b*x + c*z", "1 1 1"),
    ("a*x + b*z", "1 1"),
    ("a*x**b*z**c", "1 1 .1"),
    ("a + b*log(x) + c*log(z)", "1 1 1"),
    ("exp(a + b*log(x) + c*log(x)**2)", "1 1 0"),
    ("a + b*x + c*x*z", "1 1 1"),
    ("a*x*z/(b + x)", "1 x"),
    ("(a + b*z)*x/(c + x)", "1 1 x"),
    ("a*exp(b*x)*z**c", "1 1/x .1"),
    ("(a + b*z)*log(x)", "1 1"),
    ("z + a*x**b", "1 1"),
    ("z + a*x", "1"),
    ("a*z + b*x**c", "1 1 1"),
    ("z*exp(a*x)", "1/x"),
    ("z*(1 + a*x)**b", "1/x 1"),
)  # fmt: skip
_WAVES = (
    "a + b*sin({w}*x) + c*cos({w}*x)",
    "a + b*cos({w}*x)",
    "a + b*sin({w}*x)",
    "a + b*cos({w}*(x - c))",
    "a + b*x + c*sin({w}*x) + d*cos({w}*x)",
)
_PERIODS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)  # oscillations over the span of the input
_FACTORS = (1.0, 0.1, 10.0)  # of the starts that scale with x
_NAMES = "abcd"


def textbook(grammar: Grammar, X: F64, varying: Sequence[int]) -> list[Program]:
    """All textbook laws over the features in `varying`, then those over one of them and any other, legal ones only."""
    found: dict[bytes, Program] = {}
    for program in _all(grammar, X, varying):
        if grammar.is_legal(program):
            found.setdefault(program.key, program)
    return list(found.values())


def _all(grammar: Grammar, X: F64, varying: Sequence[int]) -> Iterator[Program]:
    names = tuple(f"x{i}" for i in range(len(X)))
    for f in varying:
        yield from _forms(_CURVES, names, X, f, f, grammar)
        yield from _waves(names, X, f, grammar)
    for f in varying[:3]:
        for other in grammar.allowed_features:
            if other != f:
                yield from _forms(_SURFACES, names, X, f, other, grammar)


def _forms(
    forms: Sequence[tuple[str, str]], names: tuple[str, ...], X: F64, x: int, z: int, grammar: Grammar
) -> Iterator[Program]:
    typical = float(np.median(np.abs(X[x]))) or float(np.max(np.abs(X[x]))) or 1.0
    for text, starts in forms:
        program = parse(_named(text, x, z), names, tuple(_NAMES))
        scaled = "x" in starts
        for factor in _FACTORS if scaled else (1.0,):
            values = [_start(s, typical * factor) for s in starts.split()]
            yield from roles(program, values, grammar)


def _waves(names: tuple[str, ...], X: F64, x: int, grammar: Grammar) -> Iterator[Program]:
    span = float(np.ptp(X[x])) or 1.0
    for text in _WAVES:
        for periods in _PERIODS:
            program = parse(_named(text.replace("{w}", repr(2.0 * np.pi * periods / span)), x, x), names, tuple(_NAMES))
            yield from roles(program, [1.0, 1.0, 1.0, 1.0], grammar)


def roles(program: Program, values: Sequence[float], grammar: Grammar) -> Iterator[Program]:
    """The program with its locals (in slot order, starting at `values`) as locals or constants, as the caps allow."""
    slots = program.local_slots
    for count in range(min(len(slots), grammar.max_locals), 0, -1):
        for chosen in combinations(slots, count):
            arg, value = program.arg.copy(), program.value.copy()
            constants: set[int] = set()
            for slot, start in zip(slots, values, strict=False):
                nodes = (program.arg == LOCAL + slot) & (program.code == CONST)
                value[nodes] = start
                if slot in chosen:
                    arg[nodes] = LOCAL + chosen.index(slot)
                elif np.count_nonzero(nodes) > 1:
                    constants.add(slot)  # a constant that stands twice would be two
                else:
                    arg[nodes] = FREE
            if not constants:
                yield Program(program.code.copy(), arg, value)


def _named(text: str, x: int, z: int) -> str:
    out = ""
    for k, ch in enumerate(text):
        alone = not (k and text[k - 1].isalpha()) and not (k + 1 < len(text) and text[k + 1].isalpha())
        out += f"x{x}" if ch == "x" and alone else f"x{z}" if ch == "z" and alone else ch
    return out


def _start(text: str, typical: float) -> float:
    sign = -1.0 if text.startswith("-x") else 1.0
    if text.lstrip("-") == "x":
        return sign * typical
    return 1.0 / typical if text == "1/x" else float(text)
