"""Laws that are linear in their locals, tried by the thousand: a + b*g, a*g + b*h, a + b*g + c*h over small g and h.

Their calibration is one linear least-squares problem a cluster, so a form costs some 50 microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from fitness.constants import predict
from fitness.grouped import Calibrator
from fitness.metrics import BAD_LOSS
from operators.complexity import complexities
from operators.grammar import Grammar
from operators.primitives import BY_NAME
from operators.program import FIXED, LOCAL, Program, ProgramBatch, apply, constant, variable

F64 = NDArray[np.float64]

_MOST_FUNCTIONS = 150
_CHUNK = 400  # forms tried between two generations
_KEPT = 12  # best forms of a chunk that are handed to the search
_STEPS = 4
_LONGEST = 7  # nodes of a small expression


class FormScan:
    """A source of proposals: tries the next forms whenever it is asked, and hands over the best of them."""

    def __init__(self, calibrator: Calibrator, grammar: Grammar, varying: list[int]) -> None:
        self._calibrator = calibrator
        self._forms = forms(small_functions(grammar, calibrator.data.windows.data.X, varying), grammar)
        self.exhausted = False

    def take(self, most: int) -> list[Program]:
        """The best of the next forms, with fitted starts."""
        programs = list(islice(self._forms, _CHUNK))
        self.exhausted = len(programs) < _CHUNK
        if not programs:
            return []
        batch = ProgramBatch.of(programs)
        found = self._calibrator.run(batch, _STEPS)
        order = np.argsort(found.loss + 1e-3 * complexities(batch) * np.min(found.loss), kind="stable")
        kept = [int(r) for r in order[: min(most, _KEPT)] if found.loss[r] < BAD_LOSS]
        return [programs[r].with_values(found.value[r, : len(programs[r])]) for r in kept]


def forms(functions: list[Program], grammar: Grammar) -> Iterator[Program]:
    """Linear combinations of the functions, short ones first, with the coefficients as locals."""
    a, b, c = (constant(1.0, LOCAL + k) for k in range(3))
    locals_ = grammar.max_locals

    def legal(candidates: Iterator[Program]) -> Iterator[Program]:
        return (p for p in candidates if grammar.is_legal(p))

    yield from legal(apply("mul", a, g) for g in functions)
    if locals_ >= 2:
        yield from legal(apply("add", a, apply("mul", b, g)) for g in functions)
        for outer in ("exp", "inv", "sqrt", "square"):
            if outer in grammar.primitives:
                yield from legal(apply(outer, apply("add", a, apply("mul", b, g))) for g in functions)
        pairs = combinations(functions, 2)
        yield from legal(apply("add", apply("mul", a, g), apply("mul", b, h)) for g, h in pairs)
    if locals_ >= 3:
        pairs = combinations(functions, 2)
        yield from legal(apply("add", a, apply("add", apply("mul", b, g), apply("mul", c, h))) for g, h in pairs)


def small_functions(grammar: Grammar, X: F64, varying: list[int]) -> list[Program]:
    """Small expressions without fitted constants that vary within clusters, different by value, short ones first."""
    names = [n for n in grammar.primitives if n in BY_NAME]
    unary = [n for n in names if BY_NAME[n].arity == 1 and n not in ("neg", "abs")]
    binary = [n for n in names if BY_NAME[n].arity == 2 and n not in ("min", "max", "pow", "sub")]
    inputs = [variable(f) for f in varying[:4]]
    leaves = [*inputs, constant(1.0, FIXED)]
    found = _distinct(inputs, X, [])
    for _ in range(2):
        new = [apply(n, p) for p in found for n in unary]
        new += [apply(n, p, q) for n in binary for p in found for q in leaves]
        new += [apply("div", q, p) for p in found for q in leaves]
        new += [apply("pow", p, constant(e, FIXED)) for p in inputs for e in (-0.5, 1.5, -1.5, 4.0, -3.0, -4.0)]
        new = [p for p in new if len(p) <= _LONGEST and p.features and grammar.is_legal(p)]
        found = _distinct(sorted([*found, *new], key=len), X, [])[:_MOST_FUNCTIONS]
    return found


def _distinct(programs: list[Program], X: F64, kept: list[Program]) -> list[Program]:
    """The programs that are finite and not constant, each once up to scale and offset."""
    seen: set[bytes] = set()
    values = predict(ProgramBatch.of(programs), X)
    for program, value in zip(programs, values, strict=True):
        if not np.all(np.isfinite(value)) or np.max(np.abs(value)) > 1e12:
            continue
        spread = float(np.ptp(value))
        if not spread > 1e-9 * float(np.max(np.abs(value))):
            continue
        shape = (value[:: max(1, len(value) // 200)] - value.min()) / spread
        key = np.round(shape if shape[0] <= 0.5 else 1.0 - shape, 6).tobytes()
        if key not in seen:
            seen.add(key)
            kept.append(program)
    return kept
