"""The whole path of a run on one screen: a task goes in, a verified law comes out."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from evolve.exits import DONE, INTERRUPTED, NOT_VALID
from evolve.first_law import write_first_law
from evolve.options import RunOptions
from evolve.record import Result
from evolve.resume import earlier_laws
from evolve.rundir import RunDirectory
from evolve.session import Session, open_folder
from harness_adapter.options import ReadOptions
from harness_adapter.read import read_task


@dataclass(frozen=True)
class RunResult:
    """How a run ended: its folder, the record it left (none if it ended before the search), its exit code."""

    folder: RunDirectory
    result: Result | None
    exit_code: int


def run(place: str, options: RunOptions) -> RunResult:
    """Search a law for the task at `place`, verify it and leave it in a run folder.

    Raises InputError for bad input, before anything is searched.
    """
    stop, config = options.stop, options.config
    with stop.on_signals():
        task = read_task(place, ReadOptions.of(options.table))
        folder = open_folder(task, options)
        earlier = earlier_laws(task, folder)
        session = Session(task, folder, options, write_first_law(task, folder, config))
        if not session.load_engine():
            return RunResult(folder, None, INTERRUPTED if stop.interrupted else DONE)
        from evolve.engine import Streams, open_publisher, open_search, pose
        from evolve.settle import settle

        publisher = open_publisher(task, folder, config)
        streams = Streams.of(config.seed or 0)
        problem = pose(task, streams, config)
        search, evaluator = open_search(task, problem, streams, config)
        search.begin_with(earlier)
        with closing(evaluator):
            reason = session.drive(search, publisher)
        with search.timer.phase("conclude"):
            laws = settle(task, problem, search.front, search.grammar, config) if session.searched else iter(())
            result = publisher.conclude(laws, reason, evaluator.evaluations, session.elapsed)
        session.finished(reason, result, folder)
        session.accounted(search, folder)
    done = INTERRUPTED if stop.interrupted else DONE
    return RunResult(folder, result, done if result.valid else NOT_VALID)
