"""Random programs, for first populations and immigrants."""

from __future__ import annotations

import numpy as np

from operators.grammar import Grammar
from operators.program import ProgramBatch
from operators.vary_kernels import random_rows


def draw_seed(rng: np.random.Generator) -> np.uint64:
    """One seed for a kernel's own generator."""
    return np.uint64(rng.integers(0, 2**63))


def random_batch(rng: np.random.Generator, n: int, grammar: Grammar, least: int = 1, most: int = 15) -> ProgramBatch:
    """n legal random programs of `least` to `most` nodes, sizes drawn uniformly."""
    kept: list[ProgramBatch] = []
    missing = n
    while missing > 0:
        ask = 2 * missing + 8
        batch = ProgramBatch.empty(ask, grammar.max_length)
        sizes = rng.integers(least, min(most, grammar.max_length) + 1, ask)
        random_rows(
            draw_seed(rng), sizes, batch.code, batch.arg, batch.value, batch.length, *primitive_tables(grammar),
            grammar.table("features"), grammar.max_locals,
        )  # fmt: skip
        good = np.flatnonzero(grammar.legal(batch))[:missing]
        kept.append(batch.take(good))
        missing -= len(good)
    return ProgramBatch.concatenate(kept)


def primitive_tables(grammar: Grammar) -> tuple[np.ndarray, ...]:
    """(unary opcodes, their cumulative weights, binary opcodes, theirs), as the kernels take them."""
    return tuple(grammar.table(k) for k in ("unary", "unary_cumulative", "binary", "binary_cumulative"))
