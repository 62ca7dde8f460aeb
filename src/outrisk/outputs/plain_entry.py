"""The entry in a study file of a kind of output whose keys there are its own fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, Literal, get_type_hints

from pydantic import create_model

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Common, Entry


def entry_of(output: type[Common]) -> type[Entry]:
    """An entry with the fields of an output as its keys; in Python those without a default need no name."""
    hints = get_type_hints(output)
    own = {each.name: each.default for each in fields(output) if each.name not in ("codebook", "name", "importance")}

    class PlainEntry(Entry):
        positional = tuple(name for name, default in own.items() if default is MISSING)

        def build(self, codebook: Codebook, position: int) -> Sequence[Any]:
            name = self.name or f"{self.kind} {position}"
            if self.where and "where" not in own:
                raise OutputError(f"output '{name}': no {self.kind} has a where:; leave it out")
            return [output(codebook, name, **{key: getattr(self, key) for key in own})]

    keys: dict[str, Any] = {"kind": (Literal[output.kind], ...)}  # type: ignore[attr-defined]
    for name, default in own.items():
        if name not in Entry.model_fields:
            keys[name] = (hints[name], ... if default is MISSING else default)
    return create_model(f"{output.__name__}Entry", __base__=PlainEntry, __doc__=output.__doc__, **keys)
