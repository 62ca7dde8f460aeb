"""What R prints on a console as it would print it with room enough: wrapped tables, decimal commas, tibbles."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADS = r"Estimate|Std\. Error|[tz] value|Pr\(>\|[tz]\|\)|exp\(coef\)|se\(coef\)|coef|robust se|z|p"
_HEAD = re.compile(rf"\s+(?:(?:{_HEADS})\s*)+")
_FIRST = re.compile(r"\s+(?:Estimate|coef)\b")
_TIBBLE = re.compile(r"^# A tibble: .*$", re.M)
_TYPES = re.compile(r"\s*(?:<\w+>\s*)+")


def with_points(text: str) -> str:
    """A printed page with decimal points, where its numbers have decimal commas (R's `OutDec`)."""
    head, sign, body = text.partition("Coefficients:")
    commas, points = (len(re.findall(rf"\d{re.escape(each)}\d", body)) for each in ",.")
    return text if not sign or points or not commas else head + sign + re.sub(r"(?<=\d),(?=\d)", ".", body)


def unwrapped(lines: Sequence[str]) -> list[str]:
    """Lines of a page in which a table whose columns stand below each other, as R wraps it, is one."""
    for at, line in enumerate(lines):
        if not (_FIRST.match(line) and _HEAD.fullmatch(line)):
            continue
        size = next((n for n, each in enumerate(lines[at + 1 :]) if not each.strip() or each[0].isspace()), 0)
        names = _names(lines[at + 1 : at + 1 + size], len(re.findall(_HEADS, line)))
        blocks, end = [at], at + 1 + size
        while size and names and _continues(lines[end : end + 1 + size], names):
            blocks.append(end)
            end += 1 + size
        if len(blocks) > 1:
            rows = ["".join(f" {lines[start].strip()} " for start in blocks)]
            for row, name in enumerate(names, 1):
                rows.append(" ".join([name, *(lines[start + row][len(name) :].strip() for start in blocks)]))
            return [*lines[:at], " " + rows[0].strip(), *rows[1:], *lines[end:]]
    return list(lines)


def _names(rows: Sequence[str], columns: int) -> list[str]:
    """What stands before so many cells."""
    cells = [re.sub(r"<\s+", "<", row).rstrip().rsplit(None, columns) for row in rows]
    return [each[0].rstrip() for each in cells] if all(len(each) == columns + 1 for each in cells) else []


def _continues(block: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a head, or a line of blanks, and rows of the same names follow."""
    if len(block) <= len(names) or (block[0].strip() and not _HEAD.fullmatch(block[0])):
        return False
    return all(line == name or line.startswith(f"{name} ") for line, name in zip(block[1:], names, strict=True))


def rows_of_tibble(text: str) -> list[list[str]]:
    """The cells of a printed tibble, its header first; [] where the text has none."""
    found = _TIBBLE.search(text)
    lines = [line for line in text[found.end() :].splitlines() if line.strip()] if found else []
    if len(lines) < 3 or not _TYPES.fullmatch(lines[1]):
        return []
    header, rows = lines[0].split(), list[list[str]]()
    for line in lines[2:]:
        if line.startswith("#"):
            break
        inner = re.sub(r"(?<=\d)(e[-+]?) +(?=\d)", r"\1", re.sub(r"^\s*\d+\s+", "", line)).rstrip()
        cells = inner.rsplit(None, len(header) - 1)
        if len(cells) == len(header):
            rows.append(cells)
    return [header, *rows]
