"""The marginal risk of subsets of outputs, person by person, and of weighted sums of them, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.contributions.combinations import Combination, Subset
from outrisk.result_row import NORMAL
from outrisk.risk.by_person.crossed import Pairing, person_contrasts, widened
from outrisk.risk.intervals.clustered import variance_of_mean

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Place:
    """Where risk is looked at: a measure, at a mean over key sets or at one key set; sets: these."""

    measure: str
    over: str
    sets: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Worth:
    """Contrasts of people by a release, mean over its runs, at some places.

    people: for each pair of folds those of the original, (n_original, places), and of the holdout. by_run: the marginal
    risk by each run, (runs, places), mean over pairs of folds. met: whether every run met all numbers. together: for
    each pair of folds, whose records go together on both sides (see `Microdata`).
    """

    people: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    by_run: Floats
    met: bool
    together: tuple[tuple[Numbers | None, Numbers | None], ...]


@dataclass(frozen=True, eq=False)
class Estimated:
    """A weighted sum of marginal risks at every place, (places,), with its standard error and 95 % limits."""

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    met: bool


def worth_of(pairings: Sequence[Pairing], places: Sequence[Place], target: str, tau: float, met: bool) -> Worth:
    """The contrasts of everybody by the runs of one release; runs of the two sides are taken in pairs."""
    people, by_run = [], []
    for pairing in pairings:
        runs = [_one_run(pairing, at) for at in range(_n_runs(pairing))]
        scored = [_at_places(run, places, target, tau) for run in runs]
        people.append((_mean([mine for mine, _ in scored]), _mean([theirs for _, theirs in scored])))
        by_run.append([_risk(*run) for run in scored])
    least = min(map(len, by_run))
    together = tuple((pairing.original.together, pairing.holdout.together) for pairing in pairings)
    return Worth(tuple(people), np.mean([runs[:least] for runs in by_run], axis=0), met, together)


def _mean(runs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.asarray(np.mean(np.stack(runs), axis=0, dtype=np.float64), dtype=np.float32)


def _n_runs(pairing: Pairing) -> int:
    n = len(pairing.of_original)
    return min(n, len(pairing.of_holdout)) if pairing.crossed else n


def _one_run(pairing: Pairing, at: int) -> Pairing:
    theirs = pairing.of_holdout[at : at + 1] if pairing.crossed else ()
    return replace(pairing, of_original=pairing.of_original[at : at + 1], of_holdout=theirs)


def _at_places(
    pairing: Pairing, places: Sequence[Place], target: str, tau: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(n_original, places) and (n_holdout, places); places with the same key sets are scored together."""
    found = {sets: person_contrasts(pairing, sets, target, tau) for sets in {place.sets for place in places}}
    columns = [(place.sets, pairing.measures.index(place.measure)) for place in places]
    mine, theirs = (np.stack([found[sets][side][:, m] for sets, m in columns], axis=1) for side in (0, 1))
    return mine, theirs


def _risk(mine: NDArray[np.float32], theirs: NDArray[np.float32]) -> Floats:
    return np.asarray(mine.mean(axis=0, dtype=np.float64) - theirs.mean(axis=0, dtype=np.float64))


def run_variance(worths: Sequence[Worth]) -> Floats:
    """Variance of the marginal risk between runs on one release, (places,), pooled over releases; NaN of single runs.

    A release by itself has too few runs to say it; releases of the same people by the same search differ little in it.
    """
    squares = sum(((worth.by_run - worth.by_run.mean(axis=0)) ** 2).sum(axis=0) for worth in worths)
    freedom = sum(len(worth.by_run) - 1 for worth in worths)
    return np.asarray(squares / freedom) if freedom else np.full(worths[0].by_run.shape[1], math.nan)


def estimate(combination: Combination, worths: Mapping[Subset, Worth], between_runs: Floats) -> Estimated:
    """A weighted sum of risks: compared person by person, so what the releases have in common cancels.

    Its variance is that of sampling the people, and that between runs (left out where no release has two).
    """
    terms = [(weight, worths[subset]) for subset, weight in combination.weights.items() if subset in worths]
    n_pairs = len(terms[0][1].people)
    value, sampling = np.zeros(len(between_runs)), np.zeros(len(between_runs))
    for pair in range(n_pairs):
        each = [[weight * of.people[pair][side].astype(np.float64) for weight, of in terms] for side in (0, 1)]
        sides = [np.sum(side, axis=0) for side in each]
        value += (sides[0].mean(axis=0) - sides[1].mean(axis=0)) / n_pairs
        together = terms[0][1].together[pair]
        sampling += sum(variance_of_mean(side, of) for side, of in zip(sides, together, strict=True)) / n_pairs**2
    runs = sum(weight**2 / len(worth.by_run) for weight, worth in terms) * np.nan_to_num(between_runs)
    with np.errstate(invalid="ignore"):  # no sampling error and no risk: nobody differs
        wider = np.nan_to_num(widened(value, np.sqrt(sampling)), nan=1.0)
    error = np.sqrt(sampling * wider**2 + runs)
    margin = NORMAL * error
    return Estimated(value, error, value - margin, value + margin, all(worth.met for _, worth in terms))
