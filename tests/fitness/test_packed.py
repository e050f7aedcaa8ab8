"""Compact batches: what travels between processes arrives as it was sent."""

import numpy as np

from fitness.packed import PackedBatch, PackedScores
from fitness.score import Scored
from operators.generate import random_batch
from operators.grammar import Grammar
from operators.program import ProgramBatch, apply, constant, variable

GRAMMAR = Grammar(2, ("add", "mul", "sin", "exp"))


def test_programs_arrive_as_they_were_sent():
    batch = random_batch(np.random.default_rng(0), 200, GRAMMAR)
    back = PackedBatch.of(batch).unpack()
    assert back.width == batch.width
    assert list(back) == list(batch)


def test_arrays_that_arrive_may_be_written_to():
    back = PackedBatch.of(ProgramBatch.of([constant(1.5), variable(1)])).unpack()
    back.value[0, 0] = 2.0
    assert back[0] == constant(2.0)


def test_what_lies_beyond_a_programs_end_does_not_travel():
    batch = ProgramBatch.of([variable(0)], width=5)
    batch.code[0, 1:], batch.value[0, 1:] = 1, np.nan
    back = PackedBatch.of(batch).unpack()
    assert not back.code[0, 1:].any()
    assert not back.value[0, 1:].any()


def test_padding_and_numbers_of_other_nodes_cost_nothing():
    program = apply("add", constant(0.5), variable(0))
    packed = PackedBatch.of(ProgramBatch.of([program] * 10, width=40))
    nodes, constants = 30, 10
    assert packed.nbytes == 3 * nodes + 8 * constants + 2 * 10


def test_scores_arrive_with_their_programs():
    batch = random_batch(np.random.default_rng(1), 20, GRAMMAR)
    rng = np.random.default_rng(2)
    scored = Scored(batch, rng.random(20), rng.integers(0, 9, 20), rng.integers(0, 2**63, 20).astype(np.uint64))
    back = PackedScores.of(scored).unpack()
    assert list(back.batch) == list(batch)
    for name in ("loss", "complexity", "signature"):
        np.testing.assert_array_equal(getattr(back, name), getattr(scored, name))
