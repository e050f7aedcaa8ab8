"""What the words under `split` say about how the hidden test rows differ from the training rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness_adapter.task import Column, Split

_RANDOM = re.compile(r"\brandom", re.I)
_SORTED = re.compile(r"\bsorted by\b|\b(lower|first|earlier)\s+\d+\s?%|\bforecast", re.I)
_INTERLEAVED = re.compile(r"\binterleav|\bevery (second|third|fourth|fifth|\d+\w*)\b", re.I)
_GROUPS = re.compile(r"\bheld[- ]out (group|cluster)|\b(group|cluster)s? (is|are) held out|\bwhole\b|\btrajector", re.I)
_ENDS = re.compile(
    r"\b(before|after|until|later|earlier|beyond|above|below|up to|higher|lower|larger|smaller|hotter|colder"
    r"|highest|lowest|largest|smallest|ends|extremes|tails|extrapolat\w*|more than|less than|greater than)\b"
    r"|\bfrom \S+ on(wards?)?\b|[<>]",
    re.I,
)


def read_split(text: str, columns: Sequence[Column]) -> Split:
    """The kind of split and the input it runs along, as far as the words tell; `columns` are the inputs.

    >>> read_split("Temperatures up to 260 C are the training set.", [Column("temperature")])
    Split(kind='ends', column='temperature')
    """
    column = _named(text, columns)
    if _INTERLEAVED.search(text):
        return Split("interleaved", column)
    if _SORTED.search(text):
        return Split("sorted", column)
    if _GROUPS.search(text):
        return Split("groups", column)
    if _RANDOM.search(text):
        return Split("random")
    return Split("ends", column) if _ENDS.search(text) else Split()


def _named(text: str, columns: Sequence[Column]) -> str | None:
    """The input whose header occurs in the text as a word, singular or plural; the longest header wins."""
    found = [c.name for c in columns if _occurs(c.name, text)]
    return max(found, key=len) if found else None


def _occurs(name: str, text: str) -> bool:
    words = _words(name)
    if len(words) < 2:  # a short header is not any letter of the prose: its own case, and no article
        return name not in ("a", "A", "I") and bool(words) and re.search(rf"\b{re.escape(name)}\b", text) is not None
    return re.search(rf"\b{re.escape(words)}(s|es)?\b", _words(text)) is not None


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.lower()).strip()
