"""Fit, score and sign every program of a batch: the kernel behind `fitness.constants`."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from fitness.by_pointer import normal_equations, predicted
from fitness.jit import kernel, pointer
from fitness.kernels import BLOCK
from fitness.least_squares import BAD_START, NOTHING_TO_FIT, PLAIN, RELATIVE, descend, new_algebra
from fitness.loss_kernels import LOG, MDAE, SYMMETRIC, bad_rows, loss_of, median, residuals, signature
from fitness.metrics import BAD_LOSS
from fitness.normal_equations import Rows, Tree, dependent, new_workspace
from fitness.plan import new_plan, plan_program

_ROBUST_ROUNDS = 12
_ROBUST_STEPS = 4  # Levenberg-Marquardt steps in one round of reweighting
_LEAST_RESIDUAL = 1e-6  # of the mean one: smaller residuals get no more weight

# What is fitted: y (rows,); `weight` and `start_weight` (rows,), see `fitting_weights`; `absolute`: the metric is about
# absolute errors; `size`, `spread`: the weighted sum of squares of y, the sum of squares about its mean.
Target = namedtuple("Target", "y metric space absolute weight start_weight size spread")
# How hard to try.
Effort = namedtuple("Effort", "iterations small_gain robust")
# Scratch: slots for predictions, three vectors of all rows, and node values.
Buffers = namedtuple("Buffers", "slots prediction errors weight kept")


@kernel(entry=False)
def score(tree, quick_plan, X, target, value, buffers):
    """The loss of a program at the given node values; its predictions are left in the buffers."""
    predicted(tree, quick_plan, value, X, 0, X.shape[1], buffers.slots, buffers.prediction)
    return loss_of(target.metric, target.y, target.spread, buffers.prediction, buffers.errors)


@kernel(entry=False)
def choose_start(tree, X, target, effort, work, algebra, kept):
    """Move algebra.value to the best start for a space that is not linear in the prediction.

    The affine constants cannot be solved for in such a space, but they can in the relative and in the plain one:
    tried are the values as they are and both solutions. `kept` is scratch for the node values.
    """
    rows = Rows(X, target.y, target.weight, target.space, 0, X.shape[1])
    least = math.inf
    for attempt in range(3):
        if attempt > 0:
            space = RELATIVE if attempt == 1 else PLAIN
            weight = target.start_weight if attempt == 1 else target.weight
            easier = Rows(X, target.y, weight, space, 0, X.shape[1])
            descend(tree, easier, 1, effort.small_gain, 0.0, work, algebra)
        error = normal_equations(tree, algebra.value, rows, work, algebra.G)
        if error < least:
            least = error
            for i in range(tree.length):
                kept[i] = algebra.value[i]
    if least < math.inf:
        for i in range(tree.length):
            algebra.value[i] = kept[i]


@kernel(entry=False)
def fit_constants(tree, X, target, effort, work, algebra, kept):
    """Descend from algebra.value in the target's space; returns (iterations, reason)."""
    if target.space == SYMMETRIC or target.space == LOG:
        choose_start(tree, X, target, effort, work, algebra, kept)
    rows = Rows(X, target.y, target.weight, target.space, 0, X.shape[1])
    _, iterations, reason = descend(tree, rows, effort.iterations, effort.small_gain, target.size, work, algebra)
    return iterations, reason


@kernel(entry=False)
def robust_weights(target, buffers, share):
    """From the predictions in the buffers: the weights of the next least-squares problem, into buffers.weight.

    Absolute errors: weight / sqrt(|residual|), so that squares add up to absolute values. Their median: the rows
    with the smaller half of the errors only. Residuals below `share` of the mean one count as that.
    """
    n = target.y.size
    f, errors, weight = pointer(buffers.prediction, 0), pointer(buffers.errors, 0), pointer(buffers.weight, 0)
    residuals(target.space, pointer(target.y, 0), pointer(target.weight, 0), f, n, errors, weight)
    mean = 0.0
    for r in range(n):
        buffers.errors[r] = abs(buffers.errors[r])
        mean += buffers.errors[r] / n
    if target.metric == MDAE:
        for r in range(n):
            buffers.weight[r] = buffers.errors[r]
        middle = median(buffers.weight[:n])
        for r in range(n):
            buffers.weight[r] = target.weight[r] if buffers.errors[r] <= middle else 0.0
    else:
        floor = max(share * mean, 1e-300)
        for r in range(n):
            buffers.weight[r] = target.weight[r] * math.sqrt(mean / max(buffers.errors[r], floor))


@kernel(entry=False)
def fit_robustly(tree, quick_plan, X, target, effort, best_loss, best, work, algebra, buffers):
    """Iteratively reweighted least squares from algebra.value; `best` (node values) follows the lowest loss."""
    n = X.shape[1]
    share = 1e-2
    for _ in range(_ROBUST_ROUNDS):
        if bad_rows(pointer(buffers.prediction, 0), n) > 0:
            return best_loss
        robust_weights(target, buffers, share)
        rows = Rows(X, target.y, buffers.weight, target.space, 0, n)
        descend(tree, rows, _ROBUST_STEPS, effort.small_gain, 0.0, work, algebra)
        loss = score(tree, quick_plan, X, target, algebra.value, buffers)
        if loss < best_loss:
            best_loss = loss
            for i in range(tree.length):
                best[i] = algebra.value[i]
        share = max(0.2 * share, _LEAST_RESIDUAL)
    return best_loss


@kernel(entry=False)
def fit_program(tree, quick_plan, X, target, effort, value, work, algebra, buffers):
    """Fit and score one program; `value` (its node values) is changed where that lowers the loss.

    Returns (loss, iterations, reason, redundant constants) and leaves the predictions in the buffers.
    """
    loss, iterations, reason, redundant = BAD_LOSS, 0, NOTHING_TO_FIT, 0
    fitting = effort.iterations > 0 and tree.k > 0
    if not fitting or target.absolute:  # a fit of squares may be worse than the start in an absolute metric
        loss = score(tree, quick_plan, X, target, value, buffers)
    if not fitting:
        return loss, iterations, reason, redundant
    for i in range(tree.length):
        algebra.value[i] = value[i]
    iterations, reason = fit_constants(tree, X, target, effort, work, algebra, buffers.kept)
    if reason == BAD_START:
        return score(tree, quick_plan, X, target, value, buffers), iterations, reason, redundant
    redundant = dependent(algebra.G, tree.k, algebra.L, algebra.step)
    found = score(tree, quick_plan, X, target, algebra.value, buffers)
    if found < loss:
        loss = found
        for i in range(tree.length):
            value[i] = algebra.value[i]
    if effort.robust and target.absolute:
        loss = fit_robustly(tree, quick_plan, X, target, effort, loss, value, work, algebra, buffers)
    if loss == BAD_LOSS or target.absolute:
        loss = score(tree, quick_plan, X, target, value, buffers)
    return loss, iterations, reason, redundant


@kernel
def fit_batch(
    code, arg, value, length, X, target, effort, first, last, loss, iterations, reason, redundant, signatures
):
    """Fit programs first..last in place (value (P, L)) and fill the vectors (P,) of what is known about each.

    Start values that are no worse in the metric than the fitted ones are kept.
    """
    width, n_features = code.shape[1], X.shape[0]
    plan, quick_plan = new_plan(width, n_features), new_plan(width, n_features)
    stack = np.empty(width, np.int64)
    work, algebra = new_workspace(width, n_features), new_algebra(width)
    rows = max(X.shape[1], 1)
    slots = np.empty((n_features + 2 * width, BLOCK))
    buffers = Buffers(slots, np.empty(rows), np.empty(rows), np.empty(rows), np.empty(width))
    for p in range(first, last):
        plan_program(code[p], arg[p], length[p], n_features, False, quick_plan, stack)
        k, n_affine = plan_program(code[p], arg[p], length[p], n_features, True, plan, stack)
        tree = Tree(code[p], length[p], plan, k, n_affine)
        loss[p], iterations[p], reason[p], redundant[p] = fit_program(
            tree, quick_plan, X, target, effort, value[p], work, algebra, buffers
        )
        signatures[p] = signature(buffers.prediction)
