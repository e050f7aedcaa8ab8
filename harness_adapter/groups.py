"""The cluster of every row, from a column of whole numbers (a benchmark's) or of any labels (a user's)."""

from __future__ import annotations

import numpy as np

from harness_adapter.csv_file import CsvFile
from harness_adapter.select import Groups
from operators.errors import InputError

GROUP_ID = "group_id"


def integer_groups(file: CsvFile, header: str = GROUP_ID) -> Groups:
    """Groups from a column of whole numbers (``3`` and ``3.0`` are the same). Raises InputError for anything else."""
    path = file.header.path
    numbers = file.numbers(file.header.index(header, "the group column"))
    if numbers.texts:
        raise InputError(f"{path}: {header!r} must hold whole numbers, but has {file.text_found(numbers)}")
    known = ~np.isnan(numbers.values)
    wrong = np.flatnonzero(known & (numbers.values != np.floor(numbers.values)) | np.isinf(numbers.values))
    if len(wrong):
        row = int(wrong[0])
        found = f"{numbers.values[row]:g} on line {file.line(row)}"
        raise InputError(f"{path}: {header!r} must hold whole numbers, but has {found}")
    ids = np.unique(numbers.values[known])
    index = np.where(known, np.searchsorted(ids, numbers.values), -1)
    return Groups(header, index.astype(np.int64), tuple(int(i) for i in ids))


def labelled_groups(file: CsvFile, header: str) -> Groups:
    """Groups from any column: whole numbers where it holds them, texts otherwise, in sorted order."""
    position = file.header.index(header, "the group column")
    numbers = file.numbers(position)
    finite = numbers.values[np.isfinite(numbers.values)]
    if not numbers.texts and np.all(finite == np.floor(finite)) and not np.isinf(numbers.values).any():
        return integer_groups(file, header)
    cells = file.labels(position)
    labels = tuple(sorted({cell for cell in cells if cell is not None}))
    place = {label: i for i, label in enumerate(labels)}
    return Groups(header, np.array([-1 if c is None else place[c] for c in cells], dtype=np.int64), labels)
