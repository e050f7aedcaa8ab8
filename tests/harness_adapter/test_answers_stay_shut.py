"""data/test*.csv, eval/ and simulator/ of a task folder are answers: reading a task never touches them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness_adapter.read import read_task
from harness_adapter.registry import find_harness, metric_registry

_touched: list[str] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    watched = event in ("open", "os.listdir", "os.scandir")
    if watched and _touched is not None and isinstance(arguments[0], (str, bytes)):
        _touched.append(os.fsdecode(arguments[0]))


sys.addaudithook(_watch)  # it sees every file that this process opens, by whatever library


@pytest.fixture
def touched() -> Iterator[list[str]]:
    global _touched
    _touched = []
    yield _touched
    _touched = None


def _set_traps(folder: Path) -> None:
    """Replace every answer by something that cannot be read: a folder, a pipe that would block, a dead link."""
    for path in (folder / "data").glob("test*"):
        path.unlink()
    (folder / "data" / "test.csv").mkdir()
    os.mkfifo(folder / "data" / "test_fit.csv")
    (folder / "data" / "test_test.csv").symlink_to("nowhere")
    for name in ("eval", "simulator"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).write_text("not a folder")
        (folder / name).chmod(0)


@pytest.mark.parametrize("name", ["typeI/cherry_tree_volume", "typeII/pig_weight_growth"])
def test_reading_a_task_opens_its_metadata_and_training_data_only(
    shared_dir: Path, tmp_path: Path, touched: list[str], name: str
) -> None:
    folder = tmp_path / "tasks" / name
    shutil.copytree(shared_dir / "bench" / "tasks" / name, folder, copy_function=shutil.copyfile)
    _open_up(folder)
    before = read_task(folder)
    _set_traps(folder)
    touched.clear()
    after = read_task(folder)
    assert find_harness(folder) is None
    opened = {str(Path(place).relative_to(folder)) for place in touched if place.startswith(str(folder))}
    assert opened == {"metadata.yaml", "data/train.csv"}
    assert repr(after).replace("array", "") == repr(before).replace("array", "")


def test_looking_for_a_harness_does_not_look_at_answers(shared_dir: Path, touched: list[str]) -> None:
    folder = shared_dir / "bench" / "tasks" / "typeI" / "cherry_tree_volume"
    assert metric_registry(find_harness(folder)).origin == (shared_dir / "bench" / "harness").resolve()
    assert not [place for place in touched if place.startswith(str(folder))]
    assert any(place.endswith("eval_formula.py") for place in touched)  # the watch does see what is opened


def _open_up(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)
