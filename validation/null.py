"""Levels and coverage: releases of two samples, read on two samples that nothing was released of, and on their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from pool import AT, JUDGED, KEYS, SETS, TARGET, Made, crossed, dealt, make, outputs
from scipy import stats

from outrisk.assess.people import CONSISTENT, inferred_rightly
from outrisk.assess.verdict.decide import says
from outrisk.microdata import Microdata
from outrisk.result_row import NORMAL
from outrisk.risk.by_person.crossed import Contrasts, Pairing, person_contrasts, simultaneous
from outrisk.risk.intervals.paired import paired_interval

RELEASES = ("logit", "two-way", "three-way")
MARGINS = (0.02, 0.05)
GROUPED = 25  # pairs of releases that it is tried on
GROUPS = 20  # of the jackknife that deletes a group of both sides at a time
SECONDS = {1000: 0.7, 5000: 1.0}  # of a run at most
DEALS = 2  # pairs of people that a pair of releases is read on: given the releases, each is a draw of its own


def evolved(n: int, release: str, number: int, runs: int) -> tuple[list[Made], list[list[Microdata]]]:
    """The releases of two samples, evolved, and DEALS pairs of samples of other people."""
    people = dealt(n, 2 + 2 * DEALS, (n, number))
    made = [
        make(f"null/{n}-{release}/{number}-{side}", people[side], outputs(release), runs, SECONDS[n], 2 * number + side)
        for side in (0, 1)
    ]
    return made, [people[2 * deal : 2 * deal + 2] for deal in range(1, DEALS + 1)]


def of_releases(n: int, release: str, number: int, runs: int, permutations: int) -> dict[str, Any]:
    """Two releases on their own people, and on others: estimates with their errors, and what would be said."""
    made, others = evolved(n, release, number, runs)
    own = crossed(made, [each.people for each in made], 0, 0)
    mine = _by_deleting_groups(made, [each.people for each in made]) if number < GROUPED else {}
    return {
        "own": _estimates(own) | mine,
        "null": [_of_deal(made, people, permutations, number) for people in others],
    }


def _of_deal(made: list[Made], others: list[Microdata], permutations: int, seed: int) -> dict[str, Any]:
    null = crossed(made, others, permutations, seed)
    limits = simultaneous(null, JUDGED)
    people = _people(made, others)
    return {
        "chance": float(limits.chance.min()),
        "says": [_said(null, people, margin) for margin in MARGINS],
        "at_once": bool((limits.low <= 0).all() and (limits.high >= 0).all()),
        **_estimates(null),
        **(_by_deleting_groups(made, others) if seed < GROUPED else {}),
    }


def _said(found: Contrasts, people: tuple[float, float], margin: float) -> str:
    """What a verdict says: of every key set, all keys, the mean over key sets, and people inferred run after run."""
    limits = simultaneous(found, JUDGED)
    each = {says(float(limits.low.max()), float(limits.high.max()), margin), says(*people, margin)}
    return "found" if "above" in each else "none" if each == {"below"} else "open"


def _people(made: list[Made], people: list[Microdata]) -> tuple[float, float]:
    """Limits of the share of people inferred rightly in 90 % of the runs of the first's release less the second's."""

    def right(release: Made, side: Microdata) -> np.ndarray:
        runs = [inferred_rightly(each, side, KEYS, TARGET, 1.0)["certain"] for each in release.synthetic]
        return np.asarray(np.mean(runs, axis=0) >= CONSISTENT - 1e-9)

    with_them = np.concatenate([right(made[0], people[0]), right(made[1], people[1])])
    without = np.concatenate([right(made[1], people[0]), right(made[0], people[1])])
    low, high = paired_interval(with_them, without)
    return float(low), float(high)


def _estimates(found: Contrasts) -> dict[str, Any]:
    """Difference and standard error, (measures judged, key sets and their mean)."""
    return {"difference": found.difference[AT].tolist(), "error": found.standard_error[AT].tolist()}


def _by_deleting_groups(made: list[Made], people: list[Microdata]) -> dict[str, Any]:
    """The error of the mean over key sets by deleting groups of both sides, by measure."""
    pairing = Pairing(*people, *(each.synthetic for each in made))
    mine, theirs = (side[:, AT].astype(float) for side in person_contrasts(pairing, SETS, TARGET))
    without = [
        np.delete(mine, np.s_[group::GROUPS], axis=0).mean(axis=0)
        - np.delete(theirs, np.s_[group::GROUPS], axis=0).mean(axis=0)
        for group in range(GROUPS)
    ]
    return {"grouped": (np.sqrt(GROUPS - 1) * np.std(without, axis=0)).tolist()}


def covered(rows: list[dict[str, Any]], truth: np.ndarray | float) -> np.ndarray:
    """Share of 95 % intervals that hold the truth, (measures judged, key sets and their mean)."""
    difference, error = (np.array([row[name] for row in rows]) for name in ("difference", "error"))
    return np.asarray((np.abs(difference - truth) <= NORMAL * error).mean(axis=0))


def by_groups(rows: list[dict[str, Any]], truth: np.ndarray | float) -> str:
    """Coverage of the mean over key sets by the delete-a-group jackknife, by measure, as cells."""
    rows = [row for row in rows if "grouped" in row]
    difference = np.array([row["difference"] for row in rows])[:, :, -1]
    error = np.array([row["grouped"] for row in rows])
    held = np.abs(difference - truth) <= stats.t.ppf(0.975, GROUPS - 1) * error
    return " | ".join(f"{each:.2f}" for each in held.mean(axis=0))


def null_row(n: int, release: str, pairs: list[dict[str, Any]]) -> str:
    """A row of the table of null releases."""
    rows = [row for pair in pairs for row in pair["null"]]
    level = np.mean([row["chance"] <= 0.05 for row in rows])
    said = [f"{np.mean([row['says'][m] == word for row in rows]):.3f}" for m in (0, 1) for word in ("found", "none")]
    share = covered(rows, 0.0)
    cells = [share[m, k] for k in (-1, len(SETS) - 1) for m in (0, 1)]
    cells += [share.mean(), share.min(), share.max(), np.mean([row["at_once"] for row in rows])]
    return (
        f"| {n:,} | {release} | {len(rows)} of {len(pairs)} | {level:.3f} | {' | '.join(said)} | "
        f"{' | '.join(f'{each:.2f}' for each in cells)} | {by_groups(rows, 0.0)} |"
    )


def own_row(n: int, release: str, pairs: list[dict[str, Any]]) -> str:
    """A row of the table of intervals where there is risk: the truth is the mean over all draws."""
    rows = [pair["own"] for pair in pairs]
    difference, error = (np.array([row[name] for row in rows]) for name in ("difference", "error"))
    truth, spread = difference.mean(axis=0), difference.std(axis=0, ddof=1)
    share, ratio = covered(rows, truth), np.sqrt((error**2).mean(axis=0)) / spread
    cells = [f"{truth[m, k]:.3f} | {share[m, k]:.2f} | {ratio[m, k]:.2f}" for m in (0, 1) for k in (len(SETS) - 1, -1)]
    return (
        f"| {n:,} | {release} | {len(rows)} | {' | '.join(cells)} | {share.mean():.2f} | {share.min():.2f} | "
        f"{by_groups(rows, truth[:, -1])} |"
    )
