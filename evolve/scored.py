"""The order of laws where the judge charges for C: by the score that the judge itself will give.

Elsewhere a law's length only counts against the chance that it fits noise. Here the trade of error against complexity is
published with the task, and the best law is by definition the one of the highest score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emit.errors import NotExpressible
from emit.frontier_complexity import lowest_form
from evolve.choose import Judged
from evolve.finish import Problem, finish
from evolve.settled import Settled
from harness_adapter.frontier_score import frontier_score
from harness_adapter.task import FrontierReference, Task

_MOST_SPELLED = 3  # laws whose cheapest spelling is worked out
_NEAR = 0.92  # of the best score: spelling a law differently seldom gains more
_SECONDS = 2.5  # for one law's cheapest spelling


def settle_scored(task: Task, reference: FrontierReference, problem: Problem, judged: Sequence[Judged],
                  snap: bool) -> Iterator[Settled]:  # fmt: skip
    """Finished laws, the best by official score first: the promising ones by their exact C, then the rest."""
    ranked = by_score(judged, reference, problem.exact)
    least = _NEAR * _score(ranked[0], ranked[0].candidate.complexity, reference, problem.exact)
    near = [j for j in ranked[:_MOST_SPELLED] if _score(j, j.candidate.complexity, reference, problem.exact) >= least]
    spelled = []
    for j in near:
        program, loss = finish(j.candidate.program, problem, snap)
        law = Settled(program, loss, j.cv_loss, tuple(judged))
        try:
            c = lowest_form(program, task.dataset.X, _SECONDS).complexity
        except NotExpressible:
            continue
        spelled.append((-_score(j, c, reference, problem.exact), c, law))
    spelled.sort(key=lambda s: s[:2])
    yield from (law for _, _, law in spelled)
    for j in ranked[len(near) :]:
        yield Settled(*finish(j.candidate.program, problem, snap), j.cv_loss, tuple(judged))


def by_score(judged: Sequence[Judged], reference: FrontierReference, exact: float) -> list[Judged]:
    """Highest score_unbounded first (contracts of Frontier-CS); of equal ones, the shortest law."""
    return sorted(judged, key=lambda j: (-_score(j, j.candidate.complexity, reference, exact), j.candidate.complexity))


def _score(j: Judged, complexity: int, reference: FrontierReference, exact: float) -> float:
    """score_unbounded by the held-out error; an exact law has none."""
    return frontier_score(0.0 if j.candidate.loss <= exact else j.cv_loss, complexity, reference)[1]
