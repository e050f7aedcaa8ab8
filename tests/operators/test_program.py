"""Flat programs: subtrees are slices, splices replace them, batches hold them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_strategies import evaluate, programs

from operators.primitives import ALL_NAMES, ARITY, BY_NAME, BY_OPCODE, CONST, FRONTIER_NAMES, PRIMITIVES, VAR
from operators.program import FIXED, FREE, LOCAL, Program, ProgramBatch, apply, constant, variable
from operators.text import parse

NAMES = ("x", "y", "z")
PROGRAMS = programs(n_locals=2)
SEEDS = st.integers(0, 2**31)


def _some_node(program: Program, seed: int) -> int:
    return int(np.random.default_rng(seed).integers(len(program)))


@given(PROGRAMS, SEEDS)
def test_a_subtree_is_a_whole_expression(program: Program, seed: int) -> None:
    i = _some_node(program, seed)
    part = program.subtree(i)
    assert part.starts[-1] == 0
    assert len(part) == i + 1 - program.starts[i]
    assert part.code[-1] == program.code[i]


@given(PROGRAMS)
def test_children_partition_the_subtree(program: Program) -> None:
    for i in range(len(program)):
        children = program.children(i)
        assert len(children) == ARITY[program.code[i]]
        assert sum(len(program.subtree(c)) for c in children) + 1 == len(program.subtree(i))


@given(PROGRAMS, SEEDS)
def test_splicing_a_subtree_into_its_own_place_changes_nothing(program: Program, seed: int) -> None:
    i = _some_node(program, seed)
    assert program.splice(i, program.subtree(i)) == program


@given(PROGRAMS, PROGRAMS, SEEDS)
def test_a_splice_puts_the_donor_where_the_subtree_was(program: Program, donor: Program, seed: int) -> None:
    i = _some_node(program, seed)
    child = program.splice(i, donor)
    start = int(program.starts[i])
    assert len(child) == len(program) - len(program.subtree(i)) + len(donor)
    assert child.subtree(start + len(donor) - 1) == donor
    assert child.code[:start].tolist() == program.code[:start].tolist()
    assert child.code[start + len(donor) :].tolist() == program.code[i + 1 :].tolist()


@settings(deadline=None)
@given(programs(), SEEDS)
def test_a_splice_of_the_subtrees_value_keeps_the_value(program: Program, seed: int) -> None:
    """Replacing a subtree by the constant it evaluates to at a point leaves the value at that point."""
    X = np.random.default_rng(seed).uniform(0.5, 2.0, (3, 1))
    i = _some_node(program, seed)
    inside = float(evaluate(program.subtree(i), X)[0])
    before = evaluate(program, X)
    after = evaluate(program.splice(i, constant(inside)), X)
    np.testing.assert_array_equal(before, after)


@given(PROGRAMS)
def test_depth_counts_the_longest_path(program: Program) -> None:
    def depth(i: int) -> int:
        return 1 + max((depth(c) for c in program.children(i)), default=0)

    assert program.depth == depth(len(program) - 1)


@given(PROGRAMS)
def test_keys_tell_programs_from_forms(program: Program) -> None:
    free = (program.code == CONST) & (program.arg == FREE)
    other = program.with_values(np.where(free, program.value + 1.0, program.value))
    assert other.shape_key == program.shape_key
    assert (other == program) == (not free.any())
    assert hash(other.with_values(program.value)) == hash(program)


@given(PROGRAMS)
def test_programs_are_immutable_and_pickle(program: Program) -> None:
    with pytest.raises(ValueError, match="read-only"):
        program.value[0] = 1.0
    assert pickle.loads(pickle.dumps(program)) == program


@given(st.lists(PROGRAMS, min_size=1, max_size=6))
def test_batches_hold_their_programs(items: list[Program]) -> None:
    batch = ProgramBatch.of(items)
    assert list(batch) == items
    assert len(batch) == len(items)
    doubled = ProgramBatch.concatenate([batch, ProgramBatch.of([variable(0)])])
    assert list(doubled) == [*items, variable(0)]
    rows = np.arange(len(items))[::-1]
    assert list(batch.take(rows)) == items[::-1]


def test_what_a_program_says_of_itself() -> None:
    program = parse("p*x + 2*z - 1.5*q", NAMES, ("p", "q"))
    assert program.n_constants == 1
    assert program.local_slots == (0, 1)
    assert program.features == (0, 2)
    assert (program.arg[program.code == CONST] >= LOCAL).sum() == 2
    assert (program.arg[program.code == CONST] == FIXED).sum() == 1


def test_broken_postfix_is_refused() -> None:
    two_leaves = Program(np.array([VAR, VAR], np.uint8), np.zeros(2, np.int16), np.zeros(2))
    with pytest.raises(ValueError, match="not one expression"):
        _ = two_leaves.starts
    with pytest.raises(ValueError, match="takes 2 operands"):
        apply("add", variable(0))


def test_a_chain_of_height_250_works() -> None:
    chain = Program(np.array([VAR, *[BY_NAME["sin"].opcode] * 250], np.uint8), np.zeros(251, np.int16), np.zeros(251))
    assert chain.depth == 251
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert len(chain.splice(125, variable(1))) == 126


def test_the_table_of_primitives_is_consistent() -> None:
    assert len({p.name for p in PRIMITIVES}) == len(PRIMITIVES) == len({p.opcode for p in PRIMITIVES})
    assert set(FRONTIER_NAMES) <= set(ALL_NAMES)
    for p in PRIMITIVES:
        assert p.opcode not in (CONST, VAR)
        assert BY_OPCODE[p.opcode] is p
        assert ARITY[p.opcode] == p.arity == p.text.count("{}") == len(p.needs)
        x = np.full((p.arity, 3), 0.5)
        assert p.function(*x).shape == (3,)
    for p in PRIMITIVES:
        if p.commutative:
            assert p.function(0.3, 0.7) == p.function(0.7, 0.3)
