"""Signals: the first asks, the second ends; work that cannot poll is broken off."""

import os
import signal
import subprocess
import sys
import time

import pytest

from evolve.exits import INTERRUPTED
from evolve.stopping import StopRequest


def test_the_first_signal_only_asks():
    stop = StopRequest()
    before = signal.getsignal(signal.SIGINT)  # ignored, where a shell started the tests in its background
    with stop.on_signals():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert stop.reason == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before


def test_compilation_is_broken_off_at_once():
    stop = StopRequest()
    with stop.on_signals(), pytest.raises(KeyboardInterrupt), stop.interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert stop


def test_a_request_made_before_is_not_lost():
    stop = StopRequest()
    stop.request("the output was closed")
    stop.request("interrupted")
    assert stop.reason == "the output was closed"
    with pytest.raises(KeyboardInterrupt), stop.interruptible():
        pytest.fail("the block must not run")


def test_the_second_signal_ends_the_process_at_once():
    code = (
        "import time; from evolve.stopping import StopRequest\n"
        "with StopRequest().on_signals():\n    print('ready', flush=True)\n    time.sleep(60)\n    time.sleep(60)\n"
    )
    # A shell without job control starts `command &` with SIGINT ignored; we must listen to it all the same.
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == INTERRUPTED
    process.stdout.close()


def test_work_that_cannot_poll_ends_when_its_time_is_up():
    stop = StopRequest()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), stop.interruptible(0.1, "late"):
        time.sleep(5)
    assert time.monotonic() - began < 2
    assert stop.reason == "late"


def test_work_that_ends_in_time_is_left_alone():
    stop = StopRequest()
    with stop.interruptible(0.1, "late"):
        pass
    time.sleep(0.2)
    assert not stop
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_an_alarm_that_is_swallowed_rings_again():
    """An exception in a callback of the interpreter (a weak reference, a finaliser) goes nowhere."""
    stop = StopRequest()
    with pytest.raises(KeyboardInterrupt), stop.interruptible(0.05, "late"):
        with pytest.raises(KeyboardInterrupt):
            time.sleep(1.0)
        time.sleep(3.0)
    time.sleep(1.1)  # and no more after the block
    assert stop.reason == "late"
