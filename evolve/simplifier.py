"""Simplification in the loop, from the moment its kernel is there.

The rewriting kernel is large: at a first start its compilation (see `compiling`) takes longer than a search may take
to find its law. Until it is there programs stay as they are, unless the run is paced by evaluations, where the clock
must not decide what the search sees and the first call waits.
"""

from __future__ import annotations

from evolve.compiling import SIMPLIFICATION, precompiler
from evolve.timing import Timer
from operators.program import Program, ProgramBatch
from operators.simplify import equal_forms, simplify_all


class Simplifier:
    """Simplifies batches once its kernel is compiled; `wait` makes the first call wait for that."""

    def __init__(self, wait: bool, timer: Timer | None = None) -> None:
        self._wait = wait
        self._timer = timer or Timer()

    def all(self, batch: ProgramBatch, primitives: tuple[str, ...]) -> ProgramBatch:
        """Every program simplified (length 0: a constant part is not finite and real), or the batch itself."""
        with self._timer.phase("simplify"):
            return simplify_all(batch, primitives) if self._is_ready() else batch

    def one(self, program: Program, primitives: tuple[str, ...]) -> Program | None:
        """One program simplified; None when a constant part of it is not finite and real."""
        out = self.all(ProgramBatch.of([program]), primitives)
        return out[0] if out.length[0] else None

    def forms(self, program: Program, primitives: tuple[str, ...]) -> list[Program]:
        """Equal forms of a program that may have a lower C or fewer constants."""
        with self._timer.phase("simplify"):
            return equal_forms(program, primitives) if self._is_ready() else []

    def _is_ready(self) -> bool:
        if self._wait:
            precompiler().wait(SIMPLIFICATION)
        return precompiler().is_done(SIMPLIFICATION)
