"""Batched calibration: one form, its constants shared by all clusters, its locals fitted cluster by cluster.

The locals are separable: given the constants, each cluster is a small least-squares problem of its own. So the
constants are fitted by Gauss-Newton on the problem from which the locals have been eliminated (the Schur complement
of the block-arrow normal equations; Golub and Pereyra 1973 call the linear case variable projection), and the locals
are solved again after every step.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from fitness.by_pointer import normal_equations, predicted
from fitness.jit import kernel
from fitness.kernels import BLOCK
from fitness.least_squares import PLAIN, RELATIVE, new_algebra
from fitness.locals_kernels import equations, fit_locals, locate, new_scratch, refine_locals
from fitness.loss_kernels import loss_of, median, signature
from fitness.metrics import BAD_LOSS
from fitness.normal_equations import Rows, Tree, new_workspace, solve
from fitness.plan import MAX_PARAMETERS, PARAM, new_plan, plan_program
from operators.primitives import CONST
from operators.program import FIXED, FREE, LOCAL

# The rows, see `fitness.windows.Windows`: y and the square-rooted weights; start, cut, stop of the windows, `kinds` a group.
Panel = namedtuple("Panel", "X y weight space metric start cut stop kinds spread scale usable")
# How hard to try: steps for the locals, steps for the constants, the stiffness of the springs; with `given` the starts
# are those given, else the medians over the clusters.
Effort = namedtuple("Effort", "steps outer pull given")

_SMALL_GAIN = 1e-9
_POOLED_STEPS = 8
BLUNT = 4.0  # losses beyond so many times the scale of a cluster count by their logarithm
WORST = 1e6  # times its scale: the loss of a cluster that fails
_SUSPICIOUS = 2.0  # a fit this much worse than the others is tried from another start
_NO_PULL = 1e-6
_ROWS_A_LOCAL, _SLACK = 3, 1e-4  # with so many rows for each local the springs are slackened by this factor


@kernel(entry=False)
def whole_rows(panel, g):
    """All rows of cluster g."""
    w = g * panel.kinds
    return Rows(panel.X, panel.y, panel.weight, panel.space, panel.start[w], panel.stop[w])


@kernel(entry=False)
def fit_clusters(tree, panel, base, steps, scratch, work, algebra):
    """Fit the locals of each whole cluster from `base`, into scratch.locals and errors; returns the total error.

    A cluster left clearly worse than the others is tried again from the median locals.
    """
    n_groups = len(panel.start) // panel.kinds
    for g in range(n_groups):
        for i in range(tree.length):
            algebra.value[i] = base[i]
        scratch.errors[g] = fit_locals(tree, whole_rows(panel, g), _NO_PULL, steps, scratch, work, algebra)
        for i in range(tree.length):
            scratch.locals[g, i] = algebra.value[i]
    if tree.n_affine < tree.k:
        median_locals(tree, n_groups, base, scratch)
        middle = typical_error(panel, n_groups, scratch)
        for g in range(n_groups):
            rows = whole_rows(panel, g)
            if scratch.errors[g] > _SUSPICIOUS * middle * (rows.stop - rows.start):
                for i in range(tree.length):
                    algebra.value[i] = scratch.start[i]
                error = fit_locals(tree, rows, _NO_PULL, steps, scratch, work, algebra)
                if error < scratch.errors[g]:
                    scratch.errors[g] = error
                    for i in range(tree.length):
                        scratch.locals[g, i] = algebra.value[i]
    total = 0.0
    for g in range(n_groups):
        total += scratch.errors[g]
    return total


@kernel(entry=False)
def typical_error(panel, n_groups, scratch):
    """Median over clusters of the squared error of a row."""
    for g in range(n_groups):
        w = g * panel.kinds
        scratch.buffer[g] = scratch.errors[g] / max(panel.stop[w] - panel.start[w], 1)
    return median(scratch.buffer[:n_groups])


@kernel(entry=False)
def median_locals(tree, n_groups, base, scratch):
    """scratch.start = base with the median of each local over the clusters that could be fitted."""
    for i in range(tree.length):
        scratch.start[i] = base[i]
        if tree.plan[PARAM, i] < 0:
            continue
        n = 0
        for g in range(n_groups):
            if math.isfinite(scratch.errors[g]):
                scratch.buffer[n] = scratch.locals[g, i]
                n += 1
        if n > 0:
            scratch.start[i] = median(scratch.buffer[:n])


@kernel(entry=False)
def eliminate(tree, is_local, panel, scratch, work, algebra):
    """Add up the equations of the constants with each cluster's locals eliminated, into scratch.S (K + 1, K + 1).

    scratch.inverse[g, l] (K + 1,): by how much local l follows each constant, and in the last column its own step.
    """
    k = tree.k
    G = algebra.G
    for i in range(k + 1):
        for j in range(k + 1):
            scratch.S[i, j] = 0.0
    for g in range(len(panel.start) // panel.kinds):
        if not math.isfinite(scratch.errors[g]):
            continue
        normal_equations(tree, scratch.locals[g], whole_rows(panel, g), work, G)
        for a in range(k):  # Gauss-Jordan on the local rows
            if not is_local[a] or not G[a, a] > 0.0:
                for j in range(k + 1):
                    scratch.inverse[g, a, j] = 0.0
                continue
            size = G[a, a] * (1.0 + 1e-10)
            for j in range(k + 1):
                scratch.inverse[g, a, j] = G[a, j] / size
            for i in range(k + 1):
                if i != a:
                    share = G[i, a]
                    for j in range(k + 1):
                        G[i, j] -= share * scratch.inverse[g, a, j]
            for b in range(a):
                if is_local[b]:
                    share = scratch.inverse[g, b, a]
                    for j in range(k + 1):
                        scratch.inverse[g, b, j] -= share * scratch.inverse[g, a, j]
            for j in range(k + 1):
                G[a, j] = 0.0
        for i in range(k + 1):
            for j in range(k + 1):
                if (i == k or not is_local[i]) and (j == k or not is_local[j]):
                    scratch.S[i, j] += G[i, j]


@kernel(entry=False)
def trial_clusters(tree, local_tree, is_local, panel, steps, scratch, work, algebra):
    """Locals after the constants' step in scratch.column, into scratch.trial; returns the total error."""
    total = 0.0
    for g in range(len(panel.start) // panel.kinds):
        if not math.isfinite(scratch.errors[g]):
            for i in range(tree.length):
                scratch.trial[g, i] = scratch.locals[g, i]
            return math.inf
        for i in range(tree.length):
            p = tree.plan[PARAM, i]
            value = scratch.locals[g, i]
            if p >= 0 and is_local[p]:
                value -= scratch.inverse[g, p, tree.k]
                for q in range(tree.k):
                    if not is_local[q]:
                        value -= scratch.inverse[g, p, q] * scratch.column[q]
            elif p >= 0:
                value += scratch.column[p]
            algebra.value[i] = value
        error = fit_locals(local_tree, whole_rows(panel, g), _NO_PULL, steps, scratch, work, algebra)
        total += error
        if not math.isfinite(total):
            return math.inf
        for i in range(tree.length):
            scratch.trial[g, i] = algebra.value[i]
    return total


@kernel(entry=False)
def fit_constants(tree, local_tree, is_local, panel, effort, total, scratch, work, algebra):
    """Gauss-Newton on the constants, locals following; scratch.locals holds constants and locals of each cluster."""
    damping = 1e-3
    n_groups = len(panel.start) // panel.kinds
    for _ in range(effort.outer):
        eliminate(tree, is_local, panel, scratch, work, algebra)
        for i in range(tree.k + 1):
            for j in range(tree.k + 1):
                scratch.T[i, j] = scratch.S[i, j]
        promise = solve(scratch.T, tree.k, 0, tree.k, damping, algebra.L, scratch.column)
        if not promise > _SMALL_GAIN * total:
            break
        longest = 0.0
        for i in range(tree.length):
            p = tree.plan[PARAM, i]
            if p >= 0 and not is_local[p]:
                longest = max(longest, abs(scratch.column[p]) / max(abs(scratch.locals[0, i]), 1.0))
        if longest > 10.0:
            for p in range(tree.k):
                scratch.column[p] *= 10.0 / longest
        trial = trial_clusters(tree, local_tree, is_local, panel, 3, scratch, work, algebra)
        if trial < total:
            gained = total - trial
            total = trial
            for g in range(n_groups):
                for i in range(tree.length):
                    scratch.locals[g, i] = scratch.trial[g, i]
            damping *= 0.1
            if gained < 1e-7 * total:
                break
        else:
            damping *= 30.0
            if damping > 1e6:
                break
    return total


@kernel(entry=False)
def judge_windows(tree, quick_plan, slots, panel, effort, scratch, work, algebra, errors, fitted, predictions):
    """Calibrate from scratch.start on the fit rows of each window; errors (windows,) on its judge rows, by scale."""
    at = 0
    for w in range(len(panel.start)):
        rows = Rows(panel.X, panel.y, panel.weight, panel.space, panel.start[w], panel.cut[w])
        for i in range(tree.length):
            algebra.value[i] = scratch.start[i]
        few = rows.stop - rows.start < _ROWS_A_LOCAL * tree.k
        pull = effort.pull if few else _SLACK * effort.pull
        error = fit_locals(tree, rows, pull, effort.steps, scratch, work, algebra)
        if tree.n_affine < tree.k:
            error = other_starts(tree, panel, w, rows, error, effort, scratch, work, algebra)
        n = panel.stop[w] - panel.cut[w]
        for i in range(tree.length):
            fitted[w, i] = algebra.value[i]
        found = BAD_LOSS
        if math.isfinite(error):
            predicted(tree, quick_plan, algebra.value, panel.X, panel.cut[w], panel.stop[w], slots, scratch.prediction)
            judged = scratch.prediction[:n]
            found = loss_of(
                panel.metric, panel.y[panel.cut[w] : panel.stop[w]], panel.spread[w], judged, scratch.buffer
            )
            for r in range(n):
                predictions[at + r] = judged[r]
        else:
            for r in range(n):
                predictions[at + r] = math.nan
        at += n
        errors[w] = min(found / panel.scale[w], WORST)


@kernel(entry=False)
def other_starts(tree, panel, w, rows, error, effort, scratch, work, algebra):
    """Where the window is fitted worse than its whole cluster, begin again with a curved local, or all, times a factor.

    The emitted fit does that for every window. The springs still pull to the common start.
    """
    g = w // panel.kinds
    whole = whole_rows(panel, g)
    typical = scratch.errors[g] / max(whole.stop - whole.start, 1)
    if error <= _SUSPICIOUS * typical * (rows.stop - rows.start):
        return error
    first = tree.n_affine if rows.space == PLAIN or rows.space == RELATIVE else 0
    for i in range(tree.length):
        scratch.kept[i] = algebra.value[i]
    for moved in range(first, tree.k + (1 if tree.k - first > 1 else 0)):
        for turn in range(2):
            for i in range(tree.length):
                p = tree.plan[PARAM, i]
                algebra.value[i] = scratch.start[i]
                if p >= first and (p == moved or moved == tree.k):
                    algebra.value[i] *= 0.3 if turn == 0 else 3.0
            again = equations(tree, algebra.value, rows, scratch, work, algebra.G)
            if math.isfinite(again):
                again = refine_locals(tree, rows, again, effort.steps, scratch, work, algebra)
            if again < error:
                error = again
                for i in range(tree.length):
                    scratch.kept[i] = algebra.value[i]
    for i in range(tree.length):
        algebra.value[i] = scratch.kept[i]
    return error


@kernel(entry=False)
def mean_loss(panel, errors):
    """The mean over clusters of losses in units of their scale; what is hopeless anyway counts by its logarithm."""
    total, n, bad = 0.0, 0, 0
    for w in range(len(panel.start)):
        if panel.usable[w]:
            e = errors[w]
            bad += not e < WORST
            total += e if e <= BLUNT else BLUNT * (1.0 + math.log(e / BLUNT))
            n += 1
    return BAD_LOSS if n == 0 or 2 * bad > n else total / n


@kernel(entry=False)
def pooled_start(tree, panel, value, steps, scratch, work, algebra):
    """Fit all parameters as if all clusters were one; into `value`."""
    rows = Rows(panel.X, panel.y, panel.weight, panel.space, 0, panel.stop[len(panel.stop) - 1])
    for i in range(tree.length):
        algebra.value[i] = value[i]
    locate(tree, scratch.first)
    error = fit_locals(tree, rows, _NO_PULL, steps, scratch, work, algebra)
    if math.isfinite(error):
        for i in range(tree.length):
            value[i] = algebra.value[i]


@kernel
def calibrate_batch(code, arg, value, length, panel, effort, first, last, loss, signatures, errors, locals_, fitted):
    """Fit, judge and sign programs first..last.

    value (P, L) in and out: fitted constants, and the median of each local. errors (P, W): losses of the windows by
    their scale. locals_ (P, G, L) and fitted (P, W, L) get the node values of every whole cluster and of every window,
    unless they have no rows.
    """
    width, n_features = code.shape[1], panel.X.shape[0]
    plan, quick_plan, local_plan = new_plan(width, n_features), new_plan(width, n_features), new_plan(width, n_features)
    stack, roles, is_local = np.empty(width, np.int64), np.empty(width, np.int16), np.zeros(MAX_PARAMETERS, np.bool_)
    work, algebra = new_workspace(width, n_features), new_algebra(width)
    slots = np.empty((n_features + 2 * width, BLOCK))
    n_groups, n_windows = len(panel.start) // panel.kinds, len(panel.start)
    largest, judged = 1, 0
    for w in range(n_windows):
        largest = max(largest, panel.stop[w] - panel.start[w])
        judged += panel.stop[w] - panel.cut[w]
    scratch = new_scratch(width, n_groups, largest)
    predictions, own = np.empty(judged), np.empty((n_windows, width))
    keep = len(fitted) > 0
    for p in range(first, last):
        n = length[p]
        plan_program(code[p], arg[p], n, n_features, False, quick_plan, stack)
        k, n_affine = plan_program(code[p], arg[p], n, n_features, True, plan, stack)
        tree = Tree(code[p], n, plan, k, n_affine)
        constants = 0
        for i in range(n):
            roles[i] = FIXED if code[p, i] == CONST and arg[p, i] == FREE else arg[p, i]
            if plan[PARAM, i] >= 0:
                is_local[plan[PARAM, i]] = arg[p, i] >= LOCAL
                constants += arg[p, i] == FREE
        k, n_affine = plan_program(code[p], roles, n, n_features, True, local_plan, stack)
        local_tree = Tree(code[p], n, local_plan, k, n_affine)
        for i in range(n):
            scratch.value[i] = value[p, i]
        if (constants > 0 or n_affine < k) and effort.steps > 0 and not effort.given:
            pooled_start(tree, panel, scratch.value, min(effort.steps, _POOLED_STEPS), scratch, work, algebra)
        locate(local_tree, scratch.first)
        total = fit_clusters(local_tree, panel, scratch.value, effort.steps, scratch, work, algebra)
        if constants > 0 and math.isfinite(total):
            fit_constants(tree, local_tree, is_local, panel, effort, total, scratch, work, algebra)
        for i in range(n):
            scratch.value[i] = scratch.locals[0, i] if plan[PARAM, i] >= 0 else value[p, i]
        median_locals(local_tree, n_groups, scratch.value, scratch)
        if effort.given:
            for i in range(n):
                scratch.start[i] = value[p, i]
        judge_windows(
            local_tree, quick_plan, slots, panel, effort, scratch, work, algebra, errors[p],
            fitted[p] if keep else own, predictions,
        )  # fmt: skip
        loss[p] = mean_loss(panel, errors[p])
        signatures[p] = signature(predictions)
        for i in range(n):
            value[p, i] = scratch.start[i]
        if keep:
            for g in range(n_groups):
                for i in range(n):
                    locals_[p, g, i] = scratch.locals[g, i]
