"""Forms u(x, y) through which two inputs may act as one, with their partial derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder
from operators.primitives import BY_NAME
from operators.program import Program

F64 = NDArray[np.float64]

_SIMPLE = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.0 / 3.0, -1.0 / 3.0)
_SLOPE: dict[str, Callable[[F64], F64]] = {
    "sin": np.cos,
    "cos": lambda y: -np.sin(y),
    "exp": np.exp,
    "log": lambda y: 1.0 / y,
    "sqrt": lambda y: 0.5 / np.sqrt(y),
    "square": lambda y: 2.0 * y,
    "inv": lambda y: -1.0 / (y * y),
}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two leaves on the sample rows with the slopes (partial derivatives) of the target along them."""

    program_x: Program
    program_y: Program
    x: F64
    y: F64
    slope_x: F64
    slope_y: F64

    def swapped(self) -> Pair:
        return Pair(self.program_y, self.program_x, self.y, self.x, self.slope_y, self.slope_x)


@dataclass(frozen=True, eq=False)
class Form:
    """u with its partial derivatives on the sample rows; `write` spells it (or raises `Inexpressible`)."""

    values: F64
    slope_x: F64
    slope_y: F64
    write: Callable[[], Program]
    label: str


def forms(pair: Pair, builder: Builder) -> Iterator[Form]:
    """Every form, each with the one coefficient or exponent that suits the slopes best."""
    with np.errstate(all="ignore"):
        yield from _products(pair, builder)
        yield from _sums(pair, builder)
        yield from _square_sums(pair, builder)
        for one in (pair, pair.swapped()):
            for form in _one_sided(one, builder):
                turned = Form(form.values, form.slope_y, form.slope_x, form.write, form.label + " swapped")
                yield form if one is pair else turned


def _ratios(above: F64, below: F64) -> Iterator[float]:
    """The simple number r that fits above = r*below, if one comes near."""
    r = float(above @ below / max(float(below @ below), 1e-300))
    if np.isfinite(r):
        nearest = min(_SIMPLE, key=lambda s: abs(s - r))
        if abs(nearest - r) <= 0.25 * abs(nearest):
            yield nearest


def _products(p: Pair, b: Builder) -> Iterator[Form]:
    """x * y**r: the pull x du/dx of x and that of y are in the ratio 1 : r."""
    for r in _ratios(p.y * p.slope_y, p.x * p.slope_x):
        power = p.y**r
        yield Form(
            p.x * power, power, r * p.x * power / p.y,
            lambda r=r: b.monomial(1.0, [p.program_x, p.program_y], [1.0, r]), f"x*y^{r:.3g}",
        )  # fmt: skip


def _sums(p: Pair, b: Builder) -> Iterator[Form]:
    for r in _ratios(p.slope_y, p.slope_x):
        one = np.ones_like(p.x)
        yield Form(
            p.x + r * p.y, one, r * one, lambda r=r: b.linear([1.0, r], [p.program_x, p.program_y]), f"x{r:+.3g}y"
        )


def _square_sums(p: Pair, b: Builder) -> Iterator[Form]:
    def write(r: float) -> Program:
        return b.linear([1.0, r], [b.call("square", p.program_x), b.call("square", p.program_y)])

    for r in _ratios(p.slope_y * p.x, p.slope_x * p.y):
        yield Form(p.x**2 + r * p.y**2, 2.0 * p.x, 2.0 * r * p.y, lambda r=r: write(r), f"x^2{r:+.3g}y^2")


def _one_sided(p: Pair, b: Builder) -> Iterator[Form]:
    """x*f(y), x + r*f(y), x*(1 + r*f(y)) and x*(1 + r*y)."""
    for name, slope in _SLOPE.items():
        if not b.has(name):
            continue
        f, d = BY_NAME[name].function(p.y), slope(p.y)
        inner = lambda name=name: b.call(name, p.program_y)  # noqa: E731
        if name not in ("square", "inv", "sqrt"):  # those are products of powers
            yield Form(p.x * f, f, p.x * d, lambda inner=inner: b.product([p.program_x, inner()]), f"x*{name} y")
        for r in _ratios(p.slope_y, p.slope_x * d):
            yield Form(
                p.x + r * f, np.ones_like(f), r * d,
                lambda inner=inner, r=r: b.linear([1.0, r], [p.program_x, inner()]), f"x{r:+.3g} {name} y",
            )  # fmt: skip
        yield from _shifted_products(p, b, f, d, inner, f"{name} y")
    yield from _shifted_products(p, b, p.y, np.ones_like(p.y), lambda: p.program_y, "y")


def _shifted_products(p: Pair, b: Builder, f: F64, d: F64, inner: Callable[[], Program], label: str) -> Iterator[Form]:
    for r in (1.0, -1.0):
        g = 1.0 + r * f
        yield Form(
            p.x * g,
            g,
            p.x * r * d,
            lambda r=r: b.product([p.program_x, b.linear([r], [inner()], 1.0)]),
            f"x*(1{r:+.0f}{label})",
        )
        yield Form(
            p.x / g, 1.0 / g, -p.x * r * d / g**2,
            lambda r=r: b.quotient(p.program_x, b.linear([r], [inner()], 1.0)), f"x/(1{r:+.0f}{label})",
        )  # fmt: skip
