"""Records as a file holds them, with what it says about them."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True)
class Written:
    """How a CSV is written; what is empty is found out."""

    sep: str = ""
    decimal: str = ""
    encoding: str = ""

    def __bool__(self) -> bool:
        return bool(self.sep or self.decimal or self.encoding)

    def checked(self) -> Written:
        """With 'tab' as the character; ValueError, in one line, for what there is none of."""
        sep = {"tab": "\t", "\\t": "\t"}.get(self.sep, self.sep)
        if len(sep) > 1 or not sep.isascii() or sep in ('"', "\n", "\r"):
            raise ValueError(f"sep: {self.sep!r} is not one character of ASCII, or 'tab'")
        if self.decimal not in ("", ".", ","):
            raise ValueError(f"decimal: {self.decimal!r} is neither '.' nor ','")
        try:
            _ = codecs.lookup(self.encoding) if self.encoding else None
        except LookupError:
            raise ValueError(f"encoding: {self.encoding!r} is not known; such as utf-8, cp1252, latin-1") from None
        return Written(sep, self.decimal, self.encoding)


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a file (n, columns).

    `notes` say, without a value of a person, what was found out about how it is written; `labels` have the label of a
    column, `levels` of a column's codes (as text) what each means. `written` is how a CSV is written, as far as that is
    not plain.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    written: Written = field(default_factory=Written)
