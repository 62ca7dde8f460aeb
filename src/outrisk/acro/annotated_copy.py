"""An annotated copy of a finalised ACRO folder: comments on its outputs, the decision as an entry of its own."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from outrisk.acro.session import OWN, read_session
from outrisk.errors import ConfigError

ENTRY = f"outrisk{OWN}"  # an approved entry enters the release archive: its name says that it must not
_LONGEST = 600  # characters of a comment


def annotate(
    folder: Path, copy: Path, comments: Mapping[str, str], decision: Sequence[str], attached: Mapping[str, bytes]
) -> Path:
    """Write `copy`, which must not exist: the folder with a comment added to each named output, and a further entry.

    The entry has the lines of the decision as comments and `attached` files (name -> content). No status changes; the
    checksums are those of the copy's files. `folder` is only read. ConfigError where it is no folder with results.json,
    or names clash.
    """
    session = read_session(folder)
    if session.workbook:
        raise ConfigError(f"{folder}: a session in a workbook cannot be annotated; finalise it with 'json'")
    if copy.exists():
        raise ConfigError(f"{copy} exists; name a directory that does not")
    if not copy.parent.is_dir():
        raise ConfigError(f"{copy.parent}: no such directory; make it, or name another")
    if copy.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"{copy} lies in {folder}, which is not touched; name a directory elsewhere")
    document = json.loads((folder / "results.json").read_text(encoding="utf-8-sig"))
    entries: dict[str, Any] = document["results"]
    if ENTRY in entries:
        raise ConfigError(f"{folder}: it has an entry '{ENTRY}' already; annotate the folder as ACRO wrote it")
    clash = [name for name in attached if (folder / name).exists()]
    if clash:
        raise ConfigError(f"{folder}: it has a file {clash[0]} already; annotate the folder as ACRO wrote it")
    for key, text in comments.items():
        said = entries[key].get("comments")
        entries[key]["comments"] = [*(said if isinstance(said, list) else []), plain(text)]
    entries[ENTRY] = _entry(entries, decision, list(attached))
    draft = copy.with_name(f".{copy.name}.unfinished")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        shutil.copytree(folder, draft, symlinks=False)
        _make_writable(draft)
        written = {**attached, "results.json": json.dumps(document, indent=4).encode()}
        (draft / "checksums").mkdir(exist_ok=True)
        for name, content in written.items():
            (draft / name).write_bytes(content)
            (draft / "checksums" / f"{name}.txt").write_text(hashlib.sha256(content).hexdigest(), encoding="utf-8")
        draft.rename(copy)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return copy


def _make_writable(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)


def _entry(entries: Mapping[str, Any], decision: Sequence[str], files: Sequence[str]) -> dict[str, Any]:
    """An entry with the fields that the version of the session has."""
    found: dict[str, Any] = {
        "uid": ENTRY,
        "status": "review",
        "type": "custom",
        "properties": {"method": "outrisk"},
        "files": [{"name": name, "sdc": {}} for name in files],
        "outcome": {},
        "command": "custom",
        "summary": plain(decision[0]) if decision else "review",
        "timestamp": datetime.now(UTC).replace(tzinfo=None).isoformat(),
        "comments": ["DO NOT RELEASE - FOR OUTPUT CHECKER USE ONLY", *map(plain, decision)],
        "exception": "",
    }
    if not entries or any(isinstance(entry, Mapping) and "fair" in entry for entry in entries.values()):
        found["fair"] = {}
    return found


def plain(text: str) -> str:
    """Text in one line that no page takes for markup."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = line.replace("<", "less than ").replace(">", "more than ").replace("&", "and")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."
