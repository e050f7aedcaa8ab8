"""A search ready to run on a grouped task."""

from __future__ import annotations

import numpy as np

from evolve.config import RunConfig
from evolve.description import Description
from evolve.grouped.judge import evidence
from evolve.grouped.problem import GroupedProblem, sampled
from evolve.grouped.scan import FormScan
from evolve.grouped.starts import textbook
from evolve.search import Search
from fitness.grouped import Calibrator, GroupedEvaluator
from fitness.windows import within
from operators.grammar import Grammar


def open_grouped(
    problem: GroupedProblem, grammar: Grammar, rng: np.random.Generator, sample_rng: np.random.Generator,
    config: RunConfig,
) -> tuple[Search, GroupedEvaluator]:  # fmt: skip
    """Search and evaluator: textbook laws as starts, linear forms as proposals, the rest is evolution."""
    assert problem.thinned is not None
    sample = sampled(problem.thinned, sample_rng)
    evaluator = GroupedEvaluator(problem.thinned, sample, problem.threads)
    varying = [int(f) for f in np.flatnonzero(within(problem.data))]
    search = Search(
        rng, grammar, evaluator, config.search, problem.exact,
        Description(grammar, problem.metric, evidence(problem)),
        proposals=FormScan(Calibrator(sample, problem.threads), grammar, varying),
        starts=textbook(grammar, problem.data.X, varying),
        max_evaluations=config.evaluations,
    )  # fmt: skip
    return search, evaluator
