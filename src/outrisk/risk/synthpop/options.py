"""The options of the disclosure measures, checked against the variables they speak of."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import Coding
from outrisk.risk.coding.levels import is_number, is_whole, number_text
from outrisk.risk.synthpop.claims import Exclusions, Mask

Triple = tuple[str, Any, Any]  # key, key level, target level


class RiskWarning(UserWarning):
    """An option that has no effect on the data at hand, such as the exclusion of a level that does not occur."""


@dataclass(frozen=True)
class Options:
    """Options of `outrisk.risk.disclosure`, which describes them; one target."""

    not_target_levels: tuple[str, ...] = ()
    use_target_na: bool = True
    use_keys_na: bool | tuple[bool, ...] = True  # in the order of the keys
    exclude: tuple[tuple[str, str, str], ...] = ()
    denom_lim: int = 5
    exclude_over_denom_lim: bool = False
    thresh_1way: tuple[float, float] = (50, 90)
    thresh_2way: tuple[float, float] = (4, 80)


def make_options(
    keys: Sequence[str],
    not_target_levels: Iterable[Any] | str = (),
    use_target_na: bool = True,
    use_keys_na: bool | Sequence[bool] = True,
    exclude: Iterable[Triple] = (),
    denom_lim: int = 5,
    exclude_over_denom_lim: bool = False,
    thresh_1way: Sequence[float] = (50, 90),
    thresh_2way: Sequence[float] = (4, 80),
) -> Options:
    """Options whose values are in range; RiskError names the one that is not."""
    levels = [not_target_levels] if isinstance(not_target_levels, str) else list(not_target_levels)
    if not isinstance(use_keys_na, bool | np.bool_):
        use_keys_na = tuple(bool(use) for use in use_keys_na)
        if len(use_keys_na) != len(keys):
            raise RiskError(
                f"use_keys_na has {len(use_keys_na)} values and there are {len(keys)} keys; "
                "give one value, or one for each key in the order of keys"
            )
    triples = []
    for triple in exclude:
        if isinstance(triple, str) or len(triple) != 3:
            raise RiskError(f"exclude: {triple!r} is not (key, key level, target level)")
        if triple[0] not in keys:
            raise RiskError(f"exclude: {triple[0]!r} is not among the keys {list(keys)}")
        triples.append((triple[0], level_text(triple[1]), level_text(triple[2])))
    if not is_whole(denom_lim) or denom_lim < 1:
        raise RiskError(f"denom_lim is {denom_lim!r}; it is a number of records: give a whole number from 1")
    return Options(
        not_target_levels=tuple(level_text(level) for level in levels),
        use_target_na=bool(use_target_na),
        use_keys_na=bool(use_keys_na) if not isinstance(use_keys_na, tuple) else use_keys_na,
        exclude=tuple(triples),
        denom_lim=int(denom_lim),
        exclude_over_denom_lim=bool(exclude_over_denom_lim),
        thresh_1way=_thresholds("thresh_1way", thresh_1way),
        thresh_2way=_thresholds("thresh_2way", thresh_2way),
    )


def level_text(level: Any) -> str:
    """A level as the labels write it."""
    return level if isinstance(level, str) else number_text(level) if is_number(level) else str(level)


def exclusions_of(
    options: Options,
    coding: Coding,
    missing: Mapping[str, int | None],
    keys: Sequence[str],
    target: str,
    cell_levels: Mapping[str, Any],
) -> tuple[Exclusions, list[str]]:
    """Masks of the exclusions over the cells, and a note on each level that does not occur (a warning as well).

    cell_levels: variable -> its level in each cell, (n_cells,).
    """
    labels = {name: coding.labels[coding.names.index(name)] for name in (*keys, target)}
    masks: dict[str, Mask] = {}
    notes = []

    def level(name: str, text: str, option: str) -> int:
        if text in labels[name]:
            return labels[name].index(text)
        notes.append(f"{option}: {name!r} has no level {text!r}; nothing is excluded for it")
        warnings.warn(notes[-1], RiskWarning, stacklevel=4)
        return -1

    dropped = [level(target, text, "not_target_levels") for text in options.not_target_levels]
    if dropped:
        masks["excluded_target"] = np.isin(cell_levels[target], dropped)
    original = coding.columns[coding.names.index(target)][coding.rows()["original"]]
    if not options.use_target_na and missing[target] is not None and (original == missing[target]).any():
        masks["missing_target"] = cell_levels[target] == missing[target]
    used = options.use_keys_na
    for key, use in zip(keys, used if isinstance(used, tuple) else [used] * len(keys), strict=True):
        if not use and missing[key] is not None:
            gone = cell_levels[key] == missing[key]
            masks["missing_keys"] = masks["missing_keys"] | gone if "missing_keys" in masks else gone
    for key, key_level, target_level in options.exclude:
        at = level(key, key_level, "exclude"), level(target, target_level, "exclude")
        gone = (cell_levels[key] == at[0]) & (cell_levels[target] == at[1])
        masks["listed"] = masks["listed"] | gone if "listed" in masks else gone
    return Exclusions(masks, options.denom_lim if options.exclude_over_denom_lim else None), notes


def _thresholds(option: str, given: Sequence[float]) -> tuple[float, float]:
    if isinstance(given, str) or len(given) != 2:
        raise RiskError(f"{option}: {given!r}; give two numbers, a count of records and a percentage")
    count, percentage = given
    if not (is_number(count) and is_number(percentage) and count >= 0 and 0 <= percentage <= 100):
        raise RiskError(f"{option}: {tuple(given)}; the first is a count from 0, the second a percentage from 0 to 100")
    return float(count), float(percentage)
