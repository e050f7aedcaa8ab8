"""Local search around a law that has just entered the front: shorter spellings and every one-step reduction.

Evolution finds the numbers of a law and loses its form: twice as long as the truth. Trying all reductions of the
few laws on the front costs less than one generation and brings them down to their necessary terms.
"""

from __future__ import annotations

from collections.abc import Iterator

from evolve.simple_numbers import structural
from evolve.simplifier import Simplifier
from operators.grammar import Grammar
from operators.primitives import ARITY, CONST
from operators.program import FIXED, LOCAL, Program, constant


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
    """Every operation replaced by one of its operands, every subtree by a fitted constant, every constant by 1, or by
    the whole or half number next to it where such a number is a matter of form."""
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
            else:
                near = program.splice(i, constant(round(2.0 * float(program.value[i])) / 2.0, FIXED))
                if near.value[i] != 1.0 and structural(near, i):
                    yield near
        elif code != CONST:
            yield program.splice(i, constant(1.0))
