"""The interpreter: values and derivatives of one postfix program over one block of rows.

Everything works on blocks of at most BLOCK rows and on *slots*, the rows of a workspace matrix (slots, BLOCK): the
features a program reads are loaded into the first slots once per block and read in place, constants stay scalars,
every other node writes a slot that its plan names (`fitness.plan`). The same block functions serve plain evaluation,
Levenberg-Marquardt over all rows and per-group fits over segments of rows.
"""

from __future__ import annotations

import numpy as np

from fitness.elementwise import (
    binary,
    binary_number_left,
    binary_number_right,
    fill,
    reverse_binary,
    reverse_unary,
    scaled_add,
    scaled_copy,
    unary,
)
from fitness.jit import kernel, pointer
from fitness.plan import ACTIVE, ADJOINT, LEFT, MAX_PARAMETERS, READ, RIGHT, SLOT, new_plan, plan_program
from fitness.plan import PARAM as PARAM
from fitness.plan import PLAN_ROWS as PLAN_ROWS
from operators.primitives import CONST, OPCODE

BLOCK = 512  # rows in a block
LANES = 32  # blocks are padded to a multiple of this, so that vector loops have no scalar tail

_ADD, _SUB, _MUL, _DIV, _NEG = (OPCODE[n] for n in ("add", "sub", "mul", "div", "neg"))


@kernel(entry=False)
def padded(n):
    """The number of rows a block of n rows is computed on: n rounded up to whole vector lanes."""
    return (n + LANES - 1) // LANES * LANES


@kernel(entry=False)
def load_rows(X, start, n, plan, slots):
    """Copy rows start..start + n of the features that a program reads into their slots; the last row is repeated."""
    m = padded(n)
    for f in range(X.shape[0]):
        if plan[READ, f] == 1:
            scaled_copy(pointer(slots, f), pointer(X[f], start), 1.0, n)
            last = slots[f, n - 1]
            for r in range(n, m):
                slots[f, r] = last


@kernel(entry=False)
def forward(code, value, length, plan, slots, n):
    """Values of the nodes on the loaded block of n rows; returns the slot of the root."""
    m = padded(n)
    for i in range(length):
        left, right, c = plan[LEFT, i], plan[RIGHT, i], code[i]
        if left < 0:
            continue
        out, a = pointer(slots, plan[SLOT, i]), pointer(slots, plan[SLOT, left])
        if right < 0:
            if code[left] == CONST:
                fill(a, value[left], m)
            unary(c, a, out, m)
            continue
        b = pointer(slots, plan[SLOT, right])
        if code[left] != CONST:
            if code[right] != CONST:
                binary(c, a, b, out, m)
            else:
                binary_number_right(c, a, value[right], out, m)
        elif code[right] != CONST:
            binary_number_left(c, value[left], b, out, m)
        else:
            fill(a, value[left], m)
            binary_number_right(c, a, value[right], out, m)
    root = length - 1
    if code[root] == CONST:
        fill(pointer(slots, plan[SLOT, root]), value[root], m)
    return plan[SLOT, root]


@kernel(entry=False)
def reverse(code, value, length, plan, slots, adjoint, seed, scale, n):
    """After `forward` on kept slots: the derivative of the root by every node above a fitted constant.

    The derivative by node i is scale[i] * adjoint[plan[ADJOINT, i]]: sums and products with a number do not need a
    loop over rows. Row `seed` of adjoint (more than nodes, BLOCK) holds the derivative of the objective by the
    root: ones, or the slope of a residual.
    """
    m = padded(n)
    root = length - 1
    plan[ADJOINT, root] = seed
    scale[root] = 1.0
    for i in range(root, -1, -1):
        left, right, c = plan[LEFT, i], plan[RIGHT, i], code[i]
        if plan[ACTIVE, i] == 0 or left < 0:
            continue
        if plan[ACTIVE, left] > 0 and not _passed_on(c, 0, code[right], value[right], i, left, plan, scale):
            _reverse_operand(c, 0, code, value, i, left, plan, slots, adjoint, scale[i], m)
            plan[ADJOINT, left], scale[left] = left, 1.0
        if right < 0 or plan[ACTIVE, right] == 0:
            continue
        if not _passed_on(c, 1, code[left], value[left], i, right, plan, scale):
            _reverse_operand(c, 1, code, value, i, right, plan, slots, adjoint, scale[i], m)
            plan[ADJOINT, right], scale[right] = right, 1.0


@kernel(entry=False)
def _passed_on(c, side, sibling_code, sibling_value, i, operand, plan, scale):
    """Where an operand's derivative is a number times the node's, note that and return True."""
    factor = 1.0
    if c == _NEG or (c == _SUB and side == 1):
        factor = -1.0
    elif c == _MUL and sibling_code == CONST:
        factor = sibling_value
    elif c == _DIV and side == 0 and sibling_code == CONST:
        factor = 1.0 / sibling_value
    elif c != _ADD and c != _SUB:
        return False
    plan[ADJOINT, operand] = plan[ADJOINT, i]
    scale[operand] = factor * scale[i]
    return True


@kernel(entry=False)
def _reverse_operand(c, side, code, value, i, operand, plan, slots, adjoint, scale, m):
    left, right = plan[LEFT, i], plan[RIGHT, i]
    a, out = pointer(slots, plan[SLOT, left]), pointer(slots, plan[SLOT, i])
    above, below = pointer(adjoint, plan[ADJOINT, i]), pointer(adjoint, operand)
    if code[left] == CONST:
        fill(a, value[left], m)
    if right < 0:
        reverse_unary(c, a, out, above, scale, below, m)
        return
    b = pointer(slots, plan[SLOT, right])
    if code[right] == CONST:
        fill(b, value[right], m)
    reverse_binary(c, side, a, b, out, above, scale, below, m)


@kernel(entry=False)
def parameter_rows(code, length, plan, adjoint, scale, k, row, factor, n):
    """After `reverse`: the derivative by parameter p is factor[p] * adjoint[row[p]].

    The derivatives by the places where a parameter stands are added up.
    """
    m = padded(n)
    for p in range(k):
        row[p] = -1
    for i in range(length):
        p = plan[PARAM, i]
        if p < 0:
            continue
        if row[p] < 0:
            row[p], factor[p] = plan[ADJOINT, i], scale[i]
            continue
        own = pointer(adjoint, i)  # nothing below a leaf uses its row
        if plan[ADJOINT, i] == i:
            scaled_add(own, pointer(adjoint, row[p]), factor[p], m)
        else:
            scaled_copy(own, pointer(adjoint, plan[ADJOINT, i]), scale[i], m)
            scaled_add(own, pointer(adjoint, row[p]), factor[p], m)
        row[p], factor[p] = i, 1.0


@kernel(entry=False)
def predict_rows(code, value, length, X, start, stop, plan, slots, out):
    """out[: stop - start] = the planned program's values on rows start..stop of X."""
    for begin in range(start, stop, BLOCK):
        n = min(BLOCK, stop - begin)
        load_rows(X, begin, n, plan, slots)
        root = forward(code, value, length, plan, slots, n)
        scaled_copy(pointer(out, begin - start), pointer(slots, root), 1.0, n)


@kernel
def predict_batch(code, arg, value, length, X, first, last, out):
    """out[p] (rows,) = values of program p, for first <= p < last; arrays are those of a `ProgramBatch`."""
    width, n_features = code.shape[1], X.shape[0]
    plan = new_plan(width, n_features)
    stack = np.empty(width, np.int64)
    slots = np.empty((n_features + 2 * width, BLOCK))
    for p in range(first, last):
        plan_program(code[p], arg[p], length[p], n_features, False, plan, stack)
        predict_rows(code[p], value[p], length[p], X, 0, X.shape[1], plan, slots, out[p])


@kernel
def jacobian_rows(code, arg, value, X, out, jacobian):
    """Values out (rows,) and derivatives jacobian (K, rows) of one program by its parameters, affine ones first."""
    length, n_features, rows = code.size, X.shape[0], X.shape[1]
    plan = new_plan(length, n_features)
    slots, adjoint = np.empty((n_features + length, BLOCK)), np.empty((length + 1, BLOCK))
    scale, factor = np.empty(length), np.empty(MAX_PARAMETERS)
    row = np.empty(MAX_PARAMETERS, np.int64)
    k, _ = plan_program(code, arg, length, n_features, True, plan, np.empty(length, np.int64))
    fill(pointer(adjoint, length), 1.0, BLOCK)
    for begin in range(0, rows, BLOCK):
        n = min(BLOCK, rows - begin)
        load_rows(X, begin, n, plan, slots)
        root = forward(code, value, length, plan, slots, n)
        scaled_copy(pointer(out, begin), pointer(slots, root), 1.0, n)
        reverse(code, value, length, plan, slots, adjoint, length, scale, n)
        parameter_rows(code, length, plan, adjoint, scale, k, row, factor, n)
        for p in range(k):
            scaled_copy(pointer(jacobian[p], begin), pointer(adjoint, row[p]), factor[p], n)
