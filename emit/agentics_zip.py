"""The ZIP project that Agentics challenges accept (protocol `zip_project`, version 1), and its rules.

The archive is the same bytes for the same solution: entries sorted and stored without compression, one fixed time.
"""

from __future__ import annotations

import io
import json
import posixpath
import stat
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

MANIFEST = "agentics.solution.json"
SOLUTION = "solution.py"
COMMANDS = {"setup": "scripts/setup.sh", "build": "scripts/build.sh", "run": "run.sh"}
MAX_COMPRESSED = 20 << 20
MAX_EXPANDED = 50 << 20
MAX_ENTRIES = 256
MAX_NOTE = 1024

_SCRIPT = "#!/usr/bin/env sh\nset -eu\n"
_SCRIPTS = {
    "scripts/setup.sh": _SCRIPT
    + "# Nothing to install: the solution needs numpy only, which the evaluator provides.\n",
    "scripts/build.sh": _SCRIPT + "# Nothing to build.\n",
    "run.sh": _SCRIPT + "# The evaluator imports solution.py itself.\nexit 0\n",
}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def build(solution: str, note: str) -> bytes:
    """The archive for the text of a solution.py. `note` is cut to 1024 bytes, its control characters become blanks."""
    manifest = {"protocol": "zip_project", "protocol_version": 1, "note": _fit_note(note), "commands": COMMANDS}
    files = {**_SCRIPTS, SOLUTION: solution, MANIFEST: json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.create_system = 3  # unix, so that the mode below means something
            entry.external_attr = (stat.S_IFREG | (0o755 if name.endswith(".sh") else 0o644)) << 16
            archive.writestr(entry, files[name].encode("utf-8"))
    return buffer.getvalue()


def _fit_note(note: str) -> str:
    clean = "".join(" " if _is_control(ch) else ch for ch in note).strip()
    return clean.encode("utf-8")[:MAX_NOTE].decode("utf-8", errors="ignore")


def _is_control(ch: str) -> bool:
    return unicodedata.category(ch) == "Cc" and ch not in "\t\n\r"


def violations(data: bytes) -> list[str]:
    """Every rule of the protocol that an archive breaks, a sentence each; empty if it is accepted."""
    if len(data) > MAX_COMPRESSED:
        return [f"the archive has {len(data)} bytes, more than {MAX_COMPRESSED} (20 MiB)"]
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile as error:
        return [f"not a ZIP archive: {error}"]
    with archive:
        found = list(_entry_violations(archive.infolist()))
        if not found:
            found = list(_content_violations(archive))
    return found


def _entry_violations(entries: list[zipfile.ZipInfo]) -> Iterator[str]:
    if len(entries) > MAX_ENTRIES:
        yield f"{len(entries)} entries, more than {MAX_ENTRIES}"
    expanded = sum(entry.file_size for entry in entries)
    if expanded > MAX_EXPANDED:
        yield f"{expanded} bytes when expanded, more than {MAX_EXPANDED} (50 MiB)"
    seen: set[str] = set()
    for entry in entries:
        name = entry.orig_filename
        if not is_safe_path(name.rstrip("/")):
            yield f"the path {name!r} is not a safe relative path"
        normal = posixpath.normpath(name)
        if normal in seen:
            yield f"the path {normal!r} occurs twice"
        seen.add(normal)
        if stat.S_ISLNK(entry.external_attr >> 16):
            yield f"{name!r} is a symbolic link"


def is_safe_path(path: str) -> bool:
    """Relative, forward slashes, no step upward, no drive, no control characters."""
    if not path or path.startswith("/") or "\\" in path or ":" in path or "\0" in path:
        return False
    if any(unicodedata.category(ch) == "Cc" for ch in path):
        return False
    return all(part not in ("", ".", "..") for part in path.split("/"))


def _content_violations(archive: zipfile.ZipFile) -> Iterator[str]:
    names = {entry.filename for entry in archive.infolist() if not entry.is_dir()}
    for required in (MANIFEST, SOLUTION):
        if required not in names:
            yield f"{required} is missing at the top of the archive"
    try:
        broken = archive.testzip()
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        yield f"the archive cannot be read: {error}"
        return
    if broken is not None:
        yield f"the entry {broken!r} is damaged"
    if MANIFEST in names:
        yield from _manifest_violations(archive.read(MANIFEST), names, archive)


def _manifest_violations(raw: bytes, names: set[str], archive: zipfile.ZipFile) -> Iterator[str]:
    try:
        manifest: Any = json.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        yield f"{MANIFEST} is not JSON in UTF-8: {error}"
        return
    if not isinstance(manifest, dict):
        yield f"{MANIFEST} is not an object"
        return
    for key in sorted(set(manifest) - {"protocol", "protocol_version", "note", "commands"}):
        yield f"{MANIFEST} has the unknown key {key!r}"
    if manifest.get("protocol") != "zip_project":
        yield f'{MANIFEST}: protocol is {manifest.get("protocol")!r}, not "zip_project"'
    version = manifest.get("protocol_version")
    if version != 1 or isinstance(version, (bool, float)):
        yield f"{MANIFEST}: protocol_version is {version!r}, not 1"
    yield from _note_violations(manifest.get("note"))
    yield from _command_violations(manifest.get("commands"), names, archive)


def _note_violations(note: Any) -> Iterator[str]:
    if not isinstance(note, str):
        yield f"{MANIFEST}: note is {type(note).__name__}, not a text"
    elif len(note.encode("utf-8")) > MAX_NOTE:
        yield f"{MANIFEST}: note has {len(note.encode('utf-8'))} bytes, more than {MAX_NOTE}"
    elif any(_is_control(ch) for ch in note):
        yield f"{MANIFEST}: note holds a control character"


def _command_violations(commands: Any, names: set[str], archive: zipfile.ZipFile) -> Iterator[str]:
    if not isinstance(commands, Mapping):
        yield f"{MANIFEST}: commands is not an object"
        return
    if "run" not in commands:
        yield f"{MANIFEST}: commands has no run"
    for key, path in commands.items():
        if key not in COMMANDS:
            yield f"{MANIFEST}: commands has the unknown key {key!r}"
        elif not isinstance(path, str) or not is_safe_path(path):
            yield f"{MANIFEST}: the {key} command {path!r} is not a safe relative path"
        elif path not in names:
            yield f"{MANIFEST}: the {key} command {path!r} is not in the archive"
        else:
            mode = archive.getinfo(path).external_attr >> 16
            if archive.getinfo(path).create_system == 3 and not mode & 0o100:
                yield f"{path} is not executable"
