"""Estimates from surveys: tables that tell the same, groups in one PSU, few degrees of freedom, weights of one, errors
of 0, and shares of one value of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import Cell, all_alike
from outrisk.assess.look.finding import Found, Rows, counted, named, people, plural
from outrisk.assess.look.told import allowed
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, both, places_in
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.survey_design import Drawn, OverCodebook
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.outputs.tables.survey_means import SurveyMeans
from outrisk.problem.released import half_digit


@dataclass(frozen=True, eq=False)
class _Group:
    """A group of an estimate: its records, their places among those that estimates are of, and how many PSUs these are
    of.
    """

    label: str
    rows: Rows
    at: Rows
    psus: int


def as_tables(outputs: Sequence[Output]) -> list[Output]:
    """Tables, named as the means and proportions of surveys that tell the same: weighted means, weighted shares of all
    values, and the records of groups.
    """
    return [table for each in outputs if isinstance(each, SurveyMeans) for table in _tables(each)]


def _tables(output: SurveyMeans) -> Iterator[Output]:
    """Of records that lack no variable, as the output has them. Without weights, populations are records."""
    codebook, name, weight = output.codebook, output.name, output.design.weights
    gaps = [each for each in dict.fromkeys((*output.variables, *output.design.names)) if codebook[each].missing]
    where = both(output.where, *(f"{written_name(each)}.notna()" for each in gaps))
    digits = output.places[output.main]
    sizes = "n" in output.statistics or (not weight and "population" in output.statistics)
    if not output.counted:
        statistics = (("mean", digits), *([("count", 0)] if sizes and not weight else []))
        names, places = zip(*statistics, strict=True)
        yield Magnitudes(codebook, name, output.value, output.by, names, where, weight, places)
    elif _tells_all(output) and (percent := int(np.floor(digits - 2 + np.log10(output.per) + 1e-9))) >= 0:
        by = (*output.by, output.value)
        yield Frequencies(codebook, name, by, where, "row_percentages", weight=weight, digits=percent)
    if sizes and output.by and (weight or output.counted):
        yield Frequencies(codebook, name, output.by, where)


def _tells_all(output: SurveyMeans) -> bool:
    """Whether its proportions are those of all values."""
    values = output.codebook[output.value].values
    return len(output.counted) == len(values) or len(values) == 2


def of_surveys(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Few degrees of freedom of a design; groups whose records are all of one PSU, or of few; weights of one person."""
    if isinstance(output, SurveyMeans):
        try:
            frame, drawn = output.records(data)
        except OutputError:
            return
        rows, group = frame.index.to_numpy(), places_in(data.codebook, output.by, frame)
        groups = [
            _Group(name, rows[group == at], np.flatnonzero(group == at), len(np.unique(drawn.psu[group == at])))
            for at, name in enumerate(output.group_names)
            if (group == at).any()
        ]
        yield from _degrees(output, drawn, rows, appetite)
        if output.design.psu:
            yield from _in_one(output, output.design.psu, groups, data)
        yield from _weights(output, groups, data)
        yield from _no_error(output, drawn, groups, data)
        yield from _of_one_value(output, groups, data, appetite)
    elif isinstance(output, Regression) and (survey := output.covariance.survey) is not None:
        over = OverCodebook(data.codebook, output.name, survey)
        try:
            frame, sampled = over.records(data, output.covariance.within, output.where, output.variables)
        except OutputError:
            return
        if sampled is not None:
            yield from _degrees(output, sampled, frame.index.to_numpy(), appetite)


def _degrees(output: Output, drawn: Drawn, rows: Rows, appetite: Appetite) -> Iterator[Found]:
    left, psus = int(np.nan_to_num(drawn.df)), int(drawn.inside.sum())
    if drawn.design.psu and left < appetite.safe_dof_threshold:
        yield Found.of(
            "degrees of freedom",
            False,
            output.name,
            left,
            rows,
            f"{plural(left, 'degree')} of freedom of the design: its {len(rows):,} records are of {psus:,} PSUs; at "
            f"least {appetite.safe_dof_threshold} are asked for, as each standard error is made of these few totals.",
            "",
            "Estimate it on more PSUs, or merge groups.",
        )


def _in_one(output: SurveyMeans, psu: str, groups: Sequence[_Group], data: Microdata) -> Iterator[Found]:
    """Groups of one PSU, which is a place or an institution: their estimates are of it alone."""
    alone = [each for each in groups if each.psus == 1]
    if alone:
        yield Found.of(
            "groups in one PSU",
            False,
            output.name,
            len(alone),
            np.concatenate([each.rows for each in alone]),
            f"{plural(len(alone), 'group')} of {len(groups):,} {'has' if len(alone) == 1 else 'have'} the records of "
            f"one {psu} alone: what is printed of {'it' if len(alone) == 1 else 'them'} is of one place.",
            named([f"{each.label}: {data.people(each.rows):,}" for each in alone]),
            "Merge these groups with others.",
        )


def _weights(output: SurveyMeans, groups: Sequence[_Group], data: Microdata) -> Iterator[Found]:
    """Groups of one person whose sum of weights is printed: the weight of that person, and with it what it follows
    from, such as the stratum.
    """
    weights = output.design.weights
    alone = [each for each in groups if data.people(each.rows) == 1 and len(each.rows) == 1]
    if not alone or "population" not in output.statistics or not weights:
        return
    told = "n" in output.statistics
    yield Found.of(
        "weight of one person",
        told,
        output.name,
        len(alone),
        np.concatenate([each.rows for each in alone]),
        f"The weight of {people(len(alone))} is printed as "
        "the size of the population of a group of one"
        + (", which the number of records tells. " if told else ". ")
        + "Weights follow from the stratum, and from what non-response was corrected by.",
        named([each.label for each in alone]),
        "Withhold these groups.",
        weights,
    )


def _no_error(output: SurveyMeans, drawn: Drawn, groups: Sequence[_Group], data: Microdata) -> Iterator[Found]:
    """Groups whose values are all alike, where a standard error of 0, or limits that are alike, show it. Certain where
    no other values have an error of 0: not of totals of PSUs, nor where a group is all of several strata.
    """
    if output.counted or not {ERROR, "limits"} & set(output.statistics):
        return
    variable, weights = data.codebook[output.value], _weights_of(output, data)
    support = np.array(variable.values, dtype=np.float64)
    values = support[np.minimum(data.codes[:, data.codebook.index(output.value)], len(support) - 1)]
    strata = np.bincount(drawn.stratum)
    found: dict[bool, list[Cell]] = {True: [], False: []}
    for each in groups:
        own, w = values[each.rows], weights[each.rows]
        if len(own) < 2 or each.psus < 2 or (own != own[0]).any() or len(support) < 2:
            continue
        gap = np.abs(support - own[0])
        moved = np.where(np.arange(len(w)) == w.argmin(), gap[gap > 0.0].min(), 0.0)
        scores = np.zeros((len(drawn.psu), 1))
        scores[each.at, 0] = w * (moved - w @ moved / w.sum()) / w.sum()
        error = float(np.sqrt(max(drawn.meat(scores)[0, 0], 0.0)))
        of = drawn.stratum[drawn.psu[each.at]]
        whole = np.bincount(of, minlength=len(strata)) == strata
        alone = drawn.design.lonely in ("certainty", "average") and (strata[of] == 1).any()
        certain = not drawn.design.psu and whole.sum() <= 1 and not alone and _is_shown(output, error, drawn.df)
        owner = each.rows if data.person is None else data.person[each.rows]
        found[certain].append(Cell(each.label, own, w, each.rows, owner))
    for certain, cells in found.items():
        if cells:
            yield all_alike(output.name, output.value, cells, data, certain)


def _is_shown(output: SurveyMeans, error: float, df: float) -> bool:
    """Whether an error is printed as another than 0, or its limits as different ones."""
    low, high = output.limits.of(0.0, error, df)
    apart = {ERROR: error, "limits": float(high - low) / 2.0}
    return any(of > half_digit(output.places[each]) for each, of in apart.items() if each in output.statistics)


def _weights_of(output: SurveyMeans, data: Microdata) -> NDArray[np.float64]:
    """The weight of each record, (n,)."""
    weight = output.over.weight
    return np.ones(len(data)) if weight is None else weight.by_code[data.codes[:, weight.variable]]


def _of_one_value(
    output: SurveyMeans, groups: Sequence[_Group], data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """Groups in which everybody has the one value that is counted of several, or nobody has, and few who have it or
    have not. Certain is what one record more or fewer would print otherwise.
    """
    if not output.counted or _tells_all(output) or allowed(data.codebook, output, output.value).sum() < 2:
        return
    variable = data.codebook[output.value]
    code = variable.code_of[output.counted[0]]
    has, weights = data.codes[:, data.codebook.index(output.value)] == code, _weights_of(output, data)
    half, odds = half_digit(output.places[output.main]), output.logit and "limits" in output.statistics
    few: list[tuple[int, str, Rows]] = []
    for all_have, whom in ((True, "Everybody"), (False, "Nobody")):
        for certain in (True, False):
            alike = [
                each
                for each in groups
                if (has[each.rows] == all_have).all()
                and (odds or output.per * weights[each.rows].min() / weights[each.rows].sum() > half) == certain
            ]
            if alike:
                told = f"{whom} in {plural(len(alike), 'group')} has {output.value}={variable.labels[code]}"
                yield _alike(output, told, alike, data, certain, about=all_have)
        of = [(each.label, each.rows[has[each.rows] == all_have]) for each in groups]
        what = f"{output.value}{'=' if all_have else ' not '}{variable.labels[code]}"
        few += [(data.people(rows), f"{label}, {what}", rows) for label, rows in of]
    few = sorted((each for each in few if 0 < each[0] < appetite.safe_threshold), key=lambda each: each[:2])
    if few:
        yield Found.of(
            "small cells",
            False,
            output.name,
            len(few),
            np.concatenate([rows for *_, rows in few]),
            f"Behind its proportions {plural(len(few), 'cell')} hold{'s' * (len(few) == 1)} fewer than "
            f"{appetite.safe_threshold} {counted(data)}.",
            named([f"{label}: {number:,}" for number, label, _ in few]),
            "Merge levels, or withhold these cells.",
        )


def _alike(
    output: SurveyMeans, told: str, groups: Sequence[_Group], data: Microdata, certain: bool, about: bool
) -> Found:
    return Found.of(
        "same answer",
        certain,
        output.name,
        len(groups),
        np.concatenate([each.rows for each in groups]),
        f"{told}." if certain else f"{told}, as it may be read: one with a small weight would be printed as none.",
        named([f"{each.label}: {data.people(each.rows):,}" for each in groups]),
        "Merge these groups with others.",
        output.value if certain and about else "",
    )
