"""The end of a run: from the front to the one law, as chosen, finished and guarded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evolve.candidate import Candidate, Front
from evolve.choose import Judged, choose, judge
from evolve.config import RunConfig
from evolve.description import Description
from evolve.finish import Problem, finish
from evolve.grouped.problem import GroupedProblem
from evolve.grouped.settle import settle_grouped
from evolve.guarding import safe
from evolve.scored import settle_scored
from evolve.settled import Settled
from harness_adapter.task import Task
from operators.grammar import Grammar

_MOST_JUDGED = 60  # laws of the front that are judged on the folds


def settle(task: Task, problem: Problem, front: Front, grammar: Grammar, config: RunConfig) -> Iterator[Settled]:
    """Laws in the order in which they should be tried: the chosen one first, then the next best.

    Each is polished, snapped and proven (or guarded) finite over the task's ranges; laws for which that cannot be
    done are left out.
    """
    if isinstance(problem, GroupedProblem):
        yield from settle_grouped(task, problem, front, grammar, config)
        return
    description = Description(grammar, problem.metric, problem.data.n_rows, task.max_constants, problem.noise)
    candidates = _judged_candidates(front, description)
    judged = judge(candidates, problem.data, problem.folds, problem.metric, problem.threads)
    if task.frontier is not None:
        yield from settle_scored(task, task.frontier, problem, judged, config.choose.snap)
        return
    left = list(judged)
    while left:
        pick = choose(left, description, problem.exact, config.choose.standard_errors)
        left = [j for j in left if j is not pick]
        law = _finished(pick, task, problem, config)
        if law is not None:
            yield replace(law, judged=tuple(judged))


def _finished(pick: Judged, task: Task, problem: Problem, config: RunConfig) -> Settled | None:
    exact = pick.candidate.loss <= problem.exact
    if safe(pick.candidate.program, exact, task) is None:  # finishing it would be in vain
        return None
    program, loss = finish(pick.candidate.program, problem, config.choose.snap)
    law = safe(program, loss <= problem.exact, task)
    return None if law is None else Settled(law, loss, pick.cv_loss, ())


def _judged_candidates(front: Front, description: Description) -> list[Candidate]:
    """The front proper, and of the other kept laws those of least description."""
    proper = front.pareto()
    others = [c for c in front.items if c not in proper]
    others.sort(key=lambda c: (description.of(c.program, c.loss), c.complexity))
    return proper + others[: max(0, _MOST_JUDGED - len(proper))]
