"""The engine's operations under DEAP's names: generate, select, mate, mutate, map.

The seams are DEAP's; behind them stand kernels that work on a whole batch, because one Python call per individual
would cost more than scoring it.
"""

from __future__ import annotations

import numpy as np
from deap import base, tools
from numpy.typing import NDArray

from evolve.config import SearchConfig
from fitness.evaluator import Evaluator
from fitness.score import Scored
from operators.generate import random_batch
from operators.grammar import Grammar
from operators.program import ProgramBatch
from operators.vary import crossover, mutate

I64 = NDArray[np.int64]


def make_toolbox(grammar: Grammar, evaluator: Evaluator, config: SearchConfig) -> base.Toolbox:
    """A toolbox for one grammar; every operation takes the random generator first."""
    toolbox = base.Toolbox()
    toolbox.register("generate", random_batch, grammar=grammar)
    toolbox.register("select", tournament, size=config.tournament)
    toolbox.register("mate", crossover, grammar=grammar)
    toolbox.register("mutate", mutate, grammar=grammar)
    toolbox.register("map", evaluator.evaluate, iterations=config.lm_iterations)
    return toolbox


def tournament(rng: np.random.Generator, scored: Scored, n: int, size: int) -> I64:
    """n winners of tournaments of `size` entrants each, as row numbers.

    Each tournament draws its own exchange rate between the two objectives, cost = log loss + rate * C, so that
    the parents come from all along the front and not from its long end only.
    """
    entrants = rng.integers(0, len(scored), (n, size))
    rate = 10.0 ** rng.uniform(-3.0, -0.5, (n, 1))
    cost = np.log(scored.loss[entrants] + 1e-300) + rate * scored.complexity[entrants]
    return entrants[np.arange(n), np.argmin(cost, axis=1)]


def vary(
    rng: np.random.Generator, toolbox: base.Toolbox, parents: Scored, n: int, p_mate: float
) -> tuple[ProgramBatch, I64]:
    """n children and the row of the (first) parent of each.

    A share `p_mate` comes by crossover, half of those mutated as well; the rest by mutation alone.
    """
    mothers = toolbox.select(rng, parents, n)
    n_mate = round(p_mate * n)
    fathers = toolbox.select(rng, parents, n_mate)
    crossed = toolbox.mate(rng, parents.batch.take(mothers[:n_mate]), parents.batch.take(fathers))
    half = n_mate // 2
    untouched = parents.batch.take(mothers[n_mate:])
    mutants = toolbox.mutate(rng, ProgramBatch.concatenate([crossed.take(np.arange(half, n_mate)), untouched]))
    return ProgramBatch.concatenate([crossed.take(np.arange(half)), mutants]), mothers


def statistics() -> tools.Statistics:
    """What the log keeps of a generation: best and median loss, mean complexity."""
    stats = tools.Statistics(key=lambda pair: pair)
    stats.register("best_loss", lambda pairs: float(min(p[0] for p in pairs)))
    stats.register("median_loss", lambda pairs: float(np.median([p[0] for p in pairs])))
    stats.register("mean_complexity", lambda pairs: float(np.mean([p[1] for p in pairs])))
    return stats
