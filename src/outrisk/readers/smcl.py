"""Logs of Stata with its markup (.smcl) as the text that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WIDE = 80  # columns of a line of its own
_DEEP = 50  # directives inside each other
_LONGEST = 1_000  # columns, or repetitions, that a directive makes
_CHARACTERS = {"-(": "{", ")-": "}", "'g": "`", "S|": "$", "LT": "|", "RT": "|", "|": "|", "-": "-", "+": "+"}
_CORNERS = ("TT", "BT", "TLC", "TRC", "BLC", "BRC")
_NAME = re.compile(r"[a-zA-Z_][\w*]*|\.-|\.\.\.|\*")
_KEPT = ("begin", "end")  # of other languages than this


def is_smcl(text: str) -> bool:
    """Whether a text is a log with markup."""
    return text.lstrip().startswith("{smcl}")


def plain_text(text: str) -> str:
    """What a log with markup shows, line by line."""
    joined = re.sub(r"\{\.\.\.\}[ \t]*\n", "", text.replace("\r\n", "\n"))
    return "\n".join(_shown(line).rstrip() for line in joined.split("\n"))


def _shown(line: str, depth: int = 0) -> str:
    found = ""
    for directive, piece in _pieces(line):
        if not directive:
            found += piece
        elif depth < _DEEP:
            found += _of_directive(piece, found, depth)
    return found


def _pieces(line: str) -> Iterator[tuple[bool, str]]:
    """Text, and what stands in braces, in their order; a brace that is not closed is text."""
    at = 0
    while at < len(line):
        start = line.find("{", at)
        end = _closing(line, start) if start >= 0 else -1
        if start < 0 or end < 0:
            yield False, line[at:]
            return
        yield False, line[at:start]
        yield True, line[start + 1 : end]
        at = end + 1


def _closing(line: str, start: int) -> int:
    depth = 0
    for at in range(start, len(line)):
        depth += (line[at] == "{") - (line[at] == "}")
        if depth == 0:
            return at
    return -1


def _of_directive(inner: str, before: str, depth: int) -> str:
    """What a directive shows behind the text `before` of its line; what is none, as it stands."""
    head, colon, rest = _parted(inner)
    name = _NAME.match(head)
    if name is None or name[0] in _KEPT:
        return "{" + inner + "}"
    said, arguments = name[0], head[name.end() :].split()
    number = min(int(arguments[0]), _LONGEST) if arguments and arguments[0].isdecimal() else None
    text = _shown(rest, depth + 1) if colon else ""
    if said in ("c", "char"):
        return _character("".join(head[name.end() :].split()) + (colon + rest if colon else ""))
    if said in ("hline", ".-"):
        return "-" * (_WIDE if number is None else number)
    if said in ("space", "col") and not colon:
        return " " * ((number or 0) - (len(before) + 1 if said == "col" else 0))
    if said in ("ralign", "right"):
        return text.rjust(number if number is not None else _WIDE - len(before))
    if said == "lalign":
        return text.ljust(number or 0)
    if said in ("center", "centre", "rcenter", "lcenter"):
        return text.center(number if number is not None else _WIDE)
    if said == "dup":
        return text * min(number or 0, _LONGEST // max(len(text), 1))
    return text  # of colours, fonts, links, paragraphs


def _parted(inner: str) -> tuple[str, str, str]:
    """A directive before and after its colon, which stands outside quotes; of a character it may be that."""
    quoted = False
    for at, char in enumerate(inner):
        quoted ^= char == '"'
        if char == "{":
            break
        if char == ":" and not quoted:
            return inner[:at], ":", inner[at + 1 :]
    return inner, "", ""


def _character(code: str) -> str:
    if code in _CHARACTERS or code in _CORNERS:
        return _CHARACTERS.get(code, "+")
    number = re.fullmatch(r"0x([0-9a-fA-F]{1,2})|(\d{1,3})", code)
    if number:
        value = int(number[1], 16) if number[1] else int(number[2])
        return chr(value) if 31 < value < 256 else ""
    return code[:1]
