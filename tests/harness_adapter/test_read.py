"""Whatever a person may point at."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import configs
from harness_adapter.options import ReadOptions
from harness_adapter.read import read_task
from operators.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def test_every_bundled_example_is_read() -> None:
    bundled = Path(configs.__file__).parent / "examples"
    names = {place.parent.name for place in (*bundled.glob("*/metadata.yaml"), *bundled.glob("*/resources"))}
    assert "mccormick" in names
    for name in names:
        task = read_task(f"example:{name}")
        assert (task.name, task.rows.dropped, task.warnings) == (name, 0, ())


def test_an_unknown_example_lists_the_known() -> None:
    with pytest.raises(InputError, match=r"unknown example 'mcormick'.*did you mean 'mccormick'"):
        read_task("example:mcormick")


def test_a_path_that_is_not_there_is_told_at_once_and_before_anything_heavy_is_loaded() -> None:
    code = (
        "import sys\n"
        "from harness_adapter.read import read_task\n"
        "try:\n    read_task('/no/such/dir')\n"
        "except ValueError as error:\n    print(error)\n"
        "print(sorted({'numba', 'pandas', 'scipy', 'sympy', 'ray', 'deap'} & set(sys.modules)))\n"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert time.monotonic() - began < 5.0  # 0.2 s on an idle machine
    assert done.stdout.splitlines() == ["/no/such/dir does not exist; there is no folder /no/such either", "[]"]


def test_names_nearest_to_a_wrong_path(scilaws: Callable[..., Path]) -> None:
    folder = scilaws()
    with pytest.raises(InputError, match="smal does not exist; did you mean 'small'"):
        read_task(folder.with_name("smal"))


def test_metadata_stands_for_its_folder(scilaws: Callable[..., Path]) -> None:
    assert read_task(scilaws() / "metadata.yaml").name == "small"


def test_a_folder_may_be_named_by_a_dot(scilaws: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scilaws())
    assert read_task(".").name == "small"


def test_folders_that_are_no_task(scilaws: Callable[..., Path], tmp_path: Path) -> None:
    scilaws()
    with pytest.raises(InputError, match=r"is no task: expected .* it holds 1 task folder, give it \(small\)"):
        read_task(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="it is empty"):
        read_task(empty)
    (empty / "mine.csv").write_text("y,x\n1,2\n")
    with pytest.raises(InputError, match=r"it holds 1 table, give it \(mine\.csv\)"):
        read_task(empty)


def test_options_of_a_table_are_refused_for_a_task_folder(scilaws: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="--target, --sep: only for a CSV file"):
        read_task(scilaws(), ReadOptions(target="y", sep=";"))


def test_held_out_data_are_no_table_to_learn_from(scilaws: Callable[..., Path]) -> None:
    folder = scilaws()
    for name in ("test.csv", "test_fit.csv"):
        (folder / "data" / name).write_text("y,x\n1,2\n3,4\n")
        with pytest.raises(InputError, match="held-out data"):
            read_task(folder / "data" / name)
    assert read_task(folder / "data" / "train.csv").kind == "table"
