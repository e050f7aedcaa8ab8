"""Exhaustive search for the best pair of columns, on blocks of a Gram matrix made by BLAS."""

from __future__ import annotations

import numpy as np

from fitness.jit import kernel


@kernel
def best_partners(gram, c, first, least, gain, partner):
    """For each row i of a block: the later column that with it explains most of each target.

    gram (b, n - first) float32 holds the inner products of unit columns first..first + b with columns first..n; c (t, n)
    those of the n columns with t targets. Pairs whose squared sine is under `least` are too alike to tell apart and
    are passed over. Fills gain (t, b), the explained sum of squares, and partner (t, b), a column or -1.
    """
    b, n = gram.shape
    one, two = np.float32(1.0), np.float32(2.0)
    for i in range(b):
        g = gram[i]
        for k in range(c.shape[0]):
            ck = c[k, first:]
            ci = ck[i]
            best = np.float32(0.0)
            for j in range(i + 1, n):
                s = one - g[j] * g[j]
                v = (ci * ci + ck[j] * ck[j] - two * ci * ck[j] * g[j]) / max(s, least)
                v = v if s > least else np.float32(0.0)
                best = max(best, v)
            gain[k, i] = best
            partner[k, i] = -1
            enough = best * np.float32(0.999999)  # the scalar and the vector loop round differently
            for j in range(i + 1, n):
                s = one - g[j] * g[j]
                if s > least and (ci * ci + ck[j] * ck[j] - two * ci * ck[j] * g[j]) / s >= enough:
                    partner[k, i] = first + j
                    break
