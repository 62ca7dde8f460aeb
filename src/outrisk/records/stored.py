"""Values of plain types as a JSON document with arrays beside it, and back: what an unfinished study keeps.

How a value is stored follows from its type as declared, so that a class that gets a field needs nothing here. Plain
are None, bool, int, float, str, NumPy arrays (but of objects), sequences and mappings of these, dataclasses of these,
and unions of these with None. Numbers come back bit for bit. Nothing that is stored can be run (no pickle).
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from outrisk.records import files

Arrays = dict[str, NDArray[Any]]
_PLAIN = (bool, int, float, str)
_KNOWN: dict[Any, dict[str, Any]] = {}


def pack(value: Any, kind: Any, arrays: Arrays) -> Any:
    """A value of a declared type as JSON can hold it; its arrays go to `arrays`. TypeError where it is not plain."""
    if type(value) is kind and kind in _PLAIN and (kind is not float or math.isfinite(value)):
        return value
    origin, arguments = _parts(kind)
    if origin is Union:
        return None if value is None else pack(value, _other(arguments, kind), arrays)
    if value is None and origin is type(None):
        return None
    if isinstance(value, np.ndarray) and origin is np.ndarray:
        if value.dtype.hasobject:
            raise TypeError(f"an array of objects cannot be stored as {kind}")
        name = f"a{len(arrays)}"
        arrays[name] = value
        return name
    if isinstance(value, np.generic):
        value = value.item()
    if origin in _PLAIN and isinstance(value, _PLAIN):
        return {"number": str(value)} if isinstance(value, float) and not math.isfinite(value) else value
    if is_dataclass(origin) and type(value) is origin:
        return {name: pack(getattr(value, name), hint, arrays) for name, hint in _hints(origin).items()}
    if isinstance(value, Mapping) and _is(origin, Mapping):
        keys, items = arguments
        return [[pack(key, keys, arrays), pack(item, items, arrays)] for key, item in value.items()]
    if isinstance(value, list | tuple) and _is(origin, Sequence):
        return [pack(item, each, arrays) for item, each in _items(value, arguments)]
    raise TypeError(f"{type(value).__name__} cannot be stored as {kind}: see records/stored.py for what can")


def unpack(document: Any, kind: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that `pack` was given. ValueError, KeyError or TypeError where the document is of another type."""
    if type(document) is kind and kind in _PLAIN:
        return document
    origin, arguments = _parts(kind)
    if origin is Union:
        return None if document is None else unpack(document, _other(arguments, kind), arrays)
    if origin is type(None) or document is None:
        if document is not None or origin is not type(None):
            raise ValueError(f"{document!r} is not {kind}")
        return None
    if origin is np.ndarray:
        return arrays[document]
    if origin in _PLAIN:
        return float(document["number"]) if isinstance(document, dict) else document
    if is_dataclass(origin):
        return cast(Any, origin)(
            **{name: unpack(document[name], hint, arrays) for name, hint in _hints(origin).items()}
        )
    if _is(origin, Mapping):
        keys, items = arguments
        return {unpack(key, keys, arrays): unpack(item, items, arrays) for key, item in document}
    found = [unpack(item, each, arrays) for item, each in _items(document, arguments)]
    return found if origin is list else tuple(found)


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """The class that a declared type stands for, and its arguments."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _parts(arguments[0])
    if origin is Literal:
        return str, ()
    if origin in (Union, types.UnionType):
        return Union, arguments
    return (origin or (type(None) if kind is None else kind)), arguments


@cache
def _other(arguments: tuple[Any, ...], kind: Any) -> Any:
    """The one member of a union that is not None; numbers of either kind are one."""
    others = [each for each in arguments if each is not type(None)]
    if set(others) <= {int, float}:
        return float
    if len(others) != 1:
        raise TypeError(f"{kind} cannot be stored: a union of several types")
    return others[0]


def _is(origin: Any, family: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, family)


def _items(values: Sequence[Any], arguments: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """The items of a sequence, each with its declared type."""
    if len(arguments) == 1 or (len(arguments) == 2 and arguments[1] is Ellipsis):
        return [(value, arguments[0]) for value in values]
    return list(zip(values, arguments, strict=True))


def _hints(kind: Any) -> dict[str, Any]:
    """The declared types of a class's fields."""
    if kind not in _KNOWN:
        found = get_type_hints(kind, include_extras=True)
        _KNOWN[kind] = {field.name: found[field.name] for field in fields(kind) if field.init}
    return _KNOWN[kind]


Kind = TypeVar("Kind")


def write_stored(path: Path, value: Any, kind: Any) -> None:
    """Write a value as `path`.json, with its arrays beside it in a file that this names; one that was written there
    before is whole until then.
    """
    arrays: Arrays = {}
    document = pack(value, kind, arrays)
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]
    content = packed.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    files.write_bytes(_arrays(path, digest), content)
    whole = {"arrays": digest, "value": document}
    files.write_text(_document(path), json.dumps(whole, allow_nan=False) + "\n")
    for old in _all_arrays(path):
        if old != _arrays(path, digest):
            old.unlink(missing_ok=True)


def read_stored(path: Path, kind: type[Kind]) -> Kind | None:
    """The value written as `path`; None where there is none, or where a file is not as it was written."""
    try:
        found = json.loads(_document(path).read_text(encoding="utf-8"))
        content = _arrays(path, found["arrays"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != found["arrays"]:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            value: Kind = unpack(found["value"], kind, {name: arrays[name] for name in arrays.files})
            return value
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remove_stored(path: Path) -> None:
    """Remove a value written as `path`, if it is there."""
    for file in (_document(path), *_all_arrays(path)):
        file.unlink(missing_ok=True)


def _document(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _arrays(path: Path, digest: str) -> Path:
    return path.with_name(f"{path.name}.{digest[:12]}.npz")


def _all_arrays(path: Path) -> list[Path]:
    """Files of arrays that a value written as `path` has or had."""
    ending = re.compile(re.escape(path.name) + r"\.[0-9a-f]{12}\.npz")
    return [file for file in path.parent.iterdir() if ending.fullmatch(file.name)]
