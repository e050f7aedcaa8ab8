"""Compile the kernels of this package and keep them on disk, beside another process that compiles other things.

``python -m operators.precompile`` prints the name of each stage when its kernels are kept: numba compiles one function
at a time in a process, so a second process halves the wait of a first start.
"""

from __future__ import annotations

import numpy as np

from operators.complexity import complexities
from operators.generate import random_batch
from operators.grammar import Grammar
from operators.jit import CACHE
from operators.periodic import periodic_arguments
from operators.primitives import ALL_NAMES
from operators.program import ProgramBatch, apply, variable
from operators.row_kernels import shape_hashes
from operators.simplify import simplify_all
from operators.vary import crossover, mutate

VARIATION, SIMPLIFICATION = "variation", "simplification"


def variation() -> None:
    """What every generation needs: random programs, crossover, mutation, legality (of grouped laws too), form hashes and C."""
    grammar = Grammar(1, ALL_NAMES, max_length=40)
    rng = np.random.default_rng(0)
    batch = random_batch(rng, 2, grammar)
    batch = mutate(rng, crossover(rng, batch, batch, grammar), grammar)
    shape_hashes(batch.code, batch.arg, batch.value, batch.length)
    complexities(batch)
    Grammar(1, ALL_NAMES, max_locals=1, between=(0,)).legal(batch)
    periodic_arguments(ProgramBatch.of([apply("sin", variable(0))]))


def simplification() -> None:
    """The rewriting kernel."""
    simplify_all(ProgramBatch.of([variable(0)]))


def main() -> None:
    """Compile stage by stage."""
    for name, stage in ((VARIATION, variation), (SIMPLIFICATION, simplification)):
        stage()
        print(name, flush=True)
    CACHE.mark_complete()


if __name__ == "__main__":
    main()
