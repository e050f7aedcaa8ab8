"""Scoring in several processes: Ray actors that hold the data and score stripes of every batch.

The only module that knows Ray, and it imports Ray when workers are asked for, not before. Every program is scored on
its own and results are put back in order, so a law does not depend on how many workers there are or which are lost.

What is worth sharing is decided by size alone (`worth_sharing`), never by the clock.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fitness.data import Dataset
from fitness.evaluator import Account, LoadableEvaluator
from fitness.packed import PackedBatch, PackedScores
from fitness.score import Scored
from operators.program import ProgramBatch

MakeEvaluator = Callable[[Dataset], LoadableEvaluator]
Say = Callable[[str], None]

START_SECONDS = 30.0
MOST_REPLACED = 3  # lost workers that get a successor
# Rows times programs of a batch from which workers pay: a call to all of them costs 1 to 2 ms, as much as one thread
# needs to fit 40 programs on 30 rows.
WORTH = 10_000
_STORE = 100_000_000  # bytes; programs travel inside the calls, only the data lie in the store
_LONGEST_FOLDER = 40  # of the 107 bytes that a socket's path may have, Ray needs the others
_CLOSE_SECONDS = 10.0
_PREFIX = "evolve-ray-"


class NoWorkers(Exception):
    """Workers cannot be had; the message says why."""


class WorkerLost(Exception):
    """The process of a worker ended before it could answer."""


class WorkerFailed(RuntimeError):
    """Scoring raised an exception in a worker; the message names it."""


class Pool(Protocol):
    """Workers numbered 0 to size - 1, each holding the data."""

    size: int

    def submit(self, worker: int, batch: PackedBatch, iterations: int) -> Any:
        """Hand a batch to a worker; returns at once with a ticket for `result`."""

    def result(self, ticket: Any) -> PackedScores:
        """Wait for a ticket's scores. Raises WorkerLost or WorkerFailed."""

    def replace(self, worker: int) -> None:
        """Put a fresh process in the place of a lost worker."""

    def load(self, data: Dataset) -> None:
        """Give every worker other data. Raises WorkerLost or WorkerFailed."""

    def close(self) -> None:
        """End all processes; safe to call twice."""


def worth_sharing(rows: int, programs: int) -> bool:
    """Is a batch of so many programs on so many rows large enough for several processes?"""
    return rows * programs >= WORTH


class RayEvaluator:
    """An `Evaluator` that scores large batches in the workers of a pool and small ones in this process."""

    def __init__(self, local: LoadableEvaluator, pool: Pool, data: Dataset, say: Say) -> None:
        self.evaluations = 0
        self._local = local
        self._pool: Pool | None = pool
        self._say = say
        self._rows = data.n_rows
        self._data_bytes = data_bytes(data)
        self._by_worker = [0] * pool.size
        self._replaced = self._calls = self._sent = self._received = 0

    def evaluate(self, batch: ProgramBatch, iterations: int) -> Scored:
        self.evaluations += len(batch)
        if self._pool is None or not worth_sharing(self._rows, len(batch)):
            return self._local.evaluate(batch, iterations)
        stripes = [np.arange(k, len(batch), self._pool.size) for k in range(self._pool.size)]
        parts = self._score([batch.take(rows) for rows in stripes], iterations)
        order = np.argsort(np.concatenate(stripes), kind="stable")
        return Scored.concatenate(parts).take(order)

    def load(self, data: Dataset) -> None:
        self._local.load(data)
        self._rows = data.n_rows
        if self._pool is None:
            return
        try:
            self._pool.load(data)
            self._data_bytes += data_bytes(data)
        except WorkerLost as loss:
            self._say(f"a worker is lost ({loss}) while it loads new rows; scoring goes on in this process")
            pool, self._pool = self._pool, None
            pool.close()

    def account(self) -> Account:
        return Account(
            self._local.account().in_process, tuple(self._by_worker), self._data_bytes, self._sent, self._received,
            self._calls, self._replaced,
        )  # fmt: skip

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
        self._local.close()

    def _score(self, parts: list[ProgramBatch], iterations: int) -> list[Scored]:
        """The scores of one part for each worker, in order."""
        assert self._pool is not None
        packed = [PackedBatch.of(part) for part in parts]
        tickets = [self._submit(self._pool, worker, batch, iterations) for worker, batch in enumerate(packed)]
        return [self._collect(k, tickets[k], packed[k], iterations) for k in range(len(parts))]

    def _submit(self, pool: Pool, worker: int, batch: PackedBatch, iterations: int) -> Any:
        self._calls += 1
        self._sent += batch.nbytes
        return pool.submit(worker, batch, iterations)

    def _collect(self, worker: int, ticket: Any, batch: PackedBatch, iterations: int) -> Scored:
        """A worker's scores; a batch whose worker is lost goes to its successor and, in the end, to this process."""
        while self._pool is not None:
            try:
                scores = self._pool.result(ticket)
            except WorkerLost as loss:
                if self._succeed(worker, loss):
                    ticket = self._submit(self._pool, worker, batch, iterations)
                continue
            self._received += scores.nbytes
            self._by_worker[worker] += len(scores.loss)
            return scores.unpack()
        return self._local.evaluate(batch.unpack(), iterations)

    def _succeed(self, worker: int, loss: WorkerLost) -> bool:
        """Replace a lost worker, or give up on workers when too many were lost."""
        assert self._pool is not None
        with contextlib.suppress(NoWorkers):
            if self._replaced < MOST_REPLACED:
                self._replaced += 1
                self._say(f"worker {worker + 1} is lost ({loss}); its batch is repeated by a new one")
                self._pool.replace(worker)
                return True
        self._say("workers keep getting lost; scoring goes on in this process")
        pool, self._pool = self._pool, None
        pool.close()
        return False


def open_ray(make: MakeEvaluator, local: LoadableEvaluator, data: Dataset, workers: int, say: Say) -> LoadableEvaluator:
    """An evaluator with `workers` processes, or `local` and one line that says why there are none.

    `make` builds, in each worker, the evaluator that scores there; it must be picklable.
    """
    try:
        pool = RayPool(make, data, workers)
    except NoWorkers as reason:
        say(f"no workers, scoring goes on in this process: {reason}")
        return local
    return RayEvaluator(local, pool, data, say)


def data_bytes(data: Dataset) -> int:
    """Bytes of a data set's arrays."""
    return sum(a.nbytes for a in (data.X, data.y, data.weight, data.group) if a is not None)


class _Worker:
    """What lives in a worker process: an evaluator with the data."""

    def __init__(self, make: MakeEvaluator, data: Dataset) -> None:
        self._evaluator = make(_own(data))

    def ready(self) -> bool:
        return True

    def load(self, data: Dataset) -> None:
        self._evaluator.load(_own(data))

    def score(self, batch: PackedBatch, iterations: int) -> PackedScores:
        return PackedScores.of(self._evaluator.evaluate(batch.unpack(), iterations))


def _own(data: Dataset) -> Dataset:
    """A copy that may be written to: arrays in the store are read-only, for which numba would compile anew."""
    arrays = {name: getattr(data, name) for name in ("X", "y", "weight", "group")}
    return replace(data, **{name: array.copy() for name, array in arrays.items() if array is not None})


class RayPool:
    """A `Pool` of Ray actors on this machine, on a Ray of our own or on the one that the caller has initialised."""

    def __init__(self, make: MakeEvaluator, data: Dataset, size: int, seconds: float = START_SECONDS) -> None:
        """Start the workers and wait until they answer. Raises NoWorkers, after `seconds` at the latest."""
        deadline = time.monotonic() + seconds
        self.size = size
        self._make = make
        self._cluster = _Cluster(size, max(_STORE, 2 * data_bytes(data)))
        try:
            self._ray = self._cluster.wait(seconds)
            self._data = self._ray.put(data)  # once; the actors read it from the store
            self._actors = [self._actor() for _ in range(size)]
            left = max(0.1, deadline - time.monotonic())
            answers = [actor.ready.remote() for actor in self._actors]
            if len(self._ray.wait(answers, num_returns=size, timeout=left)[0]) < size:
                raise NoWorkers(f"they did not answer within {seconds:g} s")
            self._ray.get(answers)
        except BaseException as fault:
            self._cluster.close()
            if isinstance(fault, Exception):
                raise NoWorkers(_in_short(fault)) from None
            raise

    def submit(self, worker: int, batch: PackedBatch, iterations: int) -> Any:
        return self._actors[worker].score.remote(batch, iterations)

    def result(self, ticket: Any) -> PackedScores:
        errors = self._ray.exceptions
        try:
            scores: PackedScores = self._ray.get(ticket)
            return scores
        except errors.RayTaskError as fault:
            raise WorkerFailed(f"scoring failed in a worker: {_in_short(fault.cause)}") from fault
        except errors.RayError as fault:
            raise WorkerLost(type(fault).__name__) from None

    def replace(self, worker: int) -> None:
        self._actors[worker] = self._actor()

    def load(self, data: Dataset) -> None:
        self._data = self._ray.put(data)  # a worker's successor begins with these rows
        for answer in [actor.load.remote(self._data) for actor in self._actors]:
            self.result(answer)

    def close(self) -> None:
        self._actors = []
        self._cluster.close()

    def _actor(self) -> Any:
        options: dict[str, Any] = {"num_cpus": 0}  # never wait for a free core: we counted them ourselves
        if not self._cluster.own:
            options["runtime_env"] = {"env_vars": {"PYTHONPATH": _python_path()}}
        return self._ray.remote(_Worker).options(**options).remote(self._make, self._data)


class _Cluster:
    """Ray's processes on this machine, from start to end in a thread of their own.

    The thread bounds the start, which can hang. It lives as long as they do, because Linux kills them when the
    thread that started them ends; so they cannot outlive this process either, however it ends.
    """

    def __init__(self, size: int, store: int) -> None:
        self.own = True
        self._fault: BaseException | None = None
        self._started, self._ending = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._live, args=(size, store), name="ray", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> Any:
        """The module `ray`, once it is initialised. Raises NoWorkers."""
        if not self._started.wait(seconds):
            raise NoWorkers(f"Ray did not start within {seconds:g} s")
        if self._fault is not None:
            raise NoWorkers(f"Ray cannot start ({_in_short(self._fault)})")
        import ray

        return ray

    def close(self) -> None:
        """End the processes. A start that hangs is left behind in its thread; it ends with this process."""
        self._ending.set()
        if self._started.is_set():
            self._thread.join(_CLOSE_SECONDS)

    def _live(self, size: int, store: int) -> None:
        folder: Path | None = None
        try:
            with _environment(_settings()):
                import ray

                self.own = not ray.is_initialized()
                if self.own:
                    folder = _folder()
                    _initialise(ray, size, store, folder)
            self._started.set()
            self._ending.wait()
            if self.own:
                ray.shutdown()
        except BaseException as fault:  # told by the thread that waits
            self._fault = fault
        finally:
            self._started.set()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _initialise(ray: Any, size: int, store: int, folder: Path) -> None:
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(
        address="local",
        num_cpus=size,
        object_store_memory=store,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _temp_dir=str(folder),
        _plasma_directory=str(_store_folder(store, folder)),
        _node_ip_address="127.0.0.1",  # no proxy, VPN or host name comes between our own processes
    )


def _settings() -> dict[str, str]:
    """Environment of Ray's processes: our packages on their path, and nothing is reported home."""
    return {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": _python_path(), **_token()}


@cache
def _token() -> Mapping[str, str]:
    """A secret for this process, so that Ray writes none into the home folder.

    Ray reads it once, when it is imported: one secret serves all starts, and none is given where that was earlier.
    """
    if "ray" in sys.modules or "RAY_AUTH_MODE" in os.environ:
        return {}
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def _python_path() -> str:
    """Where workers find our packages, whatever script or directory the run was started from."""
    here = str(Path(__file__).resolve().parents[1])
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join([here, before] if before else [here])


@contextlib.contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Variables for the processes started within the block."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _folder() -> Path:
    """A temporary folder whose path is short enough for sockets. Raises NoWorkers."""
    for base in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):
        if len(os.fsencode(base)) + len(_PREFIX) + 9 <= _LONGEST_FOLDER:
            with contextlib.suppress(OSError):
                return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    raise NoWorkers(f"no temporary folder with a path short enough for sockets; TMPDIR is {tempfile.gettempdir()}")


def _store_folder(store: int, folder: Path) -> Path:
    """Shared memory for the object store where there is room for it, else a file in the temporary folder."""
    shared = Path("/dev/shm")
    with contextlib.suppress(OSError):
        if shutil.disk_usage(shared).free > 1.2 * store:
            return shared
    return folder


def _in_short(fault: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(fault).split())
    shown = text if len(text) <= 300 else text[:297] + "..."
    return f"{type(fault).__name__}: {shown}" if shown and not isinstance(fault, NoWorkers) else shown or repr(fault)
