"""The data a law is searched on, and the train-split folds it is judged on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Usable training rows: X (features, rows) C-contiguous, y (rows,), optional weight and group (rows,).

    `names` are the features' identifiers, in the order of X's rows. `weight` multiplies a row's squared error.
    `group` is a 0-based dense cluster index; rows of one group are contiguous (`of` sorts them).
    """

    X: F64
    y: F64
    names: tuple[str, ...]
    weight: F64 | None = None
    group: I64 | None = None

    @staticmethod
    def of(
        X: F64, y: F64, names: Sequence[str], weight: F64 | None = None, group: NDArray[np.integer] | None = None
    ) -> Dataset:
        """Build a data set from X (features, rows); rows are sorted by group (stably) when there are groups."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        y = np.ascontiguousarray(y, dtype=np.float64)
        if X.shape != (len(names), len(y)):
            raise ValueError(f"X is {X.shape}, expected ({len(names)} features, {len(y)} rows)")
        data = Dataset(X, y, tuple(names), weight, None)
        if group is None:
            return data
        _, dense = np.unique(group, return_inverse=True)
        order = np.argsort(dense, kind="stable")
        sorted_ = data.rows(order)
        return Dataset(sorted_.X, sorted_.y, sorted_.names, sorted_.weight, dense[order].astype(np.int64))

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def n_features(self) -> int:
        return len(self.names)

    @property
    def n_groups(self) -> int:
        return 0 if self.group is None else int(self.group[-1]) + 1

    @property
    def offsets(self) -> I64:
        """Group g is rows offsets[g] to offsets[g + 1]; shape (groups + 1,)."""
        if self.group is None:
            return np.array([0, self.n_rows], dtype=np.int64)
        return np.searchsorted(self.group, np.arange(self.n_groups + 1)).astype(np.int64)

    def rows(self, index: I64) -> Dataset:
        """The data set of the given rows, in the given order (which must keep groups contiguous)."""
        return Dataset(
            np.ascontiguousarray(self.X[:, index]),
            self.y[index],
            self.names,
            None if self.weight is None else self.weight[index],
            None if self.group is None else self.group[index],
        )


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of the training rows: constants are fitted on `fit`, the law is judged on `judge` (row indices)."""

    fit: I64
    judge: I64
    kind: Literal["random", "ends", "one"]


@dataclass(frozen=True, eq=False)
class Folds:
    """The train-split folds of one task; `items` is empty when the rows are too few to split."""

    items: tuple[Fold, ...] = field(default_factory=tuple)

    def __iter__(self) -> Iterator[Fold]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
