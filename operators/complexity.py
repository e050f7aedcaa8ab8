"""The count C = 2*binary + unary that Frontier-CS charges, over the tree sympy would build, without sympy.

An n-ary sum or product counts n - 1 binary nodes, a power one; every function one unary (min and max: one binary);
leaves nothing. The tree counted is the one after automatic evaluation (``a - b`` is ``a + (-1)*b``, ``2*(x + y)`` is
``2*x + 2*y``, ``x*x`` is ``x**2``). An approximation: the exact count of a finished law is taken by `emit`.
"""

from __future__ import annotations

import numpy as np

from operators.complexity_kernel import count_batch
from operators.program import I64, Program, ProgramBatch


def complexity(program: Program) -> int:
    """C of one program."""
    return int(complexities(ProgramBatch.of([program]))[0])


def complexities(batch: ProgramBatch) -> I64:
    """C of every program of a batch, (P,) int64."""
    out = np.zeros(len(batch), dtype=np.int64)
    count_batch(batch.code, batch.arg, batch.value, batch.length, out)
    return out
