"""Expressions as people like to read them. The exact texts, which read back as the same program, are elsewhere."""

from __future__ import annotations

import re

_SIGN = re.compile(r"([+-]) -(?=[\w.(])")
_LONG = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w.])")


def readable(text: str) -> str:
    """The same values with fewer signs: ``x + -1.5*z`` becomes ``x - 1.5*z``."""
    return _SIGN.sub(lambda match: "- " if match[1] == "+" else "+ ", text)


def brief(text: str) -> str:
    """For a display that changes: fewer signs, and numbers of at most six digits."""
    return _LONG.sub(lambda match: match[0] if len(match[0]) < 8 else f"{float(match[0]):.6g}", readable(text))
