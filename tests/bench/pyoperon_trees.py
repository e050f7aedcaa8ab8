"""Our programs as pyoperon trees, for comparisons on the same expressions (needs the extra `peers`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.primitives import BY_OPCODE, CONST, VAR
from operators.program import FREE, Program

_NAMES = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "sin": "Sin", "cos": "Cos",
          "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "square": "Square", "tan": "Tan", "tanh": "Tanh"}  # fmt: skip


_alive: list[Any] = []  # pyoperon's data sets look into the array they were made from without owning it


def dataset(X: NDArray[np.float64], y: NDArray[np.float64] | None = None) -> Any:
    """A pyoperon data set (float32) of the features and, as the last column, the target."""
    import pyoperon

    columns = X if y is None else np.vstack([X, y])
    _alive.append(np.asfortranarray(columns.T.astype(np.float32)))
    return pyoperon.Dataset(_alive[-1])


def tree(program: Program, hashes: list[int]) -> Any:
    """The same expression; only our FREE constants are coefficients. Pyoperon keeps the last operand first."""
    import pyoperon

    nodes: list[Any] = []

    def write(i: int) -> None:
        for child in reversed(program.children(i)):
            write(child)
        nodes.append(_node(pyoperon, program, i, hashes))

    write(len(program) - 1)
    return pyoperon.Tree(nodes).UpdateNodes()


def _node(pyoperon: Any, program: Program, i: int, hashes: list[int]) -> Any:
    code, arg = int(program.code[i]), int(program.arg[i])
    if code == VAR:
        node = pyoperon.Node(pyoperon.NodeType.Variable, hashes[arg])
        node.Value, node.Optimize = 1.0, False
    elif code == CONST:
        node = pyoperon.Node(pyoperon.NodeType.Constant)
        node.Value, node.Optimize = float(program.value[i]), arg == FREE
    else:
        node = getattr(pyoperon.Node, _NAMES[BY_OPCODE[code].name])()
    return node
