"""The command line: exit codes, messages without tracebacks, and a start that imports nothing heavy."""

import subprocess
import sys

import pytest

import evolve
from evolve.__main__ import main

HEAVY = {"numpy", "numba", "scipy", "ray", "sympy", "pandas", "matplotlib", "deap"}


def call(capsys, *arguments):
    """Exit code, standard output, standard error."""
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["export", "--help"], ["frob"]])
def test_help_and_usage_errors_import_nothing_heavy(arguments):
    code = (
        "import sys; from evolve.__main__ import main; main(sys.argv[1:]);"
        f"print('imported:', sorted({HEAVY!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported: []"


def test_version(capsys):
    assert call(capsys, "--version") == (0, f"evolve {evolve.__version__}\n", "")


def test_every_command_has_a_help_line(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    for command in ("run", "export", "check", "score", "predict", "examples"):
        (line,) = (text for text in out.splitlines() if text.split()[:1] == [command])
        assert len(line.split()) > 3, command
        assert call(capsys, command, "--help")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frob"], ["frob"]),
        (["run"], ["TASK"]),
        (["run", "no/such/folder"], ["no/such/folder", "does not exist"]),
        (["run", "example:mccornick"], ["mccornick", "mccormick"]),
        (["run", "example:mccormick", "--sed", "3"], ["--sed", "--seed"]),
        (["run", "example:mccormick", "--seed", "x"], ["--seed", "'x'"]),
        (["run", "example:mccormick", "--time", "soon"], ["time", "soon", "60s"]),
        (["run", "example:mccormick", "--preset", "quik"], ["quik", "quick"]),
        (["run", "example:mccormick", "--set", "search.popsize=3"], ["search.popsize", "search."]),
        (["run", "example:mccormick", "--config", "no.yaml"], ["no.yaml"]),
        (["run", "example:mccormick", "--workers", "0"], ["--workers", "0"]),
        (["export", "no/run", "--to", "latex"], ["no/run"]),
        (["export", "no/run", "--to", "word"], ["word", "latex"]),
        (["predict", "no/run", "x.csv", "-o", "y.csv"], ["no/run"]),
        (["check", "no/best.py"], ["no/best.py"]),
    ],
)
def test_bad_usage_is_one_message_and_exit_2(capsys, arguments, words):
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert [word for word in words if word not in err] == []
    assert "Traceback" not in out + err


def test_an_internal_fault_keeps_its_traceback_and_exits_1():
    code = "import sys, evolve.examples as e; from evolve.__main__ import entry; e.listing = lambda: 1 / 0; entry()"
    done = subprocess.run([sys.executable, "-c", code, "examples"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_leaving_runs_exit_handlers_and_does_not_wait_for_threads():
    code = (
        "import atexit, threading, time; from evolve.__main__ import entry; atexit.register(print, 'goodbye')\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); entry()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"evolve {evolve.__version__}", "goodbye"]


def test_a_reader_that_goes_away_is_no_fault():
    done = subprocess.run(
        f"{sys.executable} -u -m evolve examples | head -n 1", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stdout == "example:mccormick\n"
    assert done.stderr == ""


def test_examples_lists_what_can_be_run(capsys):
    code, out, _ = call(capsys, "examples")
    assert code == 0
    assert "example:mccormick" in out
    assert "public domain" in out
