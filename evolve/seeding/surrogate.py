"""A smooth surrogate of the data: Gaussian-process regression on a few hundred rows, for gradients and for
comparing hypotheses by their leave-one-out error.

Rasmussen and Williams (2006), chapters 2 and 5: a squared-exponential kernel with one length a variable beside a
constant and a linear one; lengths and nugget by marginal likelihood with the amplitude profiled out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its subpackages load when they are used
from numpy.typing import NDArray

F64 = NDArray[np.float64]

ROWS = 320  # of the surrogate
_LENGTH_ROWS = 220  # of the search for its lengths
_LINEAR = 10.0  # prior variance of the constant and of each slope, against 1 of the smooth part
_LOG_LENGTHS = (np.log(0.15), np.log(30.0))
_LOG_NUGGET = (np.log(1e-9), np.log(1.0))


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A fitted surrogate of z over variables X (k, rows).

    lengths (k,) in units of each variable's spread; nugget: noise variance over the variance of z; loo: weighted rms
    leave-one-out error of the fitted rows, in the units of w*z; gradient (k, rows) of z on all rows.
    """

    lengths: F64
    nugget: float
    loo: float
    gradient: F64


def fit(
    X: F64, z: F64, w: F64, start: F64 | None = None, nugget: float = 1e-4, iterations: int = 20
) -> Surrogate | None:
    """Fit to the first ROWS rows (they are in random order), lengths from `start` (in spreads); None where it cannot be."""
    if not all(np.isfinite(given).all() for given in (X, z, w)) or z.std() == 0.0:
        return None
    V, dV = _evened(X)
    spread = V.std(axis=1)
    if not np.all(spread > 0.0):
        return None
    U = (V - V.mean(axis=1, keepdims=True)) / spread[:, None]
    scale = float(z.std())
    t = (z - z.mean()) / scale
    noise = float(np.median(w)) ** 2 / np.maximum(w, 1e-6 * w.max()) ** 2
    theta = np.append(np.log(np.full(len(X), 2.0) if start is None else start), np.log(nugget))
    if iterations:
        theta = _optimised(U, t, noise, theta, iterations)
    return _solved(U, t, noise, theta, w * scale, dV * (scale / spread)[:, None])


def _evened(X: F64) -> tuple[F64, F64]:
    """(variables, their derivatives by X): the logarithm of a positive variable that is spread more evenly by it."""
    V, dV = X.copy(), np.ones_like(X)
    for i, x in enumerate(X):
        if x.min() > 0.0 and x.max() > 3.0 * x.min() and abs(_skew(np.log(x))) < 0.8 * abs(_skew(x)):
            V[i], dV[i] = np.log(x), 1.0 / x
    return V, dV


def _skew(x: F64) -> float:
    c = x - x.mean()
    return float(np.mean(c**3) / max(np.mean(c * c) ** 1.5, 1e-300))


def _optimised(U: F64, t: F64, noise: F64, theta: F64, iterations: int) -> F64:
    rows = slice(0, _LENGTH_ROWS)
    U, t, noise = np.ascontiguousarray(U[:, rows]), t[rows], noise[rows]
    squares = (U[:, :, None] - U[:, None, :]) ** 2
    bounds = [_LOG_LENGTHS] * len(U) + [_LOG_NUGGET]
    base = _LINEAR * (1.0 + U.T @ U)
    done = scipy.optimize.minimize(
        _deviance,
        theta,
        (squares, base, t, noise),
        "L-BFGS-B",
        jac=True,
        bounds=bounds,
        options={"maxiter": iterations},
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
        factor = scipy.linalg.cho_factor(K, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(theta)
    alpha = scipy.linalg.cho_solve(factor, t, check_finite=False)
    n, q = len(t), float(t @ alpha)
    if not q > 0.0:  # nothing to describe
        return 1e10, np.zeros_like(theta)
    value = n * np.log(q / n) + 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
    inner = scipy.linalg.cho_solve(factor, np.eye(n), check_finite=False) - np.outer(alpha, alpha) * (n / q)
    gradient = np.einsum("ij,kij->k", inner * smooth, squares) * inverse
    return value, np.append(gradient, float(np.sum(np.diag(inner) * nugget)))


def _solved(U: F64, t: F64, noise: F64, theta: F64, w: F64, slopes: F64) -> Surrogate | None:
    inverse = np.exp(-2.0 * theta[:-1])
    fitted = slice(0, ROWS)
    smooth = _smooth(U, U[:, fitted], inverse)  # (all rows, fitted rows)
    K = smooth[fitted] + _LINEAR * (1.0 + U[:, fitted].T @ U[:, fitted])
    K[np.diag_indices_from(K)] += np.exp(theta[-1]) * noise[fitted] + 1e-10
    try:
        factor = scipy.linalg.cho_factor(K, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    with np.errstate(all="ignore"):  # near a pole of the target the weights overflow: the error then says so
        Ki = scipy.linalg.cho_solve(factor, np.eye(len(K)), check_finite=False)
        alpha = Ki @ t[fitted]
        loo = float(np.sqrt(np.mean((w[fitted] * alpha / np.diag(Ki)) ** 2)))
        pulled = smooth @ (alpha * U[:, fitted]).T  # (rows, k)
        slope = -(U * (smooth @ alpha) - pulled.T) * inverse[:, None] + _LINEAR * (U[:, fitted] @ alpha)[:, None]
        return Surrogate(np.exp(theta[:-1]), float(np.exp(theta[-1])), loo, slope * slopes)


def _smooth(U: F64, V: F64, inverse: F64) -> F64:
    """The squared-exponential kernel between columns of U and of V."""
    a, b = U * np.sqrt(inverse)[:, None], V * np.sqrt(inverse)[:, None]
    squares = np.einsum("ki,ki->i", a, a)[:, None] + np.einsum("ki,ki->i", b, b)[None, :] - 2.0 * a.T @ b
    out: F64 = np.exp(-0.5 * np.maximum(squares, 0.0))
    return out
