"""Proofs that a law is finite: interval arithmetic over the box of its inputs, pieces of the box where needed.

An interval of the whole box is often too wide: ``1/(x**2 - x + 1)`` is finite everywhere, yet x**2 and -x taken apart
may meet. Pieces that are not proven are halved, a bounded number of times, and all pieces of a round are computed
at once. A point inside where the law is not finite ends the search: then there is nothing to prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.interval_rules import F64, RULES, Bool, Interval, Verdict
from operators.primitives import BY_OPCODE, CONST, VAR
from operators.program import FIXED, Program, apply, constant

Ranges = Sequence[tuple[float, float]]

_MOST_PIECES = 4096
_MOST_HALVINGS = 40


def bounds(program: Program, ranges: Ranges, pieces: int = _MOST_PIECES) -> tuple[float, float] | None:
    """(lo, hi) that hold every value of the law over the box, or None when it is not proven finite and real there.

    `ranges[i]` is the closed range of feature i. At most `pieces` pieces of the box are examined. Locals are taken at
    their start values.
    """
    proof = _examine(program, ranges, pieces)
    return (proof.lo, proof.hi) if proof.holds else None


def unsafe_arguments(program: Program, ranges: Ranges, pieces: int = 256) -> list[int]:
    """Indices of the nodes that may be given an argument outside their domain, or may overflow; innermost first."""
    return [int(i) for i in np.flatnonzero(_examine(program, ranges, pieces).failing)]


@dataclass(frozen=True)
class _Proof:
    holds: bool
    lo: float
    hi: float
    failing: Bool  # (nodes,) where it failed on the pieces that stayed open


def _examine(program: Program, ranges: Ranges, pieces: int) -> _Proof:
    lo, hi = _box(program, ranges)
    nothing = np.zeros(len(program), dtype=np.bool_)
    if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi))):
        return _Proof(False, -np.inf, np.inf, ~nothing)
    span = np.maximum(hi - lo, 0.0)[:, 0]
    seen_lo, seen_hi = np.inf, -np.inf
    examined = 0
    failing = nothing
    for _ in range(_MOST_HALVINGS):
        out_lo, out_hi, bad = evaluate_boxes(program, lo, hi)
        open_ = bad.any(axis=0)
        examined += lo.shape[1]
        if not open_.all():
            seen_lo, seen_hi = min(seen_lo, out_lo[~open_].min()), max(seen_hi, out_hi[~open_].max())
        if not open_.any():
            return _Proof(True, float(np.nextafter(seen_lo, -np.inf)), float(np.nextafter(seen_hi, np.inf)), nothing)
        failing = np.asarray(bad.any(axis=1))
        lo, hi = lo[:, open_], hi[:, open_]
        if examined + 2 * lo.shape[1] > pieces or _fails_somewhere(program, lo, hi) or not np.any(span > 0.0):
            break
        lo, hi = _halved(lo, hi, span)
    return _Proof(False, -np.inf, np.inf, failing)


def _box(program: Program, ranges: Ranges) -> tuple[F64, F64]:
    """Ends of the box as columns (features, 1); features the program does not read are points."""
    lo = np.zeros((len(ranges), 1))
    hi = np.zeros((len(ranges), 1))
    for f in program.features:
        a, b = ranges[f]
        lo[f], hi[f] = min(a, b), max(a, b)
    return lo, hi


def _halved(lo: F64, hi: F64, span: F64) -> tuple[F64, F64]:
    """Every piece (columns) cut in two across its relatively widest side."""
    with np.errstate(invalid="ignore", divide="ignore"):
        width = np.where(span[:, None] > 0.0, (hi - lo) / span[:, None], 0.0)
    side = np.argmax(width, axis=0)
    column = np.arange(lo.shape[1])
    middle = lo[side, column] + 0.5 * (hi[side, column] - lo[side, column])
    left_hi, right_lo = hi.copy(), lo.copy()
    left_hi[side, column] = middle
    right_lo[side, column] = middle
    return np.hstack([lo, right_lo]), np.hstack([left_hi, hi])


def _fails_somewhere(program: Program, lo: F64, hi: F64) -> bool:
    """Is the law not finite at the middle or an end of some piece?"""
    points = np.hstack([lo, hi, 0.5 * lo + 0.5 * hi])
    _, _, bad = evaluate_boxes(program, points, points)
    return bool(bad.any())


def evaluate_boxes(program: Program, lo: F64, hi: F64) -> tuple[F64, F64, NDArray[np.bool_]]:
    """Interval of the law on every box (columns of lo and hi, (features, B)): lo (B,), hi (B,), bad (nodes, B).

    bad[i, b] says that node i, given what its operands reach on box b, may leave its domain or overflow.
    """
    n_boxes = lo.shape[1]
    bad = np.zeros((len(program), n_boxes), dtype=np.bool_)
    stack: list[Interval] = []
    with np.errstate(all="ignore"):
        for i in range(len(program)):
            code = int(program.code[i])
            if code == VAR:
                stack.append((lo[program.arg[i]], hi[program.arg[i]]))
            elif code == CONST:
                point = np.full(n_boxes, program.value[i])
                stack.append((point, point))
            else:
                primitive = BY_OPCODE[code]
                operands = stack[-primitive.arity :]
                del stack[-primitive.arity :]
                out_lo, out_hi, ok = _apply(program, i, primitive.name, operands)
                bad[i] = ~ok | ~(out_lo >= -_HUGE) | ~(out_hi <= _HUGE)  # NaN is bad too
                stack.append((_finite(out_lo, -1.0), _finite(out_hi, 1.0)))
    return *stack[0], bad


_HUGE = 1e300  # what is larger counts as overflow


def _finite(end: F64, sign: float) -> F64:
    """An end that overflowed, cut back so that the nodes above are judged by their own faults."""
    return np.clip(np.where(np.isnan(end), sign * _HUGE, end), -_HUGE, _HUGE)


def _apply(program: Program, i: int, name: str, operands: list[Interval]) -> Verdict:
    if len(operands) == 2 and name in ("mul", "sub", "div", "add"):
        left, right = program.children(i)
        if program.subtree(left).key == program.subtree(right).key:
            return _of_twins(name, operands[0])
    return RULES[name](*operands)


def _of_twins(name: str, x: Interval) -> Verdict:
    """x*x, x - x, x/x, x + x: the two operands move together."""
    if name == "mul":
        return RULES["square"](x)
    if name == "add":
        return 2.0 * x[0], 2.0 * x[1], np.ones_like(x[0], dtype=np.bool_)
    if name == "sub":
        zero = np.zeros_like(x[0])
        return zero, zero, np.ones_like(zero, dtype=np.bool_)
    one = np.ones_like(x[0])
    return one, one, (x[0] > 0.0) | (x[1] < 0.0)


# Guards -------------------------------------------------------------------------------------------------------------

_MOST_GUARDS = 12
_CLOSER = 1e-4  # a divisor is itself down to a hundredth of its least size on the training rows
_SAME = 1e-12  # how far rounding may move a value when a guard rewrites a quotient
_DIGITS = (1, 2, 3, 17)  # a clip is as short a decimal as serves
_POSITIVE = frozenset({"log", "pow"})
_INSIDE_ONE = frozenset({"asin", "acos"})
_DIVISOR = {"div": 1, "inv": 0, "pow": 0}  # which operand divides


def guard(program: Program, ranges: Ranges, X: NDArray[np.float64]) -> Program | None:
    """The law with its offending arguments clipped, proven finite over the box; None when clips cannot do it.

    A clip is ``max(u, low)`` or ``min(u, high)`` with a short structural number outside what u reaches on the training
    rows X (features, rows): the values on these rows do not change. A divisor d of both signs is
    kept from zero: u/d becomes ``u*d/max(d**2, low)``, which changes the values by rounding only.
    """
    guarded = program
    for _ in range(_MOST_GUARDS):
        failing = unsafe_arguments(guarded, ranges)
        if not failing:
            break
        step = next(_guards(guarded, failing[0], ranges, X), None)
        if step is None:
            return None
        guarded = step
    before, after = node_values(program, X)[-1], node_values(guarded, X)[-1]
    if bounds(guarded, ranges) is None or not np.allclose(after, before, rtol=_SAME, atol=0.0):
        return None
    return guarded


def node_values(program: Program, X: NDArray[np.float64]) -> list[F64]:
    """Values (rows,) of every node on X (features, rows), by the numpy functions of the table of primitives."""
    values: list[F64] = []
    with np.errstate(all="ignore"):
        for i in range(len(program)):
            code = int(program.code[i])
            if code == VAR:
                values.append(X[program.arg[i]])
            elif code == CONST:
                values.append(np.full(X.shape[1], program.value[i]))
            else:
                values.append(BY_OPCODE[code].function(*(values[c] for c in program.children(i))))
    return values


def _guards(program: Program, i: int, ranges: Ranges, X: NDArray[np.float64]) -> Iterator[Program]:
    """Programs in which node i does not fail any more, the mildest clip first."""
    name = BY_OPCODE[int(program.code[i])].name
    roots = program.children(i)
    values = node_values(program, X)
    for digits in _DIGITS:
        for clips in _clips(name, [values[r] for r in roots], digits):
            clipped = program
            for root, (low, high) in reversed(list(zip(roots, clips, strict=True))):
                clipped = clipped.splice(root, _clipped(program.subtree(root), low, high))
            moved = i + len(clipped) - len(program)
            if len(clipped) > len(program) and moved not in unsafe_arguments(clipped, ranges):
                yield clipped
    if name in ("div", "inv"):
        yield from _kept_from_zero(program, i, values[roots[-1]])
    if name == "tan":
        yield from _cotangent(program, i)


def _cotangent(program: Program, i: int) -> Iterator[Program]:
    """u/tan(v) as u*cos(v)/sin(v): where tan has a pole its inverse is just 0."""
    for parent in range(i + 1, len(program)):
        operands = program.children(parent)
        if operands and operands[-1] == i and BY_OPCODE[int(program.code[parent])].name in ("div", "inv"):
            angle = program.subtree(program.children(i)[0])
            above = apply("cos", angle)
            if len(operands) == 2:
                above = apply("mul", program.subtree(operands[0]), above)
            yield program.splice(parent, apply("div", above, apply("sin", angle)))


def _kept_from_zero(program: Program, i: int, reached: F64) -> Iterator[Program]:
    """u/d as u*d/max(d**2, low), for a divisor that takes both signs."""
    least = _CLOSER * float(np.min(np.square(reached), initial=np.inf))
    if not 0.0 < least < np.inf:
        return
    operands = [program.subtree(root) for root in program.children(i)]
    divisor = operands[-1]
    above = apply("mul", operands[0], divisor) if len(operands) == 2 else divisor
    for digits in _DIGITS[:3]:
        floor = constant(_short_below(least, digits), FIXED)
        yield program.splice(i, apply("div", above, apply("max", apply("square", divisor), floor)))


Clip = tuple[float | None, float | None]


def _clips(name: str, reached: Sequence[F64], digits: int) -> Iterator[list[Clip]]:
    """Ways to clip the operands of one primitive, given what each reaches on the training rows."""
    if not all(np.all(np.isfinite(r)) and len(r) for r in reached):
        return
    free: list[Clip] = [(None, None)] * len(reached)
    low = [_short_below(float(r.min()), digits) for r in reached]
    high = [-_short_below(-float(r.max()), digits) for r in reached]
    if name in _INSIDE_ONE:
        yield [(-1.0, 1.0)]
    if name == "sqrt":
        yield [(0.0, None)]
    if name in _POSITIVE and low[0] > 0.0:
        yield [(low[0], None), *free[1:]]
    if name in _DIVISOR:
        k = _DIVISOR[name]
        if low[k] > 0.0:
            yield [*free[:k], (low[k], None), *free[k + 1 :]]
        if high[k] < 0.0:
            yield [*free[:k], (None, high[k]), *free[k + 1 :]]
    yield [(None, h) for h in high]
    yield [(lo, h) for lo, h in zip(low, high, strict=True)]


def _clipped(part: Program, low: float | None, high: float | None) -> Program:
    if len(part) == 1 and int(part.code[0]) == CONST:
        return part
    if low is not None:
        part = apply("max", part, constant(low, FIXED))
    return part if high is None else apply("min", part, constant(high, FIXED))


def _short_below(value: float, digits: int) -> float:
    """The largest decimal of so many significant digits that is not above `value`."""
    if value == 0.0 or digits >= 17:
        return value
    short = float(f"{value:.{digits - 1}e}")
    if short > value:
        step = 10.0 ** (np.floor(np.log10(abs(value))) - digits + 1)
        short = float(f"{short - step:.{digits}e}")
    return short
