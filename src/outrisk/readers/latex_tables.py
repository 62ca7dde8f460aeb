"""Tables of a LaTeX text, as stargazer, xtable, esttab, modelsummary and pandas write them. What a command does that is
not known is not guessed: a number in it is none.
"""

from __future__ import annotations

import re

from outrisk.readers.document_blocks import Block, Laid, Paragraph, tables_of
from outrisk.readers.printed_tables import Layout, PrintedTable, raised

_ENVIRONMENTS = (
    r"tabular\*?|tabularx|tabulary|longtable\*?|longtblr|talltblr|tblr|xltabular|array|supertabular|NiceTabular"
)
_BEGIN = re.compile(rf"\\begin\{{({_ENVIRONMENTS})\}}")
_WIDE = ("tabular*", "tabularx", "tabulary", "xltabular")  # whose width is given first
_NEW = ("longtblr", "talltblr", "tblr")  # of tabularray, whose settings are one argument
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # which makes no number
_SHOWN = frozenset(  # commands that show their argument as it is
    {"textit", "textbf", "emph", "textrm", "textsf", "texttt", "textsc", "mathrm", "mathit", "mathbf", "text", "mbox"}
    | {"underline", "sym", "num", "numprint", "makecell", "shortstack", "boldsymbol", "bfseries", "hbox", "makebox"}
    | {
        "textnormal",
        "thead",
        "rotatebox",
        "resizebox",
        "textup",
        "bm",
        "ensuremath",
        "tablenum",
        "multicell",
        "adjustbox",
    }
)
_LAST = {"textcolor": 2, "multicolumn": 3, "multirow": 3, "rotatebox": 2, "resizebox": 3, "raisebox": 2, "scalebox": 2}
_GONE = {  # commands that show nothing, and how many arguments they have
    **dict.fromkeys(("label", "cite", "footnote", "hspace", "vspace", "phantom", "hphantom", "vphantom", "color"), 1),
    **dict.fromkeys(
        ("rowcolor", "cellcolor", "columncolor", "cmidrule", "cline", "addlinespace", "fontsize", "hskip"), 1
    ),
    **dict.fromkeys(
        ("footnotemark", "tnote", "arraystretch", "SetCell", "specialrule", "href", "cmidrule", "noalign"), 1
    ),
    "rule": 2,
}
_SIGNS = {
    **{
        "textminus": "-",
        "textendash": "–",
        "textemdash": "—",
        "pm": "±",
        "times": "×",
        "cdot": "·",
        "le": "≤",
        "leq": "≤",
    },
    **{"ge": "≥", "geq": "≥", "dagger": "†", "ddagger": "‡", "ast": "*", "textasteriskcentered": "*", "star": "*"},
    **{"textless": "<", "textgreater": ">", "lt": "<", "gt": ">", "ldots": "...", "dots": "...", "textdagger": "†"},
    **{
        "textbackslash": "\\",
        "textasciitilde": "~",
        "textpm": "±",
        "beta": "β",
        "chi": "χ",
        "alpha": "α",
        "sigma": "σ",
    },
    **dict.fromkeys(
        [
            "hline",
            "toprule",
            "midrule",
            "bottomrule",
            "centering",
            "raggedright",
            "raggedleft",
            "small",
            "footnotesize",
            "scriptsize",
            "tiny",
            "normalsize",
            "large",
            "bfseries",
            "itshape",
            "endhead",
            "endfirsthead",
            "endfoot",
            "endlastfoot",
            "nobreak",
            "quad",
            "qquad",
            "enspace",
            "thinspace",
            "hfill",
            "noindent",
            "par",
            "Xhline",
            "displaystyle",
            "cr",
            "left",
            "right",
            "bf",
            "it",
            "rm",
            "arraybackslash",
            "relax",
            "newline",
            "smallskip",
            "medskip",
            "bigskip",
        ],
        " ",
    ),
}
_TOKEN = re.compile(r"\\([A-Za-z]+)\*?|\\(.)|([{}$&~^_])|(---|--)|([^\\{}$&~^_-]+|-)", re.S)


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
    text = re.sub(r"\\begin\{comment\}.*?\\end\{comment\}", "", text, flags=re.S)
    return re.sub(r"\\iffalse\b.*?\\fi\b", "", text, flags=re.S)


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
    return " ".join(_shown(_argument(text, found.end())[0]).split()) if found else ""


def _paragraphs(text: str) -> list[Block]:
    text = re.sub(r"\\(?:begin|end)\{[^}]*\}(?:\[[^\]]*\])?|\\item\b", "\n\n", text)
    text = re.sub(r"\\caption\*?(?:\[[^\]]*\])?\{(?:[^{}]|\{[^{}]*\})*\}|\\label\{[^}]*\}", "\n\n", text)
    text = re.sub(r"\\(?:def|newcommand|renewcommand|usepackage|documentclass|setlength|input)\b[^\n]*", "", text)
    lines = (" ".join(_shown(each).split()) for each in re.split(r"\n\s*\n|\\\\", text))
    return [Paragraph(line) for line in lines if re.search(r"\w{2}", line)]


def _table(text: str, name: str, caption: str) -> Laid:
    """The cells of a tabular, from behind its \\begin."""
    at, fault, notes = 0, "", list[str]()
    text, options = _without_options(text)
    for _ in range(2 if name in _WIDE else 1):
        argument, at = _argument(text, at)
    body, layout = _without_repeats(text[at:]), Layout()
    if re.search(r"\\if[a-z]+\b|\\begin\{(?:tabular|array)", body) or (name in _NEW and "cell{" in argument):
        fault = "has commands or tables in its cells of which it does not show what is printed; give it as CSV"
    open_ = dict[int, int]()
    for row in _split(body, "\\\\"):
        cells = [each.strip() for each in _split(row, "&")]
        if not any(_shown(cell).strip() for cell in cells):
            continue
        layout.row()
        column = 0
        for cell in cells:
            wide, high, inner = _spans(cell)
            if open_.get(column, 0) > 0 and not _shown(inner).strip():
                column += wide
                continue
            layout.add(_shown(inner).strip(), high, wide, at=column)
            open_[column] = high
            column += wide
        open_ = {key: left - 1 for key, left in open_.items()}
    notes += [
        " ".join(_shown(each).split())
        for each in re.findall(r"note\{[^}]*\}\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}", options)
    ]
    return Laid(layout.grid(), caption or _caption(options), fault, notes=tuple(notes))


def _without_repeats(body: str) -> str:
    """The rows of a long table as it begins: without its caption, and the heads and feet of its other pages."""
    body = body.replace("\\tabularnewline", "\\\\ ")
    while found := re.search(r"\\caption\*?\s*(?:\[[^\]]*\])?\s*(?=\{)", body):
        _, end = _argument(body, found.end())
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
        _, at = _argument(cell, at)
        while option := re.match(r"\s*\[[^\]]*\]", cell[at:]):
            at += option.end()
        inner, end = _argument(cell, at)
        cell = f"{cell[: found.start()]}{inner}{cell[end:]}"
    return wide, high, cell


def _argument(text: str, at: int) -> tuple[str, int]:
    """What stands in the braces at a place, or the next sign; and the place behind it."""
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or text[at] != "{":
        command = re.match(r"\\[A-Za-z]+", text[at:])
        end = at + (command.end() if command else 1)
        return text[at:end], min(end, len(text))
    depth, start = 0, at
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
        if not depth:
            break
    return text[start + 1 : at - 1], at


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


def _shown(text: str, deep: int = 0, formula: bool = False) -> str:
    """What is printed of a text; of a command that is not known, a sign that makes no number."""
    found, at = "", 0
    while at < len(text) and deep < 50:
        token = _TOKEN.match(text, at)
        if token is None:
            at += 1
            continue
        at, start = token.end(), at
        word, sign, special, dash, plain = token.groups()
        if word:
            shown, at = _of_command(word, text, at, deep)
            found += shown
        elif sign:
            found += {"\\": "\n", ",": "\N{THIN SPACE}", ";": " ", ":": " ", " ": " ", "!": "", "-": "", "/": ""}.get(
                sign, sign
            )
        elif special == "{":
            inner, at = _argument(text, start)
            found += _shown(inner, deep + 1, formula)
        elif special == "$":
            formula = not formula
        elif special == "_" and not formula:  # as programs write names that they forgot to escape
            found += "_"
        elif special in ("^", "_") and special:
            inner, at = _argument(text, at)
            found += raised(found, _shown(inner, deep + 1))
        elif special == "~":
            found += " "
        elif dash:
            found += "–" if dash == "--" else "—"
        elif plain:
            found += re.sub(r"\s+", " ", plain)
    return found


def _of_command(word: str, text: str, at: int, deep: int) -> tuple[str, int]:
    """What a command shows, and the place behind it."""
    while option := re.match(r"\s*(?:\[[^\]]*\]|\((?:l|r|lr|rl)[^)]*\))", text[at:]) if word not in _SIGNS else None:
        at += option.end()
    if word in _GONE:
        for _ in range(_GONE[word]):
            _, at = _argument(text, at) if re.match(r"\s*\{", text[at:]) else ("", at)
        return "", at
    if word in ("textsuperscript", "textsubscript"):
        inner, at = _argument(text, at)
        return raised("0" if re.search(r"[\d)\]]\s*\\text\w+script", text[:at]) else "a", _shown(inner, deep + 1)), at
    if word in _LAST:
        inner = ""
        for _ in range(_LAST[word]):
            inner, at = _argument(text, at)
        return _shown(inner, deep + 1), at
    if word in _SIGNS:
        return _SIGNS[word], at
    if word in _SHOWN:
        inner, at = _argument(text, at)
        return _shown(inner, deep + 1), at
    inner, end = _argument(text, at) if re.match(r"\s*\{", text[at:]) else ("", at)
    inner = _shown(inner, deep + 1)
    return (f"{inner}{_UNKNOWN}" if not inner or any(map(str.isdigit, inner)) else inner), end
