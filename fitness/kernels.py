"""The interpreter: values and derivatives of one postfix program over one block of rows.

Everything works on blocks of at most BLOCK rows and node *slots* of one workspace matrix (slots, BLOCK): features
are loaded into the first slots once per block and read in place, constants stay scalars, every other node owns a
slot. `plan_program` finds operands, parameters and the affine (linear) parameters once per program. The same block
functions serve plain evaluation, Levenberg-Marquardt over all rows and per-group fits over row segments.
"""

from __future__ import annotations

import numpy as np

from fitness.elementwise import binary, binary_const_left, binary_const_right, fill, reverse_binary, reverse_unary, unary
from fitness.jit import kernel
from operators.primitives import ARITY, CONST, OPCODE, VAR
from operators.program import FIXED, LOCAL

BLOCK = 512  # rows in a block
LANES = 32  # blocks are padded to a multiple of this, so that vector loops have no scalar tail
MAX_PARAMETERS = 24  # constants beyond this many keep their values

# Rows of a plan matrix (PLAN_ROWS, nodes) int64.
LEFT, RIGHT, SLOT, PARAM, ACTIVE, AFFINE = range(6)
PLAN_ROWS = 6

_ADD, _SUB, _MUL, _DIV, _NEG = (OPCODE[n] for n in ("add", "sub", "mul", "div", "neg"))
_ARITY = ARITY


@kernel
def plan_program(code, arg, length, n_features, plan, stack):  # type: ignore[no-untyped-def]
    """Fill plan (PLAN_ROWS, nodes) for a program; returns the number of parameters K.

    PARAM is the parameter index of a fitted constant or -1; ACTIVE counts fitted constants below a node; AFFINE
    is 1 for a constant in which (jointly with the other such constants) the output is affine. `stack` is int64
    scratch of `nodes` entries.
    """
    top, k = 0, 0
    for i in range(length):
        c = code[i]
        plan[SLOT, i] = arg[i] if c == VAR else n_features + i
        plan[LEFT, i] = plan[RIGHT, i] = plan[PARAM, i] = -1
        plan[ACTIVE, i] = plan[AFFINE, i] = 0
        if c == CONST and arg[i] != FIXED:
            k = _number_parameter(code, arg, i, k, plan)
        elif c != CONST and c != VAR:
            if _ARITY[c] == 2:
                top -= 1
                plan[RIGHT, i] = stack[top]
                plan[ACTIVE, i] += plan[ACTIVE, stack[top]]
            top -= 1
            plan[LEFT, i] = stack[top]
            plan[ACTIVE, i] += plan[ACTIVE, stack[top]]
        stack[top] = i
        top += 1
    _mark_affine(code, length, plan)
    return k


@kernel
def _number_parameter(code, arg, i, k, plan):  # type: ignore[no-untyped-def]
    if arg[i] >= LOCAL:
        for j in range(i):
            if code[j] == CONST and arg[j] == arg[i] and plan[PARAM, j] >= 0:
                plan[PARAM, i] = plan[PARAM, j]
                plan[ACTIVE, i] = 1
                return k
    if k < MAX_PARAMETERS:
        plan[PARAM, i] = k
        plan[ACTIVE, i] = 1
        return k + 1
    return k


@kernel
def _mark_affine(code, length, plan):  # type: ignore[no-untyped-def]
    """Walk from the root: sums pass affinity on, a product to one factor, a quotient to its numerator."""
    plan[AFFINE, length - 1] = 1
    for i in range(length - 1, -1, -1):
        if plan[AFFINE, i] == 0 or code[i] == CONST or code[i] == VAR:
            continue
        left, right = plan[LEFT, i], plan[RIGHT, i]
        c = code[i]
        if c == _ADD or c == _SUB:
            plan[AFFINE, left] = plan[AFFINE, right] = 1
        elif c == _NEG or c == _DIV:
            plan[AFFINE, left] = 1
        elif c == _MUL:
            plan[AFFINE, left if plan[ACTIVE, left] >= plan[ACTIVE, right] else right] = 1
    # A parameter used at two places is affine only when every use is.
    for i in range(length):
        if plan[PARAM, i] >= 0:
            for j in range(length):
                if plan[PARAM, j] == plan[PARAM, i] and plan[AFFINE, j] == 0:
                    plan[AFFINE, i] = 0


@kernel
def padded(n):  # type: ignore[no-untyped-def]
    """The number of rows a block of n rows is computed on: n rounded up to whole vector lanes."""
    return (n + LANES - 1) // LANES * LANES


@kernel
def load_rows(X, start, n, slots):  # type: ignore[no-untyped-def]
    """Copy rows start..start + n of X (features, rows) into the first slots; the padding repeats the last row."""
    m = padded(n)
    for f in range(X.shape[0]):
        source = X[f, start : start + n]
        target = slots[f, :m]
        for r in range(n):
            target[r] = source[r]
        last = source[n - 1]
        for r in range(n, m):
            target[r] = last


@kernel
def forward(code, value, length, plan, slots, n):  # type: ignore[no-untyped-def]
    """Values of every node on the loaded block of n rows; returns the slot of the root."""
    m = padded(n)
    for i in range(length):
        c = code[i]
        if c == VAR or c == CONST:
            continue
        left, right = plan[LEFT, i], plan[RIGHT, i]
        out = slots[plan[SLOT, i], :m]
        if right < 0:
            if code[left] == CONST:
                fill(slots[plan[SLOT, left], :m], value[left])
            unary(c, slots[plan[SLOT, left], :m], out)
        elif code[right] == CONST and code[left] != CONST:
            binary_const_right(c, slots[plan[SLOT, left], :m], value[right], out)
        elif code[left] == CONST and code[right] != CONST:
            binary_const_left(c, value[left], slots[plan[SLOT, right], :m], out)
        else:
            if code[left] == CONST:
                fill(slots[plan[SLOT, left], :m], value[left])
                fill(slots[plan[SLOT, right], :m], value[right])
            binary(c, slots[plan[SLOT, left], :m], slots[plan[SLOT, right], :m], out)
    root = length - 1
    if code[root] == CONST:
        fill(slots[plan[SLOT, root], :m], value[root])
    return plan[SLOT, root]


@kernel
def reverse(code, value, length, plan, slots, adjoint, n):  # type: ignore[no-untyped-def]
    """After `forward`: adjoint[i, :n] = d root / d node i, for every node with a fitted constant below it."""
    m = padded(n)
    fill(adjoint[length - 1, :m], 1.0)
    for i in range(length - 1, -1, -1):
        c = code[i]
        if plan[ACTIVE, i] == 0 or c == CONST:
            continue
        left, right = plan[LEFT, i], plan[RIGHT, i]
        out, above = slots[plan[SLOT, i], :m], adjoint[i, :m]
        if right < 0:
            reverse_unary(c, slots[plan[SLOT, left], :m], out, above, adjoint[left, :m])
            continue
        if code[left] == CONST:
            fill(slots[plan[SLOT, left], :m], value[left])
        if code[right] == CONST:
            fill(slots[plan[SLOT, right], :m], value[right])
        a, b = slots[plan[SLOT, left], :m], slots[plan[SLOT, right], :m]
        if plan[ACTIVE, left] > 0:
            reverse_binary(c, 0, a, b, out, above, adjoint[left, :m])
        if plan[ACTIVE, right] > 0:
            reverse_binary(c, 1, a, b, out, above, adjoint[right, :m])


@kernel
def gather_jacobian(code, length, plan, adjoint, jacobian, n, k):  # type: ignore[no-untyped-def]
    """jacobian[p, :n] = d root / d parameter p, summed over the places where it stands; shape (K, BLOCK)."""
    m = padded(n)
    fill_rows = np.zeros(k, np.bool_)
    for i in range(length):
        p = plan[PARAM, i]
        if code[i] == CONST and p >= 0:
            target, source = jacobian[p, :m], adjoint[i, :m]
            if fill_rows[p]:
                for r in range(m):
                    target[r] += source[r]
            else:
                fill_rows[p] = True
                for r in range(m):
                    target[r] = source[r]


@kernel
def predict_rows(code, arg, value, length, X, start, stop, plan, slots, out):  # type: ignore[no-untyped-def]
    """out[: stop - start] = the program's values on rows start..stop of X; `plan` is already filled."""
    for begin in range(start, stop, BLOCK):
        n = min(BLOCK, stop - begin)
        load_rows(X, begin, n, slots)
        root = forward(code, value, length, plan, slots, n)
        source, target = slots[root, :n], out[begin - start : begin - start + n]
        for r in range(n):
            target[r] = source[r]


@kernel
def predict_batch(code, arg, value, length, X, first, last, out):  # type: ignore[no-untyped-def]
    """out[p] (rows,) = values of program p, for first <= p < last; arrays are those of a `ProgramBatch`."""
    width = code.shape[1]
    plan = np.empty((PLAN_ROWS, width), np.int64)
    stack = np.empty(width, np.int64)
    slots = np.empty((X.shape[0] + width, BLOCK))
    for p in range(first, last):
        plan_program(code[p], arg[p], length[p], X.shape[0], plan, stack)
        predict_rows(code[p], arg[p], value[p], length[p], X, 0, X.shape[1], plan, slots, out[p])
