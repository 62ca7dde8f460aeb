"""The rows of a table of coefficients of SAS: which effect and level each is of, and its numbers by part."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from outrisk.errors import OutputError
from outrisk.readers.printed_number import read_printed
from outrisk.readers.sas_columns import Column, columns_of, is_number

_PARTS = (  # of a column, by the words over it
    (r"DF", ("df",)),
    (r"(?:Parameter )?Estimate", ("coefficients",)),
    (r"Standard Error|Std Err|Standard Err", ("standard_errors",)),
    (r"t Value", ("t",)),
    (r"(?:Wald )?Chi-Square", ("chi",)),
    (r"Pr > (?:\|t\||ChiSq|Chi-Square|Chi)", ("p_values",)),
    (r"(?:Wald )?(\d+(?:\.\d+)?)% (?:Wald )?Confidence (?:Limits|Interval)", ("lower", "upper")),
    (r"(?:Likelihood Ratio|Profile[- ]Likelihood) (?:\d+(?:\.\d+)?)% Confidence Limits", ("profile", "profile")),
    (r"Hazard Ratio|Exp\(Est\)", ("ratio",)),
    (r"(\d+(?:\.\d+)?)% (?:Wald )?(?:Hazard Ratio|HR) Confidence Limits", ("lower of ratio", "upper of ratio")),
    (r"Standardized Estimate", ("beta",)),
    (r"StdErr Ratio", ("robust",)),
    (r"Tolerance|Variance Inflation|(?:Type I+ SS)|Squared (?:Semi-)?partial Corr Type I+", ("other",)),
)
_BELOW = {"Error": "Standard Error", "Limits": "95% Confidence Limits"}  # words of the last line of a head alone
_PROFILE = "Likelihood Ratio 95% Confidence Limits"
_LEFT = {
    "beta": "standardised estimates",
    "profile": "limits of the profile likelihood",
    "other": "tolerance, inflation of variances or sums of squares by row",
}
_UNTITLED = re.compile(r"^\s*Parameter\s+Estimate\s+Error")  # the head of PROC GLM, which has no title
_MOST = 2_000


@dataclass(frozen=True)
class Row:
    """A coefficient: its effect (age, area*sex), its levels with two blanks between, and the name that readers know;
    base: it is 0 as the level that others are compared with; outcome: of a generalized logit.
    """

    effect: str
    level: str
    name: str
    texts: Mapping[str, str]
    base: bool = False
    outcome: str = ""


@dataclass
class Notes:
    """What else the table says: robust errors; columns that are left out."""

    robust: bool = False
    left: list[str] = field(default_factory=list)


def rows_of(
    lines: Sequence[str], titles: Sequence[int], outcomes: bool, what: str
) -> tuple[list[Row], float | None, Notes]:
    """The rows of the one table of coefficients, over all its pages; the level of its limits; OutputError where it has
    several, or one that is not laid out as SAS prints it.
    """
    found, level, notes = list[Row](), 0.95, Notes()
    for number, title in enumerate(titles):
        heads, start = _heads(lines, title)
        columns = columns_of(heads)
        if not all(_known(each.words) for each in columns[_first(columns) :]):  # words of two columns run together
            below = _BELOW | ({"Limits": _PROFILE} if re.search("Likelihood|Profile", " ".join(heads)) else {})
            columns = [replace(each, words=below.get(each.words, each.words)) for each in columns_of(heads[-1:])]
        parts, said = _parts(columns, number > 0, what)
        limits = re.search(r"(\d+(?:\.\d+)?)%", " ".join(heads))
        said = said or (float(limits[1]) / 100.0 if limits else None)
        level = said or level
        part = list(_rows(lines[start : start + _MOST], columns, parts, outcomes, what))
        names = {each for of in parts for each in of}
        begins = bool(part) and _is_constant(part[0])
        if number and "coefficients" not in names and _stubs(part) == _stubs(found):  # columns of a wide table
            part, found = [replace(a, texts={**a.texts, **b.texts}) for a, b in zip(found, part, strict=True)], []
        elif number and begins and _UNTITLED.match(lines[title]) and not any(_is_constant(row) for row in found):
            notes.left, found = [*notes.left, "sums of coefficients (ESTIMATE)"], []
        elif number and (not part or begins or "coefficients" not in names or set(_stubs(found)) & set(_stubs(part))):
            raise OutputError(
                f"{what} has {len(titles)} tables of coefficients; say which regression it is, or give one alone"
            )
        found += part
        notes.robust |= "robust" in names
        notes.left += [_LEFT[each] for each in _LEFT if each in names and _LEFT[each] not in notes.left]
    if not found:
        raise OutputError(f"{what} has no row of coefficients; give it as SAS prints it")
    return found, level, notes


def _stubs(rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    return [(row.effect, row.level, row.outcome) for row in rows]


def _is_constant(row: Row) -> bool:
    return row.effect.casefold() == "intercept"


def _heads(lines: Sequence[str], title: int) -> tuple[list[str], int]:
    """The lines of the head below a title, and the line of the first row."""
    at, heads = title, list[str]()
    if _UNTITLED.match(lines[title]):
        above = lines[title - 1] if title and "Standard" in lines[title - 1] else ""
        return [above, lines[title]], title + 1
    for at in range(title + 1, min(title + 12, len(lines))):
        if not lines[at].strip():
            if heads:
                break
            continue
        if heads and re.match(r"^\s*(?:Intercept|[A-Za-z_]\S*)\s.*\d", lines[at]) and _ends_in_numbers(lines[at]):
            return heads, at
        heads.append(lines[at])
    return heads, at


def _ends_in_numbers(line: str) -> bool:
    cells = [cell for cell in line.split() if cell != "B"]
    return sum(is_number(cell) for cell in cells) >= 3 and "%" not in line


def _parts(columns: Sequence[Column], goes_on: bool, what: str) -> tuple[list[tuple[str, ...]], float | None]:
    """The parts of each column behind the names, in their order; the level of limits, as a share. `goes_on`: they may
    be further columns of a table that is too wide for a page.
    """
    found, level = list[tuple[str, ...]](), None
    for each in columns[_first(columns) :]:
        if each.words == "Label":
            continue
        for pattern, parts in _PARTS:
            match = re.fullmatch(pattern, each.words)
            if match:
                found.append(parts)
                if match.groups() and match[1] and "lower" in parts[0]:
                    level = float(match[1]) / 100.0
                break
        else:
            raise OutputError(f"{what} has a column '{each.words[:60]}', which is not known; leave it out")
    names = [part for of in found for part in of]
    if not goes_on and ("standard_errors" not in names or "coefficients" not in names):
        raise OutputError(f"{what} has no columns of estimates and standard errors; give it as SAS prints it")
    return found, level


def _first(columns: Sequence[Column]) -> int:
    """The first column of numbers; behind all of them where there is none."""
    found = (at for at, each in enumerate(columns) if re.fullmatch(r"DF|(?:Parameter )?Estimate", each.words))
    return next(found, len(columns))


def _known(words: str) -> bool:
    return words == "Label" or any(re.fullmatch(pattern, words) for pattern, _ in _PARTS)


def _rows(
    lines: Sequence[str], columns: Sequence[Column], parts: Sequence[tuple[str, ...]], outcomes: bool, what: str
) -> list[Row]:
    names = [name for of in parts for name in of]
    labelled = [each for each in columns if each.words == "Label"]
    behind = labelled[0].start if labelled and labelled[0] is columns[-1] else None
    label_between = bool(labelled) and behind is None
    found, blank = list[Row](), True
    for line in lines:
        if not line.strip():
            if found and not blank:
                break
            continue
        blank = False
        row = _row(line if behind is None else line[:behind], names, outcomes, label_between, labelled, what)
        if row is None:
            if found and not _ends_in_numbers(line):
                break
            raise OutputError(f"{what} has the row {line.strip()[:70]!r}, which is not laid out as its head")
        found.append(row)
    return found


def _row(
    line: str, names: Sequence[str], outcomes: bool, label_between: bool, labelled: Sequence[Column], what: str
) -> Row | None:
    """A row by the names of its numbers; None for a line that is none."""
    cells, k = list(re.finditer(r"\S+", line)), len(names)
    if "df" not in names and len(cells) > k and cells[-k][0] == "B" and is_number(cells[-k - 1][0]):
        del cells[-k]  # PROC GLM's mark of an estimate that is not unique; no level B
    if len(cells) <= k or not all(is_number(each[0]) for each in cells[len(cells) - k :]):
        short = len(cells) > 4 and cells[0][0] in ("Scale", "Dispersion")  # which have no test
        if not short:
            return None
        k = sum(is_number(each[0]) for each in cells[1:])
    stub = line[: cells[len(cells) - k].start()].strip()
    texts = dict(zip(names, (each[0] for each in cells[len(cells) - k :]), strict=False))
    if label_between:
        stub = stub.split()[0]
    effect, _, rest = stub.partition(" ")
    fields = [each for each in re.split(r"\s{2,}", rest.strip()) if each]
    outcome = fields.pop() if outcomes and fields else ""
    level = "  ".join(fields)
    _hold(texts, stub, what)
    base = texts["df"] == "0" if "df" in texts else texts.get("standard_errors") == "."
    if effect in ("Scale", "Dispersion"):
        base = False
    if base and not _zero(texts.get("coefficients", "0")):
        raise OutputError(f"{what} has the row {line.strip()[:70]!r}, which has no degree of freedom and is not 0")
    if base and not level:
        raise OutputError(f"{what} has no coefficient for {effect}, which depends on other terms; leave it out")
    kept: dict[str, str] = {
        part: texts[part] for part in ("coefficients", "standard_errors", "p_values", "lower", "upper") if part in texts
    }
    return Row(effect, level, effect, kept, base, outcome)


def _zero(text: str) -> bool:
    printed = read_printed(text)
    return printed is not None and printed.value == 0.0


def _hold(texts: Mapping[str, str], stub: str, what: str) -> None:
    """OutputError where a test is not the square, or the ratio, of estimate and standard error: columns, then, are not
    what they are taken for.
    """
    b, error = (read_printed(texts.get(part, "")) for part in ("coefficients", "standard_errors"))
    ratio = read_printed(texts.get("ratio", ""))
    if b is not None and ratio is not None and abs(b.value) < 6.0:
        ends = math.exp(b.value - b.half) - 2 * ratio.half, math.exp(b.value + b.half) + 2 * ratio.half
        if not ends[0] <= ratio.value <= ends[1]:
            raise OutputError(
                f"{what}: exp of the estimate of {stub} is {math.exp(b.value):.4g}, and it says {ratio.value:g}"
            )
    for part, power in (("t", 1), ("chi", 2)):
        test = read_printed(texts.get(part, ""))
        if b is None or error is None or test is None or test.below or error.value - error.half <= 0:
            continue
        least = max(abs(b.value) - b.half, 0.0) / (error.value + error.half)
        most = (abs(b.value) + b.half) / (error.value - error.half)
        if not least**power - 2 * test.half <= abs(test.value) <= most**power + 2 * test.half:
            raise OutputError(
                f"{what}: the test of {stub} is {texts[part]}, and its estimate and standard error give "
                f"{(abs(b.value) / error.value) ** power:.4g}; give it as SAS prints it"
            )
