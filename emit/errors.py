"""A law that a form of output cannot express."""

from __future__ import annotations

from operators.errors import InputError


class NotExpressible(InputError):
    """The law cannot be written in the wanted form; the message gives the reason (not real, not allowed)."""
