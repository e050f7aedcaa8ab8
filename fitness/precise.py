"""Slow and careful least squares for one program: orthogonal factors instead of normal equations.

Variable projection: at every point the affine constants are solved by QR with unit columns, and Levenberg-Marquardt
moves the nonlinear ones on the projected residual with Kaufman's Jacobian. Where the fast fit stops at half the
digits, because normal equations square the condition number, this one goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fitness.kernels import jacobian_rows
from fitness.loss_kernels import residual_rows
from fitness.metrics import Space
from fitness.plan import MAX_PARAMETERS, parameters
from operators.program import Program

F64 = NDArray[np.float64]
_SMALL_STEP = 1e-14  # relative change of the constants at which a descent has converged
_MOST_DAMPING = 1e16
_SOLVES = 2
_LARGE = 1e150  # squares of larger numbers overflow


class Model:
    """A program as a function of its parameters: values and Jacobian on fixed rows, affine parameters first."""

    def __init__(self, program: Program, X: F64) -> None:
        self.program = program
        self.X = np.ascontiguousarray(X)
        self.number, self.size, self.n_affine = parameters(program.code, program.arg)
        self._places = [np.flatnonzero(self.number == p) for p in range(self.size)]

    @property
    def start(self) -> F64:
        """The parameters (K,) as they stand in the program."""
        return np.array([self.program.value[at[0]] for at in self._places])

    def at(self, theta: F64) -> Program:
        """The program with parameters theta (K,)."""
        value = self.program.value.copy()
        for at, number in zip(self._places, theta, strict=True):
            value[at] = number
        return self.program.with_values(value)

    def evaluate(self, theta: F64) -> tuple[F64, F64]:
        """Predictions (rows,) and Jacobian (K, rows)."""
        program = self.at(theta)
        rows = self.X.shape[1]
        prediction, jacobian = np.empty(rows), np.empty((MAX_PARAMETERS, rows))
        jacobian_rows(program.code, program.arg, program.value, self.X, prediction, jacobian)
        return prediction, jacobian[: self.size]


@dataclass(frozen=True)
class Goal:
    """What is fitted: targets and square-rooted weights (rows,) in a fitting space."""

    y: F64
    weight: F64
    space: Space = Space.PLAIN

    def residual(self, prediction: F64) -> tuple[F64, F64]:
        """The weighted residual and its derivative by the prediction, both (rows,)."""
        residual, slope = np.empty_like(prediction), np.empty_like(prediction)
        residual_rows(int(self.space), self.y, self.weight, prediction, residual, slope)
        return residual, slope


@dataclass
class _Point:
    theta: F64
    error: float
    residual: F64  # weighted, (rows,)
    columns: F64  # weighted Jacobian of the nonlinear parameters, projected; (rows, N)


def descend(
    model: Model, goal: Goal, max_iterations: int = 200, theta: F64 | None = None, project: bool = True
) -> tuple[F64, float]:
    """Least squares in the goal's space from theta (default: the program's values); returns (theta, r'r).

    Without `project` all constants move together, the affine ones too: slower, but another path through the valley.
    """
    theta = model.start if theta is None else theta
    n = model.n_affine if project and goal.space in (Space.PLAIN, Space.RELATIVE) else 0
    point = _project(model, goal, n, theta)
    if point is None:
        return theta, np.inf
    damping, growth = 1e-3, 2.0
    for _ in range(max_iterations if n < model.size else 0):
        step, promise = _step(point, damping)
        moved = point.theta.copy()
        moved[n:] += step
        trial = _project(model, goal, n, moved)
        if trial is not None and trial.error < point.error:
            quality = (point.error - trial.error) / promise if promise > 0.0 else 0.0
            damping *= max(1.0 / 5.0, 1.0 - (2.0 * quality - 1.0) ** 3)
            growth = 2.0
            point = trial
        else:
            damping, growth = damping * growth, growth * 2.0
        small = np.all(np.abs(step) <= _SMALL_STEP * (np.abs(point.theta[n:]) + 1e-300))
        if small or damping > _MOST_DAMPING:
            break
    return point.theta, point.error


def _project(model: Model, goal: Goal, n: int, theta: F64) -> _Point | None:
    """Solve the n affine parameters at the given nonlinear ones; None when a row or derivative is bad."""
    theta = theta.copy()
    linear = _linearise(model, goal, theta)
    basis = np.empty((model.X.shape[1], 0))
    for _ in range(_SOLVES if n else 0):  # the first finds the solution, the others refine it
        if linear is None:
            return None
        basis, change = _solve(linear[1][:, :n], linear[0])
        theta[:n] += change
        linear = _linearise(model, goal, theta)
    if linear is None:
        return None
    residual, columns = linear
    inner = columns[:, n:]
    return _Point(theta, float(residual @ residual), residual, inner - basis @ (basis.T @ inner))


def _linearise(model: Model, goal: Goal, theta: F64) -> tuple[F64, F64] | None:
    """Weighted residual (rows,) and Jacobian (rows, K); None when one of them is not finite."""
    prediction, jacobian = model.evaluate(theta)
    if not np.isfinite(prediction).all():
        return None
    residual, slope = goal.residual(prediction)
    columns = (jacobian * slope).T
    size = float(np.abs(columns).max(initial=0.0)) + float(np.abs(residual).max(initial=0.0))
    return (residual, columns) if size < _LARGE else None


def _solve(columns: F64, residual: F64) -> tuple[F64, F64]:
    """An orthonormal basis of the columns, and the change of their coefficients that removes the residual.

    Columns that depend on earlier ones get no change.
    """
    size = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(size > 0.0, size, 1.0)
    q, r, order = linalg.qr(scaled, mode="economic", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(r)) > 1e-14 * max(columns.shape)))
    change = np.zeros(columns.shape[1])
    change[order[:rank]] = -linalg.solve_triangular(r[:rank, :rank], q[:, :rank].T @ residual)
    return q[:, :rank], change / np.where(size > 0.0, size, 1.0)


def _step(point: _Point, damping: float) -> tuple[F64, float]:
    """The damped Gauss-Newton step with columns scaled to unit length, and the decrease it promises."""
    size = np.linalg.norm(point.columns, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    scaled = point.columns / size
    k = scaled.shape[1]
    stacked = np.vstack([scaled, np.sqrt(damping) * np.eye(k)])
    target = np.concatenate([-point.residual, np.zeros(k)])
    step = np.linalg.lstsq(stacked, target, rcond=None)[0]
    after = point.residual + scaled @ step
    return step / size, float(point.residual @ point.residual - after @ after)
