"""Cells, headers and line numbers of a CSV file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_adapter.csv_file import MISSING_MARKS, CsvFile, read_body, read_header
from harness_adapter.dialect import Dialect
from operators.errors import InputError

Table = Callable[..., Path]


def read(path: Path, dialect: Dialect | None = None) -> CsvFile:
    return read_body(read_header(path, dialect))


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(st.tuples(finite, st.integers(-(10**25), 10**25)), min_size=1, max_size=8))
def test_numbers_come_back_as_python_reads_them(table: Table, rows: list[tuple[float, int]]) -> None:
    file = read(table("a,n\n" + "".join(f"{a!r},{n}\n" for a, n in rows)))
    assert file.numbers(0).values.tolist() == [a for a, _ in rows]
    assert file.numbers(1).values.tolist() == [float(n) for _, n in rows]


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(cells.map(str.strip).filter(lambda h: h and h.strip("#") == h), min_size=2, max_size=5, unique=True))
def test_any_header_is_found_again(table: Table, headers: list[str]) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["name", *headers])  # one that is no number, so that a line of numbers is not the header
    writer.writerow(range(len(headers) + 1))
    file = read(table(out.getvalue()))
    assert file.header.names == ("name", *headers)
    for k, header in enumerate(headers, 1):
        assert file.numbers(file.header.index(header, "input")).values.tolist() == [k]


def test_texts_are_counted_and_the_first_has_its_line(table: Table) -> None:
    file = read(table('a,b\n\n1,2\n"x\ny",3\n   \nz,4\n1_000,5\n'))
    numbers = file.numbers(0)
    assert (numbers.texts, numbers.first, numbers.row) == (3, "x\ny", 1)
    assert [file.line(row) for row in range(4)] == [3, 5, 7, 8]
    assert math.isnan(numbers.values[1])


def test_missing_values_are_those_of_the_scorer(table: Table) -> None:
    file = read(table("a\n1\nNA\nnan\nNaN\n2\n"))
    assert np.isnan(file.numbers(0).values).tolist() == [False, True, True, True, False]
    assert read(table("a,b\n1,n/a\n2,3\n")).numbers(1).texts == 1


@pytest.mark.parametrize("mark", sorted(MISSING_MARKS))
def test_marks_are_missing_only_in_a_column_of_numbers(table: Table, mark: str) -> None:
    file = read(table(f"a,b\n1,{mark}\n{mark},north\n"))
    numbers = file.numbers(0, MISSING_MARKS)
    assert (numbers.texts, numbers.marks) == (0, (mark,))
    assert file.numbers(1, MISSING_MARKS).texts == 2


def test_true_and_false_are_text(table: Table) -> None:
    numbers = read(table("a,b\nTrue,1\nFalse,2\n")).numbers(0)
    assert (numbers.texts, numbers.first) == (2, "True")


@pytest.mark.parametrize("text", ["a,b\n1,2\n1,2,3\n", "a,b\n1,2,3\n", 'a,b\n1,2\n"1,5","2,5",7\n'])
def test_a_row_with_too_many_cells_is_named(table: Table, text: str) -> None:
    line = text.count("\n")
    with pytest.raises(InputError, match=f"line {line} has 3 cells, the header has 2"):
        read(table(text))


def test_a_short_row_has_missing_values(table: Table) -> None:
    assert np.isnan(read(table("a,b\n1\n2,3\n")).numbers(1).values).tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [("a,b\n", "no rows"), ("1,2\n3,4\n", "no header"), ('a,b\n1,"2\n', "not a CSV table|no rows"), ("", "empty")],
)
def test_tables_that_cannot_be_read(table: Table, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(table(text))


def test_encodings_of_other_programs(table: Table) -> None:
    assert read(table("x,y\r\n1,2\r\n".encode("utf-8-sig"))).header.names == ("x", "y")
    assert read(table("x,y\n1,2\n".encode("utf-16"))).numbers(1).values.tolist() == [2]
    for text in ("µ,y\n1,2\n", "x,y\n" + "1,2\n" * 9000 + "µ,3\n"):
        file = read(table(text.encode("cp1252")))
        assert any("Windows-1252" in note for note in file.header.notes)
        assert "µ" in (file.header.names[0], file.numbers(0).first)


def test_a_folder_or_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        read(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path)
