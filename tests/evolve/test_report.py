"""The report: one self-contained page that shows the law, and text that stays text."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from evolve import config
from evolve.record import (
    FrontLaw,
    Result,
    find_law,
    read_front,
    read_result,
    read_task_record,
    write_front,
    write_result,
    write_task,
)
from evolve.report import write_report
from evolve.rundir import RunDirectory
from fitness.data import Dataset
from harness_adapter.task import Column, Rows, Task
from operators.errors import InputError
from operators.text import parse

NAMES = ("x1", "x2")
LAWS = ("2.5", "2.5*x1", "2.5*x1 + sin(x2)")


def make_task(target="y <b>$&"):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, (2, 60))
    data = Dataset.of(X, 2.5 * X[0] + np.sin(X[1]) + 0.01 * rng.standard_normal(60), NAMES)
    return Task(
        "t", "scilaws", Path("t"), Path("t/train.csv"), data, target, NAMES, NAMES, "rmse", ("add", "mul", "sin"),
        ((1.0, 3.0), (1.0, 3.0)), (False, False), Rows(60), target_column=Column(target, unit="m/s"),
        columns=(Column("x1"), Column("x2")), notes=("the separator is ','",),
    )  # fmt: skip


RESULT = Result(
    "t", "y <b>$&", "rmse", LAWS[2], LAWS[2], 7, 1, 0.0098, 0.0101, 5, "the front has settled", 12.25, 123456, True
)


def make_run(folder, task):
    run = RunDirectory.create("t", 5, folder)
    run.write_text("config.yaml", config.dump(config.load()))
    run.write_json("versions.json", {"evolve": "0", "numpy": "2"})
    for k, loss in enumerate([3.0, 0.7, 0.0098]):
        run.log({"event": "generation", "elapsed": float(k), "best_loss": loss})
    write_task(run, task)
    laws = [
        FrontLaw.of(k + 1, parse(text, NAMES), NAMES, 2 * k, 10.0**-k, cv_loss=2.0, chosen=k == 2)
        for k, text in enumerate(LAWS)
    ]
    write_front(run, laws)
    write_result(run, RESULT)
    return run


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run", make_task())


def page(run, **config_fields):
    task = make_task()
    settings = dataclasses.replace(config.load().report, **config_fields)
    write_report(run, task, RESULT, 2.5 * task.dataset.X[0] + np.sin(task.dataset.X[1]), settings)
    return run.report.read_text(encoding="utf-8")


def test_the_page_shows_the_law_its_measures_and_where_it_came_from(run):
    text = page(run)
    for word in (*LAWS, "0.0101", "rmse", "verified", "the front has settled", "123,456", "max_length: 40", "m/s"):
        assert word in text, word


def test_the_page_needs_no_other_file(run):
    text = page(run)
    assert re.findall(r"""(?:src|href)=["'](?!data:)""", text) == []
    assert "http" not in text
    assert len(re.findall(r"data:image/png;base64,[A-Za-z0-9+/=]{1000,}", text)) == 4


def test_a_column_name_is_never_markup(run):
    text = page(run)
    assert "<b>$" not in text
    assert "&lt;b&gt;$&amp;" in text


def test_plots_can_be_left_out(run):
    assert "data:image" not in page(run, plots=False)


def test_records_read_back(run):
    assert read_result(run) == RESULT
    record = read_task_record(run)
    assert (record.inputs, record.rows, record.ranges) == (NAMES, 60, ((1.0, 3.0), (1.0, 3.0)))
    laws = read_front(run)
    assert [law.text for law in laws] == list(LAWS)
    assert [law.chosen for law in laws] == [False, False, True]
    assert [law.program(NAMES) for law in laws] == [parse(text, NAMES) for text in LAWS]


def test_a_law_with_locals_reads_back():
    program = parse("p0*x1 + p1", NAMES, ("p0", "p1"))
    assert FrontLaw.of(1, program, NAMES, 4, 0.5).program(NAMES) == program


def test_an_absent_law_is_an_input_error_with_the_numbers_there_are(run):
    assert find_law(run, 2).text == LAWS[1]
    with pytest.raises(InputError, match="1, 2, 3"):
        find_law(run, 9)


@pytest.mark.parametrize("name", ["task.json", "result.json"])
def test_damaged_records_name_the_file(run, name):
    read = {"task.json": read_task_record, "result.json": read_result}[name]
    run.write_text(name, "{}")
    with pytest.raises(InputError, match=name):
        read(run)
    (run.path / name).unlink()
    with pytest.raises(InputError, match=name):
        read(run)
    run.write_text("front.csv", "a,b\n1,2\n")
    with pytest.raises(InputError, match=r"front\.csv"):
        read_front(run)
