"""Is a found law the known one? By its numbers on fresh points, by sympy, and under noise by its form.

* `agrees`: the law equals the formula on fresh points of the problem's box and of a wider one, to rounding.
* `symbolic`: sympy proves that the difference is zero once numbers are rounded to rationals (and multiples of pi).
* `same_form`: for laws fitted to noise. Refitted to the clean target the law becomes the formula, so its form holds
  the truth; no constant vanishes then, so it holds nothing else; and the constants that the noise gave lie within
  three standard errors of these.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from problems import Formula, Problem

from fitness.constants import fit, predict_one
from fitness.data import Dataset
from operators.program import Program, ProgramBatch
from operators.text import render

F64 = NDArray[np.float64]

SOLVED_R2 = 0.999999
_POINTS = 2000
_WIDER = 0.25  # of a box's width, on both sides
_EXACT = 1e-6  # largest difference in units of the formula's own size
_STANDARD_ERRORS = 3.0
_NEGLIGIBLE = 1e-6  # a constant this small, relative to what it was fitted to, is not there
_REFIT_STEPS = 200
_SYMPY_SECONDS = 30.0


@dataclass(frozen=True)
class Verdict:
    """R2 on clean test rows, and whether the law is the known one; `why` says what is wrong if it is not."""

    r2: float
    solved: bool
    how: str = ""
    why: str = ""


def judge(law: Program, problem: Problem, noise: bool) -> Verdict:
    """The verdict of the bench on one law over the problem's features."""
    assert problem.truth is not None
    assert problem.X_test is not None
    quality = r2(problem.truth(problem.X_test), predict_one(law, problem.X_test))
    if not quality > SOLVED_R2:
        return Verdict(quality, False, why=f"R2 = {quality:.7g}")
    if noise:
        why = same_form(law, problem)
        return Verdict(quality, not why, "" if why else "form and constants", why)
    if agrees(law, problem):
        proven = symbolic(law, problem.truth)
        return Verdict(quality, True, "numbers and sympy" if proven else "numbers")
    if symbolic(law, problem.truth):
        return Verdict(quality, True, "sympy")
    return Verdict(quality, False, why="close, but not the formula")


def r2(y: F64, prediction: F64) -> float:
    """The coefficient of determination; minus infinity for a bad row."""
    if not np.all(np.isfinite(prediction)):
        return -np.inf
    return 1.0 - float(np.sum((y - prediction) ** 2) / np.sum((y - np.mean(y)) ** 2))


def agrees(law: Program, problem: Problem) -> bool:
    """Equal to the formula on fresh points inside the box and around it, wherever the formula is defined."""
    assert problem.truth is not None
    for wider in (0.0, _WIDER):
        X = fresh_points(problem.box, wider)
        y = problem.truth(X)
        defined = np.isfinite(y)
        if np.count_nonzero(defined) < 10:
            continue
        size = np.maximum(np.abs(y[defined]), np.std(y[defined]))
        wrong = np.abs(predict_one(law, X)[defined] - y[defined]) > _EXACT * size
        if np.any(wrong):  # a NaN compares as not wrong: a law may end where rounding ends the formula
            return False
        if np.mean(np.isfinite(predict_one(law, X)[defined])) < 0.95:
            return False
    return True


def fresh_points(box: tuple[tuple[float, float], ...], wider: float) -> F64:
    """Uniform points (features, rows) of the box, widened by a share of its width on both sides."""
    rng = np.random.default_rng(12345)
    sides = [(low - wider * (high - low), high + wider * (high - low)) for low, high in box]
    return np.array([rng.uniform(low, high, _POINTS) for low, high in sides])


def same_form(law: Program, problem: Problem) -> str:
    """Empty when the law has the formula's form and constants near enough, else what is wrong."""
    assert problem.X is not None
    assert problem.y is not None
    assert problem.clean is not None
    batch = ProgramBatch.of([law])
    refit = fit(batch, Dataset.of(problem.X, problem.clean, problem.names), "mse", _REFIT_STEPS, small_gain=0.0)
    ideal = law.with_values(refit.value[0, : len(law)])
    if not agrees(ideal, problem):
        return "another form"
    found, right = law.value[law.free], ideal.value[law.free]
    if not len(found):
        return ""
    jacobian = _jacobian(ideal, problem.X)
    effect = np.sqrt(np.mean((jacobian * right[:, None]) ** 2, axis=1))
    if np.any(effect < _NEGLIGIBLE * np.std(problem.clean)):
        return "a term that is not in the formula"
    sigma = np.std(problem.y - predict_one(law, problem.X)) or 1e-300
    information = jacobian @ jacobian.T
    error = sigma * np.sqrt(np.maximum(np.diag(np.linalg.pinv(information, rcond=1e-12)), 0.0))
    far = np.abs(found - right) / np.maximum(error, 1e-12 * np.abs(right))
    return "" if np.all(far <= _STANDARD_ERRORS) else f"a constant is {far.max():.1f} standard errors off"


def _jacobian(law: Program, X: F64) -> F64:
    """Derivatives (constants, rows) of the law with respect to its fitted constants, by central differences."""
    rows = []
    for node in law.free:
        step = 1e-6 * max(abs(float(law.value[node])), 1e-3)
        moved = []
        for sign in (1.0, -1.0):
            value = law.value.copy()
            value[node] += sign * step
            moved.append(predict_one(law.with_values(value), X))
        rows.append((moved[0] - moved[1]) / (2.0 * step))
    return np.array(rows)


def symbolic(law: Program, truth: Formula, seconds: float = _SYMPY_SECONDS) -> bool:
    """Does sympy prove, within the time, that law and formula are the same function?"""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    names = [f"v{k}" for k in range(len(truth.names))]  # no header shadows a function
    process = context.Process(target=_prove, args=(render(law, names), names, truth.text, truth.names, send))
    process.start()
    send.close()
    try:
        return bool(receive.recv()) if receive.poll(seconds) else False
    except EOFError:
        return False
    finally:
        process.kill()
        process.join()


def _prove(law: str, names: list[str], truth: str, truth_names: tuple[str, ...], send: Any) -> None:
    """In a process of its own: send True when the difference simplifies to zero."""
    import sympy

    symbols = [sympy.Symbol(f"v{k}", positive=True) for k in range(len(names))]
    words: dict[str, Any] = {w: getattr(sympy, w) for w in ("exp", "sqrt", "sin", "cos", "tan", "log", "tanh", "sinh")}
    words |= {"cosh": sympy.cosh, "asin": sympy.asin, "arcsin": sympy.asin, "acos": sympy.acos, "atan": sympy.atan}
    words |= {"abs": sympy.Abs, "min": sympy.Min, "max": sympy.Max, "pow": sympy.Pow, "pi": sympy.pi}
    words |= {
        "square": lambda a: a**2,
        "cube": lambda a: a**3,
        "inv": lambda a: 1 / a,
        "neg": lambda a: -a,
        "fixed": lambda a: a,
    }
    found = eval(law, dict(words), dict(zip(names, symbols, strict=True)))
    right = eval(truth, dict(words), dict(zip(truth_names, symbols, strict=True)))
    exact = [sympy.nsimplify(e, [sympy.pi], tolerance=1e-7) for e in (found, right)]
    send.send(sympy.simplify(exact[0] - exact[1]) == 0)
