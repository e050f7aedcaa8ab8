"""The Frontier-CS score of a law: how near its MSE comes to the reference's, less 1% for each step of complexity."""

from __future__ import annotations

import math

from harness_adapter.task import FrontierReference

_SAME = 1e-12  # m_base and m_ref this close leave nothing to score between


def frontier_score(mse: float, complexity: int, reference: FrontierReference) -> tuple[float, float]:
    """(score, score_unbounded): 100 is the reference's own error at its complexity or less; score lies in [0, 100].

    An MSE that is NaN scores (0, 0).
    """
    if math.isnan(mse):
        return 0.0, 0.0
    unbounded = 100.0 * _base(mse, reference) * 0.99 ** max(complexity - reference.C_ref, 0)
    return max(0.0, min(100.0, unbounded)), unbounded


def _base(mse: float, reference: FrontierReference) -> float:
    gap = reference.m_base - reference.m_ref
    if abs(gap) < _SAME:
        return 1.0 if mse <= reference.m_ref else 0.0
    return (reference.m_base - mse) / gap
