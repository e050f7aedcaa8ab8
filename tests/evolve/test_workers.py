"""`--workers` and threads through the command line: the same law, whoever scores; no hang; nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evolve.config import RunConfig
from evolve.engine import open_evaluator
from fitness.data import Dataset
from fitness.evaluator import InProcessEvaluator

QUICK = ("--set", "search.seeding_units=2000", "--set", "report.enabled=false")


def start(*arguments, cwd, env=None, **more):
    """`evolve run ARGUMENTS` as a process, with output in pipes."""
    command = [sys.executable, "-m", "evolve", "run", *map(str, arguments), *QUICK]
    environment = {**os.environ, **(env or {})}
    return subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def run(*arguments, cwd, env=None, timeout=240):
    """(standard output, standard error) of a run that ends well."""
    process = start(*arguments, cwd=cwd, env=env)
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    return out, err


def scored(folder):
    """The log's entry about who scored what."""
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return next(e for e in entries if e["event"] == "scored")


def skip_if_too_busy(said):
    """Thirty seconds are not enough to start Ray on a machine that others keep busy; that is no fault of ours."""
    if "within 30 s" in said and os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1):
        pytest.skip(f"Ray did not start within 30 s at a load of {os.getloadavg()[0]:.1f}")


def processes_that_mention(text):
    """Ids of processes whose environment names a folder, so that they belong to a run in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if text.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def assert_nothing_runs(mark, seconds):
    deadline = time.monotonic() + seconds
    while processes_that_mention(mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_that_mention(mark) == []


# --- which evaluator -------------------------------------------------------------------------------------------------


def data_of(rows):
    x = [float(i) for i in range(rows)]
    return Dataset.of([x], x, ["x"])


def test_one_worker_does_not_import_ray(case, tmp_path):
    code = (
        "import sys; from evolve.__main__ import main\n"
        f"code = main(['run', {str(case('SR-44').folder)!r}, '--evaluations', '600', '--seed', '1', '--out', 'o'])\n"
        "sys.exit(code or ('ray' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


def test_too_little_work_stays_in_this_process(capsys):
    evaluator = open_evaluator(data_of(10), "mse", RunConfig(workers=2))
    assert isinstance(evaluator, InProcessEvaluator)
    assert "too few for workers" in capsys.readouterr().err


def test_without_workers_nothing_is_said(capsys):
    assert isinstance(open_evaluator(data_of(10), "mse", RunConfig()), InProcessEvaluator)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("given", "right"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_linear_algebra_leaves_the_cores_to_our_threads(given, right):
    """The command line sets it before numpy is imported, or it would have no effect."""
    code = (
        "import os, sys; from evolve.__main__ import main\n"
        "assert 'numpy' not in sys.modules\n"
        "main(['examples']); print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, **given}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1:] == [right], done.stderr


# --- SR-23: the same seed gives the same bytes -----------------------------------------------------------------------


def test_sr23_threads_and_hash_seeds_do_not_change_a_byte(case, tmp_path):
    task = case("SR-23").folder
    for k, threads in enumerate((1, 2)):
        given = ("--seed", 7, "--evaluations", 15000, "--set", f"threads={threads}", "--out", f"out{k}")
        run(task, *given, cwd=tmp_path, env={"PYTHONHASHSEED": str(k)})
    assert (tmp_path / "out0" / "best.py").read_bytes() == (tmp_path / "out1" / "best.py").read_bytes()


@pytest.mark.ray
def test_sr23_workers_do_not_change_a_byte_and_both_work(case, tmp_path):
    """Also SR-38 (two workers work, started from another folder) and SR-44 (30 rows: the data move once)."""
    pytest.importorskip("ray")
    task = case("SR-23").folder
    for workers in (1, 2):
        given = ("--seed", 7, "--evaluations", 15000, "--workers", workers, "--out", f"out{workers}")
        mark = {"EVOLVE_TEST_MARK": str(tmp_path), "PYTHONHASHSEED": str(workers)}
        out, err = run(task, *given, cwd=tmp_path, env=mark)
    assert (tmp_path / "out1" / "best.py").read_bytes() == (tmp_path / "out2" / "best.py").read_bytes()
    skip_if_too_busy(err)
    account = scored(tmp_path / "out2")
    assert len(account["by_worker"]) == 2
    assert min(account["by_worker"]) > 1000
    assert account["data_bytes"] == 30 * 3 * 8
    assert "scored by workers" in out
    assert_nothing_runs(str(tmp_path), 10)


# --- SR-40, SR-41: workers that cannot be had ------------------------------------------------------------------------


def test_sr41_a_ray_that_raises_on_init_means_one_line_and_work_in_this_process(case, tmp_path):
    task = case("SR-41").folder
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "ray.py").write_text(
        "def is_initialized():\n    return False\n\n\ndef init(**settings):\n    raise RuntimeError('not today')\n"
    )
    path = os.pathsep.join([str(fake), os.environ.get("PYTHONPATH", "")])
    given = ("--workers", 2, "--seed", 1, "--evaluations", 2000, "--out", "o")
    out, err = run(task, *given, cwd=tmp_path, env={"PYTHONPATH": path})
    lines = [line for line in (out + err).splitlines() if "not today" in line]
    assert len(lines) == 1
    assert "in this process" in lines[0]
    assert scored(tmp_path / "o")["by_worker"] == []


@pytest.mark.ray
@pytest.mark.slow
def test_sr41_a_long_temporary_path(case, tmp_path):
    pytest.importorskip("ray")
    deep = tmp_path / ("a" * 90)
    deep.mkdir()
    given = ("--workers", 2, "--seed", 1, "--evaluations", 4000, "--out", "o")
    _, err = run(case("SR-41").folder, *given, cwd=tmp_path, env={"TMPDIR": str(deep)})
    skip_if_too_busy(err)
    assert min(scored(tmp_path / "o")["by_worker"]) > 0


# --- Ctrl-C with workers ---------------------------------------------------------------------------------------------


@pytest.mark.ray
@pytest.mark.slow
def test_ctrl_c_reaches_the_whole_group_and_leaves_no_process(case, tmp_path):
    """A terminal sends SIGINT to workers as well: they must not print tracebacks, and all must end."""
    pytest.importorskip("ray")
    task = case("SR-23").folder
    given = ("--workers", 2, "--seed", 1, "--time", "600s", "--set", "search.settle=false", "--out", "o")
    process = start(task, *given, cwd=tmp_path, env={"EVOLVE_TEST_MARK": str(tmp_path)}, start_new_session=True)
    log = tmp_path / "o" / "log.jsonl"
    deadline = time.monotonic() + 120
    while not (log.is_file() and log.read_text().count('"generation"') > 3):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    sent = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - sent < 15
    assert "Traceback" not in out + err
    skip_if_too_busy(err)
    assert min(scored(tmp_path / "o")["by_worker"]) > 0
    assert_nothing_runs(str(tmp_path), 10)
