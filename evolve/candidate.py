"""`Candidate`: a program and its score under DEAP's names, and `Front`: the hall of fame of loss against C.

DEAP's `creator` writes classes into module globals, where no worker can unpickle them; these are written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from deap import base, tools

from operators.program import Program


class LossAndComplexity(base.Fitness):  # type: ignore[misc]
    """DEAP fitness of two objectives, both minimised: the loss in the task's metric and C."""

    weights = (-1.0, -1.0)


class Candidate:
    """One program with its fitted constants, its loss and its complexity (a DEAP individual)."""

    __slots__ = ("complexity", "fitness", "loss", "origin", "program", "signature")

    def __init__(self, program: Program, loss: float, complexity: int, signature: int = 0, origin: str = "") -> None:
        self.program = program
        self.loss = float(loss)
        self.complexity = int(complexity)
        self.signature = int(signature)
        self.origin = origin
        self.fitness = LossAndComplexity((self.loss, float(self.complexity)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self.program == other.program

    def __hash__(self) -> int:
        return hash(self.program)

    def __repr__(self) -> str:
        return f"Candidate(loss={self.loss:.6g}, C={self.complexity}, nodes={len(self.program)})"


class Front(tools.HallOfFame):  # type: ignore[misc]
    """The best few candidates at every complexity, in order of C; `pareto` is the front of loss against C.

    More than the front itself is kept (`depth` laws a level, different by value), because the law that fits the
    training rows best at its length is not always the one that predicts best.
    """

    def __init__(self, depth: int = 3) -> None:
        super().__init__(None)
        self.depth = depth
        self._levels: dict[int, list[Candidate]] = {}
        self.version = 0

    def bar(self, complexity: int) -> float:
        """The loss a new candidate of this complexity has to beat to be kept."""
        level = self._levels.get(int(complexity), [])
        return level[-1].loss if len(level) >= self.depth else float("inf")

    def update(self, population: Iterable[Candidate]) -> list[Candidate]:
        """Offer candidates; returns those that improved the front proper (best loss up to their complexity)."""
        improved = []
        for candidate in population:
            if candidate.loss < self.bar(candidate.complexity) and self._insert(candidate):
                improved.append(candidate)
        self.items = [c for level in sorted(self._levels) for c in self._levels[level]]
        self.keys = [c.fitness for c in self.items]
        return improved

    def _insert(self, candidate: Candidate) -> bool:
        best_so_far = min(
            (level[0].loss for c, level in self._levels.items() if c <= candidate.complexity), default=float("inf")
        )
        level = self._levels.setdefault(candidate.complexity, [])
        twin = next((k for k, other in enumerate(level) if other.signature == candidate.signature), None)
        if twin is not None:
            if level[twin].loss <= candidate.loss:
                return False
            del level[twin]
        level.append(candidate)
        level.sort(key=lambda c: c.loss)
        del level[self.depth :]
        better = candidate.loss < best_so_far * (1.0 - 1e-9)
        self.version += better
        return better

    def pareto(self) -> list[Candidate]:
        """The candidates no other beats in both loss and complexity, by rising C."""
        out: list[Candidate] = []
        for level in sorted(self._levels):
            best = self._levels[level][0]
            if not out or best.loss < out[-1].loss:
                out.append(best)
        return out
