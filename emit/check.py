"""`evolve check FILE`: a contract module, a Solution or a ZIP, ours or anybody's, against the rules of its judge.

The source is read first; it is run (in a fresh process) only if it holds nothing that its judge would refuse.
"""

from __future__ import annotations

import ast
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

import numpy as np

from emit import agentics_zip, source_rules
from emit.isolation import run_fresh
from emit.source_rules import Finding
from emit.verify import calibrate, field_problems
from emit.verify_solution import verify_solution
from operators.errors import InputError

Kind = Literal["contract module", "solution", "agentics zip"]

ALLOWANCE = 3  # fitted literals that the benchmark's judge forgives beyond a cap
_TIMEOUT = 60.0
_PROBES = 40
_NEEDS_NETWORK = re.compile(r"\b(pip3?|curl|wget|apt(-get)?|conda|uv|git clone)\b")


@dataclass(frozen=True)
class Checked:
    """What a file is, what breaks a rule, and what is only worth knowing."""

    kind: Kind
    violations: tuple[Finding, ...]
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.violations


def check_file(path: Path, max_constants: int | None = None, max_locals: int | None = None) -> Checked:
    """Check a file. Caps are those of the task's metadata, if known. Raises InputError for what it cannot name."""
    data = path.read_bytes()
    if data[:2] == b"PK" or path.suffix.lower() == ".zip":
        return _check_zip(data)
    try:
        tree = source_rules.parse(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{path} is neither a ZIP nor Python source in UTF-8") from None
    if isinstance(tree, Finding):
        raise InputError(f"{path}: {tree}")
    defined = _defined(tree)
    if "Solution" in defined:
        return _check_solution(path, tree)
    if "predict" in defined or "USED_INPUTS" in defined:
        return _check_contract(path, tree, max_constants, max_locals)
    raise InputError(
        f"{path} defines neither predict (a contract module) nor a class Solution; "
        f"it defines {', '.join(sorted(defined)) or 'nothing'}"
    )


def _defined(tree: ast.Module) -> set[str]:
    """Names of the top-level functions, classes and variables."""
    names = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names |= {t.id for t in targets if isinstance(t, ast.Name)}
    return names


def _check_zip(data: bytes) -> Checked:
    broken = [Finding(text) for text in agentics_zip.violations(data)]
    if broken:
        return Checked("agentics zip", tuple(broken))
    remarks = []
    with zipfile.ZipFile(BytesIO(data)) as archive, tempfile.TemporaryDirectory() as folder:
        for name in archive.namelist():
            if name.endswith(".sh") and _NEEDS_NETWORK.search(archive.read(name).decode("utf-8", errors="replace")):
                remarks.append(f"{name} seems to install something; there is no network when it runs")
        inner = Path(folder) / agentics_zip.SOLUTION
        inner.write_bytes(archive.read(agentics_zip.SOLUTION))
        try:
            solution = check_file(inner)
        except InputError as error:
            return Checked("agentics zip", (Finding(str(error).replace(str(inner), inner.name)),), tuple(remarks))
    if solution.kind != "solution":
        return Checked("agentics zip", (Finding("solution.py has no class Solution"),), tuple(remarks))
    found = tuple(Finding(f"solution.py: {f}") for f in solution.violations)
    return Checked("agentics zip", found, (*remarks, *solution.remarks))


def _check_solution(path: Path, tree: ast.Module) -> Checked:
    found = [*source_rules.solution_code(tree), *source_rules.dumps(tree)]
    if found:
        return Checked("solution", tuple(found))
    n = _features_named(tree)
    X, y = _probe(n)
    report = verify_solution(path, X, y, _TIMEOUT)
    remarks = [f"tried on {_PROBES} made-up rows of {n} features: {report.expression[:120]!r}, C = {report.complexity}"]
    return Checked("solution", tuple(Finding(p) for p in report.problems), tuple(remarks if report.expression else ()))


def _features_named(tree: ast.Module) -> int:
    """The highest k of x1 to xk in names and texts of a source; 2 where none is named."""
    named = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    named += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    numbers = [int(k) for text in named for k in re.findall(r"\bx([1-9]\d?)\b", text)]
    return max([2, *numbers])


def _probe(n_features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, (n_features, _PROBES))
    return X, X.sum(axis=0) + 0.1 * np.sin(5.0 * X[0])


def _check_contract(path: Path, tree: ast.Module, max_constants: int | None, max_locals: int | None) -> Checked:
    found = [*source_rules.contract_code(tree), *source_rules.dumps(tree), *_signatures(tree)]
    literals = source_rules.fitted_literals(tree)
    if max_constants is not None and len(literals) > max_constants + ALLOWANCE:
        line, value = literals[max_constants + ALLOWANCE]
        found.append(
            Finding(
                f"{len(literals)} numbers look fitted, such as {value!r}; the cap is {max_constants} + {ALLOWANCE}",
                line,
            )
        )
    remarks = (f"{len(literals)} numbers look fitted",)
    if not found:
        found += list(_run_contract(path, tree, max_locals))
    return Checked("contract module", tuple(found), remarks)


def _signatures(tree: ast.Module) -> Iterator[Finding]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in ("predict", "fit"):
            arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if "group_id" in arguments:
                yield Finding(f"{node.name} may not take group_id", node.lineno)


def _run_contract(path: Path, tree: ast.Module, max_locals: int | None) -> Iterator[Finding]:
    """Import the module in a fresh process and try predict, or fit and predict, on made-up rows."""
    used = next(
        (_literal(n.value) for n in tree.body if isinstance(n, ast.Assign) and _is_named(n, "USED_INPUTS")), None
    )
    headers = [str(name) for name in used] if isinstance(used, (list, tuple)) else []
    X, y = _probe(max(len(headers), 1))
    X = X[: len(headers)]
    answer, results = run_fresh(
        {"runner": "contract", "path": str(path), "headers": headers}, {"X": X, "y": y}, _TIMEOUT
    )
    grouped = bool(answer.get("LOCAL_FITTABLE"))
    if "error" in answer and not _needs_locals(tree):
        yield Finding(f"the module fails: {answer['error']}")
        return
    if _needs_locals(tree) or grouped:
        yield from _run_grouped(path, headers, X, y, tree, max_locals)
        return
    yield from (Finding(problem) for problem in field_problems(answer))
    shapes = answer.get("shapes", [])
    if shapes and "predictions" not in results:
        yield Finding(
            f"predict must return ({_PROBES},) numbers for {_PROBES} rows, not {shapes[0]} of {answer['dtype']}"
        )
    elif shapes and shapes != [f"({_PROBES},)"]:
        yield Finding(f"predict returns shape {shapes[0]} for {_PROBES} rows")


def _is_named(node: ast.Assign, name: str) -> bool:
    return any(isinstance(t, ast.Name) and t.id == name for t in node.targets)


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _needs_locals(tree: ast.Module) -> bool:
    return any(
        isinstance(n, ast.Assign) and _is_named(n, "LOCAL_FITTABLE") and bool(_literal(n.value)) for n in tree.body
    )


def _run_grouped(
    path: Path, headers: list[str], X: np.ndarray, y: np.ndarray, tree: ast.Module, max_locals: int | None
) -> Iterator[Finding]:
    """fit must return finite numbers for any window, and predict be finite whatever they are."""
    nan = y.copy()
    nan[::3] = np.nan
    windows = {
        f"{_PROBES} ordinary rows": (X, y), "one row": (X[:, :1], y[:1]), "constant y": (X, np.ones(_PROBES)),
        "rows with nan": (X, nan), "equal x": (np.ones_like(X), y), "no row": (X[:, :0], y[:0]),
    }  # fmt: skip
    try:
        found = calibrate(path, headers, [(*window, X) for window in windows.values()], _TIMEOUT)
    except RuntimeError as error:
        yield Finding(str(error))
        return
    if max_locals is not None and len(found.names) > max_locals:
        yield Finding(f"{len(found.names)} locals, but the cap is {max_locals}")
    for w, what in enumerate(windows):
        if w in found.failed:
            yield Finding(f"fit or predict fails on {what}: {found.failed[w]}")
        elif not np.isfinite(found.locals[w]).all():
            yield Finding(f"fit returns a number that is not finite on {what}")
        elif found.predictions[w].shape != (_PROBES,) or not np.isfinite(found.predictions[w]).all():
            yield Finding(f"predict is not finite on every row after a fit on {what}")
