"""Displays: plain lines without control characters, a live panel, a JSON log, and a reader that goes away."""

import io
import os
import re
import time
from dataclasses import replace

import pytest
from rich.console import Console

from evolve.observers import JsonLog, LiveDisplay, Observers, PlainLines, Printer, Progress, short, watch
from evolve.rundir import RunDirectory
from evolve.stopping import StopRequest

STATE = Progress(1.0, 12345, 3, 1.25e-5, 21, "sin(x1 + x2)\n + 1", 9, "search")


def tell(observer, states=3):
    observer.started("task t, seed 1")
    for k in range(states):
        observer.progressed(replace(STATE, generation=k, elapsed=float(k)))
    observer.law_improved(STATE)
    observer.stopped("the front has settled", STATE)


def test_plain_lines_hold_no_control_characters_and_name_what_matters():
    out = io.StringIO()
    tell(PlainLines(Printer(out, StopRequest()), every=0.0))
    text = out.getvalue()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    last = text.splitlines()[-2]
    assert all(word in last for word in ("1.25e-05", "C 21", "sin(x1 + x2) + 1", "12.3k evals"))
    assert text.splitlines()[0] == "task t, seed 1"
    assert text.splitlines()[-1] == "stopped: the front has settled"


def test_a_line_comes_even_while_the_search_is_silent():
    out = io.StringIO()
    lines = PlainLines(Printer(out, StopRequest()), every=0.1)
    lines.started("task")
    lines.progressed(STATE)
    time.sleep(0.6)
    spoken = out.getvalue().count("gen 3")
    lines.stopped("done", STATE)
    assert spoken >= 3
    elapsed = [float(m) for m in re.findall(r"^ *([\d.]+)s", out.getvalue(), re.MULTILINE)]
    assert max(elapsed) > STATE.elapsed


def test_lines_are_not_a_flood():
    out = io.StringIO()
    lines = PlainLines(Printer(out, StopRequest()), every=4.0)
    lines.started("task")
    for _ in range(1000):
        lines.progressed(STATE)
        lines.law_improved(STATE)
    lines.stopped("done", STATE)
    assert len(out.getvalue().splitlines()) <= 5


def test_a_closed_pipe_asks_the_run_to_stop_and_says_nothing():
    read, write = os.pipe()
    stop = StopRequest()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        tell(PlainLines(Printer(stream, stop), every=0.0))
        assert stop.reason == "the output was closed"
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is left in the buffer has to go somewhere


def test_live_display_ends_with_the_law_and_the_reason():
    out = io.StringIO()
    tell(LiveDisplay(Console(file=out, force_terminal=True, width=100)))
    text = out.getvalue()
    assert "sin(x1 + x2)" in text
    assert "1.25e-05" in text
    assert text.rstrip().endswith("stopped: the front has settled")


@pytest.mark.parametrize(
    ("tty", "term", "kind"),
    [(True, "xterm", LiveDisplay), (True, "dumb", PlainLines), (False, "xterm", PlainLines)],
)
def test_the_display_suits_the_stream(tty, term, kind, monkeypatch):
    monkeypatch.setenv("TERM", term)
    stream = io.StringIO()
    stream.isatty = lambda: tty
    assert isinstance(watch(stream, StopRequest()), kind)


def test_the_log_keeps_the_history(tmp_path):
    run = RunDirectory.create("t", 1, tmp_path)
    tell(Observers([JsonLog(run)]))
    entries = run.read_log()
    assert [e["event"] for e in entries] == ["started", *["generation"] * 3, "improved", "stopped"]
    assert [e["generation"] for e in entries if e["event"] == "generation"] == [0, 1, 2]
    assert entries[-1]["reason"] == "the front has settled"


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (999, "999"), (1234567, "1.23M"), (2.5e9, "2.5G")])
def test_short(number, text):
    assert short(number) == text
