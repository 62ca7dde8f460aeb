"""Which sign stands before the decimals of a table's numbers: a point or a comma, as its cells show together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outrisk.errors import OutputError

_FRAME = r"[<≤(\[]*=?\s*[+-]?{}\s*[)\]]?\s*%?[*†‡]*"
_COMMA = re.compile(_FRAME.format(r"(?:\d*,(?:\d{1,2}|\d{4,})|0?,\d+|\d{4,},\d+|\d{1,3}(?:[. ’']\d{3})+,\d+)"))
_POINT = re.compile(
    _FRAME.format(r"(?:\d*\.(?:\d{1,2}|\d{4,})|0?\.\d+|\d{4,}\.\d+|\d{1,3}(?:,\d{3})+\.\d+)(?:[eE][+-]?\d+)?")
)
_THOUSANDS = {"comma": re.compile(r"\d{1,3}(?:,\d{3}){2,}"), "point": re.compile(r"\d{1,3}(?:\.\d{3}){2,}")}
_EITHER = {"comma": re.compile(r"[<+-]?[1-9]\d{0,2},\d{3}"), "point": re.compile(r"[<+-]?[1-9]\d{0,2}\.\d{3}")}
_OF_VALUES = ("", "mean", "median", "min", "max")
_WHOLE = re.compile(r"\d+")


@dataclass(frozen=True)
class Signs:
    """What stands `between` the cells of a table ('' of a page), and whether the cells of all that stands there show a
    decimal comma, True or False, or neither (None).
    """

    between: str = ""
    shown: bool | None = None

    def comma(
        self,
        texts: Mapping[str, Mapping[str, str]],
        counts: Sequence[str],
        place: str,
        spread: tuple[float, float] | None = None,
    ) -> bool:
        """Whether the numbers of a table have a decimal comma. `texts`: by statistic and cell, in words; `counts`: the
        statistics that are numbers of people; `spread`: from where to where the others of `_OF_VALUES` lie.

        A number that may be either (`1,324` beside tabs or semicolons, `1.324` beside semicolons) is what the others
        show. OutputError, with the place, where none does.
        """
        cells = [text.strip() for each in texts.values() for text in each.values()]
        shown = decimal_comma(cells)
        shown = self.shown if shown is None else shown
        if shown is None and spread is not None and (values := _either(texts)):
            inside = [all(spread[0] <= each / by <= spread[1] for each in values) for by in (1.0, 1000.0)]
            if inside == [False, True]:
                return True
            if inside == [True, True] and self.between == ",":
                raise OutputError(
                    f"{place}: {values[0] / 1000:.3f} and {values[0]:,.0f} may both be meant where it says "
                    f"{values[0]:,.0f}; write thousands without a sign, and decimals with a point"
                )
        if shown is not None or self.between not in (";", "\t"):
            return bool(shown)
        signs = ("comma", "point") if self.between == ";" else ("comma",)
        for sign in signs:
            open_ = {
                name: [(where, text) for where, text in each.items() if _EITHER[sign].fullmatch(text.strip())]
                for name, each in texts.items()
            }
            first = next((pair for each in open_.values() for pair in each), None)
            if first is None:
                continue
            sizes = [
                [int(text) for text in map(str.strip, texts[name].values()) if _WHOLE.fullmatch(text)]
                for name in counts
                if open_.get(name)
            ]
            if sizes and all(each and max(each) < 1000 for each in sizes):  # beside 643, 1,306 is of thousands
                return sign == "point"
            raise OutputError(
                f"{place}: {first[0]} is {first[1].strip()!r}, a decimal {sign} or one of thousands; write thousands "
                "without a sign, or save it as CSV with commas between cells and decimal points"
            )
        return False


def _either(texts: Mapping[str, Mapping[str, str]]) -> list[float]:
    """Numbers like 1,324 among those that lie within the spread of a variable, without the sign."""
    cells = [text.strip() for name in _OF_VALUES for text in texts.get(name, {}).values()]
    return [float(cell.replace(",", "")) for cell in cells if _EITHER["comma"].fullmatch(cell) and "<" not in cell]


def decimal_comma(cells: Sequence[str]) -> bool | None:
    """Whether cells show a decimal comma: True, False for a point, None where they show neither, or both as often."""
    commas = sum(
        _COMMA.fullmatch(cell) is not None or _THOUSANDS["point"].fullmatch(cell) is not None for cell in cells
    )
    points = sum(
        _POINT.fullmatch(cell) is not None or _THOUSANDS["comma"].fullmatch(cell) is not None for cell in cells
    )
    return None if commas == points else commas > points
