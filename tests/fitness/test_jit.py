"""The compiler's cache: kept in the first folder that can be written, done without when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitness import jit


@pytest.fixture(autouse=True)
def _forget():  # type: ignore[no-untyped-def]
    jit._cache_folder.cache_clear()
    yield
    jit._cache_folder.cache_clear()


def test_the_users_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(tmp_path))
    folder = jit._cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path
    assert folder.is_dir()


def test_old_versions_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age in range(6):
        (tmp_path / f"kernels-{age}").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(tmp_path))
    folder = jit._cache_folder()
    names = {f.name for f in tmp_path.iterdir()}
    assert folder is not None
    assert {folder.name, "other"} <= names
    assert len(names) == jit._KEPT_CACHES + 1


def test_no_folder_is_a_warning_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_writable", lambda folder: False)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert jit._cache_folder() is None

    @jit.kernel
    def double(x):  # type: ignore[no-untyped-def]
        return 2.0 * x

    assert double(21.0) == 42.0


def test_not_a_number_is_still_noticed() -> None:
    """The fast-math flags must not remove checks for NaN."""

    @jit.kernel
    def checks(x):  # type: ignore[no-untyped-def]
        return x != x, abs(x) < 1.0, x > 0.0

    assert checks(float("nan")) == (True, False, False)
