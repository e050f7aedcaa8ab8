"""The locals of one window: Marquardt's method with the affine locals solved exactly, and springs toward the start.

The locals of a window with few rows are pulled toward their starts by springs as stiff as a share of what the data know
of each local at the start: a direction the window does not determine stays where the training clusters have it.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from fitness.by_pointer import normal_equations
from fitness.jit import kernel
from fitness.least_squares import PLAIN, RELATIVE, accept, move
from fitness.normal_equations import solve
from fitness.plan import MAX_PARAMETERS, PARAM

_FIRST_DAMPING, _MOST_DAMPING = 0.1, 1e8
_NO_GAIN = 1e-7  # of the squared error of one cluster: a thousandth of the locals' standard errors
_RESOLVE = 1.0  # times the squared error: when the affine locals promise more, they are solved again at once

# Scratch of one program. `value` (nodes,), `start` (nodes,): node values; `first` (K,): a node of each local.
Scratch = namedtuple(
    "Scratch", "value start locals trial kept ridge anchor first errors buffer prediction S T inverse column"
)


@kernel(entry=False)
def new_scratch(width, n_groups, n_rows):
    """Scratch for programs of up to `width` nodes over n_groups clusters, the largest part of n_rows rows."""
    k = MAX_PARAMETERS + 1
    return Scratch(
        np.empty(width), np.empty(width), np.empty((n_groups, width)), np.empty((n_groups, width)), np.empty(width),
        np.zeros(k), np.zeros(k), np.zeros(k, np.int64), np.empty(n_groups), np.empty(max(n_groups, n_rows)),
        np.empty(n_rows), np.empty((k, k)), np.empty((k, k)), np.empty((n_groups, k, k)), np.empty(k),
    )  # fmt: skip


@kernel(entry=False)
def equations(tree, value, rows, scratch, work, G):
    """The normal equations with the springs of the parameters added; returns the squared error with theirs."""
    error = normal_equations(tree, value, rows, work, G)
    k = tree.k
    for p in range(k):
        away = value[scratch.first[p]] - scratch.anchor[p]
        G[p, p] += scratch.ridge[p]
        G[k, p] += scratch.ridge[p] * away
        G[p, k] = G[k, p]
        error += scratch.ridge[p] * away * away
    return error


@kernel(entry=False)
def locate(tree, first):
    """first[p] = a node at which parameter p stands."""
    for i in range(tree.length - 1, -1, -1):
        if tree.plan[PARAM, i] >= 0:
            first[tree.plan[PARAM, i]] = i


@kernel(entry=False)
def fit_locals(tree, rows, pull, steps, scratch, work, algebra):
    """Fit the locals of one window in algebra.value, pulled to where they are now; returns the squared error.

    Marquardt's method with the affine locals solved exactly; infinite when the start is bad.
    """
    k = tree.k
    for p in range(k):
        scratch.ridge[p] = 0.0
        scratch.anchor[p] = algebra.value[scratch.first[p]]
    error = normal_equations(tree, algebra.value, rows, work, algebra.G)
    if not math.isfinite(error):
        return math.inf
    for p in range(k):
        scratch.ridge[p] = pull * pull * algebra.G[p, p]
        algebra.G[p, p] += scratch.ridge[p]
    return refine_locals(tree, rows, error, steps, scratch, work, algebra)


@kernel(entry=False)
def refine_locals(tree, rows, error, steps, scratch, work, algebra):
    """The descent of `fit_locals`, from equations that stand in algebra.G already."""
    k = tree.k
    n_exact = tree.n_affine if rows.space == PLAIN or rows.space == RELATIVE else 0
    damping = _FIRST_DAMPING
    for _ in range(steps):
        promise = solve(algebra.G, k, n_exact, k, damping, algebra.L, algebra.step)
        if not promise > _NO_GAIN * error:
            break
        move(tree, algebra.value, algebra.step, algebra.trial)
        if n_exact == k:
            for i in range(tree.length):
                algebra.value[i] = algebra.trial[i]
            return max(error - promise, 0.0)
        trial_error = equations(tree, algebra.trial, rows, scratch, work, algebra.trial_G)
        if n_exact > 0 and math.isfinite(trial_error):  # the affine locals follow the curved ones beyond the tangent
            gain = solve(algebra.trial_G, k, n_exact, n_exact, 0.0, algebra.L, algebra.step)
            left = trial_error - gain
            if left < error and (trial_error >= error or gain > _RESOLVE * left):
                move(tree, algebra.trial, algebra.step, algebra.trial)
                trial_error = equations(tree, algebra.trial, rows, scratch, work, algebra.trial_G)
        if trial_error < error:
            accept(tree, algebra)
            quality = (error - trial_error) / promise
            damping *= 0.1 if quality > 0.75 else (0.5 if quality > 0.25 else 4.0)
            error = trial_error
        else:
            damping *= 10.0
            if damping > _MOST_DAMPING:
                break
    return error
