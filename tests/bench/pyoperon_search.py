"""One search by pyoperon in a process of its own, for comparison (needs the extra `peers`).

    python tests/bench/pyoperon_search.py DATA.npz OUT.json

DATA.npz holds X (features, rows), y, and the settings seconds, seed, threads, evaluations, max_length. OUT.json gets
the law as text over x0, x1, ..., the evaluations, the seconds, and the moments at which the best R2 improved.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SYMBOLS = "add,sub,mul,div,constant,variable,sin,cos,exp,log,sqrt,square"
POPULATION, STEPS = 1000, 5


def search(
    X: Any, y: Any, seconds: float, seed: int, threads: int, evaluations: int = 10**9, max_length: int = 50
) -> dict[str, Any]:
    """The result as a dictionary; see above."""
    import pyoperon
    from pyoperon.sklearn import SymbolicRegressor

    trace: list[tuple[float, float]] = []
    began = time.perf_counter()

    class Traced(pyoperon.GeneticProgrammingAlgorithm):  # type: ignore[misc]
        """Notes after each generation how good its best model is."""

        def Run(self, rng: Any, callback: Any, threads: int, warm: bool = False) -> None:
            def note() -> None:
                fitness = float(self.BestModel.GetFitness(0))
                if not trace or fitness < trace[-1][1]:
                    trace.append((time.perf_counter() - began, fitness))

            super().Run(rng, note, threads, warm)

    pyoperon.GeneticProgrammingAlgorithm = Traced
    model = SymbolicRegressor(
        allowed_symbols=SYMBOLS, population_size=POPULATION, optimizer_iterations=STEPS, max_length=max_length,
        max_time=int(seconds), generations=10**9, max_evaluations=evaluations, n_threads=threads, random_state=seed,
        model_selection_criterion="mean_squared_error", objectives=["r2"], epsilon=1e-6,
    )  # fmt: skip
    model.fit(np.asarray(X).T, y)
    elapsed = time.perf_counter() - began
    names = [f"x{k}" for k in range(len(X))]
    law = model.get_model_string(model.model_, 17, names)
    stats = {k: int(v) for k, v in model.stats_.items()}
    return {"law": law, "seconds": elapsed, "trace": trace, "individuals": stats["evaluation_count"], **stats}


if __name__ == "__main__":
    with np.load(sys.argv[1]) as given:
        settings = {k: given[k].item() for k in ("seconds", "seed", "threads", "evaluations", "max_length")}
        result = search(given["X"], given["y"], **settings)
    Path(sys.argv[2]).write_text(json.dumps(result))
