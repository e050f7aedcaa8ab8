"""What a person's file is written like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness_adapter.dialect import BLANKS, sniff
from operators.errors import InputError

Table = Callable[..., Path]


@pytest.mark.parametrize(
    ("text", "sep", "decimal"),
    [
        ("x,y\n1,2\n", ",", "."),
        ("x;y\n1;2\n", ";", "."),
        ("x;y\n1,5;2,25\n3;4\n", ";", ","),
        ("x\ty\n1\t2\n", "\t", "."),
        ("x|y\n1|2\n", "|", "."),
        ("x  y z\n1 2  3\n", BLANKS, "."),
        ('x,y\n"1,5","2,7"\n', ",", ","),
        ("x;y\n1,000;2,500\n", ";", "."),  # thousands, as likely as thousandths: left to the person
        ("x;y\n1,5;2.5\n", ";", "."),
        ("x\n1\n2\n", ",", "."),
    ],
)
def test_separator_and_decimal_mark_are_found(table: Table, text: str, sep: str, decimal: str) -> None:
    dialect = sniff(table(text))
    assert (dialect.sep, dialect.decimal) == (sep, decimal)


def test_what_is_said_is_not_guessed(table: Table) -> None:
    path = table("x,y;z\n1,5;2\n")
    assert sniff(path, sep=",").sep == ","
    assert sniff(path, sep="semicolon", decimal="comma").decimal == ","
    assert sniff(path, sep="\\t").sep == "\t"


@pytest.mark.parametrize(("sep", "decimal"), [("ab", None), ('"', None), (None, ";"), (",", ",")])
def test_nonsense_is_refused(table: Table, sep: str | None, decimal: str | None) -> None:
    with pytest.raises(InputError, match=r"separator|decimal"):
        sniff(table("x,y\n1,2\n"), sep, decimal)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"PK\x03\x04xxxx", "spreadsheet"),
        (b"\x1f\x8b\x08", "compressed"),
        (b"a,\x00b", "binary"),
    ],
)
def test_files_that_are_no_tables(table: Table, raw: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        sniff(table(raw))


@pytest.mark.parametrize(
    ("text", "skip", "marked"),
    [
        ("x,y\n1,2\n", 0, False),
        ("# made today\n# by hand\nx,y\n1,2\n", 2, False),
        ("# made today\n# x y\n1 2\n", 1, True),
        ("#,x,y\n1,2,3\n", 0, True),
    ],
)
def test_comment_lines_before_or_around_the_header(table: Table, text: str, skip: int, marked: bool) -> None:
    dialect = sniff(table(text))
    assert (dialect.skip, dialect.marked) == (skip, marked)
