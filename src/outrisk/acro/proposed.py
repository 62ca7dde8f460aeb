"""What an output of a session would be in a study, and what is not known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from outrisk.acro.session import Result

State = Literal["assessed", "needs input", "not covered"]
BLANK = "???"  # what could not be known, in a study


@dataclass(frozen=True)
class Proposed:
    """An output as entries of a study. blanks: what a person has to say, each with its reason; notes: what was taken.

    n: records that it says it rests on (None: it does not say). agreement: how it was verified, if it was.
    """

    result: Result
    state: State
    entries: tuple[Mapping[str, Any], ...] = ()
    blanks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    n: int | None = None
    agreement: str = ""
    others: tuple[Mapping[str, Any], ...] = field(default=())  # further entries that it may be instead
