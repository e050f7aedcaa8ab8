"""Proof that a solution.py is what the Frontier-CS judge will accept: run as there, judged as there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emit import source_rules
from emit.errors import NotExpressible
from emit.frontier_complexity import judged
from emit.isolation import run_fresh
from emit.verify import TIMEOUT, TOLERANCE, Report, relative_difference

F64 = NDArray[np.float64]

_THEIR_NEEDS = ("mpmath", "gmpy2", "dateutil", "pytz", "tzdata", "six")  # imported by numpy, sympy or pandas


@dataclass(frozen=True)
class SolutionReport(Report):
    """A Solution as the judge sees it on the given data."""

    expression: str = ""
    complexity: int | None = None
    mse: float = float("nan")


def verify_solution(path: Path, X: F64, y: F64, timeout: float = TIMEOUT) -> SolutionReport:
    """Run a solution.py on X (features, rows), y as the judge does, with only the judge's packages importable."""
    tree = source_rules.parse(path.read_text(encoding="utf-8"))
    if isinstance(tree, source_rules.Finding):
        return SolutionReport((str(tree),))
    problems = [str(f) for f in source_rules.solution_code(tree)]
    if problems:
        return SolutionReport(tuple(problems))
    job = {"runner": "solution", "path": str(path), "packages": [*source_rules.JUDGE_PACKAGES, *_THEIR_NEEDS]}
    answer, _ = run_fresh(job, {"X": X, "y": y}, timeout)
    if "error" in answer:
        return SolutionReport((f"the solution fails: {answer['error']}",))
    return judge_answer(answer, X, y)


def judge_answer(answer: Mapping[str, Any], X: F64, y: F64) -> SolutionReport:
    """What the judge makes of the dict that solve returned."""
    if answer["type"] != "dict":
        return SolutionReport((f"solve returns {answer['type']}, not a dict",))
    text = answer["expression"]
    if not isinstance(text, str) or not text.strip():
        return SolutionReport((f"the expression is {text!r}, not a text",))
    try:
        complexity, values = judged(text, X)
    except NotExpressible as refusal:
        return SolutionReport((f"the expression {text[:80]!r}: {refusal}",), expression=text)
    given = answer["predictions"]
    problems = list(_answer_problems(answer, complexity, values, y))
    predictions = np.array(given) if given is not None and len(given) == len(y) else values
    mse = float(np.mean((predictions - y) ** 2)) if predictions.shape == y.shape else float("nan")
    if not np.isfinite(mse):
        problems.append("the mean squared error is not finite")
    return SolutionReport(tuple(problems), 0.0, float(answer["seconds"]), text, complexity, mse)


def _answer_problems(answer: Mapping[str, Any], complexity: int, values: F64, y: F64) -> Iterator[str]:
    given = answer["predictions"]
    if given is None and values.shape != y.shape:
        yield "a constant law needs predictions: the judge gets one value for all rows"
    if given is not None and len(given) != len(y):
        yield f"{len(given)} predictions for {len(y)} rows"
    elif given is not None:
        expected = np.array(np.broadcast_to(values, y.shape))
        difference = relative_difference(np.array(given), expected, float(np.std(y)))
        if not difference <= TOLERANCE:
            yield f"predictions differ from what the expression gives by {difference:.3g}"
    if answer["complexity"] is not None and answer["complexity"] != complexity:
        yield f"details give the complexity {answer['complexity']}, the true C is {complexity}"
    if answer["details"] not in ("dict", "NoneType"):
        yield f"details is {answer['details']}, not a dict"
