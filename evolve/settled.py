"""`Settled`: a law as the end of a run proposes it."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.choose import Judged
from operators.program import Program


@dataclass(frozen=True)
class Settled:
    """The law of a run: its program, its loss on all rows, its held-out loss, and all judged laws of the front."""

    program: Program
    loss: float
    cv_loss: float
    judged: tuple[Judged, ...]
