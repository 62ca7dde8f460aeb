"""Identity and attribute disclosure, and CAP, as R's synthpop 1.9-0 defines them, on one cross-tabulation.

Raab, Nowok and Dibben, Practical privacy metrics for synthetic data (2024); where paper and program differ, as the
program does.
Notation: d, s are the counts of the table attacked (original or holdout) and of the synthetic table in a cell (target
level t, class q of the keys); D, S the same after exclusions; d.q, s.q and so on are sums over t; Nd, Ns are numbers of
records, which exclusions do not change. Which cells are disclosive is read off d and s; D and S are then summed.

All measures are shares in [0, 1], where synthpop gives percentages, but for max_denom and mean_denom, which are
records; larger = riskier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.risk.coding.classes import Counts, Equivalence

IDENTITY = ("UiO", "UiS", "UiOiS", "repU")
ATTRIBUTE = ("Dorig", "Dsyn", "iS", "DiS", "DiSCO", "DiSDiO", "max_denom", "mean_denom")
CAP = ("baseCAPd", "CAPd", "CAPs", "DCAP", "TCAP")
STEPS = ("excluded_target", "missing_target", "missing_keys", "listed", "over_denom_lim")
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Exclusions:
    """What is left out: for the steps of STEPS but the last, a mask over the cells, each (n_cells,); then the limit.

    denom_lim: cells whose own count is above it are left out; None = no limit.
    """

    masks: Mapping[str, Mask]
    denom_lim: int | None = None

    @cached_property
    def named(self) -> Mask | None:
        """Cells left out for their levels; None where there are none."""
        gone: Mask = np.logical_or.reduce(list(self.masks.values())) if self.masks else np.zeros(1, dtype=bool)
        return gone if gone.any() else None

    def keep(self, counts: Counts) -> Counts:
        """The counts with zeros in the cells left out."""
        kept = counts if self.named is None else np.where(self.named, 0, counts)
        return kept if self.denom_lim is None else np.where(counts > self.denom_lim, 0, kept)

    def taken(self, counts: Counts) -> dict[str, int]:
        """Records that each step takes after those before it, and `remaining`."""
        left, rows = counts, {}
        for step in STEPS[:-1]:
            mask = self.masks.get(step)
            rows[step] = 0 if mask is None else int(left[mask].sum())
            left = left if mask is None else np.where(mask, 0, left)
        rows[STEPS[-1]] = 0 if self.denom_lim is None else int(left[left > self.denom_lim].sum())
        return rows | {"remaining": int(left.sum()) - rows[STEPS[-1]]}


class Claims:
    """What one synthetic table says of each class, and its measures against any table attacked.

    A class is *claimed* where the synthetic records in it all have one target level, and the cell of that level is
    *certain*.
    """

    def __init__(self, equivalence: Equivalence, synthetic: str, exclusions: Exclusions) -> None:
        self.equivalence, self.exclusions = equivalence, exclusions
        self.classes = equivalence.cell_class
        self.starts = np.flatnonzero(np.diff(self.classes, prepend=-1))
        self.counts = equivalence.counts[synthetic]
        class_counts = equivalence.class_counts[synthetic]
        self.n_records = equivalence.n_records(synthetic)
        self.certain: Mask = (self.counts > 0) & (self.counts == class_counts[self.classes])
        self.met: Mask = class_counts > 0  # (n_classes,)
        self.claimed: Mask = np.logical_or.reduceat(self.certain, self.starts)  # (n_classes,)
        self.kept = exclusions.keep(self.counts)
        self.kept_classes = self.sums(self.kept)
        self.shares = _shares(self.kept, self.kept_classes[self.classes])

    def sums(self, counts: Counts) -> Counts:
        """Sums of a cell count over classes, shape (n_classes,)."""
        return np.add.reduceat(counts, self.starts)

    def own(self) -> dict[str, float]:
        """The measures that depend on the synthetic table alone."""
        return {
            "UiS": _ratio(np.count_nonzero(self.kept_classes == 1), self.n_records),
            "Dsyn": _ratio(self.kept[self.certain].sum(), self.n_records),
            "CAPs": _ratio(_dot(self.kept, self.shares), self.n_records),
        }

    def attack(self, counts: Counts) -> dict[str, float]:
        """The measures that depend on the table attacked, whose cell counts are given."""
        n_records = int(counts.sum())
        sums = self.sums(counts)
        kept = self.exclusions.keep(counts)
        kept_classes = sums if kept is counts else self.sums(kept)
        unique = kept_classes == 1
        determined = counts == sums[self.classes]
        correct = np.where(self.certain, kept, 0)
        disclosed = int(correct.sum())
        by_target = np.bincount(self.equivalence.cell_target, weights=counts)
        return {
            "UiO": _ratio(np.count_nonzero(unique), n_records),
            "UiOiS": _ratio(np.count_nonzero(unique & self.met), n_records),
            "repU": _ratio(np.count_nonzero(unique & (self.kept_classes == 1)), n_records),
            "Dorig": _ratio(kept[determined].sum(), n_records),
            "iS": _ratio(kept_classes[self.met].sum(), n_records),
            "DiS": _ratio(kept_classes[self.claimed].sum(), n_records),
            "DiSCO": _ratio(disclosed, n_records),
            "DiSDiO": _ratio(correct[determined].sum(), n_records),
            "max_denom": int(correct.max()),
            "mean_denom": _ratio(disclosed, np.count_nonzero(correct)),
            "baseCAPd": _dot(by_target, by_target) / n_records**2,
            "CAPd": _ratio(_dot(kept, _shares(kept, kept_classes[self.classes])), n_records),
            "DCAP": _ratio(_dot(self.shares, kept), n_records),
            "TCAP": _ratio(disclosed, int(kept_classes[self.kept_classes > 0].sum())),
        }

    def disclosive(self, counts: Counts) -> Counts:
        """DiSCO's table: counts after exclusions in the certain cells, 0 elsewhere; shape (n_cells,)."""
        return np.where(self.certain, self.exclusions.keep(counts), 0)

    def excluded(self, counts: Counts, attacked: str) -> list[dict[str, Any]]:
        """Records that each exclusion takes from each table of the measures, in the order of STEPS."""
        determined = counts == self.sums(counts)[self.classes]
        tables = {
            attacked: counts,
            "synthetic": self.counts,
            "Dorig": np.where(determined, counts, 0),
            "Dsyn": np.where(self.certain, self.counts, 0),
            "iS": np.where(self.met[self.classes], counts, 0),
            "DiS": np.where(self.claimed[self.classes], counts, 0),
            "DiSCO": np.where(self.certain, counts, 0),
            "DiSDiO": np.where(self.certain & determined, counts, 0),
        }
        return [{"table": table, **self.exclusions.taken(values)} for table, values in tables.items()]


def profile(sizes: Counts, records: Counts) -> list[int]:
    """Records in classes of size 1, 2, 3-4, 5-9 and 10 or more; sizes, records: (n_classes,)."""
    at = np.searchsorted([2, 3, 5, 10], sizes, side="right")
    return [int(n) for n in np.bincount(at, weights=records, minlength=5)]


PROFILE = ("1", "2", "3-4", "5-9", "10+")


def profiles(equivalence: Equivalence, table: str) -> dict[str, list[int]]:
    """Records of a table by the size of their class (k-anonymity), and by the target levels in it (l-diversity)."""
    counts, sizes = equivalence.counts[table], equivalence.class_counts[table]
    levels = np.bincount(equivalence.cell_class, weights=counts > 0, minlength=len(sizes)).astype(np.int64)
    return {"k-anonymity": profile(sizes, sizes), "l-diversity": profile(levels, sizes)}


def check_1way(
    claims: Claims, counts: Counts, labels: Sequence[str], thresholds: tuple[float, float]
) -> dict[str, Any] | None:
    """The target level with the most disclosed records, if they are more than thresholds[0] and make up more than
    thresholds[1] percent of all records disclosed; the first level where several have as many.
    """
    target = claims.equivalence.cell_target
    disclosed = np.bincount(target, weights=claims.disclosive(counts), minlength=len(labels))
    kept = claims.exclusions.keep(counts)
    level = int(np.argmax(disclosed))
    share = _percent(disclosed[level], disclosed.sum())
    if not (disclosed[level] > thresholds[0] and share > thresholds[1]):
        return None
    return {
        "level": labels[level],
        "records": int(kept.sum()),
        "pct_level": _percent(kept[target == level].sum(), kept.sum()),
        "disclosed": int(disclosed.sum()),
        "disclosed_level": int(disclosed[level]),
        "pct_disclosed": share,
    }


def check_2way(
    claims: Claims,
    counts: Counts,
    labels: Sequence[str],
    keys: Mapping[str, tuple[Sequence[str], NDArray[Any]]],
    thresholds: tuple[float, float],
) -> list[dict[str, Any]]:
    """Pairs (target level, key level) that may be related so closely that a disclosure tells nothing new.

    keys: key -> its labels, and the key's level in each cell (n_cells,). A pair counts the records disclosed in cells
    of more than thresholds[0] of them; it is listed where more than thresholds[1] percent of all records of the
    key level have the target level. By falling number of pairs, then by key, then by label.
    """
    target, n_levels = claims.equivalence.cell_target, len(labels)
    disclosed = claims.disclosive(counts)
    cells = np.flatnonzero(disclosed > thresholds[0])
    rows: list[dict[str, Any]] = []
    for key, (key_labels, level_of) in keys.items() if len(cells) else ():
        pair_of = level_of * n_levels + target
        n_pairs = np.bincount(pair_of[cells], weights=disclosed[cells])
        with_target = np.bincount(pair_of, weights=counts)
        totals = np.bincount(level_of, weights=counts)
        found: list[dict[str, Any]] = [
            {
                "target_level": labels[pair % n_levels],
                "key": key,
                "key_level": key_labels[pair // n_levels],
                "npairs": int(n_pairs[pair]),
                "key_target_total": int(with_target[pair]),
                "key_total": int(totals[pair // n_levels]),
                "pct_target_in_key_level": _percent(with_target[pair], totals[pair // n_levels]),
            }
            for pair in np.flatnonzero(n_pairs).tolist()
        ]
        rows += sorted(found, key=lambda row: f"{row['target_level']}|{row['key_level']}")
    listed = [row for row in rows if row["pct_target_in_key_level"] > thresholds[1]]
    return sorted(listed, key=lambda row: -row["npairs"])


def _dot(left: NDArray[Any], right: NDArray[Any]) -> float:
    """Sum of products. Not by `@`: its threads wait for one another on cores that have other work, for no gain here."""
    return float((left * right).sum())


def _shares(counts: Counts, totals: Counts) -> NDArray[np.float64]:
    return np.divide(counts, totals, out=np.zeros(len(counts)), where=totals > 0)


def _percent(part: Any, whole: Any) -> float:
    return 100 * _ratio(part, whole)


def _ratio(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else math.nan
