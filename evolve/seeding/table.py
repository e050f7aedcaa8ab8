"""The table of small expressions: every entry evaluated once on a sample of rows, kept once per value.

An entry is an opcode and the indices of its operands, so that an expression costs a dozen bytes beside its values
and its `Program` is written only when something is found. Entries whose values are not finite, are constant or
repeat another entry's are never stored. The idea of evaluating all small expressions with shared subexpressions
is that of PSRN (Ruan et al. 2024); the classes of what is worth combining are in `growth.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder
from operators.primitives import ARITY, BY_NAME, BY_OPCODE, CONST, OPCODE, VAR
from operators.program import FIXED, Program, constant

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

_LARGEST = 1e80  # values beyond this leave no room for squares of squares
_MANTISSA_SHIFT = np.int64(20)  # of 52 bits: values equal to 2e-10 are one value
_MIX = np.int64(-7046029254386353131)  # an odd number with mixed bits, to hash two integers into one
_RARE = dict.fromkeys(("tanh", "atan", "abs", "tan", "asin", "acos", "sinh", "cosh"), 2.5)  # prices
_BLOCK = 4096  # entries evaluated at a time


class Table:
    """Expressions over `leaves` with their values on m rows: values (entries, m) float64.

    Entry 0 is the number one (an operand, never a column); entries 1..k are the leaves.
    """

    def __init__(
        self, leaves: Sequence[Program], values: F64, builder: Builder, banned: Sequence[tuple[str, str]] = ()
    ):
        k, m = values.shape
        self.leaves = tuple(leaves)
        self.builder = builder
        self.n_leaves = k
        self._values = np.empty((max(64, 2 * k), m))
        self._op = np.zeros(len(self._values), np.uint8)
        self._left = np.zeros(len(self._values), np.int32)
        self._right = np.zeros(len(self._values), np.int32)
        self._cost = np.zeros(len(self._values), np.float32)
        self._holds = np.zeros(len(self._values), np.uint64)
        self._bans = _ban_masks(banned)
        self._probe = np.random.default_rng(20).uniform(0.5, 1.5, (m, 2))
        self._keys = np.zeros(0, np.int64)  # sorted, with the entry each belongs to
        self._key_entry = np.zeros(0, np.int64)
        self._programs: dict[int, Program] = {}
        self.size = 0
        self.factors = np.zeros(0, np.int64)  # what laws like to have as a factor; both are set by who grows the table
        self.phases = np.zeros(0, np.int64)  # what laws like to have in a sine
        self._append(np.ones((1, m)), CONST, np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, np.float32))
        slots = np.arange(k)
        self._append(values, VAR, slots, slots, np.ones(k, np.float32))

    @property
    def values(self) -> F64:
        return self._values[: self.size]

    @property
    def cost(self) -> F32:
        """Price of every entry: its nodes (a leaf is one), rare functions counted as more than one."""
        return self._cost[: self.size]

    @property
    def leaf_entries(self) -> I64:
        return np.arange(1, self.n_leaves + 1)

    def unary(self, name: str, of: I64) -> I64:
        """Entries of name(entry) for every entry in `of`, added where new; 0 where banned or unusable."""
        allowed = (self._holds[of] & self._bans.get(OPCODE[name], np.uint64(0))) == 0
        out = np.zeros(len(of), np.int64)
        chosen = of[allowed]
        out[allowed] = self._add(OPCODE[name], chosen, chosen, self._cost[chosen] + np.float32(_RARE.get(name, 1.0)))
        return out

    def binary(self, name: str, left: I64, right: I64) -> I64:
        """Entries of name(left[i], right[i]), added where new; 0 where the values cannot be used."""
        return self._add(OPCODE[name], left, right, self._cost[left] + self._cost[right] + np.float32(1.0))

    def _add(self, op: int, left: I64, right: I64, cost: F32) -> I64:
        out = [np.zeros(0, np.int64)]
        for a in range(0, len(left), _BLOCK):
            out.append(self._add_block(op, left[a : a + _BLOCK], right[a : a + _BLOCK], cost[a : a + _BLOCK]))
        return np.concatenate(out)

    def _add_block(self, op: int, left: I64, right: I64, cost: F32) -> I64:
        function = BY_OPCODE[op].function
        with np.errstate(all="ignore"):
            values = (
                function(self._values[left]) if ARITY[op] == 1 else function(self._values[left], self._values[right])
            )
            top, bottom = values.max(axis=1), values.min(axis=1)
            good = (top < _LARGEST) & (bottom > -_LARGEST)  # a NaN compares false
            good &= top - bottom > 1e-9 * np.maximum(np.abs(top), np.abs(bottom))
        out = np.zeros(len(left), np.int64)
        rows = np.flatnonzero(good)
        key = self._key(values[rows])
        out[rows] = self._find(key)
        fresh = np.flatnonzero(out[rows] == 0)
        _, first = np.unique(key[fresh], return_index=True)
        new = rows[fresh[np.sort(first)]]
        self._append(values[new], op, left[new], right[new], cost[new])
        out[rows] = self._find(key)
        return out

    def _key(self, values: F64) -> I64:
        """Equal for values that agree to about 2e-10."""
        bits = np.ascontiguousarray(values @ self._probe).view(np.int64)
        bits = (bits + (np.int64(1) << (_MANTISSA_SHIFT - np.int64(1)))) >> _MANTISSA_SHIFT
        with np.errstate(over="ignore"):
            mixed: I64 = bits[:, 0] * _MIX + bits[:, 1]
        return mixed

    def _find(self, key: I64) -> I64:
        """The entry of every key, 0 where there is none."""
        if not len(self._keys):
            return np.zeros(len(key), np.int64)
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where(self._keys[at] == key, self._key_entry[at], 0)

    def _append(self, values: F64, op: int, left: I64, right: I64, cost: F32) -> None:
        n = len(values)
        self._reserve(self.size + n)
        rows = slice(self.size, self.size + n)
        self._values[rows], self._op[rows], self._cost[rows] = values, op, cost
        self._left[rows], self._right[rows] = left, right
        if op not in (CONST, VAR):
            self._holds[rows] = self._holds[left] | self._holds[right] | np.uint64(1 << op)
        keys = self._key(values)
        order = np.argsort(keys, kind="stable")
        at = np.searchsorted(self._keys, keys[order])
        self._keys = np.insert(self._keys, at, keys[order])
        self._key_entry = np.insert(self._key_entry, at, rows.start + order)
        self.size += n
        self.__dict__.pop("columns", None)

    def _reserve(self, size: int) -> None:
        if size <= len(self._op):
            return
        grown = max(size, int(1.6 * len(self._op)))
        for name in ("_values", "_op", "_left", "_right", "_cost", "_holds"):
            old = getattr(self, name)
            new = np.zeros((grown, *old.shape[1:]), old.dtype)
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def program(self, entry: int) -> Program:
        """The expression of an entry. Raises `Inexpressible` if the grammar cannot spell it."""
        known = self._programs.get(entry)
        if known is not None:
            return known
        op = int(self._op[entry])
        if op == CONST:
            out = constant(1.0, FIXED)
        elif op == VAR:
            out = self.leaves[int(self._left[entry])]
        elif ARITY[op] == 1:
            out = self.builder.call(BY_OPCODE[op].name, self.program(int(self._left[entry])))
        else:
            operands = self.program(int(self._left[entry])), self.program(int(self._right[entry]))
            out = self.builder.call(BY_OPCODE[op].name, *operands)
        self._programs[entry] = out
        return out

    def operation(self, entry: int) -> tuple[int, int, int]:
        """(opcode, left entry, right entry) of an entry."""
        return int(self._op[entry]), int(self._left[entry]), int(self._right[entry])

    def holds(self, entries: I64, *names: str) -> NDArray[np.bool_]:
        """Do the entries' expressions contain one of the primitives (leaves not looked into)?"""
        mask = np.uint64(sum(1 << OPCODE[n] for n in names if n in BY_NAME))
        return (self._holds[entries] & mask) != 0

    @cached_property
    def columns(self) -> Columns:
        """The entries that differ by more than a scale and a shift, standardised."""
        return Columns(self)


class Columns:
    """One entry for each set that are affine images of each other, cheapest first: entry (n,), unit (n, m) float32.

    `unit` rows have mean 0 and norm 1 (unweighted).
    """

    def __init__(self, table: Table) -> None:
        order = 1 + np.argsort(table.cost[1:], kind="stable")
        kept_entries: list[I64] = []
        kept_rows: list[F32] = []
        known = np.zeros(0, np.int64)
        for a in range(0, len(order), 4096):
            entries = order[a : a + 4096]
            unit = standardised(table.values[entries])
            key = _affine_key(unit)
            _, first = np.unique(key, return_index=True)
            first = np.sort(first[~np.isin(key[first], known)])
            known = np.union1d(known, key[first])
            kept_entries.append(entries[first])
            kept_rows.append(unit[first].astype(np.float32))
        self.entry = np.concatenate(kept_entries)
        self.unit = np.ascontiguousarray(np.concatenate(kept_rows))
        self.cost = table.cost[self.entry]

    def __len__(self) -> int:
        return len(self.entry)


def standardised(values: F64) -> F64:
    """Rows of `values` with mean 0 and norm 1 (rows without spread become 0)."""
    centred = values - values.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    return centred / np.where(norm > 0.0, norm, 1.0)[:, None]


def _affine_key(unit: F64) -> I64:
    probe = unit @ np.random.default_rng(21).uniform(-1.0, 1.0, (unit.shape[1], 2))
    probe *= np.where(probe[:, :1] < 0.0, -1.0, 1.0)
    steps = np.round(probe * 2.0**30).astype(np.int64)
    with np.errstate(over="ignore"):
        return steps[:, 0] * _MIX + steps[:, 1]


def _ban_masks(banned: Sequence[tuple[str, str]]) -> dict[int, np.uint64]:
    masks: dict[int, int] = {}
    for outer, inner in banned:
        masks[OPCODE[outer]] = masks.get(OPCODE[outer], 0) | (1 << OPCODE[inner])
    return {op: np.uint64(mask) for op, mask in masks.items()}
