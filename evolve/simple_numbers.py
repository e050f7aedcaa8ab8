"""Simple numbers: those near a fitted constant, simplest first, and those that belong to a law's form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from operators.primitives import CONST, OPCODE
from operators.program import Program

_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 12)
_LARGEST = 10_000  # integers above this are no simpler than any other number
_PI_FRACTIONS = tuple(Fraction(p, q) for q in (1, 2, 3, 4, 6, 8) for p in (1, 2, 3, 4, 6, 8) if math.gcd(p, q) == 1)
_DIGITS = (1, 2, 3, 4)


def simple_values(value: float, reach: float, priors: Sequence[float] = ()) -> list[tuple[float, float]]:
    """(rank, number) pairs within `reach` of `value`, by rising rank.

    Ranks: integers, halves and small fractions by size of their parts; known constants of the task (`priors`);
    multiples of pi; short decimals. Zero is offered only where the value cannot be told from it.
    """
    found: dict[float, float] = {}

    def offer(number: float, rank: float) -> None:
        if math.isfinite(number) and abs(number - value) <= reach and rank < found.get(number, math.inf):
            found[number] = rank

    for q in _DENOMINATORS:
        p = round(value * q)
        if math.gcd(p, q) == 1 and abs(p) <= _LARGEST:
            offer(p / q, math.log2(1 + abs(p)) + 3.0 * math.log2(q))
    for prior in priors:
        offer(float(prior), 2.0)
        offer(-float(prior), 2.5)
    for ratio in _PI_FRACTIONS:
        rank = 4.0 + math.log2(ratio.numerator * ratio.denominator)
        for sign in (1.0, -1.0):
            offer(sign * math.pi * float(ratio), rank)
            offer(sign * float(ratio) / math.pi, rank + 1.0)
            offer(sign * float(ratio) * math.pi**2, rank + 2.0)
    for digits in _DIGITS:
        offer(float(f"{value:.{digits - 1}e}"), 4.0 + 3.32 * digits)
    return sorted((rank, number) for number, rank in found.items())


def structural(program: Program, i: int) -> bool:
    """Does the number at node i belong to the form of a law, where no cap counts it?

    0, 1, -1, 2, 1/2 and pi do anywhere; any integer or half as an exponent.
    """
    value = float(program.value[i])
    is_exponent = i + 1 < len(program) and program.code[i + 1] == OPCODE["pow"] and program.code[i] == CONST
    if is_exponent:
        return (2.0 * value).is_integer() and abs(value) <= 10.0
    return value in (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5) or abs(value) in (math.pi, 2 * math.pi, math.pi / 2)
