"""Where the time of a run goes, by named phase.

Phases nest; the clock of an outer phase stands still while an inner one runs, so the seconds add up to the time
spent in phases. A phase costs about a microsecond and is entered a few times a generation, never once a program.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timer:
    """Seconds and entries of each phase. For one thread: others bring a `Timer` of their own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.entries: dict[str, int] = {}
        self._running: list[str] = []
        self._since = 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the block's time, less that of the phases inside it, under `name`."""
        self._switch()
        self._running.append(name)
        self.entries[name] = self.entries.get(name, 0) + 1
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def _switch(self) -> None:
        """Credit the time since the last change of phase to the phase that was running."""
        now = time.perf_counter()
        if self._running:
            name = self._running[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now
