"""The number of fitted numbers of each program of a batch is that of the programs."""

from __future__ import annotations

from operators.program import ProgramBatch
from operators.text import parse

TEXTS = {"1.5*x + 2": 1, "a*x": 1, "a*x + a": 1, "a*x + b": 2, "1.5*exp(a*x) + 2.5*b + 3.5": 5, "x": 0}


def test_constants_and_locals_are_counted_once() -> None:
    programs = [parse(text, ("x",), ("a", "b")) for text in TEXTS]
    batch = ProgramBatch.of(programs, 40)
    batch.arg[:, 30:] = 3  # beyond its length a row may hold anything
    assert batch.parameters().tolist() == list(TEXTS.values())
    assert [p.n_constants + len(p.local_slots) for p in programs] == list(TEXTS.values())
