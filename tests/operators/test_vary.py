"""Random programs and variation: whatever comes out is legal, of one expression, and repeatable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.arena import is_simple
from operators.generate import random_batch
from operators.grammar import Grammar, default_bans
from operators.primitives import ALL_NAMES, CONST, FRONTIER_NAMES, OPCODE
from operators.program import FIXED, FREE, Program, ProgramBatch, apply, constant, variable
from operators.row_kernels import shape_hashes
from operators.vary import crossover, mutate

GRAMMARS = {
    "all": Grammar(3, ALL_NAMES, max_length=30, max_constants=5),
    "frontier": Grammar(2, FRONTIER_NAMES, max_length=24, max_constants=4),
    "binary only": Grammar(2, ("add", "mul"), max_length=15),
    "unary only": Grammar(1, ("sin", "exp"), max_length=6),
    "short": Grammar(4, ALL_NAMES, max_length=5, max_depth=3, max_constants=1),
}


@pytest.mark.parametrize("name", GRAMMARS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_what_variation_makes_is_legal(name: str, seed: int) -> None:
    grammar = GRAMMARS[name]
    rng = np.random.default_rng(seed)
    batch = random_batch(rng, 40, grammar)
    for _ in range(4):
        batch = mutate(rng, crossover(rng, batch, batch.take(rng.permutation(40)), grammar), grammar)
        assert grammar.legal(batch).all()
        for program in batch:
            assert program.starts[-1] == 0  # exactly one expression
            assert len(program) <= grammar.max_length
            assert program.depth <= grammar.max_depth
            assert program.n_constants <= grammar.max_constants
            assert all(
                is_simple.py_func(float(v)) for v in program.value[(program.code == CONST) & (program.arg == FIXED)]
            )


def test_variation_changes_programs_and_depends_on_the_generator_alone() -> None:
    grammar = GRAMMARS["all"]
    batch = random_batch(np.random.default_rng(1), 200, grammar, least=5)
    one = mutate(np.random.default_rng(2), batch, grammar)
    two = mutate(np.random.default_rng(2), batch, grammar)
    other = mutate(np.random.default_rng(3), batch, grammar)
    assert [p.key for p in one] == [p.key for p in two]
    assert [p.key for p in one] != [p.key for p in other]
    assert sum(a != b for a, b in zip(one, batch, strict=True)) > 80


def test_a_child_has_material_of_both_parents() -> None:
    grammar = Grammar(2, ("add", "mul", "sin", "cos"), max_length=20)
    mother = apply("add", variable(0), apply("mul", variable(0), variable(0)))
    father = apply("sin", apply("mul", variable(1), variable(1)))
    n = 200
    children = crossover(np.random.default_rng(0), _copies(mother, n), _copies(father, n), grammar)
    assert sum(c.features == (0, 1) for c in children) > n // 2


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (apply("sin", apply("cos", variable(0))), "a periodic in a periodic"),
        (apply("exp", apply("add", variable(0), apply("exp", variable(0)))), "exp below exp"),
        (apply("add", constant(1.0), constant(2.0)), "constants only"),
        (apply("mul", variable(0), apply("exp", constant(2.0))), "a constant-only subtree"),
        (apply("tanh", variable(0)), "a primitive the task does not allow"),
        (constant(1.0, 2), "a local where the task has none"),
    ],
)
def test_illegal_programs(program: Program, why: str) -> None:
    assert not GRAMMARS["frontier"].is_legal(program), why


def test_snells_law_is_legal() -> None:
    """An inverse function may hold what it inverts: arcsin(n*sin(t))."""
    law = apply("asin", apply("mul", variable(0), apply("sin", variable(1))))
    assert GRAMMARS["all"].is_legal(law)
    assert ("sin", "asin") in default_bans(ALL_NAMES)


def test_the_form_hash_ignores_fitted_values_only() -> None:
    def law(value: float, role: int = FREE, feature: int = 0) -> Program:
        return apply("mul", constant(value, role), variable(feature))

    batch = ProgramBatch.of([law(1.0), law(2.5), law(1.0, 1), law(2.0, 1), law(1.0, FREE, 1)])
    hashes = shape_hashes(batch.code, batch.arg, batch.value, batch.length)
    assert hashes[0] == hashes[1]
    assert len(set(hashes.tolist())) == 4


def test_rare_primitives_cost_more_to_name() -> None:
    grammar = GRAMMARS["all"]
    assert grammar.code_length(apply("tan", variable(0))) > grammar.code_length(apply("square", variable(0)))
    assert grammar.code_length(apply("add", variable(0), variable(1))) > grammar.code_length(variable(0))


def _copies(program: Program, n: int) -> ProgramBatch:
    return ProgramBatch.of([program] * n, 20)


def test_every_primitive_has_a_weight_and_an_opcode() -> None:
    assert len(set(OPCODE.values())) == len(OPCODE)
    assert Grammar(1, ALL_NAMES).code_length(variable(0)) > 0
