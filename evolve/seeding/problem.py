"""A problem with leaves: the original inputs, or what structure detection put in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder
from evolve.seeding.images import Target
from operators.program import Program

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Find target.z as a function of the leaves; values (k, rows) are theirs. `label` says how it arose."""

    leaves: tuple[Program, ...]
    values: F64
    target: Target
    label: str = ""

    @property
    def n_leaves(self) -> int:
        return len(self.leaves)

    def first_rows(self, n: int) -> Problem:
        """The same problem on the first n rows (the sample is in random order)."""
        t = self.target
        target = replace(t, z=t.z[:n], w=t.w[:n])
        return Problem(self.leaves, np.ascontiguousarray(self.values[:, :n]), target, self.label)

    def divided(self, leaf: int, exponent: float, builder: Builder) -> Problem:
        """The problem of z / leaf**exponent, without that leaf."""
        factor = builder.power(self.leaves[leaf], exponent)
        size = np.abs(self.values[leaf]) ** exponent * _sign(self.values[leaf], exponent)
        out = self.divided_by(factor, size, f"/ leaf^{exponent:g}", builder)
        rest = [i for i in range(self.n_leaves) if i != leaf]
        return replace(out, leaves=tuple(self.leaves[i] for i in rest), values=self.values[rest])

    def divided_by(self, factor: Program, values: F64, label: str, builder: Builder) -> Problem:
        """The problem of z / factor (values: the factor's on all rows); where the factor is 0 a row has no weight."""
        t = self.target
        size = np.where(values == 0.0, 1.0, values)
        target = Target(t.z / size, t.w * np.abs(values), lambda u: t.rebuild(builder.product([u, factor])), t.label)
        return Problem(self.leaves, self.values, target, f"{self.label} {label}")

    def with_leaf(self, program: Program, values: F64, label: str) -> Problem:
        """The problem with one more leaf."""
        return Problem(
            (*self.leaves, program), np.vstack([self.values, values[None, :]]), self.target, f"{self.label} {label}"
        )

    def merged(self, pair: tuple[int, int], program: Program, values: F64, label: str) -> Problem:
        """The problem with one leaf (values: on the same rows) in place of two."""
        rest = [i for i in range(self.n_leaves) if i not in pair]
        return Problem(
            (*(self.leaves[i] for i in rest), program),
            np.vstack([self.values[rest], values[None, :]]),
            self.target,
            f"{self.label} {label}",
        )


def _sign(values: F64, exponent: float) -> F64:
    odd = exponent == round(exponent) and round(exponent) % 2 == 1
    return np.sign(values) if odd else np.ones_like(values)
