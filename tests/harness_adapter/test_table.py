"""A user's CSV file: defaults are decided and said aloud, and what is said wins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness_adapter.options import ReadOptions, split_names
from harness_adapter.read import read_task
from operators.errors import InputError

Table = Callable[..., Path]


def test_defaults_are_said(table: Table) -> None:
    task = read_task(table("a,b,c\n1,2,3\n4,5,7\n8,7,9\n2,2,2\n"))
    assert (task.kind, task.name, task.target, task.inputs, task.metric) == ("table", "mine", "a", ("b", "c"), "rmse")
    assert task.ranges == ((2.0, 7.0), (2.0, 9.0))
    assert (task.extrapolates, task.max_constants, task.max_locals) == ((False, False), None, 0)
    said = "; ".join(task.notes)
    assert "target: 'a' (the first column" in said
    assert "metric: rmse" in said


@pytest.mark.parametrize("name", ["y", "Y", "target", "Target"])
def test_a_column_called_target_is_the_target(table: Table, name: str) -> None:
    task = read_task(table(f"a,{name},c\n1,2,3\n4,5,7\n"))
    assert task.target == name
    assert any("by its name" in note for note in task.notes)


def test_what_is_said_wins(table: Table) -> None:
    options = ReadOptions(target="c", inputs=("b",), metric="mae", sep=",", decimal=".")
    task = read_task(table("a,b,c\n1,2,3\n4,5,7\n8,7,9\n2,2,2\n"), options)
    assert (task.target, task.inputs, task.metric, task.notes) == ("c", ("b",), "mae", ())


def test_ignored_columns_play_no_part(table: Table) -> None:
    path = table("y,b,b,c,t\n1,2,2,3,\n4,5,5,7,\n")
    with pytest.raises(InputError, match="'b' occurs twice"):
        read_task(path)
    task = read_task(path, ReadOptions(ignore=("b", "t")))
    assert (task.inputs, task.rows.dropped) == (("c",), 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ReadOptions(target="Z"), "target 'Z' was not found; the columns are 'y', 'b', 'site'"),
        (ReadOptions(target="site"), "must hold numbers, but has 'north' on line 2 and 1 more"),
        (ReadOptions(inputs=("B",)), "--inputs 'B' was not found.*did you mean 'b'"),
        (ReadOptions(ignore=("bb",)), "--ignore 'bb' was not found.*did you mean 'b'"),
        (ReadOptions(inputs=("b", "y"), target="y"), "'y' is the target column"),
        (ReadOptions(inputs=("b", "site"), group="site"), "'site' is the group column"),
        (ReadOptions(inputs=("site",)), "input 'site' holds text"),
        (ReadOptions(group="who"), "group column 'who' was not found"),
        (ReadOptions(metric="rms"), "unknown metric 'rms'.*did you mean 'rmse'"),
        (ReadOptions(ignore=("b", "site")), "no numeric input column is left"),
        (ReadOptions(ignore=("b", "site", "y")), "no column is left for the target"),
        (ReadOptions(sep=";"), "read as the single column 'y,b,site' .*if the separator is another"),
    ],
)
def test_options_that_do_not_fit(table: Table, options: ReadOptions, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_task(table("y,b,site\n1,2,north\n4,5,south\n"), options)


def test_spreadsheet_exports(table: Table) -> None:
    task = read_task(table("Höhe;Maß\n1,5;2,25\n2,5;3,75\n0,5;1\n4;4\n".encode("cp1252")))
    np.testing.assert_array_equal(task.dataset.X, [[2.25, 3.75, 1.0, 4.0]])
    assert (task.target, task.inputs) == ("Höhe", ("Maß",))
    said = "; ".join(task.notes)
    assert "separator ';' (semicolon), decimal mark ','" in said
    assert "Windows-1252" in said


def test_missing_marks_are_read_and_said(table: Table) -> None:
    task = read_task(table("y,x\n1,2\n2,n/a\n3,#N/A\nNULL,4\n5,6\n"))
    assert (task.rows.used, task.rows.missing) == (2, 3)
    assert any("'x': '#N/A', 'n/a' read as missing" in note for note in task.notes)


def test_text_columns_and_columns_without_header_are_left_out(table: Table) -> None:
    task = read_task(table(",y,day,x,\n0,1,2024-01-01,2,\n1,2,2024-01-02,3,\n2,5,2024-01-03,9,\n3,5,2024-01-03,1,\n"))
    assert task.inputs == ("x",)
    assert "input 'day' holds text ('2024-01-01' on line 2 and 3 more): left out" in task.warnings
    assert any("2 column(s) without a header" in note for note in task.notes)


def test_thousands_separators_are_named(table: Table) -> None:
    with pytest.raises(InputError, match=r"'1,000' on line 2.*thousands separators are not read"):
        read_task(table('y,x\n"1,000",2\n"2,000",3\n'))


def test_groups_of_labels_or_of_numbers(table: Table) -> None:
    text = "y,x,who\n1,2,b\n2,3,a\n3,4,b\n4,1,\n5,5,a\n"
    task = read_task(table(text), ReadOptions(group="who"))
    assert (task.grouped, task.group_column, task.group_ids) == (True, "who", ("a", "b"))
    assert (task.inputs, task.rows.missing, task.max_locals) == (("x",), 1, None)
    assert task.dataset.y.tolist() == [2.0, 5.0, 1.0, 3.0]
    numbers = text.replace("b\n", "10\n").replace("a\n", "9\n")
    assert read_task(table(numbers), ReadOptions(group="who")).group_ids == (9, 10)
    halves = text.replace("b\n", "1.5\n").replace("a\n", "10.5\n")
    assert read_task(table(halves), ReadOptions(group="who")).group_ids == ("1.5", "10.5")


def test_a_constant_column_is_kept_and_said(table: Table) -> None:
    task = read_task(table("y,x,one\n1,2,1\n2,3,1\n4,7,1\n5,6,1\n"))
    assert task.inputs == ("x", "one")
    assert any("same value in every row: 'one'" in note for note in task.notes)


def test_options_from_the_command_line() -> None:
    options = ReadOptions.of({"target": "y", "inputs": 'a, "b, c",d', "sep": ";"})
    assert options == ReadOptions(target="y", inputs=("a", "b, c", "d"), sep=";")
    assert options.given == ("target", "inputs", "sep")
    assert split_names("") == ()
    with pytest.raises(InputError, match=r"unknown option 'targets'.*did you mean 'target'"):
        ReadOptions.of({"targets": "y"})
