"""Standardised rates of one group by pandas and scipy, from its records: what the numbers from totals are held to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

_Ends = tuple[float, float]


def by_stratum(records: pd.DataFrame, settings: Mapping[str, Any], given: Mapping[str, float]) -> dict[str, float]:
    """All numbers of a group by their names, NaN where they are undefined.

    records: 'stratum', 'event' (1 or 0) and 'time' of each; given: the weight or the reference rate of each stratum.
    """
    sums = records.groupby("stratum")[["event", "time"]].sum().reindex(list(given), fill_value=0.0)
    events, time = float(sums["event"].sum()), float(sums["time"].sum())
    per = settings["per"]
    found = {"events": events, "person-time": time, "n": float(len(records))}
    found["crude rate"] = per * events / time if time > 0.0 else np.nan
    numbers = pd.Series(given, dtype=float)
    direct = settings["method"] == "direct"
    return found | (_rate(sums, numbers, settings) if direct else _ratio(sums, numbers / per, settings))


def _rate(sums: pd.DataFrame, weights: pd.Series, settings: Mapping[str, Any]) -> dict[str, float]:
    names = ("rate", "standard error", "lower limit", "upper limit")
    if (sums["time"] <= 0.0).any():
        return dict.fromkeys(names, np.nan)
    rates, weights = sums["event"] / sums["time"], weights / weights.sum()
    rate = float((weights * rates).sum())
    poisson = float((weights**2 * rates / sums["time"]).sum())
    binomial = float((weights**2 * rates * (1.0 - rates) / sums["time"]).sum())
    error = max(binomial if settings["variance"] == "binomial" else poisson, 0.0) ** 0.5
    most, tail = float((weights / sums["time"]).max()), (1.0 - settings["level"]) / 2.0
    if settings["interval"] == "normal":
        ends = rate + error * float(stats.norm.ppf(tail)), rate + error * float(stats.norm.ppf(1.0 - tail))
    elif settings["interval"] == "fay-feuer":
        ends = _gamma_ends(rate, poisson, most, tail)
    else:
        events = float(sums["event"].sum())
        of_events = (_byar if settings["interval"] == "dobson-byar" else _exact)(events, tail)
        unit = (poisson / events) ** 0.5 if events else np.nan
        ends = rate + unit * (of_events[0] - events), rate + unit * (of_events[1] - events)
    return {name: settings["per"] * each for name, each in zip(names, (rate, error, *ends), strict=True)}


def _gamma_ends(rate: float, variance: float, most: float, tail: float) -> _Ends:
    """By chi-square variables of 2 rate^2 / variance degrees of freedom, as Fay and Feuer (1997) write them."""
    mean, spread = rate + most, variance + most**2
    low = variance / (2.0 * rate) * stats.chi2.ppf(tail, 2.0 * rate**2 / variance) if rate else 0.0
    return float(low), float(spread / (2.0 * mean) * stats.chi2.ppf(1.0 - tail, 2.0 * mean**2 / spread))


def _ratio(sums: pd.DataFrame, reference: pd.Series, settings: Mapping[str, Any]) -> dict[str, float]:
    expected, events = float((reference * sums["time"]).sum()), float(sums["event"].sum())
    if expected <= 0.0:
        return {"expected": expected} | dict.fromkeys(("ratio", "standard error", "lower limit", "upper limit"), np.nan)
    ends = {"exact": _exact, "byar": _byar, "log": _log}[settings["interval"]](events, (1.0 - settings["level"]) / 2.0)
    return {
        "expected": expected,
        "ratio": events / expected,
        "standard error": events**0.5 / expected,
        "lower limit": ends[0] / expected,
        "upper limit": ends[1] / expected,
    }


def _exact(events: float, tail: float) -> _Ends:
    """Garwood's, by chi-square variables."""
    low = float(stats.chi2.ppf(tail, 2.0 * events)) / 2.0 if events else 0.0
    return low, float(stats.chi2.ppf(1.0 - tail, 2.0 * events + 2.0)) / 2.0


def _byar(events: float, tail: float) -> _Ends:
    z = float(stats.norm.ppf(1.0 - tail))
    low = events * (1.0 - 1.0 / (9.0 * events) - z / (3.0 * events**0.5)) ** 3 if events else 0.0
    more = events + 1.0
    return max(low, 0.0), more * (1.0 - 1.0 / (9.0 * more) + z / (3.0 * more**0.5)) ** 3


def _log(events: float, tail: float) -> _Ends:
    if not events:
        return np.nan, np.nan
    low, high = np.exp(np.log(events) + stats.norm.ppf([tail, 1.0 - tail]) / events**0.5)
    return float(low), float(high)
