"""A law as a few lines for other people's programs: plain Python, or sympy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from emit.evaluate import fold_constants
from emit.naming import docstring, safe
from emit.source import SYMPY, expression, statements
from emit.templating import template
from operators.program import Program
from operators.text import default_locals

_SYMPY_CALLS = re.compile(r"\b(Rational|sqrt|exp|log|a?sin|a?cos|a?tan|sinh|cosh|tanh|Abs|Min|Max|pi)\b")


def python(program: Program, identifiers: Sequence[str], target: str = "y", notes: Sequence[str] = ()) -> str:
    """A module with one function ``law(...)`` of the used columns (numpy arrays or numbers) and, last, the locals."""
    program = fold_constants(program, keep_functions=True)
    names = safe(identifiers)
    locals_ = safe(default_locals(program), taken=names)
    lines, result = statements(program, names, locals_)
    used = [names[f] for f in program.features]
    arguments = ", ".join([*used, *(locals_[k] for k in program.local_slots)])
    floats = [f"{name} = np.asarray({name}, dtype=np.float64)" for name in used]
    return template("python.py.j2").render(
        docstring=docstring([f"{target} as a function of {', '.join(used) or 'nothing'}.", *notes]),
        arguments=arguments, lines=[*floats, *lines], result=result,
    )  # fmt: skip


def sympy(program: Program, headers: Sequence[str], target: str = "y", notes: Sequence[str] = ()) -> str:
    """Lines that make the law as a sympy expression called `law`; each symbol carries its column's header.

    Variables are x1, x2, ... by position among the features and p0, p1, ... for locals, so no header can shadow sympy.
    """
    program = fold_constants(program, keep_functions=True)
    names = [f"x{i + 1}" for i in range(len(headers))]
    text = expression(program, names, SYMPY)
    symbols = [(names[f], repr(headers[f])) for f in program.features]
    symbols += [(f"p{k}", repr(f"p{k}")) for k in program.local_slots]
    calls = sorted(set(_SYMPY_CALLS.findall(text)) | ({"Symbol"} if symbols else set()))
    return template("sympy.py.j2").render(
        docstring=docstring([f"{target} as a sympy expression.", *notes]),
        imports=", ".join(calls),
        symbols=symbols,
        text=text,
    )
