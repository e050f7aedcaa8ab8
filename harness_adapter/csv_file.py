"""A CSV file in memory: its headers, and each column as float64 numbers with the first text that is none.

pandas does the reading; what is added is the header taken as written (duplicates and blank headers included),
exact rounding, integers of any size, and messages that name line, column and cell.
"""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness_adapter.dialect import (
    BLANKS,
    FALLBACK,
    SEPARATORS,
    Dialect,
    encoding_of,
    is_number,
    open_text,
    records,
    unmarked,
)
from operators.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

# What the benchmark's scorer reads as a missing value, and nothing else.
MISSING: tuple[str, ...] = ("", "NA", "nan", "NaN")
# What people and programs write besides; only in tables of the user's own, and never in a column of labels.
MISSING_MARKS = frozenset((
    "n/a", "N/A", "#N/A", "<NA>", "NAN", "NaT", "null", "NULL", "None", "none", "missing", "Missing",
    "-", "--", "?", ".", "*", "#DIV/0!", "#VALUE!", "#NUM!", "#REF!",
))  # fmt: skip
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?\Z")


@dataclass(frozen=True, eq=False)
class Numbers:
    """One column as numbers, shape (rows,); NaN where a cell is missing or holds a text.

    `texts` counts the cells that hold a text, of which `first` (in data row `row`, 0-based) is the first.
    `marks` are the texts that were taken for missing values.
    """

    values: NDArray[np.float64]
    texts: int = 0
    first: str = ""
    row: int = -1
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    """The first line of a file. `names` are as written, without blanks around them; they may repeat or be empty."""

    path: Path
    dialect: Dialect
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def index(self, name: str, role: str) -> int:
        """The position of the column called `name`; InputError when it is absent or there are several."""
        count = self.names.count(name)
        if count == 1:
            return self.names.index(name)
        if count > 1:
            times = "twice" if count == 2 else f"{count} times"
            raise InputError(f"{self.path}: header {name!r} occurs {times}; rename one, so that {role} is one column")
        found = f"the columns are {listed(self.names)}{self._hint(name)}"
        raise InputError(f"{self.path}: {role} {name!r} was not found; {found}")

    def _hint(self, name: str) -> str:
        others = [sep for sep in SEPARATORS if sep not in (self.dialect.sep, BLANKS) and sep in self.names[0]]
        if len(self.names) == 1 and others:
            return f"; only one header was read, is the separator {others[0]!r}?"
        return nearest(name, [n for n in self.names if n])


@dataclass(frozen=True, eq=False)
class CsvFile:
    """The cells of a file, by column; `header` tells which column is which."""

    header: Header
    frame: pd.DataFrame

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def numbers(self, index: int, marks: Iterable[str] = ()) -> Numbers:
        """Column `index` as numbers; texts among `marks` are missing values, provided all other cells are numbers."""
        column = self.frame[index]
        if column.dtype.kind in "iuf":
            return Numbers(column.to_numpy(dtype=np.float64))
        strict = _parse(column, self.header.dialect.decimal, frozenset())
        if not strict.texts:
            return strict
        lenient = _parse(column, self.header.dialect.decimal, frozenset(marks))
        return lenient if not lenient.texts and np.isfinite(lenient.values).any() else strict

    def labels(self, index: int) -> list[str | None]:
        """Column `index` as texts, None where a cell is missing."""
        return [None if _is_missing(cell) else str(cell) for cell in self.frame[index]]

    def line(self, row: int) -> int:
        """The line of the file that holds data row `row` (0-based); found by reading the file again."""
        dialect = self.header.dialect
        with open_text(self.header.path, dialect) as handle:
            for number, (line, _) in enumerate(records(handle, dialect.sep)):
                if number == row + 1:
                    return dialect.skip + line
        raise IndexError(row)

    def text_found(self, numbers: Numbers) -> str:
        """``'<0.1' on line 6`` and how many more, for a message about a column that holds text."""
        more = f" and {numbers.texts - 1} more" if numbers.texts > 1 else ""
        hint = "; thousands separators are not read" if _THOUSANDS.match(numbers.first) else ""
        return f"{numbers.first!r} on line {self.line(numbers.row)}{more}{hint}"


def read_header(path: Path, dialect: Dialect | None = None) -> Header:
    """Read the first line; without a dialect the file must be written as the benchmark's are: `Dialect()`.

    Raises InputError for a file that is absent, empty, unreadable, no text or without a header.
    """
    with _as_input_error(path):
        given = Dialect(encoding=encoding_of(path)) if dialect is None else dialect
        try:
            return _header(path, given)
        except UnicodeDecodeError:
            return _header(path, replace(given, encoding=FALLBACK))


def read_body(header: Header) -> CsvFile:
    """Read all rows. Raises InputError for a file without any, or with a row of more cells than the header."""
    with _as_input_error(header.path):
        try:
            frame = _body(header)
        except UnicodeDecodeError:
            header = _header(header.path, replace(header.dialect, encoding=FALLBACK))
            frame = _body(header)
    if not len(frame):
        raise InputError(f"{header.path} has no rows, only the header {listed(header.names)}")
    return CsvFile(header, frame)


@contextmanager
def _as_input_error(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV table: {error}") from None


def _header(path: Path, dialect: Dialect) -> Header:
    with open_text(path, dialect) as handle:
        lines: Iterable[str] = [unmarked(handle.readline())] if dialect.marked else handle
        first = next(records(lines, dialect.sep), None)
    if first is None:
        raise InputError(f"{path} is empty; expected a header line and rows of numbers")
    names = tuple(first[1])
    if all(is_number(cell, dialect.decimal) for cell in names):
        raise InputError(f"{path} has no header: its first line is {listed(names)}; add a line of column names")
    notes = [f"{path.name}: {dialect.skip} leading comment line(s) skipped"] if dialect.skip else []
    if dialect.encoding == FALLBACK:
        notes.append(f"{path.name} is not UTF-8; read as Windows-1252")
    return Header(path, dialect, names, tuple(notes))


def _body(header: Header) -> pd.DataFrame:
    """The records after the header, in columns 0, 1, ... of pandas' own types."""
    import pandas as pd

    dialect, columns = header.dialect, list(range(len(header.names)))
    blanks = dialect.sep == BLANKS
    options: dict[str, Any] = {"sep": r"\s+" if blanks else dialect.sep, "skipinitialspace": not blanks}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        options["float_precision"] = "round_trip"  # later versions always round as Python does
    with open_text(header.path, dialect) as handle, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        next(records(handle, dialect.sep))
        try:
            frame: pd.DataFrame = pd.read_csv(
                handle, header=None, names=columns, index_col=False, decimal=dialect.decimal,
                keep_default_na=False, na_values=list(MISSING), low_memory=False, **options,
            )  # fmt: skip
            return frame
        except pd.errors.EmptyDataError:
            return pd.DataFrame(columns=columns)
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise InputError(_ragged(header) or f"{header.path} is not a CSV table: {error}") from None


def _ragged(header: Header) -> str | None:
    width, dialect = len(header.names), header.dialect
    with open_text(header.path, dialect) as handle:
        for line, cells in islice(records(handle, dialect.sep), 1, None):
            if len(cells) > width:
                return (
                    f"{header.path}: line {dialect.skip + line} has {len(cells)} cells, the header has {width} "
                    f"({dialect.spoken}); quote cells that hold the separator"
                )
    return None


def _parse(column: pd.Series[Any], decimal: str, marks: frozenset[str]) -> Numbers:
    """A column of texts (or of Python's integers) as numbers; each different cell is looked at once."""
    codes, cells = column.factorize()  # a missing cell has code -1
    values, is_text, seen = np.full(len(cells) + 1, np.nan), np.zeros(len(cells) + 1, dtype=np.bool_), set()
    for i, cell in enumerate(map(str, cells)):
        number = _number(cell, decimal)
        if number is not None:
            values[i] = number
        elif cell.strip() in marks:
            seen.add(cell.strip())
        else:
            is_text[i] = True
    texts = is_text[codes]
    row = int(np.argmax(texts)) if texts.any() else -1
    return Numbers(values[codes], int(texts.sum()), str(column.iloc[row]) if row >= 0 else "", row, tuple(sorted(seen)))


def _number(cell: str, decimal: str) -> float | None:
    """The number a cell holds (NaN when it is missing), or None for a text."""
    if cell.strip() in MISSING:
        return math.nan
    if not is_number(cell, decimal):
        return None
    return float(cell.replace(",", ".") if decimal == "," else cell)


def _is_missing(cell: object) -> bool:
    return isinstance(cell, float) and math.isnan(cell)


def listed(names: Iterable[str], most: int = 30) -> str:
    """Names for a message, quoted; no more than `most` of them."""
    shown = [repr(h) for h in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
