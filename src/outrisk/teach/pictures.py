"""How the values of each variable of synthetic data are spread, and a relation in them that is chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from outrisk.codebook import Variable
from outrisk.microdata import Microdata
from outrisk.records.schema import Bars, Chance, Pair

_MOST_BARS = 20
_MOST_PAIRS = 300
_GROUPS = 4  # of a number, for the example
_FEW = 5  # expected records of a cell of the example


def bars(data: Microdata) -> tuple[Bars, ...]:
    """Records at each value of each variable, values next to each other taken together where there are many."""
    found = []
    for at, variable in enumerate(data.codebook.variables):
        counts = np.bincount(data.codes[:, at], minlength=variable.size)
        groups = np.array_split(np.arange(len(variable.values)), min(_MOST_BARS, len(variable.values)))
        labels = [_span(variable, group) for group in groups] + (["Missing"] if variable.missing else [])
        sums = [int(counts[group].sum()) for group in groups] + ([int(counts[-1])] if variable.missing else [])
        found.append(Bars(variable.name, tuple(labels), tuple(sums)))
    return tuple(found)


def chance_relation(copies: Sequence[Microdata], absent: Sequence[Pair]) -> Chance | None:
    """Of the pairs of which no output speaks, the one that looks most like a relation in the first data set.

    By Pearson's chi-squared test (numbers in quarters); None without such a pair, or without two groups to compare.
    """
    tested = [(_p_value(copies[0], pair), pair) for pair in islice(absent, _MOST_PAIRS)]
    known = [each for each in tested if not math.isnan(each[0])]
    if not known:
        return None
    _, (first, second) = min(known)
    table = _table(copies[0], (first, second))
    share = table.div(table.sum(axis=1), axis=0)
    usual = table.sum() / table.to_numpy().sum()
    away = ((share - usual).abs().mul(np.sqrt(table.sum(axis=1)), axis=0) / np.sqrt(usual * (1 - usual))).fillna(0)
    row, column = (int(at) for at in np.unravel_index(np.argmax(away.to_numpy()), away.shape))
    return Chance(
        first=first,
        second=second,
        group=str(table.index[row]),
        value=str(table.columns[column]),
        share=float(share.to_numpy()[row, column]),
        usual=float(usual.to_numpy()[column]),
        p_values=tuple(_p_value(copy, (first, second)) for copy in copies),
        tested=len(known),
    )


def _p_value(data: Microdata, pair: Pair) -> float:
    table = _table(data, pair)
    if min(table.shape) < 2:
        return math.nan
    return float(chi2_contingency(table.to_numpy(), correction=False).pvalue)


def _table(data: Microdata, pair: Pair) -> pd.DataFrame:
    """Records by the groups of two variables; groups of too few records are left out."""
    table: Any = pd.crosstab(_groups(data, pair[0]), _groups(data, pair[1]))
    least = math.sqrt(_FEW * max(table.to_numpy().sum(), 1))
    kept: pd.DataFrame = table.loc[table.sum(axis=1) >= least, table.sum() >= least]
    return kept


def _groups(data: Microdata, name: str) -> pd.Series[str]:
    variable = data.codebook[name]
    codes: NDArray[np.int64] = data.codes[:, data.codebook.index(name)].astype(np.int64)
    labels = np.array([_said(variable, code) for code in range(len(variable.values))] + ["Missing"], dtype=object)
    if variable.numeric and len(variable.values) > _GROUPS:
        cuts = np.unique(np.quantile(codes, np.linspace(0, 1, _GROUPS + 1)[1:-1], method="lower"))
        part = np.searchsorted(cuts, np.arange(len(variable.values)), side="left")
        for number in np.unique(part):
            labels[:-1][part == number] = _span(variable, np.flatnonzero(part == number))
    return pd.Series(labels[np.minimum(codes, len(labels) - 1)], name=name)


def _span(variable: Variable, group: NDArray[np.intp]) -> str:
    first, last = (_said(variable, int(at)) for at in group[[0, -1]])
    return first if first == last else f"{first} to {last}"


def _said(variable: Variable, code: int) -> str:
    text = variable.labels[code]
    described = variable.descriptions[code] if variable.descriptions else ""
    return f"{text} ({described})" if described and described != text else text
