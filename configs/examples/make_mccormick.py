"""Make the example `mccormick`: the data set and its reference metrics, in the Frontier-CS layout.

    python configs/examples/make_mccormick.py [FOLDER] [--seed N] [--rows N]

McCormick (1976) defined the function to test minimisers, on -1.5 <= x1 <= 4 and -3 <= x2 <= 4.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

LOW, HIGH = np.array([-1.5, -3.0]), np.array([4.0, 4.0])
DECIMALS = 10

# C = 2 * binary + unary of the formula below: four sums join its five terms (8), sin(x1 + x2) is 1 + 2,
# (x1 - x2)**2 is 2 + 4 because the judge reads x1 - x2 as x1 + (-1)*x2, and each product with a number is 2.
REFERENCE_COMPLEXITY = 21


def mccormick(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """The function, elementwise."""
    return np.sin(x1 + x2) + (x1 - x2) ** 2 - 1.5 * x1 + 2.5 * x2 + 1


def table(seed: int, rows: int) -> np.ndarray:
    """Columns x1, x2, y as they are printed: uniform inputs, all values rounded; shape (rows, 3)."""
    x = np.random.default_rng(seed).uniform(LOW, HIGH, (rows, 2)).round(DECIMALS)
    return np.column_stack([x, mccormick(x[:, 0], x[:, 1]).round(DECIMALS)])


def reference(data: np.ndarray) -> dict[str, float | int]:
    """What the Frontier-CS score is measured against: a linear model's MSE, the formula's MSE and its C."""
    x1, x2, y = data.T
    design = np.column_stack([x1, x2, np.ones_like(y)])
    linear = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return {
        "m_base": float(np.mean((y - linear) ** 2)),
        "m_ref": float(np.mean((y - mccormick(x1, x2)) ** 2)),
        "C_ref": REFERENCE_COMPLEXITY,
    }


def write(folder: Path, seed: int = 2024, rows: int = 1000) -> None:
    """Write resources/data/dataset_mccormick.csv and resources/reference_metrics.json under `folder`."""
    data = table(seed, rows)
    resources = folder / "resources"
    (resources / "data").mkdir(parents=True, exist_ok=True)
    lines = ["x1,x2,y", *(",".join(f"{value:.{DECIMALS}f}" for value in row) for row in data)]
    (resources / "data" / "dataset_mccormick.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    metrics = json.dumps({"dataset_mccormick.csv": reference(data)}, indent=2)
    (resources / "reference_metrics.json").write_text(metrics + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent / "mccormick")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    write(options.folder, options.seed, options.rows)
