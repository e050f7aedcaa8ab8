"""`inner`: how the functions that only kernels call are compiled.

numba compiles a function anew for every combination of argument types, and counts the literals 0, 1, 2 and the
widths of integers as different types: a helper called with ten constants is compiled ten times, which is most of a
minute for kernels made of many small functions. `inner` widens the arguments first, so each helper is compiled once.
It also leaves out the wrappers for calls from Python. Inner functions are not cached: a kernel's own cache holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types


def _widen(kind: types.Type) -> types.Type:
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer | types.Boolean) and kind != types.uint64:
        return types.int64
    return kind


def inner(function: Callable[..., Any]) -> Any:
    """Compile `function` for use inside kernels: integers as int64 (uint64 stays), one version per real type."""
    dispatcher = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    resolve = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: resolve(tuple(_widen(a) for a in args), kws)
    return dispatcher
