"""Inner constants: rates, exponents, offsets, steps and bells on coarse grids, as columns for the sparse regression.

The constants are refined afterwards, with the whole law. Frequencies, which no coarse grid catches, are in `waves.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder
from operators.program import FREE, Program, constant

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inner:
    """A column with inner constants: its values (rows,) and how to spell it."""

    values: F64
    write: Callable[[], Program]
    label: str


def _times(number: float, u: Program, builder: Builder) -> Program:
    """number*u, to be refined: a point of a grid is no simple number, even if it looks like one."""
    return builder.product([constant(number, FREE), u])


def _plus(u: Program, number: float, builder: Builder) -> Program:
    """u + number, to be refined."""
    return builder.call("add", u, constant(number, FREE))


def grid_columns(programs: Sequence[Program], inputs: F64, builder: Builder) -> Iterator[Inner]:
    """Columns with one or two inner constants on coarse grids for every input."""
    for program, u in zip(programs, inputs, strict=True):
        for family in (_rates, _exponents, _offsets, _steps, _bells):
            with np.errstate(all="ignore"):
                for inner in family(program, u, builder):
                    if np.isfinite(inner.values).all() and np.ptp(inner.values) > 0.0:
                        yield inner


def _rates(p: Program, u: F64, b: Builder) -> Iterator[Inner]:
    """exp(b*u)."""
    if not b.has("exp", "mul"):
        return
    for size in np.geomspace(0.2, 40.0, 16) / np.ptp(u):
        for rate in (size, -size):
            yield Inner(np.exp(np.clip(rate * u, -600.0, 600.0)), lambda r=rate: b.call("exp", _times(r, p, b)), "rate")


def _exponents(p: Program, u: F64, b: Builder) -> Iterator[Inner]:
    """u**b for a positive u."""
    if u.min() <= 0.0 or not b.has("pow"):
        return
    for e in (-3.5, -2.5, -1.75, -1.25, -0.75, -0.35, 0.35, 0.7, 1.3, 1.7, 2.3, 2.75, 3.5, 4.5):
        yield Inner(u**e, lambda e=e: b.call("pow", p, constant(e, FREE)), "exponent")


def _offsets(p: Program, u: F64, b: Builder) -> Iterator[Inner]:
    """1/(u + c), log(u + c) and sqrt(u + c) with c so that nothing is singular on the rows."""
    span, low, high = float(np.ptp(u)), float(u.min()), float(u.max())
    for distance in np.geomspace(0.02, 5.0, 12) * span:
        for c in (distance - low, -distance - high):
            shifted = lambda c=c: _plus(p, float(c), b)  # noqa: E731
            yield Inner(1.0 / (u + c), lambda s=shifted: b.call("inv", s()), "pole")
            if c > -low:
                for name, function in (("log", np.log), ("sqrt", np.sqrt)):
                    if b.has(name):
                        yield Inner(function(u + c), lambda s=shifted, n=name: b.call(n, s()), f"{name} offset")


def _steps(p: Program, u: F64, b: Builder) -> Iterator[Inner]:
    """1/(1 + exp(b*(u - c)))."""
    if not b.has("exp"):
        return
    low, span = float(u.min()), float(np.ptp(u))
    for c in low + span * np.linspace(0.1, 0.9, 7):
        for rate in np.geomspace(3.0, 60.0, 5) / span:
            yield Inner(
                1.0 / (1.0 + np.exp(np.clip(rate * (u - c), -600.0, 600.0))),
                lambda c=c, r=rate: b.call(
                    "inv", b.linear([1.0], [b.call("exp", _plus(_times(float(r), p, b), float(-r * c), b))], 1.0)
                ),
                "step",
            )


def _bells(p: Program, u: F64, b: Builder) -> Iterator[Inner]:
    """exp(-((u - c)*b)**2)."""
    if not b.has("exp"):
        return
    low, span = float(u.min()), float(np.ptp(u))
    for c in low + span * np.linspace(0.0, 1.0, 17):
        for rate in np.geomspace(1.0, 25.0, 7) / span:
            yield Inner(
                np.exp(-((rate * (u - c)) ** 2)),
                lambda c=c, r=rate: b.call(
                    "exp", _times(-(float(r) ** 2), b.call("square", _plus(p, float(-c), b)), b)
                ),
                "bell",
            )
