"""Levenberg-Marquardt over a batch of programs, with the affine constants solved exactly.

One pass over the rows gives J'J, J'r and r'r in row blocks, always added up in the same order. The step is the
Gauss-Newton step of all constants with Marquardt's damping on the nonlinear ones only, which is variable
projection in Kaufman's form (Kaufman 1975; Ruhe and Wedin 1980); after a trial the affine constants are solved
again where that pays. Columns that depend on earlier ones are left out of a solve, so a redundant constant stays
where it is.
"""

from __future__ import annotations

import math

import numpy as np

from fitness.jit import kernel
from fitness.kernels import (
    ACTIVE,
    AFFINE,
    BLOCK,
    MAX_PARAMETERS,
    PARAM,
    PLAN_ROWS,
    forward,
    gather_jacobian,
    load_rows,
    plan_program,
    predict_rows,
    reverse,
)
from fitness.loss_kernels import loss_of, residuals, signature
from fitness.metrics import BAD_LOSS, Space
from operators.primitives import CONST

PLAIN, RELATIVE = int(Space.PLAIN), int(Space.RELATIVE)

# Stop reasons, see `fitness.constants.StopReason`.
NOTHING_TO_FIT, ITERATIONS, CONVERGED, PERFECT, STUCK, BAD_START = range(6)

_DEPENDENT = 1e-12  # a scaled pivot below this marks a column that depends on earlier ones
_SMALL_GAIN = 1e-9  # relative decrease of the sum of squares at which the descent has converged
_PERFECT = 1e-28  # sum of squares relative to that of the target
_MAX_DAMPING = 1e12


@kernel
def accumulate(code, value, length, plan, k, X, start, stop, space, y, weight, work, A, g):  # type: ignore[no-untyped-def]
    """Fill A = J'J (K, K) and g = J'r (K,) over rows start..stop; returns r'r, infinite when a row is bad."""
    slots, adjoint, jacobian, residual, slope = work
    A[:k, :k] = 0.0
    g[:k] = 0.0
    total = 0.0
    for begin in range(start, stop, BLOCK):
        n = min(BLOCK, stop - begin)
        load_rows(X, begin, n, slots)
        root = forward(code, value, length, plan, slots, n)
        rows = slice(begin, begin + n)
        total += residuals(space, y[rows], weight[rows], slots[root, :n], residual[:n], slope[:n])
        if not math.isfinite(total):
            return math.inf
        if k > 0:
            reverse(code, value, length, plan, slots, adjoint, n)
            gather_jacobian(code, length, plan, adjoint, jacobian, n, k)
            add_normal_equations(jacobian, residual, slope, n, k, A, g)
    for i in range(k):
        if not math.isfinite(g[i]) or not math.isfinite(A[i, i]):
            return math.inf
        for j in range(i):
            A[j, i] = A[i, j]
    return total


@kernel
def add_normal_equations(jacobian, residual, slope, n, k, A, g):  # type: ignore[no-untyped-def]
    """Add one block to the lower half of A and to g; the jacobian is scaled by the slope in place."""
    for i in range(k):
        row = jacobian[i, :n]
        gradient = 0.0
        for r in range(n):
            row[r] *= slope[r]
            gradient += row[r] * residual[r]
        g[i] += gradient
        for j in range(i + 1):
            other = jacobian[j, :n]
            dot = 0.0
            for r in range(n):
                dot += row[r] * other[r]
            A[i, j] += dot


@kernel
def solve_scaled(A, g, use, damping, k, L, d):  # type: ignore[no-untyped-def]
    """Solve (A + diag(damping * diag A)) d = -g over the parameters with use[i] > 0, by Cholesky on unit columns.

    use[i] == 2 marks a damped parameter. A parameter whose column depends on earlier ones gets d = 0. Returns the
    number of parameters solved for.
    """
    rank = 0
    for i in range(k):
        d[i] = 0.0
        L[i, i] = 0.0
        if use[i] == 0 or not A[i, i] > 0.0:
            continue
        for j in range(i):
            L[i, j] = 0.0
            if L[j, j] > 0.0:
                dot = A[i, j] / math.sqrt(A[i, i]) / math.sqrt(A[j, j])
                for m in range(j):
                    dot -= L[i, m] * L[j, m]
                L[i, j] = dot / L[j, j]
        pivot = 1.0 + (damping if use[i] == 2 else 0.0)
        for m in range(i):
            pivot -= L[i, m] * L[i, m]
        if pivot > _DEPENDENT:
            L[i, i] = math.sqrt(pivot)
            rank += 1
    for i in range(k):
        if L[i, i] > 0.0:
            dot = -g[i] / math.sqrt(A[i, i])
            for m in range(i):
                dot -= L[i, m] * d[m]
            d[i] = dot / L[i, i]
    for i in range(k - 1, -1, -1):
        if L[i, i] > 0.0:
            dot = d[i]
            for m in range(i + 1, k):
                dot -= L[m, i] * d[m] if L[m, m] > 0.0 else 0.0
            d[i] = dot / L[i, i]
    for i in range(k):
        if L[i, i] > 0.0:
            d[i] /= math.sqrt(A[i, i])
    return rank


@kernel
def shift(code, length, plan, base, d, value):  # type: ignore[no-untyped-def]
    """value = base, with d added at every fitted constant."""
    for i in range(length):
        p = plan[PARAM, i]
        value[i] = base[i] + d[p] if code[i] == CONST and p >= 0 else base[i]


@kernel
def affine_parameters(code, length, plan, k, use):  # type: ignore[no-untyped-def]
    """use[p] = 1 for affine parameters, 2 for the others; returns how many are affine."""
    for p in range(k):
        use[p] = 2
    for i in range(length):
        if code[i] == CONST and plan[PARAM, i] >= 0 and plan[AFFINE, i] == 1:
            use[plan[PARAM, i]] = 1
    count = 0
    for p in range(k):
        count += use[p] == 1
    return count


@kernel
def descend(code, value, length, plan, k, X, stop, space, y, weight, max_iterations, work, algebra, use):  # type: ignore[no-untyped-def]
    """Levenberg-Marquardt from `value`, which is updated in place; returns (sum of squares, iterations, reason)."""
    A, trial_A, L, g, trial_g, d, trial, affine = algebra
    n_affine = affine_parameters(code, length, plan, k, use) if space == PLAIN or space == RELATIVE else 0
    for p in range(k):
        affine[p] = 1 if n_affine > 0 and use[p] == 1 else 0
        if n_affine == 0:
            use[p] = 2
    sse = accumulate(code, value, length, plan, k, X, 0, stop, space, y, weight, work, A, g)
    if not math.isfinite(sse):
        return math.inf, 0, BAD_START
    scale = 0.0
    for r in range(stop):
        scale += (weight[r] * y[r]) ** 2
    if n_affine > 0:
        solve_scaled(A, g, affine, 0.0, k, L, d)
        shift(code, length, plan, value, d, trial)
        trial_sse = accumulate(code, trial, length, plan, k, X, 0, stop, space, y, weight, work, trial_A, trial_g)
        if trial_sse <= sse:
            sse = trial_sse
            value[:length] = trial[:length]
            A[:k, :k] = trial_A[:k, :k]
            g[:k] = trial_g[:k]
        if n_affine == k:
            return sse, 1, CONVERGED
    damping = 1e-2
    for iteration in range(1, max_iterations + 1):
        solve_scaled(A, g, use, damping, k, L, d)
        predicted = 0.0
        for p in range(k):
            predicted -= g[p] * d[p]
        shift(code, length, plan, value, d, trial)
        trial_sse = accumulate(code, trial, length, plan, k, X, 0, stop, space, y, weight, work, trial_A, trial_g)
        if not trial_sse < sse:
            damping *= 10.0
            if damping > _MAX_DAMPING or not predicted > 1e-15 * sse:
                return sse, iteration, STUCK
            continue
        gain = sse - trial_sse
        if n_affine > 0:
            solve_scaled(trial_A, trial_g, affine, 0.0, k, L, d)
            promise = 0.0
            for p in range(k):
                promise -= trial_g[p] * d[p]
            if promise > 0.05 * trial_sse:
                value[:length] = trial[:length]
                shift(code, length, plan, value, d, trial)
                again = accumulate(code, trial, length, plan, k, X, 0, stop, space, y, weight, work, A, g)
                if again < trial_sse:
                    trial_sse = again
                    trial_A[:k, :k] = A[:k, :k]
                    trial_g[:k] = g[:k]
                else:
                    trial[:length] = value[:length]
        value[:length] = trial[:length]
        A[:k, :k] = trial_A[:k, :k]
        g[:k] = trial_g[:k]
        damping = damping * 0.2 if gain > 0.25 * predicted else damping * 2.0
        converged = sse - trial_sse <= _SMALL_GAIN * sse
        sse = trial_sse
        if sse <= _PERFECT * scale:
            return sse, iteration, PERFECT
        if converged:
            return sse, iteration, CONVERGED
    return sse, max_iterations, ITERATIONS


@kernel
def fit_batch(  # type: ignore[no-untyped-def]
    code, arg, value, length, X, y, metric, space, absolute, weight, start_weight, max_iterations, first, last,
    loss, iterations, reason, signatures,
):
    """Fit programs first..last in place (value (P, L)) and fill loss, iterations, reason, signatures (P,)."""
    width, rows = code.shape[1], y.size
    plan = np.empty((PLAN_ROWS, width), np.int64)
    stack = np.empty(width, np.int64)
    slots = np.empty((X.shape[0] + width, BLOCK))
    K = MAX_PARAMETERS
    work = (slots, np.empty((width, BLOCK)), np.empty((K, BLOCK)), np.empty(BLOCK), np.empty(BLOCK))
    algebra = (
        np.empty((K, K)), np.empty((K, K)), np.zeros((K, K)), np.empty(K), np.empty(K), np.empty(K),
        np.empty(width), np.empty(K, np.int64),
    )
    use = np.empty(K, np.int64)
    fitted = np.empty(width)
    prediction, scratch = np.empty(rows), np.empty(rows)
    for p in range(first, last):
        n = length[p]
        k = plan_program(code[p], arg[p], n, X.shape[0], plan, stack)
        predict_rows(code[p], arg[p], value[p], n, X, 0, rows, plan, slots, prediction)
        loss[p] = loss_of(metric, y, prediction, scratch)
        signatures[p] = signature(prediction)
        iterations[p], reason[p] = 0, NOTHING_TO_FIT
        if max_iterations == 0 or k == 0:
            continue
        fitted[:n] = value[p, :n]
        if space != PLAIN and space != RELATIVE:
            descend(code[p], fitted, n, plan, k, X, rows, RELATIVE, y, start_weight, 1, work, algebra, use)
        _, iterations[p], reason[p] = descend(
            code[p], fitted, n, plan, k, X, rows, space, y, weight, max_iterations, work, algebra, use
        )
        predict_rows(code[p], arg[p], fitted, n, X, 0, rows, plan, slots, prediction)
        fitted_loss = loss_of(metric, y, prediction, scratch)
        if fitted_loss < loss[p]:
            loss[p] = fitted_loss
            signatures[p] = signature(prediction)
            value[p, :n] = fitted[:n]
