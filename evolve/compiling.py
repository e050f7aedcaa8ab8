"""The first start: kernels are compiled in two processes at once.

numba compiles one function at a time in a process. While this one compiles what scores programs, another compiles
what varies and simplifies them (`operators.precompile`) and keeps it on disk, from where it is loaded here.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from typing import IO

from operators.jit import CACHE

VARIATION, SIMPLIFICATION = "variation", "simplification"  # the stages that `operators.precompile` prints


class Precompiler:
    """The other process, if kernels are still to be compiled and there is a place to keep them."""

    def __init__(self) -> None:
        self._done = {VARIATION: threading.Event(), SIMPLIFICATION: threading.Event()}
        if CACHE.complete or CACHE.folder is None:
            self._all_done()
            return
        command = [
            sys.executable,
            "-c",
            f"import sys; sys.path[:] = {sys.path!r}; import operators.precompile as p; p.main()",
        ]
        try:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            self._all_done()
            return
        threading.Thread(target=self._listen, args=(child.stdout,), name="precompile", daemon=True).start()

    def wait(self, stage: str) -> None:
        """Until the kernels of a stage are on disk, or will have to be compiled here."""
        self._done[stage].wait()

    def is_done(self, stage: str) -> bool:
        """Would `wait` return at once?"""
        return self._done[stage].is_set()

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            if line.strip() in self._done:
                self._done[line.strip()].set()
        self._all_done()

    def _all_done(self) -> None:
        for event in self._done.values():
            event.set()


@functools.cache
def precompiler() -> Precompiler:
    """The one of this process; the first call starts it."""
    return Precompiler()
