"""One run as its user lives it: the folder, the clock, what is shown, and when to stop."""

from __future__ import annotations

import importlib
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from itertools import chain
from typing import TYPE_CHECKING

from evolve.config import dump
from evolve.first_law import as_text
from evolve.observers import JsonLog, Observers, Progress, watch
from evolve.options import RunOptions
from evolve.record import Result, write_task
from evolve.resume import open_earlier
from evolve.rundir import CONFIG, VERSIONS, RunDirectory
from evolve.versions import versions
from harness_adapter.task import Task
from operators.program import Program
from operators.text import render

if TYPE_CHECKING:  # these bring the kernels; a session begins before they are loaded
    from evolve.publish import Publisher
    from evolve.search import Search, State
    from fitness.evaluator import Account

_RESERVE_SHARE = 0.1  # of the time budget, kept for choosing, polishing, verifying and the report
_LONG_RESERVE_SHARE = 0.16  # where the choice runs emitted code (groups) or looks for shortest forms (Frontier-CS)
_RESERVE_LEAST, _RESERVE_MOST = 4.0, 20.0
_GRACE = 10.0  # seconds that a first start, which has to compile, may take beyond the time budget
_INTERIM_PAUSE = 5.0  # seconds between two interim laws in best.py


def open_folder(task: Task, options: RunOptions) -> RunDirectory:
    """The run folder, new or resumed, with the resolved configuration, the versions and the task in short."""
    config = options.config
    new = options.resume is None
    folder = RunDirectory.create(task.name, config.seed or 0, options.out) if new else open_earlier(task, options)
    folder.write_text(CONFIG, dump(config))
    folder.write_json(VERSIONS, versions())
    write_task(folder, task, options.table)
    return folder


class Session:
    """Drives a search, shows its progress and keeps an interim law in best.py. `first` is the law that stands there."""

    def __init__(self, task: Task, folder: RunDirectory, options: RunOptions, first: tuple[Program, float]) -> None:
        self.task = task
        self.config = options.config
        self._began = options.began
        self._stop = options.stop
        self._observers = Observers([JsonLog(folder), watch(sys.stdout, options.stop)])
        self._last = Progress(self.elapsed, 0, 0, first[1], 0, as_text(task, first[0]), 1, "compile")
        self._published_at = self._began
        budget = self.config.time
        share = _LONG_RESERVE_SHARE if task.grouped or task.frontier is not None else _RESERVE_SHARE
        self._deadline = None if budget is None else self._began + budget - _reserve(budget, share)
        self._observers.started(self._title(folder))
        for text in (*task.notes, *task.warnings):
            print(f"note: {text}", file=sys.stderr)
        self._observers.progressed(self._last)

    @property
    def elapsed(self) -> float:
        """Wall seconds since the command began."""
        return time.monotonic() - self._began

    @property
    def searched(self) -> bool:
        """Has a generation been completed? If not, choosing would begin with compiling."""
        return self._last.generation > 0

    def load_engine(self) -> bool:
        """Import the engine, which compiles its kernels at the first start; False if somebody interrupts that."""
        try:
            with self._compiling():
                importlib.import_module("evolve.compiling").precompiler()
                importlib.import_module("evolve.engine")
        except KeyboardInterrupt:
            self._observers.stopped(str(self._stop.reason), replace(self._last, elapsed=self.elapsed))
            return False
        return True

    def _compiling(self) -> AbstractContextManager[None]:
        """Compiling does not poll, and a budget has to leave it some grace: without kernels nothing is found at all."""
        if self.config.time is None:
            return self._stop.interruptible()
        late = f"time: the budget of {self.config.time:g} s was used up by compiling; the next start is quick"
        return self._stop.interruptible(self.config.time + _GRACE - self.elapsed, late)

    def drive(self, search: Search, publisher: Publisher) -> str:
        """Run the search until it stops by itself, the time is up or somebody asks; returns the reason."""
        pending = False
        states = search.generations()
        try:
            with self._compiling():
                first = next(states)
        except KeyboardInterrupt:
            return str(self._stop.reason)
        for state in chain([first], states):
            progress = self._progress(state, search)
            self._observers.progressed(progress)
            pending = pending or state.improved
            if pending and time.monotonic() - self._published_at > _INTERIM_PAUSE:
                pending = False
                self._publish_interim(search, publisher, progress)
            reason = state.reason or self._reason()
            if reason:
                return reason
        return "exhausted: no more programs to try"

    def finished(self, reason: str, result: Result, folder: RunDirectory) -> None:
        """Say how the run ended and where the result is."""
        last = Progress(
            self.elapsed, result.evaluations, self._last.generation, result.loss,
            result.complexity, f"{result.target} = {result.expression}", self._last.front_size, "done",
        )  # fmt: skip
        self._observers.stopped(reason, last)
        for line in _closing_lines(result, folder):
            print(line)

    def accounted(self, search: Search, folder: RunDirectory) -> None:
        """Log where the time went and who scored how many programs; say the latter if there were workers."""
        account = search.evaluator.account()
        folder.log({"event": "phases", "seconds": search.timer.seconds, "entries": search.timer.entries})
        folder.log({"event": "scored", **asdict(account)})
        if account.by_worker:
            print(_workers_line(account))

    def _publish_interim(self, search: Search, publisher: Publisher, progress: Progress) -> None:
        with search.timer.phase("publish interim"):
            published = publisher.publish_interim(search.front, search.description)
        if published:
            self._observers.law_improved(replace(progress, elapsed=self.elapsed))
        self._published_at = time.monotonic()

    def _reason(self) -> str | None:
        if self._stop:
            return self._stop.reason
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return f"time: the budget of {self.config.time:g} s is used up"
        return None

    def _progress(self, state: State, search: Search) -> Progress:
        best = state.best
        law = f"{self.task.target} = {render(best.program, self.task.identifiers)}"
        self._last = Progress(
            self.elapsed, state.evaluations, state.generation, best.loss, best.complexity, law,
            len(search.front.pareto()), "search",
        )  # fmt: skip
        return self._last

    def _title(self, folder: RunDirectory) -> str:
        c, data = self.config, self.task.dataset
        budget = [f"{c.time:g} s"] if c.time else []
        budget += [f"{c.evaluations} evaluations"] if c.evaluations else []
        return (
            f"{self.task.task_id}: {data.n_rows} rows, {data.n_features} inputs, metric {self.task.metric}; "
            f"seed {c.seed}, budget {' and '.join(budget) or 'until settled'}; writing {folder.path}"
        )


def _reserve(budget: float, share: float) -> float:
    return min(max(share * budget, _RESERVE_LEAST), _RESERVE_MOST, 0.5 * budget)


def _workers_line(account: Account) -> str:
    each = ", ".join(f"{n:,}" for n in account.by_worker)
    moved = account.sent_bytes + account.received_bytes
    return (
        f"  scored by workers: {each}; in this process: {account.in_process:,}; "
        f"moved: data {account.data_bytes / 1e6:.2f} MB once, programs and scores {moved / 1e6:.2f} MB"
    )


def _closing_lines(result: Result, folder: RunDirectory) -> list[str]:
    lines = [
        "",
        f"  {result.target} = {result.expression}",
        "",
        f"  {result.metric} {result.loss:.6g} on the training rows, {result.cv_loss:.6g} on held-out folds; "
        f"C = {result.complexity}, {result.constants} fitted constants",
        f"  verified: {folder.best}" if result.valid else f"  NOT VALID: {folder.best}",
    ]
    return lines + [f"  problem: {text}" for text in result.problems]
