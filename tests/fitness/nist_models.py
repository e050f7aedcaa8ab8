"""NIST's StRD problems of nonlinear regression: the certified model forms, and a reader of the certified files.

Source: https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml. The parameters b1, b2, ... are local parameters of
our programs, so that one may stand at several places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fitness.data import Dataset
from operators.primitives import CONST
from operators.program import LOCAL, Program
from operators.text import parse

MODELS = {
    "Bennett5": "b1*(b2 + x)**(-1/b3)",
    "BoxBOD": "b1*(1 - exp(-b2*x))",
    "Chwirut1": "exp(-b1*x)/(b2 + b3*x)",
    "Chwirut2": "exp(-b1*x)/(b2 + b3*x)",
    "DanWood": "b1*x**b2",
    "ENSO": "b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4) + b6*sin(2*pi*x/b4)"
    " + b8*cos(2*pi*x/b7) + b9*sin(2*pi*x/b7)",
    "Gauss1": "b1*exp(-b2*x) + b3*exp(-(x - b4)**2/b5**2) + b6*exp(-(x - b7)**2/b8**2)",
    "Gauss2": "b1*exp(-b2*x) + b3*exp(-(x - b4)**2/b5**2) + b6*exp(-(x - b7)**2/b8**2)",
    "Gauss3": "b1*exp(-b2*x) + b3*exp(-(x - b4)**2/b5**2) + b6*exp(-(x - b7)**2/b8**2)",
    "Hahn1": "(b1 + b2*x + b3*x**2 + b4*x**3)/(1 + b5*x + b6*x**2 + b7*x**3)",
    "Kirby2": "(b1 + b2*x + b3*x**2)/(1 + b4*x + b5*x**2)",
    "Lanczos1": "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)",
    "Lanczos2": "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)",
    "Lanczos3": "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)",
    "MGH09": "b1*(x**2 + x*b2)/(x**2 + x*b3 + b4)",
    "MGH10": "b1*exp(b2/(x + b3))",
    "MGH17": "b1 + b2*exp(-x*b4) + b3*exp(-x*b5)",
    "Misra1b": "b1*(1 - (1 + b2*x/2)**(-2))",
    "Misra1c": "b1*(1 - (1 + 2*b2*x)**(-1/2))",
    "Misra1d": "b1*b2*x*(1 + b2*x)**(-1)",
    "Nelson": "b1 - b2*x1*exp(-b3*x2)",  # of the logarithm of y
    "Rat42": "b1/(1 + exp(b2 - b3*x))",
    "Rat43": "b1/(1 + exp(b2 - b3*x))**(1/b4)",
    "Roszman1": "b1 - b2*x - arctan(b3/(x - b4))/pi",
}


@dataclass(frozen=True)
class Certified:
    """One certified problem: the program, its data, two official starts (2, K) and the certified values (K,)."""

    name: str
    program: Program
    data: Dataset
    starts: NDArray[np.float64]
    values: NDArray[np.float64]

    def start(self, which: int) -> Program:
        """The model at one of its official starts."""
        return with_parameters(self.program, self.starts[which])


def with_parameters(program: Program, parameters: NDArray[np.float64]) -> Program:
    """The program with local parameter k set to parameters[k]."""
    value = program.value.copy()
    local = (program.code == CONST) & (program.arg >= LOCAL)
    value[local] = parameters[program.arg[local] - LOCAL]
    return program.with_values(value)


def parameters_of(program: Program) -> NDArray[np.float64]:
    """The values of the local parameters, by slot."""
    out = np.full(max(program.local_slots) + 1, np.nan)
    local = (program.code == CONST) & (program.arg >= LOCAL)
    out[program.arg[local] - LOCAL] = program.value[local]
    return out


def read(path: Path) -> Certified:
    """Read one certified .dat file."""
    text = path.read_text(encoding="latin-1")
    rows = re.findall(r"^\s*b\d+ =\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+\s*$", text, re.MULTILINE)
    table = np.array([[float(v) for v in row] for row in rows]).T
    data = text[text.rindex("Data:") :].splitlines()[1:]
    numbers = np.array([[float(v) for v in line.split()] for line in data if line.strip()]).T
    y, X = numbers[0], numbers[1:]
    names = ["x"] if len(X) == 1 else ["x1", "x2"]
    program = parse(MODELS[path.stem].replace("arctan", "atan"), names, [f"b{i + 1}" for i in range(table.shape[1])])
    target = np.log(y) if path.stem == "Nelson" else y
    return Certified(path.stem, program, Dataset.of(X, target, names), table[:2], table[2])


def matching_digits(found: NDArray[np.float64], certified: NDArray[np.float64]) -> float:
    """Correct significant digits of the worst parameter (the log relative error of NIST), at most 11."""
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = -np.log10(np.max(np.abs(found - certified) / np.abs(certified)))
    return float(min(digits, 11.0)) if np.isfinite(digits) or digits > 0 else 0.0
