"""`evolve score TASK FILE`: what the benchmark's own scorer says of a finished file."""

from __future__ import annotations

from pathlib import Path

import click

from evolve.exits import DONE, NOT_VALID


@click.command()
@click.argument("task")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--harness", type=click.Path(path_type=Path), metavar="DIR", help="A SciLaws-Bench checkout.")
@click.option("--timeout", type=click.FloatRange(min=1), metavar="SECONDS", help="Give the scorer at most this long.")
def score(task: str, file: Path, harness: Path | None, timeout: float | None) -> int:
    """Score FILE on TASK with the official scorer: its JSON on standard output, one line for people on standard error.

    FILE is a contract module for a SciLaws task, a Solution or a ZIP for a Frontier-CS problem. Exit code 3 when the
    scorer does not accept it.
    """
    import json

    from harness_adapter.official import in_words
    from harness_adapter.official import score as official
    from harness_adapter.read import read_task

    result = official(read_task(task), file, harness, timeout)
    click.echo(json.dumps(result, indent=2))
    click.echo(in_words(result), err=True)
    return DONE if result["status"] == "ok" else NOT_VALID
