"""A listing of SAS by its steps: which procedure printed what, of which group of BY, from which statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outrisk.readers.source import Source

_PROCEDURE = re.compile(r"^\s*(?:The\s+([A-Z][A-Z\d]+)\s+Procedure|([A-Z][A-Z\d]+) PROCEDURE)\s*$")
_BY = re.compile(r"^\s*[-]{3,}\s+(\S.*?=.*?)\s+[-]{3,}\s*$")
_PLAIN_BY = re.compile(r"^\s*((?!(?i:n|alpha|seed|obs)=)[A-Za-z_]\w*=[^\s=;()'\"][^=;()'\"]*(?:\s\w+=[^=;()'\"]+)*)$")
_STAMP = re.compile(
    r"^.*\b\d{1,2}:\d\d\s+(?:\w+day),?\s+\w+ \d{1,2}, \d{4}(?:\s+\d+)?\s*$|^\s*The SAS System(?:\s+\d+)?\s*$"
)
_STEP = re.compile(r"(?is)\bproc\s+(\w+)\b(?!\s+is\b)(.*?)(?=\bproc\s+\w|\bdata\s+[\w.]+\s*;|\brun\s*;|\bquit\s*;|\Z)")
_STATEMENT = re.compile(r"(?is)(?:^|;)[\s\d]*(where|weight|freq|by)\s+([^;]+)(?=;)")
_OF_DATA = re.compile(r"(?i)\b(where\s*=\s*\([^)]*\)|firstobs\s*=\s*\d+|obs\s*=\s*\d+)")
_NOTE = re.compile(r"(?im)^\s*where\s+(.+?);?\s*$")
_MARKS = (
    r"^\s*The [A-Z][A-Z\d]+ Procedure\s*$",
    r"(?i)^\s*Analysis Of (?:GEE |Maximum Likelihood )?(?:Parameter )?Estimates\s*$",
    r"\bPr > (?:\|[tZz]\||ChiSq|F\b|Chi-Square|\|r\|)",
    r"^\s*Pearson Correlation Coefficients(?:, N = \d+)?\s*$",
    r"^\s*Frequency\s*\|\s*$",
    r"\bFrequency\s+Percent(?:\s+Frequency\s+Percent)?\s*$",
    r"^\s*Analysis Variable : ",
    r"^\s*Statistics for Table of ",
)
_BARS = str.maketrans({"ƒ": "-", "\u0083": "-", "‚": "|", "\u0082": "|", "ˆ": "+", "\u0088": "+", "─": "-", "│": "|"})
_CORNERS = re.compile("[ƒ\u0083─].*[ƒ\u0083─]")
_OF_CORNERS = re.compile("[‡‰Š‹ŒŽ„…†€\u0084-\u008c┌┐└┘├┤┬┴┼]")
_ALIASES = {"SUMMARY": "MEANS"}
_CODE = re.compile(r"(?i)^\s*(?:\d+\s+)?proc\s+(\w+)\b(?!\s+is\b)[^.]*(?:;|=|$)")


@dataclass(frozen=True)
class Step:
    """What one procedure prints: its lines, apart from heads of pages; groups: of a BY statement, (variable, level).

    subset, weight, options: by statements above it, where the text has these; '' where it has none.
    """

    procedure: str
    lines: tuple[str, ...]
    groups: tuple[tuple[str, str], ...] = ()
    subset: str = ""
    weight: str = ""
    options: str = ""

    @property
    def text(self) -> str:
        """Its lines as one text."""
        return "\n".join(self.lines)

    @property
    def whom(self) -> str:
        """Whom it is of, in words; '' where it says nothing."""
        groups = [f"{name} = {level}" for name, level in self.groups]
        return " and ".join([*([self.subset] if self.subset else []), *groups])

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        groups = ", ".join(f"{name}={level}" for name, level in self.groups)
        return (self.procedure or "a table") + (f" of {groups}" if groups else "")


def is_listing(source: Source) -> bool:
    """Whether a text is one that SAS printed, as a listing rather than as cells."""
    if source.sheets or source.tables:
        return False
    return any(re.search(mark, source.text, re.M) for mark in _MARKS) and not re.search(
        r"^\s*\S*(?:,\S*){3,}\s*$", next((line for line in source.lines if "Pr > " in line), ""), re.M
    )


def names_procedure(source: Source) -> bool:
    """Whether a text names a procedure of SAS, as its pages do."""
    return not source.sheets and any(map(_PROCEDURE.match, source.lines))


def steps_of(text: str) -> list[Step]:
    """The steps of a listing in their order; all of a text without names of procedures as one."""
    found, now = list[Step](), _Reading("", (), [])
    groups: tuple[tuple[str, str], ...] | None = None  # of a BY line that nothing stands below yet
    lines = _cleaned(text)
    for at, line in enumerate(lines):
        said, by, code = _PROCEDURE.match(line), _BY.match(line), _CODE.match(line)
        alone = not any(each.strip() for each in (*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2]))
        by = by or (_PLAIN_BY.match(line) if alone else None)  # without its dashes, as where a page is copied
        if by:
            groups = tuple(_pairs(by[1]))
            if now.procedure and groups != now.groups:
                found += now.step()
                now = now.next(groups)
        elif code:
            found += now.step()
            now, groups = _Reading(_named(code[1]), (), [line]), None
        elif said:
            name = _named(said[1] or said[2])
            of = groups if groups is not None else now.groups if name == now.procedure else ()
            if (name, of) != (now.procedure, now.groups):
                found += now.step()
                now = now.next(of) if name == now.procedure else _Reading(name, of, [])
            groups = None
        else:
            groups = None if line.strip() and now.procedure else groups
            now.lines.append(line)
    return [*found, *now.step()]


@dataclass
class _Reading:
    """A step as it is read; code: statements above the groups of a BY statement."""

    procedure: str
    groups: tuple[tuple[str, str], ...]
    lines: list[str]
    code: str = ""

    def step(self) -> list[Step]:
        """The step, where there is something in it."""
        text = "\n".join(self.lines)
        made = Step(self.procedure, tuple(self.lines), self.groups, *_statements(self.code + text, self.procedure))
        return [made] if text.strip() else []

    def next(self, groups: tuple[tuple[str, str], ...]) -> _Reading:
        """The next group of the same step."""
        text = "\n".join(self.lines)
        code = self.code or (text if _CODE.search(self.lines[0] if self.lines else "") else "")
        return _Reading(self.procedure, groups, [], code)


def _named(procedure: str) -> str:
    name = procedure.upper()
    return _ALIASES.get(name, name)


def said_elsewhere(text: str, steps: Sequence[Step]) -> str:
    """A condition that the text has in statements or notes and that is of none of its steps for certain; ''."""
    known = " ".join(each.subset for each in steps)
    found = [" ".join(each.split()) for _, each in _conditions(text)]
    found += [" ".join(each.split()) for each in _NOTE.findall(text) if "=" in each or ">" in each or "<" in each]
    return next((each for each in found if each not in known), "")


def _conditions(text: str) -> Iterator[tuple[str, str]]:
    for _, body in _STEP.findall(text):
        yield from (
            (word.casefold(), said) for word, said in _STATEMENT.findall(f";{body}") if word.casefold() == "where"
        )


def _statements(code: str, procedure: str) -> tuple[str, str, str]:
    """The condition, the weight and the options of the last step of a procedure in statements above its print."""
    mine = [body for name, body in _STEP.findall(code) if _named(name) == procedure]
    if not mine:
        return "", "", ""
    said = [(word.casefold(), " ".join(each.split())) for word, each in _STATEMENT.findall(mine[-1] + ";")]
    subset = [each for word, each in said if word == "where"]
    subset += _OF_DATA.findall(mine[-1].partition(";")[0])
    weight = [each.split()[0] for word, each in said if word in ("weight", "freq")]
    return " and ".join(subset), weight[-1] if weight else "", mine[-1].partition(";")[0]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Variables and levels of a BY line: 'sex=1 age group=old'."""
    for part in re.split(r"\s+(?=[\w.]+=)", text.strip()):
        name, _, level = part.partition("=")
        yield name.strip(), level.strip()


def _cleaned(text: str) -> list[str]:
    """Lines without heads of pages, their rules and bars in plain characters."""
    found = list[str]()
    for page in text.split("\f"):
        lines = page.splitlines()
        head = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
        first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
        numbered = first < len(lines) and re.search(r"\s{3,}\d+\s*$", lines[first]) is not None
        of_page = page is not text and numbered and found and head > first
        kept = lines[head:] if of_page else lines
        found += [_plain(line) for line in kept if not _STAMP.match(line)]
    return found


def _plain(line: str) -> str:
    line = line.expandtabs(8) if line.startswith("\t") else line
    if re.fullmatch(r"\s*\?{5,}\s*", line):  # a rule in SAS's font, saved in another code page
        return line.replace("?", "-").rstrip()
    if _CORNERS.search(line):
        line = _OF_CORNERS.sub("+", line)
    return line.translate(_BARS).rstrip()
