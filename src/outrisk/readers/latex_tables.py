"""Tables of a LaTeX text, as stargazer, xtable, esttab, modelsummary and pandas write them."""

from __future__ import annotations

import re

from outrisk.readers.document_blocks import Block, Laid, Paragraph, tables_of
from outrisk.readers.latex_text import argument, shown
from outrisk.readers.printed_tables import Layout, PrintedTable

_ENVIRONMENTS = (
    r"tabular\*?|tabularx|tabulary|longtable\*?|longtblr|talltblr|tblr|xltabular|array|supertabular|NiceTabular"
)
_BEGIN = re.compile(rf"\\begin\{{({_ENVIRONMENTS})\}}")
_WIDE = ("tabular*", "tabularx", "tabulary", "xltabular")  # whose width is given first
_NEW = ("longtblr", "talltblr", "tblr")  # of tabularray, whose settings are one argument
_ROWS_OR_COLUMNS = re.compile(r"\\SetCell\s*\[[^\]]*\b[rc]\s*=")  # of tabularray: cells that are one


def read_latex(text: str) -> list[PrintedTable]:
    """The tables of a LaTeX text."""
    text = _seen(text)
    blocks, at = list[Block](), 0
    while found := _BEGIN.search(text, at):
        blocks += _paragraphs(text[at : found.start()])
        end = _end(text, found[1], found.end())
        blocks.append(_table(text[found.end() : end], found[1], _captions(text, found.start(), end)))
        at = end
    return tables_of([*blocks, *_paragraphs(text[at:])])


def is_latex(text: str) -> bool:
    """Whether a text has a table of LaTeX."""
    return _BEGIN.search(text) is not None


def _seen(text: str) -> str:
    """The text without comments and what is switched off."""
    text = re.sub(r"(?<!\\)%[^\n]*\n?", "", text.replace("\\\\%", "\\\\ %"))
    return _without(_without(text, r"\\begin\{comment\}", r"\\end\{comment\}"), r"\\iffalse\b", r"\\fi\b")


def _without(text: str, begin: str, end: str) -> str:
    """A text without what stands from a command to another; without the rest where the other is not there."""
    kept, at = list[str](), 0
    while found := re.compile(begin).search(text, at):
        kept.append(text[at : found.start()])
        ends = re.compile(end).search(text, found.end())
        at = ends.end() if ends else len(text)
    return "".join([*kept, text[at:]])


def _end(text: str, name: str, start: int) -> int:
    found = text.find(f"\\end{{{name}}}", start)
    return len(text) if found < 0 else found


def _captions(text: str, start: int, end: int) -> str:
    """The caption of the table environment that a tabular stands in, or of a long table itself."""
    begin = max(text.rfind("\\begin{table", 0, start), text.rfind("\\end{table", 0, start), 0)
    stop = text.find("\\end{table", end)
    inside = text[begin:stop] if text.startswith("\\begin{table", begin) and stop >= 0 else text[start:end]
    return _caption(inside)


def _caption(text: str) -> str:
    found = re.search(r"\\caption\*?\s*(?:\[[^\]]*\])?\s*(?=\{)", text) or re.search(r"\bcaption\s*=\s*(?=\{)", text)
    return " ".join(shown(argument(text, found.end())[0]).split()) if found else ""


def _paragraphs(text: str) -> list[Block]:
    text = re.sub(r"\\(?:begin|end)\{[^}]*\}(?:\[[^\]]*\])?|\\item\b", "\n\n", text)
    text = re.sub(r"\\caption\*?(?:\[[^\]]*\])?\{(?:[^{}]|\{[^{}]*\})*\}|\\label\{[^}]*\}", "\n\n", text)
    text = re.sub(r"\\(?:def|newcommand|renewcommand|usepackage|documentclass|setlength|input)\b[^\n]*", "", text)
    lines = (" ".join(shown(each).split()) for each in re.split(r"\n\s*\n|\\\\", text))
    return [Paragraph(line) for line in lines if re.search(r"\w{2}", line)]


def _table(text: str, name: str, caption: str) -> Laid:
    """The cells of a tabular, from behind its \\begin."""
    at, fault, notes = 0, "", list[str]()
    text, options = _without_options(text)
    for _ in range(2 if name in _WIDE else 1):
        settings, at = argument(text, at)
    body, layout = _without_repeats(text[at:]), Layout()
    if re.search(r"\\if[a-z]+\b|\\begin\{(?:tabular|array)", body) or (
        name in _NEW and ("cell{" in settings or _ROWS_OR_COLUMNS.search(body))
    ):
        fault = "has commands or tables in its cells of which it does not show what is printed; give it as CSV"
    open_ = dict[int, int]()
    for row in _split(body, "\\\\"):
        cells = [each.strip() for each in _split(row, "&")]
        if not any(shown(cell).strip() for cell in cells):
            continue
        layout.row()
        column = 0
        for cell in cells:
            wide, high, inner = _spans(cell)
            if open_.get(column, 0) > 0 and not shown(inner).strip():
                column += wide
                continue
            layout.add(shown(inner).strip(), high, wide, at=column)
            open_[column] = high
            column += wide
        open_ = {key: left - 1 for key, left in open_.items()}
    notes += [
        " ".join(shown(each).split())
        for each in re.findall(r"note\{[^}]*\}\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}", options)
    ]
    return Laid(layout.grid(), caption or _caption(options), fault, notes=tuple(notes))


def _without_repeats(body: str) -> str:
    """The rows of a long table as it begins: without its caption, and the heads and feet of its other pages."""
    body = body.replace("\\tabularnewline", "\\\\ ")
    while found := re.search(r"\\caption\*?\s*(?:\[[^\]]*\])?\s*(?=\{)", body):
        _, end = argument(body, found.end())
        rest = re.sub(r"^\s*(?:\\label\{[^}]*\})?\s*\\\\", "", body[end:])
        body = body[: found.start()] + rest
    parts = re.split(r"\\(end(?:firsthead|head|foot|lastfoot))\b", body)
    by_name = dict(zip(parts[1::2], parts[::2], strict=False))
    return by_name.get("endfirsthead", by_name.get("endhead", "")) + parts[-1] + by_name.get("endlastfoot", "")


def _without_options(text: str) -> tuple[str, str]:
    """A text behind \\begin without its optional arguments, and these."""
    options = ""
    while found := re.match(r"\s*\[", text):
        depth, at = 0, found.end()
        while at < len(text) and (text[at] != "]" or depth):
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        options, text = options + text[found.end() : at], text[at + 1 :]
    return text, options


def _spans(cell: str) -> tuple[int, int, str]:
    """Over how many columns and rows a cell stands, and what is in it."""
    wide, high = 1, 1
    for _ in range(2):
        found = re.search(r"\\(multicolumn|multirow)\s*(?:\[[^\]]*\])?\s*\{\s*(-?\d+)\s*\}", cell)
        if not found:
            break
        size = min(abs(int(found[2])), 1000) or 1
        wide, high = (size, high) if found[1] == "multicolumn" else (wide, size)
        at = found.end()
        while option := re.match(r"\s*\[[^\]]*\]", cell[at:]):
            at += option.end()
        _, at = argument(cell, at)
        while option := re.match(r"\s*\[[^\]]*\]", cell[at:]):
            at += option.end()
        inner, end = argument(cell, at)
        cell = f"{cell[: found.start()]}{inner}{cell[end:]}"
    return wide, high, cell


def _split(text: str, sign: str) -> list[str]:
    """A text at a sign outside braces."""
    parts, depth, start, at = list[str](), 0, 0, 0
    while at < len(text):
        if depth == 0 and text.startswith(sign, at):
            parts.append(text[start:at])
            at += len(sign)
            if sign == "\\\\" and (space := re.match(r"\*?\s*\[[-\d.]+\s*[a-z]+\]|\*", text[at:])):
                at += space.end()
            start = at
            continue
        if text[at] == "\\":
            at += 2
            continue
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return [*parts, text[start:]]
