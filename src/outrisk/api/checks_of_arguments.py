"""Arguments as a Python session gives them: handed on in the form of a study file, or checked where none is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import ConfigError, DataError

_KINDS = {str: "texts", Integral: "whole numbers", object: "values"}


def check_frame(frame: object, what: str) -> None:
    """DataError for what is no data frame whose columns each have a text of their own as name."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"{what}: is a {type(frame).__name__}; give a pandas data frame")
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd or not frame.columns.is_unique:
        raise DataError(f"{what}: columns are {list(frame.columns)}; give each one name of its own, a text")


def check_codebook(codebook: object) -> None:
    """ConfigError for what is neither a codebook nor None."""
    if codebook is not None and not isinstance(codebook, Codebook):
        raise ConfigError(
            f"codebook: is a {type(codebook).__name__}; give an outrisk.Codebook, such as outrisk.init(data).codebook"
        )


def check_file(given: object) -> Path:
    """The path of a file to write; ConfigError where none of this name can be: it is a folder, or in none."""
    path = check_place(given, "path")
    if path.is_dir():
        raise ConfigError(f"{path} is a directory; name the file to write")
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent}: no such directory; make it, or name another file")
    return path


def check_place(place: object, what: str) -> Path:
    """The path; ConfigError for what is none, neither a text nor a `Path`."""
    if not isinstance(place, str | Path):
        raise ConfigError(f"{what} is {place!r}; give a path, a text or a pathlib.Path")
    return Path(place)


def check_count(given: object, what: str, least: int = 1, or_none: bool = False) -> None:
    """ConfigError for what is no whole number from `least`, nor None where that will do."""
    if given is None and or_none:
        return
    if not isinstance(given, Integral) or isinstance(given, bool) or given < least:
        raise ConfigError(f"{what} is {given!r}; give a whole number from {least}")


def check_number_or_none(given: object, what: str) -> None:
    """ConfigError for what is neither a number nor None."""
    if given is not None and (not isinstance(given, Real) or isinstance(given, bool)):
        raise ConfigError(f"{what} is {given!r}; give a number")


def check_switch(given: object, what: str) -> None:
    """ConfigError for what is neither True nor False."""
    if not isinstance(given, bool):
        raise ConfigError(f"{what} is {given!r}; give True or False")


def listed(given: object) -> object:
    """A list of what can be listed, for a study's schema to check; text, mappings and all else as they are."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else given


def several(given: object, what: str, kind: type = str) -> tuple[Any, ...]:
    """What can be listed, each of a kind; ConfigError for a text that stands alone, and all else that is no list."""
    found = listed(given)
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise ConfigError(f"[{what}] is {given!r}: write a list of {_KINDS[kind]}")
    return tuple(found)


def section(given: object) -> object:
    """A section of a study as a dict, for its schema to check; what is no mapping as it is."""
    return dict(given) if isinstance(given, Mapping) else given


def seeded(evolve: object, seed: int) -> object:
    """The section `evolve` with its seed, for a study's schema to check."""
    found = {} if evolve is None else section(evolve)
    return {**found, "seed": seed} if isinstance(found, dict) else found
