"""The disclosure suite over several targets, ordered by risk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import RiskError
from outrisk.risk.coding.classes import check_keys
from outrisk.risk.coding.variables import check_named, from_frames, group_variables, listed
from outrisk.risk.synthpop.disclosure import Disclosure, measure_target
from outrisk.risk.synthpop.options import Triple, make_options

# Measure of the synthetic table -> what it is read against in the original alone.
ATTRIBUTE_MEASURES = {
    "iS": "Dorig",
    "DiS": "Dorig",
    "DiSCO": "Dorig",
    "DiSDiO": "Dorig",
    "DCAP": "CAPd",
    "TCAP": "CAPd",
}
_COLUMNS = [
    *["target", "original", "synthetic", "holdout", "difference", "low", "high", "baseline"],
    *["UiO", "repU", "check_1way", "check_2way", "reason"],
]


@dataclass(frozen=True, eq=False)
class MultiDisclosure:
    """Results by target, and their table.

    table: a row for each target, by rising `synthetic`, those without a result last. original: the share disclosed by
    the original itself (Dorig, or CAPd for a measure of the CAP family); synthetic: `measure`; both means over the
    synthetic tables, as are UiO and repU (R takes repU from the first). holdout, difference, low, high: `measure`
    against the holdout, the difference, its 95 % interval. check_1way: the level flagged last (empty: none);
    check_2way: pairs flagged last. All but the checks are shares; NaN where undefined, and `reason` says why.
    """

    measure: str
    against: str
    table: pd.DataFrame
    results: Mapping[str, Disclosure]


def multi_disclosure(
    original: pd.DataFrame,
    synthetic: pd.DataFrame | Sequence[pd.DataFrame],
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str],
    targets: Sequence[str] | None = None,
    measure: str = "DiSCO",
    not_target_levels: Mapping[str, Iterable[Any]] | None = None,
    use_target_na: bool | Mapping[str, bool] = True,
    use_keys_na: bool | Sequence[bool] = True,
    exclude: Mapping[str, Iterable[Triple]] | None = None,
    ngroups_target: int | Mapping[str, int] | None = None,
    ngroups_keys: int | Mapping[str, int] | None = None,
    keep_values: Mapping[str, Any] | None = None,
    denom_lim: int = 5,
    exclude_over_denom_lim: bool = False,
    thresh_1way: Sequence[float] = (50, 90),
    thresh_2way: Sequence[float] = (4, 80),
    codebook: Codebook | None = None,
    groups: int = 20,
    seed: int = 0,
) -> MultiDisclosure:
    """`disclosure` for several targets, which are all variables that are no keys where `targets` is None.

    Options are those of `disclosure`; those of one target are mappings target -> value (use_target_na and
    ngroups_target may be one value for all; a number of groups is meant for the numeric ones). A target on which no
    measure is defined is a row with its reason.
    """
    if measure not in ATTRIBUTE_MEASURES:
        raise RiskError(f"measure {measure!r}; known: {list(ATTRIBUTE_MEASURES)}")
    if isinstance(targets, str):
        raise RiskError(f"targets {targets!r}: expected a list of names")
    chosen = list(targets) if targets is not None else [str(name) for name in original.columns if name not in keys]
    if not chosen or len(set(chosen)) < len(chosen):
        raise RiskError(f"targets {chosen}: expected at least one name, and each once")
    tables = from_frames(original, synthetic, holdout, [*listed(keys), *chosen], codebook)
    for target in chosen:
        check_keys(tables.names, keys, target)
    for option, given in (("not_target_levels", not_target_levels), ("exclude", exclude)):
        check_named(chosen, option, given)
    check_named(tables.names, "keep_values", keep_values)
    use = use_target_na if isinstance(use_target_na, Mapping) else dict.fromkeys(chosen, use_target_na)
    check_named(chosen, "use_target_na", use)
    key_groups = group_variables(tables, keys, "ngroups_keys", ngroups_keys, keep_values)
    target_groups = group_variables(tables, chosen, "ngroups_target", ngroups_target, keep_values)
    results, reasons = {}, {}
    for target in chosen:
        options = make_options(
            keys,
            not_target_levels=(not_target_levels or {}).get(target, ()),
            use_target_na=use.get(target, True),
            use_keys_na=use_keys_na,
            exclude=(exclude or {}).get(target, ()),
            denom_lim=denom_lim,
            exclude_over_denom_lim=exclude_over_denom_lim,
            thresh_1way=thresh_1way,
            thresh_2way=thresh_2way,
        )
        try:
            results[target] = measure_target(tables, keys, target, options, key_groups | target_groups, groups, seed)
        except RiskError as error:
            reasons[target] = str(error)
    rows = [_row(result, measure) for result in results.values()]
    rows = sorted(rows, key=lambda row: (math.isnan(row["synthetic"]), row["synthetic"]))
    rows += [
        {"target": target, "check_1way": "", "check_2way": 0, "reason": reason} for target, reason in reasons.items()
    ]
    return MultiDisclosure(measure, ATTRIBUTE_MEASURES[measure], pd.DataFrame(rows, columns=_COLUMNS), results)


def _row(result: Disclosure, measure: str) -> dict[str, Any]:
    mean = result.mean
    margin = result.marginal[result.marginal["measure"] == measure].iloc[-1]  # the mean row comes last
    one_way, two_way = result.check_1way, result.check_2way
    return {
        "target": result.target,
        "original": mean[ATTRIBUTE_MEASURES[measure]],
        "synthetic": mean[measure],
        "difference": margin["marginal"],
        **{column: margin[column] for column in ("holdout", "low", "high", "baseline", "reason")},
        "UiO": mean["UiO"],
        "repU": mean["repU"],
        "check_1way": str(one_way["level"].iloc[-1]) if len(one_way) else "",
        "check_2way": int((two_way["synthesis"] == two_way["synthesis"].iloc[-1]).sum()) if len(two_way) else 0,
    }
