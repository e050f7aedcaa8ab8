"""The one exception that means "the input is wrong, not the program"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Bad input: the message says what is wrong, where, the value seen and what to do.

    The command line prints the message without a traceback and exits with code 2.
    """


def nearest(word: object, known: Iterable[str]) -> str:
    """A hint ``"; did you mean 'x'?"`` with the known names closest to `word`, or an empty string."""
    names = list(known)
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(str(word).lower(), list(lowered), n=3, cutoff=0.6)
    if not close:
        return ""
    return "; did you mean " + " or ".join(repr(lowered[c]) for c in close) + "?"
