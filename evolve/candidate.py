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

    @property
    def parameters(self) -> int:
        """Numbers fitted to the data: constants of all rows, and locals of each cluster."""
        return self.program.n_constants + len(self.program.local_slots)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self.program == other.program

    def __hash__(self) -> int:
        return hash(self.program)

    def __repr__(self) -> str:
        return f"Candidate(loss={self.loss:.6g}, C={self.complexity}, nodes={len(self.program)})"


class Front(tools.HallOfFame):  # type: ignore[misc]
    """The best few candidates of every complexity and number of parameters; `pareto` is the front of loss against C.

    More than the front itself is kept (`depth` laws a level, different by form and value), because the law that fits the
    training rows best at its length is not always the one that predicts best: ``0.0021*G**2*H`` is as long as
    ``0.0025*G**1.94*H`` and never fits better, yet it is the one to believe.
    """

    def __init__(self, depth: int = 3) -> None:
        super().__init__(None)
        self.depth = depth
        self._levels: dict[tuple[int, int], list[Candidate]] = {}  # by C and parameters
        self._by_value: dict[int, tuple[int, int]] = {}  # the level at which values were last kept

    def bar(self, complexity: int, parameters: int) -> float:
        """The loss a new candidate of this complexity and number of parameters has to beat to be kept."""
        level = self._levels.get((complexity, parameters), [])
        return level[-1].loss if len(level) >= self.depth else float("inf")

    def update(self, population: Iterable[Candidate]) -> list[Candidate]:
        """Offer candidates; returns those that none of at most their complexity and parameters equals in loss."""
        improved, changed = [], False
        for candidate in population:
            if candidate.loss < self.bar(candidate.complexity, candidate.parameters):
                changed = True
                if self._insert(candidate):
                    improved.append(candidate)
        if not changed:
            return []
        self.items = [c for level in sorted(self._levels) for c in self._levels[level]]
        self.keys = [c.fitness for c in self.items]
        return improved

    def _insert(self, candidate: Candidate) -> bool:
        own = candidate.complexity, candidate.parameters
        known = self._by_value.get(candidate.signature, own)
        if known != own and known[0] <= own[0] and known[1] <= own[1]:
            return False
        best_so_far = min(
            (kept[0].loss for c, kept in self._levels.items() if c[0] <= own[0] and c[1] <= own[1]),
            default=float("inf"),
        )
        level = self._levels.setdefault(own, [])
        twin = next((k for k, other in enumerate(level) if _same(other, candidate)), None)
        if twin is not None:
            if level[twin].loss <= candidate.loss:
                return False
            del level[twin]
        level.append(candidate)
        level.sort(key=lambda c: c.loss)
        del level[self.depth :]
        self._by_value[candidate.signature] = own
        return candidate.loss < best_so_far * (1.0 - 1e-9)

    def pareto(self) -> list[Candidate]:
        """The candidates no other beats in both loss and complexity, by rising C."""
        out: list[Candidate] = []
        for best in sorted((level[0] for level in self._levels.values()), key=lambda c: (c.complexity, c.loss)):
            if not out or best.loss < out[-1].loss:
                out.append(best)
        return out


def _same(one: Candidate, other: Candidate) -> bool:
    """Equal by value, or by form with constants fitted more or less well?"""
    return one.signature == other.signature or one.program.shape_key == other.program.shape_key
