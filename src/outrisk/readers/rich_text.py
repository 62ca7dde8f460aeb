"""Tables of a document in RTF, as Stata's esttab, R's gt and word processors write it; pictures and objects are passed
over unread.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field, replace

from outrisk.errors import DataError
from outrisk.readers.document_blocks import Block, Laid, Paragraph, tables_of
from outrisk.readers.printed_tables import Layout, PrintedTable, raised

_TOKEN = re.compile(r"\\([A-Za-z]+)(-?\d{1,9})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z'])|([{}])|([\r\n]+)|([^\\{}\r\n]+)")
_PASSED = {"pict": "pictures", "object": "embedded objects", "shptxt": "text boxes", "shp": "text boxes"}
_ASIDE = frozenset(
    {"fonttbl", "colortbl", "stylesheet", "info", "header", "headerl", "headerr", "headerf", "footer", "footerl"}
    | {"footerr", "footerf", "footnote", "annotation", "fldinst", "listtable", "generator", "themedata", *_PASSED}
    | {"xe", "tc", "bkmkstart", "bkmkend", "datafield", "ftnsep", "ftnsepc", "pntext", "listtext", "do"}
)
_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_SIGNS = {
    **{"emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•"},
    **{"tab": " ", "emspace": " ", "enspace": " ", "qmspace": " "},
}
_OF_SYMBOLS = ("~", "_", "-")  # a space that holds, a hyphen that holds, one that is not shown
_NEAR = 20  # twips by which edges of a column may differ
_DEEPEST = 1_000
_BEFORE = 20  # pieces of text that a raised one is looked at beside


@dataclass(frozen=True)
class _Look:
    """How text looks where it stands: in a group that is not shown, deleted, hidden, struck out, raised."""

    aside: bool = False
    deleted: bool = False
    hidden: bool = False
    struck: bool = False
    high: bool = False
    skip: int = 1  # characters behind \u that stand for it


@dataclass
class _Row:
    """A row: edges of its cells in twips, how each is merged, and their texts."""

    edges: list[int] = field(default_factory=list)
    merges: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    left: int = 0


class _Document:
    """What is met in an RTF text, from its beginning to its end."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.passed: Counter[str] = Counter()
        self.page = "cp1252"
        self._looks = [_Look()]
        self._rows: list[_Row] = []
        self._edges: tuple[int, list[int], list[str]] = (0, [], [])
        self._merge = ""
        self._text: list[str] = []
        self._cells: list[str] = []
        self._in_table = False
        self._fault = ""
        self._left = 0  # characters to pass over behind \u
        self._bytes = b""

    def read(self, text: str) -> list[PrintedTable]:
        """The tables of an RTF text."""
        for found in _TOKEN.finditer(text):
            word, number, code, sign, brace, _, plain = found.groups()
            if code is None:
                self._flush()
            if brace:
                self._left = 0  # which what stands for a sign ends at
            if brace == "{":
                self._looks.append(self._looks[-1])
                if len(self._looks) > _DEEPEST:
                    raise DataError(f"an RTF text of more than {_DEEPEST} groups within each other is not read")
            elif brace == "}":
                self._looks = self._looks[:-1] or [_Look()]
            elif word:
                self._word(word, None if number is None else int(number))
            elif code:
                self._left, old = max(0, self._left - 1), self._left
                self._bytes += b"" if old else bytes([int(code, 16)])
            elif sign == "*":
                self._set(aside=True)
            elif sign in _OF_SYMBOLS:
                self._add({"~": "\N{NO-BREAK SPACE}", "_": "-", "-": ""}[sign])
            elif sign and sign in "{}\\":
                self._add(sign)
            elif sign in ("\n", "\r"):
                self._word("par", None)
            elif plain:
                gone = min(self._left, len(plain))
                self._left -= gone
                self._add(self._decoded(plain[gone:]))
        self._flush()
        self._end_table()
        self._paragraph()
        return tables_of(self.blocks)

    def _set(self, **changes: bool | int) -> None:
        self._looks[-1] = replace(self._looks[-1], **changes)  # type: ignore[arg-type]

    def _flush(self) -> None:
        if self._bytes:
            held, self._bytes = self._bytes, b""
            self._add(held.decode(self.page, errors="replace"))

    def _decoded(self, text: str) -> str:
        """A text whose signs beyond ASCII may be the bytes of the text's code page."""
        if text.isascii() or any(ord(sign) > 255 for sign in text):
            return text
        return text.encode("latin-1").decode(self.page, errors="replace")

    def _taken(self) -> str:
        """The text so far, which ends here."""
        text, self._text = "".join(self._text), []
        return text

    def _add(self, text: str) -> None:
        look = self._looks[-1]
        if look.aside or not text:
            return
        if look.deleted or look.hidden:
            self.passed["deletions" if look.deleted else "hidden texts"] += bool(text.strip())
            return
        if look.struck and text.strip():
            text = f" (struck out: {text.strip()})"
        text = raised("".join(self._text[-_BEFORE:]), text) if look.high else text
        if text:
            self._text.append(text)

    def _word(self, word: str, number: int | None) -> None:
        """Take a control word."""
        on = number != 0
        if word in _ASIDE:
            if word in _PASSED and not self._looks[-1].aside:
                self.passed[_PASSED[word]] += 1
            self._set(aside=True)
        elif word == "bin":
            raise DataError("an RTF text with binary parts is not read; save it without pictures")
        elif self._looks[-1].aside:
            return
        elif word == "u" and number is not None:
            self._add(chr(number % 65536))
            self._left = self._looks[-1].skip
        elif word == "uc":
            self._set(skip=max(0, number or 0))
        elif word == "ansicpg" and number:
            self.page = _page("utf-8" if number == 65001 else f"cp{number}")
        elif word in _PAGES:
            self.page = _PAGES[word]
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif word in ("deleted", "v", "strike", "striked"):
            name = {"deleted": "deleted", "v": "hidden"}.get(word, "struck")
            self._set(**{name: on})
        elif word in ("super", "sub"):
            self._set(high=on)
        elif word == "nosupersub":
            self._set(high=False)
        elif word in ("up", "dn"):
            self._set(high=bool(number) or number is None)
        elif word == "plain":
            self._set(deleted=False, hidden=False, struck=False, high=False)
        else:
            self._layout(word, number or 0)

    def _layout(self, word: str, number: int) -> None:
        """Take a control word of paragraphs and rows."""
        if word == "trowd":
            if not self._in_table:
                self._paragraph()
            self._in_table, self._edges, self._merge = True, (0, [], []), ""
        elif word == "trleft":
            self._edges = (number, *self._edges[1:])
        elif word in ("clvmgf", "clvmrg", "clmgf", "clmrg"):
            self._merge += word[2:]
        elif word == "cellx":
            self._edges[1].append(number)
            self._edges[2].append(self._merge)
            self._merge = ""
        elif word == "intbl":
            self._in_table = True
        elif word == "cell":
            self._cells.append(self._taken().strip())
        elif word == "row":
            self._rows.append(_Row([*self._edges[1]], [*self._edges[2]], self._cells, self._edges[0]))
            self._cells, self._text, self._in_table = [], [], False
        elif word in ("nestcell", "nestrow"):
            self._fault = "has a table within a cell, which is not read in RTF; save it as docx"
        elif word in ("par", "line", "page", "sect"):
            if self._in_table:
                self._text.append("\n")
            else:
                self._end_table()
                self._paragraph()

    def _paragraph(self) -> None:
        if text := " ".join(self._taken().split()):
            self.blocks.append(Paragraph(text))

    def _end_table(self) -> None:
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        fault, self._fault = self._fault, ""
        if any(len(row.texts) > len(row.edges) for row in rows):
            fault = fault or "has more cells in a row than the row has columns"
        edges = _merged(sorted({edge for row in rows for edge in (row.left, *row.edges)}))
        layout = Layout()
        heights = _heights(rows, edges)
        for number, row in enumerate(rows):
            layout.row()
            for at, end, text in _placed(row, edges):
                if (height := heights.get((number, at), 1)) > 0:
                    layout.add(text, height, end - at, at=at)
        held = tuple(f"{count} {name}" for name, count in self.passed.items() if count)
        self.blocks.append(Laid(layout.grid(), fault=fault, passed=held))


def read_rich_text(text: str) -> list[PrintedTable]:
    """The tables of an RTF text; DataError where it cannot be read."""
    return _Document().read(text)


def _page(name: str) -> str:
    """A code page; ASCII, beside which no sign is known, for one that Python does not know."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "ascii"


def _merged(edges: list[int]) -> list[int]:
    """Edges without those next to another."""
    found = list[int]()
    for edge in edges:
        if not found or edge - found[-1] > _NEAR:
            found.append(edge)
    return found


def _column(edge: int, edges: list[int]) -> int:
    return min(bisect_left(edges, edge - _NEAR), len(edges) - 1)


def _placed(row: _Row, edges: list[int]) -> list[tuple[int, int, str]]:
    """The cells of a row: first column, the column behind the last, text; those merged to the right are one."""
    found = list[tuple[int, int, str]]()
    at = _column(row.left, edges)
    for edge, merge, text in zip(row.edges, row.merges, [*row.texts, *[""] * len(row.edges)], strict=False):
        end = max(_column(edge, edges), at + 1)
        if found and "mrg" in merge.replace("vmrg", ""):
            found[-1] = (found[-1][0], end, found[-1][2])
        else:
            found.append((at, end, text))
        at = end
    return found


def _heights(rows: list[_Row], edges: list[int]) -> dict[tuple[int, int], int]:
    """Over how many rows a merged cell stands, by row and column; 0 where it stands in a row above."""
    found, open_ = dict[tuple[int, int], int](), dict[int, int]()
    for number, row in enumerate(rows):
        still, at = dict[int, int](), _column(row.left, edges)
        for edge, merge in zip(row.edges, row.merges, strict=True):
            if "vmgf" in merge:
                still[at], found[number, at] = number, 1
            elif "vmrg" in merge and at in open_:
                still[at], found[number, at] = open_[at], 0
                found[open_[at], at] += 1
            at = max(_column(edge, edges), at + 1)
        open_ = still
    return found
