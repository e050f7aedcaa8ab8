"""The jobs that the sympy worker knows, and its loop: a JSON line in, JSON lines out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import sympy as sp

from emit.errors import NotExpressible
from emit.lowest_form import spellings
from emit.sympy_form import build, count, refuse_unreal, symbols
from operators.program import Program

_MEMORY = 4 << 30  # bytes: a runaway exact number ends in a MemoryError, not in the machine


def complexity(job: Mapping[str, Any]) -> Iterator[Any]:
    """The count C of a text over x1 to xn, or the reason why a Frontier-CS law may not be this."""
    try:
        tree = build(job["text"], job["n_features"])
        refuse_unreal(tree)
        yield {"complexity": count(tree)}
    except NotExpressible as refusal:
        yield {"refused": str(refusal)}


def shorten(job: Mapping[str, Any]) -> Iterator[Any]:
    """Ever shorter forms of a program, as code, arg and value lists."""
    program = Program(
        np.array(job["code"], np.uint8), np.array(job["arg"], np.int16), np.array(job["value"], np.float64)
    )
    X = np.array(job["X"], dtype=np.float64)
    try:
        for form in spellings(program, X, bool(job["terse"])):
            yield {"code": form.code.tolist(), "arg": form.arg.tolist(), "value": form.value.tolist()}
    except NotExpressible as refusal:
        yield {"refused": str(refusal)}


def judge(job: Mapping[str, Any]) -> Iterator[Any]:
    """What the Frontier-CS judge computes from a text: its count, and its values on X (features, rows) by lambdify."""
    X = np.array(job["X"], dtype=np.float64)
    try:
        tree = build(job["text"], len(X))
        refuse_unreal(tree)
        numpy_names = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log}
        function = sp.lambdify(symbols(len(X)), tree, modules=numpy_names)
        with np.errstate(all="ignore"):
            result = np.asarray(function(*X), dtype=np.float64).ravel()
        yield {"complexity": count(tree), "values": result.tolist()}
    except NotExpressible as refusal:
        yield {"refused": str(refusal)}
    except (NameError, TypeError, ValueError, ArithmeticError) as error:
        yield {"refused": f"the judge cannot evaluate it: {type(error).__name__}: {error}"}


JOBS: dict[str, Callable[[Mapping[str, Any]], Iterator[Any]]] = {
    "complexity": complexity, "shorten": shorten, "judge": judge,
}  # fmt: skip


def serve() -> None:
    """Answer jobs until the pipe closes."""
    _limit_memory()
    _say({"result": "ready"})
    for line in sys.stdin:
        job = json.loads(line)
        try:
            for result in JOBS[job["job"]](job):
                _say({"result": result})
            _say({"done": True})
        except MemoryError:
            _say({"error": "the expression needs more memory than the sympy worker may use"})
        except Exception as error:  # whatever sympy raises on odd input belongs to that input, not to the run
            _say({"error": f"sympy failed on the expression: {type(error).__name__}: {str(error)[:200]}"})


def _say(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
