"""Scoring laws of grouped data: one form for all clusters, locals calibrated on a window and judged on another.

The loss of a law is the mean over clusters of its loss in units of that cluster's scale. The scorer compares each
cluster with a reference nobody knows; the scale (what simple laws reach there) stands in for it, so that every
cluster counts alike. Multiplied by the mean scale, the loss is in the metric's own unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitness.constants import fitting_weights, in_threads
from fitness.evaluator import Account, largest_constant, runaway, search_complexity
from fitness.grouped_kernels import BLUNT, WORST, Effort, Panel, calibrate_batch
from fitness.metrics import BAD_LOSS, METRICS, Space, metric_of
from fitness.score import Scored
from fitness.windows import Windows
from operators.primitives import CONST
from operators.program import FIXED, FREE, ProgramBatch

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

PULL = 0.03  # stiffness of the springs that hold a window's locals near their starts
_OUTER = 6  # steps for the constants of a candidate; a deep fit takes as many as it is given
_LEAST_SCALE = 1e-3  # of the loss of a cluster's own best constant: closer than that is exact


@dataclass(frozen=True, eq=False)
class GroupedData:
    """Windows, the metric they are judged by, and the scale of each cluster's loss, (groups,)."""

    windows: Windows
    metric: str
    scale: F64

    @staticmethod
    def of(windows: Windows, metric: str) -> GroupedData:
        """The scale of a cluster is the loss of its own best constant on the judge windows."""
        losses = np.array([_constant_loss(windows, metric, w) for w in range(len(windows.start))])
        return GroupedData(windows, metric, _positive(_by_group(losses, windows)))

    @property
    def mean_scale(self) -> float:
        return float(np.mean(self.scale))

    def take(self, chosen: I64) -> GroupedData:
        """Some clusters, by index."""
        return GroupedData(self.windows.take(chosen), self.metric, self.scale[chosen])

    def thinned(self, most: int) -> GroupedData:
        """About `most` rows in each part of each window."""
        return replace(self, windows=self.windows.thinned(most))

    def rescaled(self, errors: F64) -> GroupedData:
        """Scales from the losses by window of a law of reference, drawn halfway to their median.

        One cluster of three rows may be met well by luck; it must not decide everything.
        """
        own = _by_group(np.minimum(errors * np.repeat(self.scale, self.windows.kinds), 1e3), self.windows)
        floor = _LEAST_SCALE * self.scale
        own = np.clip(np.where(np.isfinite(own), own, self.scale), floor, self.scale)
        return replace(self, scale=np.sqrt(own * np.median(own)))


@dataclass(frozen=True, eq=False)
class Calibrated:
    """What calibration gives for P programs over G clusters and W windows.

    value (P, L): node values with fitted constants and the median of each local. errors (P, W): losses of the windows
    in the metric. loss (P,): their mean as the search ranks it. locals_ (P, G, L), fitted (P, W, L): node values by
    whole cluster and by window (without rows when not asked for).
    """

    value: F64
    loss: F64
    errors: F64
    signature: NDArray[np.uint64]
    locals_: F64
    fitted: F64


class Calibrator:
    """Calibrates batches of programs on grouped data."""

    def __init__(self, data: GroupedData, threads: int = 1, pull: float = PULL) -> None:
        self.data = data
        self.threads = threads
        self.pull = pull
        self.panel = _panel(data)

    def run(
        self, batch: ProgramBatch, steps: int, outer: int = _OUTER, keep: bool = False, given: bool = False
    ) -> Calibrated:
        """Fit constants and locals, judge every window; `keep` asks for the node values of every cluster.

        With `given` constants and starts are taken as they are: what a scorer does with clusters it holds out.
        """
        if given:
            batch = ProgramBatch(batch.code, _without_constants(batch), batch.value, batch.length)
        n, windows = len(batch), self.data.windows
        rows = n if keep else 0
        out = Calibrated(
            batch.value.copy(), np.full(n, BAD_LOSS), np.full((n, len(windows.start)), BAD_LOSS),
            np.zeros(n, np.uint64), np.zeros((rows, windows.n_groups, batch.width)),
            np.zeros((rows, len(windows.start), batch.width)),
        )  # fmt: skip
        effort = Effort(steps, outer, self.pull, given)

        def run(first: int, last: int) -> None:
            calibrate_batch(
                batch.code, batch.arg, out.value, batch.length, self.panel, effort, first, last, out.loss,
                out.signature, out.errors, out.locals_, out.fitted,
            )  # fmt: skip

        in_threads(run, n, self.threads)
        scale = np.repeat(self.data.scale, windows.kinds)
        loss = np.where(out.loss < BAD_LOSS, out.loss * self.data.mean_scale, BAD_LOSS)
        return replace(out, loss=loss, errors=out.errors * scale)


class GroupedEvaluator:
    """The `Evaluator` of grouped data: sampled clusters first, all of them for what looks promising.

    `full` holds all clusters and `sample` some (or the same object). A program is judged on all of them when its loss
    on the sample comes near the best that was found at its complexity; any other is reported no better than that best.
    """

    def __init__(self, full: GroupedData, sample: GroupedData, threads: int = 1) -> None:
        self.evaluations = 0
        self._full = Calibrator(full, threads)
        self._sample = self._full if sample is full else Calibrator(sample, threads)
        self._best: dict[int, float] = {}  # complexity -> lowest loss on all clusters
        self._largest = largest_constant(full.windows.data)

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        self.evaluations += len(batch)
        steps, outer = (iterations, iterations) if iterations > 10 else (iterations + 3, _OUTER)
        found = self._sample.run(batch, steps, outer)
        scored = self._scored(batch, found)
        if self._sample is self._full:
            return scored
        return self._promoted(scored, steps, outer)

    def account(self) -> Account:
        return Account(self.evaluations)

    def close(self) -> None:
        """Nothing is held open."""

    def _scored(self, batch: ProgramBatch, found: Calibrated) -> Scored:
        best = ProgramBatch(batch.code, batch.arg, found.value, batch.length)
        loss = np.where(runaway(best, self._largest), BAD_LOSS, found.loss)
        return Scored(best, loss, search_complexity(best), found.signature)

    def _promoted(self, scored: Scored, steps: int, outer: int) -> Scored:
        """Judge the promising again on all clusters; where nothing is known yet, the best of their own batch."""
        bar = self._bars(scored.complexity)
        bar = np.where(bar < BAD_LOSS, bar, _best_so_far(scored))
        promising = np.flatnonzero((scored.loss < 1.15 * bar) & (scored.loss < BAD_LOSS))
        loss, value, signature = scored.loss.copy(), scored.batch.value.copy(), scored.signature.copy()
        if len(promising):
            batch = scored.batch.take(promising)
            again = self._scored(batch, self._full.run(batch, steps, outer))
            for c, found in zip(again.complexity.tolist(), again.loss.tolist(), strict=True):
                self._best[c] = min(self._best.get(c, BAD_LOSS), found)
        known = np.minimum(self._bars(scored.complexity), BAD_LOSS / 2)
        loss = np.where(loss < BAD_LOSS, np.maximum(loss, 1.0001 * known), BAD_LOSS)
        if len(promising):
            value[promising], loss[promising], signature[promising] = again.batch.value, again.loss, again.signature
        batch = ProgramBatch(scored.batch.code, scored.batch.arg, value, scored.batch.length)
        return Scored(batch, loss, scored.complexity, signature)

    def _bars(self, complexity: I64) -> F64:
        """The best loss on all clusters that is known up to each complexity."""
        known = sorted(self._best)
        lowest = np.minimum.accumulate([BAD_LOSS, *(self._best[c] for c in known)])
        return lowest[np.searchsorted(known, complexity, side="right")]


def _best_so_far(scored: Scored) -> F64:
    """For each program the lowest loss of its batch up to its complexity."""
    order = np.lexsort((scored.loss, scored.complexity))
    lowest = np.minimum.accumulate(scored.loss[order])
    last = np.searchsorted(scored.complexity[order], scored.complexity, side="right") - 1
    return np.asarray(lowest[last])


def _without_constants(batch: ProgramBatch) -> NDArray[np.int16]:
    """The roles of a batch in which no constant is fitted any more."""
    return np.where((batch.code == CONST) & (batch.arg == FREE), FIXED, batch.arg).astype(np.int16)


def relative_errors(errors: F64, data: GroupedData) -> F64:
    """Losses of windows (P, W) in units of the clusters' scales, large ones blunted, averaged over kinds: (P, G)."""
    e = np.minimum(errors / np.repeat(data.scale, data.windows.kinds), WORST)
    blunt = np.where(e <= BLUNT, e, BLUNT * (1.0 + np.log(np.maximum(e, BLUNT) / BLUNT)))
    return blunt.reshape(len(errors), data.windows.n_groups, data.windows.kinds).mean(axis=2)


def _panel(data: GroupedData) -> Panel:
    windows, spec = data.windows, metric_of(data.metric)
    rows = windows.data
    scale = np.repeat(data.scale, windows.kinds)
    weight, space = _weights(data)
    judged = [rows.y[a:b] for a, b in zip(windows.cut, windows.stop, strict=True)]
    spread = np.array([float(np.sum(np.square(y - np.mean(y)))) if len(y) else 0.0 for y in judged])
    usable = np.array([spec.loss(y, y) < BAD_LOSS if len(y) else False for y in judged])
    return Panel(
        rows.X, rows.y, weight, space, spec.opcode, windows.start, windows.cut, windows.stop, windows.kinds, spread,
        scale, usable,
    )  # fmt: skip


def _weights(data: GroupedData) -> tuple[F64, int]:
    """Square-rooted weights of the rows, with those of the clusters in a space that keeps the target's unit."""
    rows, spec = data.windows.data, metric_of(data.metric)
    own, _ = fitting_weights(spec, rows.y, rows.weight)
    if spec.space == Space.PLAIN:
        sizes = data.windows.stop - data.windows.start
        root = np.sqrt(data.scale) if data.metric in ("mse",) else data.scale
        root = np.ones_like(root) if data.metric == "r2" else root
        own = own / np.repeat(np.repeat(root, data.windows.kinds), sizes)
    return np.ascontiguousarray(own), int(spec.space)


def _constant_loss(windows: Windows, metric: str, w: int) -> float:
    y = windows.data.y[windows.start[w] : windows.stop[w]]
    judged = windows.data.y[windows.cut[w] : windows.stop[w]]
    spec = METRICS[metric]
    level = float(np.median(y)) if spec.absolute else float(np.mean(y))
    return spec.loss(judged, np.full(len(judged), level))


def _by_group(losses: F64, windows: Windows) -> F64:
    """Mean over the windows of each cluster, of those where the metric is defined; nan if there is none."""
    table = np.where(losses < BAD_LOSS, losses, np.nan).reshape(windows.n_groups, windows.kinds)
    defined = np.isfinite(table)
    with np.errstate(invalid="ignore"):
        return np.where(defined, table, 0.0).sum(axis=1) / np.where(defined.any(axis=1), defined.sum(axis=1), np.nan)


def _positive(losses: F64) -> F64:
    known = losses[np.isfinite(losses) & (losses > 0.0)]
    typical = float(np.median(known)) if len(known) else 1.0
    return np.maximum(np.where(np.isfinite(losses), losses, typical), 1e-3 * typical)
