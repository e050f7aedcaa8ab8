"""The thorough fit of few programs: restarts, descent to convergence, then a polish of the metric itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from fitness.constants import evaluate, fit
from fitness.data import Dataset
from fitness.metrics import metric_of
from operators.primitives import CONST
from operators.program import FIXED, Program, ProgramBatch

F64 = NDArray[np.float64]
_LONG = 100  # Levenberg-Marquardt steps of a thorough fit
_SIMPLEX_CONSTANTS = 8  # beyond this many constants a simplex search is hopeless
_SIMPLEX_STEPS = 200  # evaluations per constant
_SEED = 20240607


def polish(program: Program, data: Dataset, metric: str, restarts: int = 8) -> tuple[Program, float]:
    """The program with constants as good in `metric` as we can make them, and its loss."""
    starts = [program, *_perturbed(program, restarts)]
    fitted = fit(ProgramBatch.of(starts), data, metric, _LONG)
    best = int(np.argmin(fitted.loss))
    program, loss = program.with_values(fitted.value[best, : len(program)]), float(fitted.loss[best])
    if metric_of(metric).absolute:
        return _simplex(program, loss, data, metric)
    return program, loss


def _parameters(program: Program) -> NDArray[np.intp]:
    return np.flatnonzero((program.code == CONST) & (program.arg != FIXED))


def _perturbed(program: Program, count: int) -> list[Program]:
    """Copies whose constants are scaled by factors from 1/4 to 4, some with the sign turned."""
    at = _parameters(program)
    rng = np.random.default_rng(_SEED)
    out = []
    for _ in range(count if len(at) else 0):
        value = program.value.copy()
        value[at] *= np.exp(rng.normal(0.0, 0.7, len(at))) * rng.choice([1.0, 1.0, 1.0, -1.0], len(at))
        out.append(program.with_values(value))
    return out


def _simplex(program: Program, loss: float, data: Dataset, metric: str) -> tuple[Program, float]:
    """Nelder and Mead's search on the metric; the start is kept when it is no worse."""
    at = _parameters(program)
    if not 0 < len(at) <= _SIMPLEX_CONSTANTS:
        return program, loss
    scale = np.where(program.value[at] != 0.0, np.abs(program.value[at]), 1.0)

    def with_constants(z: F64) -> Program:
        value = program.value.copy()
        value[at] = z * scale
        return program.with_values(value)

    def objective(z: F64) -> float:
        return float(evaluate(ProgramBatch.of([with_constants(z)]), data, metric)[0])

    found = optimize.minimize(
        objective,
        program.value[at] / scale,
        method="Nelder-Mead",
        options={"maxfev": _SIMPLEX_STEPS * len(at), "xatol": 1e-9, "fatol": 1e-12 * loss},
    )
    return (with_constants(found.x), float(found.fun)) if found.fun < loss else (program, loss)
