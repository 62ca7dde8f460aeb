"""The page of a variable that SAS's PROC UNIVARIATE prints: moments and quantiles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from outrisk.readers.printed_number import read_printed

Cells = dict[str, dict[tuple[str, ...], str]]
_VARIABLE = re.compile(r"^\s*Variable\s*[:=]\s*(\S+)(?:\s+\(?(.*?)\)?)?\s*$")
_MOMENTS = {
    "N": "count",
    "Mean": "mean",
    "Std Deviation": "sd",
    "Skewness": "skewness",
    "Kurtosis": "kurtosis",
    "Sum Observations": "sum",
    "Std Error Mean": "standard error",
}
_PAIR = re.compile(r"([A-Z][A-Za-z ]*?)\s{2,}(-?[\d.]+(?:E[+-]?\d+)?|\.)(?=\s|$)")
_QUANTILE = re.compile(r"^\s*(\d{1,3}(?:\.\d+)?)%(?: (?:Max|Q3|Median|Q1|Min))?\s+(-?[\d.]+(?:E[+-]?\d+)?)\b.*$")
_ENDS = {"100": "max", "0": "min", "50": "median"}


def of_univariate(lines: Sequence[str]) -> Iterator[tuple[str, Cells, list[str], str]]:
    """Of each variable its name with its label in brackets, its numbers, what is left out, and why it is not read."""
    starts = [at for at, line in enumerate(lines) if _VARIABLE.match(line)]
    pages: dict[str, list[str]] = {}
    order = list[tuple[str, list[str]]]()
    for at, start in enumerate(starts):
        found = _VARIABLE.match(lines[start])
        assert found is not None
        name = f"{found[1]}({found[2]})" if found[2] else found[1]
        body = list(lines[start + 1 : starts[at + 1] if at + 1 < len(starts) else None])
        begins = any(re.match(r"^\s*Moments\s*$", line) for line in body)
        if begins or name not in pages:
            pages[name] = body
            order.append((name, pages[name]))
        else:
            pages[name] += body
    for name, body in order:
        cells, left, refused = _of_page(body)
        if cells or refused:
            yield name, cells, left, refused


def _of_page(lines: Sequence[str]) -> tuple[Cells, list[str], str]:
    cells, left, refused, part, definition = Cells(), list[str](), "", "", "5"
    classes = [line.strip() for line in lines[:6] if re.match(r"^\s*\w+ = \S.*$", line)]
    if classes:
        refused = f"it is of one class ({', '.join(classes)[:60]}), which is not read of UNIVARIATE; use MEANS, or BY"
    for line in lines:
        title = re.match(
            r"^\s*(Moments|Basic Statistical Measures|Quantiles.*|Extreme .*|Tests? for .*|Missing Values)\s*$", line
        )
        if title:
            part = title[1].split()[0]
            said = re.search(r"Def(?:inition)?\s*=?\s*(\d)", title[1])
            definition = said[1] if said else definition
        elif part == "Moments":
            for words, text in _PAIR.findall(line):
                if words.strip() in _MOMENTS:
                    cells.setdefault(_MOMENTS[words.strip()], {}).setdefault((), text)
                elif words.strip() == "Sum Weights" and "count" in cells:
                    n, weights = read_printed(cells["count"][()]), read_printed(text)
                    if n is None or weights is None or n.value != weights.value:
                        refused = f"it is weighted: {cells['count'][()]} records, {text} sum of weights"
        elif part == "Quantiles" and (found := _QUANTILE.match(line)):
            name = _ENDS.get(found[1], f"p{found[1]}")
            cells.setdefault(name, {}).setdefault((), found[2])
        elif (
            part == "Extreme"
            and "the five least and the five greatest values, which are those of single records," not in left
        ):
            left.append("the five least and the five greatest values, which are those of single records,")
        if re.match(r"^\s*Weight\s*[:=]", line):
            refused = f"it is weighted ({line.strip()})"
    if definition != "5" and any(name.startswith("p") or name == "median" for name in cells):
        for name in [each for each in cells if re.fullmatch(r"p[\d.]+|median", each)]:
            del cells[name]
        left.append(f"quantiles by SAS's definition {definition}, which no output has,")
    if len(cells) and "count" in cells and len(cells) < 3:
        refused = refused or "it is cut off, or not laid out as SAS prints it"
    return cells, left, refused
