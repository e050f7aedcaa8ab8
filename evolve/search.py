"""The search: ask the islands, evaluate, tell them, keep the front, refine what entered it, stop.

`generations` is a generator, so that whoever drives it decides about printing, files and time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.candidate import Candidate, Front
from evolve.compiling import VARIATION, precompiler
from evolve.config import SearchConfig
from evolve.description import Description
from evolve.exact import Rounding
from evolve.graft import Grafter
from evolve.islands import Island
from evolve.refine import neighbours
from evolve.simplifier import Simplifier
from evolve.timing import Timer
from evolve.toolbox import make_toolbox
from fitness.evaluator import Evaluator
from fitness.metrics import BAD_LOSS
from fitness.resolution import Resolution
from fitness.score import Scored
from operators.grammar import Grammar
from operators.program import Program, ProgramBatch, apply, constant, variable

_DEEP = 30  # descent steps for a law of the front and its neighbours
_REFINED_PER_GENERATION = 4
_MIGRANTS = 8
_LEVELS = 256  # more than a program has parameters
_WORTH = 1.0  # nats that a law of the front must save to count as progress
_PROPOSALS_PER_GENERATION = 200
_PLAIN = {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "min", "max", "abs"}


class Proposals(Protocol):
    """A source of programs beside variation."""

    @property
    def exhausted(self) -> bool:
        """Will nothing more come?"""

    def take(self, most: int) -> list[Program]:
        """Up to `most` programs that are ready."""


@dataclass(frozen=True)
class State:
    """What a generation ended with."""

    generation: int
    evaluations: int
    best: Candidate
    improved: bool
    reason: str | None  # why the search stops here, or None


class Search:
    """One search of one grammar on one evaluator.

    `description` says which laws pay for their length. `proposals` brings programs found by other means than variation;
    they are scored as they come. `starts` are known laws to begin with. `grafter` extends the laws that enter the front.
    `grow` gives the evaluator more rows, if it has any, when the front has settled on those it uses. `resolution` refuses
    oscillations too fast for the rows. `rounding` knows laws that are exact but for the digits of the inputs; what such a
    law leaves is exact for all others. Without a budget of evaluations the search runs until its law is exact or the front
    has settled; the caller may stop at any generation.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        grammar: Grammar,
        evaluator: Evaluator,
        config: SearchConfig,
        exact: float,
        description: Description,
        proposals: Proposals | None = None,
        starts: Sequence[Program] = (),
        grafter: Grafter | None = None,
        grow: Callable[[], bool] = lambda: False,
        resolution: Resolution | None = None,
        rounding: Rounding | None = None,
        max_evaluations: int | None = None,
    ) -> None:
        self.evaluator = evaluator
        self.config = config
        self.grammar = grammar
        self.exact = exact
        self.description = description
        self.front = Front(config.front_depth)
        self._proposals = proposals
        self._starts = list(starts)
        self._grafter = grafter
        self._grow = grow
        self._resolution = resolution
        self._rounding = rounding
        self.timer = Timer()
        self._simplifier = Simplifier(wait=max_evaluations is not None, timer=self.timer)
        self._max_evaluations = max_evaluations
        self._refine: list[Candidate] = []
        self._refined: set[bytes] = set()
        self._described: list[tuple[int, float]] = []  # C and nats of the front that the last generation left
        self._exact_in: int | None = None  # C of its exact law
        self._paid = False  # did a law that pays for its length enter the front in this generation?
        self._moved_at = 0  # evaluations when one last did
        self._generation = 0
        grammars = island_grammars(grammar, config.islands)
        self.islands = [
            Island(child, g, make_toolbox(g, evaluator, config), config, self._simplifier)
            for child, g in zip(rng.spawn(config.islands), grammars, strict=True)
        ]

    def begin_with(self, laws: Sequence[Program]) -> None:
        """Score these laws first; those that the grammar forbids are left out."""
        self._starts += [law for law in laws if self.grammar.is_legal(law)]

    def generations(self) -> Iterator[State]:
        """Run generation after generation; the last state yielded carries the reason for stopping."""
        self._offer(self._deep([*self._starts, *trivial_laws(self.grammar)]), "start")
        precompiler().wait(VARIATION)
        while True:
            self._paid = False
            self._remember_front()
            for island in self.islands:
                self._generation_of(island)
            self._propose()
            self._refine_front()
            self._migrate()
            self._generation += 1
            if self._paid:
                self._moved_at = self.evaluator.evaluations
            reason = self._reason()
            yield State(self._generation, self.evaluator.evaluations, self.front.pareto()[-1], self._paid, reason)
            if reason:
                return

    def _generation_of(self, island: Island) -> None:
        with self.timer.phase("ask"):
            brood = island.ask()
        with self.timer.phase("evaluate"):
            scored = self._floored(island.toolbox.map(brood.batch))
        with self.timer.phase("tell"):
            self._tell(island, scored, brood.age)
        self._offer(scored, "evolution")

    def _propose(self) -> None:
        """Score the newest proposals and let them live among the islands."""
        if self._proposals is None or self._proposals.exhausted:
            return
        with self.timer.phase("seeding"):
            programs = [p for p in self._proposals.take(_PROPOSALS_PER_GENERATION) if self.grammar.is_legal(p)]
        if programs:
            self._share(self._deep(programs), "proposal")

    def _refine_front(self) -> None:
        """Try all neighbours of the laws that entered the front last, those of least description first."""
        queue, self._refine = self._refine, []
        queue = [c for c in queue if c.program.shape_key not in self._refined]
        queue.sort(key=lambda c: (self._nats(c), c.loss))
        programs: list[Program] = []
        for candidate in queue[:_REFINED_PER_GENERATION]:
            self._refined.add(candidate.program.shape_key)
            with self.timer.phase("refine"):
                programs += [candidate.program, *neighbours(candidate.program, self.grammar, self._simplifier)]
            if self._grafter is not None:
                with self.timer.phase("graft"):
                    programs += self._grafter.grafts(candidate.program)
        self._refine = queue[_REFINED_PER_GENERATION : 8 * _REFINED_PER_GENERATION]
        if programs:
            self._share(self._deep(programs), "refined")

    def _share(self, scored: Scored, origin: str) -> None:
        """Offer to the front, and hand what is finite to one island, as young material."""
        self._offer(scored, origin)
        good = np.flatnonzero(scored.loss < BAD_LOSS)
        island = self.islands[self._generation % len(self.islands)]
        if len(good) and island.scored is not None:
            with self.timer.phase("tell"):
                self._tell(island, scored.take(good), np.zeros(len(good), dtype=np.int64))

    def _tell(self, island: Island, scored: Scored, age: NDArray[np.int64]) -> None:
        """Tell an island scores, those below the noise as if they were at it: there the shorter law is the better one."""
        noisy = scored.loss > self.exact
        island.tell(
            replace(scored, loss=np.where(noisy, np.maximum(scored.loss, self.description.noise), scored.loss)), age
        )

    def _offer(self, scored: Scored, origin: str) -> None:
        with self.timer.phase("front"):
            self._enter(scored, origin)

    def _enter(self, scored: Scored, origin: str) -> None:
        """Let into the front what beats its bar, and remember it for refinement."""
        level, which = np.unique(scored.complexity * _LEVELS + scored.batch.parameters(), return_inverse=True)
        bar = np.array([self.front.bar(*divmod(k, _LEVELS)) for k in level.tolist()])[which]
        rows = np.flatnonzero((scored.loss < bar) & (scored.loss < BAD_LOSS) & ~self._fits_noise(scored))
        rows = rows[np.lexsort((scored.loss[rows], scored.complexity[rows]))]
        improved = self.front.update(
            Candidate(scored.batch[r], scored.loss[r], int(scored.complexity[r]), int(scored.signature[r]), origin)
            for r in rows
        )
        if improved:
            self._refine += improved
            self._paid = self._paid or any(self._pays(c) for c in improved)

    def _remember_front(self) -> None:
        """What the laws of this generation have to improve on."""
        front = self.front.pareto()
        if self._rounding is not None:
            rounded = (c.loss for c in front if c.loss > self.exact and self._rounding.explains(c.program, c.loss))
            self.exact = max(rounded, default=self.exact)
        self._described = [(c.complexity, self._nats(c)) for c in front]
        self._exact_in = min((c.complexity for c in front if c.loss <= self.exact), default=None)

    def _fits_noise(self, scored: Scored) -> NDArray[np.bool_]:
        """Inexact laws below the noise that are longer than the shortest law there, (P,)."""
        noise = self.description.noise
        enough = min((c.complexity for c in self.front.pareto() if c.loss <= noise), default=np.inf)
        return (scored.loss <= noise) & (scored.loss > self.exact) & (scored.complexity > enough)

    def _pays(self, candidate: Candidate) -> bool:
        """Does a new law save more nats than its length costs, next to the front that the last generation left?

        An exact law does; once there is one, nothing but a shorter exact law is progress.
        """
        exact = candidate.loss <= self.exact
        if self._exact_in is not None:
            return exact and candidate.complexity < self._exact_in
        if exact:
            return True
        shorter = [nats for c, nats in self._described if c <= candidate.complexity]
        return not shorter or self._nats(candidate) < min(shorter) - _WORTH

    def _nats(self, candidate: Candidate) -> float:
        return self.description.of(candidate.program, candidate.loss)

    def _migrate(self) -> None:
        """Every `migrate_every` generations each island sees a few laws of the front."""
        if len(self.islands) < 2 or self._generation % self.config.migrate_every:
            return
        laws = self.front.pareto()[-_MIGRANTS:]
        for island in self.islands:
            legal = [c for c in laws if island.grammar.is_legal(c.program)]
            if legal:
                with self.timer.phase("migrate"):
                    self._tell(island, self._as_scored(legal), np.zeros(len(legal), dtype=np.int64))

    def _as_scored(self, candidates: Sequence[Candidate]) -> Scored:
        return Scored(
            self._batch([c.program for c in candidates]),
            np.array([c.loss for c in candidates]),
            np.array([c.complexity for c in candidates], dtype=np.int64),
            np.array([c.signature for c in candidates], dtype=np.uint64),
        )

    def _reason(self) -> str | None:
        used = self.evaluator.evaluations
        if self._max_evaluations is not None and used >= self._max_evaluations:
            return "evaluations: the budget is used up"
        still = used - self._moved_at
        exact = self.front.pareto()[-1].loss <= self.exact
        if still >= self.config.growth_patience and self._grow():
            self._rescore()
            return None
        if exact and still >= self.config.exact_patience:
            return "exact: the law meets every row to rounding, and no shorter one was found"
        if self.config.settle and still >= self.config.patience:
            return f"settled: no law that pays for its length was found for {still} evaluations"
        return None

    def _rescore(self) -> None:
        """The rows have changed: score the front and the islands anew."""
        laws, self.front = [c.program for c in self.front.items], Front(self.config.front_depth)
        self._offer(self._deep(laws), "rescored")
        for island in self.islands:
            if island.scored is not None:
                scored, age = self._floored(island.toolbox.map(island.scored.batch)), island.age
                island.restart()
                self._tell(island, scored, age)
        self._moved_at = self.evaluator.evaluations

    def _deep(self, programs: Sequence[Program]) -> Scored:
        with self.timer.phase("evaluate deep"):
            return self._floored(self.evaluator.evaluate(self._batch(programs), _DEEP))

    def _floored(self, scored: Scored) -> Scored:
        """Below exactness there is nothing to gain: no term is worth what it takes off the rounding error.

        Inexact laws with an oscillation that the rows cannot resolve are as bad as can be.
        """
        loss = np.maximum(scored.loss, self.exact)
        if self._resolution is not None:
            loss[self._resolution.unresolved(scored.batch) & (loss > self.exact)] = BAD_LOSS
        return replace(scored, loss=loss)

    def _batch(self, programs: Sequence[Program]) -> ProgramBatch:
        return ProgramBatch.of(programs, self.grammar.max_length)


def island_grammars(grammar: Grammar, n: int) -> list[Grammar]:
    """The full grammar for even islands; for odd ones the plain one without trigonometry, min and max."""
    plain = tuple(p for p in grammar.primitives if p not in _PLAIN)
    return [grammar if k % 2 == 0 else replace(grammar, primitives=plain, _tables={}) for k in range(n)]


def trivial_laws(grammar: Grammar) -> list[Program]:
    """A constant, and a straight line in each feature: something to stand on before anything is found."""
    laws = [constant(1.0)]
    for feature in grammar.allowed_features:
        laws.append(apply("add", constant(0.0), apply("mul", constant(1.0), variable(feature))))
    return [law for law in laws if grammar.is_legal(law)]
