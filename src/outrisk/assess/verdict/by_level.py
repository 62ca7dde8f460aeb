"""The marginal risk at each level of folds: which people, by whose synthetic data, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice

import numpy as np

from outrisk.assess.folds import SWAPPED
from outrisk.assess.run import Job, RunResult
from outrisk.assess.verdict.looked_at import LookedAt
from outrisk.records.schema import Contrast
from outrisk.risk.by_person.crossed import (
    Contrasts,
    Pairing,
    Simultaneous,
    contrasts,
    joined,
    simultaneous,
)
from outrisk.risk.by_person.record_scores import ESTIMATES, Floats
from outrisk.side_by_side.halved import halved

PERMUTATIONS = 999


@dataclass(frozen=True, eq=False)
class LevelRisk:
    """What was found at a level. limits: by the measures that they hold at once for; empty but at the leading level.
    not_crossed: why the release of a given holdout was not evolved. divided_anew: see `Fold`.
    """

    level: int
    pairings: tuple[Pairing, ...]
    sets: tuple[LookedAt, ...]
    n_keys: int
    found: Contrasts
    judged: tuple[str, ...]
    limits: dict[tuple[str, ...], Simultaneous]
    not_crossed: str = ""
    divided_anew: str = ""

    @property
    def runs(self) -> int:
        """Fewest runs on a release."""
        releases = [each for pair in self.pairings for each in (pair.of_original, pair.of_holdout) if each]
        return min(map(len, releases))

    @property
    def n_original(self) -> int:
        """Records behind one release."""
        return len(self.pairings[0].original)

    @property
    def n_holdout(self) -> int:
        """Records that it is read against."""
        return len(self.pairings[0].holdout)

    @property
    def whose(self) -> tuple[str, str]:
        """Of how many people or households both are, in words (see `Microdata.whose`)."""
        return self.pairings[0].original.whose, self.pairings[0].holdout.whose

    @property
    def crossed(self) -> bool:
        """Whether both sides' releases were evolved."""
        return all(pair.crossed for pair in self.pairings)

    @property
    def all_keys(self) -> int:
        """Position of the set of all keys."""
        return next(k for k, each in enumerate(self.sets) if not each.about and len(each.keys) == self.n_keys)

    def limits_of(self, measure: str) -> tuple[Floats, Floats, Floats]:
        """Simultaneous limits and permutation level of a measure, (n_sets + 1,) each; NaN where there are none."""
        for measures, found in self.limits.items():
            if measure in measures:
                at = measures.index(measure)
                return found.low[at], found.high[at], found.chance[at]
        nothing = np.full(len(self.sets) + 1, math.nan)
        return nothing, nothing, nothing

    def rows(self) -> Iterator[Contrast]:
        """Rows of marginal.csv: by measure, the mean over key sets, then every key set."""
        low, high = self.found.interval()
        for m, measure in enumerate(self.found.measures):
            lowest, highest, chance = self.limits_of(measure)
            for k in (len(self.sets), *range(len(self.sets))):
                at = self.sets[k] if k < len(self.sets) else LookedAt(())
                yield Contrast(
                    level=self.level,
                    measure=measure,
                    key_size=len(at.keys),
                    keys="+".join(at.keys),
                    about=at.about,
                    original=float(self.found.own[m, k]),
                    holdout=float(self.found.other[m, k]),
                    difference=float(self.found.difference[m, k]),
                    standard_error=float(self.found.standard_error[m, k]),
                    runs_share=float(self.found.runs_share[m, k]),
                    low=float(low[m, k]),
                    high=float(high[m, k]),
                    lowest=float(lowest[k]),
                    highest=float(highest[k]),
                    chance=float(chance[k]),
                )


def risk_by_level(
    results: Sequence[RunResult], sets: Sequence[LookedAt], judged: Sequence[str], seed: np.random.SeedSequence
) -> list[LevelRisk]:
    """Every level with a holdout and a finished run, that of the verdict first: the fewest, hence largest folds.

    Simultaneous limits are made there alone: one family of the measures judged, one of each other measure.
    """
    levels = [(level, list(part)) for level, part in groupby(results, key=lambda result: result.job.fold.level)]
    paired = [(level, pairings, runs[0]) for level, runs in levels if (pairings := pairings_of(runs))]
    leading = paired[0][0] if paired else None
    asked = [
        partial(_contrasted, pair, sets, result.job, PERMUTATIONS if level == leading else 0, number)
        for level, pairings, result in paired
        for pair, number in zip(pairings, seed.generate_state(len(pairings)), strict=True)
    ]
    done = iter(halved(asked[::-1])[::-1])  # first those of the largest folds
    return [
        _of_level(level, pairings, list(islice(done, len(pairings))), sets, result, judged, limited=level == leading)
        for level, pairings, result in paired
    ]


def pairings_of(results: Sequence[RunResult]) -> tuple[Pairing, ...]:
    """The pairs of folds of a level, or the whole with its holdout, as far as their runs have ended."""
    folds = {name: list(runs) for name, runs in groupby(results, key=lambda result: result.job.fold.name)}
    found, used = list[Pairing](), set[str]()
    for name, runs in folds.items():
        fold = runs[0].job.fold
        sibling = SWAPPED if fold.level == 1 else fold.holdout_name.removeprefix("fold ")
        if name in used or fold.holdout is None or fold.swapped:
            continue
        used |= {name, sibling}
        theirs = folds.get(sibling, [])
        holdout = theirs[0].job.fold.original if theirs else fold.holdout
        own, other = ([result.synthetic for result in each] for each in (runs, theirs))
        found.append(Pairing(fold.original, holdout, own, other, fold.bands))
    return tuple(found)


def _contrasted(pair: Pairing, sets: Sequence[LookedAt], job: Job, permutations: int, seed: int) -> Contrasts:
    n_mean = sum(not each.about for each in sets)
    return contrasts(pair, [each.keys for each in sets], job.target, job.tau, n_mean, permutations, int(seed))


def _of_level(
    level: int,
    pairings: tuple[Pairing, ...],
    parts: Sequence[Contrasts],
    sets: Sequence[LookedAt],
    result: RunResult,
    judged: Sequence[str],
    limited: bool,
) -> LevelRisk:
    found = joined(parts) if len(parts) > 1 else parts[0]
    judged = (*judged, *(name for name in found.measures if name in ESTIMATES))
    families = [judged, *((name,) for name in found.measures if name not in judged)] if limited else []
    limits = {family: simultaneous(found, family) for family in families}
    fold, n_keys = result.job.fold, len(result.job.keys)
    return LevelRisk(level, pairings, tuple(sets), n_keys, found, judged, limits, fold.not_crossed, fold.divided_anew)
