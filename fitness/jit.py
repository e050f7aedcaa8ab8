"""How kernels are compiled: one decorator, one set of flags, a cache on disk where one can be written.

`error_model="numpy"` makes 1/0 an infinity instead of an exception. The fast-math flags let sums be vectorised;
`nnan` and `ninf` are left out on purpose: with them ``isfinite(nan)`` is compiled to True.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba

FAST_FLAGS = {"contract", "reassoc", "arcp", "nsz"}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_warned = False


def kernel(function: Callable[..., Any] | None = None, *, fast: bool = True, inline: bool = False) -> Any:
    """Compile a function of arrays and scalars that releases the interpreter lock.

    `fast` allows sums to be reordered (the same way on every run); `inline` copies the body into its callers.
    """
    if function is None:
        return lambda f: kernel(f, fast=fast, inline=inline)
    options = dict(_OPTIONS, fastmath=FAST_FLAGS if fast else False)
    if inline:
        return numba.njit(function, inline="always", **options)
    try:
        return numba.njit(function, cache=True, **options)
    except RuntimeError as error:  # numba found no directory that it may write
        _warn_once(error)
        return numba.njit(function, **options)


def _warn_once(error: RuntimeError) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled kernels are not kept on disk ({error}); every start compiles them again. "
            "Set NUMBA_CACHE_DIR to a writable folder.",
            RuntimeWarning,
            stacklevel=4,
        )
