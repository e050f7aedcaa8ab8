"""Levenberg-Marquardt over a batch of programs, with the affine constants solved exactly.

The step is the Gauss-Newton step of all constants with Marquardt's damping on the nonlinear ones only, which is
variable projection in Kaufman's form (Kaufman 1975; Ruhe and Wedin 1980); after a trial the affine constants are
solved again where that promises much. One pass over the rows gives values, derivatives and the normal equations.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from fitness.jit import kernel
from fitness.kernels import AFFINE, MAX_PARAMETERS, PARAM, new_plan, plan_program, predict_rows
from fitness.loss_kernels import LOG, SYMMETRIC, loss_of, signature
from fitness.metrics import BAD_LOSS, Space
from fitness.normal_equations import (
    DAMPED,
    EXACT,
    SKIPPED,
    Rows,
    Tree,
    accumulate,
    new_workspace,
    solve,
)

PLAIN, RELATIVE = int(Space.PLAIN), int(Space.RELATIVE)

# Stop reasons, see `fitness.constants.StopReason`.
NOTHING_TO_FIT, ITERATIONS, CONVERGED, PERFECT, STUCK, BAD_START = range(6)

_FIRST_DAMPING, _MOST_DAMPING = 1e-2, 1e10
_SMALL_GAIN = 1e-10  # share of r'r: when a step promises less, the descent has converged
_RESOLVE = 0.05  # share of r'r: when the affine constants promise more, they are solved again at once
_NEARLY_PERFECT, _PERFECT = 1e-10, 1e-29  # r'r as a share of y'y
_LONGEST_STEP = 10.0  # times the constant, or times 1 when it is smaller

# Normal equations at the current and at the trial point, and scratch for the solver.
Algebra = namedtuple("Algebra", "G trial_G L step part affine value trial")


@kernel(entry=False)
def new_algebra(width):  # type: ignore[no-untyped-def]
    """Scratch of `descend` for programs of up to `width` nodes."""
    n = MAX_PARAMETERS + 1
    return Algebra(
        np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty(n),
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(width), np.empty(width),
    )  # fmt: skip


@kernel(entry=False)
def mark_parts(tree, linear_space, part, affine):  # type: ignore[no-untyped-def]
    """part: affine parameters EXACT, others DAMPED; affine: EXACT and SKIPPED. Returns how many are affine.

    In a space that is not linear in the prediction no parameter is affine.
    """
    count = 0
    for p in range(tree.k):
        part[p], affine[p] = DAMPED, SKIPPED
    for i in range(tree.length):
        p = tree.plan[PARAM, i]
        if linear_space and p >= 0 and tree.plan[AFFINE, i] == 1:
            part[p] = affine[p] = EXACT
            count += 1
    return count


@kernel(entry=False)
def move(tree, base, step, value):  # type: ignore[no-untyped-def]
    """value = base, with every parameter moved by its step; too long a step is shortened as a whole."""
    longest = 0.0
    for i in range(tree.length):
        p = tree.plan[PARAM, i]
        if p >= 0 and tree.plan[AFFINE, i] == 0:
            longest = max(longest, abs(step[p]) / max(abs(base[i]), 1.0))
    share = min(1.0, _LONGEST_STEP / longest) if longest > 0.0 else 1.0
    for i in range(tree.length):
        p = tree.plan[PARAM, i]
        value[i] = base[i] + share * step[p] if p >= 0 else base[i]


@kernel(entry=False)
def copy(source, target, n):  # type: ignore[no-untyped-def]
    """target[:n, :n] = source[:n, :n]"""
    for i in range(n):
        for j in range(n):
            target[i, j] = source[i, j]


@kernel(entry=False)
def descend(tree, rows, max_iterations, target_size, work, algebra):  # type: ignore[no-untyped-def]
    """Fit algebra.value (the node values) in place from where it stands; returns (r'r, iterations, reason).

    `target_size` is the weighted sum of squares of the target, which r'r is compared with.
    """
    G, trial_G, L, step, part, affine, value, trial = algebra
    k = tree.k
    n_affine = mark_parts(tree, rows.space == PLAIN or rows.space == RELATIVE, part, affine)
    error = accumulate(tree, value, rows, work, G)
    if not math.isfinite(error):
        return math.inf, 0, BAD_START
    if n_affine > 0:
        error = _solve_affine(tree, rows, error, target_size, work, algebra)
        if n_affine == k:
            return error, 1, CONVERGED
    damping = _FIRST_DAMPING
    for iteration in range(1, max_iterations + 1):
        promise = solve(G, k, part, damping, L, step)
        if not promise > _SMALL_GAIN * error:
            return error, iteration, CONVERGED
        move(tree, value, step, trial)
        trial_error = accumulate(tree, trial, rows, work, trial_G)
        if not trial_error < error:
            damping *= 10.0
            if damping > _MOST_DAMPING:
                return error, iteration, STUCK
            continue
        damping *= 0.1 if error - trial_error > 0.75 * promise else (0.5 if error - trial_error > 0.25 * promise else 4.0)
        error = trial_error
        copy(trial_G, G, k + 1)
        for i in range(tree.length):
            value[i] = trial[i]
        if n_affine > 0:
            error = _solve_affine_again(tree, rows, error, work, algebra)
        if error <= _PERFECT * target_size:
            return error, iteration, PERFECT
    return error, max_iterations, ITERATIONS


@kernel(entry=False)
def _solve_affine(tree, rows, error, target_size, work, algebra):  # type: ignore[no-untyped-def]
    """Solve the affine parameters at the start; solve again when nearly nothing is left, where rounding matters."""
    G, trial_G, L, step, part, affine, value, trial = algebra
    k = tree.k
    for _ in range(3):
        promise = solve(G, k, affine, 0.0, L, step)
        if not promise > _SMALL_GAIN * error:
            return error
        move(tree, value, step, trial)
        trial_error = accumulate(tree, trial, rows, work, trial_G)
        if not trial_error < error:
            return error
        error = trial_error
        copy(trial_G, G, k + 1)
        for i in range(tree.length):
            value[i] = trial[i]
        if error > _NEARLY_PERFECT * target_size or error <= _PERFECT * target_size:
            return error
    return error


@kernel(entry=False)
def _solve_affine_again(tree, rows, error, work, algebra):  # type: ignore[no-untyped-def]
    """After an accepted step: solve the affine parameters once more when that lowers the error a good deal."""
    G, trial_G, L, step, part, affine, value, trial = algebra
    if not solve(G, tree.k, affine, 0.0, L, step) > _RESOLVE * error:
        return error
    move(tree, value, step, trial)
    trial_error = accumulate(tree, trial, rows, work, trial_G)
    if trial_error < error:
        error = trial_error
        copy(trial_G, G, tree.k + 1)
        for i in range(tree.length):
            value[i] = trial[i]
    return error


@kernel
def fit_batch(  # type: ignore[no-untyped-def]
    code, arg, value, length, X, y, metric, space, absolute, weight, start_weight, target_size, spread,
    max_iterations, first, last, loss, iterations, reason, signatures,
):  # fmt: skip
    """Fit programs first..last in place (value (P, L)) and fill loss, iterations, reason, signatures (P,).

    A start that is better in the metric than the fit is kept. `target_size` and `spread` are the weighted sum of
    squares of y and the sum of squares about its mean.
    """
    width, n_features, n_rows = code.shape[1], X.shape[0], y.size
    plan, quick_plan = new_plan(width, n_features), new_plan(width, n_features)
    stack = np.empty(width, np.int64)
    work, algebra = new_workspace(width, n_features), new_algebra(width)
    slots = np.empty((n_features + 2 * width, work.slots.shape[1]))
    prediction, scratch = np.empty(n_rows), np.empty(max(n_rows, 1))
    fitted = algebra.value
    for p in range(first, last):
        n = length[p]
        k = plan_program(code[p], arg[p], n, n_features, False, quick_plan, stack)
        loss[p], iterations[p], reason[p] = BAD_LOSS, 0, NOTHING_TO_FIT
        for attempt in range(2):  # the fit, then the start if that may be better
            if attempt == 0:
                if max_iterations == 0 or k == 0:
                    continue
                plan_program(code[p], arg[p], n, n_features, True, plan, stack)
                tree = Tree(code[p], n, plan, k)
                for i in range(n):
                    fitted[i] = value[p, i]
                if space == SYMMETRIC or space == LOG:
                    start = Rows(X, y, start_weight, RELATIVE, 0, n_rows)
                    descend(tree, start, 1, 0.0, work, algebra)
                rows = Rows(X, y, weight, space, 0, n_rows)
                _, iterations[p], reason[p] = descend(tree, rows, max_iterations, target_size, work, algebra)
                if reason[p] == BAD_START:
                    continue
            else:
                if loss[p] < BAD_LOSS and not absolute:
                    continue
                for i in range(n):
                    fitted[i] = value[p, i]
            predict_rows(code[p], fitted, n, X, 0, n_rows, quick_plan, slots, prediction)
            found = loss_of(metric, y, spread, prediction, scratch)
            if found < loss[p] or attempt == 1 and found == loss[p]:
                loss[p] = found
                signatures[p] = signature(prediction)
                for i in range(n):
                    value[p, i] = fitted[i]
