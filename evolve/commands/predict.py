"""`evolve predict RUN NEW.csv`: the law on new rows."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="CSV file to write.")
@click.option("--sep", metavar="CHAR", help="The field separator.  [default: sniffed]")
@click.option("--decimal", metavar="CHAR", help="The decimal mark.  [default: sniffed]")
def predict(run: Path, table: Path, output: Path, sep: str | None, decimal: str | None) -> None:
    """Write TABLE with one more column: what the law of RUN predicts.

    A grouped law is calibrated on the rows of each group in which the target is given.
    """
    from evolve.prediction import predict_table
    from evolve.record import read_task_record
    from evolve.rundir import RunDirectory

    folder = RunDirectory.open(run)
    predictions = predict_table(folder, read_task_record(folder), table, sep, decimal)
    predictions.write(output)
    left = f"; {predictions.missing} without a prediction, where an input is missing" if predictions.missing else ""
    click.echo(f"{output}: {len(predictions.values)} rows, column {predictions.column!r}{left}")
