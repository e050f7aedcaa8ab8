"""`solution.py` for Frontier-CS and the Agentics challenges: a class Solution that needs numpy and nothing else.

`solve(X, y)` returns the law with its fitted constants fitted again to the given data, by numpy alone and only if the
error falls. Snapped numbers, exponents and whole numbers stay as they are: they are structure. Signs stay in the text,
so a refit never changes the form and never adds to C. `details` is left empty: the judge counts for itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emit.evaluate import fold_constants
from emit.frontier_complexity import LowForm, feature_names
from emit.naming import docstring
from emit.source import FRONTIER, expression, statements
from emit.templating import template
from operators.primitives import CONST, OPCODE
from operators.program import FREE, LOCAL, Program


def render(form: LowForm, n_features: int, notes: Sequence[str] = ()) -> str:
    """The text of solution.py for a law over x1 to x<n_features>. `notes` are lines for the docstring."""
    names = feature_names(n_features)
    law = fold_constants(form.program)
    program, constants = _open_constants(law)
    signs = ["-" if c < 0.0 else "" for c in constants]
    in_text = [f"{sign}{{c[{k}]!r}}" for k, sign in enumerate(signs)]
    in_numpy = [f"{sign}c[{k}]" for k, sign in enumerate(signs)]
    lines, result = statements(program, names, in_numpy)
    bindings = [f"{names[f]} = X[:, {f}]" for f in law.features]
    return template("solution.py.j2").render(
        docstring=docstring([f"y = {form.text}", "", f"C = {form.complexity}", *notes]),
        constants=[repr(abs(c)) for c in constants], template=expression(program, names, FRONTIER, in_text),
        lines=[*bindings, *lines], result=result, is_constant=not law.features,
        refit_constant=not law.features and law.n_constants == 1,
    )  # fmt: skip


def _open_constants(program: Program) -> tuple[Program, list[float]]:
    """The constants that may be refitted become slots; equal ones share one. Their values, by slot."""
    slots: dict[float, int] = {}
    arg = program.arg.copy()
    if program.features:
        for i in np.flatnonzero((program.code == CONST) & (program.arg == FREE)):
            value = float(program.value[i])
            if not value.is_integer() and not _is_exponent(program, int(i)):
                arg[i] = LOCAL + slots.setdefault(value, len(slots))
    return Program(program.code, arg, program.value), list(slots)


def _is_exponent(program: Program, i: int) -> bool:
    """Is node i the right operand of a power?"""
    return i + 1 < len(program) and int(program.code[i + 1]) == OPCODE["pow"]
