"""Oscillations too fast for the rows, or too slow where the law leaves them, are found at any place in a program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitness.resolution import Resolution
from operators.periodic import periodic_arguments
from operators.program import ProgramBatch
from operators.text import parse

MONTH = np.tile(np.arange(1.0, 13.0), 10)
TIME = np.linspace(0.0, 10.0, 120)
ROWS = Resolution(np.array([MONTH, TIME]))


def unresolved(*texts: str) -> list[bool]:
    return ROWS.unresolved(ProgramBatch.of([parse(t, ("month", "time")) for t in texts])).tolist()


@pytest.mark.parametrize(
    ("text", "is_hash"),
    [
        ("sin(month*0.5235987755982988)", False),  # a period a year
        ("sin(6.048*month)**2", True),
        ("time + cos(month*month)", True),
        ("sin(10.0*time)", False),  # 16 periods over 120 rows
        ("sin(40.0*time)", True),
        ("sin(time*40.0 - sin(time))*month", True),
        ("tan(6.2*month)", True),
        ("exp(40.0*time)", False),
        ("sin(1/(time - 20.0))", False),
    ],
)
def test_what_the_rows_resolve(text: str, is_hash: bool) -> None:
    assert unresolved(text) == [is_hash]


@given(st.permutations(["sin(40.0*time)", "sin(time)", "month", "cos(sin(40.0*time))", "1.0"]))
def test_a_program_answers_for_itself_alone(texts: list[str]) -> None:
    assert unresolved(*texts) == [t in ("sin(40.0*time)", "cos(sin(40.0*time))") for t in texts]


def test_the_arguments_are_copied_in_order() -> None:
    batch = ProgramBatch.of([parse(t, ("a", "b")) for t in ("a + b", "sin(a - cos(b*2.5))*tan(a)", "cos(b)")])
    arguments, owner = periodic_arguments(batch)
    assert list(arguments) == [parse(t, ("a", "b")) for t in ("b*2.5", "a - cos(b*2.5)", "a", "b")]
    assert owner.tolist() == [1, 1, 1, 2]


def test_what_lies_beyond_a_programs_length_does_not_count() -> None:
    batch = ProgramBatch.of([parse("sin(a) + sin(b)", ("a", "b"))])
    batch.length[0] = 2
    arguments, owner = periodic_arguments(batch)
    assert list(arguments) == [parse("a", ("a", "b"))]
    assert owner.tolist() == [0]


@pytest.mark.filterwarnings("error")
def test_arguments_that_are_not_finite_are_left_to_the_loss() -> None:
    assert unresolved("sin(1/(month - 1.0))", "cos(log(0.0*time))", "sin(exp(exp(exp(time))))") == [False] * 3


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("sin(0.2*time)", True),  # a third of a period in the rows
        ("3.0 + cos(0.9*time + 0.1)", True),
        ("sin(1.4*time)", False),  # two periods and a bit
        ("sin(time)", False),  # no frequency was fitted
        ("sin(time/2)", False),
        ("sin(0.2*month)", False),  # the rows hold all the months there will be
        ("month*sin(0.2*(month - time))", True),
        ("exp(0.2*time)", False),
    ],
)
def test_a_slow_wave_is_not_believed_where_the_law_leaves_the_rows(text: str, refused: bool) -> None:
    rows = Resolution(np.array([MONTH, TIME]), beyond=[1])
    program = parse(text, ("month", "time"))
    assert rows.unresolved(ProgramBatch.of([program])).tolist() == [refused]
    assert unresolved(text) == [False]
