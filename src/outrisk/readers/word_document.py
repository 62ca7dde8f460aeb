"""Tables of a Word document (docx): as it is read once all tracked changes are accepted, without what is hidden."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from outrisk.readers.document_blocks import Block, Laid, Paragraph, tables_of
from outrisk.readers.printed_tables import Layout, PrintedTable, raised
from outrisk.readers.word_parts import Element, read_parts

_GONE = ("del", "moveFrom", "instrText", "delText", "delInstrText", "Fallback", "rPr", "pPr", "tcPr", "trPr", "tblPr")
_OUTSIDE = {  # what stands beside the text, and how a line calls it
    "txbxContent": "text boxes",
    "object": "embedded objects",
    "altChunk": "embedded files",
}
_SIGNS = {0x2A: "*", 0x2B: "+", 0x2D: "-", 0xA3: "≤", 0xB1: "±", 0xB3: "≥", 0xB4: "×"}  # of the font Symbol
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # which makes no number
_OF_CELLS = ("cellDel", "cellIns", "cellMerge")


@dataclass
class _Document:
    """What a document's styles say, and what is passed over in it so far."""

    hidden: frozenset[str] = frozenset()
    raised: frozenset[str] = frozenset()
    captions: frozenset[str] = frozenset()
    headings: frozenset[str] = frozenset()
    passed: Counter[str] = field(default_factory=Counter)
    blocks: list[Block] = field(default_factory=list)
    struck: frozenset[str] = frozenset()
    fields: list[bool] = field(default_factory=list)  # that have begun: whether it is their result that follows

    def outside(self, parent: Element) -> None:
        """Take the paragraphs and tables of a body, in order."""
        for element in _flat(parent):
            if element.name == "p":
                self.blocks.append(self.paragraph(element))
            elif element.name == "tbl":
                self.table(element)
            elif element.name in _OUTSIDE:
                self.passed[_OUTSIDE[element.name]] += 1

    def paragraph(self, element: Element) -> Paragraph:
        """A paragraph outside tables."""
        style = element.value("pPr", "pStyle") or ""
        text = " ".join(self.text(element).split())
        return Paragraph(text, style in self.captions, style in self.headings)

    def table(self, element: Element) -> None:
        """Take a table; those within its cells come after it."""
        at, before, fault = len(self.blocks), Counter(self.passed), ""
        self.blocks.append(Laid([]))
        layout, inner = Layout(), list[Element]()
        rows = [row for row in _flat(element) if row.name == "tr"]
        shown = [row for row in rows if row.child("trPr", "del") is None and not row.is_on("trPr", "hidden")]
        self.passed["deleted or hidden rows"] += len(rows) - len(shown)
        heights = _heights(shown)
        for number, row in enumerate(shown):
            layout.row()
            for column, wide, cell in _cells(row):
                if any(cell.child("tcPr", name) is not None for name in _OF_CELLS):
                    fault = "has tracked changes of whole cells; accept or reject them, and save it"
                text = self.cell(cell, inner)
                if (height := heights.get((number, column), 1)) > 0:
                    layout.add(text, height, wide, at=column)
        what = self.passed - before
        caption = element.value("tblPr", "tblCaption") or ""
        said = tuple(f"{count} {name}" for name, count in what.items() if count)
        self.blocks[at] = Laid(layout.grid(), caption if caption[:1].isalpha() else "", fault, said)
        for each in inner:
            self.table(each)

    def cell(self, cell: Element, inner: list[Element]) -> str:
        """The text of a cell, a line a paragraph; tables in it are put to `inner`."""
        text, joined = "", True
        for element in _flat(cell):
            if element.name == "tbl":
                inner.append(element)
            elif element.name == "p":
                text += ("" if joined else "\n") + self.text(element)
                mark = element.child("pPr", "rPr")
                joined = mark is not None and (mark.child("del") is not None or mark.child("moveFrom") is not None)
            elif element.name in _OUTSIDE:
                self.passed[_OUTSIDE[element.name]] += 1
        return text.strip()

    def text(self, parent: Element) -> str:
        """The text of a paragraph, or of what is in it."""
        found = ""
        if parent.name == "p":
            self.fields.clear()
        if parent.value("pPr", "pStyle") in self.hidden:
            self.passed["hidden texts"] += 1
            return ""
        for child in parent.elements:
            if child.name == "r":
                found += self.run(child, found)
            elif child.name == "oMath":
                found += _formula(child)
            elif child.name in _OUTSIDE:
                self.passed[_OUTSIDE[child.name]] += 1
            elif child.name in ("del", "moveFrom"):
                self.passed["deletions"] += any(each.name == "r" for each in child.elements)
            elif child.name not in _GONE:
                self.passed["insertions (read)"] += child.name in ("ins", "moveTo")
                found += self.text(child)
        return found

    def run(self, run: Element, before: str) -> str:
        """The text of characters of one look, behind what stands `before`."""
        look = run.child("rPr")
        text = "".join(self.pieces(run))
        if look is None or not text:
            return text
        style = look.value("rStyle")
        if look.is_on("vanish") or (look.value("vanish") is None and style in self.hidden):
            self.passed["hidden texts"] += bool(text.strip())
            return ""
        struck = look.value("strike") is None and look.value("dstrike") is None and style in self.struck
        if (struck or look.is_on("strike") or look.is_on("dstrike")) and text.strip():
            return f" (struck out: {text.strip()})"
        place = look.value("vertAlign")
        moved = look.value("position") not in (None, "", "0")
        if moved or place in ("superscript", "subscript") or (place is None and style in self.raised):
            return raised(before, text)
        return text

    def pieces(self, run: Element) -> Iterator[str]:
        """The texts of a run; of a field its result alone."""
        for child in run.elements:
            if child.name == "fldChar":
                self.mark_of_field(child.attributes.get("fldCharType", ""))
            elif not all(self.fields):
                continue
            elif child.name == "t":
                yield "".join(each for each in child.children if isinstance(each, str))
            elif child.name in ("br", "cr"):
                yield "\n"
            elif child.name in ("tab", "ptab"):
                yield " "
            elif child.name == "noBreakHyphen":
                yield "-"
            elif child.name == "sym":
                yield _sign(child)
            elif child.name in ("drawing", "pict", "object", "AlternateContent"):
                self.beside(child)
                yield _UNKNOWN if _has_text(child) else ""
            elif child.name == "ruby":
                yield _UNKNOWN

    def mark_of_field(self, kind: str) -> None:
        """Take where a field begins, its result follows, or it ends."""
        if kind == "begin":
            self.fields.append(False)
        elif self.fields and kind == "separate":
            self.fields[-1] = True
        elif self.fields:
            self.fields.pop()

    def beside(self, element: Element) -> None:
        """Count what stands in a picture's place."""
        if element.name in _OUTSIDE:
            self.passed[_OUTSIDE[element.name]] += 1
            return
        for child in element.elements:
            if child.name != "Fallback":
                self.beside(child)


def read_word(path: Path) -> tuple[list[PrintedTable], tuple[str, ...]]:
    """The tables of a document, those within cells of others after these, and what beside them is passed over.
    DataError where it cannot be read.
    """
    root, styles = read_parts(path)
    document = _Document()
    if styles is not None:
        hidden = _with(styles, lambda style: style.is_on("rPr", "vanish"), "vanish")
        high = _with(styles, lambda style: style.value("rPr", "vertAlign") == "superscript", "vertAlign")
        struck = _with(styles, lambda style: style.is_on("rPr", "strike") or style.is_on("rPr", "dstrike"), "strike")
        document = _Document(
            hidden, high, _styles(styles, r"caption"), _styles(styles, r"heading \d|title"), struck=struck
        )
    body = root.child("body")
    document.outside(body if body is not None else root)
    told = tuple(f"{count} {name}" for name, count in document.passed.items() if count and name in _OUTSIDE.values())
    return tables_of(document.blocks), told


def _flat(parent: Element) -> Iterator[Element]:
    """The elements of a body, a table, a row or a cell, also those in content controls and the like."""
    for element in parent.elements:
        if element.name in (
            "sdt",
            "sdtContent",
            "customXml",
            "smartTag",
            "ins",
            "moveTo",
            "AlternateContent",
            "Choice",
        ):
            yield from _flat(element)
        elif element.name not in ("del", "moveFrom", "Fallback"):
            yield element


def _heights(rows: list[Element]) -> dict[tuple[int, int], int]:
    """Over how many rows a merged cell stands, by row and column; 0 where it stands in a row above."""
    found, open_ = dict[tuple[int, int], int](), dict[int, int]()
    for number, row in enumerate(rows):
        still = dict[int, int]()
        for column, _, cell in _cells(row):
            merge = cell.value("tcPr", "vMerge")
            if merge == "restart":
                still[column] = number
                found[number, column] = 1
            elif merge is not None and column in open_:
                still[column] = open_[column]
                found[number, column] = 0
                found[open_[column], column] += 1
        open_ = still
    return found


def _cells(row: Element) -> Iterator[tuple[int, int, Element]]:
    """The cells of a row: the first column of each, and over how many it stands."""
    column, cells = _whole(row.value("trPr", "gridBefore"), 0), [each for each in _flat(row) if each.name == "tc"]
    at = 0
    while at < len(cells):
        cell, wide = cells[at], _whole(cells[at].value("tcPr", "gridSpan"), 1)
        at += 1
        while at < len(cells) and cells[at].value("tcPr", "hMerge") in ("", "continue"):
            wide += _whole(cells[at].value("tcPr", "gridSpan"), 1)
            at += 1
        yield column, wide, cell
        column += wide


def _whole(text: str | None, least: int) -> int:
    return max(least, min(int(text), 1000)) if text and text.isdecimal() else least


def _sign(element: Element) -> str:
    """A sign of a font of signs."""
    code = element.attributes.get("char", "")
    if element.attributes.get("font", "") != "Symbol" or not re.fullmatch(r"[0-9A-Fa-f]{4}", code):
        return _UNKNOWN
    return _SIGNS.get(int(code, 16) & 0xFF, _UNKNOWN)


def _has_text(element: Element) -> bool:
    """Whether text stands in it, and in no box."""
    return any(each.name == "t" or (each.name not in _OUTSIDE and _has_text(each)) for each in element.elements)


def _formula(element: Element) -> str:
    """The text of a formula that is all in one line, without tracked changes."""
    changed = any(each.child("del") or each.child("rPr", "del") for each in element.elements)
    if not changed and all(each.name in ("r", "rPr", "ctrlPr") for each in element.elements):
        runs = (each.child("t") for each in element.elements)
        return "".join(text for run in runs if run is not None for text in run.children if isinstance(text, str))
    return _UNKNOWN


def _styles(styles: Element, named: str) -> frozenset[str]:
    """Ids of styles of a name."""
    return frozenset(
        style.attributes.get("styleId", "")
        for style in styles.elements
        if style.name == "style" and re.fullmatch(named, (style.value("name") or "").casefold())
    )


def _with(styles: Element, has: Callable[[Element], bool], named: str) -> frozenset[str]:
    """Ids of styles whose text is so, by themselves or as they are based on one; `named`: the property."""
    known = {style.attributes.get("styleId", ""): style for style in styles.elements if style.name == "style"}
    found = {name for name, style in known.items() if has(style)}
    for _ in range(10):  # as deep as styles are based on each other
        found |= {
            name
            for name, style in known.items()
            if style.value("basedOn") in found and style.value("rPr", named) is None
        }
    return frozenset(found)
