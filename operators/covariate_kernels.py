"""Inputs that are constant within a cluster must not be what a per-cluster parameter multiplies.

With z constant within each cluster, ``a*z`` with a local a says no more than a alone: calibration cannot tell the two
apart, and the law only looks as if it knew what z does. Such an input enters through what all clusters share: ``a + c*z``,
``a*z**c`` or ``(a + c*z)*x`` with a constant c.
"""

from __future__ import annotations

import numpy as np

from operators.jit import kernel
from operators.primitives import ARITY, CONST, OPCODE, VAR
from operators.program import FREE, LOCAL

_ARITY = ARITY.astype(np.int64)
_MAX = 64
_MUL, _DIV, _POW, _NEG, _INV = (OPCODE[n] for n in ("mul", "div", "pow", "neg", "inv"))


@kernel
def scales_covariate(code, arg, length, between):
    """Row by row (P,): does a local multiply, divide or raise an input of `between` (features,) that no constant shapes?

    For every open subtree: `varies` within clusters; has a `local`, a `bare` covariate among its factors; has a `fitted`
    constant.
    """
    P = len(length)
    out = np.zeros(P, np.bool_)
    varies, local = np.empty(_MAX + 1, np.bool_), np.empty(_MAX + 1, np.bool_)
    bare, fitted = np.empty(_MAX + 1, np.bool_), np.empty(_MAX + 1, np.bool_)
    for r in range(P):
        top = 0
        for i in range(length[r]):
            op = code[r, i]
            arity = _ARITY[op]
            if arity == 0:
                constant = op == CONST
                local[top] = constant and arg[r, i] >= LOCAL
                fitted[top] = constant and arg[r, i] == FREE
                bare[top] = op == VAR and between[arg[r, i]]
                varies[top] = op == VAR and not bare[top]
                top += 1
                continue
            left = top - arity
            if arity == 2:
                last = top - 1
                if op in (_MUL, _DIV):
                    out[r] |= (local[left] and bare[last]) or (bare[left] and local[last])
                elif op == _POW:
                    out[r] |= bare[left] and local[last]
                varies[left] |= varies[last]
                local[left] |= local[last]
                bare[left] |= bare[last]
                fitted[left] |= fitted[last]
            factors = op in (_MUL, _DIV, _NEG, _INV)
            if not factors:  # no product any more: one factor, which counts if it is one number in each cluster
                local[left] = local[left] and not varies[left]
                bare[left] = bare[left] and not varies[left] and not fitted[left]
            top = left + 1
    return out
