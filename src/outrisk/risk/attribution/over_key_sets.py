"""Attribution measures over many key sets, with jackknife replicates of each side's records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.reasons import sentence
from outrisk.risk.attribution.definitions import (
    Attribution,
    Floats,
    baseline,
    certain_cells,
    check_tau,
    differential_attribution,
    mean_weap,
    targeted_attribution,
)
from outrisk.risk.coding.classes import (
    HOLDOUT,
    ORIGINAL,
    SIDES,
    SYNTHETIC,
    Coding,
    Counts,
    Equivalence,
    Positions,
    check_keys,
    check_target_varies,
    code_microdata,
    cross,
)
from outrisk.risk.intervals.jackknife import (
    NO_REPLICATES,
    Estimate,
    combine,
    deal,
    estimate,
    mean_defined,
    undefined,
    within,
)
from outrisk.risk.rows import ALL, JACKKNIFE, Row, joined

MEASURES = ("tcap_undefined", "tcap_zero", "dcap", "baseline")


@dataclass(frozen=True, eq=False)
class Scores:
    """Measures of one synthetic table for K key sets; mappings by side lack 'holdout' when there was none."""

    sets: tuple[tuple[str, ...], ...]
    target: str
    tau: float
    groups: int
    values: Mapping[tuple[str, str], Floats]  # (measure, side) -> (K,), NaN where undefined
    replicates: Mapping[tuple[str, str], Floats]  # (measure, side) -> (K, groups), the measure without that group
    mean_weap: Floats  # (K,)
    attributions: Mapping[str, tuple[Attribution, ...]]  # side -> K counts behind TCAP
    non_matches: Mapping[str, NDArray[np.int64]]  # side -> (K,) attacked records whose key is not in the synthetic data


def score(
    original: Microdata,
    synthetic: Microdata,
    holdout: Microdata | None = None,
    *,
    sets: Sequence[tuple[str, ...]],
    target: str,
    tau: float = 1.0,
    groups: int = 20,
    seed: int = 0,
) -> Scores:
    """Every measure of MEASURES for every key set, against original and holdout, with jackknife replicates.

    The groups depend on seed, side and number of records alone, so several synthetic tables scored on the same records
    share them. groups = 0 makes no replicates. Cost: O(K * (records + groups * cells)).
    """
    tables = {SYNTHETIC: synthetic, ORIGINAL: original} | ({} if holdout is None else {HOLDOUT: holdout})
    if not sets:
        raise RiskError("no key sets to score; give at least one")
    for keys in sets:
        check_keys(synthetic.codebook.names, keys, target)
    coding = code_microdata(tables, list(dict.fromkeys([*(key for keys in sets for key in keys), target])))
    check_target_varies(coding, target)
    return score_coding(coding, sets, target, tau, groups, seed)


def score_coding(
    coding: Coding, sets: Sequence[tuple[str, ...]], target: str, tau: float, groups: int, seed: int
) -> Scores:
    """`score` on tables under one coding, 'synthetic', 'original' and perhaps 'holdout'."""
    check_tau(tau)
    sides = [side for side in SIDES if side in coding.lengths]
    group_of = {
        side: _group_of(deal(coding.lengths[side], groups, seed, side, coding.together.get(side))) for side in sides
    }
    values = {(measure, side): np.full(len(sets), math.nan) for measure in MEASURES for side in sides}
    replicates = {at: np.full((len(sets), groups), math.nan) for at in values}
    weap = np.empty(len(sets))
    attributions: dict[str, list[Attribution]] = {side: [] for side in sides}
    non_matches = {side: np.empty(len(sets), dtype=np.int64) for side in sides}
    for k, keys in enumerate(sets):
        equivalence = cross(coding, keys, target)
        weap[k] = mean_weap(equivalence)
        for side in sides:
            targeted, differential = (
                targeted_attribution(equivalence, side, tau),
                differential_attribution(equivalence, side),
            )
            attributions[side].append(targeted)
            non_matches[side][k] = differential.non_matches
            row = (targeted.tcap_undefined, targeted.tcap_zero, differential.dcap, baseline(equivalence, side))
            for measure, value in zip(MEASURES, row, strict=True):
                values[measure, side][k] = value
            if groups:
                without = replicate(equivalence, side, group_of[side], groups, tau)
                for measure in MEASURES:
                    replicates[measure, side][k] = without[measure]
    return Scores(
        sets=tuple(tuple(keys) for keys in sets),
        target=target,
        tau=tau,
        groups=groups,
        values=values,
        replicates=replicates,
        mean_weap=weap,
        attributions={side: tuple(found) for side, found in attributions.items()},
        non_matches=non_matches,
    )


def _group_of(members: Sequence[Positions]) -> Positions:
    """The jackknife group of each record, shape (n_records,)."""
    group_of = np.empty(sum(map(len, members)), dtype=np.intp)
    for group, rows in enumerate(members):
        group_of[rows] = group
    return group_of


def replicate(equivalence: Equivalence, side: str, group_of: Positions, groups: int, tau: float) -> dict[str, Floats]:
    """Each measure recomputed without the side's records of each group in turn; arrays of shape (groups,).

    group_of (n_records,): the group of each record.
    """
    of_record = equivalence.records[side]

    def left(code: Positions, counts: Counts) -> Counts:
        """What is left of counts (n,), of records by a code below n, without each group: shape (groups, n)."""
        gone = np.bincount(group_of * len(counts) + code, minlength=groups * len(counts))
        return counts - gone.reshape(groups, len(counts))

    by_target = np.bincount(equivalence.cell_target, weights=equivalence.counts[side])
    in_cell, n_left = left(of_record, equivalence.counts[side]), len(of_record) - np.bincount(group_of)
    in_class = left(equivalence.cell_class[of_record], equivalence.class_counts[side])
    with_target = left(equivalence.cell_target[of_record], by_target)
    cells = certain_cells(equivalence, tau)
    totals = in_class.take(equivalence.cell_class[cells], axis=1)
    weights = equivalence.counts[SYNTHETIC][cells].astype(float)
    met = totals > 0
    correct = np.divide(in_cell.take(cells, axis=1), totals, out=np.zeros(totals.shape), where=met) @ weights
    return {
        "tcap_undefined": _ratios(correct, met @ weights),
        "tcap_zero": _ratios(correct, np.full(groups, weights.sum())),
        "dcap": in_cell @ equivalence.shares(SYNTHETIC) / n_left,
        "baseline": np.square(with_target).sum(axis=1) / n_left**2,
    }


def _ratios(numerators: Floats, denominators: Floats) -> Floats:
    """NaN where a denominator is 0."""
    found = np.full(len(numerators), math.nan)
    return np.asarray(np.divide(numerators, denominators, out=found, where=denominators > 0))


def average(scores: Scores, measure: str, side: str, both: bool = False) -> Estimate:
    """Plain mean of a measure over the key sets where it is defined, each weighing the same, with its interval.

    both: over those where it is defined on original and holdout, as `marginal` is, so that the means subtract.
    """
    _check_names(measure, side)
    if (measure, side) not in scores.values:
        return undefined(len(scores.sets), f"no {side}", f"no_{side}")
    sides = SIDES if both else (side,)
    values = scores.values[measure, side]
    defined = ~np.isnan([scores.values[measure, each] for each in sides]).any(axis=0)
    if not defined.any():
        return undefined(len(values), *_why(scores, sides))
    mean = float(values[defined].mean())
    replicates = mean_defined(scores.replicates[measure, side][defined])
    original, holdout = (replicates, NO_REPLICATES) if side == ORIGINAL else (NO_REPLICATES, replicates)
    return estimate([mean], int(defined.sum()), int((~defined).sum()), original, holdout)


def marginal(scores: Scores, measure: str) -> Estimate:
    """Original minus holdout, mean over the key sets where *both* are defined; in [-1, 1], above 0 = the release tells.

    Its variance is the sum of both sides' jackknife variances: the two samples of records are independent.
    """
    _check_names(measure, ORIGINAL)
    if (measure, HOLDOUT) not in scores.values:
        return undefined(len(scores.sets), sentence("no_holdout"), "no_holdout")
    original, holdout = (scores.values[measure, side] for side in SIDES)
    defined = ~np.isnan(original - holdout)
    if not defined.any():
        return undefined(len(defined), *_why(scores, SIDES))
    means = tuple(mean_defined(scores.replicates[measure, side][defined]) for side in SIDES)
    difference = float((original - holdout)[defined].mean())
    return estimate([difference], int(defined.sum()), int((~defined).sum()), means[0], means[1])


def against(scores: Sequence[Scores], measure: str) -> dict[str, Estimate]:
    """'original', 'holdout' and 'marginal' of a measure, means over runs: all over the same key sets and runs.

    So they subtract. Where no run has a key set with both sides defined, each side is the mean over its own.
    """
    difference = combine([marginal(each, measure) for each in scores])
    both = not math.isnan(difference.value)
    sides = {side: combine([average(each, measure, side, both) for each in scores]) for side in SIDES}
    return {**sides, "marginal": difference}


def attribution_rows(scores: Scores, sets: Sequence[tuple[str, ...]], keys: tuple[str, ...]) -> list[Row]:
    """A row for each measure: the mean over `sets`, and the one set `keys`; both are among those scored."""
    rows = []
    chosen = {"": [scores.sets.index(each) for each in sets], joined(keys): [scores.sets.index(keys)]}
    for name, positions in chosen.items():
        part = some(scores, positions)
        row = Row(family="attribution", measure="", keys=name, size="" if name else ALL, target=scores.target,
                  sets=len(positions))  # fmt: skip
        base = average(part, "baseline", ORIGINAL).value
        rows.append(replace(row, measure="weap", synthetic=float(part.mean_weap.mean()), defined=len(positions)))
        for measure in MEASURES[:-1]:
            found = against([part], measure)
            own, other, difference = (found[side] for side in (*SIDES, "marginal"))
            best = own if math.isnan(difference.value) else difference
            own_low, own_high = within(own.low, own.high, ORIGINAL)
            low, high = within(difference.low, difference.high, "marginal")
            rows.append(
                replace(
                    row,
                    measure=measure,
                    baseline=base,
                    original=own.value,
                    original_low=own_low,
                    original_high=own_high,
                    holdout=other.value,
                    difference=difference.value,
                    low=low,
                    high=high,
                    method=JACKKNIFE,
                    defined=best.n_key_sets,
                    reason=difference.code,
                )
            )
    return rows


def some(scores: Scores, which: Positions | list[int]) -> Scores:
    """The scores of the key sets at these positions."""
    return replace(
        scores,
        sets=tuple(scores.sets[k] for k in which),
        values={at: values[which] for at, values in scores.values.items()},
        replicates={at: replicates[which] for at, replicates in scores.replicates.items()},
        attributions={side: tuple(found[k] for k in which) for side, found in scores.attributions.items()},
        mean_weap=scores.mean_weap[which],
        non_matches={side: found[which] for side, found in scores.non_matches.items()},
    )


def _why(scores: Scores, sides: Sequence[str]) -> tuple[str, str]:
    """The first reason found why TCAP, the one measure that can be undefined, is so in every key set; its code."""
    side, found = next((side, found) for side in sides for found in scores.attributions[side] if found.code)
    return f"undefined in all {len(scores.sets)} key sets, the first: {sentence(found.code, side)}", found.code


def _check_names(measure: str, side: str) -> None:
    if measure not in MEASURES:
        raise RiskError(f"no measure {measure!r}; known: {list(MEASURES)}")
    if side not in SIDES:
        raise RiskError(f"no side {side!r}; known: {list(SIDES)}")
