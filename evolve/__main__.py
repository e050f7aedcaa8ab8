"""Entry point: exceptions become exit codes here and nowhere else.

0 done; 2 bad input or usage; 3 finished but not valid; 130 interrupted; 1 an internal fault, with its traceback.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from evolve.cli import cli
from evolve.exits import BAD_INPUT, DONE, FAULT, INTERRUPTED
from operators.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; an internal fault leaves as the exception it is."""
    _tame_linear_algebra()
    try:
        code = cli.main(args=arguments, prog_name="evolve", standalone_mode=False)
        sys.stdout.flush()
        return int(code or DONE)
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except InputError as error:
        print(f"evolve: {error}", file=sys.stderr)
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        print("evolve: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return DONE


def _tame_linear_algebra() -> None:
    """One thread for BLAS, unless the user says otherwise; it is read when numpy is first imported.

    Our own threads use the cores. BLAS threads that wait for a core spin, which on a busy machine doubled the time of
    a run; and sums that are split among threads would depend on their number.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _forget_output() -> None:
    """Nobody reads our output any more: point it nowhere, so that the flush at exit does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def entry() -> NoReturn:
    """Run the command line and leave the process with its exit code.

    The process leaves without Python's finalisation: a thread may still be compiling, and unwinding a thread inside
    the compiler's C++ code aborts the process. Exit handlers run and output is flushed as usual.
    """
    try:
        code = main()
    except Exception:
        traceback.print_exc()
        code = FAULT
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    entry()
