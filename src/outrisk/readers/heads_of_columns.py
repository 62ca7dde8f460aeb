"""What the head of a column in a table of models says, in whatever words: an estimate of which scale, or what stands
beside one.
"""

from __future__ import annotations

import re

from outrisk.readers.cells_of_models import plain, with_brackets
from outrisk.readers.printed_tables import Grid, is_number

_MARK = re.compile(  # of a footnote, or what makes names of columns differ
    r"(?<=[a-z)])(?:[¹²³⁴-⁹](?:[,⁻]?[¹²³⁴-⁹])*|\d(?:,\s?\d)*|_\d+|\.\.\.\d+)$|(?<=[)\]])\s?[a-e]$|\s?[†‡§¶#]+$"
)
_LIMIT = r"(?: (?:limit|bound|(?:\d\d ?% ?)?c\.?i\.?|\d\d ?%))?"
_BESIDE = (  # of a column, in small letters -> what gtsummary calls it, the first that fits
    (r"(?:(?:robust|clustered|rob\.) )?(?:s\.?e\.?|std\.? ?err(?:or)?s?\.?|standard errors?)", "SE"),
    (rf"(?:\d\d ?% )?(?:c\.?i\.? )?(?:lower|low|ll|lcl){_LIMIT}", "lower"),
    (rf"(?:\d\d ?% )?(?:c\.?i\.? )?(?:upper|high|ul|ucl){_LIMIT}", "upper"),
    (r"p|sig\.?|p[ -]?val(?:ue)?s?\.?[a-e]?|(?:pr ?\(|p ?)> ?\|[zt]\|\)?", "p-value"),
    (r"[tz]|[tz][ -]?(?:stat(?:istic)?s?\.?|values?|ratios?|scores?)|wald(?: .*)?|df", "statistic"),
    (r"(?:diff(?:erence)?s?\.?|[δΔ])(?: .*)?|(?:difference )?\(\w+\) ?[-–−] ?\(\w+\)", "difference"),
)
_LEVEL = r"\(?(\d\d(?:[.,]\d)?) ?%\)?"
_CI = re.compile(rf"(?:{_LEVEL} ?)?(?:c\.?i\.?s?|conf(?:idence|\.) ?int(?:ervals?|\.))(?: ?{_LEVEL})?(?: for .*)?")


def bare(cell: str) -> str:
    """A head in small letters, without stars and marks of footnotes."""
    text = " ".join(plain(cell).replace("*", "").split()).casefold().strip(" :")
    return _MARK.sub("", text).strip()


def name_of_row(cell: str) -> str:
    """The name at the left of a row, without marks of footnotes behind it; powers stay (`kg/m²`)."""
    return re.sub(r"(?<=[^\W\d_]{3})[¹²³⁴-⁹]$|(?<=[\w)\]])\s?[*†‡§¶]+$", "", cell.strip()).strip()


def beside(text: str) -> str:
    """What gtsummary calls a column that stands beside estimates ('95% CI', 'SE', 'p-value'), or 'statistic', 'ci',
    'lower', 'upper', 'difference' of two models; '' of one that is not known. `text` is bare.
    """
    inner = re.fullmatch(r"[(\[]([^()\[\]]+(?:\(\w+\))?)[)\]]", text)
    text = inner[1].strip() if inner else text
    if limits := _CI.fullmatch(text):
        level = limits[1] or limits[2]
        return f"{level.replace(',', '.')}% CI" if level else "ci"
    return next((name for words, name in _BESIDE if re.fullmatch(words, text)), "")


def over_several(grid: Grid, number: int) -> bool:
    """Whether a line of heads leaves columns of numbers without one, as where one of its cells is over several."""
    return any(
        not head and any(is_number(with_brackets(plain(row[at]))[0]) for row in grid[number + 1 :])
        for at, head in enumerate(grid[number])
        if at
    )
