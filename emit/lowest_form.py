"""Among equal spellings of a law, the one of lowest C. Runs inside the worker process; see `frontier_complexity`.

A beam search: every rule is tried at every node of the best few forms, again and again, until two rounds bring nothing.
The amount of work is bounded by counts, not by the clock, so that the same law always gets the same form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from emit.errors import NotExpressible
from emit.evaluate import agree, values
from emit.rewrite import READABLE, TERSE, Rule, tidy
from emit.sympy_form import count, to_program, to_sympy
from operators.program import Program

F64 = NDArray[np.float64]

BEAM = 8
_ROUNDS = 12
_PATIENCE = 2
_CANDIDATES = 6000


@dataclass(frozen=True)
class Spelling:
    """One form: its tree and count; the fewest floats and the smallest size break ties."""

    complexity: int
    floats: int
    size: int
    tree: Any

    @staticmethod
    def of(tree: Any) -> Spelling:
        nodes = list(sp.preorder_traversal(tree))
        # A float exponent that is whole reads badly: it must buy something to be used.
        awkward = sum(1 for n in nodes if n.func is sp.Pow and n.exp.is_Float and float(n.exp).is_integer())
        floats = sum(1 for n in nodes if n.is_Float)
        return Spelling(count(tree), floats, len(nodes) + 5 * awkward, tree)

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.complexity, self.floats, self.size


def spellings(program: Program, X: F64, terse: bool) -> Iterator[Program]:
    """Ever shorter forms of `program`, the plain one first; each was equal on the sample rows X (features, rows).

    `terse` allows forms that nobody would write by hand (see `rewrite`).
    """
    n = X.shape[0]
    truth = values(program, X)
    best = Spelling.of(to_sympy(program, n))
    yield to_program(best.tree, n)
    beam, seen, tried, idle = [best], {best.tree}, 0, 0
    for _ in range(_ROUNDS):
        fresh: list[Spelling] = []
        for spelling in beam:
            for tree in _neighbours(spelling.tree, TERSE if terse else READABLE):
                tried += 1
                if tree not in seen:
                    seen.add(tree)
                    fresh.append(Spelling.of(tree))
        beam = _valid(sorted(fresh, key=lambda s: s.rank), X, truth)
        if not beam or tried > _CANDIDATES:
            idle = _PATIENCE
        if beam and beam[0].rank < best.rank:
            idle = 0 if beam[0].complexity < best.complexity else idle + 1
            best = beam[0]
            yield to_program(best.tree, n)
        else:
            idle += 1
        if idle >= _PATIENCE:
            return


def _neighbours(tree: Any, rules: Sequence[Rule]) -> Iterator[Any]:
    """Every tree one rule away."""
    for node in dict.fromkeys(sp.preorder_traversal(tree)):
        for rule in rules if not node.is_Atom else ():
            for other in _others(rule, node):
                yield tidy(other if node is tree else tree.xreplace({node: other}))


@lru_cache(maxsize=50_000)
def _others(rule: Rule, node: Any) -> tuple[Any, ...]:
    """What a rule makes of a node; the beam's forms share most of their nodes."""
    return tuple(dict.fromkeys(other for other in rule(node) if other != node))


def _valid(ranked: Sequence[Spelling], X: F64, truth: F64) -> list[Spelling]:
    """The first BEAM forms that are real and equal on the sample rows."""
    kept: list[Spelling] = []
    for spelling in ranked:
        if len(kept) == BEAM:
            break
        try:
            if agree(values(to_program(spelling.tree, X.shape[0]), X), truth):
                kept.append(spelling)
        except NotExpressible:
            continue
    return kept
