"""Certified values of NIST's nonlinear regression problems, from the official starts alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nist_models import MODELS, matching_digits, parameters_of, read

from fitness.polish import refine

HARD = {("MGH10", 0)}  # from its far start both descents creep along a curved valley and stop short
QUICK = ["Misra1b", "Chwirut2", "Lanczos3", "Gauss2", "DanWood", "MGH17", "Nelson", "Hahn1", "BoxBOD", "MGH09"]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", QUICK)
def test_certified_values_to_six_digits(shared_dir: Path, name: str, which: int) -> None:
    problem = read(shared_dir / "nist" / f"{name}.dat")
    program, loss = refine(problem.start(which), problem.data, "mse")
    assert matching_digits(parameters_of(program), problem.values) >= 6.0
    assert np.isfinite(loss)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_all_certified_values(shared_dir: Path, name: str) -> None:
    problem = read(shared_dir / "nist" / f"{name}.dat")
    for which in (0, 1):
        if (name, which) in HARD:
            continue
        program, _ = refine(problem.start(which), problem.data, "mse")
        assert matching_digits(parameters_of(program), problem.values) >= 6.0
