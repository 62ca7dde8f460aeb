"""Linear mixed models: degrees of freedom, groups of one record or few, coefficients on few people, and exact fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows, counted, plural
from outrisk.assess.look.fits import FULL, degrees_of_freedom, few_behind, resting_on_few
from outrisk.assess.look.told_by_mixed import leverages, told_by_mixed
from outrisk.assess.look.told_by_models import told_by_models
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.regression.mixed import Mixed

_EXACT = 1e-7  # of the largest response, from which what a fit leaves is rounding


def of_mixed(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """What a random intercept shares with a linear regression and with fixed effects: it lies between the two. Where
    its variance is 0 it is the linear regression, and all is told that this tells.
    """
    if not isinstance(output, Mixed):
        return
    try:
        rows = output.records(data)[3].index.to_numpy()
    except OutputError:
        return
    for found in _of_records(output, data.take(rows), appetite, target):
        yield replace(found, who=rows[found.who])


def _of_records(output: Mixed, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """The same of data that have no other records than those of the model, as a linear regression would have."""
    terms, response, groups, _ = output.records(data)
    rows = np.arange(len(groups))
    design = np.column_stack([np.ones(len(rows)), terms])
    yield from _between(output, design, groups, rows)
    if output.ratio(data) == 0.0:
        for rule in (told_by_models, few_behind, degrees_of_freedom):
            yield from rule(output.linear, data, appetite, target)
        yield from _of_groups(output, groups, rows, data, appetite)
        return
    yield from told_by_mixed(output, groups, rows, data, appetite)
    yield from _degrees(output, design, rows, data, appetite)
    yield from _of_groups(output, groups, rows, data, appetite)
    yield from _behind(output, design, rows, data, appetite)
    yield from _alone(output, design, rows, data)
    yield from _exact(output, design, response, groups, rows)


def _degrees(output: Mixed, design: Array, rows: Rows, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Of the coefficients and the two variances."""
    told, k = data.people(rows), int(np.linalg.matrix_rank(design)) + 2
    if told - k < appetite.safe_dof_threshold:
        of = f"{len(rows):,} records" + (f" of {told:,} people" if data.person is not None else "")
        yield Found.of(
            "degrees of freedom",
            False,
            output.name,
            k,
            rows,
            f"{plural(told - k, 'residual degree')} of freedom ({of}, {plural(k, 'parameter')} with the variances); at "
            f"least {appetite.safe_dof_threshold} are asked for.",
            "",
            "Fit it on more records, or with fewer terms.",
        )


def _between(output: Mixed, design: Array, groups: NDArray[np.int64], rows: Rows) -> Iterator[Found]:
    """One group more than columns between groups: their variance is made of the square of one difference."""
    if not {"sigma_u", "variance_u", "rho"} & set(output.release.parts):
        return
    sizes = np.bincount(groups)
    means = np.stack([np.bincount(groups, column) for column in design.T], axis=1) / sizes[:, None]
    inside = np.linalg.matrix_rank(design - means[groups]) if len(rows) > len(sizes) else 0
    columns = int(np.linalg.matrix_rank(design) - inside)
    if len(sizes) - columns > 1:
        return
    yield Found.of(
        "degrees of freedom",
        False,
        output.name,
        1,
        rows,
        f"{plural(len(sizes), 'level')} of {output.groups}, {plural(columns, 'column')} between them: the variance "
        "between groups is of one difference at most, so that with the coefficients it tells the mean of each level up "
        "to which is the larger, and the response of a level of one record.",
        "",
        "Release no variance of so few groups.",
    )


def _of_groups(
    output: Mixed, groups: NDArray[np.int64], rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """Groups of one record, and numbers that tell that groups are small or few."""
    sizes = np.bincount(groups)
    levels, single = len(sizes), sizes[groups] == 1
    printed = {"n", "levels"} <= set(output.release.parts)
    if single.any():
        told = max(2 * levels - len(rows), 0) if printed else 0
        says = f" The numbers of records and of groups tell that there are {told:,} or more." if told else ""
        yield Found.of(
            "groups of one record",
            False,
            output.name,
            int(single.sum()),
            rows[single],
            f"{plural(int(single.sum()), 'level')} of {output.groups} {'has' if single.sum() == 1 else 'have'} one "
            f"record: a predicted intercept of theirs is made of its response alone.{says}",
            "",
            "Print no intercept of single groups (BLUP, conditional mode), and no table by them beside it.",
        )
    mean = len(rows) / levels
    if printed and mean < appetite.safe_threshold:
        yield Found.of(
            "few records in a group",
            False,
            output.name,
            levels,
            rows[sizes[groups] < appetite.safe_threshold],
            f"The numbers of records ({len(rows):,}) and of levels of {output.groups} ({levels:,}) tell that a level "
            f"has {mean:.1f} records in the mean, fewer than {appetite.safe_threshold}.",
            "",
            f"Print no intercept of levels of {output.groups}, and no table by it beside this model.",
        )


def _behind(output: Mixed, design: Array, rows: Rows, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Coefficients of columns in which few people differ from all others."""
    found, apart = [], np.zeros(len(rows), dtype=np.bool_)
    for name, column, kept in zip(output.columns, design.T, output.kept, strict=True):
        values, counts = np.unique(column, return_counts=True)
        differs = column != values[counts.argmax()]
        number = data.people(rows[differs])
        if kept and 0 < number < appetite.safe_threshold:
            found.append((number, name))
            apart |= differs
    if found:
        on = f"{appetite.safe_threshold} {counted(data)} that differ from all others in their column"
        yield resting_on_few(
            output, found, rows[apart], on, "Merge these levels with others, or leave the records out."
        )


def _alone(output: Mixed, design: Array, rows: Rows, data: Microdata) -> Iterator[Found]:
    """Records that decide a direction of the terms: their coefficient takes up what the others do not tell of them."""
    alone = leverages(design) > FULL
    decide = int(alone.sum())
    if data.person is None and decide:
        yield Found.of(
            "leverage",
            False,
            output.name,
            decide,
            rows[alone],
            f"{plural(decide, 'record')} alone decide{'s' * (decide == 1)} a direction of the terms "
            f"(leverage above {FULL:g}): what a coefficient is follows from their responses and their groups.",
            "",
            "Leave out the column that only this record has.",
        )


def _exact(output: Mixed, design: Array, response: Array, groups: NDArray[np.int64], rows: Rows) -> Iterator[Found]:
    """Terms and groups that leave nothing of the response."""
    sizes = np.bincount(groups)
    columns = np.column_stack([design[:, 1:], response])
    means = np.stack([np.bincount(groups, column) for column in columns.T], axis=1) / sizes[:, None]
    left = columns - means[groups]
    x, y = left[:, :-1], left[:, -1]
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    together = sizes[groups] > 1
    if not together.any() or np.abs(residual).max() > _EXACT * max(np.abs(response).max(), 1e-300):
        return
    yield Found.of(
        "exact fit",
        False,
        output.name,
        1,
        rows[together],
        f"The terms and the groups fit {output.response} exactly: by how much two responses of a group differ follows "
        "from the terms of both.",
        "",
        "Do not release it.",
    )
