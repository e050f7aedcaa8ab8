"""Type I modules: accepted by the harness, equal to the program, harmless whatever the columns are called."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from emit.contract_module import ContractLaw, render
from emit.errors import NotExpressible
from emit.evaluate import fold_constants, values
from emit.naming import docstring, safe
from operators.program import apply, constant, variable
from operators.text import parse


def load(source: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(compile(source, "best.py", "exec"), space)
    return space


def module(
    text: str, headers: tuple[str, ...], identifiers: tuple[str, ...] | None = None, **more: Any
) -> dict[str, Any]:
    names = identifiers or headers
    return load(render(ContractLaw(parse(text, names), headers, names, **more)))


def test_a_module_reads_like_a_person_wrote_it():
    law = ContractLaw(
        parse("3.5*dist**2 - log(vel)/2", ("dist", "mass", "vel")), ("dist (km)", "mass", "vel"),
        ("dist", "mass", "vel"),
        target="climb", notes=("rmse on the folds: 0.25", "C = 12, seed 7, evolve-sr 0.1.0"),
    )  # fmt: skip
    assert (
        render(law)
        == '''"""climb = 3.5*dist**2 - log(vel)/2

rmse on the folds: 0.25
C = 12, seed 7, evolve-sr 0.1.0"""

import numpy as np

USED_INPUTS = ['dist (km)', 'vel']
LAW_CONSTANTS = {}
OTHER_CONSTANTS = {}
LOCAL_FITTABLE = {}


def predict(X):
    X = np.asarray(X, dtype=np.float64)
    dist = X[:, 0]
    vel = X[:, 1]
    return 3.5*dist**2 - np.log(vel)/2
'''
    )


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_predict_is_the_program(programs, sample, data):
    program = data.draw(
        programs(("add", "sub", "mul", "div", "neg", "sqrt", "exp", "log", "sin", "min", "abs", "tanh"))
    )
    names = ("a", "b", "c")
    try:
        best = load(render(ContractLaw(program, names, names)))
    except NotExpressible:
        reject()
    used = [names.index(n) for n in best["USED_INPUTS"]]
    with np.errstate(all="ignore"):
        found = best["predict"](np.asarray(sample)[used].T)
    assert found.shape == (sample.shape[1],)
    assert found.dtype == np.float64
    assert np.array_equal(found, values(fold_constants(program, keep_functions=True), sample), equal_nan=True)


def test_a_constant_law_uses_no_column():
    best = module("2.5", ("x",))
    assert best["USED_INPUTS"] == []
    X = np.array(pd.DataFrame({"x": [1.0, 2.0]})[[]], dtype=float)  # what the harness hands over
    assert X.shape == (2, 0)
    assert best["predict"](X).tolist() == [2.5, 2.5]


def test_the_whole_law_folds_to_a_constant_of_float_type():
    assert module("2*3 + sqrt(4)", ("x",))["predict"](np.ones((3, 0))).dtype == np.float64


def test_integers_give_the_same_as_floats():
    """SR-18, emission side: squares of large integers and negative powers."""
    X = np.array([[1_000_000_000], [9_000_000_000], [3]])
    for text in ("n**2", "n**3", "12/n**2", "n**(-2)"):
        predict = module(text, ("n",))["predict"]
        assert np.array_equal(predict(X), predict(X.astype(float)))
    assert module("n**3", ("n",))["predict"](np.array([[3_000_000_000]]))[0] == pytest.approx(2.7e28)


@pytest.mark.parametrize("exponent", ["3.0", "2.0", "-3.0", "3"])
def test_negative_bases_of_whole_powers_are_finite(exponent):
    """SR-19, emission side"""
    source = render(ContractLaw(parse(f"0.5*pow(x, {exponent})", ("x",)), ("x",), ("x",)))
    found = load(source)["predict"](np.array([[-7.3], [-1.0]]))
    assert found == pytest.approx(0.5 * np.array([-7.3, -1.0]) ** int(float(exponent)))
    assert f"**{int(float(exponent))}" in source.replace("(", "").replace(")", "")


def test_numbered_columns_are_not_mixed_up():
    """SR-06: x1 inside x11."""
    headers = tuple(f"x{k}" for k in range(1, 13))
    best = module("x1 + 10*x11 - 100*x12", headers)
    assert best["USED_INPUTS"] == ["x1", "x11", "x12"]
    assert best["predict"](np.array([[1.0, 2.0, 3.0]])) == [1 + 20 - 300]


@pytest.mark.parametrize(
    "headers",
    [
        ("lambda", "class", "None"), ("exec", "open", "__import__"), ("X", "np", "predict"), ("E", "I", "beta"),
        ("α (Å)", "b c", "température"), ("'quoted'", 'double"quoted', "back\\slash"),
        ("new\nline", "tab\t", "{{ jinja }}"),
        ('"""', "'''", "#"), ("a", "a ", " a"),
    ],
)  # fmt: skip
def test_any_header_is_only_ever_a_string(headers):
    names = ("u", "v", "w")
    best = module("u + 10*v + 100*w", headers, names, target=headers[0], notes=headers)
    assert best["USED_INPUTS"] == list(headers)
    assert best["predict"](np.array([[1.0, 2.0, 3.0]])) == [321.0]
    assert set(best) - {"__builtins__", "__doc__"} == {
        "np", "USED_INPUTS", "LAW_CONSTANTS", "OTHER_CONSTANTS", "LOCAL_FITTABLE", "predict",
    }  # fmt: skip


def test_identifiers_that_the_module_uses_itself_are_renamed():
    assert safe(("np", "X", "y", "x", "x", "predict", "lambda")) == (
        "np_",
        "X_",
        "y_",
        "x",
        "x_",
        "predict_",
        "lambda_",
    )
    with pytest.raises(ValueError, match="cannot be a variable"):
        safe(("a b",))
    assert module("np*X", ("np", "X"))["predict"](np.array([[2.0, 3.0]])) == [6.0]


def test_docstring_lines_cannot_end_the_docstring():
    for text in ('"""', 'ends with "', "\\", '\\"""\nimport os', "\x00\x1b[31m"):
        space: dict[str, Any] = {}
        exec(f'"""{docstring([text])}"""', space)
        assert set(space) <= {"__builtins__", "__doc__"}


def test_fallback_only_where_the_law_is_not_finite():
    best = module("log(x)", ("x",), fallback=-1.0)
    with np.errstate(all="ignore"):
        assert best["predict"](np.array([[1.0], [-1.0], [np.nan]])).tolist() == [0.0, -1.0, -1.0]


def test_same_law_same_bytes():
    law = ContractLaw(parse("sin(a)*b + 0.1", ("a", "b")), ("a", "b"), ("a", "b"), notes=("seed 1",))
    assert render(law) == render(law)


def test_a_nest_of_height_250_is_written_and_runs():
    """SR-35"""
    program = variable(0)
    for _ in range(250):
        program = apply("sin", program)
    best = load(render(ContractLaw(program, ("x",), ("x",))))
    X = np.linspace(0, 1, 30)[:, None]
    assert np.array_equal(best["predict"](X), values(program, X.T))


def test_unreal_constants_are_refused():
    with pytest.raises(NotExpressible, match="not real"):
        render(ContractLaw(apply("log", constant(-2.0)), ("x",), ("x",)))


@pytest.fixture(scope="module")
def harness(shared_dir: Path) -> Any:
    path = shared_dir / "bench" / "harness" / "evaluate_numeric.py"
    spec = importlib.util.spec_from_file_location("harness_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    kept = list(sys.path)
    spec.loader.exec_module(found)
    sys.path[:] = kept
    return found


@pytest.mark.parametrize("text", ["2.5", "a*lambda_ + 1.5", "sin(a)**2"])
def test_the_real_harness_finds_no_violation(harness, tmp_path, text):
    names = ("a", "lambda_")
    path = tmp_path / "best.py"
    path.write_text(render(ContractLaw(parse(text, names), ("a", "lambda"), names)), encoding="utf-8")
    found = harness.run_file(path, harness.compile_file(path))
    meta = {"type": "typeI", "caps": {"max_law_constants": 0, "max_local_params": 0, "max_init_size_per_param": 1}}
    assert harness.check_contract(found, meta, ["a", "lambda"]) == []
    table = pd.DataFrame({"a": [1.0, 2.0], "lambda": [3.0, 4.0]})
    out = harness._predict(found, harness.matrix(table, found.USED_INPUTS), {})
    assert out == pytest.approx(values(parse(text, names), table.to_numpy().T))
