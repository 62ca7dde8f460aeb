"""What an intruder who holds a register of everybody's keys guesses, beside the intruder with the codebook."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import Guessed
from outrisk.report.compose import Section, asset
from outrisk.report.drawing import Drawing

_WORDS = {
    "right": "guessed rightly",
    "baseline": "rightly by always guessing the commonest value",
    "confident": "guessed with a chance of 0.9 or more",
    "confident_right": "of these, rightly",
    "tpr_01": "claimed rightly, at 1 % of the possible false claims",
    "tpr_001": "claimed rightly, at 0.1 % of the possible false claims",
}


def content(results: Results) -> dict[str, Any] | None:
    """Tables by people and by chance; None where the study did not ask for this intruder."""
    found = results.register
    if found is None:
        return None
    rows = [row for row in results.guessed if row.level == found.level and not row.fold]
    folds = [fold for fold in found.folds if fold.level == found.level] or list(found.folds)
    bins = _bins(results, found.level)
    return {
        "found": found,
        "folds": folds,
        "tables": {people: [row for row in rows if row.people == people] for people in ("all", "unique")},
        "words": _WORDS,
        "bins": bins,
        "figure": _figure([sides for _, sides in bins]) if bins else None,
        "contradicted": [fold for fold in found.folds if fold.contradicted],
        "skipped": list(dict.fromkeys(fold.skipped for fold in folds if fold.skipped)),
        "left_out": list({(each.output, each.reason): each for fold in folds for each in fold.left_out}.values()),
        "held_out": any(_has_holdout(row) for row in rows),
    }


def _figure(bins: list[dict[str, tuple[int, float, float]]]) -> Drawing:
    from outrisk.report.figures import reliability_figure  # matplotlib takes a second to import: only here

    return reliability_figure.reliability_figure(bins)


def _has_holdout(row: Guessed) -> bool:
    return row.n_holdout > 0


def _bins(results: Results, level: int) -> list[tuple[str, dict[str, tuple[int, float, float]]]]:
    """Ranges of the chance, each with people, mean chance and share right by side, the folds of a level together."""
    found: dict[tuple[float, float], dict[str, tuple[int, float, float]]] = {}
    for row in results.reliability:
        if row.level == level:
            sides = found.setdefault((row.low, row.high), {})
            people, chance, right = sides.get(row.side, (0, 0.0, 0.0))
            total = people + row.people
            sides[row.side] = (
                total,
                (people * chance + row.people * row.chance) / total,
                (people * right + row.people * row.right) / total,
            )
    return [(f"{low:g} to {high:g}", sides) for (low, high), sides in sorted(found.items())]


SECTION = Section("register", "What an intruder with a register guesses", content, asset("study/register.html"))
