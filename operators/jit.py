"""How the kernels of this package are compiled: small functions that are quick to compile and kept on disk.

A kernel made of a hundred functions that call each other takes numba minutes: each function is compiled anew for every
combination of argument types (the literals 0 and 1 and the widths of integers count as different types), and the code
of everything it calls is copied into it and optimised again, at every level. Two decorators avoid both:

* `inner`: for a few lines that are worth copying into their callers. Integers are widened to int64 first, so there is
  one version of each.
* `outer`: compiled once, for the types its annotations name, and called by its symbol.

`kernel` is the entry that Python calls. Nothing is compiled when modules are imported but on the first call of a
kernel.
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from operators.kernel_cache import COMPILING, KernelCache

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
_TYPES: dict[str, types.Type] = {
    "int": types.int64, "float": types.float64, "bool": types.boolean, "None": types.void, "U64": types.uint64,
}  # fmt: skip


def _sources() -> Iterator[Path]:
    """What kernels are made of: this module, and those that use its decorators or the table of primitives."""
    for module in sorted(Path(__file__).parent.glob("*.py")):
        text = module.read_bytes()
        if module.name == "jit.py" or b"from operators.jit import" in text or b"OPCODE" in text:
            yield module


CACHE = KernelCache("operators", Path(__file__).parent, _sources)


def register(name: str, kind: types.Type) -> None:
    """Let annotations of `outer` functions name a type of their own (a named tuple of arrays)."""
    _TYPES[name] = kind


def named_tuple(kind: Any, *dtypes: Any) -> types.Type:
    """The compiler's type of a NamedTuple whose fields are contiguous vectors of the given dtypes."""
    return types.NamedTuple([types.Array(numba.from_dtype(d), 1, "C") for d in dtypes], kind)


def inner(function: Callable[..., Any]) -> Any:
    """Compile into the callers; one version whatever the integer types (uint64, of hashes, stays)."""
    dispatcher = numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)
    resolve = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: resolve(tuple(_widened(a) for a in args), kws)
    return dispatcher


def _widened(kind: types.Type) -> types.Type:
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer | types.Boolean) and kind != types.uint64:
        return types.int64
    return kind


@dataclass
class _Outer:
    """An outer function: its source until it is compiled, and the symbol it is then known by."""

    source: Callable[..., Any]
    signature: Any
    symbol: str
    compiled: Any = None  # the machine code must outlive every caller

    def compile(self) -> None:
        with COMPILING:  # another thread may not find it compiled before its symbol is known
            if self.compiled is None:
                _compile_callees(self.source)
                compiled = CACHE.compiled(numba.cfunc, self.source, self.signature, nopython=True, error_model="numpy")
                llvmlite.binding.add_symbol(self.symbol, compiled.address)
                self.compiled = compiled

    def emit_call(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = [context.get_value_type(kind) for kind in self.signature.args]
        function_type = ir.FunctionType(context.get_value_type(self.signature.return_type), kinds)
        function = cgutils.get_or_insert_function(builder.module, function_type, self.symbol)
        return builder.call(function, arguments)


_outers: dict[Any, _Outer] = {}


def outer(function: Callable[..., Any]) -> Any:
    """Compile once for the annotated types, when a kernel first needs it; callers reach it by its symbol."""
    *arguments, result = (_TYPES[name] for name in inspect.get_annotations(function).values())
    described = _Outer(function, result(*arguments), f"{function.__module__}.{function.__name__}")

    def call(typing_context, *given):  # type: ignore[no-untyped-def]
        return described.signature, described.emit_call

    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *inspect.signature(function).parameters.values(),
        ]
    )
    reachable = intrinsic(call)
    _outers[reachable] = described
    return reachable


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """An entry for Python: compiles what it needs on its first call and releases the interpreter lock."""
    compiled: list[Any] = []

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if not compiled:
            _compile_callees(function)
            compiled.append(CACHE.compiled(numba.njit, function, nogil=True, **_OPTIONS))
        return compiled[0](*arguments)

    return call


def _compile_callees(function: Callable[..., Any]) -> None:
    """Compile the outer functions that `function` calls, itself or through inner ones; callees before callers."""
    globals_read = {i.argval for i in dis.get_instructions(function) if i.opname == "LOAD_GLOBAL"}
    for name in sorted(globals_read):  # co_names would do but for attributes that are called like a function
        callee = function.__globals__.get(name)
        if isinstance(callee, Hashable) and callee in _outers:
            _outers[callee].compile()
        elif isinstance(callee, Dispatcher):
            _compile_callees(callee.py_func)
