"""Inverse-function images of the target: where y = T^-1(u), T(y) is the simpler u.

Every image carries the weights that make a squared error in it a squared error in y (to first order:
w_image = w/|dT/dy|), so that residuals of all images compare in one unit and noise is not magnified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder, Inexpressible
from operators.program import FIXED, Program, constant, variable

F64 = NDArray[np.float64]
Rebuild = Callable[[Program], Program]


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be matched: z (rows,), w (rows,) >= 0 so that w*(error of z) is the error of y, and the way back.

    `rebuild` turns a program for z into one for y. Where z is a logarithm, `rebuild_exp` turns a program for
    exp(z), best written as a product, into one for y. `outside` is the rms error in y that stays on rows on which
    an image is not defined (they have weight 0).
    """

    z: F64
    w: F64
    rebuild: Rebuild
    label: str
    rebuild_exp: Rebuild | None = None
    outside: float = 0.0

    def times(self, values: F64, factor: Program, builder: Builder) -> Target:
        """The target z*factor (values: the factor's on the same rows, without zeros)."""
        rebuild = self.rebuild
        return Target(
            self.z * values,
            self.w / np.abs(values),
            lambda u: rebuild(builder.quotient(u, factor)),
            self.label + " times",
        )


def plain(y: F64, w: F64) -> Target:
    """The target itself."""
    return Target(y, w, lambda u: u, "y")


@dataclass(frozen=True)
class _Image:
    """T with its slope dT/dy, where it is real, one-to-one and finite, and T^-1 as a program.

    `even` images cannot tell y from -y: most of the rows say which it is.
    """

    label: str
    image: Callable[[F64], F64]
    slope: Callable[[F64], F64]
    inside: Callable[[F64], NDArray[np.bool_]]
    back: Callable[[Builder, Program], Program]
    back_exp: Callable[[Builder, Program], Program] | None = None
    even: bool = False


_LEAST_INSIDE = 0.9  # part of the rows on which an image has to be defined
_TINY = 1e-12
_LARGEST_WEIGHT = 1e3  # of a row, against the median


def _positive(y: F64) -> NDArray[np.bool_]:
    return y > 0.0


def _one_sign(y: F64) -> NDArray[np.bool_]:
    return y * np.sign(np.median(y)) > 0.0


def _nonzero(y: F64) -> NDArray[np.bool_]:
    return y != 0.0


def _between(low: float, high: float) -> Callable[[F64], NDArray[np.bool_]]:
    return lambda y: (y >= low) & (y <= high)


_HALF_PI = np.pi / 2
_ONE = constant(1.0, FIXED)

IMAGES: tuple[_Image, ...] = (
    _Image("1/y", lambda y: 1.0 / y, lambda y: y**-2.0, _nonzero, lambda b, u: b.call("inv", u)),
    _Image("y^2", lambda y: y * y, lambda y: 2.0 * y, _one_sign, lambda b, u: b.call("sqrt", u), even=True),
    _Image("log y", np.log, lambda y: 1.0 / y, _positive, lambda b, u: b.call("exp", u), lambda b, e: e),
    _Image("1/y^2", lambda y: y**-2.0, lambda y: 2.0 * y**-3.0, _one_sign, lambda b, u: b.call("inv", b.call("sqrt", u)), even=True),
    _Image("sqrt y", np.sqrt, lambda y: 0.5 * y**-0.5, _positive, lambda b, u: b.call("square", u)),
    _Image(
        "1/sqrt y", lambda y: y**-0.5, lambda y: 0.5 * y**-1.5, _positive, lambda b, u: b.call("inv", b.call("square", u))
    ),
    _Image("exp y", np.exp, np.exp, _between(-12.0, 12.0), lambda b, u: b.call("log", u)),
    _Image("sin y", np.sin, lambda y: np.cos(y), _between(-_HALF_PI, _HALF_PI), lambda b, u: b.call("asin", u)),
    _Image("cos y", np.cos, lambda y: np.sin(y), _between(0.0, np.pi), lambda b, u: b.call("acos", u)),
    _Image("tan y", np.tan, lambda y: np.cos(y) ** -2.0, _between(-_HALF_PI + 1e-6, _HALF_PI - 1e-6), lambda b, u: b.call("atan", u)),
    _Image(
        "asin y", np.arcsin, lambda y: 1.0 / np.sqrt(np.maximum(1.0 - y * y, 1e-12)), _between(-1.0, 1.0), lambda b, u: b.call("sin", u)
    ),
    _Image("atanh y", np.arctanh, lambda y: 1.0 / (1.0 - y * y), _between(-1.0 + 1e-12, 1.0 - 1e-12), lambda b, u: b.call("tanh", u)),
    _Image("y^3", lambda y: y**3, lambda y: 3.0 * y * y, _one_sign, lambda b, u: b.power(u, 1.0 / 3.0)),
    _Image("log(1/y + 1)", lambda y: np.log(1.0 / y + 1.0), lambda y: 1.0 / (y * (y + 1.0)), _positive,
           lambda b, u: b.call("inv", b.call("sub", b.call("exp", u), _ONE)),
           lambda b, e: b.call("inv", b.call("sub", e, _ONE))),
    _Image("log(1/y - 1)", lambda y: np.log(1.0 / y - 1.0), lambda y: 1.0 / (y * (1.0 - y)),
           _between(_TINY, 1.0 - _TINY), lambda b, u: b.call("inv", b.call("add", b.call("exp", u), _ONE)),
           lambda b, e: b.call("inv", b.call("add", e, _ONE))),
    _Image("log(1 - y)", lambda y: np.log(1.0 - y), lambda y: 1.0 / (1.0 - y), _between(-np.inf, 1.0 - _TINY),
           lambda b, u: b.call("sub", _ONE, b.call("exp", u)), lambda b, e: b.call("sub", _ONE, e)),
    _Image("log(1 + y)", lambda y: np.log(1.0 + y), lambda y: 1.0 / (1.0 + y), _between(-1.0 + _TINY, np.inf),
           lambda b, u: b.call("sub", b.call("exp", u), _ONE), lambda b, e: b.call("sub", e, _ONE)),
)  # fmt: skip


def images(of: Target, builder: Builder) -> Iterator[Target]:
    """Every image of a target that is defined on nearly all rows and whose inverse the grammar can spell.

    Noise may carry a few rows out of the domain: those get weight 0.
    """
    for kind in IMAGES:
        upright = kind.inside(of.z).mean() >= _LEAST_INSIDE
        for sign in (1.0,) if upright else (-1.0,):  # the mirrored image is for targets that are negative
            target = _make(kind, of, builder, sign)
            if target is not None:
                yield target


def _make(kind: _Image, of: Target, builder: Builder, sign: float) -> Target | None:
    v = sign * of.z
    inside = kind.inside(v)
    if inside.mean() < _LEAST_INSIDE or np.ptp(v[inside]) == 0.0:
        return None
    mirrored = (sign < 0.0) != (kind.even and np.median(v) < 0.0)

    def signed(back: Callable[[Builder, Program], Program]) -> Rebuild:
        return lambda u: of.rebuild(builder.call("neg", back(builder, u)) if mirrored else back(builder, u))

    rebuild = signed(kind.back)
    rebuild_exp = signed(kind.back_exp) if kind.back_exp else None
    try:
        rebuild(variable(0))
    except Inexpressible:
        return None
    allowed = np.sort(v[inside])
    nearest = allowed[np.minimum(np.searchsorted(allowed, v), len(allowed) - 1)]
    outside = float(np.sqrt(np.mean((of.w * np.where(inside, 0.0, v - nearest)) ** 2)))
    v = np.where(inside, v, np.median(v[inside]))
    with np.errstate(all="ignore"):
        z, slope = kind.image(v), np.abs(kind.slope(v))
        weight = np.where(inside, of.w / np.maximum(slope, 1e-300), 0.0)
    if not (np.isfinite(z).all() and np.isfinite(weight).all() and np.ptp(z) > 0.0 and weight.max() > 0.0):
        return None
    weight = np.minimum(weight, _LARGEST_WEIGHT * np.median(weight[inside]))
    label = kind.label if of.label == "y" else f"{of.label}, {kind.label}"
    return Target(z, weight, rebuild, label, rebuild_exp, outside)
