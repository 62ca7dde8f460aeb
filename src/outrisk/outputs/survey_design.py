"""Designs of complex surveys: weights, strata and primary sampling units (PSU), and the errors that follow from them.

An estimate is linearised (Taylor): each record adds its score times its weight, and the variance is that of the totals
of PSUs about their mean in each stratum, taken as drawn with replacement (Binder, International Statistical Review 51,
1983; Wolter, Introduction to Variance Estimation, 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Subset, both, joint_for, places_in
from outrisk.problem.blocks import Joint, Weight

Lonely = Literal["fail", "certainty", "adjust", "average"]
SurveyProgram = Literal["stata", "r"]
_SOME = 1e-9  # records from which a PSU has any


class SurveyDesign(BaseModel):
    """How records were drawn: `weights`, `strata` and `psu` are variables; without `strata` there is one, without `psu`
    each record is one. A PSU is one of its stratum: number 3 of two strata are two.

    subpop: the records that estimates are of, an expression as `where`; others of the design count to its PSUs and
    strata, which `where` leaves out. lonely: what a stratum of one PSU adds, by R's names: fail (an error, as in R),
    certainty (nothing; Stata's certainty), adjust (its total about that of all, 0; Stata's centered), average (the mean
    of the others; Stata's scaled). program: whose degrees of freedom. stata: PSUs less strata, of strata with records
    of the subpopulation; records without a value are no part of the design. r: PSUs less strata that have records of
    the estimate, of a regression of K coefficients less K - 1, of means none (normal); records without a value are as
    those outside a subpopulation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: str = ""
    strata: str = ""
    psu: str = ""
    subpop: str = ""
    lonely: Lonely = "fail"
    program: SurveyProgram = "stata"

    @model_validator(mode="after")
    def _some(self) -> SurveyDesign:
        if not (self.weights or self.strata or self.psu):
            raise ValueError("a design names 'weights', 'strata' or 'psu'")
        if self.strata and self.strata == self.psu:
            raise ValueError(f"'{self.strata}' is both strata and psu; of one variable give one of them")
        return self

    @property
    def names(self) -> list[str]:
        """Its variables but those of the subpopulation."""
        return [each for each in dict.fromkeys((self.weights, self.strata, self.psu)) if each]

    @property
    def notes(self) -> str:
        """The design in words."""
        parts = [
            f"weighted by {self.weights}" if self.weights else "",
            f"strata {self.strata}" if self.strata else "",
            f"PSU {self.psu}" if self.psu else "each record a PSU",
            f"subpopulation {self.subpop}" if self.subpop else "",
            f"strata of one PSU: {self.lonely}" if self.lonely != "fail" else "",
            f"errors and degrees of freedom as {'R' if self.program == 'r' else 'Stata'} has them",
        ]
        return ", ".join(part for part in parts if part)

    def subset(self, where: str) -> str:
        """The records that estimates are of, as a condition, where those of the design are `where`."""
        return both(where, self.subpop)


@dataclass(frozen=True)
class OverCodebook:
    """A design over the variables of a codebook; OutputError, which names the output, where they cannot serve."""

    codebook: Codebook
    output: str
    design: SurveyDesign

    def __post_init__(self) -> None:
        for role in ("weights", "strata", "psu"):
            name = getattr(self.design, role)
            if name and name not in self.codebook:
                raise self._error(f"design: {role}: no variable '{name}'; variables are {self.codebook.names}")
        try:
            Subset(self.codebook, self.design.subpop, self.output).masks()
        except OutputError as error:
            raise OutputError(str(error).replace("': where: ", "': design: subpop: ", 1)) from None
        _ = self.weight, self.joint

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.output}': {text}")

    @cached_property
    def weight(self) -> Weight | None:
        """The weight by code, 0 where it is missing."""
        name = self.design.weights
        if not name:
            return None
        variable = self.codebook[name]
        if not variable.numeric or min(variable.values) <= 0:
            raise self._error(
                f"design: weights: '{name}' is not a numeric variable of values above 0; leave records without a "
                "weight out of the data"
            )
        return Weight(self.codebook.index(name), np.array([*variable.values, *([0.0] * variable.missing)]))

    @cached_property
    def joint(self) -> Joint:
        """PSUs over the codebook: of each stratum one after the other."""
        return joint_for(self.codebook, [each for each in (self.design.strata, self.design.psu) if each], self.output)

    @property
    def stratum(self) -> NDArray[np.int64]:
        """The stratum of each PSU of the codebook, (joint.size,)."""
        size = self.codebook[self.design.psu].size if self.design.psu else 1
        return np.arange(self.joint.size) // size if self.design.strata else np.zeros(self.joint.size, np.int64)

    def records(
        self, data: Microdata, within: str, where: str, names: Sequence[str]
    ) -> tuple[pd.DataFrame, Drawn | None]:
        """The decoded records that an estimate is of, where a condition holds and that lack none of some variables; and
        how they were drawn from those `within` which are of the design. None where there are no records.
        """
        frame = Subset(self.codebook, within, self.output).select(data.frame())
        frame = frame.dropna(subset=self.design.names)
        of = Subset(self.codebook, where, self.output).select(frame)
        lacks = of[list(names)].isna().any(axis=1)
        if self.design.program == "stata":
            frame = frame.drop(index=lacks.index[lacks])
        of = of[~lacks]
        return of, self.drawn(frame, of.index) if len(of) else None

    def drawn(self, frame: pd.DataFrame, rows: pd.Index) -> Drawn:
        """How the records of a decoded frame, none of them without a variable of the design, were drawn; and those
        `rows` of it that an estimate is of.
        """
        strata = places_in(self.codebook, [self.design.strata] if self.design.strata else [], frame)
        names = [each for each in (self.design.strata, self.design.psu) if each]
        psu = places_in(self.codebook, names, frame) if self.design.psu else np.arange(len(frame))
        _, first, of = np.unique(psu, return_index=True, return_inverse=True)
        at = frame.index.get_indexer(rows)
        found = Drawn(of.ravel()[at].astype(np.int64), strata[first].astype(np.int64), self.design)
        if self.design.lonely == "fail" and found.lonely.any():
            stratum = int(found.stratum[found.lonely][0])
            where = f"stratum {format_value(self.codebook[self.design.strata].values[stratum])} of " \
                    f"'{self.design.strata}'" if self.design.strata else "the design"  # fmt: skip
            raise self._error(
                f"design: {where} has one PSU, whose variance is not known; merge it with another, or say lonely: "
                "certainty, adjust or average"
            )
        return found


@dataclass(frozen=True, eq=False)
class Drawn:
    """A sample as it was drawn: the PSU (n,) of each record that an estimate is of, and the stratum (P,) of each of all
    PSUs of the design.
    """

    psu: NDArray[np.int64]
    stratum: NDArray[np.int64]
    design: SurveyDesign

    @property
    def inside(self) -> NDArray[np.bool_]:
        """PSUs (P,) with records that the estimate is of."""
        return np.bincount(self.psu, minlength=len(self.stratum)) > 0

    @property
    def lonely(self) -> NDArray[np.bool_]:
        """PSUs (P,) that are alone in their stratum."""
        return np.asarray(np.bincount(self.stratum)[self.stratum] == 1)

    def meat(self, scores: Array) -> Array:
        """The variance (K, K) of the sum of scores (n, K), which are times their weights; NaN where the mean of other
        strata is asked for and there is none.
        """
        sums, inside = np.zeros((len(self.stratum), scores.shape[1])), self.inside
        np.add.at(sums, self.psu, scores)
        if self.design.lonely == "average" and self.lonely[inside].all():
            return np.full((scores.shape[1], scores.shape[1]), np.nan)
        there = np.ones(len(sums), np.bool_)
        return np.asarray(sums.T @ about_strata(sums, self.stratum, there, self.design.lonely, inside))

    @property
    def df(self) -> float:
        """Degrees of freedom of the design; NaN where there are none."""
        return df_of(self.stratum, np.ones(len(self.stratum), np.bool_), self.inside, self.design.program)


def df_of(
    stratum: NDArray[np.int64], there: NDArray[np.bool_], inside: NDArray[np.bool_], program: SurveyProgram
) -> float:
    """PSUs less strata: of the PSUs (P,) that are there or, as R has it, of those `inside` the estimate."""
    counted = inside if program == "r" else there & np.isin(stratum, stratum[inside])
    found = int(counted.sum()) - len(np.unique(stratum[counted]))
    return float(found) if found > 0 else np.nan


def about_strata(
    sums: Array, stratum: NDArray[np.int64], there: NDArray[np.bool_], lonely: Lonely, inside: NDArray[np.bool_]
) -> Array:
    """Totals (P, K) of PSUs that are there (P,) about their means in strata, times n / (n - 1) of the n PSUs of each:
    their product with the totals themselves is the variance. The mean of the others, of strata of one PSU, is that of
    strata with PSUs `inside` the estimate: R leaves others out.
    """
    n = np.bincount(stratum, there)
    totals = np.stack([np.bincount(stratum, np.where(there, column, 0.0)) for column in sums.T], axis=1)
    means = totals / np.maximum(n, 1.0)[:, None]
    factor = np.where(n > 1, n / np.maximum(n - 1.0, 1.0), 0.0)
    alone, counted = n == 1, np.unique(stratum[inside])
    if lonely == "average" and 0 < (lacking := int(alone[counted].sum())) < len(counted):
        factor *= len(counted) / (len(counted) - lacking)
    if lonely in ("adjust", "fail"):
        factor, means = np.where(alone, 1.0, factor), np.where(alone[:, None], 0.0, means)
    found = factor[stratum][:, None] * (sums - means[stratum])
    return np.asarray(np.where(there[:, None], found, 0.0))


def psus_there(counts: Array) -> NDArray[np.bool_]:
    """Which PSUs have records, by their (weighted) numbers of these."""
    return np.asarray(counts > _SOME * counts.max(initial=0.0)) & (counts > 0.0)
