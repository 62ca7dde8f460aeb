"""Estimates from surveys: tables that tell the same, groups in one PSU, few degrees of freedom, and weights of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows, named, people, plural
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, both, places_in
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.survey_design import Drawn, OverCodebook
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.outputs.tables.survey_means import SurveyMeans


@dataclass(frozen=True, eq=False)
class _Group:
    """A group of an estimate: its records, and how many PSUs these are of."""

    label: str
    rows: Rows
    psus: int


def as_tables(outputs: Sequence[Output]) -> list[Output]:
    """Tables, named as the means and proportions of surveys that tell the same: weighted means, weighted shares of all
    values, and the records of groups.
    """
    return [table for each in outputs if isinstance(each, SurveyMeans) for table in _tables(each)]


def _tables(output: SurveyMeans) -> Iterator[Output]:
    """Of records that lack no variable, as the output has them."""
    codebook, name = output.codebook, output.name
    gaps = [each for each in (*output.by, output.value) if codebook[each].missing]
    where = both(output.where, *(f"{written_name(each)}.notna()" for each in gaps))
    digits, weight = output.places[output.main], output.design.weights
    if not output.counted:
        yield Magnitudes(codebook, name, output.value, output.by, ("mean",), where, weight, (digits,))
    elif len(output.counted) == len(codebook[output.value].values) or len(codebook[output.value].values) == 2:
        by = (*output.by, output.value)
        percent = max(int(np.floor(digits - 2 + np.log10(output.per) + 1e-9)), 0)
        yield Frequencies(codebook, name, by, where, "row_percentages", weight=weight, digits=percent)
    if "n" in output.statistics and output.by:
        yield Frequencies(codebook, name, output.by, where)


def of_surveys(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Few degrees of freedom of a design; groups whose records are all of one PSU, or of few; weights of one person."""
    if isinstance(output, SurveyMeans):
        try:
            frame, drawn = output.records(data)
        except OutputError:
            return
        rows, group = frame.index.to_numpy(), places_in(data.codebook, output.by, frame)
        groups = [
            _Group(name, rows[group == at], len(np.unique(drawn.psu[group == at])))
            for at, name in enumerate(output.group_names)
            if (group == at).any()
        ]
        yield from _degrees(output, drawn, rows, appetite)
        if output.design.psu:
            yield from _in_one(output, output.design.psu, groups, data)
        yield from _weights(output, groups, data)
        yield from _one_value(output, groups, data)
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


def _one_value(output: SurveyMeans, groups: Sequence[_Group], data: Microdata) -> Iterator[Found]:
    """Groups in which everybody has the one value that is counted of several, or nobody has."""
    values = data.codebook[output.value].values
    if not output.counted or len(output.counted) == len(values) or len(values) == 2:
        return
    code = data.codebook[output.value].code_of[output.counted[0]]
    has = data.codes[:, data.codebook.index(output.value)] == code
    full = [each for each in groups if has[each.rows].all()]
    if full:
        yield Found.of(
            "same answer",
            True,
            output.name,
            len(full),
            np.concatenate([each.rows for each in full]),
            f"Everybody in {plural(len(full), 'group')} has {output.value}={data.codebook[output.value].labels[code]}.",
            named([each.label for each in full]),
            "Merge these groups with others.",
            output.value,
        )
