"""A process of its own for everything that runs sympy, because only a process can be stopped.

sympy computes exact numbers: on ``10**10**10`` or ``(x + 1)**1000`` it may take minutes or all memory, and work on big
integers reacts to no signal. So jobs go over a pipe, one JSON line each way, to a worker that is killed when a job's
time is up; the next job starts another. Results come one line at a time, so what was found before the end is kept.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import IO, Any

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from emit.jobs import serve; serve()"
_START_UP = 30.0  # importing sympy on a slow disk, on top of the time of the first job


class WorkerTimeout(Exception):
    """The job's time was up; the worker has been killed."""


class WorkerFailed(Exception):
    """The worker died (out of memory, most likely) or the job raised an unexpected exception."""


class Worker:
    """Runs jobs one at a time; thread-safe; starts when first used."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()

    def run(self, job: Mapping[str, Any], timeout: float) -> Iterator[Any]:
        """Results of ``emit.jobs.JOBS[job["job"]]``, as they come. Raises WorkerTimeout, WorkerFailed."""
        with self._lock:
            deadline = time.monotonic() + timeout
            if self._process is None or self._process.poll() is not None:
                self._start()
                deadline = time.monotonic() + timeout
            finished = False
            try:
                self._send(job)
                while (answer := self._receive(deadline)) != {"done": True}:
                    yield answer["result"]
                finished = True
            finally:
                if not finished:  # also when the caller has enough and closes the generator
                    self.close()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps([p for p in sys.path if isinstance(p, str)])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
        )  # fmt: skip
        self._lines = queue.SimpleQueue()
        assert self._process.stdout is not None
        threading.Thread(target=_pump, args=(self._process.stdout, self._lines), daemon=True).start()
        atexit.register(self.close)
        self._receive(time.monotonic() + _START_UP)  # says hello when everything is imported

    def _send(self, job: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerFailed(f"the sympy worker is gone ({error})") from None

    def _receive(self, deadline: float) -> Any:
        try:
            line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            raise WorkerTimeout from None
        if line is None:
            raise WorkerFailed("the sympy worker died, of the expression it was given or of too little memory")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer

    def close(self) -> None:
        """Kill the worker if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError, AttributeError):
                    stream.close()  # type: ignore[union-attr]
            process.wait()


def _pump(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in stream:
            lines.put(line)
    lines.put(None)


SHARED = Worker()
