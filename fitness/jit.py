"""How kernels are compiled: the decorators, the flags, and a cache on disk where one can be written.

Three kinds of compiled function:

* `kernel`: ordinary compiled functions of arrays and scalars, called from Python or from each other.
* `scalar`: one number to another, always inlined, written without branches so that a loop over it vectorises.
* `block_function`: a loop over one block of rows, behind pointers. It is compiled once and called by its symbol;
  ordinary compiled functions are copied into and optimised again in every caller, which for the loops of all
  primitives, some callers deep, made the first start three times as slow.

`error_model="numpy"` makes 1/0 an infinity instead of an exception. The fast-math flags let sums be vectorised;
`nnan` and `ninf` are left out on purpose: with them ``isfinite(nan)`` is compiled to True.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from operators.jit import CACHE_DIR_LOCK

_FAST = {"contract", "reassoc", "arcp", "nsz"}
_EXACT = {"contract"}  # fused multiply-add only: range reductions rely on the order of operations
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
_KEPT_CACHES = 3

NUMBERS = types.CPointer(types.float64)  # a block of rows
NUMBER = types.float64
INDICES = types.CPointer(types.int64)
BYTES = types.CPointer(types.uint8)
COUNT = types.int64


def kernel(function: Callable[..., Any] | None = None, *, entry: bool = True) -> Any:
    """Compile a function of arrays and scalars that releases the interpreter lock.

    ``entry=False`` leaves out the wrapper that Python needs to call it.
    """
    if function is None:
        return lambda f: kernel(f, entry=entry)
    return _compiled(numba.njit, function, nogil=True, fastmath=_FAST, no_cpython_wrapper=not entry, **_OPTIONS)


def scalar(function: Callable[..., Any]) -> Any:
    """Compile a function of numbers that is inlined into the loops that call it; operations keep their order."""
    return numba.njit(function, fastmath=_EXACT, forceinline=True, no_cpython_wrapper=True, **_OPTIONS)


def block_function(*arguments: Any, result: Any = types.void) -> Callable[[Callable[..., Any]], Any]:
    """Compile a loop over one block of rows now, to be called from kernels by its symbol."""
    signature = result(*arguments)

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = _compiled(numba.cfunc, function, signature, nopython=True, fastmath=_FAST, error_model="numpy")
        symbol = f"{function.__module__}.{function.__name__}"
        llvmlite.binding.add_symbol(symbol, compiled.address)
        _alive.append(compiled)
        return types.ExternalFunction(symbol, signature)

    return decorate


array_at = numba.carray  # inside kernels: the C-contiguous array of a shape that begins at a pointer


_alive: list[Any] = []  # compiled block functions: their machine code must outlive every caller


@intrinsic
def pointer(typing_context, array, index):  # type: ignore[no-untyped-def]
    """The address of array[index] (of a vector) or array[index, 0] (of a C-contiguous matrix), inside kernels."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array_type = signature.args[0]
        struct = context.make_array(array_type)(context, builder, arguments[0])
        zeros = [context.get_constant(types.intp, 0)] * (array_type.ndim - 1)
        return cgutils.get_item_pointer(context, builder, array_type, struct, [arguments[1], *zeros])

    return types.CPointer(array.dtype)(array, types.intp), generate


def _compiled(decorator: Callable[..., Any], function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    folder = _cache_folder()
    if folder is None:
        return decorator(*arguments, **options)(function)
    with _numba_cache_in(folder):
        return decorator(*arguments, cache=True, **options)(function)


@contextlib.contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Numba chooses a function's cache folder while it is decorated; other users of numba are not affected."""
    with CACHE_DIR_LOCK:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before


@cache
def _cache_folder() -> Path | None:
    """Where compiled kernels are kept: a folder named after their sources, or None.

    Numba only looks at a function's own file to see whether a cached version is out of date, not at the functions
    and constants it uses; naming the folder after everything that kernels are made of closes that gap.
    """
    here = Path(__file__).parent
    tables = [
        here / "metrics.py",
        here.parent / "operators" / "primitives.py",
        here.parent / "operators" / "program.py",
    ]
    digest = hashlib.sha256()
    for source in [*sorted(here.glob("*.py")), *tables]:
        text = source.read_bytes()
        if source in tables or source.name == "jit.py" or b"from fitness.jit import" in text:
            digest.update(text)
    name = f"kernels-{digest.hexdigest()[:16]}"
    user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    candidates = [Path(numba.config.CACHE_DIR)] if numba.config.CACHE_DIR else []
    for base in [*candidates, here / "__pycache__", Path(user).expanduser() / "evolve-sr"]:
        if _writable(base / name):
            _forget_old(base, base / name)
            return base / name
    warnings.warn(
        "compiled kernels are not kept on disk, so every start compiles them again: no folder could be written. "
        "Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


def _forget_old(base: Path, current: Path) -> None:
    """Drop the caches of earlier versions of the sources, except the newest few."""
    with contextlib.suppress(OSError):
        others = [f for f in base.glob("kernels-*") if f != current]
        others.sort(key=lambda f: f.stat().st_mtime, reverse=True)
        for folder in others[_KEPT_CACHES - 1 :]:
            shutil.rmtree(folder, ignore_errors=True)
