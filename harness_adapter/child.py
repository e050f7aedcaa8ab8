"""Run somebody else's code in a process of its own, with an end in sight."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Ended:
    """How a child process ended. `code` is None when its time ran out (it and its children were killed)."""

    code: int | None
    stdout: str
    stderr: str

    @property
    def last_words(self) -> str:
        """The last line it wrote to stderr: of a traceback, the error itself."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else f"it ended with code {self.code} and said nothing"


def run_python(arguments: Sequence[str], folder: Path, timeout: float, more: Mapping[str, str] | None = None) -> Ended:
    """Run this Python with `arguments` in `folder`, in a session of its own, for at most `timeout` seconds.

    The environment is ours, plus `more`; no bytecode is written, and nothing is imported from `folder`.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1", **(more or {})}
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
        return Ended(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        return Ended(None, "", "")
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the whole session: a child of the child must not outlive the call."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
