"""The thorough fit of few programs: scans, restarts, descent to convergence, then a polish of the metric itself."""

from __future__ import annotations

import numpy as np
import scipy  # its subpackages load when they are used
from numpy.typing import NDArray

from fitness.constants import evaluate, fit, fitting_weights
from fitness.data import Dataset
from fitness.metrics import Space, metric_of
from fitness.precise import Goal, Model, descend
from fitness.scan import scan, thinned
from operators.primitives import CONST
from operators.program import FIXED, Program, ProgramBatch

F64 = NDArray[np.float64]
Found = tuple[Program, float]

POLISH_ROWS = 20_000  # restarts, scans and searches use at most so many rows, evenly taken
_STEPS = 60  # Levenberg-Marquardt steps from each start
_SMALL_GAIN = 1e-14
_REFINEMENTS = 400_000  # steps times rows of the last descent
_FINALISTS = 3
_SIMPLEX_CONSTANTS = 10  # beyond this many constants a simplex search is hopeless
_SIMPLEX_STEPS = 150  # evaluations per constant
_SEED = 20240607


def polish(program: Program, data: Dataset, metric: str, restarts: int = 8, threads: int = 1) -> Found:
    """The program with constants as good in `metric` as we can make them, and its loss. Never worse than before."""
    at = fitted_nodes(program)
    start = (program, _loss(program, data, metric))
    if not len(at):
        return start
    few = thinned(data, POLISH_ROWS)
    starts = [program, *perturbed(program, restarts)]
    found = scan(ProgramBatch.of([program]), few, metric, threads)
    starts.append(program.with_values(found.value[0, : len(program)]))
    if metric_of(metric).space != Space.PLAIN:
        # Targets near 0 make the other spaces rough, and the plain one leads around that.
        for easier in ("rmse", "mae"):
            plain = fit(ProgramBatch.of(starts[: restarts + 2]), few, easier, _STEPS, threads=threads, robust=True)
            starts += [program.with_values(v[: len(program)]) for v in plain.value]
    finalists = _fit_all(starts, few, metric, threads)[:_FINALISTS]
    steps = _REFINEMENTS // max(few.n_rows, 1000)
    finalists = [refine(p, few, metric, steps) for p, _ in finalists]
    best = min(finalists, key=lambda pair: pair[1])
    if metric_of(metric).absolute:
        best = simplex(*best, few, metric)
    if few is not data:
        best = _fit_all([best[0]], data, metric, threads)[0]
    return min(start, best, key=lambda pair: pair[1])


def fitted_nodes(program: Program) -> NDArray[np.intp]:
    """Nodes of the constants that are not fixed."""
    return np.flatnonzero((program.code == CONST) & (program.arg != FIXED))


def perturbed(program: Program, count: int) -> list[Program]:
    """Copies whose constants are scaled by factors of about 1/4 to 4, some with the sign turned."""
    at = fitted_nodes(program)
    rng = np.random.default_rng(_SEED)
    out = []
    for _ in range(count):
        value = program.value.copy()
        value[at] *= np.exp(rng.normal(0.0, 0.7, len(at))) * rng.choice([1.0, 1.0, 1.0, -1.0], len(at))
        out.append(_with_shared(program, value))
    return out


def _with_shared(program: Program, value: F64) -> Program:
    """The program with new node values; a local parameter that stands at several places keeps one value."""
    for role in np.unique(program.arg[fitted_nodes(program)]):
        nodes = np.flatnonzero((program.code == CONST) & (program.arg == role))
        if role > FIXED:
            value[nodes] = value[nodes[0]]
    return program.with_values(value)


def _loss(program: Program, data: Dataset, metric: str) -> float:
    return float(evaluate(ProgramBatch.of([program]), data, metric)[0])


def _fit_all(programs: list[Program], data: Dataset, metric: str, threads: int) -> list[Found]:
    """All programs fitted, robustly where the metric asks for it; the lowest loss first."""
    batch = ProgramBatch.of(programs)
    fitted = fit(batch, data, metric, _STEPS, threads=threads, robust=True, small_gain=_SMALL_GAIN)
    pairs = [(p.with_values(fitted.value[i, : len(p)]), float(fitted.loss[i])) for i, p in enumerate(programs)]
    return sorted(pairs, key=lambda pair: pair[1])


def refine(program: Program, data: Dataset, metric: str, max_iterations: int = 500) -> Found:
    """Least squares in the metric's space from the program's own constants, to the last digit that float64 gives.

    Orthogonal factors, no scans and no restarts. Returns the program itself when the result is no better in the
    metric.
    """
    spec = metric_of(metric)
    weight, _ = fitting_weights(spec, data.y, data.weight)
    model = Model(program, data.X)
    goal = Goal(data.y, weight, spec.space)
    programs = [program]
    for project in (True, False) if 0 < model.n_affine < model.size else (True,):
        theta, _ = descend(model, goal, max_iterations, project=project)
        programs.append(model.at(theta))
    return min(((p, _loss(p, data, metric)) for p in programs), key=lambda pair: pair[1])


def simplex(program: Program, loss: float, data: Dataset, metric: str) -> Found:
    """Nelder and Mead's search on the metric; the start is kept when it is no worse."""
    model = Model(program, data.X[:, :1])
    if not 0 < model.size <= _SIMPLEX_CONSTANTS:
        return program, loss
    start = model.start
    scale = np.where(start != 0.0, np.abs(start), 1.0)
    found = scipy.optimize.minimize(
        lambda z: _loss(model.at(z * scale), data, metric),
        start / scale,
        method="Nelder-Mead",
        options={"maxfev": _SIMPLEX_STEPS * model.size, "xatol": 1e-10, "fatol": 1e-12 * loss, "adaptive": True},
    )
    return min((program, loss), (model.at(found.x * scale), float(found.fun)), key=lambda pair: pair[1])
