"""J'J, J'r and r'r of one program over a segment of rows, and their solution.

The equations are kept as one symmetric matrix G of (K + 1, K + 1): the residual is treated as one more column of
the Jacobian, so row K holds J'r and the corner r'r. Blocks of rows are always added up in the same order.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from fitness.jit import COUNT, INDICES, NUMBER, NUMBERS, block_function, kernel, pointer
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
def new_workspace(width, n_features):
    """Scratch for programs of up to `width` nodes; the last two adjoint rows hold the slope and the residual."""
    return Workspace(
        np.empty((n_features + width, BLOCK)),
        np.zeros((width + 2, BLOCK)),
        np.empty(width),
        np.empty(MAX_PARAMETERS + 1, np.int64),
        np.empty(MAX_PARAMETERS + 1),
    )


@block_function(NUMBERS, COUNT, INDICES, NUMBERS, COUNT, COUNT, NUMBERS, COUNT)
def add_products(matrix, stride, row, factor, k, n, G, columns):
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
def accumulate(tree, value, rows, work, G):
    """Fill G (K + 1, K + 1) at the constants in `value`; returns r'r, infinite when a row or derivative is bad."""
    code, length, plan, k = tree.code, tree.length, tree.plan, tree.k
    slots, adjoint, scale, row, factor = work.slots, work.adjoint, work.scale, work.row, work.factor
    slope, residual = adjoint.shape[0] - 2, adjoint.shape[0] - 1
    for i in range(k + 1):
        for j in range(k + 1):
            G[i, j] = 0.0
    row[k], factor[k] = residual, 1.0
    for begin in range(rows.start, rows.stop, BLOCK):
        n = min(BLOCK, rows.stop - begin)
        m = padded(n)
        load_rows(rows.X, begin, n, plan, slots)
        root = forward(code, value, length, plan, slots, n)
        if bad_rows(pointer(slots, root), m) > 0:  # whole vectors: the padding repeats the last row
            return math.inf
        residuals(
            rows.space, pointer(rows.y, begin), pointer(rows.weight, begin), pointer(slots, root), n,
            pointer(adjoint, residual), pointer(adjoint, slope),
        )  # fmt: skip
        for r in range(n, m):
            adjoint[residual, r] = adjoint[slope, r] = 0.0
        if k > 0:
            reverse(code, value, length, plan, slots, adjoint, slope, scale, n)
            parameter_rows(code, length, plan, adjoint, scale, k, row, factor, n)
        add_products(
            pointer(adjoint, 0), BLOCK, pointer(row, 0), pointer(factor, 0), k + 1, m, pointer(G, 0), G.shape[1]
        )
    for i in range(k + 1):
        if not math.isfinite(G[i, i]):
            return math.inf
        for j in range(i):
            G[j, i] = G[i, j]
    return G[k, k]


@block_function(NUMBERS, COUNT, COUNT, COUNT, COUNT, NUMBER, NUMBERS, COUNT, NUMBERS, result=NUMBER)
def _solve_at(G, columns, k, n_exact, n_solve, damping, L, stride, step):
    """`solve`, behind pointers; row k of L holds one over the root of each diagonal element of G."""
    for i in range(k):
        step[i] = L[i * stride + i] = L[k * stride + i] = 0.0
        if i >= n_solve or not G[i * columns + i] > 0.0:
            continue
        shrink = L[k * stride + i] = 1.0 / math.sqrt(G[i * columns + i])
        pivot, dot = 1.0, -G[k * columns + i] * shrink
        for j in range(i):
            if j == n_exact:
                pivot *= 1.0 + damping
            entry = 0.0
            if L[j * stride + j] > 0.0:
                entry = G[i * columns + j] * shrink * L[k * stride + j]
                for m in range(j):
                    entry -= L[i * stride + m] * L[j * stride + m]
                entry /= L[j * stride + j]
            L[i * stride + j] = entry
            pivot -= entry * entry
            dot -= entry * step[j]
        if i == n_exact:
            pivot *= 1.0 + damping
        if pivot > DEPENDENT:
            L[i * stride + i] = math.sqrt(pivot)
            step[i] = dot / L[i * stride + i]
        else:
            for j in range(i):
                L[i * stride + j] = 0.0
    for i in range(n_solve - 1, -1, -1):
        if L[i * stride + i] > 0.0:
            dot = step[i]
            for m in range(i + 1, n_solve):
                dot -= L[m * stride + i] * step[m]
            step[i] = dot / L[i * stride + i]
    decrease = 0.0
    for i in range(k):
        step[i] *= L[k * stride + i]
    for i in range(k):
        dot = 2.0 * G[k * columns + i]
        for j in range(k):
            dot += G[i * columns + j] * step[j]
        decrease -= step[i] * dot
    return decrease


@kernel(entry=False)
def solve(G, k, n_exact, n_solve, damping, L, step):
    """Solve the normal equations for the first n_solve of k parameters; returns the predicted decrease of r'r.

    The first n_exact parameters are solved exactly; the diagonal of the others, after the exact ones have been
    eliminated, is enlarged by the share `damping` (Marquardt's scaling of the projected Jacobian). Cholesky's
    factorisation of the matrix with unit diagonal, lower half in L (K + 1, K + 1); a parameter whose column depends on
    earlier ones, or is zero, does not move.
    """
    return _solve_at(
        pointer(G, 0), G.shape[1], k, n_exact, n_solve, damping, pointer(L, 0), L.shape[1], pointer(step, 0)
    )


@kernel(entry=False)
def dependent(G, k, L, step):
    """How many of k parameters have a column that is zero or depends on the columns of the others."""
    solve(G, k, k, k, 0.0, L, step)
    count = 0
    for i in range(k):
        count += L[i, i] == 0.0
    return count
