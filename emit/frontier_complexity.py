"""The count C that the Frontier-CS judge charges, and the equal form of a law that has the lowest.

``C = 2 * binary + unary`` is taken over the tree that sympy makes of the text: differences count twice, numbers are
multiplied into sums, exp(2*z) costs more than a power of a number. So the same law has many prices; `lowest_form`
finds a cheap one and proves on data that it is still the same law. All of it runs in a process that can be killed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emit.errors import NotExpressible
from emit.evaluate import agree, fold_constants, values
from emit.source import FRONTIER, expression
from emit.worker import SHARED, WorkerFailed, WorkerTimeout
from operators.primitives import CONST, OPCODE
from operators.program import FIXED, FREE, Program

F64 = NDArray[np.float64]

TIMEOUT = 8.0
_SEARCH_SHARE = 0.75  # of the time for shorter forms; the rest is for reading the result, by a new worker if need be
_SAMPLE = 48
_MAX_NODES = 200


@dataclass(frozen=True)
class LowForm:
    """A law in its cheapest known form: the program, its text over x1 to xn and its exact C.

    `note` says why the search for a shorter form ended early, if it did.
    """

    program: Program
    text: str
    complexity: int
    note: str = ""

    @property
    def price(self) -> tuple[int, int]:
        return self.complexity, len(self.text)


def feature_names(n: int) -> tuple[str, ...]:
    """x1 to xn, what the judge calls the columns of X."""
    return tuple(f"x{i + 1}" for i in range(n))


def frontier_text(program: Program, n_features: int) -> str:
    """The law as the judge reads it, numbers folded. Raises NotExpressible (tan, abs, min, max; not real or finite)."""
    return expression(fold_constants(program), feature_names(n_features), FRONTIER)


def tree_complexity(text: str, n_features: int, timeout: float = TIMEOUT) -> int:
    """C of a text over x1 to xn exactly as the judge counts it.

    Raises NotExpressible, with the reason, for what is no Frontier-CS law or takes sympy longer than `timeout` seconds.
    """
    job = {"job": "complexity", "text": text, "n_features": n_features}
    complexity: int = _single(job, timeout)["complexity"]
    return complexity


def judged(text: str, X: F64, timeout: float = TIMEOUT) -> tuple[int, F64]:
    """(C, values on X (features, rows)) as the judge computes them from a text; a constant law gives one value."""
    answer = _single({"job": "judge", "text": text, "X": X.tolist()}, timeout)
    return int(answer["complexity"]), np.array(answer["values"], dtype=np.float64)


def _single(job: dict[str, Any], timeout: float) -> dict[str, Any]:
    try:
        (answer,) = list(SHARED.run(job, timeout))
    except WorkerTimeout:
        raise NotExpressible(f"sympy does not finish reading the expression within {timeout:g} s") from None
    except WorkerFailed as error:
        raise NotExpressible(str(error)) from None
    if "refused" in answer:
        raise NotExpressible(str(answer["refused"]))
    return dict(answer)


def lowest_form(program: Program, X: F64, timeout: float = TIMEOUT, terse: bool = True) -> LowForm:
    """The spelling of a law with the lowest C, equal to it within 1e-9 on every row of X (features, rows).

    `terse` allows spellings nobody would write by hand. When time (in all) runs out the best form so far is given, at
    worst the plain one. Raises NotExpressible if the law has no Frontier-CS form at all or is not finite on a row of X.
    """
    n = X.shape[0]
    plain = whole_exponents(fold_constants(program))
    truth = values(plain, X)
    if not np.isfinite(truth).all():
        row = int(np.flatnonzero(~np.isfinite(truth))[0])
        raise NotExpressible(f"the law is not a finite real number on data row {row + 1}")
    deadline = time.monotonic() + timeout
    best = _measured(plain, n, timeout)
    forms, note = shorter_forms(plain, X, _SEARCH_SHARE * (deadline - time.monotonic()), terse)
    for form in reversed(forms):
        candidate = _measured_or_none(form, n, max(deadline - time.monotonic(), 0.1))
        if candidate is not None and candidate.price < best.price and agree(values(form, X), truth):
            return LowForm(form, candidate.text, candidate.complexity, note)
    return LowForm(plain, best.text, best.complexity, note)


def shorter_forms(program: Program, X: F64, timeout: float, terse: bool) -> tuple[list[Program], str]:
    """Equal forms, ever shorter, and why there may be no more. Checked on a sample of X only: check on all rows."""
    if len(program) > _MAX_NODES:
        return [], f"{len(program)} nodes are too many to look for a shorter form"
    job = {
        "job": "shorten", "code": program.code.tolist(), "arg": program.arg.tolist(), "value": program.value.tolist(),
        "X": probe_rows(X).tolist(), "terse": terse,
    }  # fmt: skip
    forms: list[Program] = []
    try:
        for answer in SHARED.run(job, timeout):
            if "refused" in answer:
                return forms, str(answer["refused"])
            arrays = (np.array(answer["code"], np.uint8), np.array(answer["arg"], np.int16), np.array(answer["value"]))
            forms.append(Program(*arrays))
    except WorkerTimeout:
        return forms, f"the search for a shorter form was stopped after {timeout:.1f} s"
    except WorkerFailed as error:
        return forms, str(error)
    return forms, ""


def probe_rows(X: F64) -> F64:
    """Rows spread over X, and two of them once more with each feature in turn set to 0, where 0 is in its range."""
    rows = np.unique(np.linspace(0, X.shape[1] - 1, _SAMPLE).astype(int))
    sample = X[:, rows]
    zeros = []
    for k in range(X.shape[0]):
        if X[k].min() <= 0.0 <= X[k].max():
            probe = sample[:, :2].copy()
            probe[k] = 0.0
            zeros.append(probe)
    return np.concatenate([sample, *zeros], axis=1)


def whole_exponents(program: Program) -> Program:
    """Exponents that are whole numbers become structural integers: exact, and finite for a negative base."""
    arg = program.arg.copy()
    for i in np.flatnonzero(program.code == OPCODE["pow"]):
        exponent = i - 1
        if program.code[exponent] == CONST and arg[exponent] == FREE and float(program.value[exponent]).is_integer():
            arg[exponent] = FIXED
    return Program(program.code, arg, program.value)


def _measured(program: Program, n: int, timeout: float) -> LowForm:
    text = frontier_text(program, n)
    return LowForm(program, text, tree_complexity(text, n, timeout))


def _measured_or_none(program: Program, n: int, timeout: float) -> LowForm | None:
    try:
        return _measured(program, n, timeout)
    except NotExpressible:
        return None
