"""`check_file` names what a file is and each rule it breaks, ours or foreign."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from emit import agentics_zip
from emit.check import check_file
from emit.contract_module import ContractLaw, GroupedLaw, Local, render, render_grouped
from emit.frontier_complexity import lowest_form
from emit.frontier_solution import render as render_solution
from emit.source_rules import fitted_literals, looks_fitted
from operators.errors import InputError
from operators.text import parse

NAMES = ("a", "b")
HEAD = "import numpy as np\nUSED_INPUTS = ['a', 'b']\nLAW_CONSTANTS = {}\nOTHER_CONSTANTS = {}\n"


def check(tmp_path: Path, content: str | bytes, name: str = "file.py", **caps: int):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return check_file(path, **caps)


def test_our_own_files_pass(tmp_path):
    X = np.random.default_rng(0).uniform(0.5, 2.0, (2, 50))
    module = render(ContractLaw(parse("2.35*a + log(b)", NAMES), NAMES, NAMES))
    locals_ = (Local("p", 1.0), Local("q", 1.0))
    grouped = render_grouped(
        GroupedLaw(parse("p*a/(q + b)", NAMES, ("p", "q")), NAMES, NAMES, locals=locals_, linear=(0,))
    )
    solution = render_solution(lowest_form(parse("2.35*x1 + log(x2)", ("x1", "x2")), X), 2)
    for content, kind in ((module, "contract module"), (grouped, "contract module"), (solution, "solution")):
        found = check(tmp_path, content, max_constants=0, max_locals=2)
        assert found.kind == kind
        assert found.ok, found.violations
    found = check(tmp_path, agentics_zip.build(solution, "note"), "project.zip")
    assert (found.kind, found.ok) == ("agentics zip", True)
    assert any("C = " in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("LOCAL_FITTABLE = {}\ndef predict(X, group_id):\n    return X[:, 0]\n", "may not take group_id"),
        ("LOCAL_FITTABLE = {}\ndef predict(X):\n    return X\n", "not (40, 2) of float64"),
        ("LOCAL_FITTABLE = {}\ndef predict(X):\n    return ['a']*len(X)\n", "numbers for 40 rows"),
        ("LOCAL_FITTABLE = {}\nimport pickle\ndef predict(X):\n    return X[:, 0]\n", "line 6: the benchmark refuses"),
        ("LOCAL_FITTABLE = {}\ndef predict(X):\n    return getattr(X, 'T')[0]\n", "a call of getattr"),
        ("LOCAL_FITTABLE = {}\nS = '" + "0123456789" * 50 + "'\ndef predict(X):\n    return X[:, 0]\n",
         "looks like data"),
        ("LOCAL_FITTABLE = {}\nT = {1: 1.5, 2: 2.5, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1, 9: 1, 10: 1}\n"
         "def predict(X):\n    return X[:, 0]\n", "a literal of 10 numbers"),
        ("LOCAL_FITTABLE = {'p': {'init': 1.0}}\ndef predict(X, p):\n    return p*X[:, 0]\n", "has no attribute 'fit'"),
        ("LOCAL_FITTABLE = {'p': {'init': 1.0}}\ndef fit(X, y):\n    return {'p': y[1]/X[1, 0]}\n"
         "def predict(X, p):\n    return p*X[:, 0]\n", "fails on one row"),
        ("LOCAL_FITTABLE = {'p': {'init': 1.0}}\ndef fit(X, y):\n    return {'p': np.mean(y)}\n"
         "def predict(X, p):\n    return p*X[:, 0]\n", "not finite on rows with nan"),
        ("LOCAL_FITTABLE = {'p': {'init': 1.0}}\ndef fit(X, y):\n    return {'q': 1.0}\n"
         "def predict(X, p=1, q=1):\n    return p*X[:, 0]\n", "fit returned ['q']"),
    ],
)  # fmt: skip
def test_faults_of_contract_modules(tmp_path, body, complaint):
    found = check(tmp_path, HEAD + body)
    assert not found.ok
    assert complaint in "\n".join(map(str, found.violations))


def test_caps_on_fitted_literals_and_locals(tmp_path):
    source = (
        HEAD
        + "LOCAL_FITTABLE = {}\ndef predict(X):\n"
        + "    return 1.23*X[:, 0] + 4.56*X[:, 1] + 7.89e-3 + 0.123 + 2*X[:, 0]**3\n"
    )
    assert check(tmp_path, source, max_constants=1).ok
    found = check(tmp_path, source, max_constants=0)
    assert "4 numbers look fitted, such as 0.123; the cap is 0 + 3" in str(found.violations[0])


@pytest.mark.parametrize(
    ("value", "fitted"),
    [
        (0, False), (1, False), (2, False), (0.5, False), (1.5, False), (0.25, False), (10.0, False), (1000, False),
        (1e-300, False), (np.pi, False), (np.log(10), False), (273.15, False), (3600, False), (0.05, False),
        (7.0, False),
        (1.23, True), (0.123, True), (17.5, True), (98, True), (3.3, True), (1 / 3, False), (2.718, True),
    ],
)  # fmt: skip
def test_which_numbers_look_fitted(value, fitted):
    assert looks_fitted(float(value)) is fitted


def test_positions_and_repeats_are_not_counted():
    assert fitted_literals(ast.parse("X[:, 12]*1.23 + 1.23*X[:, 17] - 1.23")) == [(1, 1.23)]


def test_faults_inside_a_zip(tmp_path):
    found = check(tmp_path, agentics_zip.build("import numba\nclass Solution:\n    pass\n", "n"), "p.zip")
    assert "solution.py: line 1: numba is not installed" in str(found.violations[0])
    found = check(tmp_path, agentics_zip.build("x = 1\n", "n"), "p.zip")
    assert "defines neither" in str(found.violations[0])
    found = check(
        tmp_path, agentics_zip.build(HEAD + "def predict(X): return X[:, 0]\nLOCAL_FITTABLE = {}\n", "n"), "p.zip"
    )
    assert "no class Solution" in str(found.violations[0])
    assert "not a ZIP archive" in str(check(tmp_path, b"PK nothing", "p.zip").violations[0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "neither a ZIP nor Python"),
        (b"def f(:", "not Python"),
        (b"x = 1\n", "defines neither predict"),
    ],
)
def test_a_file_that_is_none_of_these_is_an_input_error(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        check(tmp_path, content)


def test_a_foreign_file_that_breaks_a_rule_is_not_run(tmp_path):
    mark = tmp_path / "ran"
    source = (
        f"import os\nopen({str(mark)!r}, 'w')\n" + HEAD + "LOCAL_FITTABLE = {}\ndef predict(X):\n    return X[:, 0]\n"
    )
    assert not check(tmp_path, source).ok
    assert not mark.exists()
