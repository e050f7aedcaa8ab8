"""J'J, J'r and r'r of one program over a segment of rows, and their solution.

The equations are kept as one symmetric matrix G of (K + 1, K + 1): the residual is treated as one more column of
the Jacobian, so row K holds J'r and the corner r'r. Blocks of rows are always added up in the same order.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from fitness.jit import COUNT, INDICES, NUMBERS, block_function, kernel, pointer
from fitness.kernels import BLOCK, forward, load_rows, padded, parameter_rows, reverse
from fitness.loss_kernels import bad_rows, residuals
from fitness.plan import MAX_PARAMETERS

# Rows start..stop of X (features, rows), with targets and square-rooted weights, in a fitting space.
Rows = namedtuple("Rows", "X y weight space start stop")
# One program: its nodes, its plan (slots kept), its number of parameters and how many of them are affine.
Tree = namedtuple("Tree", "code length plan k n_affine")
# Scratch for one program at a time, see `new_workspace`.
Workspace = namedtuple("Workspace", "slots adjoint scale row factor")

DEPENDENT = 1e-13  # a column whose part that is new has less than this share of its square is left out


@kernel(entry=False)
def new_workspace(width, n_features):  # type: ignore[no-untyped-def]
    """Scratch for programs of up to `width` nodes; the last two adjoint rows hold the slope and the residual."""
    return Workspace(
        np.empty((n_features + width, BLOCK)),
        np.zeros((width + 2, BLOCK)),
        np.empty(width),
        np.empty(MAX_PARAMETERS + 1, np.int64),
        np.empty(MAX_PARAMETERS + 1),
    )


@block_function(NUMBERS, COUNT, INDICES, NUMBERS, COUNT, COUNT, NUMBERS, COUNT)
def add_products(matrix, stride, row, factor, k, n, G, columns):  # type: ignore[no-untyped-def]
    """G[i, j] += factor[i] factor[j] <matrix[row[i]], matrix[row[j]]> for j <= i < k, over the first n columns.

    Four products at a time, so that each number read is used twice.
    """
    for i in range(0, k, 2):
        i2 = min(i + 1, k - 1)
        a, b = row[i] * stride, row[i2] * stride
        for j in range(0, i + 1, 2):
            j2 = min(j + 1, k - 1)
            c, d = row[j] * stride, row[j2] * stride
            ac, ad, bc, bd = 0.0, 0.0, 0.0, 0.0
            for r in range(n):
                ac += matrix[a + r] * matrix[c + r]
                ad += matrix[a + r] * matrix[d + r]
                bc += matrix[b + r] * matrix[c + r]
                bd += matrix[b + r] * matrix[d + r]
            G[i * columns + j] += factor[i] * factor[j] * ac
            if i2 > i:
                G[i2 * columns + j] += factor[i2] * factor[j] * bc
                if j2 > j:
                    G[i2 * columns + j2] += factor[i2] * factor[j2] * bd
            if j2 > j and j2 <= i:
                G[i * columns + j2] += factor[i] * factor[j2] * ad


@kernel(entry=False)
def accumulate(tree, value, rows, work, G):  # type: ignore[no-untyped-def]
    """Fill G (K + 1, K + 1) at the constants in `value`; returns r'r, infinite when a row or derivative is bad."""
    k, slope, residual = tree.k, work.adjoint.shape[0] - 2, work.adjoint.shape[0] - 1
    for i in range(k + 1):
        for j in range(k + 1):
            G[i, j] = 0.0
    for begin in range(rows.start, rows.stop, BLOCK):
        n = min(BLOCK, rows.stop - begin)
        load_rows(rows.X, begin, n, tree.plan, work.slots)
        root = forward(tree.code, value, tree.length, tree.plan, work.slots, n)
        if bad_rows(pointer(work.slots, root), n) > 0:
            return math.inf
        residuals(
            rows.space, pointer(rows.y, begin), pointer(rows.weight, begin), pointer(work.slots, root), n,
            pointer(work.adjoint, residual), pointer(work.adjoint, slope),
        )  # fmt: skip
        for r in range(n, padded(n)):
            work.adjoint[residual, r] = work.adjoint[slope, r] = 0.0
        if k > 0:
            reverse(tree.code, value, tree.length, tree.plan, work.slots, work.adjoint, slope, work.scale, n)
            parameter_rows(tree.code, tree.length, tree.plan, work.adjoint, work.scale, k, work.row, work.factor, n)
        work.row[k], work.factor[k] = residual, 1.0
        add_products(
            pointer(work.adjoint, 0), BLOCK, pointer(work.row, 0), pointer(work.factor, 0), k + 1, padded(n),
            pointer(G, 0), G.shape[1],
        )  # fmt: skip
    for i in range(k + 1):
        if not math.isfinite(G[i, i]):
            return math.inf
        for j in range(i):
            G[j, i] = G[i, j]
    return G[k, k]


@kernel(entry=False)
def predicted_decrease(G, k, step):  # type: ignore[no-untyped-def]
    """r'r minus what the linear model says it is after a step."""
    total = 0.0
    for i in range(k):
        dot = 2.0 * G[k, i]
        for j in range(k):
            dot += G[i, j] * step[j]
        total -= step[i] * dot
    return total


@kernel(entry=False)
def solve(G, k, n_exact, n_solve, damping, L, step):  # type: ignore[no-untyped-def]
    """Solve the normal equations for the first n_solve of k parameters; returns the predicted decrease of r'r.

    The first n_exact parameters are solved exactly; the diagonal of the others, after the exact ones have been
    eliminated, is enlarged by the share `damping` (Marquardt's scaling of the projected Jacobian). Cholesky's
    factorisation of the matrix with unit diagonal, lower half in L; a parameter whose column depends on earlier
    ones, or is zero, does not move.
    """
    for i in range(k):
        step[i] = L[i, i] = 0.0
        if i >= n_solve or not G[i, i] > 0.0:
            continue
        pivot = 1.0
        for j in range(i):
            if j == n_exact:
                pivot *= 1.0 + damping
            L[i, j] = 0.0
            if L[j, j] > 0.0:
                dot = G[i, j] / (math.sqrt(G[i, i]) * math.sqrt(G[j, j]))
                for m in range(j):
                    dot -= L[i, m] * L[j, m]
                L[i, j] = dot / L[j, j]
                pivot -= L[i, j] * L[i, j]
        if i == n_exact:
            pivot *= 1.0 + damping
        if pivot > DEPENDENT:
            L[i, i] = math.sqrt(pivot)
            dot = -G[k, i] / math.sqrt(G[i, i])
            for m in range(i):
                dot -= L[i, m] * step[m]
            step[i] = dot / L[i, i]
        else:
            for j in range(i):
                L[i, j] = 0.0
    for i in range(n_solve - 1, -1, -1):
        if L[i, i] > 0.0:
            dot = step[i]
            for m in range(i + 1, n_solve):
                dot -= L[m, i] * step[m] * math.sqrt(G[m, m])
            step[i] = dot / L[i, i] / math.sqrt(G[i, i])
    return predicted_decrease(G, k, step)


@kernel(entry=False)
def dependent(G, k, L, step):  # type: ignore[no-untyped-def]
    """How many of k parameters have a column that is zero or depends on the columns of the others."""
    solve(G, k, k, k, 0.0, L, step)
    count = 0
    for i in range(k):
        count += L[i, i] == 0.0
    return count
