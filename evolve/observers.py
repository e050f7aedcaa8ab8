"""Who watches a run: a live display on a terminal, plain lines anywhere else, and the JSON log.

The search knows only the `Observer` protocol; it never prints.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import IO, Protocol

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from evolve.rundir import RunDirectory
from evolve.stopping import StopRequest
from evolve.wording import brief


@dataclass(frozen=True)
class Progress:
    """Where a run stands. `law` is its best law as text, `best_loss` that law's raw error in the task's metric."""

    elapsed: float  # wall seconds since the run began
    evaluations: int
    generation: int
    best_loss: float
    complexity: int
    law: str
    front_size: int
    phase: str  # e.g. "compile", "search", "choose"

    @property
    def speed(self) -> float:
        """Evaluations per second of wall time."""
        return self.evaluations / self.elapsed if self.elapsed > 0 else 0.0


class Observer(Protocol):
    """Gets told; must not raise, must not take long."""

    def started(self, title: str) -> None:
        """The run begins; `title` is one line that names task, seed and budget."""

    def progressed(self, progress: Progress) -> None:
        """A generation is done, or a phase has changed."""

    def law_improved(self, progress: Progress) -> None:
        """A better law was written to best.py."""

    def stopped(self, reason: str, progress: Progress) -> None:
        """The run ended; `reason` is one sentence."""


class Observers:
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._all = tuple(observers)

    def started(self, title: str) -> None:
        for o in self._all:
            o.started(title)

    def progressed(self, progress: Progress) -> None:
        for o in self._all:
            o.progressed(progress)

    def law_improved(self, progress: Progress) -> None:
        for o in self._all:
            o.law_improved(progress)

    def stopped(self, reason: str, progress: Progress) -> None:
        for o in self._all:
            o.stopped(reason, progress)


class JsonLog:
    """A line of JSON a generation, in the run folder."""

    def __init__(self, rundir: RunDirectory) -> None:
        self._rundir = rundir

    def _write(self, event: str, **more: object) -> None:
        self._rundir.log({"event": event, **more})

    def started(self, title: str) -> None:
        self._write("started", title=title)

    def progressed(self, progress: Progress) -> None:
        self._write("generation", **asdict(progress))

    def law_improved(self, progress: Progress) -> None:
        self._write("improved", **asdict(progress))

    def stopped(self, reason: str, progress: Progress) -> None:
        self._write("stopped", reason=reason, **asdict(progress))


class Printer:
    """Lines on a stream, flushed at once. When nobody reads the stream any more, the run is asked to end."""

    def __init__(self, stream: IO[str], stop: StopRequest) -> None:
        self._stream = stream
        self._stop = stop

    def line(self, text: str) -> None:
        if self._stream.closed:
            return
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except (BrokenPipeError, ValueError):
            self._stop.request("the output was closed")


class PlainLines:
    """Progress as plain lines without control characters.

    A line comes with each better law (at most one a second) and every `every` seconds in any case: a thread repeats
    the last state while a long generation, a compilation or the choice is under way.
    """

    def __init__(self, printer: Printer, every: float = 4.0) -> None:
        self._printer = printer
        self._every = every
        self._lock = threading.Lock()
        self._state: Progress | None = None
        self._shown: tuple[str, float] | None = None
        self._received = self._last = 0.0
        self._done = threading.Event()

    def started(self, title: str) -> None:
        self._printer.line(title)
        self._last = time.monotonic()
        threading.Thread(target=self._repeat, name="progress", daemon=True).start()

    def progressed(self, progress: Progress) -> None:
        self._tell(progress, self._every)

    def law_improved(self, progress: Progress) -> None:
        shown = self._shown == (progress.law, progress.best_loss)
        self._tell(progress, self._every if shown else min(1.0, self._every))

    def stopped(self, reason: str, progress: Progress) -> None:
        self._done.set()
        self._tell(progress, 0.0)
        self._printer.line(f"stopped: {reason}")

    def _tell(self, progress: Progress, pause: float) -> None:
        with self._lock:
            self._state, self._received = progress, time.monotonic()
            if self._received - self._last >= pause:
                self._last = self._received
                self._shown = (progress.law, progress.best_loss)
                self._printer.line(one_line(progress))

    def _repeat(self) -> None:
        while not self._done.wait(min(0.5, self._every / 4)):
            with self._lock:
                now = time.monotonic()
                if now - self._last < self._every or self._state is None:
                    continue
                self._last = now
                self._printer.line(one_line(replace(self._state, elapsed=self._state.elapsed + now - self._received)))


class LiveDisplay:
    """A panel that redraws itself, for terminals."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state: Progress | None = None
        self._received = 0.0
        self._live = Live(get_renderable=self._panel, console=console, refresh_per_second=4, transient=True)

    def started(self, title: str) -> None:
        self._console.print(title, highlight=False, markup=False)
        self._live.start()

    def progressed(self, progress: Progress) -> None:
        self._state, self._received = progress, time.monotonic()

    law_improved = progressed

    def stopped(self, reason: str, progress: Progress) -> None:
        self.progressed(progress)
        self._live.stop()
        self._console.print(self._panel())
        self._console.print(f"stopped: {reason}", highlight=False, markup=False)

    def _panel(self) -> Panel:
        state = self._state
        if state is None:
            return Panel("starting", title="evolve", expand=False)
        elapsed = state.elapsed + time.monotonic() - self._received
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row("elapsed", f"{elapsed:.0f} s, {state.phase}, generation {state.generation}")
        grid.add_row("evaluations", f"{short(state.evaluations)}, {short(state.speed)} per second")
        grid.add_row("best loss", f"[bold]{state.best_loss:.6g}[/bold], complexity C = {state.complexity}")
        grid.add_row("front", f"{state.front_size} laws")
        grid.add_row("law", Text(brief(state.law), style="bold green"))
        return Panel(grid, title="evolve", expand=False)


def watch(stream: IO[str], stop: StopRequest) -> Observer:
    """The display that suits the stream: live on a terminal, plain lines anywhere else."""
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LiveDisplay(Console(file=stream))
    return PlainLines(Printer(stream, stop))


def one_line(p: Progress) -> str:
    """Progress in one line, e.g. ``12.0s  search  gen 40  41k evals (3.4k/s)  loss 1.2e-05  C 21  y = ...``."""
    return (
        f"{p.elapsed:7.1f}s  {p.phase:<8} gen {p.generation:<4} {short(p.evaluations)} evals ({short(p.speed)}/s)  "
        f"loss {p.best_loss:.4g}  C {p.complexity}  {clipped(brief(p.law))}"
    )


def short(number: float) -> str:
    """1234567 as ``1.2M``."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def clipped(text: str, width: int = 160) -> str:
    """One line of at most `width` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."
