"""Structure read off the gradient of a smooth surrogate: a factor x**p, or two inputs that act as one.

Where y = x_i**p * g(rest), x_i dy/dx_i is p*y; where x_i and x_j enter only through u(x_i, x_j), the gradient of y is
parallel to that of u in their plane: the symmetry tests of AI Feynman (Udrescu and Tegmark 2020), made with a Gaussian process
instead of a network. What the gradient suggests is believed only if the reduced problem is predicted no worse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evolve.seeding import surrogate
from evolve.seeding.build import Builder, Inexpressible, nearest_simple
from evolve.seeding.forms import Form, Pair, forms
from evolve.seeding.images import Target, images
from evolve.seeding.problem import Problem
from evolve.seeding.surrogate import Surrogate
from evolve.seeding.work import Meter

F64 = NDArray[np.float64]

_IMAGES = ("log y", "1/y", "y^2")
_LARGEST_MISFIT = 0.25
_TRIALS = 6  # hypotheses verified in a round
_CLEAR_MISFIT = 0.02
_NOISE_FREE = 1e-7  # nugget
_TOLERATED_CLEAR = 6.0
_TOLERATED = 1.03  # growth of the leave-one-out error by which a reduction still counts as no worse


@dataclass(frozen=True, eq=False)
class View:
    """A problem with the surrogate that predicts it best, and the gradient of z in units of the target's spread.

    `slope` (k, rows) is w*dz/dx of the target itself whatever image the surrogate was fitted to; `error` its
    leave-one-out error in y.
    """

    problem: Problem
    fitted: Surrogate
    image: str
    slope: F64
    error: float


def look(problem: Problem, builder: Builder, meter: Meter, lengths: F64 | None = None, image: str = "") -> View | None:
    """Fit surrogates to the target and its images (or to the one named) and keep the best."""
    best: View | None = None
    candidates = [problem.target, *(t for t in images(problem.target, builder))]
    for t in candidates:
        name = _image_name(problem.target, t)
        if name not in ("", *_IMAGES) or (image != name and image != "any"):
            continue
        fitted = surrogate.fit(problem.values, t.z, t.w, lengths, iterations=8 if lengths is not None else 15)
        meter.spend(10 * surrogate.ROWS**3)
        if fitted is None:
            continue
        error = float(np.hypot(fitted.loo, t.outside))
        if best is None or error < best.error:
            best = View(problem, fitted, name, fitted.gradient * t.w, error)
    return best


def _image_name(base: Target, of: Target) -> str:
    if of is base:
        return ""
    return of.label.split(", ")[-1]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A reduction with its misfit to the gradient (0: perfect)."""

    misfit: float
    reduce: Callable[[], Problem]
    label: str


def reductions(problem: Problem, builder: Builder, meter: Meter) -> Iterator[Problem]:
    """Ever smaller problems, each with fewer leaves than the one before."""
    view = look(problem, builder, meter, image="any")
    while view is not None and view.problem.n_leaves > 1:
        view = _peeled(view, builder, meter) or _merged(view, builder, meter)
        if view is not None:
            yield view.problem


def _peeled(view: View, builder: Builder, meter: Meter) -> View | None:
    """All factors x**p divided out at once if that predicts no worse, else the best single one."""
    found = sorted(_factors(view), key=lambda f: f[0])
    while found:
        problem = view.problem
        try:
            for _, leaf, exponent in sorted(found, key=lambda f: -f[1]):
                problem = problem.divided(leaf, exponent, builder)
        except Inexpressible:
            return None
        if problem.n_leaves == 0:
            found = found[:-1]
            continue
        after = look(problem, builder, meter, image="any")
        if after is not None and _no_worse(after, view, found[-1][0]):
            return after
        found = found[: len(found) // 2]
    return None


def _factors(view: View) -> Iterator[tuple[float, int, float]]:
    """(misfit, leaf, exponent) of the leaves that look like factors."""
    p = view.problem
    v = p.target.w * p.target.z
    for i in range(p.n_leaves):
        x = p.values[i]
        if not np.abs(x).min() > 0.0:
            continue
        pull = x * view.slope[i]
        exponent = float(pull @ v / (v @ v))
        if not 0.2 <= abs(exponent) <= 6.5:
            continue
        simple = nearest_simple(exponent, 1e9, 3 if abs(exponent) < 1.2 else 2)
        if simple == 0.0 or (x.min() < 0.0 and simple != round(simple)):
            continue
        misfit = float(np.linalg.norm(pull - simple * v) / np.linalg.norm(pull))
        if abs(simple - exponent) < 0.12 * max(1.0, abs(simple)) and misfit < _LARGEST_MISFIT:
            yield misfit, i, simple


def _merged(view: View, builder: Builder, meter: Meter) -> View | None:
    """The best of the most promising pairs merged into one leaf."""
    hypotheses = sorted(_pairs(view, builder), key=lambda h: h.misfit)[:_TRIALS]
    best: View | None = None
    for h in hypotheses:
        try:
            reduced = h.reduce()
        except Inexpressible:
            continue
        after = look(reduced, builder, meter, image=view.image)
        if after is None or not _no_worse(after, view, h.misfit):
            continue
        if best is None or after.error < best.error:
            best = after
        if h.misfit < _CLEAR_MISFIT:
            break
    return None if best is None else look(best.problem, builder, meter, image="any")


def _no_worse(after: View, before: View, misfit: float) -> bool:
    """Does the reduced problem predict as well? Without noise, a clear sign from the gradient weighs more than that."""
    clear = misfit < _CLEAR_MISFIT and before.fitted.nugget < _NOISE_FREE
    return after.error <= (_TOLERATED_CLEAR if clear else _TOLERATED) * before.error


def _pairs(view: View, builder: Builder) -> Iterator[Hypothesis]:
    """Every form of every pair of leaves that the gradient does not speak against."""
    p = view.problem
    for i, j in itertools.combinations(range(p.n_leaves), 2):
        pair = Pair(p.leaves[i], p.leaves[j], p.values[i], p.values[j], view.slope[i], view.slope[j])
        for form in forms(pair, builder):
            misfit = _misfit(pair, form)
            if misfit < _LARGEST_MISFIT and np.isfinite(form.values).all() and np.ptp(form.values) > 0.0:
                yield Hypothesis(misfit, partial(_merge, p, (i, j), form), form.label)


def _misfit(pair: Pair, form: Form) -> float:
    """Part of the target's gradient in the plane of two leaves that is not along the form's gradient."""
    sx, sy = pair.x.std(), pair.y.std()
    gx, gy, ux, uy = pair.slope_x * sx, pair.slope_y * sy, form.slope_x * sx, form.slope_y * sy
    across = (gx * uy - gy * ux) ** 2 / np.maximum(ux**2 + uy**2, 1e-300)
    total = float(np.sum(gx**2 + gy**2))
    misfit = float(np.sqrt(across.sum() / total)) if total > 0.0 else np.inf
    return misfit if np.isfinite(misfit) else np.inf


def _merge(problem: Problem, pair: tuple[int, int], form: Form) -> Problem:
    return problem.merged(pair, form.write(), form.values, form.label)
