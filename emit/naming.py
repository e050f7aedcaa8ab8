"""Names inside emitted modules: a variable may not be called what the module itself uses."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Sequence

# What the templates call their own things.
_IN_TEMPLATES = """
    np curve_fit X y X_fit y_fit predict fit law weigh relative see misfit total solve_linear starts polish cost
    best local value seen pull miss base steps step slopes curved moves moved factor away row trial model loss scale
    options usable thin rows tries start losses name USED_INPUTS LAW_CONSTANTS OTHER_CONSTANTS LOCAL_FITTABLE START
    SIZE BOUNDS LINEAR
"""
MODULE_NAMES = frozenset(_IN_TEMPLATES.split())
RESERVED = MODULE_NAMES | frozenset(dir(builtins)) | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)


def safe(names: Sequence[str], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """The names, with underscores after what is reserved, taken or repeated. Raises ValueError for no identifier."""
    used = set(taken)
    out: list[str] = []
    for name in names:
        if not name.isidentifier():
            raise ValueError(f"{name!r} cannot be a variable in emitted code; make identifiers of headers first")
        while name in used or name in RESERVED:
            name += "_"
        used.add(name)
        out.append(name)
    return tuple(out)


def docstring(lines: Iterable[str]) -> str:
    """Lines as the inside of a triple-quoted string: nothing in them can end it or hide in it."""
    text = "\n".join("".join(ch if ch.isprintable() else " " for ch in line).rstrip() for line in lines)
    text = text.replace("\\", "\\\\").replace('"""', "'''").strip()
    return text + " " if text.endswith('"') else text
