"""Columns of a table of rates: which statistic each is of, what its head says beside, limits that share a cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outrisk.errors import OutputError
from outrisk.outputs.tables.person_time import ENDS
from outrisk.readers.source import Grid

_LOWER, _UPPER = ENDS
_CALLED = {
    "numerator": "d; x; events; event; n event; deaths; cases; failures; number of events; numerator",
    "denominator": "y; pt; py; pyears; pyrs; person years; person time; person days; person months; time; "
    "time at risk; denominator",
    "rate": "rate; ir; event rate; failure rate; incidence rate; mortality rate; crude rate",
    _LOWER: "lower; low; lcl; lci; lb; ci lower; lower ci; lower cl; lower limit; lower bound; conf low",
    _UPPER: "upper; high; ucl; uci; ub; ci upper; upper ci; upper cl; upper limit; upper bound; conf high",
    "limits": "ci; ci rate; conf interval; confidence interval; confidence limits; limits",
    "level": "conf level; level",
}
STATISTICS = {name: statistic for statistic, names in _CALLED.items() for name in names.split("; ")}
_OTHER = re.compile("adjust|standardi|ratio|differ")  # rates that are no events per time of the records
_PER = re.compile(r"(.*?)[\s(/]*\bper ?(\d[\d ,]*)\b.*")
_LEVEL = re.compile(r"(\d\d(?:\.\d+)?) ?%|(?<=[a-z ])(?:90|95|99)$|^(?:90|95|99)(?= ?[a-z])")
_NUMBER = r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_BETWEEN = r"(?:,\s|(?<=\.\d),|(?<=\.\d\d),|;|-|\N{EN DASH}|\N{EM DASH}|to)"
_ENDS = re.compile(rf"[(\[]?\s*({_NUMBER})\s*{_BETWEEN}\s*({_NUMBER})\s*[)\]]?", re.I)
_BOTH = re.compile(r"([^(\[]+?)\s*([(\[].*[)\]])\s*")


@dataclass(frozen=True)
class Columns:
    """Statistics of the columns of a table, '' for one that is none; so much of a denominator a rate is `per`, and the
    level of its limits, where a head says so.
    """

    statistics: tuple[str, ...]
    per: float | None = None
    level: float | None = None


def read_head(head: Sequence[str], own: Mapping[str, str], place: str) -> Columns:
    """What the columns are. own: statistics by the names of the entry's variables. OutputError for one that is there
    twice, and for heads that contradict each other.
    """
    found, pers, levels = [], set[float](), set[float]()
    for cell in head:
        statistic, per, level = _column(cell, own)
        found.append(statistic)
        pers |= {per} if statistic and per is not None else set()
        levels |= {level} if statistic and level is not None else set()
    for each in STATISTICS.values():
        if found.count(each) > 1:
            heads = [cell for cell, statistic in zip(head, found, strict=True) if statistic == each]
            raise OutputError(f"{place}: {' and '.join(map(repr, heads))} are both columns of a {each}; keep one")
    for what, values in (("rates are per", pers), ("limits are at the levels", levels)):
        if len(values) > 1:
            raise OutputError(f"{place}: {what} {' and '.join(f'{each:g}' for each in sorted(values))}; keep one")
    return Columns(tuple(found), next(iter(pers), None), next(iter(levels), None))


def _column(cell: str, own: Mapping[str, str]) -> tuple[str, float | None, float | None]:
    """The statistic of a column, '' if it is none, and what it is per and at which level."""
    if cell in own:
        return own[cell], None, None
    text = " ".join(re.sub(r"[_\-\s]+|\.(?!\d)", " ", cell.casefold()).split())
    per = level = None
    if _OTHER.search(text):
        return "", None, None
    said = _PER.fullmatch(text)
    if said:
        text, per = said[1].strip(), float(re.sub(r"[ ,]", "", said[2]))
    at = _LEVEL.search(text)
    if at:
        level = float(at[1] or at[0]) / 100
        text = (text[: at.start()] + text[at.end() :]).strip()
    text = " ".join(re.sub(r"[()\[\],:]", " ", text).split())
    statistic = STATISTICS.get(text, "")
    if per is not None:
        statistic = "rate" if statistic in ("rate", "numerator") else ""
    if not statistic and text.startswith("rate ") and STATISTICS.get(text.removeprefix("rate ")) == "limits":
        statistic = "rate"  # whose cells have the limits behind: see `apart`
    return statistic, per, level


def apart(grid: Grid, statistics: Sequence[str], place: str) -> tuple[Grid, list[str]]:
    """A table whose limits stand in columns of their own, and the statistics of its columns.

    Cells as `1.2-3.4`, `(1.2, 3.4)` or `1.2 to 3.4`, and rates as `2.1 (1.2-3.4)`.
    """
    found, rows = list(statistics), [list(row) for row in grid]
    if "rate" in found and "limits" not in found and _LOWER not in found:
        at = found.index("rate")
        both = [_BOTH.fullmatch(row[at]) for row in rows[1:]]
        if any(both):
            found.insert(at + 1, "limits")
            rows[0].insert(at + 1, "limits")
            for row, pair in zip(rows[1:], both, strict=True):
                row[at : at + 1] = [pair[1], pair[2]] if pair else [row[at], ""]
    if "limits" in found:
        at = found.index("limits")
        found[at : at + 1] = ENDS
        rows[0][at : at + 1] = ENDS
        for row in rows[1:]:
            row[at : at + 1] = _ends(row[at], place)
    return rows, found


def _ends(text: str, place: str) -> tuple[str, str]:
    """Lower and upper limit of a cell that has both; twice what it says if there is no number."""
    pair = _ENDS.fullmatch(text.strip())
    if pair:
        return pair[1], pair[2]
    if re.search(r"\d", text):
        raise OutputError(
            f"{place}: the limits {text[:40]!r} are not two numbers, as in '1.2-3.4' or '(1.2, 3.4)'; write them so"
        )
    bare = re.sub(r"[\s()\[\]]", "", text)
    bare = "NaN" if re.fullmatch(r"\.?[-,;]\.?", bare) and "." in bare else bare
    return bare, bare
