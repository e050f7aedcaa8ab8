"""Fixtures for every test: the shared material beside the checkout, and the cases reported by users of other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """../shared: benchmark tasks, Frontier-CS data, reported cases. Tests that need it skip without it."""
    if not SHARED.is_dir():
        pytest.skip("../shared (benchmark tasks and data sets) is not beside this checkout")
    return SHARED


@dataclass(frozen=True)
class Case:
    """One reported case, built: the task folder, its columns as they were made, and what must come of it."""

    id: str
    folder: Path
    columns: Mapping[str, Sequence[Any]]
    input: Mapping[str, Any]
    right: Mapping[str, Any]

    @property
    def must(self) -> list[str]:
        must = self.right.get("must", [])
        return must if isinstance(must, list) else [must]


@pytest.fixture(scope="session")
def all_cases(shared_dir: Path) -> dict[str, Any]:
    """The text of cases.yaml: conventions, reports by id."""
    document = yaml.safe_load((shared_dir / "reports" / "cases.yaml").read_text(encoding="utf-8"))
    return {"conventions": document["conventions"], "reports": {r["id"]: r for r in document["reports"]}}


@pytest.fixture
def case(all_cases: dict[str, Any], tmp_path: Path) -> Callable[..., Case]:
    """case("SR-08") or case("SR-08", "blanks after the comma"): a task folder in tmp_path, as the conventions say."""

    def build(case_id: str, variant: str | None = None) -> Case:
        report = all_cases["reports"][case_id]
        given, right = _variant(report, variant)
        if "same_as" in given:
            source = all_cases["reports"][given["same_as"]]["input"]
            given = {**{k: source[k] for k in ("type", "meta", "gen", "train_csv") if k in source}, **given}
        name = f"{case_id}{'' if variant is None else '-' + '-'.join(variant.split())}"
        folder = tmp_path / name
        columns = _build(folder, given, all_cases["conventions"]["defaults"])
        return Case(case_id, folder, columns, given, right)

    return build


def _variant(report: Mapping[str, Any], variant: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The case's input with a variant's fields laid over it, and what is right for it."""
    base = {k: v for k, v in report["input"].items() if k != "variants"}
    if variant is None:
        return base, report["right"]
    found = next(v for v in report["input"]["variants"] if v["name"] == variant)
    fields = {k: v for k, v in found.items() if k not in ("name", "right")}
    if "gen" in fields:
        base.pop("train_csv", None)
    if "train_csv" in fields:
        base.pop("gen", None)
    return {**base, **fields}, found.get("right", report["right"])


def _build(folder: Path, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Mapping[str, Sequence[Any]]:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    text = given.get("metadata_text")
    if text is None:
        meta = {**defaults[given.get("type", "typeI")], **given.get("meta", {})}
        meta["inputs"] = [{"name": n} if isinstance(n, str) else n for n in meta["inputs"]]
        if isinstance(meta["target"], str):
            meta["target"] = {"name": meta["target"]}
        text = yaml.safe_dump(meta, allow_unicode=True, sort_keys=False)
    (folder / "metadata.yaml").write_text(text, encoding="utf-8")
    columns, raw = _table(given)
    (folder / "data" / "train.csv").write_bytes(raw)
    return columns


def _table(given: Mapping[str, Any]) -> tuple[Mapping[str, Sequence[Any]], bytes]:
    if "train_csv" in given:
        return {}, given["train_csv"].encode("utf-8")
    space: dict[str, Any] = {"np": np}
    exec(given["gen"], space)  # the file's own recipe for its data
    columns: dict[str, Sequence[Any]] = space.get("cols", {})
    raw = space.get("raw")
    if raw is None:
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(_quoted(name) for name in columns), *(",".join(_cell(v) for v in row) for row in rows)]
        raw = "\n".join(lines) + "\n"
    return columns, raw if isinstance(raw, bytes) else raw.encode("utf-8")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else format(value, ".17g")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(ch in name for ch in ',"\n') else name
