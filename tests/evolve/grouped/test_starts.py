"""Textbook starts and the scan of linear forms: legal, within the caps, and never one input's name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evolve.grouped.scan import FormScan, forms, small_functions
from evolve.grouped.starts import textbook
from evolve.grouped.text import compact, linear_slots, local_names, starts
from fitness.data import Dataset
from fitness.grouped import Calibrator, GroupedData
from fitness.windows import SORTED, Cut, cut_windows
from operators.grammar import Grammar
from operators.primitives import BY_NAME
from operators.program import ProgramBatch
from operators.text import parse, render

X = np.array([np.linspace(0.5, 20.0, 60), np.repeat([1.0, 2.0, 5.0], 20)])
GRAMMAR = Grammar(2, tuple(BY_NAME), max_constants=3, max_locals=3)


def test_textbook_laws_are_legal_and_use_their_caps():
    laws = textbook(GRAMMAR, X, [0])
    assert len(laws) > 100
    assert all(GRAMMAR.is_legal(law) for law in laws)
    assert {len(law.local_slots) for law in laws} == {1, 2, 3}
    assert max(law.n_constants for law in laws) <= 3
    text = {render(law, ("x", "z")) for law in laws}
    assert "p0*x/(p1 + x)" in text


def test_a_cap_of_one_local_leaves_laws_of_one_local():
    laws = textbook(replace(GRAMMAR, max_locals=1, _tables={}), X, [0])
    assert laws
    assert all(len(law.local_slots) == 1 for law in laws)


def test_small_functions_differ_by_more_than_scale_and_offset():
    found = [render(f, ("x", "z")) for f in small_functions(GRAMMAR, X, [0])]
    assert "x" in found
    assert "log(x)" in found
    assert "x + 1" not in found  # the same curve as x, once it has a slope and a level of its own
    assert len(set(found)) == len(found)


def test_forms_come_short_ones_first_and_are_legal():
    functions = small_functions(GRAMMAR, X, [0])[:6]
    found = list(forms(functions, GRAMMAR))
    assert all(GRAMMAR.is_legal(f) for f in found)
    assert [len(f.local_slots) for f in found] == sorted(len(f.local_slots) for f in found)


def test_the_scan_hands_over_the_form_that_holds():
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(6), 15)
    x = np.tile(np.linspace(1.0, 9.0, 15), 6)
    y = rng.uniform(1, 3, 6)[group] + rng.uniform(2, 5, 6)[group] * np.log(x)
    data = Dataset.of(x[None], y, ("x",), group=group)
    grammar = Grammar(1, tuple(BY_NAME), max_constants=2, max_locals=2)
    calibrator = Calibrator(GroupedData.of(cut_windows(data, [Cut(SORTED, 0)]), "rmse"))
    scan = FormScan(calibrator, grammar, [0])
    first = scan.take(50)
    best = calibrator.run(ProgramBatch.of(first), 5)
    assert best.loss.min() < 1e-9
    while not scan.exhausted:
        scan.take(50)
    assert scan.take(50) == []


def test_slots_are_numbered_as_they_appear():
    law = compact(parse("c*x + a", ("x",), ("a", "b", "c")))
    assert law.local_slots == (0, 1)
    assert local_names(law) == ("a", "b")
    assert render(law, ("x",), ("a", "b")) == "a*x + b"
    assert starts(law) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "linear"),
    [("a*x/(b + x)", (0,)), ("a + b*exp(-c*x)", (0, 1)), ("a*x**b", (0,)), ("exp(a + b*x)", ()), ("a*x + a", ())],
)
def test_linear_locals_are_told_from_curved_ones(text, linear):
    assert linear_slots(parse(text, ("x",), "abc")) == linear
