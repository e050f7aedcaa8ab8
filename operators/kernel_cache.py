"""Where compiled kernels are kept from one start to the next: a folder named after the sources they are made of.

Numba only looks at a function's own file to see whether a kept version is out of date, not at the functions and constants
it uses; naming the folder after everything that kernels are made of closes that gap.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numba

_KEPT = 3  # folders, those of earlier versions of the sources included
_COMPLETE = "complete"

# The cache folder is a global of numba's: threads that compile take turns at changing it.
COMPILING = threading.RLock()


class KernelCache:
    """The folder of one package's kernels, `NAME-digest`, in the first of these that can be written: NUMBA_CACHE_DIR,
    `__pycache__` beside the sources, the user's cache."""

    def __init__(self, name: str, beside: Path, sources: Callable[[], Iterable[Path]]) -> None:
        self._name = name
        self._beside = beside
        self._sources = sources

    @cached_property
    def folder(self) -> Path | None:
        """The folder, made when first asked for; None (and a warning) where none can be written."""
        digest = hashlib.sha256()
        for source in self._sources():
            digest.update(source.read_bytes())
        name = f"{self._name}-{digest.hexdigest()[:16]}"
        given = [Path(numba.config.CACHE_DIR)] if numba.config.CACHE_DIR else []
        user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        for base in [*given, self._beside / "__pycache__", user / "evolve-sr"]:
            if _writable(base / name):
                self._forget_old(base, base / name)
                return base / name
        warnings.warn(
            "compiled kernels are not kept on disk, so every start compiles them again: no folder could be written. "
            "Set NUMBA_CACHE_DIR to a writable folder.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None

    def compiled(
        self, decorator: Callable[..., Any], function: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Any:
        """`decorator(*arguments, **options)(function)`, its machine code kept in the folder."""
        if self.folder is None:
            return decorator(*arguments, **options)(function)
        with _numba_keeps_in(self.folder):
            return decorator(*arguments, cache=True, **options)(function)

    @property
    def complete(self) -> bool:
        """Have all kernels of these sources been compiled and kept once?"""
        return self.folder is not None and (self.folder / _COMPLETE).exists()

    def mark_complete(self) -> None:
        """Remember that all kernels are kept."""
        if self.folder is not None:
            (self.folder / _COMPLETE).touch()

    def _forget_old(self, base: Path, current: Path) -> None:
        """Drop the folders of earlier versions of the sources, except the newest few."""
        with contextlib.suppress(OSError):
            others = [f for f in base.glob(f"{self._name}-*") if f != current]
            others.sort(key=lambda f: f.stat().st_mtime, reverse=True)
            for folder in others[_KEPT - 1 :]:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _numba_keeps_in(folder: Path) -> Iterator[None]:
    """Numba chooses a function's cache folder while it is decorated; other users of numba are not affected."""
    with COMPILING:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
