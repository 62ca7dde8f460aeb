"""Released numbers beside the same numbers of some records: which are reproduced, by two measures, and why others not.

A number is matched where it is right at its printed digits. It is near where it is matched, or within 1 % of its
sampling error: another sample of the same people would move it a hundred times as far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.problem.blocks import Array
from outrisk.problem.influence import Records
from outrisk.problem.released import Released
from outrisk.problem.sampling import sampling_errors

NEAR = 0.01  # of a sampling error: a number within it counts as near
NOTHING: Mapping[int, str] = MappingProxyType({})
COARSE = 20.0  # half last digits that one record moves a number by, from where on its digits are finer than the records


@dataclass(frozen=True)
class Compared:
    """A released number (NaN where only the range from `low` to `high` is known) beside its refit.

    difference: refit minus released, 0 within a known range. decimals: printed digits after the point. matched: the
    difference is at most half a last digit. sampling_error: of the number (see sampling.py); NaN where there is none.
    near: matched, or the difference is at most 1 % of it. reason, detail: why it is not matched (see
    outrisk/reasons.py); empty where it is.
    """

    output: str
    label: str
    released: float
    low: float
    high: float
    refit: float
    difference: float
    decimals: int
    matched: bool
    sampling_error: float
    near: bool
    reason: str
    detail: str


@dataclass(frozen=True, eq=False)
class Refit:
    """Released numbers beside the same numbers of some records: codes (n, variables), numbers (k,), and why they could
    not be computed.
    """

    released: Released
    codes: Records
    numbers: Array
    failure: str = ""

    @cached_property
    def differences(self) -> Array:
        """Signed distance of each number of which something was released from where it should lie."""
        return self.released.distance(self.numbers)[self.released.known]

    @cached_property
    def matched(self) -> NDArray[np.bool_]:
        """Which of these numbers are right at their released precision."""
        return self.released.is_matched(self.numbers)[self.released.known]

    @cached_property
    def sampling_errors(self) -> Array:
        """Their sampling errors; NaN where there is none."""
        return sampling_errors(self.released, self.codes)[self.released.known]

    @cached_property
    def near(self) -> NDArray[np.bool_]:
        """Which of these numbers are matched, or within 1 % of their sampling error."""
        return self.matched | (np.abs(self.differences) <= NEAR * self.sampling_errors)

    @cached_property
    def _moved(self) -> Array:
        """Half last digits that one record moves each of these numbers by."""
        tolerance = self.released.tolerance[self.released.known]
        return np.asarray(self.sampling_errors / np.sqrt(len(self.codes)) / tolerance)

    def rows(
        self, stop: str = "", conflicts: Mapping[int, str] = NOTHING, tensions: Mapping[int, str] = NOTHING
    ) -> Iterator[Compared]:
        """Every number of which something was released. stop: why the run ended that made the records; conflicts,
        tensions: by position, what no data have a number together with, and what pulls against it.
        """
        released = self.released
        for at, k in enumerate(np.flatnonzero(released.known)):
            reason, detail = ("", "") if self.matched[at] else self._why(at, int(k), stop, conflicts, tensions)
            yield Compared(
                output=released.name,
                label=released.labels[k],
                released=float(released.values[k]),
                low=float(released.low[k]),
                high=float(released.high[k]),
                refit=float(self.numbers[k]),
                difference=float(self.differences[at]),
                decimals=int(released.decimals[k]),
                matched=bool(self.matched[at]),
                sampling_error=float(self.sampling_errors[at]),
                near=bool(self.near[at]),
                reason=reason,
                detail=detail,
            )

    def _why(
        self, at: int, k: int, stop: str, conflicts: Mapping[int, str], tensions: Mapping[int, str]
    ) -> tuple[str, str]:
        """Code and detail of why a number is not matched."""
        if k in conflicts:
            return "conflict", conflicts[k]
        if not np.isfinite(self.numbers[k]):
            return "no_refit", self.failure or "the number is undefined on the synthetic data"
        if not self.released.output.sought[k]:
            return "not_sought", ""
        early = stop in ("budget", "time")
        if early and not self.near[at]:
            return "out_of_time", ""
        moved, missed = self._moved[at], np.abs(self.differences[at]) / self.released.tolerance[k]
        if moved > COARSE and missed <= moved:
            return "coarse", f"{moved:.0f}"
        if early:
            return "out_of_time", ""
        return ("tension", tensions[k]) if k in tensions else ("stood_still", "")


def refit_all(released: Sequence[Released], codebook: Codebook, codes: Records) -> list[Refit]:
    """All outputs refitted on records (n, variables)."""
    data = Microdata(codebook, np.asarray(codes))
    return [output.recompute(data) for output in released]
