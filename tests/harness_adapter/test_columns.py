"""Headers become identifiers that are valid, unique and shadow nothing; they are never executed."""

from __future__ import annotations

import ast
import builtins
import keyword
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapter.columns import identifier, identifiers, is_free
from operators.primitives import ALL_NAMES

ODD = ["", " ", "1", "2B", "µ", "x²", "ﬁ", "̈q", "a b", "a_b", "T [°C]", "lambda", "class_", "None", "np", "c0", "p1"]
headers = st.one_of(st.text(max_size=60), st.sampled_from([*ODD, *keyword.kwlist, *dir(builtins), *ALL_NAMES]))


@given(st.lists(headers, max_size=12))
def test_any_headers_give_free_and_different_names(given_headers: list[str]) -> None:
    names = identifiers(given_headers)
    assert len(set(names)) == len(given_headers)
    for name in names:
        assert is_free(name)
        assert name not in dir(builtins)
        assert name not in ALL_NAMES
        tree = ast.parse(f"{name} = 1").body[0]
        assert isinstance(tree, ast.Assign)
        assert isinstance(tree.targets[0], ast.Name)
        assert tree.targets[0].id == name  # Python reads back the very name that was written


@given(headers)
def test_names_are_the_same_every_time_and_normal(header: str) -> None:
    name = identifier(header, 3)
    assert name == identifier(header, 3) == unicodedata.normalize("NFKC", name)
    assert len(name) <= 45


@pytest.mark.parametrize("header", ["x", "logP", "β", "E", "I", "S", "N", "O", "Q", "beta", "gamma", "zeta"])
def test_good_names_stay(header: str) -> None:
    assert identifiers([header]) == (header,)


def test_a_name_that_fits_is_not_taken_by_one_that_does_not() -> None:
    assert identifiers(["a b", "a_b", "", "x3"]) == ("a_b_2", "a_b", "x3_2", "x3")


@pytest.mark.parametrize("header", ["np", "X", "predict", "fit", "exp", "min", "exec", "lambda", "c0", "p12", "y"])
def test_names_with_a_meaning_get_an_underscore(header: str) -> None:
    assert identifiers([header]) == (f"{header}_",)
