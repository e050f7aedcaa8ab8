"""`evolve check FILE`: would a judge accept this file?"""

from __future__ import annotations

from pathlib import Path

import click

from evolve.exits import DONE, NOT_VALID


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--max-constants", type=click.IntRange(min=0), metavar="N", help="The task's cap on fitted constants.")
@click.option("--max-locals", type=click.IntRange(min=0), metavar="N", help="The task's cap on parameters per group.")
def check(file: Path, max_constants: int | None, max_locals: int | None) -> int:
    """Check a contract module, a Solution or an Agentics ZIP, of ours or of anybody, against its judge's rules.

    Exit code 3 when a rule is broken; every broken rule is a line.
    """
    from emit.check import check_file
    from operators.errors import InputError

    try:
        found = check_file(file, max_constants, max_locals)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
    for remark in found.remarks:
        click.echo(f"note: {remark}")
    for violation in found.violations:
        click.echo(f"broken: {violation}")
    click.echo(f"{file}: {found.kind}, {'ok' if found.ok else f'{len(found.violations)} rule(s) broken'}")
    return DONE if found.ok else NOT_VALID
