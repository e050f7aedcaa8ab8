"""The bundled examples: each is complete, says where it came from, and mccormick is its script's output."""

import importlib.util
import json

import numpy as np
import pytest
import yaml

from evolve import examples

NAMES = [example.name for example in examples.listing()]


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_there_with_source_and_licence(name):
    (example,) = (e for e in examples.listing() if e.name == name)
    folder = examples.folder() / name
    assert all([example.what, example.source, example.licence])
    if example.layout.startswith("SciLaws"):
        metadata = yaml.safe_load((folder / "metadata.yaml").read_text(encoding="utf-8"))
        header = (folder / "data" / "train.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
        assert metadata["task_id"] == name
        assert "public domain" in metadata["license"] or "CC0" in metadata["license"] or "MIT" in metadata["license"]
        assert header[0] == metadata["target"]["name"]
        assert {column["name"] for column in metadata["inputs"]} <= set(header)
        assert not (folder / "data" / "test.csv").exists()
    else:
        assert (folder / "resources" / "reference_metrics.json").is_file()


def test_every_folder_is_listed():
    assert sorted(p.name for p in examples.folder().iterdir() if p.is_dir() and p.name != "__pycache__") == sorted(
        NAMES
    )


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_mccormick", examples.folder() / "make_mccormick.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mccormick_is_what_its_script_makes(script, tmp_path):
    script.write(tmp_path)
    for file in ("resources/data/dataset_mccormick.csv", "resources/reference_metrics.json"):
        assert (tmp_path / file).read_text() == (examples.folder() / "mccormick" / file).read_text()


def test_mccormick_is_the_known_function(script):
    """Its minimum, as published: -1.9132 at (-0.54719, -1.54719)."""
    assert script.mccormick(np.array([-0.54719]), np.array([-1.54719]))[0] == pytest.approx(-1.9132, abs=1e-4)
    data = script.table(3, 500)
    assert data.shape == (500, 3)
    assert (data[:, :2] >= script.LOW).all()
    assert (data[:, :2] <= script.HIGH).all()


def test_mccormicks_reference_metrics(script):
    """m_base against an independent linear fit; the printed digits bound m_ref."""
    data = script.table(3, 500)
    metrics = script.reference(data)
    slopes = np.polynomial.polynomial.polyvander2d(data[:, 0], data[:, 1], (1, 1))[:, [0, 1, 2]]
    fitted = slopes @ np.linalg.solve(slopes.T @ slopes, slopes.T @ data[:, 2])
    assert metrics["m_base"] == pytest.approx(np.mean((data[:, 2] - fitted) ** 2), rel=1e-9)
    assert 0 < metrics["m_ref"] < (0.5e-10) ** 2
    bundled = json.loads((examples.folder() / "mccormick" / "resources" / "reference_metrics.json").read_text())
    assert bundled["dataset_mccormick.csv"].keys() == {"m_base", "m_ref", "C_ref"}


def test_enzymes_is_what_its_script_makes(tmp_path):
    spec = importlib.util.spec_from_file_location("make_enzymes", examples.folder() / "make_enzymes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(tmp_path)
    for file in ("metadata.yaml", "data/train.csv"):
        assert (tmp_path / file).read_text() == (examples.folder() / "enzymes" / file).read_text()
