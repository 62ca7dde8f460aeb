"""Compiled functions that are kept on disk, and compiled anew where any source file of compiled code has changed.

numba asks the file alone that a function stands in, and bakes in what this imports: constants of layout.py and
functions of record.py would stay as they were in what is kept of the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep it on disk with all it needs."""
    compiled = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    if (file := _file_of(compiled)) is not None:
        file._source_stamp = sources()
    return compiled


def kept(compiled: Any) -> bool:
    """Whether a compiled function is on disk, as today's sources make it."""
    file = _file_of(compiled)
    return file is not None and bool(file._load_index())


@cache
def sources() -> str:
    """A digest of the source files in this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _file_of(compiled: Any) -> Any:
    """The file that numba keeps a function in; None where it compiles nothing (NUMBA_DISABLE_JIT)."""
    return getattr(getattr(compiled, "_cache", None), "_cache_file", None)
