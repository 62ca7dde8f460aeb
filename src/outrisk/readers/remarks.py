"""What is said of released numbers as programs print them: how they were read, and what was left out. It is told as a
file is read, or kept for who asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OF_QUANTILES = (
    "quantiles are taken to lie linearly between records, as R and pandas have them by default; those of Stata, SAS "
    "and SPSS are other numbers: give min, median and max of them"
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
