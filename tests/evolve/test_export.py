"""Export, check, score and predict on a run folder that was written by hand, through the command line."""

import json
import math
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from emit.contract_module import ContractLaw, Local, render, render_grouped
from emit.contract_module import GroupedLaw as Grouped
from evolve.__main__ import main
from evolve.commands.export import FORMS
from evolve.export import FORMS as WRITERS
from evolve.record import FrontLaw, write_front, write_task
from evolve.rundir import RunDirectory
from harness_adapter.options import ReadOptions
from harness_adapter.read import read_task
from operators.text import parse

TRUTH = "sin(x1 + x2) + (x1 - x2)**2 - 3/2*x1 + 5/2*x2 + 1"
LAWS = ("7.5", "x2 + (x1 - x2 - 0.8)**2", TRUTH)


def call(capsys, *arguments):
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def hand_written(folder, task, laws, chosen):
    run = RunDirectory.create(task.name, 1, folder)
    write_task(run, task)
    programs = [parse(text, task.identifiers) for text in laws]
    rows = [
        FrontLaw.of(k, p, task.identifiers, 5 * k, 1.0 / k, cv_loss=math.nan if k == 1 else 2.0 / k, chosen=k == chosen)
        for k, p in enumerate(programs, 1)
    ]
    write_front(run, rows)
    if chosen:
        law = ContractLaw(programs[chosen - 1], task.inputs, task.identifiers, task.target, ("by hand",))
        run.write_best(render(law))
    return run


@pytest.fixture(scope="module")
def task():
    return read_task("example:mccormick")


@pytest.fixture
def run(tmp_path, task):
    return hand_written(tmp_path / "run", task, LAWS, chosen=3)


def truth(x1, x2):
    return np.sin(x1 + x2) + (x1 - x2) ** 2 - 1.5 * x1 + 2.5 * x2 + 1


def test_the_choices_of_the_command_are_the_forms_there_are():
    assert set(FORMS) == set(WRITERS)


def test_contract_is_the_verified_file_itself(capsys, run):
    assert call(capsys, "export", run.path, "--to", "contract") == (0, run.best.read_text(), "")


@pytest.mark.parametrize("form", ["contract", "python"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_modules_give_the_laws_values(capsys, run, task, form, number):
    code, text, err = call(capsys, "export", run.path, "--to", form, "--law", number)
    assert code == 0, err
    space = {}
    exec(text, space)
    x1, x2 = task.dataset.X
    by_position = {"x1": x1, "x2": x2}
    if form == "contract":
        X = np.array([by_position[name] for name in space["USED_INPUTS"]]).reshape(-1, len(x1)).T
        found = space["predict"](X)
    else:
        count = space["law"].__code__.co_argcount
        found = np.broadcast_to(space["law"](*[(), (x2,), (x1, x2)][min(count, 2)]), x1.shape)
    expected = [np.full_like(x1, 7.5), x2 + (x1 - x2 - 0.8) ** 2, truth(x1, x2)][number - 1]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert f"law {number} of the front" in text
    assert ("held-out" in text) == (number > 1), "a loss that is not known is not printed"


def test_sympy_form_is_the_law(capsys, run):
    code, text, _ = call(capsys, "export", run.path, "--to", "sympy")
    space = {}
    exec(text, space)
    assert code == 0
    value = space["law"].subs({"x1": 0.3, "x2": -0.7})
    assert float(value) == pytest.approx(float(truth(0.3, -0.7)), rel=1e-12)


def test_latex_form(capsys, run):
    code, text, _ = call(capsys, "export", run.path, "--to", "latex", "--law", 2)
    assert code == 0
    assert text.startswith("y = x_{2} + ")
    assert text.count("{") == text.count("}")


def test_solution_and_zip_score_100_and_pass_the_check(capsys, run, tmp_path):
    solution, archive = tmp_path / "solution.py", tmp_path / "project.zip"
    assert call(capsys, "export", run.path, "--to", "frontier-cs", "-o", solution)[0] == 0
    assert call(capsys, "export", run.path, "--to", "agentics-zip", "-o", archive)[0] == 0
    assert zipfile.ZipFile(archive).read("solution.py") == solution.read_bytes()
    for file in (solution, archive):
        code, out, _ = call(capsys, "check", file)
        assert code == 0, out
        assert out.splitlines()[-1].endswith("ok")
        code, out, err = call(capsys, "score", "example:mccormick", file)
        assert code == 0
        assert json.loads(out)["summary"]["mean_score"] == 100.0
        assert err.startswith("score 100.0")


def test_a_zip_is_not_written_to_a_terminal(capsys, run):
    code, _, err = call(capsys, "export", run.path, "--to", "agentics-zip")
    assert code == 2
    assert "-o" in err


def test_an_unknown_law_and_an_unwritable_file(capsys, run):
    code, _, err = call(capsys, "export", run.path, "--to", "latex", "--law", 9)
    assert code == 2
    assert "1, 2, 3" in err
    code, _, err = call(capsys, "export", run.path, "--to", "latex", "-o", "/proc/x/law.tex")
    assert code == 2
    assert "/proc/x/law.tex" in err


def test_a_run_that_was_killed_says_which_laws_there_are(capsys, tmp_path, task):
    run = hand_written(tmp_path / "run", task, LAWS, chosen=None)
    run.write_text("config.yaml", "seed: 1\n")
    code, _, err = call(capsys, "export", run.path, "--to", "latex")
    assert code == 2
    assert "--law" in err
    assert call(capsys, "export", run.path, "--to", "latex", "--law", 2)[0] == 0


def test_a_form_that_cannot_say_the_law_gives_the_reason(capsys, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("y,a\n1,1\n2,2\n4,3\n8,4\n", encoding="utf-8")
    run = hand_written(
        tmp_path / "run", read_task(table, ReadOptions(target="y")), ("abs(a) + 1.0", "tan(a)"), chosen=1
    )
    for number, word in ((1, "abs"), (2, "tan")):
        code, _, err = call(capsys, "export", run.path, "--to", "frontier-cs", "--law", number)
        assert code == 2
        assert word in err


def test_check_names_what_is_broken_and_exits_3(capsys, tmp_path):
    file = tmp_path / "best.py"
    file.write_text("import os\nUSED_INPUTS = ['x']\nLAW_CONSTANTS = OTHER_CONSTANTS = LOCAL_FITTABLE = {}\n"
                    "def predict(X):\n    return X[:, 0]\n")  # fmt: skip
    code, out, _ = call(capsys, "check", file)
    assert code == 3
    assert "os" in next(line for line in out.splitlines() if line.startswith("broken"))
    assert "rule(s) broken" in out


def test_check_takes_a_relative_path(run, monkeypatch, capsys):
    monkeypatch.chdir(run.path)
    assert call(capsys, "check", "best.py")[0] == 0


def test_score_of_a_file_that_is_no_solution_is_3(capsys, tmp_path):
    file = tmp_path / "x.py"
    file.write_text("class Solution:\n    def solve(self, X, y):\n        return 1 / 0\n")
    code, out, err = call(capsys, "score", "example:mccormick", file)
    assert code == 3
    assert json.loads(out)["status"] != "ok"
    assert "no score" in err


def test_predict_adds_a_column(capsys, run, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("note;x2;x1\nfirst;0,5;1\nsecond;;2\nthird;-1;-1,5\n", encoding="utf-8")
    out = tmp_path / "out.csv"
    code, said, err = call(capsys, "predict", run.path, new, "-o", out)
    assert code == 0, err
    assert "1 without a prediction" in said
    lines = [line.split(",") for line in out.read_text().splitlines()]
    assert lines[0] == ["note", "x2", "x1", "y_predicted"]
    assert float(lines[1][3]) == pytest.approx(float(truth(1.0, 0.5)))
    assert lines[2][3] == ""
    assert float(lines[3][3]) == pytest.approx(float(truth(-1.5, -1.0)))


@pytest.mark.parametrize(
    ("text", "word"),
    [("x1,z\n1,2\n", "'x2'"), ("x1,x2\n1,red\n", "red"), ("", "empty"), ("x1,x2\n", "no rows")],
)
def test_predict_names_what_is_wrong_with_the_table(capsys, run, tmp_path, text, word):
    new = tmp_path / "new.csv"
    new.write_text(text, encoding="utf-8")
    code, _, err = call(capsys, "predict", run.path, new, "-o", tmp_path / "out.csv")
    assert code == 2
    assert "new.csv" in err
    assert word in err


@pytest.fixture
def grouped_run(tmp_path):
    table = tmp_path / "g.csv"
    rows = [f"{k * x + 1},{x},{k}" for k in (1, 2, 3) for x in range(1, 6)]
    table.write_text("y,x,who\n" + "\n".join(rows) + "\n", encoding="utf-8")
    task = read_task(table, ReadOptions(target="y", group="who"))
    run = RunDirectory.create("g", 1, tmp_path / "run")
    write_task(run, task)
    program = parse("p0*x + 1.0", task.identifiers, ("p0",))
    law = Grouped(program, task.inputs, task.identifiers, "y", locals=(Local("p0", 1.0),), linear=(0,))
    run.write_best(render_grouped(law))
    return run


def test_predict_calibrates_a_grouped_law_on_rows_with_a_target(capsys, grouped_run, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("who,x,y\nA,1,6\nA,2,11\nB,1,-1\nA,10,\nB,10,\n", encoding="utf-8")
    code, _, err = call(capsys, "predict", grouped_run.path, new, "-o", tmp_path / "out.csv")
    assert code == 0, err
    values = [float(line.split(",")[3]) for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    np.testing.assert_allclose(values, [6, 11, -1, 51, -19], rtol=0.05)


def test_predict_says_what_a_grouped_law_needs(capsys, grouped_run, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("who,x,y\nA,1,6\nB,10,\n", encoding="utf-8")
    code, _, err = call(capsys, "predict", grouped_run.path, new, "-o", tmp_path / "out.csv")
    assert code == 2
    assert "'B'" in err


def test_a_solution_runs_where_only_numpy_is(capsys, run, tmp_path):
    """The exported Solution in an interpreter that can import nothing of ours."""
    file = tmp_path / "solution.py"
    assert call(capsys, "export", run.path, "--to", "frontier-cs", "-o", file)[0] == 0
    code = (
        "import sys, numpy as np; from solution import Solution\n"
        "X = np.random.default_rng(1).uniform(-1, 1, (30, 2))\n"
        "print(sorted(Solution().solve(X, X.sum(1))), {'scipy', 'sympy', 'evolve', 'emit'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['details', 'expression', 'predictions'] set()"
