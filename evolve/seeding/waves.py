"""Frequencies: h(x)*sin(b_1*u_1 + b_2*u_2 + ... + phase) found by periodograms, before anything descends.

A least-squares descent finds a frequency only from within half a period of it. Here all frequencies of all small u are
tried at once for many modulators h (a matrix product each), and a found wave is divided out of the phase (complex
demodulation) to look for the next term of it: sin(10*x**2 + y**2) is found though neither term alone explains much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder
from evolve.seeding.images import Target
from evolve.seeding.scan import Inner
from evolve.seeding.work import Meter
from operators.program import FREE, Program, constant

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]

_STEPS = 400  # frequencies tried for one u
_CYCLES = 50.0  # the highest: so many cycles over the range of u
_MOST_TERMS = 3  # in a phase
_GROWTH = 1.15  # of the explained part that another term of the phase has to bring


@dataclass(frozen=True)
class Wave:
    """Modulator (-1: none), ((input, frequency), ...) of the phase, and the explained part of the variance of z/h.

    `left` is what remains unexplained, in the units of (w*z)**2.
    """

    modulator: int
    terms: tuple[tuple[int, float], ...]
    power: float
    left: float = np.inf


class Periodogram:
    """All frequencies of all inputs u (n, rows), for any target on the same rows."""

    def __init__(self, inputs: F64, meter: Meter) -> None:
        self.inputs, self.meter = inputs, meter
        span = np.ptp(inputs, axis=1)
        self.grid = np.linspace(0.25, _CYCLES, _STEPS)[None, :] * (2.0 * np.pi / span)[:, None]
        angle = (self.grid[:, :, None] * (inputs - inputs.mean(axis=1, keepdims=True))[:, None, :]).reshape(
            -1, inputs.shape[1]
        )
        self.cos, self.sin = np.cos(angle, dtype=np.float32), np.sin(angle, dtype=np.float32)
        meter.spend(20 * angle.size)

    def search(self, target: Target, modulators: F64, keep: int = 6) -> list[Wave]:
        """The strongest waves with modulators (h, rows) or none; phases have up to three terms."""
        found: list[Wave] = []
        candidates = np.concatenate([np.ones((1, len(target.z))), modulators])
        pull = np.stack([_pull(target, h) for h in candidates], axis=1).astype(np.float32)
        power = 2.0 * ((self.cos @ pull) ** 2 + (self.sin @ pull) ** 2)  # (inputs * steps, h)
        self.meter.spend(2 * self.cos.size * len(candidates))
        chance = 1.8 * np.log(power.size) * np.array([_effective(target, h) for h in candidates])
        power = np.where(power > chance, power, 0.0)
        peak = power.reshape(len(self.inputs), _STEPS, -1).max(axis=1)  # (inputs, h)
        for i in np.argsort(-np.round(peak, 5), axis=None, kind="stable")[:keep]:
            u, h = np.unravel_index(i, peak.shape)
            if peak[u, h] > 0.0:
                step = int(np.argmax(power.reshape(len(self.inputs), _STEPS, -1)[u, :, h]))
                wave = Wave(int(h) - 1, ((int(u), float(self.grid[u, step])),), float(peak[u, h]))
                found.append(self._grown(wave, target, candidates[h]))
        return sorted(found, key=lambda w: w.left)

    def _grown(self, wave: Wave, target: Target, h: F64) -> Wave:
        """The wave refined, and with further terms of its phase while they help."""
        wave = self._refined(wave, target, h)
        while len(wave.terms) < _MOST_TERMS and wave.power < 0.999:
            longer = self._longer(wave, target, h)
            if longer is None or longer.power < _GROWTH * wave.power:
                break
            wave = longer
        return wave

    def _longer(self, wave: Wave, target: Target, h: F64) -> Wave | None:
        pull = _pull(target, h)
        phase = self._phase(wave.terms)
        both = np.stack([pull * np.cos(phase), pull * np.sin(phase)], axis=1).astype(np.float32)
        c, s = self.cos @ both, self.sin @ both
        self.meter.spend(4 * self.cos.size)
        plus = 2.0 * ((c[:, 0] - s[:, 1]) ** 2 + (c[:, 1] + s[:, 0]) ** 2)  # exp(-i(phase + b u))
        minus = 2.0 * ((c[:, 0] + s[:, 1]) ** 2 + (c[:, 1] - s[:, 0]) ** 2)
        used = np.isin(np.arange(len(self.inputs)).repeat(_STEPS), [u for u, _ in wave.terms])
        both_signs = np.where(used, 0.0, np.stack([plus, minus]))
        sign, i = np.unravel_index(int(np.argmax(both_signs)), both_signs.shape)
        b = float(self.grid.ravel()[i]) * (1.0 if sign == 0 else -1.0)
        return self._refined(Wave(wave.modulator, (*wave.terms, (int(i) // _STEPS, b)), 0.0), target, h)

    def _phase(self, terms: Sequence[tuple[int, float]]) -> F64:
        out: F64 = sum((b * self.inputs[u] for u, b in terms), np.zeros(self.inputs.shape[1]))
        return out

    def _refined(self, wave: Wave, target: Target, h: F64) -> Wave:
        """Frequencies moved to the top of the explained part, one after the other on shrinking grids."""
        terms = list(wave.terms)
        steps = [2.0 * np.pi / np.ptp(self.inputs[u]) * _CYCLES / _STEPS for u, _ in terms]
        power = 0.0
        for _ in range(7):
            for k, (u, b) in enumerate(terms):
                rest = self._phase([t for i, t in enumerate(terms) if i != k])
                grid = b + steps[k] * np.linspace(-1.0, 1.0, 9)
                powers = _explained(rest + grid[:, None] * self.inputs[u], target, h)
                i = int(np.argmax(powers))
                terms[k], power = (u, float(grid[i])), float(powers[i])
                steps[k] /= 3.0
        return Wave(wave.modulator, tuple(terms), power, _variance(target, h) * (1.0 - power))

    def columns(self, target: Target, programs: Sequence[Program], builder: Builder) -> list[Inner]:
        """The strongest waves as columns; programs are those of the inputs, which serve as modulators too."""
        out: list[Inner] = []
        for wave in self.search(target, self.inputs):
            phase = self._phase(wave.terms)
            m = wave.modulator
            h, modulator = (np.ones_like(phase), []) if m < 0 else (self.inputs[m], [programs[m]])
            terms = [builder.product([constant(b, FREE), programs[u]]) for u, b in wave.terms]
            shift = _best_shift(phase, target, h)
            for name, function, offset in (("sin", np.sin, shift), ("sin", np.sin, 0.0), ("cos", np.cos, 0.0)):
                if name in builder.names:
                    write = partial(_spelled, builder, name, terms, offset, modulator)
                    out.append(Inner(h * function(phase + offset), write, "wave"))
        return out


def _spelled(builder: Builder, name: str, terms: list[Program], offset: float, modulator: list[Program]) -> Program:
    return builder.product([*modulator, builder.call(name, builder.linear([1.0] * len(terms), terms, offset))])


def _normalised(target: Target, h: F64) -> tuple[F64, F64]:
    """(z/h with weighted mean 0 and variance 1, its weights)."""
    z, w2 = _demeaned(target, h)
    variance = float(w2 @ (z * z))
    return (z / np.sqrt(variance) if variance > 0.0 else z), w2


def _demeaned(target: Target, h: F64) -> tuple[F64, F64]:
    """(z/h with weighted mean 0, its weights, which add up to 1)."""
    w2 = (target.w * h) ** 2
    w2 = w2 / w2.sum()
    z = np.where(h == 0.0, 0.0, target.z / np.where(h == 0.0, 1.0, h))
    return z - w2 @ z, w2


def _variance(target: Target, h: F64) -> float:
    """Mean of (w*(z - c*h))**2 for the best c."""
    z, w2 = _demeaned(target, h)
    return float(w2 @ (z * z)) * float(np.mean((target.w * h) ** 2))


def _pull(target: Target, h: F64) -> F64:
    z, w2 = _normalised(target, h)
    return z * w2


def _effective(target: Target, h: F64) -> float:
    """One over the effective number of rows."""
    z, w2 = _normalised(target, h)
    return float(np.sum((z * w2) ** 2))


def _explained(phases: F64, target: Target, h: F64) -> F64:
    """Part of the variance of z/h explained by a sine and a cosine of every phase (n, rows)."""
    z, w2 = _normalised(target, h)
    s, c = np.sin(phases), np.cos(phases)
    s -= (s @ w2)[:, None]
    c -= (c @ w2)[:, None]
    ss, cc, sc = (s * s) @ w2, (c * c) @ w2, (s * c) @ w2
    sz, cz = s @ (w2 * z), c @ (w2 * z)
    det = ss * cc - sc * sc
    good = det > 1e-6 * ss * cc + 1e-12
    power: F64 = np.where(good, (sz * sz * cc + cz * cz * ss - 2.0 * sz * cz * sc) / np.where(good, det, 1.0), 0.0)
    return power


def _best_shift(phase: F64, target: Target, h: F64) -> float:
    A = np.column_stack([h * np.sin(phase), h * np.cos(phase), np.ones_like(h)]) * target.w[:, None]
    a, b, _ = np.linalg.lstsq(A, target.w * target.z, rcond=1e-12)[0]
    return float(np.arctan2(b, a))
