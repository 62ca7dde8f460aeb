"""A population of the shape of the 1991 Samples of Anonymised Records (SARs), West Midlands.

The SARs are licensed and not here: no record of them went into this. Dictionary, marginals and coefficients stand in
sars_like.json, each marked sourced, recalled or assumed, with its source.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook, Variable
from outrisk.errors import DataError

_MOST = 10_000_000  # records


@cache
def specification() -> dict[str, Any]:
    """The values the population is drawn from, with their sources."""
    loaded: dict[str, Any] = json.loads(
        files("outrisk.datasets").joinpath("sars_like.json").read_text(encoding="utf-8")
    )
    return loaded


def sars_like(n: int = 50_357, seed: int = 1991) -> pd.DataFrame:
    """Draw n records of AGE (0-95), AREAP, ETHGROUP, LTILL, MSTATUS, SEX and TENURE; codes as text, AGE as numbers.

    n defaults to the number of records in Elliot, Little and Allmendinger. DataError if n or seed is out of its range.
    """
    if not 1 <= n <= _MOST:
        raise DataError(f"sars_like: n is {n}; draw at least 1 record and at most {_MOST:,}")
    if seed < 0:
        raise DataError(f"sars_like: seed is {seed}; it must be 0 or more")
    spec = {
        name: entry["value"] for name, entry in specification().items() if isinstance(entry, dict) and "value" in entry
    }
    rng = np.random.default_rng(seed)
    area = _choose(rng, n, spec["AREAP"])
    age = _ages(rng, n, spec["AGE"])
    minorities = {group: share for group, share in spec["ETHGROUP"].items() if group != "1"}
    not_white = pd.Series(area).map(spec["not_white_by_AREAP"]).to_numpy(dtype=float)
    ethnic = np.where(rng.random(n) < not_white, _choose(rng, n, minorities), "1")
    ill = _by_age(rng, age, [(low, high, [share, 1 - share]) for low, high, share in spec["LTILL_by_AGE"]], ["1", "2"])
    married = _by_age(rng, age, spec["MSTATUS_by_AGE"], list(spec["variables"]["MSTATUS"]["codes"]))
    sex = _choose(rng, n, spec["SEX"])
    frame = pd.DataFrame({"AGE": age, "AREAP": area, "ETHGROUP": ethnic, "LTILL": ill, "MSTATUS": married, "SEX": sex})
    eta = spec["coefficients"]["const"] + spec["coefficients"]["AGE"] * age
    for name in frame.columns[1:]:
        effects = {code: spec["coefficients"].get(f"{name}_{code}", 0.0) for code in spec["variables"][name]["codes"]}
        eta = eta + frame[name].map(effects).to_numpy(dtype=float)
    frame["TENURE"] = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "1", "0")
    return frame


def sars_codebook() -> Codebook:
    """The codebook of `sars_like`."""
    variables = []
    for name, entry in specification()["variables"]["value"].items():
        codes = entry["codes"]
        if codes:
            variables.append(
                Variable(name, "categorical", tuple(codes), False, entry["description"], tuple(codes.values()))
            )
        else:
            variables.append(Variable(name, "integer", tuple(range(96)), False, entry["description"]))
    return Codebook(tuple(variables))


def _choose(rng: np.random.Generator, n: int, weights: dict[str, float]) -> NDArray[np.str_]:
    shares = np.array(list(weights.values()), dtype=float)
    return np.array(list(weights))[rng.choice(len(shares), n, p=shares / shares.sum())]


def _ages(rng: np.random.Generator, n: int, bands: list[list[float]]) -> NDArray[np.int64]:
    low, high, share = np.array(bands).T
    band = rng.choice(len(share), n, p=share / share.sum())
    ages: NDArray[np.int64] = (low[band] + np.floor(rng.random(n) * (high[band] - low[band] + 1))).astype(np.int64)
    return ages


def _by_age(
    rng: np.random.Generator,
    age: NDArray[np.int64],
    bands: Sequence[tuple[float, float, Sequence[float]]],
    codes: list[str],
) -> NDArray[np.str_]:
    chosen = np.full(len(age), codes[0])
    for low, high, shares in bands:
        here = (age >= low) & (age <= high)
        chosen[here] = _choose(rng, int(here.sum()), dict(zip(codes, shares, strict=True)))
    return chosen
