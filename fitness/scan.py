"""Scans for constants that descent cannot find: frequencies, rates and exponents, on grids the data suggest.

The squared error as a function of a frequency has a valley every half period of the data's span, so a descent from
a random start ends in the wrong one. On a grid finer than that, with the affine constants solved at every point,
the right valley is seen, and Levenberg-Marquardt goes down from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fitness.constants import Fitted, fit, predict_one
from fitness.data import Dataset
from operators.primitives import CONST, OPCODE
from operators.program import FIXED, Program, ProgramBatch, apply, constant

F64 = NDArray[np.float64]

SCAN_ROWS = 2000  # grids are judged on at most so many rows, evenly taken
_PHASE_STEP = 1.2  # radians between neighbouring frequencies at the far end of the data
_FREQUENCIES = 128
_RATES = np.array([0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0])  # of an exponential, per span of the data
_EXPONENTS = np.array([-3.0, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
_GRID_STEPS, _FINAL_STEPS, _KEPT = 2, 30, 3

_PERIODIC = [OPCODE[n] for n in ("sin", "cos", "tan")]
_GROWING = [OPCODE[n] for n in ("exp", "sinh", "cosh", "tanh")]
_MUL, _DIV, _ADD, _SUB, _POW = (OPCODE[n] for n in ("mul", "div", "add", "sub", "pow"))


@dataclass(frozen=True)
class Site:
    """A constant worth scanning: its node, the numbers to try, and the phase constants (nodes) next to it."""

    node: int
    grid: F64
    phases: tuple[int, ...] = ()
    neutral: tuple[tuple[int, float], ...] = ()  # the other constants of the argument, and their neutral values


def sites(program: Program, X: F64) -> list[Site]:
    """The frequencies, rates and exponents of a program, with grids for the data X (features, rows)."""
    out = []
    for i in range(len(program)):
        code = int(program.code[i])
        if code in _PERIODIC or code in _GROWING:
            out += _factors(program, i, X, periodic=code in _PERIODIC)
        elif code == _POW:
            exponent = program.children(i)[1]
            if _fitted(program, exponent):
                out.append(Site(exponent, _EXPONENTS))
    return out


def _fitted(program: Program, i: int) -> bool:
    return bool(program.code[i] == CONST and program.arg[i] != FIXED)


def _factors(program: Program, function: int, X: F64, periodic: bool) -> list[Site]:
    """The constants that multiply or divide a variable expression inside the argument of a function node."""
    argument = range(int(program.starts[function]), function)
    neutral = _neutral_values(program, argument)
    phases = tuple(c for c, value in neutral.items() if value == 0.0)
    out = []
    for i in argument:
        if program.code[i] not in (_MUL, _DIV):
            continue
        left, right = program.children(i)
        number, other = (right, left) if _fitted(program, right) else (left, right)
        divides = bool(program.code[i] == _DIV)
        if not _fitted(program, number) or (divides and number == left):
            continue
        span = _span(program.with_values(_changed(program.value, neutral)).subtree(other), X)
        if span > 0.0:
            grid = _frequencies(span) if periodic else np.outer([-1.0, 1.0], _RATES).ravel() / span
            rest = tuple((c, value) for c, value in neutral.items() if c != number)
            out.append(Site(number, 1.0 / grid if divides else grid, phases if periodic else (), rest))
    return out


def _frequencies(span: float) -> F64:
    return np.arange(1.0, _FREQUENCIES + 1.0) * (_PHASE_STEP / span)


def _neutral_values(program: Program, nodes: range) -> dict[int, float]:
    """Values at which the fitted constants among the nodes do nothing: 0 in a sum, 1 in a product."""
    out: dict[int, float] = {}
    for i in nodes:
        for c in program.children(i):
            if _fitted(program, c) and program.code[i] in (_ADD, _SUB, _MUL, _DIV):
                out[c] = 0.0 if program.code[i] in (_ADD, _SUB) else 1.0
    return out


def _changed(value: F64, changes: dict[int, float]) -> F64:
    out = value.copy()
    for node, number in changes.items():
        out[node] = number
    return out


def _span(program: Program, X: F64) -> float:
    values = predict_one(program, X)
    with np.errstate(all="ignore"):
        span = float(np.max(values) - np.min(values))
    return span if np.isfinite(span) else 0.0


def thinned(data: Dataset, rows: int) -> Dataset:
    """At most `rows` rows, evenly taken."""
    if data.n_rows <= rows:
        return data
    return data.rows(np.linspace(0, data.n_rows - 1, rows).astype(np.int64))


def scan(batch: ProgramBatch, data: Dataset, metric: str, threads: int = 1) -> Fitted:
    """Fit every program from the best points of a grid over each of its sites in turn, then on all rows.

    A program without sites, or whose constants are better already, is fitted from where it stands.
    """
    few = thinned(data, SCAN_ROWS)
    programs = list(batch)
    best = fit(batch, few, metric, _FINAL_STEPS, threads=threads)
    values, losses = best.value, best.loss
    places = [sites(p, few.X) for p in programs]
    for k in range(max((len(s) for s in places), default=0)):
        owners = [p for p in range(len(programs)) if k < len(places[p])]
        variants = [_variants(programs[p].with_values(values[p, : len(programs[p])]), places[p][k]) for p in owners]
        coarse = _fit_lists(variants, few, metric, _GRID_STEPS, threads)
        finalists = [_lowest(found, _KEPT) for found in coarse]
        for p, found in zip(owners, _fit_lists(finalists, few, metric, _FINAL_STEPS, threads), strict=True):
            program, loss = min(found, key=lambda pair: pair[1])
            if loss < losses[p]:
                losses[p] = loss
                values[p, : len(program)] = program.value
    scanned = ProgramBatch(batch.code, batch.arg, values, batch.length)
    return fit(scanned, data, metric, _FINAL_STEPS if few is not data else 0, threads=threads)


def _variants(program: Program, site: Site) -> list[Program]:
    """The program with the site's constant on each grid point.

    The other constants of the argument stand as they are, and at their neutral values: an earlier descent into a
    wrong valley may have bent them. With a phase, each point is tried a quarter of a period later too.
    """
    bases = [program.value]
    if any(program.value[node] != number for node, number in site.neutral):
        bases.append(_changed(program.value, dict(site.neutral)))
    out = []
    for base in bases:
        for number in site.grid:
            value = _changed(base, {site.node: number})
            out.append(program.with_values(value))
            if site.phases:
                value[list(site.phases)] += np.pi / 2
                out.append(program.with_values(value))
    return out


def _fit_lists(
    lists: list[list[Program]], data: Dataset, metric: str, steps: int, threads: int
) -> list[list[tuple[Program, float]]]:
    """Fit all programs of all lists in one batch; the lists of (fitted program, loss)."""
    flat = [p for programs in lists for p in programs]
    fitted = fit(ProgramBatch.of(flat), data, metric, steps, threads=threads)
    pairs = [(p.with_values(fitted.value[i, : len(p)]), float(fitted.loss[i])) for i, p in enumerate(flat)]
    edges = np.cumsum([0, *(len(programs) for programs in lists)])
    return [pairs[a:b] for a, b in pairwise(edges)]


def _lowest(found: list[tuple[Program, float]], count: int) -> list[Program]:
    return [program for program, _ in sorted(found, key=lambda pair: pair[1])[:count]]


def with_frequency(program: Program, function: int) -> Program:
    """The program with a new constant that multiplies the argument of the sine, cosine or tangent at a node."""
    argument = function - 1
    return program.splice(argument, apply("mul", constant(1.0), program.subtree(argument)))


def frequency_free(program: Program) -> list[int]:
    """Nodes of sines, cosines and tangents whose argument holds no fitted constant: places for `with_frequency`."""
    out = []
    for i in range(len(program)):
        inside = range(int(program.starts[i]), i)
        if program.code[i] in _PERIODIC and not any(_fitted(program, j) for j in inside):
            out.append(i)
    return out
