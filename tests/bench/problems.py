"""The problems of the search bench: data, and where they are known, the formulas to be found again.

Formulas are used to judge finished laws and never reach a search.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

FRONTIER = ("mccormick", "sincos", "mixed_polyexp_4d", "peaks", "ripple")
STROGATZ = {
    "barmag1": "0.5*sin(x - y) - sin(x)",
    "barmag2": "0.5*sin(y - x) - sin(y)",
    "lv1": "3*x - 2*x*y - x**2",
    "lv2": "2*y - x*y - y**2",
    "predprey1": "x*(4 - x - y/(1 + x))",
    "predprey2": "y*(x/(1 + x) - 0.075*y)",
    "shearflow1": "cos(x)*cos(y)/sin(y)",
    "shearflow2": "(cos(y)**2 + 0.1*sin(y)**2)*sin(x)",
    "vdp1": "10*(y - (x**3 - x)/3)",
    "vdp2": "-x/10",
}
_NUMPY = {name: getattr(np, name) for name in ("exp", "sqrt", "sin", "cos", "log", "arcsin", "pi")}
_TRAIN_SHARE = 0.75
_TARGET = "target"


@dataclass(frozen=True, eq=False)
class Formula:
    """A known law as text over `names`, in numpy's words."""

    text: str
    names: tuple[str, ...]

    @cached_property
    def _code(self) -> Any:
        return compile(self.text, "formula", "eval")

    def __call__(self, X: F64) -> F64:
        """Values (rows,) at X (features, rows); NaN where it is not defined."""
        with np.errstate(all="ignore"):
            values = eval(self._code, dict(_NUMPY), dict(zip(self.names, X, strict=True)))
        return np.broadcast_to(np.asarray(values, dtype=np.float64), X.shape[1:]).copy()


@dataclass(frozen=True, eq=False)
class Problem:
    """`place` and `flags` are what `evolve run` is given; the arrays, X (features, rows), are for peers and judges.

    `y` is what was given to learn from, `clean` the same without noise. Without a formula (`truth` None) there are
    no test rows either: the benchmark's own scorer judges.
    """

    suite: str
    name: str
    place: Path
    flags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    X: F64 | None = None
    y: F64 | None = None
    clean: F64 | None = None
    X_test: F64 | None = None
    truth: Formula | None = None
    box: tuple[tuple[float, float], ...] = ()


def frontier(shared: Path) -> list[Problem]:
    """The Frontier-CS problems; the data also as arrays, for peers."""
    out = []
    for name in FRONTIER:
        place = shared / "frontier_cs" / name
        header, table = _read_csv(next((place / "resources" / "data").glob("*.csv")))
        out.append(Problem("frontier", name, place, (), header[:-1], table[:-1], table[-1], table[-1]))
    return out


def feynman(shared: Path, noise: bool, folder: Path) -> list[Problem]:
    """The 30 equations as shared/feynman/feynman30.py writes them into `folder`."""
    writer = _module(shared / "feynman" / "feynman30.py")
    if not (folder / f"{writer.EQS[-1][0]}_test.csv").exists():
        writer.main(str(folder))
    out = []
    for name, text, variables in writer.EQS:
        written = folder / f"{name}_{'train_noise' if noise else 'train'}.csv"
        header, train = _read_csv(written)
        clean = _read_csv(folder / f"{name}_train.csv")[1][-1]
        test = _read_csv(folder / f"{name}_test.csv")[1]
        place = _with_target_renamed(written, header)
        box = tuple((float(low), float(high)) for _, low, high in variables)
        formula = Formula(text, header[:-1])
        out.append(
            Problem("feynman", name, place, ("--target", _TARGET), header[:-1], train[:-1], train[-1], clean,
                    test[:-1], formula, box)
        )  # fmt: skip
    return out


def _with_target_renamed(file: Path, header: tuple[str, ...]) -> Path:
    """A copy of a table whose last column, the target, shares its header with no input (one equation has an input y)."""
    copy = file.with_name(f"{file.stem}_given.csv")
    body = file.read_text(encoding="utf-8").split("\n", 1)[1]
    copy.write_text(",".join((*header[:-1], _TARGET)) + "\n" + body, encoding="utf-8")
    return copy


def strogatz(shared: Path, folder: Path) -> list[Problem]:
    """Ten right-hand sides of ODEs: the first column is the target; a random quarter of the rows is kept for tests."""
    out = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in STROGATZ.items():
        header, table = _read_csv(shared / "strogatz" / f"d_{name}.txt")
        order = np.random.default_rng(0).permutation(table.shape[1])
        cut = math.ceil(_TRAIN_SHARE * len(order))
        train, test = table[:, np.sort(order[:cut])], table[:, np.sort(order[cut:])]
        place = folder / f"{name}.csv"
        np.savetxt(place, train.T, delimiter=",", fmt="%.17g", header=",".join(header), comments="")
        box = tuple((float(row.min()), float(row.max())) for row in table[1:])
        out.append(
            Problem("strogatz", name, place, ("--target", header[0]), header[1:], train[1:], train[0], train[0],
                    test[1:], Formula(text, header[1:]), box)
        )  # fmt: skip
    return out


def scilaws(shared: Path, kind: str) -> list[Problem]:
    """The tasks of one type ("typeI" or "typeII")."""
    tasks = (shared / "bench" / "tasks" / kind).iterdir()
    return [Problem(kind, task.name, task) for task in sorted(tasks) if (task / "metadata.yaml").exists()]


def select(problems: Iterable[Problem], wanted: Callable[[str], bool]) -> list[Problem]:
    """The problems whose name is wanted."""
    return [p for p in problems if wanted(p.name)]


def _read_csv(path: Path) -> tuple[tuple[str, ...], F64]:
    """Header and columns (columns, rows)."""
    with path.open(encoding="utf-8") as lines:
        header = tuple(lines.readline().strip().split(","))
        return header, np.ascontiguousarray(np.loadtxt(lines, delimiter=",", ndmin=2).T)


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
