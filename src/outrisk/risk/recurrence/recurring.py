"""Confidence-ranked reconstruction (Dick and others, PNAS 2023): are records that recur those of people in the data?

Several data sets reproduce the same release; the records in them are ranked by how many of them hold each. That a top
record is in the original says little by itself: recurring records are often common ones, which a holdout holds too
(Sanchez and others, arXiv 2311.03171). So the share of the top k that is in the original stands beside the share that
is in a holdout of as many people, and in a null: as many records with the same one-way distributions and no relation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from outrisk.microdata import Microdata
from outrisk.result_row import NORMAL, Top
from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, combined_code

NULL = "null"
Ids = NDArray[np.int64]


def recurring(
    syntheses: Sequence[Microdata],
    original: Microdata,
    holdout: Microdata | None,
    names: Sequence[str],
    seed: int,
) -> list[Top]:
    """Rows for k = 1, 2, 5, 10, 20, ... up to the number of different records, of the variables `names`.

    At most as many records are ranked as the original has; equal ranks are ordered by how many records of the syntheses
    are the same, then at random. Match rates lie in [0, 1], larger = riskier; NaN without a holdout.
    """
    rng = np.random.default_rng(seed)
    columns = [original.codebook.index(name) for name in names]
    people = len(original) if holdout is None else min(len(original), len(holdout))
    tables = {ORIGINAL: _some(original.codes[:, columns], people, rng)}
    if holdout is not None:
        tables[HOLDOUT] = _some(holdout.codes[:, columns], people, rng)
    tables[NULL] = np.column_stack([rng.permutation(column) for column in tables[ORIGINAL].T])
    ids = _ids([each.codes[:, columns] for each in syntheses] + list(tables.values()))
    ranked, recurs = _ranked(ids[: len(syntheses)], rng)
    ranked, recurs = ranked[: len(original)], recurs[: len(original)]
    found = {side: np.isin(ranked, each) for side, each in zip(tables, ids[len(syntheses) :], strict=True)}
    return [_top(k, recurs, found) for k in _steps(len(ranked))]


def _some(codes: NDArray[np.uint16], number: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    return codes if number == len(codes) else codes[rng.permutation(len(codes))[:number]]


def _ids(tables: Sequence[NDArray[np.uint16]]) -> list[Ids]:
    """A number for each record, the same for the same codes, in all tables."""
    every = np.concatenate(tables)
    sizes = every.max(axis=0).astype(np.int64) + 1
    return np.split(combined_code(list(every.T), sizes.tolist())[0], np.cumsum([len(each) for each in tables])[:-1])


def _ranked(runs: Sequence[Ids], rng: np.random.Generator) -> tuple[Ids, Floats]:
    """The different records, those that recur most first, and the share of the syntheses that hold each."""
    each = [np.unique(run, return_counts=True) for run in runs]
    records, place = np.unique(np.concatenate([one for one, _ in each]), return_inverse=True)
    held = np.bincount(place)
    copies = np.bincount(place, weights=np.concatenate([counts for _, counts in each]))
    order = np.lexsort([rng.random(len(records)), -copies, -held])
    return records[order], held[order] / len(runs)


def _steps(most: int) -> list[int]:
    steps = [digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5)]
    return [*(step for step in steps if step < most), most]


def _top(k: int, recurs: Floats, found: Mapping[str, NDArray[np.bool_]]) -> Top:
    rates = {side: float(each[:k].mean()) for side, each in found.items()}
    areas = {side: float((np.cumsum(each[:k]) / np.arange(1, k + 1)).mean()) for side, each in found.items()}
    difference = low = high = math.nan
    if HOLDOUT in found:
        each = found[ORIGINAL][:k].astype(float) - found[HOLDOUT][:k]
        difference = float(each.mean())
        if k > 1:
            margin = NORMAL * float(each.std(ddof=1)) / math.sqrt(k)
            low, high = max(difference - margin, -1.0), min(difference + margin, 1.0)
    return Top(
        k,
        float(recurs[k - 1]),
        rates[ORIGINAL],
        rates.get(HOLDOUT, math.nan),
        rates[NULL],
        difference,
        low,
        high,
        areas[ORIGINAL],
        areas.get(HOLDOUT, math.nan),
        areas[NULL],
    )
