"""The pictures of the report, as PNG bytes. Drawn with matplotlib's Agg canvas: no display, no global state.

matplotlib is imported for the first picture, not before a search that may be over by then.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

F64 = NDArray[np.float64]

_BLUE, _ORANGE, _GREY = "#1f6feb", "#e36209", "#8795a5"


def front(complexity: Sequence[int], loss: Sequence[float], chosen: int | None, metric: str) -> bytes:
    """Loss against C; the chosen law (its index) is marked."""
    figure, axes = _canvas("complexity C", metric)
    axes.plot(complexity, loss, "o-", color=_BLUE, markersize=4.5, linewidth=1.1, drawstyle="steps-post")
    if chosen is not None:
        axes.plot(complexity[chosen], loss[chosen], "o", color=_ORANGE, markersize=10, label="chosen")
        axes.legend(frameon=False)
    _logarithmic(axes, np.asarray(loss))
    return _png(figure)


def agreement(measured: F64, predicted: F64, name: str) -> bytes:
    """Predicted against measured, with the line where they agree."""
    figure, axes = _canvas(f"measured {name}", f"predicted {name}")
    low, high = min(measured.min(), predicted.min()), max(measured.max(), predicted.max())
    axes.plot([low, high], [low, high], color=_GREY, linewidth=1)
    axes.plot(measured, predicted, ".", color=_BLUE, markersize=_size(len(measured)), alpha=0.7)
    return _png(figure)


def residuals(predicted: F64, residual: F64, name: str) -> bytes:
    """What the law leaves over, against what it predicts."""
    figure, axes = _canvas(f"predicted {name}", "measured - predicted")
    axes.axhline(0.0, color=_GREY, linewidth=1)
    axes.plot(predicted, residual, ".", color=_BLUE, markersize=_size(len(residual)), alpha=0.7)
    return _png(figure)


def history(elapsed: Sequence[float], loss: Sequence[float], metric: str) -> bytes:
    """The best loss on the training rows as time went by."""
    figure, axes = _canvas("seconds", f"best {metric} so far")
    axes.plot(elapsed, loss, color=_BLUE, linewidth=1.5, drawstyle="steps-post")
    _logarithmic(axes, np.asarray(loss))
    return _png(figure)


def small_multiples(panels: Sequence[tuple[str, F64, F64, F64]], x: str, y: str) -> bytes:
    """One panel a cluster: (title, x, measured, predicted), x ascending; all share the axes' names."""
    columns = min(5, len(panels))
    lines = -(-len(panels) // columns)
    figure = _figure(2.1 * columns, 1.7 * lines + 0.3)
    for k, (title, position, measured, predicted) in enumerate(panels):
        axes = figure.add_subplot(lines, columns, k + 1)
        axes.plot(position, measured, ".", color=_BLUE, markersize=_size(len(position)) / 1.6)
        axes.plot(position, predicted, "-", color=_ORANGE, linewidth=1.1)
        axes.set_title(_literal(title), fontsize=7, pad=2)
        axes.tick_params(labelsize=6, length=2)
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(_literal(x), fontsize=8)
    figure.supylabel(_literal(y), fontsize=8)
    return _png(figure)


def _figure(width: float, height: float) -> Figure:
    """An empty figure on an Agg canvas; width and height in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _canvas(x: str, y: str) -> tuple[Figure, Axes]:
    figure = _figure(5.2, 3.5)
    axes = figure.add_subplot()
    axes.set_xlabel(_literal(x))
    axes.set_ylabel(_literal(y))
    axes.grid(color="#e6ebf1", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _literal(text: str) -> str:
    """A column name is text: a dollar sign in it does not start mathematics."""
    return text.replace("$", r"\$")


def _logarithmic(axes: Axes, values: F64) -> None:
    positive = values[np.isfinite(values) & (values > 0)]
    if len(positive) == len(values) and len(values) and positive.max() > 20 * positive.min():
        axes.set_yscale("log")


def _size(points: int) -> float:
    return float(np.clip(60 / np.sqrt(max(points, 1)), 2.0, 8.0))


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=150)
    return out.getvalue()
