"""Growth where it pays: what correlates with the target is multiplied and divided by what is cheap.

A blind table holds all cheap expressions; this one goes on from the entries that explain most of the target and of
what short sums of them leave over, in the way SISSO screens features (Ouyang et al. 2018), one product at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.images import Target
from evolve.seeding.sparse import Pursuit
from evolve.seeding.table import Table
from evolve.seeding.work import Meter

I64 = NDArray[np.int64]


def extend(table: Table, target: Target, meter: Meter, screened: int = 120, factors: int = 100) -> None:
    """Add to the table the products and quotients of the `screened` best entries with the `factors` cheapest factors."""
    best = screen(table, target, meter, screened)
    cheap = table.factors[np.argsort(table.cost[table.factors], kind="stable")[:factors]]
    a, b = np.repeat(best, len(cheap)), np.tile(cheap, len(best))
    table.binary("mul", a, b)
    table.binary("div", a, b)
    table.unary("square", best)


def screen(table: Table, target: Target, meter: Meter, n: int) -> I64:
    """Entries that explain most of the target, or of what the best sums of one and two terms leave."""
    pursuit = Pursuit(table, target, meter, width=3)
    layers: list[Any] = [[()], *pursuit.run(2)]
    chosen: list[int] = []
    for layer in layers:
        for members in layer[:2]:
            gain = pursuit.gains(members)
            order = np.argsort(-np.round(gain, 6), kind="stable")[:n]
            chosen += [int(j) for j in order if int(j) not in chosen][: n // 5]
    return table.columns.entry[np.array(chosen, dtype=np.int64)]
