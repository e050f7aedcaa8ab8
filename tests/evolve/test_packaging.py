"""The wheel, installed elsewhere, finds its presets, its examples and its templates."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("evolve", "operators", "fitness", "emit", "harness_adapter", "configs")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="the build backend is an extra of the developers")
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)], cwd=ROOT, check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory):
    """The wheel unpacked far from the checkout: what pip does with a pure one."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def run(site, folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_it_holds_the_packages_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(PACKAGES)
    every = {str(p.relative_to(ROOT)) for package in PACKAGES for p in (ROOT / package).rglob("*") if p.is_file()}
    wanted = {name for name in every if "__pycache__" not in name}
    assert wanted <= set(names)


def test_it_finds_its_examples_and_presets(elsewhere, tmp_path):
    listed = run(elsewhere, tmp_path, "-m", "evolve", "examples")
    assert listed.returncode == 0, listed.stderr
    assert str(elsewhere) in listed.stdout
    code = "from evolve import config; print(config.load('thorough').preset, config.__file__)"
    loaded = run(elsewhere, tmp_path, "-c", code)
    assert loaded.stdout.startswith(f"thorough {elsewhere}")


def test_it_finds_its_templates(elsewhere, tmp_path):
    code = "from evolve.report import _environment as e; print(e().get_template('report.html.j2').filename)"
    assert run(elsewhere, tmp_path, "-c", code).stdout.startswith(str(elsewhere))


def test_it_has_a_console_script(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        assert "evolve = evolve.__main__:entry" in archive.read(name).decode()
