"""`evolve run TASK`: the whole path from a task to a verified law."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from evolve.exits import INTERRUPTED

_FOLDER = click.Path(path_type=Path)
_TABLE = ("target", "inputs", "ignore", "metric", "group", "sep", "decimal")


@click.command()
@click.argument("task")
@click.option("--out", type=_FOLDER, metavar="DIR", help="Run folder.  [default: runs/<task>-<UTC>-<seed>]")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Same seed and budget: same law.")
@click.option("--time", metavar="60s", help="Wall time of the whole run, compiling included: 60s, 2m, 1h.")
@click.option("--evaluations", type=click.IntRange(min=1), metavar="N", help="Programs scored on the data.")
@click.option("--preset", metavar="NAME", help="quick, default or thorough.")
@click.option("--config", "file", type=_FOLDER, metavar="FILE", help="YAML file of settings.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One setting, e.g. search.population=500.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes that score candidates.")
@click.option("--harness", type=_FOLDER, metavar="DIR", help="A SciLaws-Bench checkout or its harness folder.")
@click.option("--resume", type=_FOLDER, metavar="RUN", help="Continue the run in this folder.")
@click.option("--target", metavar="COLUMN", help="CSV: the column to explain.  [default: y, target or the first]")
@click.option("--inputs", metavar="A,B", help="CSV: the columns a law may use.  [default: all other numeric ones]")
@click.option("--ignore", metavar="A,B", help="CSV: columns to leave out.")
@click.option("--metric", metavar="NAME", help="CSV: what to minimise.  [default: rmse]")
@click.option("--group", metavar="COLUMN", help="CSV: the column that names the cluster of a row.")
@click.option("--sep", metavar="CHAR", help="CSV: the field separator.  [default: sniffed]")
@click.option("--decimal", metavar="CHAR", help="CSV: the decimal mark.  [default: sniffed]")
def run(task: str, **options: Any) -> int:
    """Search a law for TASK and verify it.

    TASK is a SciLaws-Bench task folder, a Frontier-CS problem folder, an Agentics challenge folder, a CSV file, or
    example:NAME (see `evolve examples`). Command line > --config > preset > defaults.
    """
    from evolve import config
    from evolve.options import RunOptions
    from harness_adapter.read import locate

    began = time.monotonic()
    locate(task)
    flags = {key: options[key] for key in ("seed", "time", "evaluations", "workers")}
    settings = config.load(options["preset"], options["file"], options["settings"], flags)
    chosen = RunOptions(
        config=config.with_seed(settings),
        out=options["out"],
        resume=options["resume"],
        harness=options["harness"],
        table={key: options[key] for key in _TABLE if options[key] is not None},
        began=began,
    )
    from evolve.run import run as run_task

    ended = run_task(task, chosen)
    if ended.exit_code == INTERRUPTED:
        click.echo(f"interrupted; the best law so far is in {ended.folder.best}", err=True)
    return ended.exit_code
