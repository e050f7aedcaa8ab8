"""What one pass over a program's nodes can know before any row is looked at: its plan.

Operands, slots, parameters, and the parameters in which the output is affine, as one matrix of integers.
"""

from __future__ import annotations

import numpy as np

from fitness.jit import kernel
from operators.primitives import ARITY, CONST, OPCODE, VAR
from operators.program import FIXED, LOCAL

MAX_PARAMETERS = 24  # constants beyond this many keep their values

# Rows of a plan matrix (PLAN_ROWS, nodes) int64. For node i:
LEFT = 0  # its first operand, -1 for a leaf
RIGHT = 1  # its second operand or -1
SLOT = 2  # where its value goes
PARAM = 3  # index of the parameter it is, or -1
ACTIVE = 4  # how many fitted constants stand below it
AFFINE = 5  # 1 when the output is affine in it, jointly with the other parameters marked so
ADJOINT = 6  # which row of the adjoint matrix its derivative is a multiple of (`reverse`)
READ = 7  # READ, f: 1 when the program reads feature f
PLAN_ROWS = 8

_ADD, _SUB, _MUL, _DIV, _NEG = (OPCODE[n] for n in ("add", "sub", "mul", "div", "neg"))


@kernel(entry=False)
def new_plan(width, n_features):
    """An unwritten plan for programs of up to `width` nodes over `n_features` features."""
    return np.empty((PLAN_ROWS, max(width, n_features)), np.int64)


@kernel(entry=False)
def plan_program(code, arg, length, n_features, keep, plan, stack):
    """Fill the plan of a program; returns its number of parameters K and how many of them are affine.

    The affine parameters have the lowest numbers. With `keep` every node has a slot of its own, which `reverse`
    needs: n_features + nodes slots. Without it slots are used again as soon as their values are consumed, which keeps
    short programs in the fastest cache: n_features + 2 nodes slots at most. `stack` is int64 scratch of (nodes,).
    """
    top, k = 0, 0
    for f in range(n_features):
        plan[READ, f] = 0
    for i in range(length):
        c = code[i]
        left, right = -1, -1
        plan[PARAM, i] = -1
        plan[ACTIVE, i] = plan[AFFINE, i] = 0
        if c == VAR:
            plan[READ, arg[i]] = 1
        elif c == CONST:
            if arg[i] != FIXED:
                k = _number_parameter(code, arg, i, k, plan)
        else:
            if ARITY[c] == 2:
                top -= 1
                right = stack[top]
                plan[ACTIVE, i] += plan[ACTIVE, right]
            top -= 1
            left = stack[top]
            plan[ACTIVE, i] += plan[ACTIVE, left]
        plan[LEFT, i], plan[RIGHT, i] = left, right
        plan[SLOT, i] = arg[i] if c == VAR else n_features + (i if keep else _free_slot(plan, left, top, n_features))
        stack[top] = i
        top += 1
    _mark_affine(code, length, plan)
    return k, _affine_first(length, k, plan)


@kernel(entry=False)
def _free_slot(plan, left, top, n_features):
    """Two slots belong to each place of the stack, so that a result never overwrites its own operand."""
    taken = left >= 0 and plan[SLOT, left] == n_features + 2 * top
    return 2 * top + (1 if taken else 0)


@kernel(entry=False)
def _number_parameter(code, arg, i, k, plan):
    """Give node i a parameter index: the one of its local slot if that was seen before, else a new one."""
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


@kernel(entry=False)
def _mark_affine(code, length, plan):
    """Walk from the root: sums pass affinity on, a product to one factor, a quotient to its numerator."""
    plan[AFFINE, length - 1] = 1
    for i in range(length - 1, -1, -1):
        left, right, c = plan[LEFT, i], plan[RIGHT, i], code[i]
        if plan[AFFINE, i] == 0 or left < 0:
            continue
        if c in (_ADD, _SUB):
            plan[AFFINE, left] = plan[AFFINE, right] = 1
        elif c in (_NEG, _DIV):
            plan[AFFINE, left] = 1
        elif c == _MUL:
            plan[AFFINE, left if plan[ACTIVE, left] >= plan[ACTIVE, right] else right] = 1
    for i in range(length):  # a parameter that stands at two places is left to the nonlinear part
        for j in range(i):
            if plan[PARAM, i] >= 0 and plan[PARAM, j] == plan[PARAM, i]:
                plan[AFFINE, i] = plan[AFFINE, j] = 0


@kernel(entry=False)
def _affine_first(length, k, plan):
    """Renumber the parameters so that the affine ones come first; returns how many there are."""
    n_affine = 0
    for i in range(length):
        if plan[PARAM, i] >= 0 and plan[AFFINE, i] == 1:
            n_affine += 1
    new = np.full(k, -1, np.int64)
    affine, other = 0, n_affine
    for i in range(length):
        p = plan[PARAM, i]
        if p < 0:
            continue
        if new[p] < 0 and plan[AFFINE, i] == 1:
            new[p] = affine
            affine += 1
        elif new[p] < 0:
            new[p] = other
            other += 1
        plan[PARAM, i] = new[p]
    return n_affine


@kernel
def parameters(code, arg):
    """The parameter number of every node of one program (-1: none), how many there are, and how many are affine."""
    length, n_features = code.size, 1
    for i in range(length):
        if code[i] == VAR:
            n_features = max(n_features, arg[i] + 1)
    plan = new_plan(length, n_features)
    k, n_affine = plan_program(code, arg, length, n_features, False, plan, np.empty(length, np.int64))
    return plan[PARAM, :length].copy(), k, n_affine
