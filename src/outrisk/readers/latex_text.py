"""What is printed of a LaTeX text. What a command does that is not known is not guessed: a number in it is none."""

from __future__ import annotations

import re

from outrisk.readers.printed_tables import raised

_UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # which makes no number
_SHOWN = """textit textbf emph textrm textsf texttt textsc mathrm mathit mathbf text mbox underline sym num numprint
makecell shortstack boldsymbol bfseries hbox makebox textnormal thead textup bm ensuremath tablenum multicell
adjustbox"""
_LAST = {"textcolor": 2, "multicolumn": 3, "multirow": 3, "rotatebox": 2, "resizebox": 3, "raisebox": 2, "scalebox": 2}
_GONE = """label cite footnote hspace vspace phantom hphantom vphantom color rowcolor cellcolor columncolor cmidrule
cline addlinespace fontsize hskip footnotemark tnote arraystretch SetCell specialrule href noalign"""
_SPACES = """hline toprule midrule bottomrule centering raggedright raggedleft small footnotesize scriptsize tiny
normalsize large bfseries itshape endhead endfirsthead endfoot endlastfoot nobreak quad qquad enspace thinspace
hfill noindent par Xhline displaystyle cr left right bf it rm arraybackslash relax newline smallskip medskip bigskip"""
_SHOW_ARGUMENT = frozenset(_SHOWN.split())  # as it is
_SHOW_NOTHING = {**dict.fromkeys(_GONE.split(), 1), "rule": 2}  # and how many arguments they have
_SIGNS = {
    **{"textminus": "-", "textendash": "–", "textemdash": "—", "pm": "±", "times": "×", "cdot": "·", "le": "≤"},
    **{"leq": "≤", "ge": "≥", "geq": "≥", "dagger": "†", "ddagger": "‡", "ast": "*", "textasteriskcentered": "*"},
    **{"star": "*", "textless": "<", "textgreater": ">", "lt": "<", "gt": ">", "ldots": "...", "dots": "..."},
    **{"textdagger": "†", "textbackslash": "\\", "textasciitilde": "~", "textpm": "±", "beta": "β", "chi": "χ"},
    **{"alpha": "α", "sigma": "σ"},
    **dict.fromkeys(_SPACES.split(), " "),
}
_ESCAPED = {"\\": "\n", ",": "\N{THIN SPACE}", ";": " ", ":": " ", " ": " ", **dict.fromkeys("!-/()[]", "")}
_TOKEN = re.compile(r"\\([A-Za-z]+)\*?|\\(.)|([{}$&~^_])|(---|--)|([^\\{}$&~^_-]+|-)", re.S)


def shown(text: str, deep: int = 0, formula: bool = False) -> str:
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
            piece, at = _of_command(word, text, at, deep)
            found += piece
        elif sign:
            found += _ESCAPED.get(sign, sign)
            formula = (formula or sign in "([") and sign not in ")]"
        elif special == "{":
            inner, at = argument(text, start)
            found += shown(inner, deep + 1, formula)
        elif special == "$":
            formula = not formula
        elif special == "_" and not formula:  # as programs write names that they forgot to escape
            found += "_"
        elif special in ("^", "_") and special:
            inner, at = argument(text, at)
            found += raised(found, shown(inner, deep + 1))
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
    if word in _SHOW_NOTHING:
        for _ in range(_SHOW_NOTHING[word]):
            _, at = argument(text, at) if re.match(r"\s*\{", text[at:]) else ("", at)
        return "", at
    if word in ("textsuperscript", "textsubscript"):
        inner, at = argument(text, at)
        return raised("0" if re.search(r"[\d)\]]\s*\\text\w+script", text[:at]) else "a", shown(inner, deep + 1)), at
    if word in _LAST:
        inner = ""
        for _ in range(_LAST[word]):
            inner, at = argument(text, at)
        return shown(inner, deep + 1), at
    if word in _SIGNS:
        return _SIGNS[word], at
    if word in _SHOW_ARGUMENT:
        inner, at = argument(text, at)
        return shown(inner, deep + 1), at
    inner, end = argument(text, at) if re.match(r"\s*\{", text[at:]) else ("", at)
    inner = shown(inner, deep + 1)
    return (f"{inner}{_UNKNOWN}" if not inner or any(map(str.isdigit, inner)) else inner), end


def argument(text: str, at: int) -> tuple[str, int]:
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
