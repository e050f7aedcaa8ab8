"""One row of the search bench: a tool on a problem, run and judged; and the CSV files that keep such rows."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from problems import Problem
from recovery import judge

from emit.contract_module import ContractLaw, render
from emit.frontier_complexity import lowest_form
from emit.frontier_solution import render as render_solution
from evolve import __version__
from evolve.export import export
from evolve.record import read_result, read_task_record
from evolve.rundir import RunDirectory
from fitness.constants import predict_one
from harness_adapter import official
from harness_adapter.read import read_task
from operators.complexity import complexity
from operators.errors import InputError
from operators.program import Program
from operators.text import parse

FOUND_MSE = 1e-6  # "time to solution" ends here (times the target's variance where that is below 1)
_ROOT = Path(__file__).resolve().parents[2]
_GRACE = 300.0  # seconds beyond its budget after which a run counts as hanging


@dataclass(frozen=True)
class Outcome:
    """Numbers are NaN where they do not apply. `score` is the benchmark's own, `found` the seconds to a solution."""

    date: str
    tool: str
    version: str
    suite: str
    problem: str
    noise: bool
    seed: int
    budget: float
    threads: int
    load: float
    seconds: float = float("nan")
    found: float = float("nan")
    evaluations: int = 0
    score: float = float("nan")
    unbounded: float = float("nan")
    mse: float = float("nan")
    r2: float = float("nan")
    complexity: int = 0
    solved: bool = False
    note: str = ""
    law: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal keys mean the same measurement."""
        return self.tool, self.suite, self.problem, self.noise, self.seed, self.budget


@dataclass(frozen=True)
class Setting:
    """What all tools get alike."""

    seed: int
    budget: float
    threads: int
    noise: bool
    folder: Path  # of the runs
    ours: tuple[str, ...] = ()  # settings of our engine, KEY=VALUE


def ours(problem: Problem, setting: Setting) -> Outcome:
    """`python -m evolve run` in a process of its own, and what the judges say of its best.py."""
    folder = setting.folder / f"{problem.suite}-{problem.name}{'-noise' * setting.noise}-{setting.seed}"
    blank = _blank("evolve", __version__, problem, setting)
    began = time.monotonic()
    command = [
        sys.executable, "-m", "evolve", "run", str(problem.place), *problem.flags, "--seed", str(setting.seed),
        "--time", f"{setting.budget:g}s", "--out", str(folder), "--set", f"threads={setting.threads}",
        "--set", "report.enabled=false", *(word for given in setting.ours for word in ("--set", given)),
    ]  # fmt: skip
    ended = _process(command, setting.budget + _GRACE)
    if not (folder / "result.json").is_file():
        return dataclasses.replace(blank, seconds=time.monotonic() - began, note=f"no result: {ended}")
    run = RunDirectory.open(folder)
    result = read_result(run)
    outcome = dataclasses.replace(
        blank, seconds=time.monotonic() - began, evaluations=result.evaluations, complexity=result.complexity,
        law=result.text, note="" if result.valid else "; ".join(result.problems), found=_found(run, problem),
    )  # fmt: skip
    if problem.truth is not None:
        return _judged(outcome, parse(result.text, read_task_record(run).identifiers), problem, setting)
    file = folder / "solution.py" if problem.suite == "frontier" else run.best
    if problem.suite == "frontier":
        file.write_bytes(export(run, "frontier-cs"))
    return _scored(outcome, problem, file)


def warm_up(folder: Path) -> None:
    """A short run that leaves compiled kernels on disk, so that no measurement pays for them."""
    command = [sys.executable, "-m", "evolve", "run", "example:mccormick", "--evaluations", "3000", "--out"]
    _process([*command, str(folder)], 600.0)


def pyoperon(problem: Problem, setting: Setting) -> Outcome:
    """pyoperon on the same training rows with the same budget and threads; its law is judged as ours."""
    blank = _blank("pyoperon", version("pyoperon"), problem, setting)
    X, y = training_rows(problem)
    with tempfile.TemporaryDirectory() as scratch:
        given, out = Path(scratch) / "data.npz", Path(scratch) / "out.json"
        np.savez(given, X=X, y=y, seconds=setting.budget, seed=setting.seed, threads=setting.threads,
                 evaluations=10**9, max_length=50)  # fmt: skip
        command = [sys.executable, str(Path(__file__).with_name("pyoperon_search.py")), str(given), str(out)]
        ended = _process(command, setting.budget + _GRACE)
        if not out.is_file():
            return dataclasses.replace(blank, note=f"no result: {ended}")
        raw = json.loads(out.read_text())
    law = parse(raw["law"].replace("^", "**"), [f"x{k}" for k in range(len(X))])
    variance = float(np.var(y))
    reached = [t for t, fitness in raw["trace"] if (1.0 + fitness) * variance < FOUND_MSE * min(1.0, variance)]
    outcome = dataclasses.replace(
        blank, seconds=raw["seconds"], found=reached[0] if reached else float("nan"),
        evaluations=raw["individuals"], complexity=complexity(law), law=raw["law"],
    )  # fmt: skip
    if problem.truth is not None:
        return _judged(outcome, law, problem, setting)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "law.py"
        file.write_text(_module(law, problem, outcome))
        return _scored(outcome, problem, file)


def training_rows(problem: Problem) -> tuple[Any, Any]:
    """X (features, rows) and y, read as a task where the problem does not hold them."""
    if problem.X is not None and problem.y is not None:
        return problem.X, problem.y
    data = read_task(problem.place).dataset
    return data.X, data.y


def _module(law: Program, problem: Problem, outcome: Outcome) -> str:
    """A peer's law as the file that the benchmark scores."""
    task = read_task(problem.place)
    if problem.suite == "frontier":
        form = lowest_form(law, task.dataset.X, 8.0)
        return render_solution(form, len(task.inputs))
    return render(ContractLaw(law, task.inputs, task.identifiers, task.target, (outcome.tool,)))


def _judged(outcome: Outcome, law: Program, problem: Problem, setting: Setting) -> Outcome:
    assert problem.X is not None
    assert problem.y is not None
    verdict = judge(law, problem, setting.noise)
    mse = float(np.mean((predict_one(law, problem.X) - problem.y) ** 2))
    note = "; ".join(text for text in (outcome.note, verdict.how, verdict.why) if text)
    return dataclasses.replace(outcome, mse=mse, r2=verdict.r2, solved=verdict.solved, note=note)


def _scored(outcome: Outcome, problem: Problem, file: Path) -> Outcome:
    """The official score; a Frontier-CS problem counts as solved at 100 with an MSE of rounding size."""
    try:
        result = official.score(read_task(problem.place), file)
    except InputError as error:
        return dataclasses.replace(outcome, note=f"{outcome.note} not scored: {error}".strip())
    if problem.suite == "frontier" and "by_dataset" in result:
        mean, (row,) = result["summary"], result["by_dataset"].values()
        score, mse = mean["mean_score"], mean["mean_mse"]
        unbounded = mean["mean_score_unbounded"]
        solved = unbounded >= 200.0 if problem.name == "peaks" else score >= 100.0 and mse < 1e-15
        return dataclasses.replace(
            outcome, score=score, unbounded=unbounded, mse=mse, complexity=row["complexity"], solved=solved
        )
    bad = result["status"] != "ok"
    status = str(result.get("error") or result.get("violations") or result["status"]) if bad else ""
    score = float(result.get("numeric_score", "nan"))
    return dataclasses.replace(outcome, score=score, note="; ".join(t for t in (outcome.note, status) if t))


def _found(run: RunDirectory, problem: Problem) -> float:
    """Wall seconds, from the start of the command, to the first generation whose best law has a tiny error."""
    if problem.y is None:
        return float("nan")
    variance = float(np.var(problem.y))
    metric = read_task_record(run).metric
    for entry in run.read_log():
        if entry.get("event") == "generation":
            mse = float(entry["best_loss"]) ** (2 if metric == "rmse" else 1)
            if mse < FOUND_MSE * min(1.0, variance):
                return float(entry["elapsed"])
    return float("nan")


def _blank(tool: str, its_version: str, problem: Problem, setting: Setting) -> Outcome:
    return Outcome(
        date.today().isoformat(), tool, its_version, problem.suite, problem.name, setting.noise, setting.seed,
        setting.budget, setting.threads, round(os.getloadavg()[0], 1),
    )  # fmt: skip


def _process(command: list[str], timeout: float) -> str:
    """Run a command from the checkout; returns the last line it said."""
    path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"still running after {timeout:g} s"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"code {done.returncode}: {lines[-1] if lines else 'silence'}"


def read_rows(file: Path) -> list[Outcome]:
    """The rows of a CSV file; none when there is no file."""
    if not file.is_file():
        return []
    kinds = {f.name: {"int": int, "float": float, "bool": lambda t: t == "True"}.get(str(f.type), str)
             for f in dataclasses.fields(Outcome)}  # fmt: skip
    with file.open(encoding="utf-8", newline="") as lines:
        return [Outcome(**{k: kinds[k](v) for k, v in row.items()}) for row in csv.DictReader(lines)]


def append_rows(file: Path, rows: Iterable[Outcome]) -> None:
    """Add rows to a CSV file at once, so that an interrupted table can be continued."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, [f.name for f in dataclasses.fields(Outcome)], lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(dataclasses.asdict(row) for row in rows)
