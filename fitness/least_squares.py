"""Levenberg-Marquardt for one program over a segment of rows, with the affine constants solved exactly.

The step is the Gauss-Newton step of all constants with Marquardt's damping on the nonlinear ones only, which is
variable projection in Kaufman's form (Kaufman 1975; Ruhe and Wedin 1980); after a trial the affine constants are
solved again where that promises much. One pass over the rows gives values, derivatives and the normal equations.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from fitness.by_pointer import normal_equations
from fitness.jit import COUNT, INDICES, NUMBERS, block_function, kernel, pointer
from fitness.metrics import Space
from fitness.normal_equations import solve
from fitness.plan import AFFINE, MAX_PARAMETERS, PARAM

PLAIN, RELATIVE = int(Space.PLAIN), int(Space.RELATIVE)

# Stop reasons, see `fitness.constants.StopReason`.
NOTHING_TO_FIT, ITERATIONS, CONVERGED, PERFECT, STUCK, BAD_START = range(6)

_FIRST_DAMPING, _MOST_DAMPING = 1e-2, 1e10
_SMALL_GAIN = 1e-10  # share of r'r: affine constants that promise less are left alone
_RESOLVE = 0.05  # share of r'r: when the affine constants promise more, they are solved again at once
_NEARLY_PERFECT, _PERFECT = 1e-10, 1e-29  # r'r as a share of y'y
_LONGEST_STEP = 10.0  # times the constant, or times 1 when it is smaller

# Normal equations and node values at the current and at the trial point, and scratch for the solver.
Algebra = namedtuple("Algebra", "G trial_G L step value trial")


@kernel(entry=False)
def new_algebra(width):
    """Scratch of `descend` for programs of up to `width` nodes."""
    n = MAX_PARAMETERS + 1
    return Algebra(np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty(width), np.empty(width))


@block_function(INDICES, INDICES, COUNT, NUMBERS, NUMBERS, NUMBERS)
def _move_at(param, affine, length, base, step, value):
    longest = 0.0
    for i in range(length):
        if param[i] >= 0 and affine[i] == 0:
            longest = max(longest, abs(step[param[i]]) / max(abs(base[i]), 1.0))
    share = min(1.0, _LONGEST_STEP / longest) if longest > 0.0 else 1.0
    for i in range(length):
        value[i] = base[i] + share * step[param[i]] if param[i] >= 0 else base[i]


@kernel(entry=False)
def move(tree, base, step, value):
    """value = base, with every parameter moved by its step; too long a step is shortened as a whole."""
    _move_at(
        pointer(tree.plan[PARAM], 0), pointer(tree.plan[AFFINE], 0), tree.length, pointer(base, 0), pointer(step, 0),
        pointer(value, 0),
    )  # fmt: skip


@block_function(COUNT, NUMBERS, NUMBERS, COUNT, COUNT, NUMBERS, NUMBERS)
def _accept_at(length, trial, value, size, columns, trial_G, G):
    for i in range(length):
        value[i] = trial[i]
    for i in range(size):
        for j in range(size):
            G[i * columns + j] = trial_G[i * columns + j]


@kernel(entry=False)
def accept(tree, algebra):
    """Make the trial point the current one."""
    _accept_at(
        tree.length, pointer(algebra.trial, 0), pointer(algebra.value, 0), tree.k + 1, algebra.G.shape[1],
        pointer(algebra.trial_G, 0), pointer(algebra.G, 0),
    )  # fmt: skip


@kernel(entry=False)
def try_step(tree, rows, error, n_affine, work, algebra):
    """Normal equations at value + step, with the affine parameters solved again where that matters; returns r'r."""
    move(tree, algebra.value, algebra.step, algebra.trial)
    trial_error = normal_equations(tree, algebra.trial, rows, work, algebra.trial_G)
    if n_affine == 0 or not math.isfinite(trial_error):
        return trial_error
    gain = solve(algebra.trial_G, tree.k, n_affine, n_affine, 0.0, algebra.L, algebra.step)
    projected = trial_error - gain
    if projected < error and (trial_error >= error or gain > _RESOLVE * projected):
        move(tree, algebra.trial, algebra.step, algebra.trial)
        trial_error = normal_equations(tree, algebra.trial, rows, work, algebra.trial_G)
    return trial_error


@kernel(entry=False)
def solve_affine(tree, rows, error, target_size, work, algebra):
    """Solve the affine parameters at the start; again when nearly nothing is left, where rounding matters."""
    for _ in range(3):
        gain = solve(algebra.G, tree.k, tree.n_affine, tree.n_affine, 0.0, algebra.L, algebra.step)
        if not gain > _SMALL_GAIN * error:
            return error
        move(tree, algebra.value, algebra.step, algebra.trial)
        trial_error = normal_equations(tree, algebra.trial, rows, work, algebra.trial_G)
        if not trial_error < error:
            return error
        accept(tree, algebra)
        error = trial_error
        if error > _NEARLY_PERFECT * target_size or error <= _PERFECT * target_size:
            return error
    return error


@kernel(entry=False)
def descend(tree, rows, max_iterations, small_gain, target_size, work, algebra):
    """Fit algebra.value (the node values) in place from where it stands; returns (r'r, iterations, reason).

    The descent has converged when a step promises to lower r'r by less than the share `small_gain`. `target_size`
    is the weighted sum of squares of the target, which r'r is compared with.
    """
    n_affine = tree.n_affine if rows.space == PLAIN or rows.space == RELATIVE else 0
    error = normal_equations(tree, algebra.value, rows, work, algebra.G)
    if not math.isfinite(error):
        return math.inf, 0, BAD_START
    if n_affine > 0:
        error = solve_affine(tree, rows, error, target_size, work, algebra)
        if n_affine == tree.k:
            return error, 1, CONVERGED
    damping = _FIRST_DAMPING
    for iteration in range(1, max_iterations + 1):
        promise = solve(algebra.G, tree.k, n_affine, tree.k, damping, algebra.L, algebra.step)
        if not promise > small_gain * error:
            return error, iteration, CONVERGED
        trial_error = try_step(tree, rows, error, n_affine, work, algebra)
        if not trial_error < error:
            damping *= 10.0
            if damping > _MOST_DAMPING:
                return error, iteration, STUCK
            continue
        accept(tree, algebra)
        quality = (error - trial_error) / promise
        damping *= 0.1 if quality > 0.75 else (0.5 if quality > 0.25 else 4.0)
        error = trial_error
        if error <= _PERFECT * target_size:
            return error, iteration, PERFECT
    return error, max_iterations, ITERATIONS
