"""What folds, which hold a part of the records, say about the whole data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outrisk.assess.verdict.by_level import LevelRisk
from outrisk.records.schema import Dose


def dose_of(levels: Sequence[LevelRisk], shown: Sequence[tuple[str, int]]) -> list[Dose]:
    """The marginal risk of some measures and columns (see `Contrasts`) at every level, the fewest records last."""
    return list(_doses(levels, shown))


def _doses(levels: Sequence[LevelRisk], shown: Sequence[tuple[str, int]]) -> Iterator[Dose]:
    for measure, k in dict.fromkeys(shown):
        for level in levels:
            m = level.found.measures.index(measure)
            low, high = level.found.interval()
            yield Dose(
                level=level.level,
                n_records=level.n_original,
                measure=measure,
                keys="+".join(level.sets[k].keys) if k < len(level.sets) else "",
                difference=float(level.found.difference[m, k]),
                low=float(low[m, k]),
                high=float(high[m, k]),
            )


def of_the_whole(dose: Sequence[Dose]) -> str:
    """In a sentence, what halves (or smaller folds) say about all records; empty where the whole itself was measured.

    The same tables of more people have fuller cells and tell less of each, so folds overstate the risk of the whole.
    From two levels it is taken on as a power of the number of records: T(n) = T(n/2)^2 / T(n/4). That is refused where
    one of the two cannot be told from nothing, or the risk does not fall.
    """
    if not dose or dose[0].level == 1:
        return ""
    first, *more = [each for each in dose if (each.measure, each.keys) == (dose[0].measure, dose[0].keys)]
    start = (
        f"Measured on folds of {first.n_records:,} records, 1 in {first.level}. The whole has fuller cells and tells "
        "less of each person: what is not found in folds is not to be expected of it, and what is found there is "
        "likely more than it gives away"
    )
    smaller = next((each for each in more if each.level == 2 * first.level), None)
    if smaller is None:
        return f"{start}. By how much, folds of a further level would show (study: folds)."
    at = f" at {first.keys.replace('+', ', ')}" if first.keys else ", as a mean over key sets,"
    both = (
        f"The marginal risk{at} is {smaller.difference:z.3f} in folds of {smaller.n_records:,} records and "
        f"{first.difference:z.3f} in folds of {first.n_records:,}"
    )
    if min(first.low, smaller.low) <= 0 or first.difference >= smaller.difference:
        return f"{start}. {both}; how it goes on from there cannot be told from chance."
    ratio = first.difference / smaller.difference
    steps = first.level.bit_length() - 1
    return (
        f"{start}. {both}; if it goes on like this, it is about {first.difference * ratio**steps:z.3f} in all records."
    )
