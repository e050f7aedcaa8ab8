"""Where a judge charges for C, the law of the highest score is chosen, by that judge's own rule."""

from __future__ import annotations

import numpy as np
import pytest

from evolve.candidate import Candidate
from evolve.choose import Judged
from evolve.scored import by_score
from harness_adapter.frontier_score import frontier_score
from harness_adapter.task import FrontierReference
from operators.program import constant

EXACT = 1e-12


def judged(cv_loss: float, complexity: int) -> Judged:
    return Judged(Candidate(constant(1.0), cv_loss, complexity), cv_loss, np.zeros(3))


def best(laws: list[Judged], reference: FrontierReference) -> Judged:
    return by_score(laws, reference, EXACT)[0]


@pytest.mark.parametrize("c_ref", [5, 13, 40])
def test_no_law_scores_higher_than_the_first(c_ref: int) -> None:
    reference = FrontierReference("d.csv", m_base=3.0, m_ref=1.0, C_ref=c_ref)
    rng = np.random.default_rng(c_ref)
    laws = [judged(float(rng.uniform(0.0, 3.0)), int(rng.integers(1, 60))) for _ in range(50)]
    scores = [frontier_score(j.cv_loss, j.candidate.complexity, reference)[1] for j in laws]
    assert frontier_score(best(laws, reference).cv_loss, best(laws, reference).candidate.complexity, reference)[
        1
    ] == max(scores)


def test_an_exact_law_beats_a_shorter_one_where_c_costs_nothing() -> None:
    reference = FrontierReference("d.csv", m_base=3.0, m_ref=0.0, C_ref=20)
    exact, short = judged(EXACT, 19), judged(1e-6, 9)
    assert best([short, exact], reference) is exact


def test_of_exact_laws_the_shortest_is_taken() -> None:
    reference = FrontierReference("d.csv", m_base=3.0, m_ref=0.0, C_ref=20)
    long, short = judged(EXACT / 7, 19), judged(EXACT / 3, 9)
    assert best([long, short], reference) is short
