"""Column headers -> Python identifiers that are unique and shadow nothing.

A header is data: it is never executed and never formatted into code. What code uses is the identifier made
here, and the header itself only ever appears as a quoted string.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Sequence

from operators.primitives import ALL_NAMES

# Names that emitted modules use for themselves; a column of that name gets a trailing underscore.
MODULE_NAMES = frozenset((
    "np", "numpy", "math", "scipy", "sympy", "sp", "curve_fit", "pi", "fixed",
    "X", "y", "X_fit", "y_fit", "predict", "fit", "params", "law", "local", "start", "group_id",
    "Solution", "solve", "self", "expression", "predictions", "details",
    "USED_INPUTS", "LAW_CONSTANTS", "OTHER_CONSTANTS", "LOCAL_FITTABLE",
))  # fmt: skip
RESERVED = MODULE_NAMES.union(keyword.kwlist, keyword.softkwlist, dir(builtins), ALL_NAMES)
# c0, c1, ... are constants and p0, p1, ... local parameters in everything that is printed.
_NUMBERED = re.compile(r"[cp]\d+\Z")
_LONGEST = 40


def is_free(name: str) -> bool:
    """May a variable be called `name` in emitted code: an identifier that Python reads as it is written?"""
    normal = unicodedata.normalize("NFKC", name) == name
    return normal and name.isidentifier() and name not in RESERVED and not _NUMBERED.match(name)


def identifier(header: str, position: int) -> str:
    """The identifier nearest to a header; a header without any usable character becomes ``x<position + 1>``.

    >>> identifier("ageing time (weeks)", 0), identifier("lambda", 1), identifier("2B", 2)
    ('ageing_time_weeks', 'lambda_', 'x2B')
    """
    text = unicodedata.normalize("NFKC", header)
    kept = "".join(ch if f"a{ch}".isidentifier() else " " for ch in text)
    name = unicodedata.normalize("NFKC", re.sub(r"[\s_]+", "_", kept))[:_LONGEST].strip("_")
    if not name:
        return f"x{position + 1}"
    if not name.isidentifier():  # a digit may follow the x, a combining mark would melt into it
        name = f"x{name}" if name[0].isdecimal() else f"x_{name}"
    return name if is_free(name) else f"{name}_"


def identifiers(headers: Sequence[str]) -> tuple[str, ...]:
    """One identifier a header, in order, all different; a header that is its own identifier always keeps it."""
    wanted = [identifier(header, position) for position, header in enumerate(headers)]
    own = {header for header, name in zip(headers, wanted, strict=True) if header == name}
    used: set[str] = set()
    names: list[str] = []
    for header, base in zip(headers, wanted, strict=True):
        name, number = base, 2
        while name in used or (name in own and name != header):
            name, number = f"{base.rstrip('_')}_{number}", number + 1
        used.add(name)
        names.append(name)
    return tuple(names)
