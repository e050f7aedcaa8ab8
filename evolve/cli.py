"""The command line: a group and its subcommands."""

from __future__ import annotations

import click

from evolve import __version__
from evolve.commands.check import check
from evolve.commands.examples import examples
from evolve.commands.export import export
from evolve.commands.predict import predict
from evolve.commands.run import run
from evolve.commands.score import score


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="evolve", message="%(prog)s %(version)s")
def cli() -> None:
    """Symbolic regression: a task goes in, a verified law comes out.

    Start with:  evolve run example:mccormick
    """


for command in (run, export, check, score, predict, examples):
    cli.add_command(command)
