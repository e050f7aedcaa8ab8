"""Counting work in units that do not depend on the clock, so that a seed gives the same laws on any machine."""

from __future__ import annotations

UNIT = 1_000_000  # multiply-adds in a unit of work: a tenth of a millisecond or less


class Meter:
    """Work spent so far, in units, and programs scored on the data."""

    def __init__(self) -> None:
        self.operations = 0
        self.evaluations = 0

    def spend(self, operations: int) -> None:
        """Count multiply-adds of linear algebra."""
        self.operations += int(operations)

    def evaluate(self, programs: int, rows: int) -> None:
        """Count programs evaluated on `rows` rows."""
        self.evaluations += programs
        self.operations += 20 * programs * rows

    @property
    def units(self) -> int:
        return self.operations // UNIT
