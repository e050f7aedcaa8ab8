"""Local search around a law that has just entered the front: shorter spellings and every one-step reduction.

Evolution finds the numbers of a law and loses its form: twice as long as the truth. Trying all reductions of the
few laws on the front costs less than one generation and brings them down to their necessary terms.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evolve.simplifier import Simplifier
from operators.grammar import Grammar
from operators.primitives import ARITY, CONST, OPCODE
from operators.program import FIXED, FREE, LOCAL, Program, constant

_UNARY_SWAPS = {"sin": ("cos",), "cos": ("sin",), "square": ("abs",), "sqrt": ("log",), "log": ("sqrt",)}


def neighbours(program: Program, grammar: Grammar, simplifier: Simplifier, limit: int = 200) -> list[Program]:
    """Legal programs one step away that are at most as long, each once: `program` simplified, its equal forms, reductions."""
    seen = {program.key}
    out: list[Program] = []
    for raw in (program, *simplifier.forms(program, grammar.primitives), *reductions(program)):
        candidate = simplifier.one(raw, grammar.primitives)
        if candidate is None or candidate.key in seen:
            continue
        seen.add(candidate.key)
        if len(candidate) <= grammar.max_length and grammar.is_legal(candidate):
            out.append(candidate)
            if len(out) == limit:
                break
    return out


def reductions(program: Program) -> Iterator[Program]:
    """Every operation replaced by one of its operands, every subtree by a fitted constant, every constant by 1."""
    for i in reversed(range(len(program))):
        code = int(program.code[i])
        if ARITY[code] > 0:
            for child in program.children(i):
                yield program.splice(i, program.subtree(child))
            yield program.splice(i, constant(1.0))
        elif code == CONST and program.arg[i] != FIXED:
            yield program.splice(i, constant(1.0, FIXED))
            if int(program.arg[i]) >= LOCAL:
                yield program.splice(i, constant(float(program.value[i])))
        elif code != CONST:
            yield program.splice(i, constant(1.0))


def unary_swaps(program: Program) -> Iterator[Program]:
    """The program with one function exchanged for a relative (sin for cos, ...)."""
    names = {OPCODE[k]: [OPCODE[v] for v in vs] for k, vs in _UNARY_SWAPS.items()}
    for i in range(len(program)):
        for other in names.get(int(program.code[i]), ()):
            code = program.code.copy()
            code[i] = other
            yield Program(code, program.arg.copy(), program.value.copy())


def released(program: Program) -> Program:
    """The program with its FIXED exponents and factors made FREE, to see whether the data want another number."""
    arg = program.arg.copy()
    arg[(program.code == CONST) & (program.arg == FIXED) & (np.abs(program.value) != 1.0)] = FREE
    return Program(program.code.copy(), arg, program.value.copy())
