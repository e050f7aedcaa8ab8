"""Inner constants: f(b*u + c) with b or c found by a scan, before anything descends.

A least-squares descent finds a frequency only from within half a period of it, so frequencies are scanned on a grid fine enough to
miss none, with amplitude and phase solved for at every point (the Lomb-Scargle periodogram, on any small
expression u). Rates, exponents, offsets and bells are put on coarse grids, as columns for the sparse regression; the
constants are then refined with the whole law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder
from evolve.seeding.images import Target
from evolve.seeding.work import Meter
from operators.program import FREE, Program, constant

F64 = NDArray[np.float64]

_STEPS = 480  # frequencies tried for one u
_CYCLES = 60.0  # the highest: so many cycles over the range of u
_REFINEMENTS = 24


@dataclass(frozen=True, eq=False)
class Inner:
    """A column with inner constants: its values (rows,) and how to spell it."""

    values: F64
    write: Callable[[], Program]
    label: str


@dataclass(frozen=True)
class Wave:
    """A frequency in inputs[u] that explains a part `power` of the target's weighted variance."""

    u: int
    frequency: float
    power: float


def waves(inputs: F64, target: Target, meter: Meter, keep: int = 6) -> list[Wave]:
    """The strongest frequencies over all inputs (n, rows), refined; none below what chance gives."""
    w2 = target.w**2 / np.sum(target.w**2)
    z = target.z - w2 @ target.z
    z = z / np.sqrt(max(float(w2 @ (z * z)), 1e-300))
    found: list[Wave] = []
    for k, u in enumerate(inputs):
        span = np.ptp(u)
        grid = np.linspace(0.25, _CYCLES, _STEPS) * 2.0 * np.pi / span
        power = _powers(u, grid, z, w2)
        meter.spend(40 * len(u) * _STEPS)
        for i in _peaks(power, 2):
            found.append(Wave(k, float(grid[i]), float(power[i])))
    trials = len(inputs) * _STEPS
    chance = 2.5 * np.log(trials) / len(z) if trials else 1.0
    found = sorted((f for f in found if f.power > chance), key=lambda f: -round(f.power, 6))[: 2 * keep]
    refined = [_refined(inputs[f.u], f, z, w2) for f in found]
    return sorted(refined, key=lambda f: -round(f.power, 6))[:keep]


def _powers(u: F64, frequencies: F64, z: F64, w2: F64) -> F64:
    """Part of the variance of z (weighted mean 0, variance 1) explained by a sine and a cosine, for every frequency."""
    angle = frequencies[:, None] * u
    s, c = np.sin(angle), np.cos(angle)
    s -= (s @ w2)[:, None]
    c -= (c @ w2)[:, None]
    ss, cc, sc = (s * s) @ w2, (c * c) @ w2, (s * c) @ w2
    sz, cz = s @ (w2 * z), c @ (w2 * z)
    det = ss * cc - sc * sc
    good = det > 1e-6 * ss * cc + 1e-12
    power: F64 = np.where(good, (sz * sz * cc + cz * cz * ss - 2.0 * sz * cz * sc) / np.where(good, det, 1.0), 0.0)
    return power


def _peaks(power: F64, most: int) -> list[int]:
    padded = np.concatenate([[-1.0], power, [-1.0]])
    tops = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] > padded[2:]))
    return [int(i) for i in tops[np.argsort(-power[tops], kind="stable")[:most]]]


def _refined(u: F64, wave: Wave, z: F64, w2: F64) -> Wave:
    step = 2.0 * np.pi / np.ptp(u) * _CYCLES / _STEPS
    best = wave
    for _ in range(_REFINEMENTS // 4):
        grid = np.abs(best.frequency + step * np.linspace(-1.0, 1.0, 9))
        power = _powers(u, grid, z, w2)
        i = int(np.argmax(power))
        best = Wave(wave.u, float(grid[i]), float(power[i]))
        step /= 4.0
    return best


def wave_columns(u: Program, values: F64, frequency: float, builder: Builder) -> list[Inner]:
    """sin and cos at one frequency."""
    out = []
    for name, function in (("sin", np.sin), ("cos", np.cos)):
        if name in builder.names:
            out.append(Inner(function(frequency * values), _of_scaled(name, frequency, u, builder), f"{name} wave"))
    return out


def _of_scaled(name: str, b: float, u: Program, builder: Builder) -> Callable[[], Program]:
    return lambda: builder.call(name, builder.product([constant(b, FREE), u]))


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
            yield Inner(np.exp(np.clip(rate * u, -600.0, 600.0)), _of_scaled("exp", rate, p, b), "rate")


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
            shifted = lambda c=c: b.linear([1.0], [p], float(c))  # noqa: E731
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
                    "inv", b.linear([1.0], [b.call("exp", b.linear([r], [p], float(-r * c)))], 1.0)
                ),
                "step",
            )


def _bells(p: Program, u: F64, b: Builder) -> Iterator[Inner]:
    """exp(-((u - c)*b)**2)."""
    if not b.has("exp"):
        return
    low, span = float(u.min()), float(np.ptp(u))
    for c in low + span * np.linspace(0.0, 1.0, 9):
        for rate in np.geomspace(1.0, 25.0, 7) / span:
            yield Inner(
                np.exp(-((rate * (u - c)) ** 2)),
                lambda c=c, r=rate: b.call(
                    "exp", b.scaled(-float(r) ** 2, b.call("square", b.linear([1.0], [p], float(-c))))
                ),
                "bell",
            )
