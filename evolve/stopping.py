"""How a run is asked to end early: Ctrl-C, SIGTERM, or an output that nobody reads any more."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from evolve.exits import INTERRUPTED

_INTERRUPTED = "interrupted"  # the reason when somebody sent a signal
_AGAIN = 1.0  # seconds after which an alarm rings again: an exception in a callback of the interpreter is swallowed


class StopRequest:
    """A flag that the search polls. The first signal raises the flag, the second ends the process at once."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._impatient = False

    def __bool__(self) -> bool:
        return self.reason is not None

    @property
    def interrupted(self) -> bool:
        """Was it a signal, rather than the clock or an output that was closed?"""
        return self.reason == _INTERRUPTED

    def request(self, reason: str) -> None:
        """Ask the run to finish what it has; the first reason stands."""
        if self.reason is None:
            self.reason = reason

    @contextmanager
    def interruptible(self, seconds: float | None = None, late: str = "time") -> Iterator[None]:
        """Within this block a request raises KeyboardInterrupt: for work that cannot poll, such as compiling.

        So does a request made before the block, on entry. After `seconds` the request is made here, with the reason
        `late` (where signals can be used: in the main thread).
        """
        if self.reason is not None:
            raise KeyboardInterrupt(self.reason)
        self._impatient = True
        try:
            with self._alarm(seconds, late):
                yield
        finally:
            self._impatient = False

    @contextmanager
    def _alarm(self, seconds: float | None, reason: str) -> Iterator[None]:
        if seconds is None or threading.current_thread() is not threading.main_thread():
            yield
            return

        def ring(number: int, frame: FrameType | None) -> None:
            self.request(reason)
            raise KeyboardInterrupt(reason)

        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)

    @contextmanager
    def on_signals(self) -> Iterator[StopRequest]:
        """Listen to SIGINT and SIGTERM while the block runs (in the main thread; elsewhere signals are left alone)."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {s: signal.signal(s, self._on_signal) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.reason is not None:
            os._exit(INTERRUPTED)
        self.reason = _INTERRUPTED
        if self._impatient:
            raise KeyboardInterrupt
