"""A document as paragraphs and tables, one after the other: which paragraph is a table's caption, which its notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from outrisk.readers.printed_tables import Grid, PrintedTable, is_figure, is_numbered, rows_of_lines

_MOST_NOTES = 8
_NEAREST = 3  # paragraphs above a table that its number and its title stand in
_LONGEST = 400  # characters of a caption
_OF_ANOTHER = re.compile(r"(?i)(?:\w+\s+)?(?:table|tab|figure|fig)\b\.?\s*\w?\d")  # a sentence about one
_NOTE = re.compile(
    r"(?i)\W*(?:notes?|source|abbreviations?|legend|anmerkung\w*|statistics? presented)\b|[*†‡§+]|[¹²³⁴a-d][).\s]|"
    r".*\b(?:in|within) (?:parenthes[ie]s|brackets)\b|.*\bconfidence (?:interval|limit)|.*\d ?% ?c\.?i\b|"
    r".*\bp ?[<=]|.*\breference\b|.*\b(?:standard errors?|exponentiated|odds ratios?|hazard ratios?)\b"
)
_BELOW = re.compile(  # of a line below a table, which above it may be a caption
    r"(?i)(?=.{,120}$).*\b(?:confidence|alpha|limits|intervals)\b|.*\bdependent variable\b|"
    r".*\b(?:sample|analys[ie]s) (?:is |was |are |were )?(?:restricted|limited)\b"
)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph outside tables. caption, heading: by its style."""

    text: str
    caption: bool = False
    heading: bool = False

    @property
    def of_table(self) -> bool:
        """Whether it says that it is a table's caption."""
        return not is_figure(self.text) and (self.caption or is_numbered(self.text))


@dataclass(frozen=True)
class Laid:
    """A table in its place, with its caption where it says that itself, and faults as `PrintedTable` has them."""

    grid: Grid
    caption: str = ""
    fault: str = ""
    passed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Block = Paragraph | Laid


def tables_of(blocks: Sequence[Block]) -> list[PrintedTable]:
    """The tables of a document with captions and notes. Captions stand above, unless the first table has none there and
    the last has one below; where it has both, which is which is not told, and numbers alone name tables.
    """
    at = [number for number, block in enumerate(blocks) if isinstance(block, Laid)]
    gaps = [_between(blocks, before, after) for before, after in zip([-1, *at], [*at, len(blocks)], strict=True)]
    above = [_above(gap) for gap in gaps[:-1]]
    below = [_below(gap) for gap in gaps[1:]]
    last = bool(below) and bool(below[-1])
    names = above
    if last and not _says(gaps[0]):
        names = below
    elif last:
        names = [""] * len(above)
    found = list[PrintedTable]()
    for place, name, gap in zip(at, names, gaps[1:], strict=True):
        table = blocks[place]
        assert isinstance(table, Laid)
        grid, title = _without_title(rows_of_lines(table.grid))
        caption = " ".join((table.caption or name or title).split())
        found.append(
            PrintedTable(caption, grid, (*table.notes, *_notes(gap, name)), table.fault, table.passed, len(found) + 1)
        )
    return found


def _between(blocks: Sequence[Block], before: int, after: int) -> list[Paragraph]:
    """Paragraphs between two tables, without empty ones."""
    inside = blocks[before + 1 : after]
    return [block for block in inside if isinstance(block, Paragraph) and block.text.strip()]


def _says(gap: Sequence[Paragraph]) -> bool:
    return any(each.of_table for each in gap[-_NEAREST:])


def _above(gap: Sequence[Paragraph]) -> str:
    """The caption in the paragraphs above a table: from its number on, else the paragraph next to it, if that is a
    heading or short.
    """
    near = list(gap[-_NEAREST:])
    for back in range(1, len(near) + 1):
        if near[-back].of_table and _are_one(near[-back:]):
            return " ".join(each.text for each in near[-back:])[:_LONGEST]
    if near and _OF_ANOTHER.match(near[-1].text):
        return ""
    if near and (near[-1].heading or (len(near[-1].text) <= 120 and not _NOTE.match(near[-1].text))):
        return near[-1].text
    return ""


def _are_one(near: Sequence[Paragraph]) -> bool:
    """Whether paragraphs from a table's number to the table are its caption: a number alone, then a title; or one with
    a title, then what the table has.
    """
    alone = re.fullmatch(r"\w+\.?\s*[A-Z]?\d+(?:[.\-–]?\w)*\W*", near[0].text.strip()) is not None
    rest = near[2:] if alone else near[1:]
    return all(each.text.startswith(("(", "[")) or _NOTE.match(each.text) for each in rest)


def _below(gap: Sequence[Paragraph]) -> str:
    """The caption next to a table, below it."""
    return gap[0].text[:_LONGEST] if gap and gap[0].of_table else ""


def _notes(gap: Sequence[Paragraph], caption: str) -> tuple[str, ...]:
    """Lines below a table that are about it, up to what belongs to the next."""
    found = list[str]()
    for each in gap:
        if each.text[:_LONGEST] == caption and caption:
            continue
        known = _NOTE.match(each.text) or _BELOW.match(each.text)
        if each.heading or each.of_table or not known or len(found) == _MOST_NOTES:
            break
        found.append(each.text)
    return tuple(found)


def _without_title(grid: Grid) -> tuple[Grid, str]:
    """The table without first rows of one cell that are its title, as in 'Table 2', and that title."""
    title, rest = "", [row for row in grid if any(row)]
    while len(rest) > 1 and sum(map(bool, rest[0])) == 1 and rest[0][0] and len(rest[0]) > 1:
        if not (is_numbered(rest[0][0]) or title):
            break
        title, rest = f"{title} {rest[0][0]}".strip(), rest[1:]
    return rest, title
