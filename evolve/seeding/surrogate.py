"""A smooth surrogate of the data: Gaussian-process regression on a few hundred rows, for gradients and for
comparing hypotheses by their leave-one-out error.

Rasmussen and Williams (2006), chapters 2 and 5: a squared-exponential kernel with one length a variable beside a
constant and a linear one; lengths and nugget by marginal likelihood with the amplitude profiled out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

F64 = NDArray[np.float64]

_LINEAR = 10.0  # prior variance of the constant and of each slope, against 1 of the smooth part
_LOG_LENGTHS = (np.log(0.15), np.log(30.0))
_LOG_NUGGET = (np.log(1e-9), np.log(1.0))


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A fitted surrogate of z over variables X (k, rows).

    lengths (k,) in units of each variable's spread; loo: weighted rms leave-one-out error, in the units of w*z;
    gradient (k, rows) of z; nugget: noise variance over the variance of z.
    """

    lengths: F64
    nugget: float
    loo: float
    gradient: F64


def fit(X: F64, z: F64, w: F64, start: F64 | None = None, nugget: float = 1e-4, iterations: int = 20) -> Surrogate | None:
    """Fit lengths and nugget (starting from `start`, in spreads) and solve on all rows. None where it cannot be."""
    spread = X.std(axis=1)
    if not (np.all(spread > 0.0) and np.isfinite(X).all()) or z.std() == 0.0:
        return None
    U = (X - X.mean(axis=1, keepdims=True)) / spread[:, None]
    scale = float(z.std())
    t = (z - z.mean()) / scale
    noise = float(np.median(w)) ** 2 / np.maximum(w, 1e-6 * w.max()) ** 2
    theta = np.append(np.log(np.full(len(X), 2.0) if start is None else start), np.log(nugget))
    if iterations:
        theta = _optimised(U, t, noise, theta, iterations)
    return _solved(U, t, noise, theta, w * scale, spread / scale)


def _optimised(U: F64, t: F64, noise: F64, theta: F64, iterations: int) -> F64:
    rows = slice(0, 220)  # rows are in random order
    U, t, noise = np.ascontiguousarray(U[:, rows]), t[rows], noise[rows]
    squares = (U[:, :, None] - U[:, None, :]) ** 2
    bounds = [_LOG_LENGTHS] * len(U) + [_LOG_NUGGET]
    base = _LINEAR * (1.0 + U.T @ U)
    done = minimize(
        _deviance, theta, (squares, base, t, noise), "L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": iterations}
    )
    out: F64 = done.x
    return out


def _deviance(theta: F64, squares: F64, base: F64, t: F64, noise: F64) -> tuple[float, F64]:
    """Twice the negative log marginal likelihood (but for a constant) and its gradient."""
    inverse = np.exp(-2.0 * theta[:-1])
    smooth = np.exp(-0.5 * np.einsum("k,kij->ij", inverse, squares))
    nugget = np.exp(theta[-1]) * noise
    K = base + smooth
    K[np.diag_indices_from(K)] += nugget + 1e-10
    try:
        factor = cho_factor(K, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(theta)
    alpha = cho_solve(factor, t, check_finite=False)
    n, q = len(t), float(t @ alpha)
    value = n * np.log(max(q, 1e-300) / n) + 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
    inner = cho_solve(factor, np.eye(n), check_finite=False) - np.outer(alpha, alpha) * (n / q)
    gradient = np.einsum("ij,kij->k", inner * smooth, squares) * inverse
    return value, np.append(gradient, float(np.sum(np.diag(inner) * nugget)))


def _solved(U: F64, t: F64, noise: F64, theta: F64, w: F64, spread: F64) -> Surrogate | None:
    inverse = np.exp(-2.0 * theta[:-1])
    V = U * np.sqrt(inverse)[:, None]
    norms = np.einsum("ki,ki->i", V, V)
    smooth = np.exp(-0.5 * np.maximum(norms[:, None] + norms[None, :] - 2.0 * V.T @ V, 0.0))
    K = smooth + _LINEAR * (1.0 + U.T @ U)
    K[np.diag_indices_from(K)] += np.exp(theta[-1]) * noise + 1e-10
    try:
        factor = cho_factor(K, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    Ki = cho_solve(factor, np.eye(len(t)), check_finite=False)
    alpha = Ki @ t
    loo = float(np.sqrt(np.mean((w * alpha / np.diag(Ki)) ** 2)))
    pulled = smooth @ (alpha * U).T  # (rows, k)
    slope = -(U * (smooth @ alpha) - pulled.T) * inverse[:, None] + _LINEAR * (U @ alpha)[:, None]
    return Surrogate(np.exp(theta[:-1]), float(np.exp(theta[-1])), loo, slope / spread[:, None])
