"""The end of a run: from the front to the one law, as chosen, finished and guarded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from evolve.candidate import Candidate, Front
from evolve.choose import Judged, choose, judge
from evolve.config import RunConfig
from evolve.finish import Problem, finish, guarded
from harness_adapter.task import Task
from operators.complexity import complexity
from operators.grammar import Grammar
from operators.program import Program

_TRIES = 6  # laws that may fail their guard or their verification before a constant is all that is left
_MOST_JUDGED = 60  # laws of the front that are judged on the folds


@dataclass(frozen=True)
class Settled:
    """The law of a run: its program, its loss on all rows, its held-out loss, and all judged laws of the front."""

    program: Program
    loss: float
    cv_loss: float
    judged: tuple[Judged, ...]


def settle(task: Task, problem: Problem, front: Front, grammar: Grammar, config: RunConfig) -> Iterator[Settled]:
    """Laws in the order in which they should be tried: the chosen one first, then the next best.

    Each is polished, snapped and proven (or guarded) finite over the task's ranges; laws for which that cannot be
    done are left out.
    """
    judged = judge(_judged_candidates(front), problem.data, problem.folds, problem.metric, problem.threads)
    left = list(judged)
    for _ in range(min(_TRIES, len(left))):
        pick = choose(
            left, problem.metric, grammar, problem.exact, config.choose.standard_errors, task.max_constants
        )
        left = [j for j in left if j is not pick]
        law = _finished(pick, task, problem, config)
        if law is not None:
            yield replace(law, judged=tuple(judged))


def _finished(pick: Judged, task: Task, problem: Problem, config: RunConfig) -> Settled | None:
    program, loss = finish(pick.candidate.program, problem, config.choose.snap)
    allowed = task.kind != "frontier_cs"  # its language has no clip to guard with
    safe = guarded(program, task.ranges, problem.data) if allowed else program
    if safe is None:
        return None
    return Settled(safe, loss, pick.cv_loss, ())


def _judged_candidates(front: Front) -> list[Candidate]:
    """The front proper, and of the other kept laws those with the lowest loss."""
    proper = front.pareto()
    others = [c for c in front.items if c not in proper]
    others.sort(key=lambda c: (c.loss, complexity(c.program)))
    return proper + others[: max(0, _MOST_JUDGED - len(proper))]
