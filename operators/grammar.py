"""Which programs the search may visit: primitives, sizes, nesting bans and how many constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.covariate_kernels import scales_covariate
from operators.primitives import BY_NAME, N_OPCODES, OPCODE
from operators.program import Program, ProgramBatch
from operators.row_kernels import legal_rows

Array = NDArray[Any]

PERIODIC = ("sin", "cos", "tan")
EXPONENTIAL = ("exp", "sinh", "cosh", "tanh")
INVERSE_TRIG = ("asin", "acos", "atan")

# How often a primitive is drawn, relative to add; what is rare in published laws is rare here.
_WEIGHT = {
    "add": 4.0, "sub": 3.0, "mul": 4.0, "div": 3.0, "pow": 0.6, "min": 0.15, "max": 0.15, "neg": 0.4, "inv": 1.0,
    "square": 2.0, "cube": 0.5, "sqrt": 1.2, "abs": 0.2, "exp": 2.0, "log": 1.5, "sin": 1.2, "cos": 1.2, "tan": 0.15,
    "asin": 0.15, "acos": 0.1, "atan": 0.3, "sinh": 0.1, "cosh": 0.1, "tanh": 0.5,
}  # fmt: skip


def default_bans(primitives: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs (outer, inner) that published laws do not nest: a periodic in a periodic, exp in exp, log in log."""
    families = [PERIODIC + INVERSE_TRIG, EXPONENTIAL, ("log",)]
    pairs = [(a, b) for family in families for a in family for b in family]
    # arcsin(n*sin(t)) is Snell's law: an inverse function may hold what it inverts, but not the other way round.
    pairs = [(a, b) for a, b in pairs if a not in INVERSE_TRIG or b in INVERSE_TRIG]
    return tuple((a, b) for a, b in pairs if a in primitives and b in primitives)


@dataclass(frozen=True)
class Grammar:
    """The language of one task.

    `max_constants` bounds the FREE constants (fitted literals), `max_locals` the per-group slots. `bans` holds
    (outer, inner) primitive names: inner may not stand anywhere below outer. `between` are the features that are constant
    within every group; a per-group parameter may not scale them.
    """

    n_features: int
    primitives: tuple[str, ...]
    max_length: int = 40
    max_depth: int = 16
    max_complexity: int = 70
    max_constants: int = 8
    max_locals: int = 0
    between: tuple[int, ...] = ()
    bans: tuple[tuple[str, str], ...] | None = None
    features: tuple[int, ...] | None = None
    scale: tuple[float, ...] = ()
    _tables: dict[str, Array] = field(default_factory=dict, compare=False, repr=False)

    @property
    def banned(self) -> tuple[tuple[str, str], ...]:
        return default_bans(self.primitives) if self.bans is None else self.bans

    @property
    def allowed_features(self) -> tuple[int, ...]:
        return tuple(range(self.n_features)) if self.features is None else self.features

    def table(self, name: str) -> Array:
        """Arrays the kernels read, built once: unary, binary (cumulative weights), ban, features, scale."""
        if not self._tables:
            self._tables.update(_build_tables(self))
        return self._tables[name]

    def is_legal(self, program: Program) -> bool:
        """May the search visit this program?"""
        return bool(self.legal(ProgramBatch.of([program]))[0])

    def code_length(self, program: Program) -> float:
        """Nats to name the nodes of a program: -log of how often each is drawn, features evenly, half of all leaves."""
        total = sum(_WEIGHT[n] for n in self.primitives)
        leaf = float(np.log(2.0 * (len(self.allowed_features) + 1)))
        nats = {OPCODE[n]: float(np.log(2.0 * total / _WEIGHT[n])) for n in self.primitives}
        return sum(nats.get(int(code), leaf) for code in program.code)

    def legal(self, batch: ProgramBatch) -> NDArray[np.bool_]:
        """is_legal for every row of a batch, (P,)."""
        legal = legal_rows(
            batch.code, batch.arg, batch.length, self.table("ban"), self.table("allowed"),
            self.max_length, self.max_depth, self.max_constants, self.max_locals,
        )  # fmt: skip
        if self.between and self.max_locals:
            legal &= ~scales_covariate(batch.code, batch.arg, batch.length, self.table("between"))
        return legal


def _build_tables(grammar: Grammar) -> dict[str, Array]:
    names = [n for n in grammar.primitives if n in BY_NAME]
    out: dict[str, Array] = {}
    for arity, key in ((1, "unary"), (2, "binary")):
        chosen = [n for n in names if BY_NAME[n].arity == arity]
        weights = np.array([_WEIGHT[n] for n in chosen])
        out[key] = np.array([OPCODE[n] for n in chosen], dtype=np.uint8)
        out[key + "_cumulative"] = np.cumsum(weights) / max(weights.sum(), 1e-300)
    ban = np.zeros((N_OPCODES, N_OPCODES), dtype=np.bool_)
    for outer, inner in grammar.banned:
        ban[OPCODE[outer], OPCODE[inner]] = True
    out["ban"] = ban
    allowed = np.zeros(N_OPCODES, dtype=np.bool_)
    allowed[:2] = True
    allowed[[OPCODE[n] for n in names]] = True
    out["allowed"] = allowed
    out["between"] = np.isin(np.arange(grammar.n_features), grammar.between)
    out["features"] = np.array(grammar.allowed_features, dtype=np.int16)
    out["scale"] = np.array(grammar.scale or (1.0,) * grammar.n_features, dtype=np.float64)
    return out
