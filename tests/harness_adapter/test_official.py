"""Official scores: the harness's own process for SciLaws, and a Frontier-CS score equal to the judge's."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness_adapter.child import run_python
from harness_adapter.frontier_score import frontier_score
from harness_adapter.frontier_scorer import score_solution
from harness_adapter.official import in_words, score
from harness_adapter.read import read_task
from harness_adapter.task import FrontierReference, Task
from operators.errors import InputError

REFERENCE = FrontierReference("d.csv", 5.0, 1.0, 4)
BEST = """
USED_INPUTS = ['x']
LAW_CONSTANTS = OTHER_CONSTANTS = LOCAL_FITTABLE = {}
def predict(X):
    return X[:, 0]
"""
SCORER = """
import json, sys
print("noise {")
assert sys.argv[1] == "score"
print(json.dumps({"status": "ok", "numeric_score": 0.25, "raw_metric": 2.0, "task": sys.argv[2],
                  "score": {"metric": "rmse"}}, indent=1))
"""


@pytest.mark.parametrize(
    ("mse", "complexity", "score_", "unbounded"),
    [
        (1.0, 4, 100.0, 100.0),
        (0.0, 2, 100.0, 125.0),
        (3.0, 4, 50.0, 50.0),
        (3.0, 6, 50.0 * 0.99**2, 50.0 * 0.99**2),
        (9.0, 4, 0.0, -100.0),
        (math.nan, 4, 0.0, 0.0),
        (math.inf, 4, 0.0, -math.inf),
    ],
)
def test_the_formula(mse: float, complexity: int, score_: float, unbounded: float) -> None:
    assert frontier_score(mse, complexity, REFERENCE) == pytest.approx((score_, unbounded), nan_ok=False)


def test_the_formula_without_a_gap() -> None:
    flat = FrontierReference("d.csv", 1.0, 1.0, 4)
    assert frontier_score(1.0, 4, flat)[0] == 100.0
    assert frontier_score(1.1, 4, flat)[0] == 0.0


def solution(expression: str, predictions: str = "None", details: str = "{}") -> str:
    answer = f"{{'expression': {expression!r}, 'predictions': {predictions}, 'details': {details}}}"
    return f"class Solution:\n    def solve(self, X, y):\n        return {answer}\n"


class TestFrontier:
    """x1 + x2 is the law of the small problem, with C 2; in process, as the child does it."""

    @pytest.fixture
    def run(self, frontier: Callable[..., Path], tmp_path: Path) -> Callable[[str], dict[str, Any]]:
        data = frontier("x1,x2,y\n1,2,3\n2,-1,1\n4,4,8\n") / "resources" / "data" / "d.csv"

        def run(text: str) -> dict[str, Any]:
            path = tmp_path / "solution.py"
            path.write_text(text)
            entry = {"name": "d.csv", "path": str(data), "m_base": 5.0, "m_ref": 0.0, "C_ref": 4}
            return dict(score_solution(path, [entry])["by_dataset"]["d.csv"])

        return run

    @pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")  # the judge drops imaginary parts as well
    @pytest.mark.parametrize(
        ("text", "complexity", "mse"),
        [
            ("x1 + x2", 2, 0.0),
            ("x1 - x2", 4, 84.0 / 3.0),  # x1 + (-1)*x2
            ("2*(x1 + x2)/2", 2, 0.0),
            ("x1 + x2 + 0*exp(x1)", 2, 0.0),
            ("x1**2*x2/x1/x2*1.0 + x2", 4, 0.0),  # 1.0*x1 + x2
            ("log(-2)*x1", 7, np.mean((math.log(2) * np.array([1, 2, 4]) - [3, 1, 8]) ** 2)),
            ("(-8)**(1/3)*x1", 6, np.mean(([1, 2, 4] - np.array([3, 1, 8])) ** 2)),
        ],
    )
    def test_expressions_as_the_judge_reads_them(
        self, run: Callable[[str], dict[str, Any]], text: str, complexity: int, mse: float
    ) -> None:
        row = run(solution(text))
        assert row["complexity"] == complexity
        assert row["mse"] == pytest.approx(mse, rel=1e-9, abs=1e-25)

    def test_predictions_of_the_right_length_replace_the_expression(self, run: Callable[[str], dict[str, Any]]) -> None:
        assert run(solution("x1", predictions="X[:, 0] + X[:, 1]"))["mse"] == 0.0
        assert run(solution("x1", predictions="[0.0]"))["mse"] > 0.0

    def test_a_complexity_that_is_told_is_believed(self, run: Callable[[str], dict[str, Any]]) -> None:
        assert run(solution("x1 + x2", details="{'complexity': 9}"))["complexity"] == 9
        assert run(solution("x1 + x2", details="None"))["complexity"] == 2

    @pytest.mark.parametrize(
        "text",
        [
            solution("sqrt(x1)"),
            solution("x1**(1/2)"),
            solution("tan(x1)"),
            solution("2.0"),
            solution(""),
            solution("x1 +"),
            solution("x3"),
            "x = 1\n",
            "class Solution:\n    def solve(self, X, y):\n        return [1]\n",
            "class Solution:\n    def __init__(self, a):\n        pass\n",
        ],
    )
    def test_what_the_judge_refuses_is_refused(self, run: Callable[[str], dict[str, Any]], text: str) -> None:
        with pytest.raises((ValueError, TypeError, RuntimeError, AttributeError)):
            run(text)

    def test_one_input_fails_as_with_the_judge(self, frontier: Callable[..., Path], tmp_path: Path) -> None:
        task = read_task(frontier("x1,y\n1,2\n2,4\n"))
        (tmp_path / "s.py").write_text(solution("2*x1"))
        result = score(task, tmp_path / "s.py")
        assert (result["status"], "TypeError" in result["error"]) == ("error", True)


def test_a_solution_and_a_zip_in_a_process_of_their_own(frontier: Callable[..., Path], tmp_path: Path) -> None:
    task = read_task(frontier())
    file = tmp_path / "solution.py"
    file.write_text("print('noise')\n" + solution("x1 + x2", details="{}"))
    result = score(task, file)
    assert result["summary"]["num_datasets"] == 1
    assert result["by_dataset"]["d.csv"]["complexity"] == 2
    assert "C 2 (reference 4)" in in_words(result)
    archive = tmp_path / "project.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(file, "solution.py")
    assert score(task, archive)["summary"] == result["summary"]
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(file, "inner/solution.py")
    with pytest.raises(InputError, match=r"no solution\.py at its top"):
        score(task, archive)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import time\ntime.sleep(60)\n", "no result within 2 s"),
        ("import sys\nsys.exit(3)\n", "SystemExit"),
        ("import os\nos._exit(7)\n", "code 7"),
        ("raise KeyError('x')\n", "KeyError"),
        ("def", "SyntaxError"),
    ],
)
def test_a_solution_that_fails_is_a_result(
    frontier: Callable[..., Path], tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "s.py").write_text(text)
    result = score(read_task(frontier()), tmp_path / "s.py", timeout=2.0 if "sleep" in text else None)
    assert result["status"] == "error"
    assert words in result["error"]
    assert words in in_words(result)


@pytest.fixture
def bench(scilaws: Callable[..., Path], tmp_path: Path) -> Callable[[str], tuple[Task, Path, Path]]:
    """bench(scorer): a task, a file to score and a harness whose evaluate_numeric.py is `scorer`."""

    def build(scorer: str) -> tuple[Task, Path, Path]:
        harness = tmp_path / "harness"
        harness.mkdir(exist_ok=True)
        (harness / "eval_formula.py").write_text("")
        (harness / "evaluate_numeric.py").write_text(scorer)
        best = tmp_path / "best.py"
        best.write_text(BEST)
        return read_task(scilaws()), best, harness

    return build


def test_the_harness_scores_in_its_own_process(bench: Callable[[str], tuple[Task, Path, Path]]) -> None:
    task, best, harness = bench(SCORER)
    result = score(task, best, harness)
    assert (result["numeric_score"], result["task"]) == (0.25, str(task.source))
    assert in_words(result) == "numeric_score 0.2500 (rmse 2), status ok"
    assert score(task, best)["numeric_score"] == 0.25  # found above the task


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        ("open('eval/reference_metrics.json')", "references are not there"),
        ("raise SystemExit('scoring/reference_metrics.json missing')", "references are not there"),
        ("import no_such_module", "the scorer failed: ModuleNotFoundError"),
        ("print('[]')", "the scorer failed"),
        ("import time; time.sleep(60)", "did not finish"),
    ],
)
def test_scoring_that_is_not_possible(bench: Callable[[str], tuple[Task, Path, Path]], scorer: str, words: str) -> None:
    task, best, harness = bench(scorer)
    with pytest.raises(InputError, match=words):
        score(task, best, harness, timeout=2.0 if "sleep" in scorer else None)


def test_scoring_that_lacks_something(scilaws: Callable[..., Path], table: Callable[..., Path], tmp_path: Path) -> None:
    best = table(BEST, "best.py")
    with pytest.raises(InputError, match="no harness above"):
        score(read_task(scilaws()), best)
    with pytest.raises(InputError, match="does not exist"):
        score(read_task(scilaws()), tmp_path / "none.py")
    with pytest.raises(InputError, match="table of your own"):
        score(read_task(table("y,x\n1,2\n3,4\n")), best)


def test_the_real_harness(shared_dir: Path, tmp_path: Path) -> None:
    task = read_task(shared_dir / "bench" / "tasks" / "typeI" / "cherry_tree_volume")
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(BEST.replace("'x'", "'Girth'"))
    bad.write_text("def predict(X):\n    return X\n")
    result = score(task, good)
    assert (result["status"], result["contract_ok"], result["score"]["metric"]) == ("ok", True, "mse")
    result = score(task, bad)
    assert (result["contract_ok"], result["numeric_score"]) == (False, 0.0)
    assert "missing USED_INPUTS" in in_words(result)


def test_a_child_and_its_children_end_with_their_time(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    inner = f"import time, pathlib; time.sleep(2.5); pathlib.Path({str(mark)!r}).touch()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    assert run_python(["-c", code], tmp_path, timeout=1.0).code is None
    assert run_python(["-c", "import time; time.sleep(2)"], tmp_path, timeout=60.0).code == 0
    assert not mark.exists()
