"""The end of a grouped run: what a large task may cost, and locals that turn out to be shared, simple or redundant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evolve.candidate import Candidate, Front
from evolve.config import RunConfig
from evolve.engine import Streams, grammar_for, pose
from evolve.grouped.judge import judged_clusters
from evolve.grouped.problem import evenly
from evolve.grouped.settle import settle_grouped
from evolve.grouped.text import local_names
from fitness.data import Dataset
from fitness.grouped import GroupedData
from fitness.windows import SORTED, Cut, cut_windows
from harness_adapter.options import ReadOptions
from harness_adapter.read import read_task
from operators.complexity import complexity
from operators.text import parse, render

CONFIG = RunConfig(seed=1, threads=1, evaluations=1000)


def clusters(groups: int, rows: int) -> GroupedData:
    group = np.repeat(np.arange(groups), rows)
    x = np.tile(np.linspace(1.0, 5.0, rows), groups)
    return GroupedData.of(
        cut_windows(Dataset.of(x[None], x * (1.0 + group), ("x",), group=group), [Cut(SORTED, 0)]), "rmse"
    )


def test_some_of_many_clusters_stand_for_all():
    few = evenly(clusters(300, 80), 4000)
    assert few.windows.n_groups == 50
    assert (few.windows.groups[0], few.windows.groups[-1]) == (0, 299)
    small = clusters(10, 80)
    assert evenly(small, 4000) is small
    assert evenly(clusters(40, 2000), 100).windows.n_groups == 12


def settled(tmp_path, formula, front, max_locals: int | None = None, noise: float = 0.01) -> str:
    """The law that the end of a run makes of a front of one law, on 12 clusters of 20 rows."""
    rng = np.random.default_rng(4)
    x, group = np.tile(np.linspace(0.5, 9.0, 20), 12), np.repeat(np.arange(12), 20)
    y = formula(x, rng.uniform(2.0, 6.0, 12)[group], rng.uniform(1.0, 4.0, 12)[group])
    y = y + noise * np.std(y) * rng.normal(size=len(y))
    table = tmp_path / "rows.csv"
    np.savetxt(table, np.array([x, y, group]).T, delimiter=",", header="x,y,group", comments="", fmt="%.17g")
    task = read_task(table, ReadOptions(target="y", group="group"))
    if max_locals is not None:
        task = replace(task, max_locals=max_locals)
    problem = pose(task, Streams.of(1), CONFIG)
    assert judged_clusters(problem) is problem.thinned
    law = parse(front, ("x",), ("a", "b", "c"))
    kept = Front(3)
    kept.update([Candidate(law, 1.0, complexity(law), 1, "test")])
    program = next(settle_grouped(task, problem, kept, grammar_for(task, CONFIG), CONFIG)).program
    return render(program, ("x",), local_names(program))


@pytest.mark.parametrize(
    ("formula", "front", "locals_", "constants"),
    [
        (lambda x, a, b: a * x**1.37, "a*x**b", 1, 1),  # values that hardly differ become one
        (lambda x, a, b: a + b * x**2, "a + b*x**c", 2, 0),  # and a simple number where they lie at one
        (lambda x, a, b: a * x / (b + x), "a*b*x/(c + x)", 2, 0),  # two that only act together are merged
        (lambda x, a, b: a * x / (b + x), "x*exp(a)/(b + x)", 2, 0),
        (lambda x, a, b: a * x ** (0.5 * b), "a*x**1.5", 2, 0),  # a constant that differs becomes local
    ],
)
def test_the_split_into_locals_and_constants_is_settled(tmp_path, formula, front, locals_, constants):
    text = settled(tmp_path, formula, front)
    law = parse(text, ("x",), ("a", "b", "c"))
    assert (len(law.local_slots), law.n_constants) == (locals_, constants), text
    assert "exp" not in text
