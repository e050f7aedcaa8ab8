"""The ZIP project: every rule of the protocol kept, every broken rule found."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emit.agentics_zip import MANIFEST, MAX_NOTE, build, is_safe_path, violations
from emit.frontier_complexity import lowest_form
from emit.frontier_solution import render
from operators.text import parse

SOLUTION = "class Solution:\n    def solve(self, X, y):\n        return {}\n"
GOOD = {
    "protocol": "zip_project", "protocol_version": 1, "note": "n",
    "commands": {"setup": "scripts/setup.sh", "build": "scripts/build.sh", "run": "run.sh"},
}  # fmt: skip


def pack(files: dict[str, bytes | str], mode: int = 0o755, system: int = 3) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system, entry.compress_type = system, zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def project(manifest: Any = GOOD, **more: bytes | str) -> dict[str, bytes | str]:
    scripts = dict.fromkeys(("run.sh", "scripts/setup.sh", "scripts/build.sh"), "#!/bin/sh\n")
    return {MANIFEST: json.dumps(manifest), "solution.py": SOLUTION, **scripts, **more}


def test_ours_keeps_every_rule():
    data = build(SOLUTION, "a law")
    assert violations(data) == []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == [MANIFEST, "run.sh", "scripts/build.sh", "scripts/setup.sh", "solution.py"]
        assert json.loads(archive.read(MANIFEST)) == {**GOOD, "note": "a law"}
        assert archive.read("solution.py").decode() == SOLUTION
        modes = {e.filename: stat.S_IMODE(e.external_attr >> 16) for e in archive.infolist()}
        assert {m for name, m in modes.items() if name.endswith(".sh")} == {0o755}


def test_same_solution_same_bytes():
    assert build(SOLUTION, "n") == build(SOLUTION, "n")


def test_the_note_is_made_to_fit():
    for note in ("ü" * 2000, "a\x00b\x1b[31m", "tab\tand\nline stay", ""):
        assert violations(build(SOLUTION, note)) == []
    with zipfile.ZipFile(io.BytesIO(build(SOLUTION, "ü" * 2000))) as archive:
        assert len(json.loads(archive.read(MANIFEST))["note"].encode()) == MAX_NOTE


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"no zip", "not a ZIP"),
        (b"\0" * ((20 << 20) + 1), "20 MiB"),
        (pack({k: v for k, v in project().items() if k != MANIFEST}), "agentics.solution.json is missing"),
        (pack({k: v for k, v in project().items() if k != "solution.py"}), "solution.py is missing"),
        (pack({f"sub/{k}": v for k, v in project().items()}), "missing at the top"),
        (pack(project(**{"../evil": "x"})), "not a safe relative path"),
        (pack(project(**{"/etc/passwd": "x"})), "not a safe relative path"),
        (pack(project(**{"c:\\evil": "x"})), "not a safe relative path"),
        (pack(project(**{f"f{k}": "" for k in range(256)})), "entries, more than 256"),
        (pack(project(big=b"\0" * (51 << 20))), "50 MiB"),
        (pack(project({**GOOD, "author": "me"})), "unknown key 'author'"),
        (pack(project({**GOOD, "protocol": "zip"})), "protocol is 'zip'"),
        (pack(project({**GOOD, "protocol_version": 2})), "protocol_version is 2"),
        (pack(project({**GOOD, "protocol_version": True})), "protocol_version is True"),
        (pack(project({k: v for k, v in GOOD.items() if k != "note"})), "note is NoneType"),
        (pack(project({**GOOD, "note": "x" * 1025})), "more than 1024"),
        (pack(project({**GOOD, "note": "a\x07"})), "control character"),
        (pack(project({**GOOD, "commands": {"setup": "run.sh"}})), "no run"),
        (pack(project({**GOOD, "commands": {"run": "run.sh", "test": "run.sh"}})), "unknown key 'test'"),
        (pack(project({**GOOD, "commands": {"run": "../run.sh"}})), "not a safe relative path"),
        (pack(project({**GOOD, "commands": {"run": "go.sh"}})), "not in the archive"),
        (pack(project({**GOOD, "commands": ["run.sh"]})), "commands is not an object"),
        (pack(project([])), "not an object"),
        (pack(project(**{MANIFEST: "{"})), "not JSON"),
        (pack(project(), mode=0o644), "not executable"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told(data, complaint):
    assert complaint in "\n".join(violations(data))


def test_links_and_duplicates_are_told():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in project().items():
            archive.writestr(name, content)
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("scripts//run.sh", "x")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("solution.py", "x")
    found = "\n".join(violations(buffer.getvalue()))
    assert "symbolic link" in found
    assert "'solution.py' occurs twice" in found


def test_safe_paths():
    assert all(map(is_safe_path, ("a", "a/b.sh", "a b/ü", ".hidden")))
    assert not any(map(is_safe_path, ("", "/a", "a//b", "./a", "a/..", "..", "a\\b", "c:a", "a\0", "a\n")))


BLOCKED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if path is None and name.split(".")[0] not in {"numpy", "sympy", "mpmath", "pandas", *sys.stdlib_module_names}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
import builtins, importlib.util
import numpy as np
spec = importlib.util.spec_from_file_location("submitted_solution", "solution.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
def no(*a, **k): raise PermissionError("the solution opens a file")
rng = np.random.default_rng(77)
for n in (30, 1000):
    X = rng.uniform(-2, 2, (n, 2))
    y = np.sqrt(X[:, 0]**2 + 1)*X[:, 1]
    builtins.open = no
    answer = module.Solution().solve(X[::-1], y[::-1])
    print(answer["expression"])
    x1, x2 = X.T
    print(np.max(np.abs(eval(answer["expression"]) - y)))
"""


def test_the_project_runs_where_the_judge_has_nothing_else(tmp_path: Path):
    """SR-37: unpacked into an empty read-only folder, python -I, HOME unset, only the judge's packages."""
    rng = np.random.default_rng(32)
    X = rng.uniform(-2, 2, (2, 30))
    form = lowest_form(parse("sqrt(1.0000003*x1*x1 + 1)*x2", ("x1", "x2")), X)
    data = build(render(form, 2), "SR-37")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
    for name in ("run.sh", "scripts/setup.sh", "scripts/build.sh"):
        subprocess.run(["sh", str(tmp_path / name)], check=True, cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    tmp_path.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", BLOCKED], cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        )
    finally:
        tmp_path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert max(float(lines[1]), float(lines[3])) < 1e-8
