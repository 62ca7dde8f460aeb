"""Files that appear whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DRAFT = ".draft"


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A draft to write to, which takes the file's place once it is on the disk; on an error nothing changes.

    The draft has one name, `.<name>.draft` and the file's ending: what a killed process leaves is written over. What is
    no file, such as a terminal, is written to as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    if path.is_symlink():
        with suppress(FileNotFoundError):  # the file it points at is then made
            path.stat()  # OSError where links lead in a circle
        path = Path(os.path.realpath(path))
    draft = draft_of(path)
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """Where a file is drafted."""
    return path.with_name(f".{path.stem}{DRAFT}{path.suffix}")


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file of bytes."""
    with whole(path) as draft:
        draft.write_bytes(content)


def sync_folder(folder: Path) -> None:
    """See that names given in a folder are on the disk; where a system cannot say so, nothing."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
