"""Regressions with fixed effects: how few people, or groups, their coefficients rest on, and fits that are exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows, counted, plural
from outrisk.assess.look.fits import FULL, resting_on_few
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.regression.absorbed_fit import NOTHING, Grouped, within
from outrisk.outputs.regression.fixed_effects import FixedEffects
from outrisk.outputs.regression.programs import counted as parameters
from outrisk.outputs.regression.programs import not_single, parts_of
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.released import half_digit
from outrisk.records.schema import MINUS


def of_fixed_effects(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Degrees of freedom, groups of one record or few, coefficients that few groups bear on, and exact fits."""
    if not isinstance(output, FixedEffects):
        return
    try:
        records, frame = output.records(data)
    except OutputError:
        return
    rows = frame.index.to_numpy()
    left = within(np.column_stack([records.terms, records.response]), records.groups)
    about = np.column_stack([records.terms, records.response]).std(axis=0)
    left[np.abs(left) <= np.sqrt(NOTHING) * np.where(about > 0.0, about, 1.0)] = 0.0
    yield from _degrees(output, records, rows, data, appetite)
    yield from _of_groups(output, records, rows, data, appetite)
    yield from _behind(output, left[:, :-1], rows, data, appetite)
    yield from _alone(output, records, left[:, :-1], rows, data)
    yield from _exact(output, records, left, rows)


def without_singletons(outputs: Sequence[Output], data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Regressions that leave out groups of one record beside outputs of the same response that have them."""
    for output in outputs:
        if not isinstance(output, FixedEffects) or not output.drops:
            continue
        whole = [each for each in outputs if _has_all(each, output)]
        try:
            gone = np.setdiff1d(_rows(replace(output, singletons="keep"), data), _rows(output, data))
        except OutputError:
            continue
        number, levels = data.people(gone), " or ".join(output.absorb)
        if whole and 0 < number < appetite.safe_threshold:
            yield Found.of(
                "difference of outputs",
                False,
                f"{whole[0].name}{MINUS}{output.name}",
                1,
                gone,
                f"“{output.name}” leaves out {plural(len(gone), 'record')}, alone at a level of {levels}, and "
                f"“{whole[0].name}” does not: R2, or means and standard deviations, of both tell how far from the mean "
                f"{output.response} of {'it' if len(gone) == 1 else 'them'} is.",
                "",
                "Release only one of the two, or compute both on the same records.",
            )


def _has_all(each: Output, output: FixedEffects) -> bool:
    """Whether an output is of the same records and the response of another, its singletons among them."""
    if each.where != output.where:
        return False
    if isinstance(each, FixedEffects):
        return each.response == output.response and not each.drops
    return isinstance(each, Magnitudes) and each.value == output.response and not each.by and not each.weight


def _rows(output: FixedEffects, data: Microdata) -> Rows:
    return output.records(data)[1].index.to_numpy()


def _degrees(
    output: FixedEffects, records: Grouped, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    levels = [len(np.unique(each)) for each in records.groups]
    k = parameters("reghdfe", records.terms.shape[1], levels, parts_of(records.groups), [False] * len(levels)).whole
    told = data.people(rows)
    if told - k < appetite.safe_dof_threshold:
        of = f"{len(rows):,} records" + (f" of {told:,} people" if data.person is not None else "")
        yield Found.of(
            "degrees of freedom",
            False,
            output.name,
            k,
            rows,
            f"{plural(told - k, 'residual degree')} of freedom ({of}, {plural(k, 'parameter')} with the fixed "
            f"effects); at least {appetite.safe_dof_threshold} are asked for.",
            "",
            "Fit it on more records, or with fixed effects of fewer levels.",
        )


def _of_groups(
    output: FixedEffects, records: Grouped, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """Groups of one record, which are fitted exactly, and numbers that tell that groups are small."""
    printed = {"n", "levels"} <= set(output.release.parts)
    alone = np.zeros(len(rows), dtype=np.bool_)
    for name, groups in zip(output.absorb, records.groups, strict=True):
        sizes = np.bincount(groups)
        single, levels = sizes[groups] == 1, int((sizes > 0).sum())
        mean = len(rows) / levels
        alone |= single
        if single.any():
            told = max(2 * levels - len(rows), 0) if printed else 0
            says = f" The numbers of records and of levels tell that there are {told:,} or more." if told else ""
            yield Found.of(
                "groups of one record",
                False,
                output.name,
                int(single.sum()),
                rows[single],
                f"{plural(int(single.sum()), 'level')} of {name} {'has' if single.sum() == 1 else 'have'} one record: "
                "its fixed effect fits it exactly (leverage 1), so that its response bears on no coefficient and on no "
                f"standard error, but on R2 and the number of records.{says}",
                "",
                "Drop them (singletons: drop), and print no fixed effect of theirs.",
            )
        if printed and mean < appetite.safe_threshold:
            yield Found.of(
                "few records in a group",
                False,
                output.name,
                levels,
                rows[sizes[groups] < appetite.safe_threshold],
                f"The numbers of records ({len(rows):,}) and of levels of {name} ({levels:,}) tell that a level has "
                f"{mean:.1f} records in the mean, fewer than {appetite.safe_threshold}.",
                "",
                f"Print no fixed effect of {name}, and no table by it beside this regression.",
            )
    more = ~not_single(records.groups) & ~alone
    if more.any():
        yield Found.of(
            "groups of one record",
            False,
            output.name,
            int(more.sum()),
            rows[more],
            f"{plural(int(more.sum()), 'record')} more {'is' if more.sum() == 1 else 'are'} fitted exactly: the others "
            f"of a level of {' or '.join(output.absorb)} are alone at one of another variable.",
            "",
            "Drop them (singletons: drop), and print no fixed effect of theirs.",
        )


def _behind(
    output: FixedEffects, left: NDArray[np.float64], rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """Coefficients of terms that vary within few groups, and records that decide one."""
    names, kept = output.design.columns, output.kept[len(output.kept) - left.shape[1] :]
    found, apart = [], np.zeros(len(rows), dtype=np.bool_)
    for name, column, is_printed in zip(names, left.T, kept, strict=True):
        varies = column != 0.0
        number = data.people(rows[varies])
        if is_printed and 0 < number < appetite.safe_threshold:
            found.append((number, name))
            apart |= varies
    if found:
        on = f"{appetite.safe_threshold} {counted(data)}, those of the groups in which the term varies"
        advice = "Leave the term out, or take fixed effects of larger groups."
        yield resting_on_few(output, found, rows[apart], on, advice)


def _alone(
    output: FixedEffects, records: Grouped, left: NDArray[np.float64], rows: Rows, data: Microdata
) -> Iterator[Found]:
    """Records, or pairs of one group, that decide a direction of the terms: of a pair each has half the leverage."""
    scale = np.sqrt((left**2).sum(axis=0))
    scaled = left / np.where(scale > 0.0, scale, 1.0)
    leverage = ((scaled @ np.linalg.pinv(scaled.T @ scaled, hermitian=True)) * scaled).sum(axis=1)
    alone = leverage > FULL
    for groups in records.groups:
        alone |= (np.bincount(groups)[groups] == 2) & (np.bincount(groups, leverage)[groups] > FULL)
    if data.person is None and alone.any():
        yield Found.of(
            "leverage",
            False,
            output.name,
            int(alone.sum()),
            rows[alone],
            f"{plural(int(alone.sum()), 'record')}, each alone or as one of the two of a group, "
            f"{'decides' if alone.sum() == 1 else 'decide'} a direction of the terms within groups: what a coefficient "
            "is follows from their responses.",
            "",
            "Leave out the term that varies within their group only.",
        )


def _exact(output: FixedEffects, records: Grouped, left: NDArray[np.float64], rows: Rows) -> Iterator[Found]:
    """Fits that leave nothing: what is printed then tells how responses of a group differ, for certain where the
    printed residual is too small for any other value of the response.
    """
    x, y = left[:, :-1], left[:, -1]
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    if np.abs(residual).max() > 1e-7 * np.abs(y).max():
        return
    alike = np.unique(np.stack(list(records.groups), axis=1), axis=0, return_inverse=True)[1].ravel()
    together = np.bincount(alike)[alike] > 1
    K, k = len(output.coefficients), x.shape[1]
    places = dict(output.release.layout(K))
    half = half_digit(output.decimals)
    printed = [half[places[part]][0] for part in ("residual_sd", "rmse") if part in places]
    spread = np.ptp(records.terms, axis=0) @ half[K - k : K]
    most = np.sqrt(2.0 * len(rows)) * min(printed, default=np.inf) + spread  # off what coefficients give of two
    step = float(np.diff(output.support).min(initial=np.inf))
    certain = bool(output.kept.all()) and bool(2.0 * most < step)
    yield Found.of(
        "exact fit",
        certain,
        output.name,
        1,
        rows[together],
        f"The fixed effects and the terms fit {output.response} exactly: by how much two responses of a group differ "
        "follows from the coefficients and the terms of both"
        + (", and who knows one response of a group knows the others." if certain else "."),
        "",
        "Do not release it.",
        output.response if certain else "",
    )
