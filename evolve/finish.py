"""From the chosen law to the final one: polish and snap its constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.simple_numbers import simple_values, structural
from fitness.constants import fit, polish, predict
from fitness.data import Dataset, Folds
from fitness.metrics import BAD_LOSS, METRICS, Space
from operators.program import FIXED, FREE, Program, ProgramBatch

F64 = NDArray[np.float64]

_ITERATIONS = 30
_MOST_SNAP_ROUNDS = 24
_TRIES_PER_CONSTANT = 6
_NOTICED = 1e-3  # relative rise of the loss, on all rows or over the folds, that counts as noticing a snap
_PRECISION = 1e-7  # a constant this close (relative) to a simple number is that number, whatever the noise


@dataclass(frozen=True)
class Problem:
    """What finishing a law needs to know: the rows, the folds, the metric and when a law is exact.

    `everything` are all usable rows; laws are judged and polished on `data`, the same or a sample of them, which the
    folds divide. `noise` is the loss that the true law leaves at least, where the rows tell (`fitness.noise`).
    """

    everything: Dataset
    data: Dataset
    folds: Folds
    metric: str
    exact: float
    noise: float = 0.0
    priors: tuple[float, ...] = ()
    threads: int = 1


def finish(program: Program, problem: Problem, snap: bool = True) -> tuple[Program, float]:
    """Constants polished in the task's metric, then snapped, then fitted to all rows. Returns program and loss."""
    program, loss = polish(program, problem.data, problem.metric)
    if snap:
        program, loss = snap_constants(program, loss, problem)
    if problem.everything is problem.data:
        return program, loss
    final = fit(ProgramBatch.of([program]), problem.everything, problem.metric, _ITERATIONS, threads=problem.threads)
    return program.with_values(final.value[0, : len(program)]), float(final.loss[0])


def snap_constants(program: Program, loss: float, problem: Problem) -> tuple[Program, float]:
    """Replace fitted constants by simple numbers, one at a time, the others refitted after each.

    A snap stays when the loss on all rows and the mean held-out loss of the folds do not rise by more than 0.1%
    (or the law stays exact). A snapped number that is structural becomes FIXED; others stay counted as fitted.
    """
    reference = _held_out([program], problem)[0]
    snapped: set[int] = set()
    for _ in range(_MOST_SNAP_ROUNDS):
        trials = [(i, _with_fixed(program, snapped | {i}, i, v)) for i, v in _candidates(program, snapped, problem)]
        step = _first_unnoticed(trials, loss, reference, problem)
        if step is None:
            break
        i, program, loss = step
        snapped.add(i)
    return _with_roles(program, snapped), loss


def _first_unnoticed(
    trials: list[tuple[int, Program]], loss: float, reference: float, problem: Problem
) -> tuple[int, Program, float] | None:
    if not trials:
        return None
    batch = ProgramBatch.of([p for _, p in trials])
    fitted = fit(batch, problem.data, problem.metric, max_iterations=_ITERATIONS, threads=problem.threads)
    for row, (i, trial) in enumerate(trials):
        candidate = trial.with_values(fitted.value[row, : len(trial)])
        if fitted.loss[row] <= problem.exact:
            return i, candidate, float(fitted.loss[row])
        if fitted.loss[row] > loss * (1.0 + _NOTICED) or loss <= problem.exact:
            continue
        if _held_out([candidate], problem)[0] <= reference * (1.0 + _NOTICED):
            return i, candidate, float(fitted.loss[row])
    return None


def _held_out(programs: list[Program], problem: Problem) -> F64:
    """Mean loss over the folds, constants refitted on each."""
    if not len(problem.folds):
        return np.zeros(len(programs))
    batch = ProgramBatch.of(programs)
    total = np.zeros(len(programs))
    for fold in problem.folds:
        fitted = fit(batch, problem.data.rows(fold.fit), problem.metric, max_iterations=_ITERATIONS)
        refitted = ProgramBatch(batch.code, batch.arg, fitted.value, batch.length)
        held = problem.data.rows(fold.judge)
        losses = [METRICS[problem.metric].loss(held.y, p) for p in predict(refitted, held.X)]
        total += np.minimum(losses, BAD_LOSS / len(problem.folds))
    return total / len(problem.folds)


def _candidates(program: Program, snapped: set[int], problem: Problem) -> list[tuple[int, float]]:
    """(node, simple value) pairs worth trying, the simplest numbers first."""
    errors = standard_errors(program, problem.data, problem.metric)
    found: list[tuple[float, int, float]] = []
    for i in map(int, program.free):
        if i in snapped:
            continue
        value = float(program.value[i])
        reach = max(2.0 * errors.get(i, 0.0), _PRECISION * abs(value), 1e-12)
        options = simple_values(value, reach, problem.priors)[:_TRIES_PER_CONSTANT]
        found += [(rank, i, simple) for rank, simple in options]
    found.sort()
    return [(i, simple) for _, i, simple in found]


def standard_errors(program: Program, data: Dataset, metric: str) -> dict[int, float]:
    """Standard error of each FREE constant by node index, from the linearised fit in the metric's space."""
    nodes = [int(i) for i in program.free]
    if not nodes or data.n_rows <= len(nodes):
        return {}
    steps = [1e-6 * max(abs(float(program.value[i])), 1e-6) for i in nodes]
    moved = []
    for i, step in zip(nodes, steps, strict=True):
        for sign in (1.0, -1.0):
            value = program.value.copy()
            value[i] += sign * step
            moved.append(program.with_values(value))
    values = predict(ProgramBatch.of([program, *moved]), data.X)
    with np.errstate(all="ignore"):
        J = np.array([(values[1 + 2 * k] - values[2 + 2 * k]) / (2 * s) for k, s in enumerate(steps)]).T
        residual = data.y - values[0]
        if METRICS[metric].space != Space.PLAIN:
            size = np.where(data.y != 0, np.abs(data.y), np.inf)
            J, residual = J / size[:, None], residual / size
    if not (np.all(np.isfinite(J)) and np.all(np.isfinite(residual))):
        return {}
    variance = float(residual @ residual) / (len(residual) - len(nodes))
    scale = np.linalg.norm(J, axis=0)
    scale[scale == 0.0] = 1.0
    inverse = np.linalg.pinv((J / scale).T @ (J / scale), rcond=1e-12)
    return dict(zip(nodes, np.sqrt(np.maximum(np.diag(inverse), 0.0) * variance) / scale, strict=True))


def _with_fixed(program: Program, fixed: set[int], node: int, value: float) -> Program:
    arg, values = program.arg.copy(), program.value.copy()
    arg[list(fixed)] = FIXED
    values[node] = value
    return Program(program.code.copy(), arg, values)


def _with_roles(program: Program, snapped: set[int]) -> Program:
    """Snapped numbers that are structural stay FIXED; the others are fitted literals and say so."""
    arg = program.arg.copy()
    for i in snapped:
        arg[i] = FIXED if structural(program, i) else FREE
    return Program(program.code.copy(), arg, program.value.copy())
