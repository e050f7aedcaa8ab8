"""Fitting constants: what moves and what does not, bad rows, weights, rank, threads, signatures."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import FULL, random_tree

from fitness.constants import StopReason, evaluate, fit, predict_one
from fitness.data import Dataset
from fitness.metrics import BAD_LOSS, METRICS
from fitness.plan import MAX_PARAMETERS
from operators.primitives import CONST
from operators.program import FIXED, Program, ProgramBatch, apply, constant, variable
from operators.text import parse

RNG = np.random.default_rng(11)
NAMES = ["x", "z"]


def data_of(text: str, rows: int = 200, noise: float = 0.0, low: float = 0.2) -> Dataset:
    rng = np.random.default_rng(rows)
    X = rng.uniform(low, 3.0, (2, rows))
    y = predict_one(parse(text, NAMES), X)
    return Dataset.of(X, y + noise * rng.standard_normal(rows), NAMES)


def fitted(
    text: str, data: Dataset, metric: str = "mse", steps: int = 30, **more: bool
) -> tuple[Program, float, StopReason]:
    program = parse(text, NAMES)
    result = fit(ProgramBatch.of([program]), data, metric, steps, **more)
    values = result.value[0, : len(program)]
    return program.with_values(values), float(result.loss[0]), StopReason(result.reason[0])


def constants(program: Program) -> list[float]:
    return [float(v) for v in program.value[program.free]]


@pytest.mark.parametrize(
    ("law", "start"),
    [
        ("3.5*x + -2.25*z + 0.5", "1.0*x + 1.0*z + 1.0"),
        ("2.0*sin(1.3*x) + 0.5*z**1.7", "1.0*sin(1.0*x) + 1.0*z**1.5"),
        ("4.0*x/(1.5 + x)", "1.0*x/(1.0 + x)"),
        ("2.5*exp(-0.8*x) + 0.3*z", "1.0*exp(-1.0*x) + 1.0*z"),
        ("1.2*x**2.5*z**-0.75", "1.0*x**1.0*z**1.0"),
        ("sqrt(2.0*x + 3.0*z**2)", "sqrt(1.0*x + 1.0*z**2)"),
        ("log(0.4*x + 1.1)", "log(1.0*x + 1.0)"),
        ("tanh(0.7*x + -0.2)", "tanh(1.0*x + 0.1)"),
    ],
)
def test_constants_of_exact_data_are_found_to_the_last_digits(law: str, start: str) -> None:
    data = data_of(law)
    program, loss, _ = fitted(start, data, steps=40)
    assert loss < 1e-24 * np.var(data.y)
    np.testing.assert_allclose(constants(program), constants(parse(law, NAMES)), rtol=1e-9)


def test_affine_constants_need_no_start() -> None:
    program, loss, reason = fitted("1.0*x**2 + 1.0*sin(x) + 1.0", data_of("1e6*x**2 - 1e-3*sin(x) + 250.0"), steps=1)
    assert loss < 1e-8
    assert reason == StopReason.CONVERGED
    np.testing.assert_allclose(constants(program), [1e6, -1e-3, 250.0], rtol=1e-5)


def test_fixed_numbers_never_move_and_locals_are_shared() -> None:
    data = data_of("3.0*x + 3.0*sin(x) + 2.0*z")
    program = parse("a*x + a*sin(x) + 2*z", NAMES, ["a"])
    result = fit(ProgramBatch.of([program]), data, "mse", 20)
    value = result.value[0, : len(program)]
    local = (program.code == CONST) & (program.arg != FIXED)
    np.testing.assert_allclose(value[local], 3.0, rtol=1e-12)
    np.testing.assert_array_equal(value[~local], program.value[~local])


def test_only_the_first_constants_move_beyond_the_cap() -> None:
    program = constant(1.0)
    for _ in range(MAX_PARAMETERS + 5):
        program = apply("add", program, apply("mul", constant(1.0), variable(0)))
    result = fit(ProgramBatch.of([program]), data_of("2.0*x + 7.0"), "mse", 3)
    assert result.loss[0] < 1e-20
    moved = result.value[0] != program.value
    assert moved.sum() <= MAX_PARAMETERS
    assert not moved[-10:].any()


def test_a_redundant_constant_stays_where_it_is() -> None:
    """SR-14: duplicated columns, products of constants: the rest is fitted, and nothing grows without bound."""
    data = data_of("4.0*x + 3.0")
    program, loss, _ = fitted("0.5*x + 1.0*x + 2.0*1.0 + 1.0 + 0.0*1.0", data)
    assert loss < 1e-20
    assert np.max(np.abs(constants(program))) < 10.0
    assert constants(program)[1] == 1.0  # the second multiple of x
    batch = ProgramBatch.of([parse(t, NAMES) for t in ("1.0*x + 1.0", "0.5*x + 1.0*x + 1.0", "1.0*x + 1.0*(x - x)")])
    assert fit(batch, data, "mse").redundant.tolist() == [0, 1, 1]
    program, loss, _ = fitted("1.0*(1.0*x) + 1.0", data)
    assert loss < 1e-20
    assert np.max(np.abs(constants(program))) < 10.0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("steps", [0, 5])
@pytest.mark.parametrize("robust", [False, True])
def test_a_bad_row_is_a_bad_law_in_every_mode(metric: str, steps: int, robust: bool) -> None:
    """SR-21."""
    x = np.linspace(-3, 3, 25)
    data = Dataset.of(x[None], x**2 + 1, ["x"])
    texts = ["log(x)", "x**0.5", "1/(x-x)", "1.0*log(x) + 1.0", "1.0*x**0.5", "1.0/(x-x) + 2.0", "x - x + 1.0"]
    batch = ProgramBatch.of([parse(t, ["x"]) for t in texts])
    result = fit(batch, data, metric, steps, robust=robust)
    assert np.all(result.loss[:6] == BAD_LOSS)
    assert result.loss[6] < BAD_LOSS
    assert np.all(result.signature[:6] == 0)
    assert np.isfinite(result.value[:, 0]).all()


def test_the_loss_is_that_of_the_fitted_values_in_the_metric() -> None:
    rng = np.random.default_rng(5)
    data = data_of("2.0*sin(1.3*x) + 0.5*z", noise=0.3)
    batch = ProgramBatch.of([random_tree(rng, int(n), FULL, 2) for n in rng.integers(3, 25, 60)])
    for name, metric in METRICS.items():
        result = fit(batch, data, name, 5, robust=True)
        assert np.all(result.loss <= evaluate(batch, data, name))
        for i, program in enumerate(batch):
            again = metric.loss(data.y, predict_one(program.with_values(result.value[i, : len(program)]), data.X))
            assert result.loss[i] == pytest.approx(again, rel=1e-9, abs=1e-13)


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(6)
    data = data_of("2.0*sin(1.3*x) + 0.5*z", rows=1100, noise=0.3)
    batch = ProgramBatch.of([random_tree(rng, int(n), FULL, 2) for n in rng.integers(3, 25, 101)])
    for metric in ("mse", "smape", "mdae"):
        one, two = (fit(batch, data, metric, 4, threads=t, robust=True) for t in (1, 2))
        for name in ("value", "loss", "iterations", "reason", "signature"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


def test_weights_multiply_squared_errors() -> None:
    data = data_of("2.0*x + 1.0")
    y = data.y.copy()
    y[::2] = 1e3
    weight = np.where(np.arange(len(y)) % 2 == 0, 0.0, 2.0)
    program, _, _ = fitted("1.0*x + 0.0", Dataset(data.X, y, data.names, weight))
    np.testing.assert_allclose(constants(program), [2.0, 1.0], rtol=1e-10)


def test_an_empty_batch_is_fitted() -> None:
    assert fit(ProgramBatch.of([]), data_of("2.0*x"), "mse", threads=2).loss.shape == (0,)


def test_rows_restricts_fit_and_loss() -> None:
    data = data_of("2.0*x + 1.0")
    y = data.y.copy()
    y[100:] = np.nan
    program = parse("1.0*x + 0.0", NAMES)
    result = fit(ProgramBatch.of([program]), Dataset(data.X, y, data.names), "mse", 5, rows=slice(0, 100))
    assert result.loss[0] < 1e-25


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_very_few_rows(rows: int) -> None:
    """SR-13: as many constants as rows, or more, are no error."""
    data = data_of("2.0*x + 1.0", rows=rows)
    for metric in METRICS:
        _, loss, _ = fitted("1.0*x + 1.0*sin(1.0*x) + 0.5", data, metric)
        assert 0.0 <= loss <= BAD_LOSS
    assert fitted("1.0*x + 0.5", data, "mse")[1] < 1e-20


def test_signatures_are_about_values() -> None:
    data = data_of("2.0*x + 1.0")
    same = ["x + x", "2*x", "x*2.0", "3.0*x - x", "2*x + 1e-12", "log(exp(x)) + x"]
    other = ["2.001*x", "x", "2*x + 1.0", "4*x", "-2*x", "1.0", "2.0", "-1.0"]
    batch = ProgramBatch.of([parse(t, NAMES) for t in same + other])
    signature = fit(batch, data, "mse", 0).signature
    assert len(set(signature[: len(same)].tolist())) == 1
    assert len(set(signature.tolist())) == 1 + len(other)


def test_stop_reasons() -> None:
    data = data_of("2.0*x + 1.0", noise=0.1)
    assert fitted("x", data)[2] == StopReason.NOTHING_TO_FIT
    assert fitted("log(1.0*x - 5.0)", data)[2] == StopReason.BAD_START
    assert fitted("1.0*x + 1.0", data)[2] == StopReason.CONVERGED
    assert fitted("1.0*x**1.5 + exp(0.3*z)", data, steps=1)[2] == StopReason.ITERATIONS
    assert fitted("x**1.0 + x*1.0 + 1.0", data_of("x**2 + 2.0*x"), steps=50)[2] == StopReason.PERFECT


@pytest.mark.parametrize("metric", ["mae", "mdae", "smape", "log_mae"])
def test_robust_fits_see_through_outliers(metric: str) -> None:
    law = "2.0*sin(1.3*x) + 0.5*z**1.7 + 1.5"
    data = data_of(law)
    y = data.y.copy()
    y[::9] *= RNG.uniform(3.0, 20.0, y[::9].shape)
    spoilt = Dataset(data.X, y, data.names)
    start = "1.0*sin(1.0*x) + 1.0*z**1.5 + 1.0"
    plain, plain_loss, _ = fitted(start, spoilt, "rmse")
    program, loss, _ = fitted(start, spoilt, metric, robust=True)
    np.testing.assert_allclose(constants(program), constants(parse(law, NAMES)), rtol=1e-3)
    assert loss < METRICS[metric].loss(y, predict_one(plain, data.X))
    assert plain_loss > 0.1


def test_decades_are_fitted_in_log_space() -> None:
    """Least squares sees the largest values only; log_mae asks for all of them alike."""
    rng = np.random.default_rng(2)
    x = np.linspace(0.0, 10.0, 200)
    y = 3.0 * np.exp(1.7 * x) * 10 ** (0.05 * rng.standard_normal(200))
    data = Dataset.of(x[None], y, ["x"])
    start = ProgramBatch.of([parse("1.0*exp(1.0*x)", ["x"])])
    in_log, in_plain = fit(start, data, "log_mae", 30), fit(start, data, "rmse", 30)
    np.testing.assert_allclose(in_log.value[0, [0, 1]], [3.0, 1.7], rtol=0.03)
    plain = ProgramBatch(start.code, start.arg, in_plain.value, start.length)
    assert in_log.loss[0] < 0.9 * evaluate(plain, data, "log_mae")[0]


@pytest.mark.parametrize("metric", ["mape", "smape", "log_mae", "mae"])
def test_zero_and_negative_targets_are_skipped_as_the_metric_says(metric: str) -> None:
    """SR-22: a target that is 0, or negative under a logarithm, must not decide the fit."""
    x = np.linspace(-4, 4, 25)
    y = np.where(np.abs(x) < 1e-12, 0.0, 2 * x)
    program, loss, _ = fitted("1.0*x", Dataset.of(x[None], y, ["x"]), metric, 10)
    np.testing.assert_allclose(constants(program), [2.0], rtol=1e-9)
    assert loss < 1e-9
