"""A program's values by numpy alone: the reference that everything emitted is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emit.errors import NotExpressible
from operators.primitives import BY_OPCODE, CONST, OPCODE, VAR
from operators.program import FIXED, FREE, LOCAL, Program

F64 = NDArray[np.float64]

TOLERANCE = 1e-9
_DIV = OPCODE["div"]
_NO_INPUT = np.zeros((0, 1))


def values(program: Program, X: F64, local_values: Sequence[float] = ()) -> F64:
    """Values of a program on X (features, rows) -> (rows,) float64; a row where it is undefined is not finite.

    `local_values[k]` replaces the start of local slot k.
    """
    stack: list[Any] = []
    with np.errstate(all="ignore"):
        for code, arg, value in zip(program.code.tolist(), program.arg.tolist(), program.value.tolist(), strict=True):
            if code == VAR:
                stack.append(X[arg])
            elif code == CONST:
                is_local = arg >= LOCAL and len(local_values) > 0
                stack.append(np.float64(local_values[arg - LOCAL] if is_local else value))
            else:
                primitive = BY_OPCODE[code]
                operands = stack[-primitive.arity :]
                del stack[-primitive.arity :]
                stack.append(primitive.function(*operands))
    return np.array(np.broadcast_to(stack[-1], X.shape[1:]), dtype=np.float64)


def agree(found: F64, truth: F64) -> bool:
    """Are values equal to 1e-9 of max(|truth|, spread of truth), with no row lost where truth is finite?"""
    usable = np.isfinite(truth)
    found, truth = found[usable], truth[usable]
    spread = float(np.std(truth)) if len(truth) else 0.0
    with np.errstate(invalid="ignore"):
        return bool((np.abs(found - truth) <= TOLERANCE * np.maximum(np.abs(truth), spread)).all())


def fold_constants(program: Program, keep_functions: bool = False) -> Program:
    """Every subtree of numbers only becomes one number, computed in float64 with the engine's own functions.

    With `keep_functions` a function of one structural number, such as sqrt(2) or log(10), stays as it is: it says
    more than its digits. Raises NotExpressible where a subtree is not real or not finite: log(-2), 1/0, exp(800).
    """
    numeric = np.zeros(len(program), dtype=bool)
    for i in range(len(program)):
        children = program.children(i)
        is_global = program.code[i] == CONST and program.arg[i] < LOCAL
        numeric[i] = all(numeric[c] for c in children) if children else is_global
    folded, i = program, len(program) - 1
    while i >= 0:  # parents come before their operands, so a numeric node met here is the root of its whole part
        if numeric[i]:
            folded = folded.splice(i, _as_number(program.subtree(i), keep_functions))
            i = int(program.starts[i])
        elif program.code[i] == _DIV and numeric[i - 1] and values(program.subtree(i - 1), _NO_INPUT)[0] == 0.0:
            raise NotExpressible("the law divides by the constant 0")
        i -= 1
    return folded


def _as_number(program: Program, keep_functions: bool) -> Program:
    """A numbers-only program as one constant: FIXED if every number in it is, else FREE."""
    value = float(values(program, _NO_INPUT)[0])
    if not np.isfinite(value):
        raise NotExpressible(f"a constant part of the law is not {_fault(program, value)}")
    leaves = program.arg[program.code == CONST]
    structural = bool((leaves == FIXED).all())
    if keep_functions and structural and len(program) == 2 and BY_OPCODE[int(program.code[1])].numpy_text is not None:
        return program
    arg = np.array([FIXED if structural else FREE], dtype=np.int16)
    return Program(np.array([CONST], dtype=np.uint8), arg, np.array([value]))


def _fault(program: Program, value: float) -> str:
    name = BY_OPCODE[int(program.code[-1])].name
    operands = ", ".join(f"{v:g}" for v in program.value[program.code == CONST])
    kind = "finite" if np.isinf(value) else "real"
    return f"{kind}: {name} of {operands} gives {value:g}"
