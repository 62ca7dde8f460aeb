"""How SAS codes the categories of a regression: the table of class levels, base rows, and odds ratios that hold it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from outrisk.errors import OutputError
from outrisk.readers.printed_number import Printed, read_printed
from outrisk.readers.sas_parameters import Row

_TITLE = re.compile(r"^\s*Class Level Information\s*$")
_HEAD = re.compile(r"^\s*Class\s+(?:Value|Levels)")
_OF_RATIOS = re.compile(r"^\s*(?:Adjusted )?Odds Ratio Estimates(?: and \S+ Confidence Intervals)?\s*$")
_RATIO = re.compile(
    r"^\s*(\S+)\s+(?:(\S.*?)\s+vs\s+(\S.*?)\s{2,}|\s*)(\d[\d.]*\s+)??([\d.E+-]+|>999\.999|<0\.001)\s+\S+\s+\S+\s*$"
)
_MOST = 1_000


@dataclass(frozen=True)
class Coding:
    """How a category is coded: 'reference', 'glm' (a level of 0 is the reference), 'effect' or 'other'; the reference
    level, '' where its row of the coefficients tells it; its levels, where these are told.
    """

    coding: str
    reference: str = ""
    levels: tuple[str, ...] = ()


@dataclass
class Classes:
    """The categories of a regression, by name."""

    found: dict[str, Coding] = field(default_factory=dict)


def classes_of(lines: Sequence[str], place: str) -> Classes:
    """Those that a table of class levels has, over all its pages; OutputError where this is not laid out as SAS prints
    it.
    """
    designs: dict[str, list[tuple[str, list[str]]]] = {}
    found, name = Classes(), ""
    for at in (at for at, line in enumerate(lines) if _TITLE.match(line)):
        heads = (k for k in range(at + 1, min(at + 6, len(lines))) if _HEAD.match(lines[k]))
        head = next(heads, None)
        if head is None:
            raise OutputError(f"{place}: its 'Class Level Information' is not laid out as SAS prints it")
        rows = list(_until_end(lines[head + 1 : head + _MOST]))
        if "Levels" in lines[head]:
            names = (named[1] for each in rows if (named := re.match(r"^\s*(\S+)\s{2,}\d+\s", each)))
            found.found |= {each: Coding("glm") for each in names}
            continue
        value = lines[head].index("Value")
        for row in rows:
            name = row[:value].strip() or name
            cells = re.split(r"\s{2,}", row[value:].strip())
            if not name or len(cells) < 2 or not all(re.fullmatch(r"-?\d*\.?\d+", cell) for cell in cells[1:]):
                raise OutputError(
                    f"{place}: its 'Class Level Information' has the row {row.strip()[:60]!r}, which is not laid out "
                    "as SAS prints it"
                )
            of = designs.setdefault(name, [])
            of += [(cells[0], cells[1:])] if (cells[0], cells[1:]) not in of else []
    for each, of in designs.items():
        found.found[each] = replace(_coding(of), levels=tuple(level for level, _ in of))
    return found


def _until_end(lines: Sequence[str]) -> Iterator[str]:
    """Rows of the table of class levels: those of one class may stand apart from the next."""
    for at, line in enumerate(lines):
        if not line.strip():
            if not any(each.strip() for each in lines[at : at + 2]):
                return
            continue
        if at and not lines[at - 1].strip() and not re.search(r"\s{2,}-?[\d.]+\s*$|\s{2,}\d+\s{2,}\S", line):
            return  # a title below a blank line
        if re.match(r"^\s*(?:Number of|Response Profile|Model |Dependent|Summary|Criteria|Parameter|NOTE)", line):
            return
        yield line


def _coding(design: Sequence[tuple[str, Sequence[str]]]) -> Coding:
    """The coding by the design variables of each level."""
    rows = [[float(each) for each in cells] for _, cells in design]
    if len({len(row) for row in rows}) != 1:
        return Coding("other")
    width, units = len(rows[0]), [row for row in rows if sorted(row) == [0.0] * (len(row) - 1) + [1.0]]
    different = len({tuple(row) for row in units}) == len(units) == width
    zeros = [level for (level, _), row in zip(design, rows, strict=True) if not any(row)]
    if different and width == len(rows):
        return Coding("glm")
    if different and width == len(rows) - 1 and len(zeros) == 1:
        return Coding("reference", zeros[0])
    return Coding("effect" if [-1.0] * width in rows and different else "other")


def with_names(rows: Sequence[Row], classes: Classes, what: str) -> list[Row]:
    """The rows under names that readers of terms know: area=north:age for the level north of area*age."""
    found = list[Row]()
    there = {name: set(each.levels) for name, each in classes.found.items()}
    for row in rows:
        if row.level:
            there.setdefault(row.effect, set()).add(row.level)
    for row in rows:
        parts, levels = row.effect.split("*"), [each for each in row.level.split("  ") if each]
        known = [part for part in parts if part in classes.found]
        if len(known) > max(len(levels), 1) and levels:
            levels = _apart(" ".join(levels).split(), [there[part] for part in known])
        of = known if len(known) == len(levels) else parts if len(parts) == len(levels) else []
        if len(parts) == 1 and levels:
            names = [f"{parts[0]}={' '.join(levels)}"]
        elif levels and not of:
            raise OutputError(
                f"{what} has the row {row.effect} {row.level!r}, and which levels are of which category is not to be "
                "seen; give it with its 'Class Level Information'"
            )
        else:
            pairs = dict(zip(of, levels, strict=False))
            names = [f"{part}={pairs[part]}" if part in pairs else part for part in parts]
        found.append(replace(row, name=":".join(names)))
    return found


def _apart(words: Sequence[str], known: Sequence[Collection[str]]) -> list[str]:
    """Levels of several categories that stand a blank apart, by the levels of each; [] unless there is one way."""
    ways = [
        [" ".join(words[start:end]) for start, end in pairwise((0, *ends, len(words)))]
        for ends in combinations(range(1, len(words)), len(known) - 1)
    ]
    some = [way for way in ways if all(level in of for level, of in zip(way, known, strict=True))]
    found = some or (ways if len(words) == len(known) else [])
    return found[0] if len(found) == 1 else list(words[:1])


def hold_coding(rows: Sequence[Row], classes: Classes, text: str, what: str) -> Classes:
    """The categories with those that are known by their rows alone: by one that is 0, or by odds ratios. OutputError
    for effect coding, for one that is not said, and for odds ratios that are not those of the coefficients.
    """
    ratios = list(_ratios(text))
    found = dict(classes.found)
    for effect in dict.fromkeys(row.effect for row in rows if row.level and "*" not in row.effect):
        how, mine = found.get(effect), [row for row in rows if row.effect == effect]
        if how is not None and how.coding not in ("reference", "glm"):
            raise OutputError(
                f"{what}: '{effect}' is by {how.coding} coding, whose coefficients are no differences from a reference "
                f"level; fit it by CLASS {effect} / PARAM=REF"
            )
        if any(row.base for row in mine):
            found[effect] = Coding("glm", levels=how.levels if how is not None else ())
        elif how is None or how.coding == "glm":
            found[effect] = _by_ratios(effect, mine, ratios, what)
    for name, level, base, ratio in ratios:
        mine = [row for row in rows if row.effect == name and row.level == level and not row.base]
        coding = found.get(name)
        compared = not level or (coding is not None and coding.reference in ("", base))
        if mine and compared and ratio is not None and not _is_exp(ratio, mine[0]):
            raise OutputError(
                f"{what}: its odds ratio of {name} {level} is {ratio.value:g}, and its coefficient is "
                f"{mine[0].texts['coefficients']}: they are not of one coding; fit it by CLASS / PARAM=REF, or leave "
                "the odds ratios out if they are of other units"
            )
    of_products = {part for row in rows if "*" in row.effect and row.level for part in row.effect.split("*")}
    others = [
        name for name in of_products if name in classes.found and classes.found[name].coding in ("effect", "other")
    ]
    if others:
        raise OutputError(f"{what}: '{others[0]}' is by effect coding; fit it by CLASS {others[0]} / PARAM=REF")
    return Classes(found)


def _by_ratios(
    effect: str, rows: Sequence[Row], ratios: Sequence[tuple[str, str, str, Printed | None]], what: str
) -> Coding:
    """Reference coding, where the odds ratios of each level against one are exp(b), and are not by effect coding."""
    mine = {level: (base, ratio) for name, level, base, ratio in ratios if name == effect and level}
    bases = {base for base, _ in mine.values()}
    known = [mine[row.level][1] for row in rows if row.level in mine]
    if (
        len(bases) == 1
        and len(known) == len(rows)
        and all(each is not None and _is_exp(each, row) for each, row in zip(known, rows, strict=True))
    ):
        b = [_value(row) for row in rows]
        if any(each is not None and not _is_near(each, at + sum(b), 0.0) for each, at in zip(known, b, strict=True)):
            return Coding("reference", bases.pop())
    raise OutputError(
        f"{what} does not say how '{effect}' is coded, and SAS's default is effect coding, which is no difference from "
        "a reference level; give it with its 'Class Level Information' (or its odds ratios)"
    )


def _ratios(text: str) -> Iterator[tuple[str, str, str, Printed | None]]:
    """Effects, levels, what they are compared with, and odds ratios of one unit."""
    lines = text.splitlines()
    at = next((at for at, line in enumerate(lines) if _OF_RATIOS.match(line)), None)
    if at is None:
        return
    seen = False
    for line in lines[at + 1 : at + _MOST]:
        found = _RATIO.match(line)
        if found and not re.search(r"Effect|Estimate", line):
            seen = True
            if float(found[4] or 1.0) == 1.0:
                yield found[1], found[2] or "", found[3] or "", read_printed(found[5])
        elif seen and line.strip() and not found:
            return


def _value(row: Row) -> float:
    printed = read_printed(row.texts["coefficients"])
    return math.nan if printed is None else printed.value


def _is_exp(ratio: Printed, row: Row) -> bool:
    b = read_printed(row.texts["coefficients"])
    return b is None or _is_near(ratio, b.value, b.half)


def _is_near(ratio: Printed, b: float, half: float) -> bool:
    """Whether an odds ratio is exp(b), to the digits of both."""
    if ratio.below or abs(b) > 6.0:
        return True
    return math.exp(b - half) - 1.1 * ratio.half <= ratio.value <= math.exp(b + half) + 1.1 * ratio.half
