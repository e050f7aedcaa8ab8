"""`Program`: one expression as flat postfix arrays, and `ProgramBatch`: many of them as padded matrices.

A subtree is a slice of the arrays and crossover is a splice, as in Operon (Burlacu et al. 2020). A node is
``(code, arg, value)``:

=========  ===========================  ==================================================
code       arg                          value
=========  ===========================  ==================================================
VAR        feature index                0
CONST      role: FREE, FIXED or slot    the number (for a local: its start)
primitive  0                            0
=========  ===========================  ==================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.primitives import ARITY, CONST, OPCODE, VAR

FREE = 0  # a fitted global constant: it counts against the task's cap
FIXED = 1  # a structural number (2, -1, 1/2, pi): never fitted, never counted
LOCAL = 2  # role LOCAL + k is the per-group parameter in slot k; equal slots share one value

U8 = NDArray[np.uint8]
I16 = NDArray[np.int16]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Program:
    """An immutable postfix expression of n nodes: code (n,) uint8, arg (n,) int16, value (n,) float64."""

    code: U8
    arg: I16
    value: F64

    def __post_init__(self) -> None:
        for array in (self.code, self.arg, self.value):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.code)

    @cached_property
    def starts(self) -> I64:
        """starts[i] is where the subtree that ends at node i begins: the subtree is ``slice(starts[i], i + 1)``."""
        starts = np.empty(len(self), dtype=np.int64)
        stack: list[int] = []
        for i, arity in enumerate(ARITY[self.code]):
            start = i
            for _ in range(arity):
                start = stack.pop()
            starts[i] = start
            stack.append(start)
        if len(stack) != 1:
            raise ValueError(f"not one expression: {len(stack)} values are left on the stack")
        return starts

    def children(self, i: int) -> tuple[int, ...]:
        """Root indices of the operands of node i, left to right."""
        out: list[int] = []
        end = i - 1
        for _ in range(ARITY[self.code[i]]):
            out.append(end)
            end = int(self.starts[end]) - 1
        return tuple(reversed(out))

    @cached_property
    def depth(self) -> int:
        """Nodes on the longest path from the root to a leaf."""
        depths = np.zeros(len(self), dtype=np.int64)
        for i in range(len(self)):
            depths[i] = 1 + max((depths[c] for c in self.children(i)), default=0)
        return int(depths[-1])

    def subtree(self, i: int) -> Program:
        """The expression rooted at node i, as a program of its own."""
        part = slice(int(self.starts[i]), i + 1)
        return Program(self.code[part].copy(), self.arg[part].copy(), self.value[part].copy())

    def splice(self, i: int, donor: Program) -> Program:
        """This program with the subtree rooted at node i replaced by `donor`."""
        a, b = int(self.starts[i]), i + 1
        return Program(
            np.concatenate([self.code[:a], donor.code, self.code[b:]]),
            np.concatenate([self.arg[:a], donor.arg, self.arg[b:]]),
            np.concatenate([self.value[:a], donor.value, self.value[b:]]),
        )

    def with_values(self, value: F64) -> Program:
        """The same expression with other numbers; `value` has one entry per node."""
        return Program(self.code, self.arg, np.array(value, dtype=np.float64))

    @cached_property
    def free(self) -> I64:
        """Node indices of the fitted global constants."""
        return np.flatnonzero((self.code == CONST) & (self.arg == FREE))

    @property
    def n_constants(self) -> int:
        """Fitted global constants, the number the task's cap is about."""
        return len(self.free)

    @cached_property
    def local_slots(self) -> tuple[int, ...]:
        """Slots of the per-group parameters, ascending."""
        args = self.arg[(self.code == CONST) & (self.arg >= LOCAL)]
        return tuple(int(a) - LOCAL for a in np.unique(args))

    @cached_property
    def features(self) -> tuple[int, ...]:
        """Indices of the features the expression reads, ascending."""
        return tuple(int(a) for a in np.unique(self.arg[self.code == VAR]))

    @cached_property
    def shape_key(self) -> bytes:
        """Identifies the form: equal for programs that differ in fitted values only."""
        fixed = np.where((self.code == CONST) & (self.arg == FIXED), self.value, 0.0)
        return self.code.tobytes() + self.arg.tobytes() + fixed.tobytes()

    @cached_property
    def key(self) -> bytes:
        """Identifies the program: equal only for the same nodes with the same numbers."""
        return self.code.tobytes() + self.arg.tobytes() + self.value.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _nodes(*triples: tuple[int, int, float]) -> Program:
    code, arg, value = zip(*triples, strict=True)
    return Program(np.array(code, dtype=np.uint8), np.array(arg, dtype=np.int16), np.array(value, dtype=np.float64))


def variable(feature: int) -> Program:
    """The program that is one input."""
    return _nodes((VAR, feature, 0.0))


def constant(value: float, role: int = FREE) -> Program:
    """The program that is one number (`role`: FREE, FIXED, or LOCAL + slot)."""
    return _nodes((CONST, role, float(value)))


def apply(name: str, *operands: Program) -> Program:
    """``name(*operands)`` as a program, e.g. ``apply("add", variable(0), constant(1.0))``."""
    parts = [*operands, _nodes((OPCODE[name], 0, 0.0))]
    if len(operands) != ARITY[OPCODE[name]]:
        raise ValueError(f"{name} takes {ARITY[OPCODE[name]]} operands, got {len(operands)}")
    return Program(
        np.concatenate([p.code for p in parts]),
        np.concatenate([p.arg for p in parts]),
        np.concatenate([p.value for p in parts]),
    )


@dataclass(frozen=True, eq=False)
class ProgramBatch(Sequence[Program]):
    """P programs padded to L nodes: code, arg, value (P, L), C-contiguous, and length (P,) int64."""

    code: U8
    arg: I16
    value: F64
    length: I64

    @staticmethod
    def empty(n: int, width: int) -> ProgramBatch:
        """n unwritten rows of `width` nodes, for a kernel to fill."""
        return ProgramBatch(
            np.zeros((n, width), np.uint8), np.zeros((n, width), np.int16), np.zeros((n, width)), np.zeros(n, np.int64)
        )

    @staticmethod
    def of(programs: Iterable[Program], width: int = 0) -> ProgramBatch:
        """Pack programs into one batch at least `width` nodes wide."""
        items = list(programs)
        width = max([width, 1, *(len(p) for p in items)])
        batch = ProgramBatch.empty(len(items), width)
        for row, p in enumerate(items):
            n = len(p)
            batch.code[row, :n], batch.arg[row, :n], batch.value[row, :n] = p.code, p.arg, p.value
            batch.length[row] = n
        return batch

    @staticmethod
    def concatenate(batches: Sequence[ProgramBatch]) -> ProgramBatch:
        """All rows of `batches` in order, padded to the widest."""
        width = max(b.width for b in batches)
        out = ProgramBatch.empty(sum(len(b) for b in batches), width)
        row = 0
        for b in batches:
            rows = slice(row, row + len(b))
            out.code[rows, : b.width], out.arg[rows, : b.width], out.value[rows, : b.width] = b.code, b.arg, b.value
            out.length[rows] = b.length
            row += len(b)
        return out

    @property
    def width(self) -> int:
        return int(self.code.shape[1])

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, row: Any) -> Any:
        """One row as a `Program`."""
        n = int(self.length[row])
        return Program(self.code[row, :n].copy(), self.arg[row, :n].copy(), self.value[row, :n].copy())

    def __iter__(self) -> Iterator[Program]:
        return (self[row] for row in range(len(self)))

    def parameters(self) -> I64:
        """How many numbers of each program are fitted, (P,): FREE constants and local slots."""
        constant = (self.code == CONST) & (np.arange(self.width) < self.length[:, None])
        out = np.count_nonzero(constant & (self.arg == FREE), axis=1)
        for role in range(LOCAL, int(np.max(self.arg, where=constant, initial=FREE)) + 1):
            out += np.any(constant & (self.arg == role), axis=1)
        return out

    def take(self, rows: I64) -> ProgramBatch:
        """A new batch of the given rows (copies)."""
        return ProgramBatch(self.code[rows], self.arg[rows], self.value[rows], self.length[rows])
