"""Seeding beside the search: proposals are found in a thread while the islands evolve.

Linear algebra holds no interpreter lock, so both go on at once. What reaches the search is decided by work done, not
by the clock, when `paced`: generation g sees the proposals made within its allowance of work units and waits for them.
"""

from __future__ import annotations

import threading

from evolve.seeding.propose import Seeder
from operators.program import Program

UNITS_PER_GENERATION = 600


class BackgroundSeeder:
    """Runs a `Seeder` in a thread; `take` hands over what it has found."""

    def __init__(self, seeder: Seeder, paced: bool) -> None:
        self._seeder = seeder
        self._paced = paced
        self._found: list[tuple[int, Program]] = []
        self._allowance = 0
        self._ended = False
        self._stopping = False
        self._fault: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="seeding", daemon=True)
        self._thread.start()

    def take(self, most: int) -> list[Program]:
        """Up to `most` programs, in the order found. Raises what the seeder raised."""
        self._allowance += UNITS_PER_GENERATION
        with self._changed:
            if self._paced:
                self._changed.wait_for(lambda: self._ended or self._reached())
            ready = [p for units, p in self._found[:most] if not self._paced or units <= self._allowance]
            del self._found[: len(ready)]
            if self._fault is not None and not self._found:
                raise self._fault
        return ready

    @property
    def exhausted(self) -> bool:
        """Has everything been handed over, with no more to come?"""
        return self._ended and not self._found

    def close(self) -> None:
        """Ask the thread to end at its next proposal."""
        self._stopping = True

    def _reached(self) -> bool:
        return bool(self._found) and self._found[-1][0] > self._allowance

    def _work(self) -> None:
        try:
            for proposal in self._seeder:
                if self._stopping:
                    break
                with self._changed:
                    self._found.append((self._seeder.units, proposal.program))
                    self._changed.notify_all()
        except BaseException as fault:  # handed over to the search's thread, which raises it
            self._fault = fault
        with self._changed:
            self._ended = True
            self._changed.notify_all()
