"""How the kernels of this package are compiled: small functions that are quick to compile and kept on disk.

A kernel made of a hundred functions that call each other takes numba minutes: each function is compiled anew for every
combination of argument types (the literals 0 and 1 and the widths of integers count as different types), and the code
of everything it calls is copied into it and optimised again, at every level. Two decorators avoid both:

* `inner`: for a few lines that are worth copying into their callers. Integers are widened to int64 first, so there is
  one version of each.
* `outer`: compiled once, for the types its annotations name, and called by its symbol.

`kernel` is the entry that Python calls. Nothing is compiled when modules are imported but on the first call of a
kernel. Compiled code is kept in a folder named after the sources of the package, because numba looks only at a
function's own file to see whether a kept version is out of date, and not at the functions it calls.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import inspect
import shutil
import tempfile
import threading
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

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
_KEPT = 3  # folders of compiled code
_TYPES: dict[str, types.Type] = {
    "int": types.int64, "float": types.float64, "bool": types.boolean, "None": types.void, "U64": types.uint64,
}  # fmt: skip

# The cache folder is a global of numba's: threads that compile take turns at changing it.
CACHE_DIR_LOCK = threading.RLock()


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
        with CACHE_DIR_LOCK:  # another thread may not find it compiled before its symbol is known
            if self.compiled is None:
                _compile_callees(self.source)
                compiled = _cached(numba.cfunc, self.signature, nopython=True, error_model="numpy")(self.source)
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
            compiled.append(_cached(numba.njit, nogil=True, **_OPTIONS)(function))
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


def _cached(decorator: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[..., Any]:
    folder = _folder()
    if folder is None:
        return decorator(*arguments, **options)

    def decorate(function: Callable[..., Any]) -> Any:
        with _keeping_in(folder):
            return decorator(*arguments, cache=True, **options)(function)

    return decorate


@contextlib.contextmanager
def _keeping_in(folder: Path) -> Iterator[None]:
    """Numba chooses a function's cache folder while it is decorated; other users of numba are not affected."""
    with CACHE_DIR_LOCK:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before


@functools.cache
def _folder() -> Path | None:
    """A writable folder named after the sources of this package's kernels, or None: every start compiles anew."""
    here = Path(__file__).parent
    sources = [s.read_bytes() for s in sorted(here.glob("*.py"))]
    kernels = b"".join(s for s in sources if b"operators.jit" in s or b"OPCODE" in s)
    name = f"operators-{hashlib.sha256(kernels).hexdigest()[:16]}"
    given = [Path(numba.config.CACHE_DIR)] if numba.config.CACHE_DIR else []
    for base in [*given, here / "__pycache__", Path.home() / ".cache" / "evolve-sr"]:
        if _writable(base / name):
            _forget_old(base)
            return base / name
    return None


_COMPLETE = "complete"


def can_keep() -> bool:
    """Is there a folder in which compiled kernels are kept?"""
    return _folder() is not None


def is_complete() -> bool:
    """Have all kernels of these sources been compiled and kept once?"""
    folder = _folder()
    return folder is not None and (folder / _COMPLETE).exists()


def mark_complete() -> None:
    """Remember that all kernels are kept."""
    folder = _folder()
    if folder is not None:
        (folder / _COMPLETE).touch()


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _forget_old(base: Path) -> None:
    """Drop what earlier versions of the sources left, except the newest few."""
    with contextlib.suppress(OSError):
        folders = sorted(base.glob("operators-*"), key=lambda f: f.stat().st_mtime, reverse=True)
        for folder in folders[_KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)
