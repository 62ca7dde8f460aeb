"""What is said of released numbers as programs print them: how they were read, and what was left out. It is told as a
file is read, or kept for who asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OF_QUANTILES = (
    "quartiles are taken to be R's, linear between records; those of Stata, SAS, SPSS and gtsummary are other numbers: "
    "say whose they are with 'program'"
)
_LOG = logging.getLogger(__name__)
_KEPT: ContextVar[list[str] | None] = ContextVar("kept", default=None)


def remark(place: str, what: str) -> None:
    """Say how something in a file, or in a pasted text, was read; or that it was left out, and why."""
    said, found = f"{place}: {what}", _KEPT.get()
    if found is None:
        _LOG.info("%s", said)
    elif said not in found:
        found.append(said)


@contextmanager
def kept() -> Iterator[list[str]]:
    """In this block remarks come to the list, each once, instead of being told."""
    found: list[str] = []
    token = _KEPT.set(found)
    try:
        yield found
    finally:
        _KEPT.reset(token)
