"""Refusals to write over what is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from outrisk.api.checks_of_arguments import check_file
from outrisk.errors import ConfigError


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """ConfigError where a file to be written is an input, or no file can be."""
    for path in outputs:
        check_file(path)
        if any(_same(path, each) for each in inputs) or list(outputs).count(path) > 1:
            raise ConfigError(f"{path} is an input, or named twice; name another file to write")


def check_directory(folder: Path, inputs: Sequence[Path]) -> None:
    """ConfigError where an input lies in a directory that is to be written, which replaces what is there."""
    place = os.path.realpath(folder)
    for path in inputs:
        if Path(os.path.realpath(path)).is_relative_to(place) and folder.is_dir():
            raise ConfigError(f"{path} is an input and lies in {folder}, which is written anew; name another directory")


def _same(path: Path, other: Path) -> bool:
    """Whether they are one file, by whatever names; unlike Path.resolve, realpath takes a loop of links as it is."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)
