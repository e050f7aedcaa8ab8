"""What was written is run in a fresh process and compared; whatever is wrong is told, nothing is raised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emit.contract_module import ContractLaw, GroupedLaw, Local, render, render_grouped
from emit.evaluate import values
from emit.verify import calibrate, relative_difference, verify_contract
from emit.verify_solution import verify_solution
from operators.text import parse

HEADERS = ("b c", "a", "lambda")
NAMES = ("b", "a", "l")


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 2.0, (3, 25))


@pytest.fixture
def best(tmp_path: Path) -> Path:
    return tmp_path / "best.py"


LAW = parse("2.5*a + l**2", NAMES)


def test_a_good_module_is_verified(best, X):
    best.write_text(render(ContractLaw(LAW, HEADERS, NAMES)), encoding="utf-8")
    report = verify_contract(best, HEADERS, X, values(LAW, X), 1.0)
    assert report.ok
    assert report.difference < 1e-15
    assert "verified" in str(report)


def test_a_constant_law_is_verified(best, X):
    law = parse("2.5", NAMES)
    best.write_text(render(ContractLaw(law, HEADERS, NAMES)), encoding="utf-8")
    assert verify_contract(best, HEADERS, X, values(law, X), 0.0).ok


def test_a_difference_beyond_the_tolerance_is_told(best, X):
    best.write_text(render(ContractLaw(LAW, HEADERS, NAMES)), encoding="utf-8")
    truth = values(LAW, X)
    near, far = truth.copy(), truth.copy()
    near[3] += 5e-10
    far[3] += 5e-9
    assert verify_contract(best, HEADERS, X, near, 1.0).ok
    report = verify_contract(best, HEADERS, X, far, 1.0)
    assert not report.ok
    assert "differs from the search" in str(report)


def test_relative_difference():
    one = np.array([1.0, 0.0])
    assert relative_difference(one, one, 0.0) == 0.0
    assert relative_difference(np.array([1.0, 1e-3]), one, 10.0) == pytest.approx(1e-4)
    assert relative_difference(np.array([np.nan, 0.0]), one, 1.0) == np.inf
    assert relative_difference(one[:1], one, 1.0) == np.inf


GOOD = "import numpy as np\nUSED_INPUTS = ['a']\nLAW_CONSTANTS = {}\nOTHER_CONSTANTS = {}\nLOCAL_FITTABLE = {}\n"
PREDICT = "def predict(X):\n    return 1.0*X[:, 0]\n"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (GOOD + "def predict(X) return 1", "not Python"),
        ("import os\n" + GOOD + PREDICT, "refuses the import of os"),
        ("from subprocess import run\n" + GOOD + PREDICT, "refuses the import of subprocess"),
        (GOOD + "def predict(X):\n    return eval('X')[:, 0]\n", "refuses a call of eval"),
        (GOOD + "def predict(X):\n    return np.load('x.npy')\n", "refuses the attribute .load"),
        (GOOD + "T = np.array([1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.])\n" + PREDICT, "looks like a table"),
        (GOOD.replace("OTHER_CONSTANTS = {}\n", "") + PREDICT, "OTHER_CONSTANTS is missing"),
        (GOOD.replace("['a']", "['q']") + PREDICT, "columns that do not exist: q"),
        (GOOD, "no function predict"),
        (GOOD + PREDICT + "def fit(X, y):\n    return {}\n", "fit must not be defined"),
        (GOOD.replace("FITTABLE = {}", "FITTABLE = {'p': {'init': 1.0}}")
         + "def predict(X, p=1.0):\n    return p*X[:, 0]\n",
         "fit is needed"),
        (GOOD + "def predict(X):\n    return X\n", "shape (25, 1)"),
        (GOOD + "def predict(X):\n    return 1.0\n", "shape ()"),
        (GOOD + "def predict(X):\n    return 1.0*X[1:, 0]\n", "shape (24,)"),
        (GOOD + "def predict(X):\n    return X[:, 0].astype(np.float32)\n", "float32"),
        (GOOD + "def predict(X):\n    return X[:, 0] + 0j\n", "complex"),
        (GOOD + "def predict(X):\n    return np.where(X[:, 0] > 1, np.nan, X[:, 0])\n", "not finite on"),
        (GOOD + "def predict(X):\n    raise KeyError('oops')\n", "KeyError"),
        (GOOD + "import nowhere_to_be_found\n" + PREDICT, "ModuleNotFoundError"),
        (GOOD + "raise SystemExit(3)\n" + PREDICT, "SystemExit"),
        (GOOD + "def predict(X):\n    return X[:, 0]//np.array(2) + (X[:, 0] if X.dtype == float else 1)\n",
         "integers"),
    ],
)  # fmt: skip
def test_each_fault_is_told(best, X, source, problem):
    best.write_text(source, encoding="utf-8")
    report = verify_contract(best, HEADERS, X, X[1].copy(), 1.0, timeout=30.0)
    assert not report.ok
    assert problem in str(report)


def test_a_module_that_hangs_is_stopped(best, X):
    best.write_text(GOOD + "def predict(X):\n    while True:\n        pass\n", encoding="utf-8")
    assert "no result within 3 s" in str(verify_contract(best, HEADERS, X, X[1].copy(), 1.0, timeout=3.0))


def test_what_a_module_prints_does_not_disturb(best, X):
    best.write_text("print('{' * 1000)\n" + GOOD + PREDICT, encoding="utf-8")
    assert verify_contract(best, HEADERS, X, X[1].copy(), 1.0).ok


@pytest.fixture
def grouped(best) -> Path:
    law = GroupedLaw(
        parse("p*a + q", NAMES, ("p", "q")), HEADERS, NAMES, locals=(Local("p", 1.0), Local("q", 0.0)), linear=(0, 1)
    )
    best.write_text(render_grouped(law), encoding="utf-8")
    return best


def test_a_grouped_module_is_verified_with_the_locals_of_each_group(grouped, X):
    p, q, starts = np.array([1.0, 2.0]), np.array([3.0, -4.0]), np.array([0, 10])
    group = np.repeat([0, 1], [10, 15])
    truth = p[group] * X[1] + q[group]
    options = {"groups": starts, "locals_": {"p": p, "q": q}}
    assert verify_contract(grouped, HEADERS, X, truth, 1.0, max_locals=2, **options).ok
    assert "only 1 are allowed" in str(verify_contract(grouped, HEADERS, X, truth, 1.0, max_locals=1, **options))
    assert "differs" in str(verify_contract(grouped, HEADERS, X, truth + 1, 1.0, max_locals=2, **options))


def test_calibrate_runs_the_emitted_fit_on_windows(grouped, X):
    windows = [(X[:, :10], 2.0 * X[1, :10] + 1.0, X[:, 10:]), (X[:, :6], -1.0 * X[1, :6], X[:, 6:10])]
    found = calibrate(grouped, HEADERS, windows)
    assert found.names == ("p", "q")
    assert found.locals == pytest.approx(np.array([[2.0, 1.0], [-1.0, 0.0]]), abs=1e-6)
    assert found.predictions[0] == pytest.approx(2.0 * X[1, 10:] + 1.0)
    assert found.predictions[1].shape == (4,)
    assert not found.failed


def test_a_fit_that_fails_is_told_by_window(grouped, X):
    source = grouped.read_text(encoding="utf-8").replace(
        "    X, y = np.asarray(X_fit", "    1/len(y_fit)\n    X, y = np.asarray(X_fit", 1
    )
    grouped.write_text(source, encoding="utf-8")
    found = calibrate(grouped, HEADERS, [(X, X[0], X), (X[:, :0], X[0, :0], X[:, :3])])
    assert list(found.failed) == [1]
    assert "ZeroDivisionError" in found.failed[1]
    assert np.isnan(found.predictions[1]).all()


SOLVE = "class Solution:\n    def solve(self, X, y):\n        return {}\n"


def solution(
    expression: str, predictions: str = "None", details: str = "{}", before: str = "import numpy as np\n"
) -> str:
    return before + SOLVE.replace(
        "return {}", f"return {{'expression': {expression!r}, 'predictions': {predictions}, 'details': {details}}}"
    )


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (solution("tan(x1)"), "tan is not allowed"),
        (solution("sqrt(x1)"), "sqrt is not allowed"),
        (solution("x1 + x9"), "unknown name 'x9'"),
        (solution(""), "not a text"),
        (solution("log(-2)*x1"), "not a finite real number"),
        (solution("2.5"), "a constant law needs predictions"),
        (solution("x1", details="{'complexity': 0}").replace("x1'", "x1 + x2'"), "the true C is 2"),
        (solution("x1", predictions="[0.0]*len(y)"), "differ from what the expression gives"),
        (solution("x1", predictions="[0.0]"), "1 predictions for 25 rows"),
        (solution("log(x1 - x1*2)"), "not finite"),
        (solution("x1", before="import scipy\n"), "scipy is not installed"),
        (solution("x1", before="import os\n"), "start no process"),
        (solution("x1", before="f = open('/etc/passwd')\n"), "should not call open"),
        (SOLVE.replace("return {}", "return 'x1'"), "returns str"),
        (SOLVE.replace("return {}", "raise ValueError('no')"), "ValueError: no"),
        (SOLVE.replace("return {}", "import numba"), "numba is not installed"),
        (SOLVE.replace("return {}", "__import__('scipy')"), "should not call __import__"),
    ],
)  # fmt: skip
def test_each_fault_of_a_solution_is_told(tmp_path, X, source, problem):
    path = tmp_path / "solution.py"
    path.write_text(source, encoding="utf-8")
    report = verify_solution(path, X, X[0] + X[1])
    assert not report.ok
    assert problem in str(report)


def test_a_good_solution_is_judged(tmp_path, X):
    path = tmp_path / "solution.py"
    path.write_text(solution("x1 + 2*x2", details="{'complexity': 4}"), encoding="utf-8")
    report = verify_solution(path, X, X[0] + 2 * X[1] + 0.5)
    assert report.ok
    assert report.complexity == 4
    assert report.mse == pytest.approx(0.25)
    path.write_text(solution("2.5", predictions="[2.5]*len(y)"), encoding="utf-8")
    assert verify_solution(path, X, X[0]).complexity == 0


def test_only_the_judges_packages_can_be_imported(tmp_path, X):
    """An import that the source hides is refused when it happens."""
    path = tmp_path / "solution.py"
    path.write_text(
        "import numpy\nfrom numpy import f2py\nimport sympy\nimport pandas\n" + solution("x1"), encoding="utf-8"
    )
    assert verify_solution(path, X, X[0]).ok
