"""The run folder: refusal to overwrite, atomic writes, unwritable places."""

import json
import math
import os
import subprocess
import sys
import threading

import pytest

from evolve import rundir
from evolve.rundir import RunDirectory
from operators.errors import InputError


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create("task", 1, tmp_path / "out")


def test_default_place_names_task_time_and_seed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = RunDirectory.create("odd name/../x", 17)
    assert made.path.parent == tmp_path / rundir.RUNS
    assert made.path.name.startswith("odd_name_.._x-")
    assert made.path.name.endswith("Z-17")
    assert os.listdir(tmp_path) == ["runs"]


def test_two_runs_in_the_same_second_do_not_meet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len({RunDirectory.create("t", 1).path for _ in range(5)}) == 5


def test_another_runs_results_are_not_overwritten(run):
    run.write_best("x = 1\n")
    with pytest.raises(InputError, match="already holds a run") as error:
        RunDirectory.create("task", 1, run.path)
    assert str(run.path) in str(error.value)
    assert "--resume" in str(error.value)
    assert run.best.read_text() == "x = 1\n"


def test_an_empty_folder_or_one_with_other_files_is_fine(tmp_path):
    (tmp_path / "log.txt").write_text("mine")
    made = RunDirectory.create("task", 1, tmp_path)
    made.write_best("y = 2\n")
    assert (tmp_path / "log.txt").read_text() == "mine"


@pytest.mark.parametrize("bad", ["/proc/x", "/dev/null/x"])
def test_an_unwritable_place_is_named_before_the_search(bad):
    with pytest.raises(InputError, match=bad):
        RunDirectory.create("task", 1, rundir.Path(bad))


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="out"):
        RunDirectory.create("task", 1, tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_place(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match=str(tmp_path)):
        RunDirectory.create("task", 1, tmp_path / "out")


def test_open_says_what_is_no_run(tmp_path):
    with pytest.raises(InputError, match="absent"):
        RunDirectory.open(tmp_path / "absent")
    with pytest.raises(InputError, match=r"best\.py"):
        RunDirectory.open(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_no_litter(run, monkeypatch):
    run.write_best("old\n")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        run.write_best("new\n")
    assert run.best.read_text() == "old\n"
    assert os.listdir(run.path) == ["best.py"]


def test_a_reader_never_sees_half_a_file(run):
    """A writer replaces the file as fast as it can; every read finds one whole version."""
    versions = {letter * 50_000 for letter in "abc"}
    run.write_best("a" * 50_000)
    done = threading.Event()

    def write():
        while not done.is_set():
            for text in versions:
                run.write_best(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert {run.best.read_text() for _ in range(200)} <= versions
    finally:
        done.set()
        writer.join()


def test_killed_while_writing_leaves_a_whole_file(tmp_path):
    code = (
        "import sys; from pathlib import Path; from evolve.rundir import RunDirectory\n"
        "run = RunDirectory(Path(sys.argv[1]))\n"
        "run.write_best('0' * 100000); print('ready', flush=True)\n"
        "while True:\n    for c in '0123456789': run.write_best(c * 100000)\n"
    )
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
        process.stdout.readline()
        process.kill()
        process.wait()
        process.stdout.close()
        text = (tmp_path / "best.py").read_text()
        assert len(text) == 100_000
        assert len(set(text)) == 1


def test_results_are_readable_by_the_group_as_the_umask_says(run):
    before = os.umask(0o022)
    try:
        run.write_best("x\n")
    finally:
        os.umask(before)
    assert run.best.stat().st_mode & 0o777 == 0o644


def test_front_reads_back(run):
    run.write_front([{"law": 1, "loss": 0.1 + 0.2, "text": 'a, "b"'}, {"law": 2, "loss": 1e-300, "text": "x"}])
    rows = run.read_front()
    assert [float(row["loss"]) for row in rows] == [0.1 + 0.2, 1e-300]
    assert rows[0]["text"] == 'a, "b"'


def test_a_missing_or_damaged_file_is_an_input_error(run):
    with pytest.raises(InputError, match=r"front\.csv"):
        run.read_front()
    run.write_text("result.json", "{")
    with pytest.raises(InputError, match=r"result\.json"):
        run.read_json("result.json")


def test_log_is_strict_json_and_survives_a_cut_line(run):
    run.log({"loss": math.inf, "laws": [{"x": math.nan}]})
    run.log({"loss": 1.0})
    text = (run.path / "log.jsonl").read_text()
    for line in text.splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    (run.path / "log.jsonl").write_text(text + '{"loss": 0.')
    assert [entry["loss"] for entry in run.read_log()] == ["inf", 1.0]
