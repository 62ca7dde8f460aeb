"""Tables of a web page, with what stands about them; nothing in the page is followed or run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from outrisk.readers.document_blocks import Block, Laid, Paragraph, tables_of
from outrisk.readers.printed_tables import Layout, PrintedTable, raised

_BREAKS = frozenset({"br", "p", "div", "li"})
_PARAGRAPHS = frozenset({"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "body", "section", "br", "hr"})
_UNSEEN = frozenset({"script", "style", "title", "template", "noscript", "del", "svg", "mjx-assistive-mml"})
_TWICE = frozenset({"katex-mathml", "MJX_Assistive_MathML"})  # classes of formulas that stand there once more
_NOT_IN_A_LINE = frozenset(
    {"msup", "msub", "mfrac", "mroot", "msqrt", "mover", "munder", "select", "textarea", "input"}
)
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # which makes no number
_ENDED_BY = {
    "tr": {"tr"},
    "td": {"td", "th", "tr"},
    "th": {"td", "th", "tr"},
    "p": {"p", "div", "table", "tr", "td", "th"},
}
_GROUPS = frozenset({"thead", "tbody", "tfoot"})
_STRUCK = frozenset({"s", "strike"})
_RAISED = frozenset({"sup", "sub"})
_INLINE = frozenset({"span", "font", "a", "em", "i", "b", "strong", "small", "u", "code"})
_EMPTY = frozenset({"br", "hr", "img", "input", "meta", "link", "col", "wbr", "area", "base", "source", "embed"})
_HIGH = re.compile(r"vertical-align\s*:\s*(?:super|sub\b|text-top|text-bottom)|position\s*:\s*relative", re.I)
_LINE_THROUGH = re.compile(r"text-decoration[\w-]*\s*:[^;]*line-through", re.I)
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|"
    r"(?:opacity|font-size)\s*:\s*0+(?:\.0*)?(?:[a-z%]*)\s*(?:;|$)",
    re.I,
)
_MOST_ROWS = 2_000_000
_BEFORE = 20  # pieces of text that a raised one is looked at beside


@dataclass
class _Open:
    """A table that has begun: its cells so far, the text of the one that is open, its caption."""

    at: int
    layout: Layout = field(default_factory=Layout)
    cell: list[str] | None = None
    rows: int = 1
    columns: int = 1
    head: bool = False
    caption: list[str] = field(default_factory=list)
    in_caption: bool = False

    def end(self) -> None:
        """End a cell."""
        if self.cell is not None:
            text = "\n".join(" ".join(line.split()) for line in "".join(self.cell).split("\n")).strip()
            self.layout.add(text, self.rows, self.columns, self.head)
        self.cell = None


class _Page(HTMLParser):
    """Cells of the tables of a page; a table within a cell counts as its own, after the one that it is in."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._open: list[_Open] = []
        self._unseen: list[str] = []  # elements within one whose text is not shown
        self._marks: list[tuple[str, str, list[str]]] = []  # raised and struck texts that have begun
        self._text: list[str] = []
        self._heading = False
        self._rules: dict[str, str] = {}  # by class, how its text looks
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row, a cell, or what makes text look otherwise."""
        said = {name: value or "" for name, value in attrs}
        while self._unseen and tag in _ENDED_BY.get(self._unseen[-1], ()):
            self._unseen.pop()  # whose end is not written
        self._in_style = tag == "style"
        look = ";".join((*(self._rules.get(name, "") for name in said.get("class", "").split()), said.get("style", "")))
        twice = not _TWICE.isdisjoint(said.get("class", "").split())
        hidden = tag in _UNSEEN or twice or "hidden" in said or _HIDDEN.search(look) is not None
        if self._unseen or (hidden and tag not in _EMPTY):
            if tag not in _EMPTY:
                self._unseen.append(tag)
            return
        if tag in _NOT_IN_A_LINE and said.get("type") != "hidden":
            self._add(_UNKNOWN)
        if tag in _RAISED | _STRUCK:
            self._marks.append((tag, "struck" if tag in _STRUCK else "high", []))
        elif tag in _INLINE:
            kind = "high" if _HIGH.search(look) else "struck" if _LINE_THROUGH.search(look) else ""
            self._marks.append((tag, kind, []))
        elif tag == "table":
            self._paragraph()
            self.blocks.append(Laid([]))
            self._open.append(_Open(len(self.blocks) - 1))
        elif self._open and tag in ("tr", "td", "th", "caption"):
            self._in_table(tag, said)
        elif tag in _GROUPS and self._open:
            self._open[-1].end()
            self._open[-1].layout.group()
        elif tag in _BREAKS and self._open:
            self._add("\n")
        elif tag in _PARAGRAPHS:
            self._paragraph()
            self._heading = re.fullmatch(r"h\d", tag) is not None

    def _in_table(self, tag: str, said: dict[str, str]) -> None:
        table = self._open[-1]
        self._end_marks()
        table.end()
        table.in_caption = tag == "caption"
        if tag == "tr" or (tag in ("td", "th") and not table.layout.height):
            table.layout.row()
        if tag in ("td", "th"):
            table.cell, table.head = [], tag == "th"
            down = said.get("rowspan", "")
            table.rows = _MOST_ROWS if down == "0" else _whole(down)
            table.columns = _whole(said.get("colspan", ""))

    def handle_endtag(self, tag: str) -> None:
        """End what has begun."""
        if self._unseen:
            if tag in self._unseen:
                while self._unseen.pop() != tag:
                    pass
            return
        if self._marks and tag == self._marks[-1][0]:
            self._end_mark()
        elif self._open and tag in ("td", "th", "tr"):
            self._end_marks()
            self._open[-1].end()
        elif self._open and tag == "caption":
            self._open[-1].in_caption = False
        elif self._open and tag == "table":
            self._end_table()
        elif tag in _PARAGRAPHS and not self._open:
            self._paragraph()

    def _end_mark(self) -> None:
        _, kind, texts = self._marks.pop()
        text = "".join(texts)
        if kind == "struck":
            text = f" (struck out: {text.strip()})" if text.strip() else ""
        elif kind == "high":
            text = raised("".join(self._before()), text)
        self._add(text)

    def _end_marks(self) -> None:
        while self._marks:
            self._end_mark()

    def _end_table(self) -> None:
        self._end_marks()
        table = self._open.pop()
        table.end()
        self.blocks[table.at] = Laid(table.layout.grid(), " ".join("".join(table.caption).split()))

    def handle_data(self, data: str) -> None:
        """Text of a cell, or of a paragraph."""
        if self._in_style:
            for name, rule in _rules(data):
                self._rules[name] = f"{self._rules.get(name, '')};{rule}"
        if not self._unseen:
            self._add(" ".join(re.split(r"[\n\r\t\f ]+", data)))

    def _buffer(self) -> list[str]:
        """Where text goes: to what is raised, to a cell, a caption or a paragraph."""
        return self._marks[-1][2] if self._marks else self._outer()

    def _before(self) -> list[str]:
        """The last pieces of text before a place, as far as a mark of it may belong to them."""
        inside = [piece for _, _, pieces in self._marks[-_BEFORE:] for piece in pieces[-_BEFORE:]]
        return [*self._outer()[-_BEFORE:], *inside]

    def _outer(self) -> list[str]:
        """The text of the cell, caption or paragraph that is open."""
        if self._open:
            table = self._open[-1]
            return table.caption if table.in_caption else table.cell if table.cell is not None else []
        return self._text

    def _add(self, text: str) -> None:
        self._buffer().append(text)

    def _paragraph(self) -> None:
        text = " ".join("".join(self._text).split())
        if text and not self._open:
            self.blocks.append(Paragraph(text, heading=self._heading))
        self._text, self._heading = [], False

    def close(self) -> None:
        """End the page, also where its tables do not."""
        super().close()
        self._end_marks()
        while self._open:
            self._end_table()
        self._paragraph()


def read_page(text: str) -> list[PrintedTable]:
    """The tables of a page; DataError for one that is too large."""
    page = _Page()
    page.feed(text)
    page.close()
    return tables_of(page.blocks)


def _rules(style: str) -> Iterator[tuple[str, str]]:
    """Classes whose own elements a style sheet has rules for, with these."""
    for part in style.split("}"):
        selectors, _, rule = part.rpartition("{")
        for selector in selectors.rpartition("{")[2].split(","):
            if found := re.search(r"\.([\w-]+)$", selector.strip()[-200:]):
                yield found[1], rule


def _whole(text: str) -> int:
    return min(int(text), _MOST_ROWS) if text.isdecimal() and len(text) < 8 and int(text) else 1
