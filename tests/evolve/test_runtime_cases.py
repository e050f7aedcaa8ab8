"""Cases of layer `runtime` (and SR-23) that users of other tools reported, through the command line.

Where a case asks for a long budget the quick suite runs it shorter; the whole budget is in the tests marked slow.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import evolve
from evolve.prediction import load_module
from evolve.record import read_front
from evolve.rundir import RunDirectory

# The package under test, from whatever directory it is started.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(evolve.__file__).parents[1])}
CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")

# Settings with which a search never ends by itself.
ENDLESS = ("--set", "search.settle=false", "--set", "search.exact_patience=1000000000")


def command(*arguments):
    return [sys.executable, "-m", "evolve", *map(str, arguments)]


def run(*arguments, cwd, env=None, timeout=180):
    """The finished process of `evolve run ARGUMENTS`; standard output and error are bytes."""
    return subprocess.run(
        command("run", *arguments),
        cwd=cwd,
        env=ENVIRONMENT | (env or {}),
        capture_output=True,
        timeout=timeout,
        check=False,
    )


def start(*arguments, cwd, **more):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command("run", *arguments), cwd=cwd, env=ENVIRONMENT, **pipes, **more)


def predictions(folder, case):
    """best.py on the case's own rows."""
    law = load_module(folder / "best.py")
    X = np.array([case.columns[name] for name in law.USED_INPUTS]).reshape(-1, len(case.columns["y"])).T
    return np.asarray(law.predict(X))


def rmse(folder, case):
    return float(np.sqrt(np.mean((predictions(folder, case) - np.asarray(case.columns["y"])) ** 2)))


def assert_good(done):
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr


def snapshot(folder):
    """Every file below a folder with its content and time of change."""
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(folder.rglob("*")) if p.is_file()}


# --- SR-23: the same seed -------------------------------------------------------------------------------------------


def test_sr23_same_seed_same_bytes(case, tmp_path):
    task = case("SR-23")
    for h in range(2):
        done = run(
            task.folder,
            "--seed",
            7,
            "--evaluations",
            4000,
            "--out",
            f"out{h}",
            cwd=tmp_path,
            env={"PYTHONHASHSEED": str(h)},
        )
        assert_good(done)
    assert (tmp_path / "out0" / "best.py").read_bytes() == (tmp_path / "out1" / "best.py").read_bytes()


@pytest.mark.slow
def test_sr23_the_whole_case(case, tmp_path):
    task = case("SR-23")
    for h in range(4):
        done = run(
            task.folder,
            "--seed",
            7,
            "--evaluations",
            15000,
            "--out",
            f"out{h}",
            cwd=tmp_path,
            env={"PYTHONHASHSEED": str(h)},
        )
        assert_good(done)
    laws = [(tmp_path / f"out{h}" / "best.py").read_text() for h in range(4)]
    assert len(set(laws)) == 1
    assert not re.search(r"\d\d:\d\d|20\d\d-\d\d", laws[0]), "no time stamps"


def test_sr23_a_drawn_seed_is_printed_and_repeats_the_run(case, tmp_path):
    task = case("SR-23")
    first = run(task.folder, "--evaluations", 2000, "--out", "a", cwd=tmp_path)
    assert_good(first)
    seed = re.search(rb"seed (\d+)", first.stdout)[1].decode()
    assert_good(run(task.folder, "--evaluations", 2000, "--seed", seed, "--out", "b", cwd=tmp_path))
    assert (tmp_path / "a" / "best.py").read_bytes() == (tmp_path / "b" / "best.py").read_bytes()


# --- SR-24: the time limit ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sr24_the_time_limit_holds_on_a_large_table(case, tmp_path):
    task = case("SR-24")
    began = time.monotonic()
    process = start(task.folder, "--time", "30s", "--out", "o", cwd=tmp_path)
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.2)
    seconds = time.monotonic() - began
    assert process.returncode == 0, process.stderr.read().decode()
    assert seconds <= 45
    assert peak < 2e9
    assert (tmp_path / "o" / "best.py").is_file()


def resident(pid):
    """Bytes in memory of a process and its descendants (Linux)."""
    total = 0
    for entry in [pid, *children(pid)]:
        try:
            with open(f"/proc/{entry}/statm") as statm:
                total += int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as found:
            direct = [int(p) for p in found.read().split()]
    except FileNotFoundError:
        return []
    return [grandchild for child in direct for grandchild in [child, *children(child)]]


# --- SR-26: Ctrl-C --------------------------------------------------------------------------------------------------


def wait_for_law(process, folder):
    """Return as soon as a best.py stands in the run folder."""
    deadline = time.monotonic() + 60
    while not (folder / "best.py").is_file():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("after", [0.0, 5.0])
def test_sr26_ctrl_c_keeps_the_best_law(case, tmp_path, after):
    task = case("SR-26")
    process = start(task.folder, "--time", "600s", *ENDLESS, "--out", "o", cwd=tmp_path)
    wait_for_law(process, tmp_path / "o")
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    out, err = (text.decode() for text in process.communicate(timeout=60))
    assert process.returncode == 130, err
    assert time.monotonic() - sent < 10
    assert "Traceback" not in out + err
    said = [line for line in (out + err).splitlines() if "interrupted" in line]
    assert any("best.py" in line for line in said), "where the result is"
    assert np.isfinite(predictions(tmp_path / "o", task)).all()


def test_sr26_a_second_ctrl_c_ends_at_once(case, tmp_path):
    task = case("SR-26")
    process = start(task.folder, "--time", "600s", *ENDLESS, "--out", "o", cwd=tmp_path)
    wait_for_law(process, tmp_path / "o")
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - sent < 3
    assert process.returncode in (130, -signal.SIGINT)  # the same to a shell
    assert b"Traceback" not in err
    assert np.isfinite(predictions(tmp_path / "o", task)).all()


# --- SR-27: resuming ------------------------------------------------------------------------------------------------


def test_sr27_a_killed_run_is_continued_from_where_it_stood(case, tmp_path):
    task, folder = case("SR-27"), tmp_path / "o"
    a, b = (np.asarray(task.columns[name]) for name in ("x1", "x2"))

    def miss(made):
        """From the law behind the noise: on the noisy rows a longer law would always be the better one."""
        return float(np.sqrt(np.mean((predictions(made, task) - np.sin(a) * b - 0.3 * a) ** 2)))

    process = start(task.folder, "--seed", 1, "--time", "600s", *ENDLESS, "--out", "o", cwd=tmp_path)
    wait_for_law(process, folder)
    while not (folder / "front.csv").is_file():
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.1)
    time.sleep(2.0)
    process.kill()
    process.communicate()
    before, reached = miss(folder), min(law.loss for law in read_front(RunDirectory.open(folder)))
    logged = len(RunDirectory.open(folder).read_log())
    assert_good(run(task.folder, "--resume", "o", "--evaluations", 5000, "--out", "o", cwd=tmp_path))
    generations = [
        e for e in RunDirectory.open(folder).read_log()[logged:] if e["event"] == "generation" and e["generation"]
    ]
    assert generations[0]["best_loss"] <= reached * (1 + 1e-6)
    assert miss(folder) <= before * 1.1


def test_sr27_what_cannot_be_continued_is_left_alone(case, tmp_path):
    task, other, folder = case("SR-27"), case("SR-26"), tmp_path / "o"
    assert_good(run(task.folder, "--seed", 1, "--evaluations", 500, "--out", "o", cwd=tmp_path))
    before = snapshot(folder)
    done = run(other.folder, "--resume", "o", cwd=tmp_path)
    assert done.returncode == 2
    assert b"another task" in done.stderr
    assert str(folder).encode() in done.stderr
    assert snapshot(folder) == before
    for name in ("front.csv", "task.json"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        damaged = snapshot(folder)
        done = run(task.folder, "--resume", "o", cwd=tmp_path)
        assert done.returncode == 2
        assert name.encode() in done.stderr
        assert b"Traceback" not in done.stderr
        assert snapshot(folder) == damaged
        (folder / name).write_bytes(whole)


# --- SR-46: a batch job's log ---------------------------------------------------------------------------------------


def test_sr46_output_into_a_file_is_plain_and_steady(case, tmp_path):
    task = case("SR-46")
    arguments = command("run", task.folder, "--time", "12s", *ENDLESS, "--out", "o")
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(arguments, cwd=tmp_path, env=ENVIRONMENT, **output)
    stamps, lines = [time.monotonic()], []
    for line in process.stdout:
        stamps.append(time.monotonic())
        lines.append(line)
    assert process.wait(30) == 0, b"".join(lines).decode()
    text = b"".join(lines)
    assert not CONTROL.search(text)
    assert max(np.diff(stamps)) < 5.5, "a line at least every five seconds"
    progress = [line for line in lines if re.search(rb"\d+\.\d+s .*loss \S+ .*C \d+", line)]
    assert len(progress) >= 2
    history = [json.loads(line) for line in (tmp_path / "o" / "log.jsonl").read_text().splitlines()]
    generations = [entry for entry in history if entry["event"] == "generation"]
    assert len(generations) > 1
    assert {"elapsed", "evaluations", "best_loss", "complexity", "law"} <= generations[0].keys()


def test_sr46_output_closed_by_head_ends_the_run_quietly(case, tmp_path):
    task = case("SR-46")
    began = time.monotonic()
    shell = " ".join(command("run", task.folder, "--time", "120s", *ENDLESS, "--out", "o")) + " | head -n 2"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=150, check=False
    )
    assert time.monotonic() - began < 60
    assert done.stderr == ""
    assert np.isfinite(predictions(tmp_path / "o", task)).all()


# --- SR-47: where files go ------------------------------------------------------------------------------------------


def test_sr47_two_runs_at_once_write_only_where_they_were_told(case, tmp_path):
    task = case("SR-47")
    here = tmp_path / "e"
    here.mkdir()
    before = snapshot(task.folder)
    for path in [task.folder, *task.folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    both = [start(task.folder, "--seed", 1, "--evaluations", 2000, "--out", f"../o{k}", cwd=here) for k in (1, 2)]
    for process in both:
        _, err = process.communicate(timeout=180)
        assert process.returncode == 0, err.decode()
    for path in [task.folder, *task.folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert list(here.iterdir()) == []
    assert snapshot(task.folder) == before
    for k in (1, 2):
        made = RunDirectory.open(tmp_path / f"o{k}")
        assert {"best.py", "front.csv", "log.jsonl", "config.yaml", "versions.json"} <= {
            p.name for p in made.path.iterdir()
        }
        assert rmse(made.path, task) < np.std(task.columns["y"])


def test_sr47_an_unwritable_place_is_refused_before_the_search(case, tmp_path):
    task = case("SR-47")
    began = time.monotonic()
    done = run(task.folder, "--out", "/proc/x", cwd=tmp_path)
    assert done.returncode == 2
    assert b"/proc/x" in done.stderr
    assert b"Traceback" not in done.stderr
    assert time.monotonic() - began < 15
    assert sorted(p.name for p in tmp_path.iterdir()) == [task.folder.name]


def test_another_runs_folder_is_left_alone(case, tmp_path):
    task = case("SR-47")
    assert_good(run(task.folder, "--seed", 1, "--evaluations", 500, "--out", "o", cwd=tmp_path))
    before = snapshot(tmp_path / "o")
    done = run(task.folder, "--seed", 2, "--evaluations", 500, "--out", "o", cwd=tmp_path)
    assert done.returncode == 2
    assert b"--resume" in done.stderr
    assert snapshot(tmp_path / "o") == before


# --- SR-40: threads -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_sr40_no_deadlock_with_any_threading_layer(case, tmp_path, layer):
    task = case("SR-40")
    began = time.monotonic()
    done = run(
        task.folder,
        "--workers",
        2,
        "--time",
        "20s",
        "--out",
        "o",
        cwd=tmp_path,
        env={"NUMBA_THREADING_LAYER": layer},
        timeout=60,
    )
    assert_good(done)
    assert time.monotonic() - began < 35
