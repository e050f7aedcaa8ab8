"""An evaluator whose sample of the rows grows."""

import numpy as np

from fitness.data import Dataset
from fitness.evaluator import Account, InProcessEvaluator
from fitness.growing import GrowingEvaluator
from operators.program import ProgramBatch, variable


def test_it_goes_through_the_samples_and_keeps_counting():
    x = np.arange(8.0)
    samples = [Dataset.of(x[None, :n], x[:n] + n, ["x"]) for n in (2, 4, 8)]
    evaluator = GrowingEvaluator(InProcessEvaluator(samples[0], "mse"), samples[1:])
    batch = ProgramBatch.of([variable(0)])
    losses = [evaluator.evaluate(batch, 0).loss[0]]
    while evaluator.grow():
        losses.append(evaluator.evaluate(batch, 0).loss[0])
    assert losses == [4.0, 16.0, 64.0]
    assert not evaluator.grow()
    assert evaluator.evaluations == 3
    assert evaluator.account() == Account(3)
