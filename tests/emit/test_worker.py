"""The sympy process: killed when its time is up, replaced when needed, never the end of the run."""

from __future__ import annotations

import threading
import time

import pytest

from emit.worker import Worker, WorkerFailed, WorkerTimeout


def job(text: str) -> dict[str, object]:
    return {"job": "complexity", "text": text, "n_features": 2}


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    worker.close()


def test_answers_and_goes_on(worker):
    assert list(worker.run(job("x1 + x2"), 10.0)) == [{"complexity": 2}]
    first = worker._process
    assert list(worker.run(job("x1*x2*x2"), 10.0)) == [{"complexity": 4}]
    assert worker._process is first


def test_a_job_without_end_is_killed_and_the_next_one_runs(worker):
    list(worker.run(job("x1"), 10.0))
    process = worker._process
    began = time.monotonic()
    with pytest.raises(WorkerTimeout):
        list(worker.run(job("x1 + 3**(10**9)"), 0.5))
    assert time.monotonic() - began < 3.0
    assert process is not None
    assert process.poll() is not None
    assert list(worker.run(job("x1 + x2"), 10.0)) == [{"complexity": 2}]


def test_a_worker_that_died_is_replaced(worker):
    list(worker.run(job("x1"), 10.0))
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    assert list(worker.run(job("x1 + x2"), 10.0)) == [{"complexity": 2}]


def test_an_unexpected_fault_is_told_not_fatal(worker):
    with pytest.raises(WorkerFailed, match="KeyError"):
        list(worker.run({"job": "complexity"}, 10.0))
    assert list(worker.run(job("x1"), 10.0)) == [{"complexity": 0}]


def test_a_caller_that_has_enough_leaves_no_half_read_answers(worker):
    runs = worker.run(job("x1 + x2"), 10.0)
    assert next(runs) == {"complexity": 2}
    runs.close()
    assert list(worker.run(job("x1*x2*x2"), 10.0)) == [{"complexity": 4}]


def test_threads_take_turns(worker):
    found: list[object] = []

    def ask() -> None:
        found.extend(worker.run(job("x1 + x2"), 20.0))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{"complexity": 2}] * 4
