"""From the front of a grouped search to its law: held-out clusters decide, at last by the emitted code itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evolve.candidate import Candidate, Front
from evolve.choose import Judged
from evolve.config import RunConfig
from evolve.description import Description
from evolve.grouped.judge import cross_validate, emitted_errors, evidence, fit_thinned, fit_whole
from evolve.grouped.plain import plain
from evolve.grouped.problem import GroupedProblem
from evolve.grouped.starts import textbook
from evolve.grouped.text import compact
from evolve.settled import Settled
from fitness.windows import within
from harness_adapter.task import Task
from operators.complexity import complexity
from operators.grammar import Grammar
from operators.primitives import CONST
from operators.program import FIXED, FREE, LOCAL, Program
from operators.simplify import simplify

F64 = NDArray[np.float64]

_MOST_JUDGED = 60  # laws of the front that are judged on held-out clusters
_VARIED = (8, 3)  # the best of them, whose locals and constants are tried in simpler roles; then the best of all
_EMITTED = 6  # the best of those, judged by the emitted code
_SIMPLE = (1.0, 0.0, 2.0, 0.5, -1.0, 3.0, -2.0, 1.5)
_NEUTRAL = (1.0, 0.0)  # what a factor or a term is where another local does its work
_PER_NODE = 0.3  # nats by which a longer textbook form is less likely than a shorter one
_NO_WORSE = 0.25  # standard errors by which a simpler law may be worse


@dataclass(frozen=True)
class _Ranked:
    """A law, its errors by cluster in units of the cluster's scale, and the nats it takes to write the law down."""

    program: Program
    errors: F64
    nats: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))


class _Prices:
    """What laws cost to write down where some forms are known from textbooks."""

    def __init__(self, problem: GroupedProblem, grammar: Grammar) -> None:
        self._description = Description(grammar, problem.metric, evidence(problem))
        varying = [int(f) for f in np.flatnonzero(within(problem.data))]
        known = [simplify(law, grammar.primitives) for law in textbook(grammar, problem.data.X, varying)]
        self._known = {compact(law).shape_key for law in known if law is not None}

    def nats(self, law: Program) -> float:
        """-log of how likely a law is before any data: a textbook form, with a simple number for a constant, or any tree."""
        form = plain_form = self._description.grammar.code_length(law)
        textbook_form = float(np.log(len(self._known) or 1)) + _PER_NODE * len(law)
        if law.shape_key in self._known:
            form = min(form, textbook_form)
        elif any(_with_role(law, np.array([n]), FREE, 0.0).shape_key in self._known for n in _structural(law)):
            form = min(form, textbook_form + float(np.log(len(_SIMPLE))))
        return self._description.law(law) - plain_form + form

    def promise(self, c: Candidate) -> float:
        """Description length by the loss on the clusters that the law was fitted to."""
        return self._description.errors(c.loss) + self.nats(c.program)

    def length(self, r: _Ranked) -> float:
        """Description length: the law, and the judged rows given the law."""
        return self._description.errors(r.mean) + r.nats


def settle_grouped(
    task: Task, problem: GroupedProblem, front: Front, grammar: Grammar, config: RunConfig
) -> Iterator[Settled]:
    """Laws in the order in which they should be tried, refitted on all rows of all training clusters."""
    assert problem.thinned is not None
    prices = _Prices(problem, grammar)
    laws = _distinct([compact(c.program) for c in _candidates(front, prices) if c.program.local_slots])
    ranked = _judged(laws, problem, prices)
    for count in _VARIED:
        best = fit_thinned([r.program for r in sorted(ranked, key=prices.length)[:count]], problem)
        ranked += _judged(_simpler(best, grammar, {r.program.shape_key for r in ranked}), problem, prices)
    order = _order(ranked, prices, config.choose.standard_errors * _NO_WORSE)
    order = _by_emitted(order, task, problem, prices, config)
    scale = problem.thinned.mean_scale
    judged = tuple(_as_judged(r, scale) for r in ranked)
    for r in order[:_EMITTED]:
        program, loss = fit_whole([r.program], problem)[0]
        yield Settled(program, loss, r.mean * scale, judged)


def _judged(laws: Sequence[Program], problem: GroupedProblem, prices: _Prices) -> list[_Ranked]:
    if not laws:
        return []
    return [_Ranked(law, e, prices.nats(law)) for law, e in zip(laws, cross_validate(laws, problem), strict=True)]


def _order(ranked: Sequence[_Ranked], prices: _Prices, standard_errors: float) -> list[_Ranked]:
    """The chosen law first: the likeliest one that is no worse than that of least description length; then the next."""
    left, out = list(ranked), []
    while left:
        best = min(left, key=prices.length)
        pick = min((r for r in left if _as_good(r, best, standard_errors)), key=lambda r: (r.nats, r.mean))
        out.append(pick)
        left = [r for r in left if r is not pick]
    return out


def _as_good(one: _Ranked, best: _Ranked, standard_errors: float) -> bool:
    difference = one.errors - best.errors
    n = len(difference)
    if one is best or n < 2:
        return one is best
    return float(np.mean(difference)) <= standard_errors * float(np.std(difference, ddof=1)) / np.sqrt(n)


def _by_emitted(
    order: list[_Ranked], task: Task, problem: GroupedProblem, prices: _Prices, config: RunConfig
) -> list[_Ranked]:
    """The first laws ordered again by what their emitted modules do; those that were not judged in time come last."""
    first = order[:_EMITTED]
    seconds = 20.0 if config.time is None else min(20.0, 0.08 * config.time)
    fitted = fit_thinned([r.program for r in first], problem)
    first = [replace(r, program=program) for r, program in zip(first, fitted, strict=True)]
    errors = emitted_errors(fitted, task, problem, seconds)
    known = [replace(r, errors=e) for r, e in zip(first, errors, strict=True) if not np.isnan(e).any()]
    rest = [r for r, e in zip(first, errors, strict=True) if np.isnan(e).any()]
    return [*_order(known, prices, config.choose.standard_errors * _NO_WORSE), *rest, *order[_EMITTED:]]


def _simpler(laws: Sequence[Program], grammar: Grammar, seen: set[bytes]) -> list[Program]:
    """Legal variants: a local shared by all clusters, merged or a simple number, a constant a simple number or a local."""
    out: dict[bytes, Program] = {}
    for law in laws:
        for variant in _variants(law):
            short = simplify(variant, grammar.primitives)
            if short is None or not short.local_slots or not grammar.is_legal(short):
                continue
            short = compact(short)
            if short.shape_key not in seen:
                out.setdefault(short.shape_key, short)
    return list(out.values())


def _variants(law: Program) -> Iterator[Program]:
    yield plain(law)
    for slot in law.local_slots:
        nodes = np.flatnonzero((law.code == CONST) & (law.arg == LOCAL + slot))
        value = float(law.value[nodes[0]])
        if len(nodes) == 1:
            yield _with_role(law, nodes, FREE, value)
        for simple in dict.fromkeys((*_near(value), *_NEUTRAL)):
            yield _with_role(law, nodes, FIXED, simple)
        for other in law.local_slots:
            if other > slot:
                yield _with_role(law, nodes, LOCAL + other, value)
    for node in law.free:
        for simple in _near(float(law.value[node])):
            yield _with_role(law, np.array([node]), FIXED, simple)
        free_slot = max(law.local_slots, default=-1) + 1
        yield _with_role(law, np.array([node]), LOCAL + free_slot, float(law.value[node]))


def _near(value: float) -> list[float]:
    """The two simple numbers nearest to a value."""
    return sorted(_SIMPLE, key=lambda s: abs(s - value))[:2]


def _with_role(law: Program, nodes: NDArray[np.int64], role: int, value: float) -> Program:
    arg, values = law.arg.copy(), law.value.copy()
    arg[nodes], values[nodes] = role, value
    return Program(law.code.copy(), arg, values)


def _structural(law: Program) -> NDArray[np.int64]:
    """Nodes that hold simple numbers."""
    return np.flatnonzero((law.code == CONST) & (law.arg == FIXED) & np.isin(law.value, _SIMPLE))


def _distinct(laws: Sequence[Program]) -> list[Program]:
    return list({law.shape_key: law for law in laws}.values())


def _candidates(front: Front, prices: _Prices) -> list[Candidate]:
    """The front proper, and of the other kept laws those of least description."""
    proper = front.pareto()
    others = [c for c in front.items if c not in proper]
    others.sort(key=lambda c: (prices.promise(c), c.complexity))
    return [*proper, *others[: max(0, _MOST_JUDGED - len(proper))]]


def _as_judged(r: _Ranked, scale: float) -> Judged:
    loss = r.mean * scale
    return Judged(Candidate(r.program, loss, complexity(r.program)), loss, r.errors)
