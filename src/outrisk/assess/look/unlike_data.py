"""Released numbers that the data do not give: a finding, never an error; what is assessed are the released ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from outrisk.assess.look.finding import DIFFERS, Found, named, plural
from outrisk.problem.refit import Compared, Refit
from outrisk.records.schema import Given


def with_differences(findings: Sequence[Found], refits: Sequence[Refit], rounded: Sequence[str] = ()) -> list[Found]:
    """Findings with those of released numbers that differ from the data, which stand behind what is certain.

    `rounded`: variables that the study rounds before anything is computed.
    """
    certain = [finding for finding in findings if finding.certain]
    return [*certain, *_differing(refits, rounded), *(finding for finding in findings if not finding.certain)]


def _differing(refits: Sequence[Refit], rounded: Sequence[str]) -> Iterator[Found]:
    """A finding for each output with a number that is not, to its last printed digit, what the data give."""
    for refit in refits:
        output = refit.released.name
        if refit.failure:
            what = f"The released numbers cannot be computed from the data: {refit.failure}"
            yield Found(DIFFERS, False, output, len(refit.released.low), 0, what, "", _ADVICE)
            continue
        rows = list(refit.rows())
        wrong = sorted((row for row in rows if not row.matched and _size(row) > ROUNDING), key=_size, reverse=True)
        if wrong:
            differ = "differs" if len(wrong) == 1 else "differ"
            yield Found(
                DIFFERS,
                False,
                output,
                len(wrong),
                0,
                f"{len(wrong):,} of {plural(len(rows), 'released number')} {differ} from what the data give, beyond "
                f"rounding. The largest difference: {_words(wrong[0])}.",
                named([_words(row) for row in wrong]),
                _on_grid(refit, rounded) + _ADVICE,
            )


ROUNDING = 0.55  # last digits: programs round twice (R's summary), and stop a search short of its end
_ADVICE = (
    "Ask which records, codes and model the released numbers are of; they are assessed as they are given, and the "
    "measures of risk are those of the data."
)


def _on_grid(refit: Refit, rounded: Sequence[str]) -> str:
    """That a difference may be one of rounding, where an output has a variable that the study rounds."""
    said = " ".join([refit.released.output.notes, *refit.released.labels])
    names = [name for name in rounded if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)]
    if not names:
        return ""
    return (
        f"It may be no more than that the study rounds {', '.join(names)} to the codebook's grid before anything is "
        "computed (data: derive; 'outrisk init --acro' says so where it is). If not: "
    )


def shown(row: Compared) -> Given:
    """A released number beside what the data give, told to no more than is released.

    To the printed digits where they agree, two more where they do not; within a range that was released in place of a
    number (a withheld cell) the number itself is not told: NaN.
    """
    if row.matched:
        refit = math.nan if row.low != row.high else row.released
        return Given(**{**vars(row), "refit": refit, "difference": 0.0})
    found = {
        name: round(value, row.decimals + 2) for name, value in (("refit", row.refit), ("difference", row.difference))
    }
    return Given(**{**vars(row), **found})


def _size(row: Compared) -> float:
    """How many last digits it is off; what is undefined comes first."""
    return float("inf") if np.isnan(row.difference) else abs(row.difference) * 10.0**row.decimals


def _words(row: Compared) -> str:
    ends = [f"{end:.{row.decimals}f}" for end in (row.low, row.high)]
    released = ends[0] if row.low == row.high else " to ".join(ends)
    found = "no number" if np.isnan(row.refit) else f"{row.refit:.{row.decimals}f}"
    if found == released:
        found = f"{row.refit:.{row.decimals + 2}f}"
    return f"{row.label}: released {released}, the data give {found}"
