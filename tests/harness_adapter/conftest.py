"""Builders of small task folders and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

META: Mapping[str, Any] = {
    "task_id": "small",
    "type": "typeI",
    "has_group_id": False,
    "target": {"name": "y"},
    "inputs": [{"name": "x"}],
    "caps": {"max_law_constants": 4, "max_local_params": 0, "max_init_size_per_param": 1, "fit_timeout_seconds": None},
    "metric": "rmse",
}
CSV = "y,x\n1,2\n3,4\n5,7\n2,9\n"


@pytest.fixture
def scilaws(tmp_path: Path) -> Callable[..., Path]:
    """scilaws(csv, key=value, ...): a SciLaws folder; a value of ... (Ellipsis) leaves the key out."""

    def build(csv: str | bytes = CSV, **keys: Any) -> Path:
        folder = tmp_path / "small"
        (folder / "data").mkdir(parents=True, exist_ok=True)
        meta = {key: value for key, value in {**META, **keys}.items() if value is not ...}
        (folder / "metadata.yaml").write_text(yaml.safe_dump(meta, allow_unicode=True), encoding="utf-8")
        raw = csv if isinstance(csv, bytes) else csv.encode("utf-8")
        (folder / "data" / "train.csv").write_bytes(raw)
        return folder

    return build


@pytest.fixture
def table(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """table(text): a CSV file."""

    def build(text: str | bytes, name: str = "mine.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return build


@pytest.fixture
def frontier(tmp_path: Path) -> Callable[..., Path]:
    """frontier(csv, agentics=False, **references): a problem folder or a challenge bundle with data set d.csv."""

    def build(csv: str = "x1,x2,y\n1,2,3\n2,1,5\n4,4,8\n", agentics: bool = False, **reference: Any) -> Path:
        folder = tmp_path / "problem"
        data = folder / ("v1/public/data" if agentics else "resources/data")
        data.mkdir(parents=True, exist_ok=True)
        (data / "d.csv").write_text(csv)
        values = {"m_base": 5.0, "m_ref": 0.0, "C_ref": 4, "reference_expression": "withheld", **reference}
        (data.parent / "reference_metrics.json").write_text(json.dumps({"d.csv": values}))
        if agentics:
            (folder / "v1" / "resources").mkdir(exist_ok=True)
            (folder / "v1" / "resources" / "pyproject.toml").write_text("")
            (folder / "v1" / "spec.json").write_text(json.dumps({"challenge_name": "symreg-d"}))
            config = {"runner": "symbolic_regression", "data_dir": "public/data"}
            config["reference_path"] = "public/reference_metrics.json"
            (folder / "v1" / "public" / "config.json").write_text(json.dumps(config))
        return folder

    return build
