"""Scans find frequencies, rates and exponents that descent from a wrong start does not."""

from __future__ import annotations

import numpy as np
import pytest

from fitness.constants import fit, predict_one, scan
from fitness.data import Dataset
from fitness.scan import frequency_free, sites, with_frequency
from operators.program import ProgramBatch
from operators.text import parse, render


def data_of(law: str, names: list[str], low: float, high: float, rows: int = 400) -> Dataset:
    X = np.random.default_rng(rows).uniform(low, high, (len(names), rows))
    return Dataset.of(X, predict_one(parse(law, names), X), names)


CASES = [
    ("sin(10.0*sqrt(x**2 + y**2))*(x + y)", "sin(1.0*sqrt(x**2 + y**2))*(x + y)", ["x", "y"], -3.0, 3.0),
    ("2.0*sin(5.0*x)", "1.0*sin(1.0*x)", ["x"], 0.0, 6.0),
    ("2.0*sin(7.0*x + 2.1) + 0.3*x", "1.0*sin(1.0*x + 1.0) + 1.0*x", ["x"], 0.0, 6.0),
    ("cos(x/0.07)", "cos(x/1.0)", ["x"], -2.0, 2.0),
    ("1.5*exp(-40.0*x) + 0.2", "1.0*exp(1.0*x) + 1.0", ["x"], 0.0, 1.0),
    ("3.0*x**-2.7", "1.0*x**2.0", ["x"], 0.1, 4.0),
]


@pytest.mark.parametrize(("law", "start", "names", "low", "high"), CASES)
def test_scan_finds_what_descent_misses(law: str, start: str, names: list[str], low: float, high: float) -> None:
    data = data_of(law, names, low, high)
    batch = ProgramBatch.of([parse(start, names)])
    assert scan(batch, data, "r2").loss[0] < 1e-15


def test_descent_alone_stays_in_the_wrong_valley() -> None:
    law, start, names, low, high = CASES[0]
    assert fit(ProgramBatch.of([parse(start, names)]), data_of(law, names, low, high), "r2", 100).loss[0] > 0.1


def test_a_wrong_valley_can_be_left() -> None:
    """An earlier descent has bent the other constants of the argument too."""
    data = data_of("sin(10.0*sqrt(x**2 + y**2))*(x + y)", ["x", "y"], -3.0, 3.0)
    bent = parse("-0.3*sin(3.0*sqrt(x**2 + 11.0*y**2) + 12.1)*(0.4*x + y)", ["x", "y"])
    assert scan(ProgramBatch.of([bent]), data, "r2").loss[0] < 1e-15


def test_scan_of_a_batch_never_worsens_a_program_and_threads_agree() -> None:
    data = data_of("2.0*sin(5.0*x) + x", ["x"], 0.0, 6.0)
    batch = ProgramBatch.of([parse(t, ["x"]) for t in ("1.0*x", "1.0*sin(1.0*x) + x", "x", "sin(x) + x**1.0")])
    plain, one, two = fit(batch, data, "mse", 30), scan(batch, data, "mse"), scan(batch, data, "mse", threads=2)
    assert np.all(one.loss <= plain.loss)
    assert one.loss[1] < 1e-20
    assert one.value.tobytes() == two.value.tobytes()
    assert one.value[2, 0] == 0.0


def test_sites_are_fitted_factors_and_exponents() -> None:
    program = parse("2.0*sin(3.0*x + 1.0) + exp(x*4.0) + x**5.0 + sin(2*x) + cos(x)", ["x"])
    found = sites(program, np.linspace(0.0, 1.0, 9)[None])
    assert [program.value[s.node] for s in found] == [3.0, 4.0, 5.0]
    assert [program.value[p] for p in found[0].phases] == [1.0]


def test_a_frequency_can_be_inserted() -> None:
    program = parse("sin(x)*cos(2.0*x)", ["x"])
    places = frequency_free(program)
    assert len(places) == 1
    assert render(with_frequency(program, places[0]), ["x"]) == "sin(1.0*x)*cos(2.0*x)"
