"""`evolve examples`: what can be run right away."""

from __future__ import annotations

import click


@click.command()
def examples() -> None:
    """List the bundled examples."""
    from evolve.examples import folder, listing
    from harness_adapter.read import EXAMPLE

    for example in listing():
        click.echo(f"{EXAMPLE}{example.name}")
        click.echo(f"    {example.what}")
        click.echo(f"    layout   {example.layout}")
        click.echo(f"    source   {example.source}")
        click.echo(f"    licence  {example.licence}")
    click.echo(f"\nrun one: evolve run {EXAMPLE}{listing()[0].name}\ntheir files: {folder()}")
