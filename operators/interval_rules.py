"""Interval arithmetic, one rule a primitive, over arrays of boxes.

A rule takes the operand intervals ``(lo, hi)``, arrays (B,), and returns ``(lo, hi, ok)``: the interval of the result
and where it is proven that the function is finite and real on the whole operand interval. Where it is not, the
operand is cut to the domain first, so that reading on still makes sense.

Rounding. ``+ - * /``, `sqrt`, `min`, `max` and `abs` of numpy are correctly rounded and so monotone: the operation on
the ends bounds the rounded operation inside, and an exact end such as ``1 - x >= 0`` on [0, 1] stays exact. Other
functions are widened by a few units in the last place, never past the range the function is known to keep.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]
Interval = tuple[F64, F64]
Verdict = tuple[F64, F64, Bool]
Rule = Callable[..., Verdict]

_ULPS = 4  # numpy's elementary functions are off by one or two
_BIG_ANGLE = 1e9  # beyond this a period is no longer resolved
_TINY = 5e-324


def widen(lo: F64, hi: F64, least: float = -math.inf, most: float = math.inf) -> Interval:
    """[lo, hi] a few units in the last place wider, inside [least, most]."""
    for _ in range(_ULPS):
        lo, hi = np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)
    return np.maximum(lo, least), np.minimum(hi, most)


def _always(lo: F64) -> Bool:
    return np.ones_like(lo, dtype=np.bool_)


def _corners(values: list[F64]) -> Interval:
    return np.minimum.reduce(values), np.maximum.reduce(values)


def add(x: Interval, y: Interval) -> Verdict:
    return x[0] + y[0], x[1] + y[1], _always(x[0])


def sub(x: Interval, y: Interval) -> Verdict:
    return x[0] - y[1], x[1] - y[0], _always(x[0])


def mul(x: Interval, y: Interval) -> Verdict:
    return *_corners([a * b for a in x for b in y]), _always(x[0])


def div(x: Interval, y: Interval) -> Verdict:
    ok = (y[0] > 0.0) | (y[1] < 0.0)
    ends = np.where(ok, y[0], 1.0), np.where(ok, y[1], 1.0)
    return *_corners([a / b for a in x for b in ends]), ok


def inv(x: Interval) -> Verdict:
    one = np.ones_like(x[0])
    return div((one, one), x)


def neg(x: Interval) -> Verdict:
    return -x[1], -x[0], _always(x[0])


def minimum(x: Interval, y: Interval) -> Verdict:
    return np.minimum(x[0], y[0]), np.minimum(x[1], y[1]), _always(x[0])


def maximum(x: Interval, y: Interval) -> Verdict:
    return np.maximum(x[0], y[0]), np.maximum(x[1], y[1]), _always(x[0])


def absolute(x: Interval) -> Verdict:
    across = (x[0] <= 0.0) & (x[1] >= 0.0)
    lo = np.where(across, 0.0, np.minimum(abs(x[0]), abs(x[1])))
    return lo, np.maximum(abs(x[0]), abs(x[1])), _always(lo)


def square(x: Interval) -> Verdict:
    lo, hi, ok = absolute(x)
    return lo * lo, hi * hi, ok


def cube(x: Interval) -> Verdict:
    return x[0] * x[0] * x[0], x[1] * x[1] * x[1], _always(x[0])


def sqrt(x: Interval) -> Verdict:
    return np.sqrt(np.maximum(x[0], 0.0)), np.sqrt(np.maximum(x[1], 0.0)), x[0] >= 0.0


def exp(x: Interval) -> Verdict:
    return *widen(np.exp(x[0]), np.exp(x[1]), least=0.0), _always(x[0])


def log(x: Interval) -> Verdict:
    ends = np.maximum(x[0], _TINY), np.maximum(x[1], _TINY)
    return *widen(np.log(ends[0]), np.log(ends[1])), x[0] > 0.0


def sin(x: Interval) -> Verdict:
    return *_wave(np.sin, x, 0.5 * math.pi), _always(x[0])


def cos(x: Interval) -> Verdict:
    return *_wave(np.cos, x, 0.0), _always(x[0])


def _wave(function: Callable[[F64], F64], x: Interval, crest: float) -> Interval:
    """Range of a sine whose crests stand at crest + 2*pi*k: the ends, and 1 or -1 where a crest or trough is inside."""
    at = function(x[0]), function(x[1])
    lo, hi = widen(np.minimum(*at), np.maximum(*at), -1.0, 1.0)
    period = 2.0 * math.pi
    unclear = (abs(x[0]) > _BIG_ANGLE) | (abs(x[1]) > _BIG_ANGLE)
    hi = np.where(unclear | _holds(x, crest, period), 1.0, hi)
    return np.where(unclear | _holds(x, crest + math.pi, period), -1.0, lo), hi


def _holds(x: Interval, start: float, period: float) -> Bool:
    """May x hold one of the points start + period*k? (With room for rounding.)"""
    slack = 1e-15 * (abs(x[0]) + abs(x[1])) + 1e-15
    first = np.ceil((x[0] - start - slack) / period)
    return np.asarray(start + period * first <= x[1] + slack)


def tan(x: Interval) -> Verdict:
    ok = ~_holds(x, 0.5 * math.pi, math.pi) & (abs(x[0]) < _BIG_ANGLE) & (abs(x[1]) < _BIG_ANGLE)
    return *widen(np.where(ok, np.tan(x[0]), -1.0), np.where(ok, np.tan(x[1]), 1.0)), ok


def _inside_one(x: Interval) -> tuple[Interval, Bool]:
    return (np.clip(x[0], -1.0, 1.0), np.clip(x[1], -1.0, 1.0)), (x[0] >= -1.0) & (x[1] <= 1.0)


def asin(x: Interval) -> Verdict:
    ends, ok = _inside_one(x)
    return *widen(np.arcsin(ends[0]), np.arcsin(ends[1])), ok


def acos(x: Interval) -> Verdict:
    ends, ok = _inside_one(x)
    return *widen(np.arccos(ends[1]), np.arccos(ends[0]), least=0.0), ok


def atan(x: Interval) -> Verdict:
    return *widen(np.arctan(x[0]), np.arctan(x[1])), _always(x[0])


def sinh(x: Interval) -> Verdict:
    return *widen(np.sinh(x[0]), np.sinh(x[1])), _always(x[0])


def cosh(x: Interval) -> Verdict:
    lo, hi, ok = absolute(x)
    return *widen(np.cosh(lo), np.cosh(hi), least=1.0), ok


def tanh(x: Interval) -> Verdict:
    return *widen(np.tanh(x[0]), np.tanh(x[1]), -1.0, 1.0), _always(x[0])


def power(x: Interval, y: Interval) -> Verdict:
    """x**y. A whole constant exponent takes bases of both signs; any other needs a positive base (0 for y > 0)."""
    whole = (y[0] == y[1]) & (np.rint(y[0]) == y[0])
    lo_w, hi_w, ok_w = _whole_power(x, np.where(whole, y[0], 1.0))
    ok_r = (x[0] > 0.0) | ((x[0] >= 0.0) & (y[0] > 0.0))
    base = np.where(ok_r, x[0], _TINY), np.where(ok_r, x[1], 1.0)
    lo_r, hi_r = _corners([np.power(a, b) for a in base for b in y])
    lo, hi = widen(np.where(whole, lo_w, lo_r), np.where(whole, hi_w, hi_r))
    kept = ~whole | (np.mod(y[0], 2.0) == 0.0) | (x[0] >= 0.0)
    return np.where(kept, np.maximum(lo, 0.0), lo), hi, np.where(whole, ok_w, ok_r)


def _whole_power(x: Interval, n: F64) -> Verdict:
    across = (x[0] <= 0.0) & (x[1] >= 0.0)
    ok = (n >= 0.0) | ~across
    ends = np.where(ok, x[0], 1.0), np.where(ok, x[1], 1.0)
    lo, hi = _corners([np.power(ends[0], n), np.power(ends[1], n)])
    flat = across & (np.mod(n, 2.0) == 0.0) & (n > 0.0)
    return np.where(flat, 0.0, lo), hi, ok


RULES: dict[str, Rule] = {
    "add": add, "sub": sub, "mul": mul, "div": div, "pow": power, "min": minimum, "max": maximum,
    "neg": neg, "inv": inv, "square": square, "cube": cube, "sqrt": sqrt, "abs": absolute, "exp": exp, "log": log,
    "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos, "atan": atan,
    "sinh": sinh, "cosh": cosh, "tanh": tanh,
}  # fmt: skip
