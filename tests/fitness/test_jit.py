"""The compiler's cache: kept in the first folder that can be written, done without when there is none."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from fitness import jit
from operators import kernel_cache
from operators.kernel_cache import KernelCache


def cache(beside: Path, *sources: Path) -> KernelCache:
    return KernelCache("kernels", beside, lambda: sources)


def test_the_users_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "given"))
    folder = cache(tmp_path).folder
    assert folder is not None
    assert folder.parent == tmp_path / "given"
    assert folder.is_dir()


def test_another_source_means_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    source = tmp_path / "kernels.py"
    source.write_text("x = 1")
    first = cache(tmp_path, source)
    first.mark_complete()
    assert first.folder is not None
    assert first.folder.parent == tmp_path / "__pycache__"
    assert cache(tmp_path, source).complete
    source.write_text("x = 2")
    assert cache(tmp_path, source).folder != first.folder
    assert not cache(tmp_path, source).complete


def test_old_versions_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age in range(6):
        (tmp_path / f"kernels-{age}").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    folder = cache(tmp_path).folder
    names = {f.name for f in tmp_path.iterdir()}
    assert folder is not None
    assert {folder.name, "other"} <= names
    assert len(names) == 4


def test_no_folder_is_a_warning_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "_writable", lambda folder: False)
    nowhere = cache(tmp_path)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert nowhere.folder is None
    double = nowhere.compiled(numba.njit, lambda x: 2.0 * x)
    assert double(21.0) == 42.0
    assert not nowhere.complete


def test_not_a_number_is_still_noticed() -> None:
    """The fast-math flags must not remove checks for NaN."""

    @jit.kernel
    def checks(x):  # type: ignore[no-untyped-def]
        return x != x, abs(x) < 1.0, x > 0.0

    assert checks(float("nan")) == (True, False, False)
