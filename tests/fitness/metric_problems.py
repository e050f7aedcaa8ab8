"""For each metric a synthetic law whose data suit it: outliers, decades, zeros; for a test and a bench's table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitness.constants import evaluate, fit, predict_one
from fitness.data import Dataset
from operators.program import Program, ProgramBatch
from operators.text import parse

_LAW, _START = "2.0*sin(1.3*x) + 0.5*z**1.7 + 1.5", "1.0*sin(1.0*x) + 1.0*z**1.5 + 1.0"
_DECADES, _DECADES_START = "3.0*exp(1.7*x)*z**2.2", "1.0*exp(1.0*x)*z**1.0"


@dataclass(frozen=True)
class Problem:
    """`exact`: the metric's optimum is the law itself; `gains`: least squares is clearly worse in the metric."""

    metric: str
    what: str
    law: Program
    start: Program
    data: Dataset
    exact: bool
    gains: bool

    def least_squares(self) -> Program:
        """The start with constants fitted by plain least squares, whatever the metric."""
        result = fit(ProgramBatch.of([self.start]), self.data, "rmse", 100)
        return self.start.with_values(result.value[0, : len(self.start)])

    def loss(self, program: Program) -> float:
        return float(evaluate(ProgramBatch.of([program]), self.data, self.metric)[0])


def _problem(metric: str, what: str, law: str, start: str, exact: bool, gains: bool) -> Problem:
    rng = np.random.default_rng(21)
    X = rng.uniform(0.2, 3.0, (2, 240))
    names = ["x", "z"]
    y = predict_one(parse(law, names), X)
    if "outliers" in what:
        y[::9] *= rng.uniform(3.0, 20.0, y[::9].shape)
    if "half of the rows" in what:
        y[: len(y) * 2 // 5] += rng.exponential(5.0, len(y) * 2 // 5)
    if "relative noise" in what:
        y *= np.exp(0.1 * rng.standard_normal(len(y)))
    if "noise" in what and "relative" not in what:
        y += 0.1 * rng.standard_normal(len(y))
    if "zeros" in what:
        y[::20] = 0.0
    return Problem(metric, what, parse(law, names), parse(start, names), Dataset.of(X, y, names), exact, gains)


PROBLEMS = [
    _problem("rmse", "noise", _LAW, _START, exact=False, gains=False),
    _problem("mse", "noise", _LAW, _START, exact=False, gains=False),
    _problem("r2", "noise", _LAW, _START, exact=False, gains=False),
    _problem("mae", "one row in nine is an outlier (outliers)", _LAW, _START, exact=True, gains=True),
    _problem("mdae", "two fifths, nearly half of the rows, are too high", _LAW, _START, exact=True, gains=True),
    _problem("smape", "decades, outliers", _DECADES, _DECADES_START, exact=True, gains=True),
    _problem("mape", "decades, relative noise, zeros", _DECADES, _DECADES_START, exact=False, gains=True),
    _problem("log_mae", "decades, outliers", _DECADES, _DECADES_START, exact=True, gains=True),
]
