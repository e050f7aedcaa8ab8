"""How a CSV file is written: encoding, separator and decimal mark, looked up in its first lines."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import TextIO

from operators.errors import InputError

BLANKS = " "  # as a separator: any run of blanks or tabs
SEPARATORS: tuple[str, ...] = (",", ";", "\t", "|", BLANKS)
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", BLANKS: "blanks"}
_SPOKEN = {name: sep for sep, name in _NAMES.items()} | {"\\t": "\t", "space": BLANKS, "whitespace": BLANKS}

# The encoding of spreadsheets' exports that are not UTF-8.
FALLBACK = "cp1252"
_LINES = 60  # as many are looked at
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?\Z")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+\Z")
_POINT_NUMBER = re.compile(r"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?\Z")


@dataclass(frozen=True)
class Dialect:
    """`sep` is one of SEPARATORS (or any one character), `decimal` is ``.`` or ``,``.

    `skip` lines of comment come first; `marked` says that the header line, too, begins with ``#``.
    """

    sep: str = ","
    decimal: str = "."
    encoding: str = "utf-8-sig"
    skip: int = 0
    marked: bool = False

    @property
    def spoken(self) -> str:
        """For messages: ``separator ';' (semicolon), decimal mark ','``."""
        name = _NAMES.get(self.sep)
        return f"separator {self.sep!r}{f' ({name})' if name else ''}, decimal mark {self.decimal!r}"


def encoding_of(path: Path) -> str:
    """The encoding that the first bytes announce; refuses what is no text. Raises InputError."""
    with path.open("rb") as handle:
        head = handle.read(4096)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(f"{path} is empty; expected a header line and rows of numbers")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if head.startswith((b"PK\x03\x04", b"\x1f\x8b")):
        raise InputError(f"{path} is a spreadsheet or a compressed file, not text; save it as CSV first")
    if b"\0" in head:
        raise InputError(f"{path} is a binary file, not a CSV table")
    return "utf-8-sig"


def open_text(path: Path, dialect: Dialect) -> TextIO:
    """The file, open at its header line."""
    handle = path.open(encoding=dialect.encoding, newline="")
    for _ in range(dialect.skip):
        handle.readline()
    return handle


def records(handle: Iterable[str], sep: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, cells) of every record, blanks around a cell removed; blank lines are no records.

    The line number counts from 1 at the first line given and is that of the record's last line, since a quoted cell
    may span several.
    """
    if sep == BLANKS:
        for number, line in enumerate(handle, 1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(handle, delimiter=sep, skipinitialspace=True)
    for cells in reader:
        if len(cells) > 1 or (cells and cells[0].strip()):
            yield reader.line_num, [cell.strip() for cell in cells]


def sniff(path: Path, sep: str | None = None, decimal: str | None = None) -> Dialect:
    """The dialect of a file a person made; what is given is not guessed. Raises InputError.

    The separator is the first of SEPARATORS that cuts the first lines into equally many cells, two or more.
    The decimal mark is a comma when cells look like ``1,5``, none like ``1.5``, and they cannot all be thousands.
    """
    encoding = encoding_of(path)
    try:
        lines = _first_lines(path, encoding)
    except UnicodeDecodeError:
        encoding = FALLBACK
        lines = _first_lines(path, encoding)
    comments = sum(1 for _ in takewhile(_is_comment, lines))
    body = [line for line in lines[comments:] if line.strip()]
    chosen = _separator(body) if sep is None else _given_separator(sep)
    mark = _decimal(body, chosen) if decimal is None else _given_decimal(decimal)
    if mark == chosen and sep is not None and decimal is not None:
        raise InputError(f"the separator and the decimal mark are both {mark!r}; give two different ones")
    marked = comments > 0 and _is_header(lines[comments - 1], body, chosen, mark)
    return Dialect(chosen, mark, encoding, comments - marked, marked)


def _first_lines(path: Path, encoding: str) -> list[str]:
    with path.open(encoding=encoding, newline="") as handle:
        return list(islice(handle, _LINES))


def _is_comment(line: str) -> bool:
    return line.startswith("#")


def _is_header(comment: str, body: Sequence[str], sep: str, decimal: str) -> bool:
    """Is the last comment line the header: as wide as the line after it, which holds numbers alone?"""
    first = next(iter(_cells(body[:1], sep)), [])
    numeric = bool(first) and all(is_number(cell, decimal) for cell in first)
    return numeric and [len(row) for row in _cells([unmarked(comment)], sep)] == [len(first)]


def unmarked(line: str) -> str:
    """A header line without the ``#`` that marks it as a comment."""
    return line.lstrip("#").lstrip(" ")


def is_number(cell: str, decimal: str) -> bool:
    """Does a cell hold a number (infinite ones included) in this way of writing?"""
    if "_" in cell:  # Python reads 1_000 as a number, no table means it
        return False
    try:
        return not math.isnan(float(cell.replace(",", ".") if decimal == "," else cell))
    except ValueError:
        return False


def _cells(lines: Sequence[str], sep: str) -> list[list[str]]:
    if sep == BLANKS:
        return [line.split() for line in lines]
    try:
        return [[c.strip() for c in row] for row in csv.reader(lines, delimiter=sep, skipinitialspace=True) if row]
    except csv.Error:
        return []


def _separator(lines: Sequence[str]) -> str:
    for sep in SEPARATORS:
        widths = {len(row) for row in _cells(lines, sep)}
        if len(widths) == 1 and max(widths) > 1:
            return sep
    return ","


def _decimal(lines: Sequence[str], sep: str) -> str:
    cells = [cell for row in _cells(lines, sep)[1:] for cell in row]
    commas = [cell for cell in cells if _COMMA_NUMBER.match(cell) or _THOUSANDS.match(cell)]
    if not commas or all(_THOUSANDS.match(cell) for cell in commas) or any(_POINT_NUMBER.match(cell) for cell in cells):
        return "."
    return ","


def _given_separator(sep: str) -> str:
    chosen = _SPOKEN.get(sep, sep)
    if len(chosen) != 1 or chosen in "\"'\r\n.":
        raise InputError(f"separator {sep!r} is not usable; give one character, or one of {', '.join(_NAMES.values())}")
    return chosen


def _given_decimal(decimal: str) -> str:
    chosen = {"comma": ",", "point": ".", "dot": "."}.get(decimal, decimal)
    if chosen not in (".", ","):
        raise InputError(f"decimal mark {decimal!r} is not usable; give '.' or ','")
    return chosen
