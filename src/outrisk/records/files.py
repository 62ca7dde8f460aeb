"""Files of a run directory, written whole or not at all, and read back as what the schema says they hold."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import pandas as pd
import yaml
from pydantic import TypeAdapter, ValidationError

from outrisk.errors import ConfigError
from outrisk.whole_files import whole
from outrisk.whole_files import write_bytes as write_bytes
from outrisk.whole_files import write_text as write_text

Kind = TypeVar("Kind")
_MISSING = ["", "nan", "NaN"]


def write_rows(path: Path, kind: type[Any], rows: Iterable[Any]) -> None:
    """Write rows of a kind as CSV, a column a field; what is not defined is empty, yes and no are true and false."""
    names = [field.name for field in fields(kind)]
    frame = pd.DataFrame([_cells(row) for row in map(attrgetter(*names), rows)], columns=names)
    with whole(path) as draft:
        frame.to_csv(draft, index=False, lineterminator="\n")


def _cells(row: tuple[Any, ...]) -> list[Any]:
    return [str(value).lower() if isinstance(value, bool) else value for value in row]


def write_json(path: Path, document: Any) -> None:
    """Write a document of the schema, or a mapping, as JSON; what is not defined is null."""
    write_text(path, json.dumps(plain(document), indent=1, allow_nan=False) + "\n")


def write_yaml(path: Path, document: Mapping[str, Any]) -> None:
    """Write YAML."""
    write_text(path, yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120))


def plain(value: Any) -> Any:
    """A value as JSON can hold it: NaN and infinities become None, numpy scalars become Python's."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_rows(
    path: Path, kind: type[Kind], chosen: Callable[[pd.DataFrame], pd.Series[bool]] | None = None
) -> list[Kind]:
    """The rows of a CSV file; `chosen` says which. ConfigError, in one line, where it is missing or broken."""
    types = {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}  # type: ignore[arg-type]
    text = [name for name, type_ in types.items() if type_ in (str, bool)]
    numbers = [name for name in types if name not in text]
    if not path.is_file():
        _read_text(path)
    try:
        frame = pd.read_csv(
            path,
            usecols=list(types),
            dtype=dict.fromkeys(text, "str") | dict.fromkeys(numbers, "float64"),
            keep_default_na=False,  # a label may well read "NA"
            na_values=dict.fromkeys(numbers, _MISSING),
        )
        frame = frame.astype({name: "int64" for name, type_ in types.items() if type_ is int})[list(types)]
    except (ValueError, OSError) as error:
        raise broken(path, error) from error
    for name in (name for name, type_ in types.items() if type_ is bool):
        frame[name] = frame[name].str.lower() == "true"
    frame = frame if chosen is None else frame[chosen(frame)]
    columns = [frame[name].tolist() for name in types]
    try:
        return [kind(**dict(zip(types, values, strict=True))) for values in zip(*columns, strict=True)]
    except ValueError as error:
        raise broken(path, error) from error


def read_document(path: Path, kind: type[Kind]) -> Kind:
    """A JSON file as a document of this kind; ConfigError where it is missing or broken."""
    try:
        return TypeAdapter(kind).validate_python(json.loads(_read_text(path)))
    except ValidationError as error:
        first = error.errors()[0]
        raise broken(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:
        raise broken(path, error) from error


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping; ConfigError where it is missing or broken."""
    try:
        found = yaml.safe_load(_read_text(path))
    except yaml.YAMLError as error:
        raise broken(path, error) from error
    if not isinstance(found, dict):
        raise broken(path, "not a mapping")
    return found


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; run the command that made its directory again") from None
    except (OSError, UnicodeDecodeError) as error:
        raise broken(path, error) from error


def broken(path: Path, why: object) -> ConfigError:
    """The error for a file that is not as docs/run-files.md says."""
    return ConfigError(f"{path} cannot be read: {' '.join(str(why).split())}; see docs/run-files.md for its format")
