"""Entry point: exceptions become exit codes here and nowhere else.

0 done; 2 bad input or usage; 3 finished but not valid; 130 interrupted; 1 an internal fault, with its traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from evolve.cli import cli
from evolve.exits import BAD_INPUT, DONE, INTERRUPTED
from operators.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; an internal fault leaves as the exception it is."""
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


def _forget_output() -> None:
    """Nobody reads our output any more: point it nowhere, so that the flush at exit does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
