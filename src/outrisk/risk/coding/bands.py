"""A target of many values, as the measures see it: in bands, so that what comes near it counts as right.

Nobody guesses an income to the cent, and somebody who guesses it to within a few per cent has learnt it: the p % rule
for magnitudes (Hundepool et al., Statistical Disclosure Control, Wiley 2012, section 4.2.2) asks the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook, Variable, format_value
from outrisk.microdata import Microdata

MANY = 100  # values of a number beyond which it is measured in bands, if nothing else is said
WITHIN = 0.1  # the share of a band's middle that its ends are off, then

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bands:
    """Values of a number, put together: of each value `code` (levels,) is its band, the missing level its own.

    A band holds what is within a share `within` of its middle, m (1 - within) <= value < m (1 + within), below 0
    likewise; the ends are powers of (1 + within) / (1 - within), whatever values there are. Bands without a value of
    the codebook are left out. `variable` has the bands as numbers, each the value of its own that is nearest to the
    middle, and says in its descriptions from which value to which it goes; it is in `codebook`.
    """

    name: str
    within: float
    codebook: Codebook
    code: Codes

    @property
    def variable(self) -> Variable:
        """The target, in bands."""
        return self.codebook[self.name]

    @property
    def labels(self) -> tuple[str, ...]:
        """What each band holds, in words: `900 to 1090`."""
        variable = self.variable
        return (*variable.descriptions, *variable.labels[len(variable.values) :])

    def of(self, data: Microdata) -> Microdata:
        """The same records with bands for values."""
        at = data.codebook.index(self.name)
        codes = data.codes.copy()
        codes[:, at] = self.code[codes[:, at]]
        return replace(data, codebook=self.codebook, codes=codes)

    def sums(self, chances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chances (n, bands) of the bands, from those of the values (n, levels)."""
        starts = np.flatnonzero(np.diff(self.code, prepend=-1))
        return np.add.reduceat(chances, starts, axis=1)

    def mean_first(self, chances: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chances (n, bands) with the largest given to the band of a mean (n,), which has its chance in exchange."""
        middles = np.array(self.variable.values, dtype=float)
        band = np.searchsorted((middles[1:] + middles[:-1]) / 2, mean)
        found, rows, top = chances.copy(), np.arange(len(chances)), chances.argmax(axis=1)
        found[rows, band], found[rows, top] = chances[rows, top], chances[rows, band]
        return found


def bands_of(codebook: Codebook, target: str, within: float | None) -> Bands | None:
    """How a target is measured: in bands of what is within that share of their middles; None: value by value.

    `within` None: 0.1 for a number of more than 100 values, and 0 else. 0 is value by value. A target that is no number
    is never in bands.
    """
    if target not in codebook:
        return None
    variable = codebook[target]
    if within is None:
        within = WITHIN if len(variable.values) > MANY else 0.0
    if not variable.numeric or not within:
        return None
    values = np.array(variable.values, dtype=float)
    ratio = math.log((1.0 + within) / (1.0 - within))
    power = np.floor(np.log(np.abs(np.where(values, values, 1.0))) / ratio + 1e-9)
    place = np.stack([np.sign(values), np.sign(values) * power])
    code = np.concatenate([[0], np.cumsum((np.diff(place, axis=1) != 0).any(axis=0))])
    middle = np.sign(values) * np.exp(ratio * power) / (1.0 - within)
    found, texts = [], []
    for band in range(code[-1] + 1):
        inside = np.flatnonzero(code == band)
        found.append(variable.values[inside[np.abs(values[inside] - middle[inside]).argmin()]])
        ends = [format_value(variable.values[at]) for at in (inside[0], inside[-1])]
        texts.append(ends[0] if len(inside) == 1 else " to ".join(ends))
    coarse = replace(variable, values=tuple(found), descriptions=tuple(texts))
    codes = np.append(code, code[-1] + 1) if variable.missing else code
    every = tuple(coarse if each.name == target else each for each in codebook.variables)
    return Bands(target, within, Codebook(every), codes.astype(np.int64))


def in_words(target: str, bands: Bands | None) -> str:
    """What an intruder wants to learn."""
    return target if bands is None else f"{target} to within {100 * bands.within:g} %"
