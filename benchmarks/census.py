"""The census excerpt beside the checkout, as `certain.py` and `intruder.py` attack it: samples, tables, protections."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Frequencies, release
from outrisk.outputs.tables.protection import UNPROTECTED, Protection
from outrisk.problem.released import Released
from outrisk.prove.programme import Programme, programme

PLACE = Path(__file__).resolve().parents[2] / "shared" / "data" / "census" / "acs_us" / "acs7.csv"
TARGET = "TENURE"
PROTECTIONS = {
    "none": UNPROTECTED,
    "counts above 50 given as 50 or more": Protection(top_code=50),
    "counts under 10 withheld": Protection(threshold=10),
    "counts under 10 withheld, zeros too": Protection(threshold=10, withhold_zeros=True),
    "rounded to multiples of 5": Protection(round_to=5),
    "rounded to multiples of 10": Protection(round_to=10),
    "under 10 withheld, zeros too; rounded to 5; above 50 as 50 or more": Protection(
        threshold=10, withhold_zeros=True, round_to=5, top_code=50
    ),
}


class Census:
    """The records of both years under one codebook."""

    def __init__(self) -> None:
        frame = pd.read_csv(PLACE, dtype=str)
        years, frame = frame.YEAR, frame.drop(columns="YEAR")
        variables = (Variable(name, "categorical", tuple(sorted(frame[name].unique()))) for name in frame)
        self.book = Codebook(tuple(variables))
        self.keys = tuple(name for name in frame if name != TARGET)
        self.years = {year: from_frame(frame[years == year], self.book) for year in ("2018", "2019")}

    def some(self, year: str, n: int, seed: int) -> Microdata:
        """So many people of a year, drawn at random."""
        data = self.years[year]
        return data.take(np.random.default_rng([seed, int(year)]).permutation(len(data))[:n])

    def tables(self, data: Microdata, ways: int, protection: Protection = UNPROTECTED) -> list[Released]:
        """All tables of the target by 1 to `ways` - 1 keys."""
        names = [by for k in range(1, ways) for by in combinations(self.keys, k)]
        return [
            release(Frequencies(self.book, " x ".join(by), (*by, TARGET), protection=protection), data) for by in names
        ]

    def programme(self, data: Microdata, released: list[Released]) -> Programme:
        """The released numbers as constraints, to somebody with a register of these people's keys."""
        known = {name: data.codes[:, self.book.index(name)].astype(np.int64) for name in self.keys}
        return programme(self.book, released, len(data), known, [TARGET])

    def truth(self, data: Microdata) -> np.ndarray:
        """Codes (n,) of the target."""
        return data.codes[:, self.book.index(TARGET)]
