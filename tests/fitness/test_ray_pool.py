"""Scoring in several processes. Most tests use a pool of the same protocol in this process; a few start Ray."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from fitness.data import Dataset
from fitness.evaluator import Account, InProcessEvaluator
from fitness.packed import PackedScores
from fitness.ray_pool import (
    MOST_REPLACED,
    NoWorkers,
    RayEvaluator,
    RayPool,
    WorkerFailed,
    WorkerLost,
    open_ray,
    worth_sharing,
)
from operators.generate import random_batch
from operators.grammar import Grammar

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = Grammar(2, ("add", "sub", "mul", "div", "sin"), max_length=20)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, (2, 200))
    return Dataset.of(X, X[0] * np.sin(X[1]) + 0.1 * rng.standard_normal(200), ["a", "b"])


@pytest.fixture(scope="module")
def batch():
    return random_batch(np.random.default_rng(1), 101, GRAMMAR)


def make(data, threads=1):
    return InProcessEvaluator(data, "mse", threads)


def assert_same(one, other):
    np.testing.assert_array_equal(one.loss, other.loss)
    np.testing.assert_array_equal(one.complexity, other.complexity)
    np.testing.assert_array_equal(one.signature, other.signature)
    assert list(one.batch) == list(other.batch)


class PoolHere:
    """The protocol `Pool` in this process. `dying` lists the calls, counted from 0, whose worker is lost."""

    def __init__(self, data, size, dying=()):
        self.size = size
        self.dying = set(dying)
        self.calls = 0
        self.replaced = []
        self.closed = 0
        self._evaluators = [make(data) for _ in range(size)]

    def submit(self, worker, batch, iterations):
        self.calls += 1
        return self.calls - 1, worker, batch, iterations

    def result(self, ticket):
        call, worker, batch, iterations = ticket
        if call in self.dying:
            raise WorkerLost("killed")
        return PackedScores.of(self._evaluators[worker].evaluate(batch.unpack(), iterations))

    def replace(self, worker):
        self.replaced.append(worker)

    def load(self, data):
        for evaluator in self._evaluators:
            evaluator.load(data)

    def close(self):
        self.closed += 1


def evaluator_with(pool, data, said=None):
    return RayEvaluator(make(data), pool, data, (said if said is not None else []).append)


# --- the same scores, whoever computed them --------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_a_bit(data, batch, threads):
    assert_same(make(data, threads).evaluate(batch, 5), make(data).evaluate(batch, 5))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_number_of_workers_does_not_change_a_bit(data, batch, size):
    evaluator = evaluator_with(PoolHere(data, size), data)
    assert_same(evaluator.evaluate(batch, 5), make(data).evaluate(batch, 5))
    account = evaluator.account()
    assert evaluator.evaluations == len(batch) == sum(account.by_worker)
    assert min(account.by_worker) >= len(batch) // size
    assert account.calls == size
    assert account.data_bytes == data.X.nbytes + data.y.nbytes
    assert 0 < account.sent_bytes < batch.code.nbytes + batch.arg.nbytes + batch.value.nbytes
    assert account.received_bytes > account.sent_bytes


def test_workers_that_load_more_rows_score_on_them(data, batch):
    few = data.rows(np.arange(data.n_rows // 2))
    evaluator = evaluator_with(PoolHere(few, 2), few)
    evaluator.evaluate(batch, 5)
    evaluator.load(data)
    assert_same(evaluator.evaluate(batch, 5), make(data).evaluate(batch, 5))
    assert evaluator.evaluations == 2 * len(batch) == sum(evaluator.account().by_worker)


def test_small_batches_stay_here(data, batch):
    pool = PoolHere(data, 2)
    evaluator = evaluator_with(pool, data)
    small = batch.take(np.arange(10))
    assert not worth_sharing(data.n_rows, len(small))
    assert_same(evaluator.evaluate(small, 5), make(data).evaluate(small, 5))
    assert pool.calls == 0
    assert evaluator.account() == Account(10, (0, 0), data.X.nbytes + data.y.nbytes)


def test_what_is_worth_sharing_depends_on_size_alone():
    assert worth_sharing(30, 500)
    assert not worth_sharing(30, 100)
    assert worth_sharing(2000, 100)


# --- lost workers ----------------------------------------------------------------------------------------------------


def test_a_lost_worker_costs_its_batch_which_is_repeated(data, batch):
    pool, said = PoolHere(data, 2, dying={1}), []
    evaluator = evaluator_with(pool, data, said)
    assert_same(evaluator.evaluate(batch, 5), make(data).evaluate(batch, 5))
    assert pool.replaced == [1]
    assert evaluator.account().replaced == 1
    assert evaluator.account().in_process == 0
    assert len(said) == 1
    assert "worker 2 is lost (killed)" in said[0]


def test_after_too_many_losses_scoring_goes_on_here(data, batch):
    pool, said = PoolHere(data, 2, dying=range(1, 100)), []
    evaluator = evaluator_with(pool, data, said)
    assert_same(evaluator.evaluate(batch, 5), make(data).evaluate(batch, 5))
    assert len(pool.replaced) == MOST_REPLACED
    assert pool.closed == 1
    assert_same(evaluator.evaluate(batch, 3), make(data).evaluate(batch, 3))
    assert evaluator.evaluations == 2 * len(batch)
    assert "in this process" in said[-1]
    evaluator.close()
    assert pool.closed == 1


def test_a_worker_that_cannot_be_replaced_is_not_waited_for(data, batch):
    pool, said = PoolHere(data, 2, dying={0}), []

    def refuse(worker):
        raise NoWorkers("no memory")

    pool.replace = refuse
    evaluator = evaluator_with(pool, data, said)
    assert_same(evaluator.evaluate(batch, 5), make(data).evaluate(batch, 5))
    assert "in this process" in said[-1]


# --- Ray that does not start -----------------------------------------------------------------------------------------


class FakeRay:
    """Stands for the module `ray` in sys.modules."""

    def __init__(self, init):
        self.init = init
        self.ended = threading.Event()

    def is_initialized(self):
        return False

    def shutdown(self):
        self.ended.set()


def test_without_ray_scoring_stays_here_and_one_line_says_so(data, batch, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # importing it raises ImportError
    local, said = make(data), []
    assert open_ray(make, local, data, 2, said.append) is local
    assert len(said) == 1
    assert "in this process" in said[0]
    assert "ray" in said[0]


def test_ray_that_raises_on_init(data, monkeypatch):
    def init(**settings):
        raise ValueError("the configured object store\nis too large")

    monkeypatch.setitem(sys.modules, "ray", FakeRay(init))
    local, said = make(data), []
    assert open_ray(make, local, data, 2, said.append) is local
    assert len(said) == 1
    assert "\n" not in said[0]
    assert "ValueError: the configured object store is too large" in said[0]


def test_a_start_that_hangs_is_given_up_and_ended_later(data, monkeypatch):
    go_on = threading.Event()
    ray = FakeRay(lambda **settings: go_on.wait(30))
    monkeypatch.setitem(sys.modules, "ray", ray)
    began = time.monotonic()
    with pytest.raises(NoWorkers, match=r"did not start within 0\.3 s"):
        RayPool(make, data, 2, seconds=0.3)
    assert time.monotonic() - began < 3
    go_on.set()
    assert ray.ended.wait(5), "what started too late is ended"


def test_how_ray_is_started(data, monkeypatch, tmp_path):
    """A small store, a short folder that goes away again, no dashboard, our packages on the workers' path."""
    seen = {}

    def init(**settings):
        seen.update(settings, path=os.environ["PYTHONPATH"], there=Path(settings["_temp_dir"]).is_dir())
        raise RuntimeError("seen")

    deep = tmp_path / ("a" * 90)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setitem(sys.modules, "ray", FakeRay(init))
    with pytest.raises(NoWorkers, match="RuntimeError: seen"):
        RayPool(make, data, 2)
    assert seen["object_store_memory"] == 100_000_000
    assert seen["include_dashboard"] is False
    assert len(seen["_temp_dir"]) <= 40
    assert seen["there"]
    assert not Path(seen["_temp_dir"]).exists()
    assert seen["path"] == str(ROOT)
    assert "PYTHONPATH" not in os.environ


def test_little_shared_memory_moves_the_store_into_a_file(data, monkeypatch):
    seen = {}

    def init(**settings):
        seen.update(settings)
        raise RuntimeError

    monkeypatch.setitem(sys.modules, "ray", FakeRay(init))
    usage = type("Usage", (), {"free": 64_000_000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(NoWorkers):
        RayPool(make, data, 2)
    assert seen["_plasma_directory"] == seen["_temp_dir"]


# --- real processes --------------------------------------------------------------------------------------------------


def descendants(pid):
    """Process ids below a process (Linux); a child belongs to the thread that started it."""
    direct = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            direct += [int(p) for p in file.read_text().split()]
    return [p for child in direct for p in [child, *descendants(child)]]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pids, seconds):
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [pid for pid in pids if alive(pid)]


@pytest.mark.ray
def test_real_workers_score_fail_and_die(data, batch, tmp_path):
    """One start of Ray for the whole life of a pool: starting takes seconds."""
    pytest.importorskip("ray")

    mark = str(tmp_path / "died")

    class Touchy:
        """An evaluator that raises on 7 iterations and dies on the first 8; pickled by value."""

        def __init__(self, data):
            self._evaluator = InProcessEvaluator(data, "mse")

        def evaluate(self, batch, iterations):
            if iterations == 7:
                raise ZeroDivisionError("seven")
            if iterations == 8 and not os.path.exists(mark):
                open(mark, "w").close()
                os._exit(1)
            return self._evaluator.evaluate(batch, iterations)

    said = []
    before = set(descendants(os.getpid()))
    pool = RayPool(Touchy, data, 2, seconds=60)
    evaluator = RayEvaluator(make(data), pool, data, said.append)
    try:
        ours = set(descendants(os.getpid())) - before
        assert ours
        assert_same(evaluator.evaluate(batch, 5), make(data).evaluate(batch, 5))
        assert evaluator.account().by_worker == (51, 50)
        assert_same(evaluator.evaluate(batch, 8), make(data).evaluate(batch, 8))
        assert 1 <= evaluator.account().replaced <= 2
        began = time.monotonic()
        with pytest.raises(WorkerFailed, match="ZeroDivisionError: seven"):
            evaluator.evaluate(batch, 7)
        assert time.monotonic() - began < 10
    finally:
        ours |= set(descendants(os.getpid())) - before
        evaluator.close()
        evaluator.close()
    assert wait_until_gone(ours, 10) == []


SCRIPT = """
    import os, sys, time
    from functools import partial
    import numpy as np
    from fitness.data import Dataset
    from fitness.evaluator import InProcessEvaluator
    from fitness.ray_pool import RayEvaluator, RayPool
    from operators.generate import random_batch
    from operators.grammar import Grammar

    X = np.linspace(1, 2, 400).reshape(2, 200)
    data = Dataset.of(X, X[0] * X[1], ["a", "b"])
    make = partial(InProcessEvaluator, metric="mse", threads=1)
    evaluator = RayEvaluator(make(data), RayPool(make, data, 2, 60), data, print)
    batch = random_batch(np.random.default_rng(0), 100, Grammar(2, ("add", "mul")))
    print(evaluator.evaluate(batch, 3).loss.min() < 1e-9, evaluator.account().by_worker, flush=True)
    time.sleep(60)
"""


@pytest.mark.ray
def test_a_script_elsewhere_has_workers_and_its_sudden_end_leaves_none(tmp_path):
    """The packages are found although neither the folder nor PYTHONPATH of the workers is the checkout."""
    pytest.importorskip("ray")
    script = tmp_path / "mine.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n" + textwrap.dedent(SCRIPT))
    short = tempfile.TemporaryDirectory(prefix="e-", ignore_cleanup_errors=True)  # nobody else tidies up after a kill
    environment = {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, "TMPDIR": short.name}
    process = subprocess.Popen(
        [sys.executable, script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        line = process.stdout.readline()
        below = descendants(process.pid)
        assert line == b"True (50, 50)\n", line + process.stderr.read()
        assert below
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    left = wait_until_gone(below, 90)
    short.cleanup()
    assert left == []  # most at once; Ray's own agents look for their parent now and then
