"""`evolve export RUN --to FORM`: a law in the form that somebody else reads."""

from __future__ import annotations

from pathlib import Path

import click

FORMS = ("contract", "frontier-cs", "agentics-zip", "sympy", "latex", "python")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="What to write.")
@click.option("--law", "number", type=int, metavar="K", help="Law K of front.csv.  [default: the chosen one]")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.  [default: standard output]")
def export(run: Path, form: str, number: int | None, output: Path | None) -> None:
    """Write the law of a run folder.

    \b
    contract      a SciLaws-Bench submission module
    frontier-cs   a Solution class for the Frontier-CS judge
    agentics-zip  that Solution as a ZIP project for an Agentics challenge
    sympy         lines that make the law as a sympy expression
    latex         the formula
    python        a plain function of numpy arrays
    """
    from evolve.export import export as content_of
    from evolve.rundir import RunDirectory, write_file
    from operators.errors import InputError

    if form == "agentics-zip" and output is None:
        raise InputError("--to agentics-zip writes a binary file: name it with -o FILE.zip")
    content = content_of(RunDirectory.open(run), form, number)
    if output is None:
        click.echo(content.decode("utf-8"), nl=False)
    else:
        write_file(output, content)
        click.echo(f"wrote {output}", err=True)
