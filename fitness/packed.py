"""Batches and scores as compact arrays, for travelling between processes.

Only the nodes that exist travel, and only the numbers of constants: a batch of 500 programs of 20 nodes is about
50 kB, a third of the padded matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from fitness.score import Scored
from operators.primitives import CONST
from operators.program import ProgramBatch

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PackedBatch:
    """P programs of N nodes in all, K of them constants: code, arg (N,), number (K,), length (P,), padded width."""

    code: NDArray[np.uint8]
    arg: NDArray[np.int16]
    number: F64
    length: NDArray[np.int16]
    width: int

    @staticmethod
    def of(batch: ProgramBatch) -> PackedBatch:
        """The batch without its padding."""
        node = _nodes(batch.length, batch.width)
        number = batch.value[node & (batch.code == CONST)]
        return PackedBatch(batch.code[node], batch.arg[node], number, batch.length.astype(np.int16), batch.width)

    def unpack(self) -> ProgramBatch:
        """The batch as it was, with zeros for padding."""
        batch = ProgramBatch.empty(len(self.length), self.width)
        batch.length[:] = self.length
        node = _nodes(batch.length, self.width)
        batch.code[node], batch.arg[node] = self.code, self.arg
        batch.value[node & (batch.code == CONST)] = self.number
        return batch

    @property
    def nbytes(self) -> int:
        return _nbytes(self)


@dataclass(frozen=True, eq=False)
class PackedScores:
    """A `Scored` of P programs: loss, complexity, signature (P,)."""

    batch: PackedBatch
    loss: F64
    complexity: I64
    signature: NDArray[np.uint64]

    @staticmethod
    def of(scored: Scored) -> PackedScores:
        return PackedScores(PackedBatch.of(scored.batch), scored.loss, scored.complexity, scored.signature)

    def unpack(self) -> Scored:
        return Scored(self.batch.unpack(), self.loss, self.complexity, self.signature)

    @property
    def nbytes(self) -> int:
        return self.batch.nbytes + _nbytes(self)


def _nodes(length: I64, width: int) -> NDArray[np.bool_]:
    """Which cells (P, width) of a padded matrix hold nodes."""
    return np.arange(width) < length[:, None]


def _nbytes(packed: PackedBatch | PackedScores) -> int:
    values = (getattr(packed, f.name) for f in fields(packed))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))
