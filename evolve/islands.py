"""One population: it asks for children to be scored and is told their scores.

Survival is by age-fitness Pareto (Schmidt & Lipson 2011): a candidate is judged among (loss, C, age), so that young
material is not driven out by old local optima before it has matured; every generation brings some of age zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from deap import base
from numpy.typing import NDArray

from evolve.config import SearchConfig
from evolve.simplifier import Simplifier
from evolve.toolbox import vary
from fitness.metrics import BAD_LOSS
from fitness.rank_kernels import dominance_counts
from fitness.score import Scored
from operators.grammar import Grammar
from operators.program import ProgramBatch
from operators.row_kernels import shape_hashes

I64 = NDArray[np.int64]

_FORGET_AFTER = 20  # generations after which a form may be tried again
_ROUNDS = 3  # attempts to replace children whose form was tried already


@dataclass(frozen=True)
class Brood:
    """Unscored children and the age of the material each is made of."""

    batch: ProgramBatch
    age: I64


class Island:
    """A population under one grammar, in arrays: `scored` (N programs with scores) and `age` (N,) in generations."""

    def __init__(
        self,
        rng: np.random.Generator,
        grammar: Grammar,
        toolbox: base.Toolbox,
        config: SearchConfig,
        simplifier: Simplifier,
    ) -> None:
        self.rng = rng
        self.simplifier = simplifier
        self.grammar = grammar
        self.toolbox = toolbox
        self.config = config
        self.generation = 0
        self.scored: Scored | None = None
        self.age: I64 = np.zeros(0, dtype=np.int64)
        self._tried: set[int] = set()

    def ask(self) -> Brood:
        """The next children: random programs at first, later offspring of the population and a few immigrants."""
        n = self.config.population
        if self.scored is None:
            return self._untried(Brood(self.toolbox.generate(self.rng, n), np.zeros(n, dtype=np.int64)))
        n_immigrants = round(self.config.immigrants * n)
        parts = [self._untried(self._immigrants(n_immigrants))]
        missing = n - len(parts[0].age)
        for _ in range(_ROUNDS):
            if missing <= 0:
                break
            brood = self._untried(self._offspring(missing))
            parts.append(brood)
            missing -= len(brood.age)
        return Brood(ProgramBatch.concatenate([p.batch for p in parts]), np.concatenate([p.age for p in parts]))

    def tell(self, scored: Scored, age: I64) -> None:
        """Take scored candidates in and keep the `population` least dominated ones."""
        self.generation += 1
        if self.generation % _FORGET_AFTER == 0:
            self._tried.clear()
        self.age = self.age + 1
        if self.scored is not None:
            scored, age = Scored.concatenate([self.scored, scored]), np.concatenate([self.age, age])
        keep = _distinct(scored)
        scored, age = scored.take(keep), age[keep]
        keep = _survivors(scored, age, self.config.population)
        self.scored, self.age = scored.take(keep), age[keep]

    def restart(self) -> None:
        """Forget the population; the next `ask` begins with random programs."""
        self.scored, self.age = None, np.zeros(0, dtype=np.int64)
        self._tried.clear()

    def _immigrants(self, n: int) -> Brood:
        return Brood(self.toolbox.generate(self.rng, n), np.zeros(n, dtype=np.int64))

    def _offspring(self, n: int) -> Brood:
        assert self.scored is not None
        batch, parent = vary(self.rng, self.toolbox, self.scored, n, self.config.crossover)
        return Brood(batch, self.age[parent])

    def _untried(self, brood: Brood) -> Brood:
        """The children simplified, without those whose form (constants aside) was scored before on this island."""
        b = self.simplifier.all(brood.batch, self.grammar.primitives)
        legal = self.grammar.legal(b)
        fresh = []
        for row, key in enumerate(shape_hashes(b.code, b.arg, b.value, b.length).tolist()):
            if legal[row] and key not in self._tried:
                self._tried.add(key)
                fresh.append(row)
        rows = np.array(fresh, dtype=np.int64)
        return Brood(b.take(rows), brood.age[rows])


def _distinct(scored: Scored) -> I64:
    """Rows without bad losses and without twins: of programs equal by value the one of lowest C stays."""
    order = np.lexsort((scored.loss, scored.complexity))
    order = order[scored.loss[order] < BAD_LOSS]
    _, first = np.unique(scored.signature[order], return_index=True)
    return np.sort(order[first])


def _survivors(scored: Scored, age: I64, n: int) -> I64:
    """The n least dominated rows among (loss, C, age); among equals the lower loss, then the earlier row."""
    if len(scored) <= n:
        return np.arange(len(scored))
    counts = dominance_counts(scored.loss, scored.complexity, age)
    order = np.lexsort((np.arange(len(scored)), scored.loss, counts))
    return np.sort(order[:n])
