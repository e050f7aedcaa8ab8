"""What the Frontier-CS evaluator makes of an expression: its tree, its count C, its values.

For the scorer's child process only. The evaluator lets sympy read the text, so names such as pi or sqrt get their
sympy meaning, numbers fold, and an expression that leaves the allowed language is counted in its own way. To score
a foreign Solution as the evaluator does, this module does the same: `sympify` runs what it reads, and may take for
ever, both of which the Solution's own code, which ran in that process before, could do as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from emit.sympy_form import count

F64 = NDArray[np.float64]

_FUNCTIONS = {"sin": sp.sin, "cos": sp.cos, "exp": sp.exp, "log": sp.log}
_NUMPY = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log}


class Judged:
    """An expression as the evaluator reads it, for inputs x1 to xn. Raises ValueError where it cannot be read."""

    def __init__(self, text: object, n_features: int) -> None:
        if not isinstance(text, str) or not text.strip():
            raise ValueError("the expression must be a text that is not empty")
        names = " ".join(f"x{i + 1}" for i in range(n_features))
        # With one input sympy gives a symbol instead of a tuple; the evaluator then fails here, so do we.
        self._symbols = sp.symbols(names)
        known = {f"x{i + 1}": self._symbols[i] for i in range(n_features)}
        try:
            self._tree: Any = sp.sympify(text, locals={**known, **_FUNCTIONS})
        except Exception as error:
            raise ValueError(f"the expression {text!r:.200} cannot be read: {error}") from error

    @property
    def complexity(self) -> int:
        """C = 2 binary + unary over the tree after sympy's automatic evaluation."""
        return count(self._tree)

    def values(self, X: F64) -> F64:
        """Values on X (rows, features), flat: one value for a constant. Only sin, cos, exp and log are known here."""
        function = sp.lambdify(self._symbols, self._tree, modules=_NUMPY)
        try:
            values = function(*(X[:, i] for i in range(X.shape[1])))
        except Exception as error:
            raise RuntimeError(f"the expression cannot be evaluated on the data: {error}") from error
        return np.asarray(values, dtype=float).ravel()
