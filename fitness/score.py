"""What an evaluation says about programs: fitted values, a finite loss, a complexity and a value signature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.program import ProgramBatch

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Scored:
    """P programs with their fitted constants.

    loss (P,) is raw error in the task's metric, lower is better and always finite (BAD_LOSS for a bad row), so
    that no comparison meets a NaN. complexity (P,) is C. signature (P,) is equal for programs equal by value.
    """

    batch: ProgramBatch
    loss: F64
    complexity: I64
    signature: U64

    def __len__(self) -> int:
        return len(self.loss)

    def take(self, rows: I64) -> Scored:
        """The given rows, copied."""
        return Scored(self.batch.take(rows), self.loss[rows], self.complexity[rows], self.signature[rows])

    @staticmethod
    def concatenate(parts: list[Scored]) -> Scored:
        """All rows in order."""
        return Scored(
            ProgramBatch.concatenate([p.batch for p in parts]),
            np.concatenate([p.loss for p in parts]),
            np.concatenate([p.complexity for p in parts]),
            np.concatenate([p.signature for p in parts]),
        )
