"""What emitted or foreign Python source may hold, checked on its syntax tree: nothing is run."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

FORBIDDEN_IMPORTS = frozenset(
    {
        "os",
        "sys",
        "io",
        "pathlib",
        "pickle",
        "joblib",
        "glob",
        "importlib",
        "inspect",
        "shutil",
        "subprocess",
        "builtins",
    }
)
FORBIDDEN_CALLS = frozenset(
    {"open", "eval", "exec", "compile", "getattr", "setattr", "globals", "locals", "__import__"}
)
FORBIDDEN_ATTRIBUTES = frozenset(
    {"load", "open", "fromfile", "genfromtxt", "loadtxt", "fromregex", "memmap", "loadmat", "open_memmap"}
)
CONTRACT_PACKAGES = frozenset({"numpy", "scipy", "math"})
JUDGE_PACKAGES = frozenset({"numpy", "sympy", "pandas"})  # what the Frontier-CS and Agentics evaluators install
_REACHING_OUT = frozenset(
    {"socket", "urllib", "http", "requests", "ctypes", "multiprocessing", "threading", "tempfile"}
)

_LARGE_LITERAL = 10  # numbers in one list, tuple, set or dict
_LONG_TEXT = 400
_KNOWN = (
    math.pi, math.e, 2 * math.pi, math.pi / 2, math.log(2), math.log(10), math.sqrt(2), 1 / math.sqrt(2 * math.pi),
    12.0, 24.0, 32.0, 60.0, 180.0, 273.15, 360.0, 365.0, 365.25, 3600.0, 86400.0,
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One violation in one sentence; `line` is where it stands in the source (0: the file as a whole)."""

    message: str
    line: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


def parse(source: str) -> ast.Module | Finding:
    """The syntax tree, or why there is none."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        return Finding(f"not Python: {error.msg}", error.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as error:
        return Finding(f"not readable as Python: {error}")


def contract_code(tree: ast.Module) -> Iterator[Finding]:
    """Imports, calls and attributes that SciLaws-Bench refuses."""
    yield from _imports(tree, FORBIDDEN_IMPORTS, "the benchmark refuses the import of {}")
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                yield Finding(f"the benchmark refuses a call of {name}", node.lineno)
            case ast.Attribute(attr=name) if name in FORBIDDEN_ATTRIBUTES or name.startswith("read_"):
                yield Finding(f"the benchmark refuses the attribute .{name}", node.lineno)


def solution_code(tree: ast.Module) -> Iterator[Finding]:
    """What a Solution must do without: packages the judge lacks, files, processes, the network."""
    missing = frozenset(
        name for name in _imported(tree) if name not in JUDGE_PACKAGES and name not in sys.stdlib_module_names
    )
    yield from _imports(tree, missing, "{} is not installed where the solution runs (numpy, sympy and pandas are)")
    outside = (FORBIDDEN_IMPORTS | _REACHING_OUT) - {"io", "builtins", "inspect"}
    yield from _imports(tree, outside, "a solution must read no file and start no process: import of {}")
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS - {"getattr", "setattr", "compile"}:
                yield Finding(f"a solution should not call {name}", node.lineno)
            case ast.Attribute(attr=name) if name in FORBIDDEN_ATTRIBUTES or name.startswith("read_"):
                yield Finding(f"a solution must read no file: .{name}", node.lineno)


def _imported(tree: ast.Module) -> set[str]:
    return {name for _, name in _import_nodes(tree)}


def _import_nodes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or "").partition(".")[0]


def _imports(tree: ast.Module, refused: frozenset[str], message: str) -> Iterator[Finding]:
    for line, name in _import_nodes(tree):
        if name in refused:
            yield Finding(message.format(name), line)


def dumps(tree: ast.Module) -> Iterator[Finding]:
    """Tables and long texts: data carried in the source instead of a law."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                yield from _large(elements, node.lineno)
            case ast.Dict(values=elements):
                yield from _large(elements, node.lineno)
            case ast.Constant(value=str() | bytes() as text) if len(text) > _LONG_TEXT and id(node) not in docs:
                yield Finding(f"a text of {len(text)} characters looks like data", node.lineno)


def _large(elements: list[ast.expr], line: int) -> Iterator[Finding]:
    n = sum(1 for e in elements if _is_number(e))
    if n >= _LARGE_LITERAL:
        yield Finding(f"a literal of {n} numbers looks like a table of data", line)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def fitted_literals(tree: ast.AST) -> list[tuple[int, float]]:
    """(line, size) of each number that looks fitted: two significant digits or more, and no known constant.

    Positions (``X[:, 12]``) are left out; equal numbers are counted once.
    """
    places = {id(n) for s in ast.walk(tree) if isinstance(s, ast.Subscript) for n in ast.walk(s.slice)}
    found: dict[float, int] = {}
    numbers = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and _is_number(n) and id(n) not in places]
    for node in sorted(numbers, key=lambda n: (n.lineno, n.col_offset)):
        size = abs(node.value)  # type: ignore[arg-type]  # a number, says _is_number
        if looks_fitted(size):
            found.setdefault(float(size), node.lineno)
    return [(line, value) for value, line in found.items()]


def looks_fitted(value: float) -> bool:
    """Is a number neither round, nor a simple fraction, nor a constant everybody knows?"""
    if value == 0.0 or not value < 1e300 or any(math.isclose(value, k, rel_tol=1e-9) for k in _KNOWN):
        return False
    if len(f"{value:.15e}".split("e")[0].replace(".", "").rstrip("0")) <= 1:
        return False
    ratio = Fraction(value).limit_denominator(4)
    return not (ratio.numerator / ratio.denominator == value and ratio.numerator <= 12)
