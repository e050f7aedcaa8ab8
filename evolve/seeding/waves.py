"""Frequencies: h(x)*sin(b_1*u_1 + b_2*u_2 + ... + phase) found by periodograms, before anything descends.

A least-squares descent finds a frequency only from within half a period of it. Here all frequencies of all small u are
tried at once for many modulators h (a matrix product each), and a found wave is divided out of the phase (complex
demodulation) to look for the next term of it: sin(10*x**2 + y**2) is found though neither term alone explains much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
_LEAST_CYCLES = 0.6  # less than that any descent finds
_CYCLES = 50.0  # the highest: so many cycles over the range of u
_MOST_TERMS = 3  # in a phase
_REMODULATED, _REMODULATORS, _SIDE_LOBE = 3, 12, 0.6  # waves, modulators, and cycles between right and wrong
_MOST_WAVES = 3  # found one after the other
_TRIED = 4  # inputs tried for another term of a phase
_GROWTH, _LEAST_GROWTH = 0.15, 0.06  # what another term of the phase has to add: relative, absolute


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
    """All frequencies of all inputs u (n, rows), for any target on the same rows and modulators (h, rows)."""

    def __init__(self, inputs: F64, modulators: F64, meter: Meter) -> None:
        self.inputs, self.meter = inputs, meter
        self.modulators = np.concatenate([np.ones((1, inputs.shape[1])), modulators])
        span = np.ptp(inputs, axis=1)
        self.grid = np.linspace(_LEAST_CYCLES, _CYCLES, _STEPS)[None, :] * (2.0 * np.pi / span)[:, None]
        centred = inputs - inputs.mean(axis=1, keepdims=True)
        angle = (self.grid[:, :, None] * centred[:, None, :]).reshape(-1, inputs.shape[1]).astype(np.float32)
        self.cos, self.sin = np.cos(angle), np.sin(angle)
        meter.spend(20 * angle.size)

    def find(self, target: Target, thorough: bool = True) -> list[list[Wave]]:
        """Lists of waves that belong together: the strongest, and (`thorough`) those beside a smooth trend."""
        first = self.search(target)[:1]
        together: list[Wave] = []
        removed = list(quadratic(self.inputs))
        while thorough and len(together) < _MOST_WAVES:
            rest = without(target, removed)
            best = self.search(rest)[:1] if rest is not None else []
            if not best:
                break
            together.append(best[0])
            phase, h = self._phase(together[-1].terms), self.modulators[together[-1].modulator + 1]
            removed += [h * np.sin(phase), h * np.cos(phase)]
        out = [together[: n + 1] for n in range(len(together))]
        return out if first and together and _alike(first[0], together[0]) else [[w] for w in first] + out

    def search(self, target: Target, grown: int = 14) -> list[Wave]:
        """Waves, those that leave least first; phases have up to three terms."""
        pull = np.stack([_pull(target, h) for h in self.modulators], axis=1).astype(np.float32)
        power = 2.0 * ((self.cos @ pull) ** 2 + (self.sin @ pull) ** 2)  # (inputs * steps, h)
        self.meter.spend(2 * self.cos.size * len(self.modulators))
        chance = 1.8 * np.log(power.size) * np.array([_effective(target, h) for h in self.modulators])
        power = power.reshape(len(self.inputs), _STEPS, -1)
        peak = power.max(axis=1)  # (inputs, h)
        left = np.array([_variance(target, h) for h in self.modulators]) * (1.0 - peak)
        left[peak < chance] = np.inf
        found: list[Wave] = []
        for u, h in _spread_out(left, grown):
            step = int(np.argmax(power[u, :, h]))
            found.append(self._grown(Wave(h - 1, ((u, float(self.grid[u, step])),), float(peak[u, h])), target))
        found.sort(key=lambda w: w.left)
        found += [self._grown(self._remodulated(w, target), target) for w in found[:_REMODULATED]]
        bare = {w.terms[0][0]: Wave(-1, w.terms[:1], 0.0) for w in reversed(found) if w.modulator >= 0}
        found += [self._grown(w, target) for w in list(bare.values())[-_REMODULATED:]]
        return sorted(found, key=lambda w: w.left)

    def _remodulated(self, wave: Wave, target: Target) -> Wave:
        """The wave with the modulator that suits it best: a wrong one leaves two frequencies beside the right one."""
        tried = [
            self._refined(replace(wave, modulator=m), target, self.modulators[m + 1], wide=_SIDE_LOBE)
            for m in range(-1, min(_REMODULATORS, len(self.modulators) - 1))
        ]
        return min(tried, key=lambda w: w.left)

    def _grown(self, wave: Wave, target: Target) -> Wave:
        """The wave refined, and with further terms of its phase while they help."""
        h = self.modulators[wave.modulator + 1]
        wave = self._refined(wave, target, h)
        while len(wave.terms) < _MOST_TERMS and wave.power < 0.999:
            longer = self._longer(wave, target, h)
            if longer is None or longer.power < wave.power + max(_GROWTH * wave.power, _LEAST_GROWTH):
                break
            wave = longer
        return wave

    def _longer(self, wave: Wave, target: Target, h: F64) -> Wave | None:
        """The best of the most promising further terms, the simpler input where two are alike."""
        pull = _pull(target, h)
        phase = self._phase(wave.terms)
        both = np.stack([pull * np.cos(phase), pull * np.sin(phase)], axis=1).astype(np.float32)
        c, s = self.cos @ both, self.sin @ both
        self.meter.spend(4 * self.cos.size)
        plus = 2.0 * ((c[:, 0] - s[:, 1]) ** 2 + (c[:, 1] + s[:, 0]) ** 2)  # exp(-i(phase + b u))
        minus = 2.0 * ((c[:, 0] + s[:, 1]) ** 2 + (c[:, 1] - s[:, 0]) ** 2)
        power = np.stack([plus, minus]).reshape(2, len(self.inputs), _STEPS)
        power[:, [u for u, _ in wave.terms]] = 0.0
        best: Wave | None = None
        for u in sorted(np.argsort(-power.max(axis=(0, 2)), kind="stable")[:_TRIED]):
            sign, step = np.unravel_index(int(np.argmax(power[:, u])), (2, _STEPS))
            b = float(self.grid[u, step]) * (1.0 if sign == 0 else -1.0)
            longer = self._refined(Wave(wave.modulator, (*wave.terms, (int(u), b)), 0.0), target, h)
            if best is None or longer.power > 1.01 * best.power:
                best = longer
        return best

    def _phase(self, terms: Sequence[tuple[int, float]]) -> F64:
        out: F64 = sum((b * self.inputs[u] for u, b in terms), np.zeros(self.inputs.shape[1]))
        return out

    def _refined(self, wave: Wave, target: Target, h: F64, wide: float = _CYCLES / _STEPS) -> Wave:
        """Frequencies moved to the top of the explained part, one after the other on shrinking grids.

        `wide` is how far from the start, in cycles over the range of an input.
        """
        terms = list(wave.terms)
        steps = [2.0 * np.pi / np.ptp(self.inputs[u]) * wide for u, _ in terms]
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

    def functions(
        self, wave: Wave, target: Target, programs: Sequence[Program], builder: Builder, free: bool = False
    ) -> list[Inner]:
        """The sine of the wave with its fitted phase, without it, and the cosine; programs are those of the inputs.

        The phase is fitted with the amplitude constant, or any quadratic (`free`), beside the modulator.
        """
        phase = self._phase(wave.terms)
        terms = [builder.product([constant(b, FREE), programs[u]]) for u, b in wave.terms]
        h = self.modulators[wave.modulator + 1]
        shift = _shift(phase, target, h * (quadratic(self.inputs) if free else np.ones((1, len(phase)))))
        out: list[Inner] = []
        for name, function, offset in (("sin", np.sin, shift), ("sin", np.sin, 0.0), ("cos", np.cos, 0.0)):
            if name in builder.names:
                out.append(Inner(function(phase + offset), partial(_spelled, builder, name, terms, offset), "wave"))
        return out

    def sharpened(self, wave: Wave, target: Target) -> Wave:
        """Frequencies refined with an amplitude that may be any quadratic of the inputs times the modulator."""
        amplitudes = self.modulators[wave.modulator + 1] * quadratic(self.inputs)
        terms = list(wave.terms)
        step = 0.25 * _CYCLES / _STEPS
        for _ in range(6):
            for k, (u, b) in enumerate(terms):
                rest = self._phase([t for i, t in enumerate(terms) if i != k])
                grid = b + 2.0 * np.pi / np.ptp(self.inputs[u]) * step * np.linspace(-1.0, 1.0, 5)
                left = [_left(rest + f * self.inputs[u], target, amplitudes) for f in grid]
                terms[k] = (u, float(grid[int(np.argmin(left))]))
            step /= 2.5
        return replace(wave, terms=tuple(terms))


def _alike(a: Wave, b: Wave) -> bool:
    """The same wave but for rounding?"""
    same = a.modulator == b.modulator and [u for u, _ in a.terms] == [u for u, _ in b.terms]
    return same and np.allclose([f for _, f in a.terms], [f for _, f in b.terms], rtol=1e-2)


def quadratic(inputs: F64, leaves: int = 6) -> F64:
    """1, the first inputs, their squares and products: (columns, rows)."""
    x = inputs[:leaves]
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    products = [x[i] * x[j] for i in range(len(x)) for j in range(i, len(x))]
    return np.array([np.ones(x.shape[1]), *x, *products])


def without(target: Target, columns: Sequence[F64]) -> Target | None:
    """The target without its best linear combination of columns; None if that leaves nothing."""
    A = np.array(columns).T * target.w[:, None]
    b = target.w * target.z
    left = b - A @ np.linalg.lstsq(A, b, rcond=1e-10)[0]
    if not np.linalg.norm(left) > 1e-6 * np.linalg.norm(b):
        return None
    z = np.where(target.w > 0.0, left / np.where(target.w > 0.0, target.w, 1.0), 0.0)
    return replace(target, z=z)


def _spread_out(left: F64, keep: int) -> list[tuple[int, int]]:
    """(input, modulator) of the least values, each modulator at most twice and each input for half of them at most."""
    out: list[tuple[int, int]] = []
    for i in np.argsort(left, axis=None, kind="stable")[: 40 * keep]:
        u, h = (int(v) for v in np.unravel_index(i, left.shape))
        if not np.isfinite(left[u, h]) or len(out) == keep:
            break
        if sum(a == u for a, _ in out) < keep // 2 and sum(b == h for _, b in out) < 2:
            out.append((u, h))
    return out


def _spelled(builder: Builder, name: str, terms: list[Program], offset: float) -> Program:
    return builder.call(name, builder.linear([1.0] * len(terms), terms, offset))


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


def _amplitudes(phase: F64, target: Target, amplitudes: F64) -> tuple[F64, F64, F64]:
    """(amplitude of the sine, of the cosine, weighted residual): each a combination of `amplitudes`, by least squares."""
    A = np.vstack([amplitudes * np.sin(phase), amplitudes * np.cos(phase)]).T
    weighted = A * target.w[:, None]
    b = target.w * target.z
    c = np.linalg.lstsq(weighted, b, rcond=1e-10)[0]
    n = len(amplitudes)
    return c[:n] @ amplitudes, c[n:] @ amplitudes, b - weighted @ c


def _left(phase: F64, target: Target, amplitudes: F64) -> float:
    residual = _amplitudes(phase, target, amplitudes)[2]
    return float(residual @ residual)


def _shift(phase: F64, target: Target, amplitudes: F64) -> float:
    """The one phase angle that sine and cosine amplitudes of a wave agree on."""
    s, c, _ = _amplitudes(phase, target, amplitudes)
    w2 = target.w**2
    angle = 0.5 * float(np.arctan2(2.0 * (w2 * s) @ c, (w2 * s) @ s - (w2 * c) @ c))
    return angle
