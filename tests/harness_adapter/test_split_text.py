"""Words about a split, in the ways people write them."""

from __future__ import annotations

import pytest

from harness_adapter.split_text import read_split
from harness_adapter.task import Column, Split

COLUMNS = [Column("temperature"), Column("molar_volume"), Column("decimal_year"), Column("t"), Column("a"), Column("%")]
SORTED = Split("sorted", "decimal_year")


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("", Split()),
        ("As in the paper.", Split()),
        ("A random part of the rows is the test set.", Split("random")),
        ("Random 20% of the rows are held out.", Split("random")),
        ("Temperatures up to 260 deg C are the training set, higher ones the test set.", Split("ends", "temperature")),
        ("Dense states (molar volume below 0.12 L/mol) are the test set.", Split("ends", "molar_volume")),
        ("Seasons from 1995 on are the test set.", Split("ends")),
        ("Months before 2012 are the training set, later ones the test set.", Split("ends")),
        ("Rows with t > 5 are held back.", Split("ends", "t")),
        ("The ends of the range of temperature are tested.", Split("ends", "temperature")),
        ("Whole earthquakes are held out for the test set.", Split("groups")),
        ("Whole stations, drawn at random, are held out.", Split("groups")),
        ("Rows of the fourth simulated trajectory are the test set.", Split("groups")),
        ("In a held-out group the rows are sorted by decimal_year: the lower 60% are fitted.", SORTED),
        ("In a held-out group the rows are interleaved along t: every third is tested.", Split("interleaved", "t")),
    ],
)
def test_what_the_words_say(text: str, split: Split) -> None:
    assert read_split(text, COLUMNS) == split
