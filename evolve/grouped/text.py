"""A grouped law as a module: names and starts of its locals, and which of them it is linear in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emit.contract_module import GroupedLaw, Local, render_grouped
from fitness.plan import parameters
from harness_adapter.task import Task
from operators.primitives import CONST
from operators.program import FIXED, FREE, LOCAL, Program

_LETTERS = "abcdefgh"


def compact(program: Program) -> Program:
    """The program with its local slots numbered 0, 1, ... in the order in which they appear."""
    is_local = (program.code == CONST) & (program.arg >= LOCAL)
    order = dict.fromkeys(program.arg[is_local].tolist())
    new = {old: LOCAL + k for k, old in enumerate(order)}
    arg = program.arg.copy()
    arg[is_local] = [new[a] for a in program.arg[is_local].tolist()]
    return Program(program.code.copy(), arg, program.value.copy())


def local_names(program: Program) -> tuple[str, ...]:
    """What the locals are called in the module and in tables: a, b, c, ..."""
    return tuple(_LETTERS[: len(program.local_slots)])


def starts(program: Program) -> list[float]:
    """The start of each local, by slot."""
    return [float(program.value[_nodes(program, slot)[0]]) for slot in program.local_slots]


def linear_slots(program: Program) -> tuple[int, ...]:
    """Slots in which the law is linear, taken together."""
    arg = np.where((program.code == CONST) & (program.arg == FREE), FIXED, program.arg).astype(np.int16)
    number, _, n_affine = parameters(program.code, arg)
    return tuple(s for s in program.local_slots if number[_nodes(program, s)[0]] < n_affine)


def module(program: Program, task: Task, metric: str, notes: Sequence[str]) -> str:
    """The text of best.py. The program's slots are compact; raises NotExpressible as `render_grouped` does."""
    locals_ = tuple(Local(name, start) for name, start in zip(local_names(program), starts(program), strict=True))
    law = GroupedLaw(
        program, task.inputs, task.identifiers, task.target, tuple(notes), locals=locals_,
        linear=linear_slots(program), metric=metric,
    )  # fmt: skip
    return render_grouped(law)


def _nodes(program: Program, slot: int) -> np.ndarray:
    return np.flatnonzero((program.code == CONST) & (program.arg == LOCAL + slot))
