"""What R Markdown, Quarto or reprex made of a session of R, as its console would show it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

_FENCE = re.compile(r"\s*```+\s*(\{?r\b)?")
_OUTPUT = re.compile(r"#[#>](?: |$)")  # what knitr and reprex put before each line of output
_GOES_ON = re.compile(r"(?:%\w*>?%|\|>|<-|[-+*/~=&|,])\s*$")  # of a command, on the next line
_PROMPT = re.compile(r"^> ?[\w.]", re.M)
_BLOCK = re.compile(r"<pre(\s[^<>]*)?>((?:(?!<pre\b).)*?)</pre>", re.S | re.I)
_COMMENT = re.compile(r"^((?:[^\"'#]|\"[^\"]*\"|'[^']*')*)#.*")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_LEAST = 3  # lines of output that are no headings of Markdown


def as_console(text: str) -> str:
    """The text with commands behind prompts and output as it is; one that is no such document unchanged. Of what stands
    outside chunks, tables of Markdown are kept.
    """
    if _BLOCK.search(text) and not re.search(r"<t[dhr][\s>]", text, re.I):
        text = "\n".join(_block(found[1] or "", found[2]) for found in _BLOCK.finditer(text))
    lines = text.splitlines()
    fenced = any((found := _FENCE.match(line)) and found[1] for line in lines)
    if _PROMPT.search(text) or not (fenced or sum(_OUTPUT.match(line) is not None for line in lines) >= _LEAST):
        return text
    return "\n".join(_lines(lines, fenced))


def _block(attributes: str, inner: str) -> str:
    """A block of a web page between the fences of Markdown."""
    code = re.search(r"class=[\"'][^\"']*\b(?:r|sourceCode|hljs)\b", attributes) is not None
    return f"```{'r' if code else ''}\n{html.unescape(re.sub('<[^>]+>', '', inner)).strip()}\n```"


def _lines(lines: Sequence[str], fenced: bool) -> Iterator[str]:
    inside = code = more = False
    depth = 0
    for line in lines:
        if fenced and (fence := _FENCE.match(line)):
            inside, code, depth = not inside, not inside and bool(fence[1]), 0
        elif output := _OUTPUT.match(line):
            yield line[output.end() :]
            depth = 0
        elif fenced and not code:
            if inside or line.startswith("|"):
                yield line
        elif code_of_line := _COMMENT.sub(r"\1", line).strip():
            yield f"{'+' if depth or more else '>'} {code_of_line}"
            more = _GOES_ON.search(code_of_line) is not None
            bare = _QUOTED.sub("", code_of_line)
            depth = max(0, depth + sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}")))
