"""What a file prints and no output of the study has: told as the file is read, or kept for who asks for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LOG = logging.getLogger(__name__)
_KEPT: ContextVar[list[str] | None] = ContextVar("kept", default=None)


def leave_out(place: str, what: str) -> None:
    """Say what of a file, or of a pasted text, is not assessed, and why."""
    said, kept = f"{place}: {what}", _KEPT.get()
    if kept is None:
        _LOG.info("%s", said)
    elif said not in kept:
        kept.append(said)


@contextmanager
def left_out() -> Iterator[list[str]]:
    """In this block what is left out comes to the list, each once, instead of being told."""
    found: list[str] = []
    token = _KEPT.set(found)
    try:
        yield found
    finally:
        _KEPT.reset(token)
