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

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from operators.kernel_cache import KernelCache

_FAST = {"contract", "reassoc", "arcp", "nsz"}
_EXACT = {"contract"}  # fused multiply-add only: range reductions rely on the order of operations
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}

NUMBERS = types.CPointer(types.float64)  # a block of rows
NUMBER = types.float64
INDICES = types.CPointer(types.int64)
BYTES = types.CPointer(types.uint8)
COUNT = types.int64


def _sources() -> Iterator[Path]:
    """What kernels are made of: the modules that use the decorators, and the tables these build upon."""
    here = Path(__file__).parent
    operators = here.parent / "operators"
    yield from (here / "metrics.py", operators / "primitives.py", operators / "program.py")
    yield from (
        f for f in sorted(here.glob("*.py")) if f.name == "jit.py" or b"from fitness.jit import" in f.read_bytes()
    )


CACHE = KernelCache("kernels", Path(__file__).parent, _sources)


def kernel(function: Callable[..., Any] | None = None, *, entry: bool = True) -> Any:
    """Compile a function of arrays and scalars that releases the interpreter lock.

    ``entry=False`` leaves out the wrapper that Python needs to call it.
    """
    if function is None:
        return lambda f: kernel(f, entry=entry)
    return CACHE.compiled(numba.njit, function, nogil=True, fastmath=_FAST, no_cpython_wrapper=not entry, **_OPTIONS)


def scalar(function: Callable[..., Any]) -> Any:
    """Compile a function of numbers that is inlined into the loops that call it; operations keep their order."""
    return numba.njit(function, fastmath=_EXACT, forceinline=True, no_cpython_wrapper=True, **_OPTIONS)


def block_function(*arguments: Any, result: Any = types.void) -> Callable[[Callable[..., Any]], Any]:
    """Compile a loop over one block of rows now, to be called from kernels by its symbol."""
    signature = result(*arguments)

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = CACHE.compiled(numba.cfunc, function, signature, nopython=True, fastmath=_FAST, error_model="numpy")
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
