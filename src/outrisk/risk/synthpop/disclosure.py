"""The disclosure suite of one target: identity, attribute and CAP measures as R's synthpop defines them, and more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import RiskError
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, Coding, Equivalence, check_keys, cross
from outrisk.risk.coding.levels import Groups, Levels, make_groups
from outrisk.risk.coding.variables import Tables, check_named, from_frames, group_variables, listed
from outrisk.risk.rows import Row
from outrisk.risk.synthpop.claims import (
    ATTRIBUTE,
    CAP,
    IDENTITY,
    PROFILE,
    STEPS,
    Claims,
    check_1way,
    check_2way,
    profiles,
)
from outrisk.risk.synthpop.margins import BY_COMPANY, margin_rows, margins
from outrisk.risk.synthpop.options import Options, Triple, exclusions_of, make_options

_CHECK_1WAY = ["synthesis", "level", "records", "pct_level", "disclosed", "disclosed_level", "pct_disclosed"]
_CHECK_2WAY = [
    *["synthesis", "target_level", "key", "key_level", "npairs", "key_target_total", "key_total"],
    "pct_target_in_key_level",
]
_EXCLUSIONS = ["synthesis", "side", "table", *STEPS, "remaining"]


@dataclass(frozen=True, eq=False)
class Disclosure:
    """Disclosure measures of one target; data frames with one row for each synthetic table, numbered from 1.

    identity, attribute, cap: columns named as synthpop does; shares in [0, 1] (synthpop gives percentages), but for
    max_denom and mean_denom (records); larger = riskier; NaN where undefined (no disclosive cell, a zero denominator).
    check_1way, check_2way: flagged target levels, and pairs of target and key level, in synthpop's order.
    exclusions: records that each exclusion takes from each table, and those that remain.
    profiles: records of each table in classes of size 1, 2, 3-4, 5-9, 10+ (k-anonymity) and in classes with so many
    target levels (l-diversity), before exclusions.
    marginal: each measure against original and holdout, and the difference with its 95 % interval.
    notes: what should be known before the numbers are used, one sentence each.
    """

    keys: tuple[str, ...]  # in the order of the original's columns
    target: str
    n_original: int
    n_synthetic: tuple[int, ...]
    n_holdout: int
    identity: pd.DataFrame
    attribute: pd.DataFrame
    cap: pd.DataFrame
    check_1way: pd.DataFrame
    check_2way: pd.DataFrame
    exclusions: pd.DataFrame
    profiles: pd.DataFrame
    marginal: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def mean(self) -> pd.Series[float]:
        """Mean of every measure over the synthetic tables; the tables where it is undefined are left out."""
        return pd.concat([self.identity, self.attribute, self.cap], axis=1).mean()

    @property
    def rows(self) -> list[Row]:
        """Each measure as a result row; of several synthetic tables the mean."""
        rows = margin_rows(self.marginal, self.mean, self.keys, self.target)
        return [replace(row, n_original=self.n_original, n_holdout=self.n_holdout) for row in rows]


def disclosure(
    original: pd.DataFrame,
    synthetic: pd.DataFrame | Sequence[pd.DataFrame],
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str],
    target: str,
    not_target_levels: Iterable[Any] = (),
    use_target_na: bool = True,
    use_keys_na: bool | Sequence[bool] = True,
    exclude: Iterable[Triple] = (),
    ngroups_target: int | None = None,
    ngroups_keys: int | Mapping[str, int] | None = None,
    keep_values: Mapping[str, Any] | None = None,
    denom_lim: int = 5,
    exclude_over_denom_lim: bool = False,
    thresh_1way: Sequence[float] = (50, 90),
    thresh_2way: Sequence[float] = (4, 80),
    codebook: Codebook | None = None,
    groups: int = 20,
    seed: int = 0,
) -> Disclosure:
    """Identity and attribute disclosure, and CAP, of one or several synthetic tables, as synthpop 1.9-0 defines them.

    not_target_levels: target levels to leave out. use_target_na, use_keys_na: False leaves missing values out
    (use_keys_na: one value, or one for each key in the order of `keys`). exclude: triples (key, key level, target
    level) to leave out. ngroups_target, ngroups_keys: intervals to group numeric variables into (one number for all
    numeric keys, or a mapping key -> number; 0 or None = no grouping); the breaks come from original and synthetic
    tables, a value of the holdout beyond them falls into the first or last interval. keep_values: variable -> value or
    values kept apart as levels of their own when it is grouped. exclude_over_denom_lim: leave out cells of more than
    `denom_lim` records. thresh_1way, thresh_2way: (records, percent) above which a level or a pair is flagged.
    codebook: says for a variable whether it is numeric or categorical, where the tables differ. groups, seed: of the
    jackknife behind the intervals of `marginal`.

    Cost: O(records) but for sorting where the possible cells are many. RiskError where no measure is defined.
    Source: Raab, Nowok and Dibben (2024), and synthpop's values where paper and program differ.
    """
    tables = from_frames(original, synthetic, holdout, [*listed(keys), target], codebook)
    check_keys(tables.names, keys, target)
    options = make_options(
        keys,
        not_target_levels=not_target_levels,
        use_target_na=use_target_na,
        use_keys_na=use_keys_na,
        exclude=exclude,
        denom_lim=denom_lim,
        exclude_over_denom_lim=exclude_over_denom_lim,
        thresh_1way=thresh_1way,
        thresh_2way=thresh_2way,
    )
    check_named(tables.names, "keep_values", keep_values)
    grouping = group_variables(tables, keys, "ngroups_keys", ngroups_keys, keep_values)
    grouping |= make_groups([target], "ngroups_target", ngroups_target, keep_values)
    return measure_target(tables, keys, target, options, grouping, groups, seed)


def measure_target(
    tables: Tables,
    keys: Sequence[str],
    target: str,
    options: Options,
    grouping: Mapping[str, Groups] | None = None,
    groups: int = 20,
    seed: int = 0,
) -> Disclosure:
    """The suite on tables that stand ready; `disclosure` describes it."""
    ordered = sorted(keys, key=tables.names.index)
    if isinstance(options.use_keys_na, tuple):
        use = dict(zip(keys, options.use_keys_na, strict=True))
        options = replace(options, use_keys_na=tuple(use[key] for key in ordered))
    levels = {name: tables.levels(name, (grouping or {}).get(name)) for name in (*ordered, target)}
    coding = Coding(
        names=tuple(levels),
        labels=tuple(each.labels for each in levels.values()),
        columns=tuple(each.codes for each in levels.values()),
        lengths=tables.lengths,
        together=tables.together,
    )
    _check_target(coding, target, levels[target].missing)
    equivalence = cross(coding, ordered, target)
    cell_levels = _cell_levels(coding, equivalence)
    missing = {name: each.missing for name, each in levels.items()}
    exclusions, notes = exclusions_of(options, coding, missing, ordered, target, cell_levels)
    claims = {i: Claims(equivalence, table, exclusions) for i, table in enumerate(tables.synthetic, start=1)}
    counts = equivalence.counts[ORIGINAL]
    measures = pd.DataFrame(
        [{**claim.attack(counts), **claim.own()} for claim in claims.values()], index=pd.Index(claims, name="synthesis")
    )
    labels = levels[target].labels
    key_levels = {key: (levels[key].labels, cell_levels[key]) for key in ordered}
    one_way = {i: check_1way(claim, counts, labels, options.thresh_1way) for i, claim in claims.items()}
    two_way = {i: check_2way(claim, counts, labels, key_levels, options.thresh_2way) for i, claim in claims.items()}
    return Disclosure(
        keys=tuple(ordered),
        target=target,
        n_original=tables.lengths[ORIGINAL],
        n_synthetic=tuple(tables.lengths[table] for table in tables.synthetic),
        n_holdout=tables.lengths.get(HOLDOUT, 0),
        identity=measures[list(IDENTITY)],
        attribute=measures[list(ATTRIBUTE)],
        cap=measures[list(CAP)],
        check_1way=_by_synthesis({i: [row] if row else [] for i, row in one_way.items()}, _CHECK_1WAY),
        check_2way=_by_synthesis(two_way, _CHECK_2WAY),
        exclusions=_by_synthesis({i: _taken(claim) for i, claim in claims.items()}, _EXCLUSIONS),
        profiles=_profiles(equivalence),
        marginal=margins(equivalence, claims, groups, seed),
        notes=(*_notes(levels, ordered, target, equivalence), *notes),
    )


def _by_synthesis(rows: Mapping[int, Sequence[Mapping[str, Any]]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows of every synthetic table, its number first."""
    return pd.DataFrame([{"synthesis": i, **row} for i, own in rows.items() for row in own], columns=list(columns))


def _taken(claims: Claims) -> list[dict[str, Any]]:
    """What the exclusions take, against the original and against the holdout."""
    counts = claims.equivalence.counts
    sides = [side for side in (ORIGINAL, HOLDOUT) if side in counts]
    return [{"side": side, **row} for side in sides for row in claims.excluded(counts[side], side)]


def _profiles(equivalence: Equivalence) -> pd.DataFrame:
    rows = [
        [table, profile, *records]
        for table in equivalence.counts
        for profile, records in profiles(equivalence, table).items()
    ]
    return pd.DataFrame(rows, columns=["table", "profile", *PROFILE])


def _check_target(coding: Coding, target: str, missing: int | None) -> None:
    codes = coding.columns[coding.names.index(target)]
    for table, rows in coding.rows().items():
        if missing is not None and (codes[rows] == missing).all():
            raise RiskError(f"{table}: target {target!r} is missing in every record; choose one that is known")


def _cell_levels(coding: Coding, equivalence: Equivalence) -> dict[str, Any]:
    """Variable -> its level in each cell, read off one record of the cell."""
    member = np.empty(len(equivalence.cell_class), dtype=np.intp)
    for table, rows in coding.rows().items():
        member[equivalence.records[table]] = np.arange(rows.start, rows.stop)
    return {name: column[member] for name, column in zip(coding.names, coding.columns, strict=True)}


def _notes(levels: Mapping[str, Levels], keys: Sequence[str], target: str, equivalence: Equivalence) -> list[str]:
    notes = [
        f"key {key!r} is numeric, has many values ({len(levels[key].labels):,}) and is not grouped: most records are "
        "unique by it, and few are met by a synthetic record; --ngroups-keys (in Python ngroups_keys) groups it"
        for key in keys
        if levels[key].continuous
    ]
    present = np.unique(equivalence.cell_target[equivalence.counts[ORIGINAL] > 0])
    if len(present) == 1:
        notes.append(
            f"target {target!r} is {levels[target].labels[present[0]]!r} in every original record: "
            "a guess of it is right whatever was released"
        )
    attacked = {side: equivalence.n_records(side) for side in (ORIGINAL, HOLDOUT) if side in equivalence.counts}
    if len(set(attacked.values())) > 1:
        notes.append(
            f"original has {attacked[ORIGINAL]:,} records, holdout {attacked[HOLDOUT]:,}: {', '.join(BY_COMPANY)} "
            "depend on the number of records, and differ for that reason too"
        )
    return notes
