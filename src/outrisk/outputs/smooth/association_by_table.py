"""Measures of association by pandas and statsmodels, from records: what the numbers from totals are held to."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2

from outrisk.outputs.base import Array
from outrisk.outputs.smooth.two_by_two import limits_of

if TYPE_CHECKING:
    from outrisk.outputs.smooth.association import Association

_Table = list[list[float]]  # rows: exposed, not; columns: with the event, without


def by_table(output: Association, frame: pd.DataFrame) -> Array:
    """The numbers (k,) of decoded records without missing values; NaN for what is undefined on them."""
    happened = frame[output.event] == output.happened
    known = pd.Series(False, index=frame.index)
    tables = list[list[list[float]]]()  # of each stratum the cases and the others of each level
    for stratum in output.strata:
        inside = pd.Series(True, index=frame.index)
        for name, value in zip(output.over, stratum, strict=True):
            inside &= frame[name] == value
        known |= inside
        levels = [inside & (frame[output.exposure] == value) for value in output.levels]
        tables.append([[float((each & happened).sum()), float((each & ~happened).sum())] for each in levels])
    crude = [[sum(table[at][side] for table in tables) for side in (0, 1)] for at in range(len(output.levels))]
    found = dict[tuple[int, int], dict[str, float]]()
    for table, level, _ in output.shown:
        if (table, level) in found:
            continue
        if table > len(tables):
            pairs = [[each[level], each[output.reference_at]] for each in tables]
            found[table, level] = _pooled(pairs, output)
        else:
            of = [*tables, crude][table]
            found[table, level] = _single([of[level], of[output.reference_at]], output)
    numbers = [found[table, level].get(name, math.nan) for table, level, name in output.shown]
    return np.array([each if math.isfinite(each) else math.nan for each in numbers], dtype=float)


def _single(table: _Table, output: Association) -> dict[str, float]:
    """Of one table; what is missing is undefined."""
    (a, b), (c, d) = table
    found = {"n": a + b, "cases": a}
    if a + b:
        found["risk"] = output.per * a / (a + b)
    if not (a + b and c + d):
        return found
    of, z = Table2x2(np.array(table), shift_zeros=False), stats.norm.ppf((1.0 + output.level) / 2.0)
    p1, p0 = a / (a + b), c / (c + d)
    error = math.sqrt(p1 * (1 - p1) / (a + b) + p0 * (1 - p0) / (c + d))
    found |= _named("risk difference", p1 - p0, (p1 - p0 - z * error, p1 - p0 + z * error), output.per)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of cells without records
        if c:
            ends = of.riskratio_confint(1.0 - output.level) if a else None
            found |= _named("risk ratio", float(of.riskratio), ends)
            found |= {"attributable fraction": 1.0 - 1.0 / float(of.riskratio)} if a else {}
        if b and c:
            ends = of.oddsratio_confint(1.0 - output.level) if a and d else None
            found |= _named("odds ratio", float(of.oddsratio), ends)
    return found


def _named(name: str, value: float, ends: Sequence[float] | None, per: float = 1.0) -> dict[str, float]:
    """A measure and its limits by their names."""
    limits = {} if ends is None else dict(zip(limits_of(name), (per * float(each) for each in ends), strict=True))
    return {name: per * value, **limits}


def _pooled(tables: Sequence[_Table], output: Association) -> dict[str, float]:
    """Mantel and Haenszel's numbers of several tables; risks by their sums over strata, odds by statsmodels."""
    tables = [each for each in tables if sum(map(sum, each)) > 0]
    z, found = float(stats.norm.ppf((1.0 + output.level) / 2.0)), dict[str, float]()
    sums = dict.fromkeys(("exposed", "others", "weight", "log ratio", "greenland-robins", "p", "q"), 0.0)
    for (a, b), (c, d) in tables:
        n1, n0, n = a + b, c + d, a + b + c + d
        sums["exposed"] += a * n0 / n
        sums["others"] += c * n1 / n
        sums["weight"] += n1 * n0 / n
        sums["log ratio"] += ((a + c) * n1 * n0 - a * c * n) / n**2
        if n1 and n0:
            sums["greenland-robins"] += (n1 * n0 / n) ** 2 * (a * b / n1**3 + c * d / n0**3)
        sums["p"] += (n1**2 * c - n0**2 * a + n1 * n0 * (n0 - n1) / 2.0) / n**2
        sums["q"] += (a * (n0 - c) + c * (n1 - a)) / (2.0 * n)
    if sums["weight"] > 0.0:
        difference = (sums["exposed"] - sums["others"]) / sums["weight"]
        sato = difference * sums["p"] + sums["q"]
        error = math.sqrt(max(sato if output.variance == "sato" else sums["greenland-robins"], 0.0)) / sums["weight"]
        ends = difference - z * error, difference + z * error
        found |= _named("risk difference", difference, ends, output.per)
    if sums["others"] > 0.0:
        ratio, apart = sums["exposed"] / sums["others"], None
        if ratio:
            error = math.sqrt(max(sums["log ratio"], 0.0) / (sums["exposed"] * sums["others"]))
            apart = ratio * math.exp(-z * error), ratio * math.exp(z * error)
        found |= _named("risk ratio", ratio, apart)
    return found | _odds(tables, output)


def _odds(tables: Sequence[_Table], output: Association) -> dict[str, float]:
    found = dict[str, float]()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        of = StratifiedTable([np.array(each) for each in tables]) if tables else None
        if of is not None and any(b * c for (_, b), (c, _) in tables):
            ends = of.oddsratio_pooled_confint(1.0 - output.level) if any(a * d for (a, _), (_, d) in tables) else None
            found |= _named("odds ratio", float(of.oddsratio_pooled), ends)
        tables = [each for each in tables if sum(map(sum, each)) > 1]
        if tables and _varies(tables):
            apart = abs(sum(a - (a + b) * (a + c) / (a + b + c + d) for (a, b), (c, d) in tables))
            of = StratifiedTable([np.array(each) for each in tables])
            test = of.test_null_odds(correction=output.continuity and bool(apart >= 0.5))
            found |= {"chi-square": float(test.statistic), "p": float(test.pvalue)}
    return found


def _varies(tables: Sequence[_Table]) -> bool:
    """Whether some table has people in both rows and in both columns."""
    return any((a + b) * (c + d) * (a + c) * (b + d) > 0 for (a, b), (c, d) in tables)
