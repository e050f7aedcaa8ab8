"""Dropping from an exact law what adds nothing: terms that are zero but for rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder, Inexpressible
from operators.primitives import BY_OPCODE, CONST, OPCODE, VAR
from operators.program import Program

F64 = NDArray[np.float64]

_ADD, _SUB = OPCODE["add"], OPCODE["sub"]


def prune(program: Program, X: F64, builder: Builder, tolerance: float = 1e-8) -> Program:
    """The program without terms whose size on X (features, rows) is under `tolerance` of the sum they stand in."""
    while True:
        shorter = _without_one(program, X, builder, tolerance)
        if shorter is None:
            return program
        program = shorter


def _without_one(program: Program, X: F64, builder: Builder, tolerance: float) -> Program | None:
    size = _sizes(program, X)
    for i in range(len(program)):
        if program.code[i] not in (_ADD, _SUB):
            continue
        left, right = program.children(i)
        if size[right] <= tolerance * size[i]:
            return program.splice(i, program.subtree(left))
        if size[left] <= tolerance * size[i]:
            kept = program.subtree(right)
            try:
                return program.splice(i, kept if program.code[i] == _ADD else builder.call("neg", kept))
            except Inexpressible:
                continue
    return None


def _sizes(program: Program, X: F64) -> F64:
    """Root mean square of every node's values."""
    out = np.empty(len(program))
    stack: list[F64] = []
    with np.errstate(all="ignore"):
        for i, (code, arg, value) in enumerate(zip(program.code, program.arg, program.value, strict=True)):
            if code == VAR:
                stack.append(X[arg])
            elif code == CONST:
                stack.append(np.full(X.shape[1], value))
            else:
                primitive = BY_OPCODE[int(code)]
                operands = stack[-primitive.arity :]
                del stack[-primitive.arity :]
                stack.append(primitive.function(*operands))
            out[i] = np.sqrt(np.mean(stack[-1] ** 2))
    return out
