"""What a person may say about a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields

from operators.errors import InputError, nearest


@dataclass(frozen=True)
class ReadOptions:
    """Column headers and the dialect of a user's table; None (or empty) is "decide yourself and say so".

    `inputs` and `ignore` may be given as tuples or as one text with commas, in which a header that holds a comma
    is quoted: ``'a,"b, c"'``.
    """

    target: str | None = None
    inputs: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    metric: str | None = None
    group: str | None = None
    sep: str | None = None
    decimal: str | None = None

    @staticmethod
    def of(said: Mapping[str, str]) -> ReadOptions:
        """The options from texts, as a command line has them. Raises InputError for an unknown key."""
        known = {f.name for f in fields(ReadOptions)}
        for key in said:
            if key not in known:
                raise InputError(f"unknown option {key!r}; known are {', '.join(sorted(known))}{nearest(key, known)}")
        lists = {key: split_names(said[key]) for key in ("inputs", "ignore") if key in said}
        return ReadOptions(**{**said, **lists})  # type: ignore[arg-type]  # keys and types are those of the fields

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the options that say something."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name))


def split_names(text: str) -> tuple[str, ...]:
    """Headers from one text with commas; quotes protect a comma."""
    row = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(name.strip() for name in row if name.strip())
