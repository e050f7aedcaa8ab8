"""SciLaws task folders: what the metadata may say, and what is told when it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fitness.metrics import METRICS
from harness_adapter.read import read_task
from harness_adapter.task import Column, Prior, Split
from operators.errors import InputError
from operators.primitives import ALL_NAMES

Scilaws = Callable[..., Path]
TWO = [{"name": "x"}, {"name": "z"}]
TWO_CSV = "y,x,z\n1,2,10\n3,4,20\n5,7,30\n2,9,40\n"
GROUPED = {"type": "typeII", "has_group_id": True, "caps": {"max_law_constants": 0, "max_local_params": 2}}


def test_a_plain_folder(scilaws: Scilaws) -> None:
    task = read_task(scilaws())
    assert (task.kind, task.name, task.task_id, task.metric) == ("scilaws", "small", "small", "rmse")
    assert (task.target, task.inputs, task.identifiers, task.dataset.names) == ("y", ("x",), ("x",), ("x",))
    np.testing.assert_array_equal(task.dataset.X, [[2.0, 4.0, 7.0, 9.0]])
    np.testing.assert_array_equal(task.dataset.y, [1.0, 3.0, 5.0, 2.0])
    assert task.dataset.X.flags.c_contiguous
    assert (task.max_constants, task.max_locals, task.max_init_size, task.fit_timeout) == (4, 0, 1, None)
    assert (task.primitives, task.grouped) == (ALL_NAMES, False)
    assert (task.ranges, task.extrapolates) == (((2.0, 9.0),), (False,))
    assert (task.notes, task.warnings, task.rows.dropped) == ((), (), 0)


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_every_metric(scilaws: Scilaws, metric: str) -> None:
    assert read_task(scilaws(metric=metric)).metric == metric


@pytest.mark.parametrize("metric", ["accuracy", "RMSE", ..., None, True, ["rmse"], {"name": "rmse"}, 3])
def test_a_metric_that_is_none_lists_the_known_ones(scilaws: Scilaws, metric: Any) -> None:
    with pytest.raises(InputError, match="metric") as caught:
        read_task(scilaws(metric=metric))
    assert all(name in str(caught.value) for name in METRICS)
    assert "metadata.yaml" in str(caught.value)


def test_unknown_keys_are_ignored_and_descriptions_kept(scilaws: Scilaws) -> None:
    task = read_task(
        scilaws(
            surprise={"a": [1]},
            problem_statement="old words",
            target={"name": "y", "unit": "m/s²", "symbol": None, "extra": 1},
            inputs=[{"name": "x", "symbol": "ξ", "unit": 1, "description": " what "}],
            data_files={"train": "data/test.csv"},
        )
    )
    assert task.context == "old words"
    assert task.target_column == Column("y", "", "m/s²")
    assert task.columns == (Column("x", "ξ", "1", "what"),)
    assert task.train_path.name == "train.csv"


@pytest.mark.parametrize(
    ("entry", "bounds", "beyond"),
    [
        ({}, (2.0, 9.0), False),
        ({"range": None}, (2.0, 9.0), False),
        ({"range": [1, 9]}, (1.0, 9.0), True),
        ({"range": [1.8, 9.2]}, (1.8, 9.2), False),  # less than 5% of the span of 7
        ({"range": {"train": [2, 9], "test": [3, 20]}}, (2.0, 20.0), True),
        ({"range": {"train": [2, 9], "fit": [2, 5], "held_out": [-3, 4]}}, (-3.0, 9.0), True),
        ({"range": ["1e1", "1e-3"]}, (1e-3, 10.0), True),  # YAML reads 1e1 as text; ends in the wrong order
        ({"range": [None, 30]}, (2.0, 30.0), True),
        ({"range": [0, math.inf]}, (0.0, 9.0), True),
        ({"range": [3, 5]}, (2.0, 9.0), False),
        ({"values": [1, 2, 4, 8, 16]}, (1.0, 16.0), True),
        ({"values": ["2", "9"]}, (2.0, 9.0), False),
        ({"range": [1e-30, 1e30]}, (1e-30, 1e30), True),
    ],
)
def test_ranges_in_all_their_forms(
    scilaws: Scilaws, entry: dict[str, Any], bounds: tuple[float, float], beyond: bool
) -> None:
    task = read_task(scilaws(inputs=[{"name": "x", **entry}]))
    assert task.ranges == (bounds,)
    assert task.extrapolates == (beyond,)
    assert task.warnings == ()


@pytest.mark.parametrize("range_", [["low", "high"], [1, 2, 3], "2 to 9", 5, {"train": "all"}, [1, True]])
def test_a_range_that_makes_no_sense_is_said_and_not_used(scilaws: Scilaws, range_: Any) -> None:
    task = read_task(scilaws(inputs=[{"name": "x", "range": range_}]))
    assert task.ranges == ((2.0, 9.0),)
    assert "range of input 'x'" in task.warnings[0]


def test_a_constant_column_extrapolates_only_beyond_rounding(scilaws: Scilaws) -> None:
    csv = "y,x,z\n1,2,0.33333333\n3,4,0.33333333\n"
    inputs = [{"name": "x"}, {"name": "z", "range": [0.333333, 0.333333]}]
    assert read_task(scilaws(csv, inputs=inputs)).extrapolates == (False, False)
    inputs[1]["range"] = [0.333333, 0.5]  # type: ignore[assignment]
    assert read_task(scilaws(csv, inputs=inputs)).extrapolates == (False, True)


def test_words_tell_of_extrapolation_where_ranges_do_not(scilaws: Scilaws) -> None:
    split = "Rows with x above 9 are the test set."
    assert read_task(scilaws(split=split)).extrapolates == (True,)
    assert read_task(scilaws(split=split)).split == Split("ends", "x")
    assert read_task(scilaws(split=split, inputs=[{"name": "x", "range": [2, 9]}])).extrapolates == (False,)
    assert read_task(scilaws(split=split, inputs=[{"name": "x", "range": [2, 9.2]}])).extrapolates == (True,)


def test_words_that_name_another_column_are_corrected_by_the_ranges(scilaws: Scilaws) -> None:
    inputs = [{"name": "x", "range": [2, 9]}, {"name": "z", "range": [10, 80]}]
    task = read_task(scilaws(TWO_CSV, inputs=inputs, split="Months before x = 9 are the training set, later ones not."))
    assert task.extrapolates == (False, True)
    assert task.split == Split("ends", "z")


@pytest.mark.parametrize(
    ("caps", "constants"),
    [(None, None), ({}, None), ({"max_law_constants": None}, None), ({"max_law_constants": 3}, 3)],
)
def test_caps_may_be_absent_or_null(scilaws: Scilaws, caps: Any, constants: int | None) -> None:
    assert read_task(scilaws(caps=caps)).max_constants == constants


@pytest.mark.parametrize("cap", ["1e1", "1.0e1", 10, 10.0, "10"])
def test_a_cap_that_yaml_reads_as_text_is_a_number(scilaws: Scilaws, cap: Any) -> None:
    assert read_task(scilaws(caps={"max_law_constants": cap})).max_constants == 10


@pytest.mark.parametrize("cap", [-1, 2.5, "many", True, [3], math.nan])
def test_a_cap_that_is_no_count_is_named(scilaws: Scilaws, cap: Any) -> None:
    with pytest.raises(InputError, match=r"metadata\.yaml: caps\.max_law_constants is .*whole number"):
        read_task(scilaws(caps={"max_law_constants": cap}))


@pytest.mark.parametrize("name", [False, True, None, 12, 2024.5, "", ["x"]])
def test_a_name_that_yaml_read_as_something_else(scilaws: Scilaws, name: Any) -> None:
    with pytest.raises(InputError, match=r"inputs\[1\]\.name is") as caught:
        read_task(scilaws(inputs=[{"name": "x"}, {"name": name}]))
    assert repr(name) in str(caught.value)
    assert "quote it" in str(caught.value) or "missing" in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"target": ...}, "target is missing"),
        ({"target": "y"}, "target"),
        ({"target": {"unit": "m"}}, "target.name is missing"),
        ({"inputs": ...}, "inputs is missing"),
        ({"inputs": []}, "inputs"),
        ({"inputs": ["x"]}, r"inputs\[0\]"),
        ({"inputs": [{"name": "x"}, {"name": "x"}]}, r"inputs\[1\]\.name is 'x' a second time"),
        ({"inputs": [{"name": "y"}]}, "is the target"),
        ({"type": "typeIII"}, "type is 'typeIII'"),
        ({"caps": [1]}, "caps"),
        ({"caps": {"fit_timeout_seconds": 0}}, "fit_timeout_seconds"),
    ],
)
def test_broken_metadata_names_the_key(scilaws: Scilaws, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_task(scilaws(**keys))
    assert "metadata.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "just words", "- a\n- b\n", "a: [1\n", "a: 2024-13-45\n", "\tx: 1\n", "!!python/object/apply:os.getcwd []\n"],
)
def test_metadata_that_is_no_mapping(scilaws: Scilaws, text: str) -> None:
    folder = scilaws()
    (folder / "metadata.yaml").write_text(text)
    with pytest.raises(InputError, match=r"metadata\.yaml"):
        read_task(folder)


def test_missing_files(scilaws: Scilaws) -> None:
    folder = scilaws()
    (folder / "data" / "train.csv").unlink()
    with pytest.raises(InputError, match=r"data/train\.csv is missing"):
        read_task(folder)
    folder = scilaws()
    (folder / "metadata.yaml").unlink()
    with pytest.raises(InputError, match=r"metadata\.yaml is missing"):
        read_task(folder)


def test_rows_that_are_not_finite_are_dropped_and_counted(scilaws: Scilaws) -> None:
    task = read_task(scilaws("y,x,z\n1,2,\nNaN,4,5\n3,inf,1\n5,7,1\n2,9,-Infinity\n6,1,1\n", inputs=TWO))
    assert (task.rows.read, task.rows.missing, task.rows.infinite, task.rows.used) == (6, 2, 2, 2)
    np.testing.assert_array_equal(task.dataset.y, [5.0, 6.0])
    assert "4 of 6 rows dropped" in task.warnings[0]
    assert "'z': 2" in task.warnings[0]
    assert task.ranges == ((1.0, 7.0), (1.0, 1.0))


def test_no_usable_row(scilaws: Scilaws) -> None:
    with pytest.raises(InputError, match=r"train\.csv: no usable row; 2 of 2 rows dropped"):
        read_task(scilaws("y,x\n1,\n,2\n"))


def test_an_input_without_any_number_is_left_out_instead_of_every_row(scilaws: Scilaws) -> None:
    task = read_task(scilaws("y,x,z\n1,2,\n3,4,NA\n", inputs=TWO))
    assert task.inputs == ("x",)
    assert "'z' has no finite number" in task.warnings[0]
    with pytest.raises(InputError, match="no numeric input"):
        read_task(scilaws("y,x,z\n1,a,\n3,b,\n", inputs=TWO))


def test_columns_the_metadata_does_not_list_play_no_part(scilaws: Scilaws) -> None:
    task = read_task(scilaws("y,other,x,other\n1,a,2,\n3,b,4,\n"))
    assert (task.inputs, task.rows.dropped) == (("x",), 0)


def test_priors_in_any_form(scilaws: Scilaws) -> None:
    priors = ["1e-3", {"name": "g", "value": "9.8", "unit": "m"}, {"symbol": "k"}, 3]
    expected = (Prior("1e-3", 1e-3), Prior("g", 9.8, "m"), Prior("k", None), Prior("3", 3.0))
    assert read_task(scilaws(priors=priors)).priors == expected
    for nothing in (None, "G", {"g": 9.8}, []):
        assert read_task(scilaws(priors=nothing)).priors == ()


class TestGrouped:
    CSV = "y,x,group_id\n1,2,7\n3,4,2\n5,7,7\n2,9,2\n8,9,5\n"

    def test_rows_are_sorted_by_group_and_ids_kept(self, scilaws: Scilaws) -> None:
        task = read_task(scilaws(self.CSV, **GROUPED))
        assert (task.grouped, task.group_column, task.group_ids) == (True, "group_id", (2, 5, 7))
        assert task.dataset.group is not None
        assert task.dataset.group.tolist() == [0, 0, 1, 2, 2]  # a group of one row is a group
        assert task.dataset.y.tolist() == [3.0, 2.0, 8.0, 1.0, 5.0]
        assert (task.max_constants, task.max_locals, task.fit_timeout) == (0, 2, 10.0)

    def test_the_timeout_of_the_metadata(self, scilaws: Scilaws) -> None:
        caps = {"max_local_params": 2, "fit_timeout_seconds": "2.5e1"}
        assert read_task(scilaws(self.CSV, **{**GROUPED, "caps": caps})).fit_timeout == 25.0

    def test_group_id_is_never_an_input(self, scilaws: Scilaws) -> None:
        inputs = [{"name": "x"}, {"name": "group_id"}]
        for kind in ({}, GROUPED):
            task = read_task(scilaws(self.CSV, inputs=inputs, **kind))
            assert task.inputs == ("x",)
            assert "group_id" in task.warnings[0]

    def test_no_group_column(self, scilaws: Scilaws) -> None:
        with pytest.raises(InputError, match=r"group column.*'group_id' was not found; the columns are 'y', 'x'"):
            read_task(scilaws(**GROUPED))

    @pytest.mark.parametrize(("bad", "shown"), [("A", "'A'"), ("2.5", "2.5"), ("inf", "inf")])
    def test_ids_that_are_no_whole_numbers(self, scilaws: Scilaws, bad: str, shown: str) -> None:
        with pytest.raises(InputError, match=f"'group_id' must hold whole numbers, but has {shown} on line 3"):
            read_task(scilaws(f"y,x,group_id\n1,2,7\n3,4,{bad}\n5,7,7\n", **GROUPED))

    def test_whole_numbers_may_be_written_as_floats_and_be_missing(self, scilaws: Scilaws) -> None:
        task = read_task(scilaws("y,x,group_id\n1,2,7.0\n3,4,\n5,7,-3\n", **GROUPED))
        assert (task.group_ids, task.rows.missing) == ((-3, 7), 1)

    def test_one_group_only_is_said(self, scilaws: Scilaws) -> None:
        task = read_task(scilaws("y,x,group_id\n1,2,7\n3,4,7\n5,7,7\n4,4,7\n", **GROUPED))
        assert task.dataset.n_groups == 1
        assert "one group only" in task.warnings[0]

    def test_a_cap_of_no_locals_is_said(self, scilaws: Scilaws) -> None:
        task = read_task(scilaws(self.CSV, **{**GROUPED, "caps": {"max_local_params": 0}}))
        assert task.max_locals == 0
        assert any("max_local_params is 0" in warning for warning in task.warnings)

    def test_has_group_id_decides_where_the_type_is_absent(self, scilaws: Scilaws) -> None:
        assert read_task(scilaws(self.CSV, **{**GROUPED, "type": ...})).grouped
        assert not read_task(scilaws(self.CSV, type=..., has_group_id=...)).grouped


def test_all_tasks_of_the_benchmark(shared_dir: Path) -> None:
    folders = sorted((shared_dir / "bench" / "tasks").glob("type*/*"))
    assert len(folders) == 39
    for folder in folders:
        meta = yaml.safe_load((folder / "metadata.yaml").read_text(encoding="utf-8"))
        task = read_task(folder)
        assert task.name == folder.name
        assert (task.metric, task.target) == (meta["metric"], meta["target"]["name"])
        assert task.grouped == (folder.parent.name == "typeII")
        assert np.isfinite(task.dataset.X).all()
        assert np.isfinite(task.dataset.y).all()
        assert (task.rows.used, len(task.inputs)) == (task.dataset.n_rows, task.dataset.n_features)
        listed = [v["name"] for v in meta["inputs"]]
        assert [name for name in listed if name in task.inputs] == list(task.inputs)
        assert all(any(repr(name) in w for w in task.warnings) for name in listed if name not in task.inputs)
        for (low, high), row in zip(task.ranges, task.dataset.X, strict=True):
            assert low <= row.min() <= row.max() <= high
