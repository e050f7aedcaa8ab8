"""Compiled loops that read the programs of a batch row by row: is each legal, and what is its form?"""

from __future__ import annotations

import numpy as np

from operators.dice import next_bits
from operators.jit import kernel
from operators.primitives import ARITY, CONST, VAR
from operators.program import FIXED, FREE, LOCAL

_ARITY = ARITY.astype(np.int64)
_MAX = 64


@kernel
def legal_rows(code, arg, length, ban, allowed, max_length, max_depth, max_constants, max_locals):
    """Row by row: sizes, depth, constants, primitives and nesting within bounds, and no constant-only subtree."""
    P = len(length)
    out = np.zeros(P, np.bool_)
    stack = np.empty(_MAX + 1, np.int64)  # for every open subtree: where it starts
    depth = np.empty(_MAX + 1, np.int64)
    varies = np.empty(_MAX + 1, np.bool_)
    for r in range(P):
        n = length[r]
        if n < 1 or n > max_length or n > _MAX:
            continue
        top, constants = 0, 0
        locals_seen = 0
        good = True
        for i in range(n):
            op = code[r, i]
            if not allowed[op]:
                good = False
                break
            arity = _ARITY[op]
            if arity == 0:
                if op == CONST and arg[r, i] == FREE:
                    constants += 1
                elif op == CONST and arg[r, i] >= LOCAL:
                    bit = np.int64(1) << (arg[r, i] - LOCAL)
                    locals_seen |= bit
                stack[top], depth[top], varies[top] = i, 1, op == VAR or (op == CONST and arg[r, i] >= LOCAL)
                top += 1
                continue
            for k in range(stack[top - arity], i):
                if ban[op, code[r, k]]:
                    good = False
            deep, vary = 0, False
            for k in range(top - arity, top):
                deep = max(deep, depth[k])
                vary = vary or varies[k]
            good = good and vary and deep < max_depth
            if not good:
                break
            top -= arity - 1
            depth[top - 1], varies[top - 1] = deep + 1, True
        count = 0
        while locals_seen:
            count += locals_seen & 1
            locals_seen >>= 1
        out[r] = good and constants <= max_constants and count <= max_locals
    return out


@kernel
def shape_hashes(code, arg, value, length):
    """A 64-bit hash of each row's form: nodes, features, roles and FIXED numbers, but no fitted values. (P,) uint64."""
    out = np.empty(len(length), np.uint64)
    state = np.empty(1, np.uint64)
    for r in range(len(length)):
        h = np.uint64(length[r])
        for i in range(length[r]):
            token = np.uint64(code[r, i]) * np.uint64(65536) + np.uint64(np.uint16(arg[r, i]))
            if code[r, i] == CONST and arg[r, i] == FIXED:
                token += np.uint64(np.int64(np.round(value[r, i] * 1048576.0))) * np.uint64(0x1000003)
            state[0] = h ^ token
            h = next_bits(state)
        out[r] = h
    return out
