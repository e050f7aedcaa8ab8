"""The run folder: every path a run writes and every atomic write.

Whatever the moment at which a run is killed, each file here is either the old one or the new one, whole.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from operators.errors import InputError

RUNS = Path("runs")  # under the current directory, unless --out says otherwise

CONFIG = "config.yaml"
VERSIONS = "versions.json"
TASK = "task.json"
LOG = "log.jsonl"
FRONT = "front.csv"
BEST = "best.py"
CHECKPOINT = "checkpoint"
RESULT = "result.json"
REPORT = "report.html"
FILES = (CONFIG, VERSIONS, TASK, LOG, FRONT, BEST, CHECKPOINT, RESULT, REPORT)


@dataclass(frozen=True)
class RunDirectory:
    """One run's folder, by its absolute path. `create` makes a new one, `open` finds an existing one."""

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.path.absolute())

    @staticmethod
    def create(task_id: str, seed: int, out: Path | None = None) -> RunDirectory:
        """Make the folder `out`, or ``runs/<task>-<UTC>-<seed>``.

        Raises InputError before anything is searched: when the place cannot be written (with its path), or when
        `out` holds another run's results.
        """
        if out is None:
            return RunDirectory(_fresh(RUNS, f"{_safe(task_id)}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{seed}"))
        taken = [name for name in FILES if (out / name).exists()]
        if taken:
            raise InputError(
                f"--out {out} already holds a run ({', '.join(taken)}): choose another folder, "
                f"continue it with --resume {out}, or delete it first"
            )
        _make(out)
        return RunDirectory(out)

    @staticmethod
    def open(path: Path) -> RunDirectory:
        """An existing run folder, for export, predict and resume. Raises InputError when it is none."""
        if not path.is_dir():
            raise InputError(f"no run folder at {path}: `evolve run` prints the folder it writes")
        if not any((path / name).exists() for name in (BEST, CONFIG, CHECKPOINT)):
            raise InputError(f"{path} is not a run folder: it has no {BEST}")
        return RunDirectory(path)

    @property
    def best(self) -> Path:
        return self.path / BEST

    @property
    def front(self) -> Path:
        return self.path / FRONT

    @property
    def checkpoint(self) -> Path:
        return self.path / CHECKPOINT

    @property
    def report(self) -> Path:
        return self.path / REPORT

    def write_text(self, name: str, text: str) -> Path:
        """Replace a text file in one step."""
        return self.write_bytes(name, text.encode("utf-8"))

    def write_bytes(self, name: str, content: bytes) -> Path:
        """Replace a file in one step; its content is on disk before its name is."""
        target = self.path / name
        replace_file(target, content)
        return target

    def write_json(self, name: str, content: Any) -> Path:
        return self.write_text(name, json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")

    def write_best(self, text: str) -> Path:
        """The best law so far, as a module."""
        return self.write_text(BEST, text)

    def write_checkpoint(self, content: bytes) -> Path:
        return self.write_bytes(CHECKPOINT, content)

    def write_front(self, rows: Iterable[Mapping[str, Any]]) -> Path:
        """The front as CSV; the columns are the keys of the first row. Floats are written so that they read back."""
        table = list(rows)
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(table[0]) if table else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
        return self.write_text(FRONT, text.getvalue())

    def read_front(self) -> list[dict[str, str]]:
        """The rows of front.csv, as text. Raises InputError when the file is missing or was cut short."""
        try:
            text = self.front.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f"{self.front} is missing: the run ended before its first front") from None
        if not text.endswith("\n"):
            raise InputError(f"{self.front} is damaged: its last line is cut short")
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def read_json(self, name: str) -> Any:
        """A JSON file of the run. Raises InputError when it is missing or damaged."""
        file = self.path / name
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{file} is missing: is {self.path} a finished run?") from None
        except ValueError as error:
            raise InputError(f"{file} is damaged: {error}") from None

    def log(self, entry: Mapping[str, Any]) -> None:
        """Append one JSON line, flushed, so that it can be followed and survives a kill."""
        with (self.path / LOG).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(finite(entry), ensure_ascii=False, default=str) + "\n")

    def read_log(self) -> list[dict[str, Any]]:
        """The log's entries; a last line cut short by a kill is left out."""
        try:
            lines = (self.path / LOG).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        entries = []
        for line in lines:
            try:
                entries.append(json.loads(line))
            except ValueError:
                continue
        return entries


def replace_file(target: Path, content: bytes) -> None:
    """Write `content` under a temporary name beside `target`, sync it, and rename it into place."""
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_file(target: Path, content: bytes) -> None:
    """Write a file that a user named, in one step. Raises InputError, with its path, when that is not possible."""
    try:
        replace_file(target, content)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from None


def finite(value: Any) -> Any:
    """JSON has no nan or inf: such numbers become their names in text."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


def _umask() -> int:
    mask = os.umask(0)  # reading it means setting it; mkstemp's 0600 would hide results from the group
    os.umask(mask)
    return mask


def _safe(name: str) -> str:
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in name).strip("._-")
    return kept[:80] or "task"


def _fresh(parent: Path, name: str) -> Path:
    """A folder nobody else has: two runs that start in the same second get different ones."""
    _make(parent, "the current directory cannot hold it; name a place with --out")
    for number in range(1, 10_000):
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"cannot make the run folder {path}: {error.strerror}") from None
        return path
    raise InputError(f"too many runs called {name} in {parent}")


def _make(path: Path, advice: str = "choose another --out") -> None:
    """Make a folder and prove that files can be written there, before hours are spent on a search."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path, prefix=".evolve."):
            pass
    except OSError as error:
        raise InputError(f"cannot write to the folder {path}: {error.strerror or error}; {advice}") from None
