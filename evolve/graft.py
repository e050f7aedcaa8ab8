"""Grafting: look up which small expression, added at which node, would explain what a law leaves over.

For a law f with residual r, adding ``e * g(x)`` at a node changes f by ``e * s(x) * g(x)``, where s is the derivative
of f with respect to that node. The best (node, g) is the one whose s*g correlates most with r, after what the law's
own constants can do is projected out: one matrix product over a table of small expressions instead of a thousand
random insertions. With the root as the node this is one step of orthogonal matching pursuit; with all nodes it is
the linearised form of semantic backpropagation (Pawlak et al. 2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.build import Builder, Inexpressible
from evolve.seeding.growth import grow
from evolve.seeding.table import Table
from fitness.constants import predict
from fitness.data import Dataset
from fitness.metrics import METRICS, Space
from operators.grammar import Grammar
from operators.program import Program, ProgramBatch, apply, constant, variable

F64 = NDArray[np.float64]

_ROWS = 200
_TABLE = 2000
_STEP = 1e-5  # of the finite differences, relative to the node's spread
_PER_NODE = 4


class Grafter:
    """Holds the table of small expressions for one data set and grammar."""

    def __init__(self, rng: np.random.Generator, data: Dataset, grammar: Grammar, metric: str) -> None:
        rows = np.arange(data.n_rows)
        if data.n_rows > _ROWS:
            rows = np.sort(rng.choice(data.n_rows, _ROWS, replace=False))
        self.X = np.ascontiguousarray(data.X[:, rows])
        self.y = data.y[rows]
        self.grammar = grammar
        self.space = METRICS[metric].space
        leaves = [i for i in grammar.allowed_features if np.ptp(self.X[i]) > 0.0]
        self.table: Table | None = None
        if leaves and len(self.y) >= 4:
            table = Table([variable(i) for i in leaves], self.X[leaves], Builder(grammar.primitives), grammar.banned)
            self.table = grow(table, _TABLE)
            norm = np.linalg.norm(self.table.values, axis=1)
            self._norm = np.where(norm > 0.0, norm, 1.0)
            self._unit = (self.table.values / self._norm[:, None]).astype(np.float32)
            self._unit_squared = np.square(self._unit)

    def grafts(self, program: Program, most: int = 40) -> list[Program]:
        """The `most` promising extensions of a law by one table entry, best first; legal ones only."""
        if self.table is None or len(program) + 4 > self.grammar.max_length:
            return []
        found: list[tuple[float, int, int, bool, float]] = []
        parts = self._linearised(program)
        if parts is None:
            return []
        residual, own, sensitivity, node_values = parts
        found += self._best_entries(sensitivity, residual, own, False)
        if len(program) > 1:
            found += self._best_entries(sensitivity * node_values, residual, own, True)
        found.sort(key=lambda f: -f[0])
        out = []
        for _, node, entry, multiply, size in found[: 3 * most]:
            grafted = self._write(program, node, entry, multiply, size)
            if grafted is not None and self.grammar.is_legal(grafted):
                out.append(grafted)
                if len(out) == most:
                    break
        return out

    def _linearised(self, program: Program) -> tuple[F64, F64, F64, F64] | None:
        """Residual (m,), orthonormal basis of the constants' effects (m, k), df/dnode (n, m), node values (n, m)."""
        n = len(program)
        node_values = predict(ProgramBatch.of([program.subtree(i) for i in range(n)]), self.X)
        if not np.all(np.isfinite(node_values)):
            return None
        spread = np.std(node_values, axis=1)
        steps = _STEP * np.where(spread > 0, spread, np.maximum(np.abs(node_values[:, 0]), 1e-3))
        moved = [
            program.splice(i, apply("add", program.subtree(i), constant(sign * steps[i])))
            for i in range(n)
            for sign in (1.0, -1.0)
        ]
        values = predict(ProgramBatch.of(moved), self.X)
        sensitivity = (values[0::2] - values[1::2]) / (2.0 * steps[:, None])
        sensitivity[~np.isfinite(sensitivity).all(axis=1)] = 0.0
        residual, weight = self._weighted(node_values[-1])
        sensitivity = sensitivity * weight
        constants = sensitivity[program.free]
        own = np.zeros((len(self.y), 0))
        if len(constants):
            norms = np.linalg.norm(constants, axis=1)
            kept = constants[norms > 0] / norms[norms > 0, None]
            if len(kept):
                u, size, _ = np.linalg.svd(kept.T, full_matrices=False)
                own = u[:, size > 1e-8 * size[0]]
        return residual - own @ (own.T @ residual), own, sensitivity, node_values

    def _weighted(self, f: F64) -> tuple[F64, F64]:
        """The residual and the rows' weights in the space in which the metric fits."""
        if self.space == Space.PLAIN:
            return self.y - f, np.ones_like(f)
        if self.space == Space.LOG:
            good = (self.y > 0) & (f > 0)
            logs = np.log(np.where(good, self.y, 1.0)) - np.log(np.where(good, f, 1.0))
            return logs, np.where(good, 1.0 / np.where(good, f, 1.0), 0.0)
        size = np.where(self.y != 0, np.abs(self.y), np.inf)
        return (self.y - f) / size, 1.0 / size

    def _best_entries(
        self, sensitivity: F64, residual: F64, own: F64, multiply: bool
    ) -> list[tuple[float, int, int, bool, float]]:
        """(explained share, node, entry, multiply, e) of the entries that explain most when added at each node."""
        size = np.linalg.norm(sensitivity, axis=1)
        with np.errstate(all="ignore"):
            s = np.where(size[:, None] > 0, sensitivity / size[:, None], 0.0)
            along = self._unit @ (s * residual).T.astype(np.float32)
            power = self._unit_squared @ np.square(s).T.astype(np.float32)
            effects = (s[:, :, None] * own[None]).transpose(1, 0, 2).reshape(len(residual), -1).astype(np.float32)
            shadow = np.square(self._unit @ effects).reshape(*power.shape, -1).sum(axis=2)
            free = power - shadow
            gain = np.where(free > 1e-5 * power, np.square(along) / free, 0.0)
        gain = np.where(np.isfinite(gain), gain, 0.0)
        if multiply:
            gain[0] = 0.0
        best = np.argpartition(-gain, _PER_NODE, axis=0)[:_PER_NODE]
        with np.errstate(all="ignore"):
            step = along / free / size / self._norm[:, None]
        return [
            (float(gain[e, node]), node, int(e), multiply, float(step[e, node]))
            for node in range(len(s))
            for e in best[:, node]
            if gain[e, node] > 0.0
        ]

    def _write(self, program: Program, node: int, entry: int, multiply: bool, size: float) -> Program | None:
        assert self.table is not None
        try:
            term = self.table.program(entry)
        except Inexpressible:
            return None
        old = program.subtree(node)
        if len(program) + len(term) + 6 > self.grammar.max_length:
            return None
        step = constant(size) if entry == 0 else apply("mul", constant(size), term)
        new = apply("mul", old, apply("add", constant(1.0), step)) if multiply else apply("add", old, step)
        return program.splice(node, new)
