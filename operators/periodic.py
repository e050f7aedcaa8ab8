"""What stands under the periodic functions of programs: the arguments of every sin, cos and tan of a batch."""

from __future__ import annotations

import numpy as np

from operators.jit import kernel
from operators.primitives import ARITY, OPCODE
from operators.program import I64, ProgramBatch

_SIN, _COS, _TAN = OPCODE["sin"], OPCODE["cos"], OPCODE["tan"]


def periodic_arguments(batch: ProgramBatch) -> tuple[ProgramBatch, I64]:
    """(the arguments of all periodic functions as programs, the row of `batch` each belongs to), in order of the rows."""
    inside = np.arange(batch.width) < batch.length[:, None]  # beyond its length a row may hold anything
    n = int(np.count_nonzero(inside & np.isin(batch.code, (_SIN, _COS, _TAN))))
    out, owner = ProgramBatch.empty(n, batch.width), np.zeros(n, dtype=np.int64)
    if n:
        _collect(batch.code, batch.arg, batch.value, batch.length, out.code, out.arg, out.value, out.length, owner)
    return out, owner


@kernel
def _collect(code, arg, value, length, to_code, to_arg, to_value, to_length, owner):
    """Copy the subtree below every periodic function into the next row."""
    start = np.zeros(code.shape[1], dtype=np.int64)  # of the subtree that ends at each node
    row = 0
    for p in range(len(length)):
        for i in range(length[p]):
            op = code[p, i]
            first = i
            for _ in range(ARITY[op]):
                first = start[first - 1]
            start[i] = first
            if op in (_SIN, _COS, _TAN):
                n = i - first
                to_code[row, :n], to_arg[row, :n], to_value[row, :n] = (
                    code[p, first:i],
                    arg[p, first:i],
                    value[p, first:i],
                )
                to_length[row], owner[row] = n, p
                row += 1
