"""Crossover and mutation of batches: pure functions ``(rng, parents, grammar) -> children``.

A child that is not legal in the grammar is replaced by its parent, so that what comes out is always legal.
"""

from __future__ import annotations

import numpy as np

from operators.generate import draw_seed, primitive_tables
from operators.grammar import Grammar
from operators.program import ProgramBatch
from operators.vary_kernels import crossover_rows, mutate_rows

# How often each kind of mutation is drawn: point, nudge, grow, insert, hoist, leaf, swap.
MUTATION_WEIGHTS = np.array([2.0, 1.0, 2.0, 3.0, 3.0, 2.0, 0.3])


def crossover(rng: np.random.Generator, mothers: ProgramBatch, fathers: ProgramBatch, grammar: Grammar) -> ProgramBatch:
    """Row r of the result is mothers[r] with one subtree taken from fathers[r]."""
    child = ProgramBatch.empty(len(mothers), grammar.max_length)
    crossover_rows(
        draw_seed(rng), mothers.code, mothers.arg, mothers.value, mothers.length,
        fathers.code, fathers.arg, fathers.value, fathers.length,
        child.code, child.arg, child.value, child.length, grammar.max_length,
    )  # fmt: skip
    return _keep_legal(child, mothers, grammar)


def mutate(rng: np.random.Generator, parents: ProgramBatch, grammar: Grammar) -> ProgramBatch:
    """Row r of the result is parents[r] after one mutation."""
    child = ProgramBatch(parents.code.copy(), parents.arg.copy(), parents.value.copy(), parents.length.copy())
    cumulative = np.cumsum(MUTATION_WEIGHTS) / MUTATION_WEIGHTS.sum()
    mutate_rows(
        draw_seed(rng), cumulative, child.code, child.arg, child.value, child.length, grammar.max_length,
        *primitive_tables(grammar), grammar.table("features"), grammar.table("scale"), grammar.max_locals,
    )  # fmt: skip
    return _keep_legal(child, parents, grammar)


def _keep_legal(child: ProgramBatch, parent: ProgramBatch, grammar: Grammar) -> ProgramBatch:
    bad = np.flatnonzero(~grammar.legal(child))
    width = parent.width
    for array, source in ((child.code, parent.code), (child.arg, parent.arg), (child.value, parent.value)):
        array[bad, :width] = source[bad]
    child.length[bad] = parent.length[bad]
    return child
