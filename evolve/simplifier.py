"""Simplification in the loop, from the moment its kernel is there.

The rewriting kernel is large: where no compiled version is kept on disk it takes longer to compile than a search may
take to find its law. It is compiled beside the search; until then programs stay as they are, unless the run is paced
by evaluations, where the clock must not decide what the search sees and the first call waits.
"""

from __future__ import annotations

import threading

from evolve.timing import Timer
from operators.program import Program, ProgramBatch, variable
from operators.simplify import equal_forms, simplify_all


class Simplifier:
    """Simplifies batches once its kernel is compiled; `wait` makes the first call wait for that."""

    def __init__(self, wait: bool, timer: Timer | None = None) -> None:
        self._wait = wait
        self._timer = timer or Timer()
        self._ready = threading.Event()

    def start(self) -> None:
        """Begin to compile: after the kernels that the first generation needs, which would have to queue behind it."""
        if not self._ready.is_set():
            threading.Thread(target=self._compile, name="compile simplify", daemon=True).start()

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
        if self._wait and not self._ready.is_set():
            self._compile()
        return self._ready.is_set()

    def _compile(self) -> None:
        try:
            simplify_all(ProgramBatch.of([variable(0)]))
        finally:
            self._ready.set()
