"""The call that R prints above a model: by which function it is fitted, to what, and to whom."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from outrisk.errors import OutputError

_CALL = re.compile(r"^Call:\s*(?:[\w.]+::)?([\w.]+)\(", re.M)
_SUBSET = re.compile(
    r"\b(?:subset|filter|slice|sample_n|head|tail)\(|"
    r"\[(?!\s*(?:,|(?:c\()?[\"'][^\]]*[\"']\)?\s*\]|(?:with\()?order\())"
)  # of data that are not all
_OPENING, _CLOSING = "([{", ")]}"


def is_of_some(data: str) -> bool:
    """Whether an expression takes some records of data."""
    return _SUBSET.search(data) is not None


@dataclass(frozen=True)
class Call:
    """`function` without its package, '' where no call is printed; its arguments by name, the formula by 'formula'."""

    function: str = ""
    arguments: dict[str, str] = field(default_factory=dict)

    @property
    def formula(self) -> str:
        """The formula, '' where the call names one that stands elsewhere."""
        said = self.arguments.get("formula", "")
        return said if "~" in said else ""

    @property
    def response(self) -> str:
        """The left side of the formula."""
        return self.formula.partition("~")[0].strip()

    @property
    def subset(self) -> str:
        """Of whom it is, where the call says that these are not all of its data."""
        said, data = self.arguments.get("subset", ""), self.arguments.get("data", "")
        return said or (data if is_of_some(data) else "")


def call_of(text: str) -> Call:
    """The call of a printed model; an empty one where there is none."""
    found = _CALL.search(text)
    if found is None:
        return Call()
    arguments: dict[str, str] = {}
    for at, each in enumerate(_arguments(text[found.end() :])):
        named = re.match(r"([\w.]+)\s*=(?!=)\s*(.*)", each, re.S)
        name, value = (named[1], named[2]) if named else ("formula" if "~" in each or not at else f"#{at}", each)
        arguments[name] = value.strip()
    return Call(found[1], arguments)


def hold(call: Call, known: tuple[str, ...], place: str) -> None:
    """OutputError for a fit by a function, by a method or with an offset that no regression here has."""
    if call.function and call.function not in known:
        raise OutputError(
            f"{place}: it is a fit by R's {call.function}(), which is not known; known are {', '.join(known)}"
        )
    offset = re.search(r"\boffset\([^()]*(?:\([^()]*\))?[^()]*\)", call.formula)
    if offset or call.arguments.get("offset", "NULL") != "NULL":
        said = offset[0] if offset else f"offset = {call.arguments['offset']}"
        raise OutputError(f"{place}: the model has an offset, {said}, which no output has; fit it without one")
    method = call.arguments.get("method", "").strip("\"'")
    if call.function in ("glm", "svyglm") and method not in ("", "glm.fit"):
        raise OutputError(f"{place}: it is a glm by the method '{method}', which is not known; fit it by glm's own")


def _arguments(text: str) -> list[str]:
    """What commas separate up to the bracket that ends a call, outside other brackets and quotes, each in one line."""
    parts, depth, quote, start = list[str](), 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'`":
            quote = char
        else:
            depth += (char in _OPENING) - (char in _CLOSING)
            if depth < 0 or (char == "," and depth == 0):
                parts.append(" ".join(text[start:at].split()))
                start = at + 1
            if depth < 0:
                break
    return [each for each in parts if each]
