"""Locals in plain words: what only ever stands as log(a), a**3 or a*b is one local by itself.

A function of locals and numbers alone says nothing about the data when its locals stand nowhere else: the cluster's
value of the whole is as free as theirs. So it becomes one local, and locals that only act together become one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emit.evaluate import values
from operators.primitives import CONST, VAR
from operators.program import LOCAL, Program, constant

_NO_INPUT = np.zeros((0, 1))


def plain(program: Program) -> Program:
    """The program with every function of locals that stands for a free number replaced by one local.

    The start of the new local is the value of the function; one that is not finite at its starts is left alone.
    """
    while True:
        found = next((i for i in range(len(program) - 1, -1, -1) if _is_free_number(program, i)), None)
        if found is None:
            return program
        program = _replaced(program, found)


def _is_free_number(program: Program, root: int) -> bool:
    """Is the subtree a function of locals, none of which stands outside its copies?"""
    part = program.subtree(root)
    slots = part.local_slots
    if len(part) == 1 or not slots or (part.code == VAR).any():
        return False
    inside = np.zeros(len(program), dtype=bool)
    for i in _copies(program, part):
        inside[int(program.starts[i]) : i + 1] = True
    own = _local_nodes(program) & np.isin(program.arg, LOCAL + np.array(slots))
    return bool(inside[own].all() and np.isfinite(values(part, _NO_INPUT)).all())


def _replaced(program: Program, root: int) -> Program:
    part = program.subtree(root)
    local = constant(float(values(part, _NO_INPUT)[0]), LOCAL + part.local_slots[0])
    for i in sorted(_copies(program, part), reverse=True):  # from the right, so that the nodes before keep their place
        program = program.splice(i, local)
    return program


def _copies(program: Program, part: Program) -> list[int]:
    """The roots of all subtrees equal to `part`."""
    return [
        i for i in range(len(program))
        if i + 1 - int(program.starts[i]) == len(part) and program.subtree(i) == part
    ]  # fmt: skip


def _local_nodes(program: Program) -> NDArray[np.bool_]:
    return (program.code == CONST) & (program.arg >= LOCAL)
