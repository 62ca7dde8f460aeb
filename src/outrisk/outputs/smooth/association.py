"""Released measures of association: risk ratio, risk difference and odds ratio, crude, by stratum, and pooled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError, did_you_mean
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Level, Names, Subset, joint_for, listed, places_in, support_frame
from outrisk.outputs.smooth import association_told as told
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.association_by_table import by_table
from outrisk.outputs.smooth.association_checks import check
from outrisk.outputs.smooth.strata import Strata
from outrisk.outputs.smooth.two_by_two import MEASURES, TwoByTwo, Variance, decimals_by_name, limits_of
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Joint
from outrisk.problem.released import ModelPart, Released

Statistic = Literal[
    "risk ratio",
    "risk difference",
    "odds ratio",
    "limits",
    "risk",
    "cases",
    "n",
    "attributable fraction",
    "chi-square",
    "p",
]
Show = Literal["strata", "crude", "pooled"]
OF_LEVELS = ("n", "cases", "risk")  # numbers that each level of the exposure has, and not a comparison of two
OF_POOLED = ("chi-square", "p")
COUNTS = ("n", "cases")
_USUAL: tuple[Statistic, ...] = ("risk ratio", "limits")
_SHOWN: tuple[Show, ...] = ("strata", "crude", "pooled")
_DECIMALS = 2
MAX_TOTALS = 1_000  # two for every level of the exposure in every stratum
_MAX_ENTRIES = 16_000_000  # what each combination of the variables adds to each of them


@dataclass(frozen=True)
class Association(Common):
    """How much more often `event` is there among those with an `exposure` than among those at its `reference` level
    (the first of those that records may have): risk ratio, risk difference, odds ratio.

    Each other level is compared with the reference, with its own 2 x 2 table. `over`: strata, every combination of the
    values of some variables. `show`: numbers of each stratum ('strata'), of all records in one table ('crude'), and
    Mantel and Haenszel's ('pooled'). n, cases and risk are those of each level of the exposure; chi-square and p
    (Mantel and Haenszel's test) are pooled numbers, attributable fractions (among the exposed, 1 - 1 / risk ratio) are
    not. Limits at `level`, by the normal distribution; of the logarithm of ratios (see two_by_two.py). `variance`: that
    of a pooled risk difference. Risks and their differences are `per` so many. Records with a missing value in any of
    the variables are left out. Not defined (NaN), and never mended by halves: a ratio without cases at the reference,
    an odds ratio also where all exposed are cases, limits of a ratio that is 0, anything of a level without records.
    `event_value`: the value of `event` that counts as one; 1, or the last of two levels.
    """

    event: str
    exposure: str
    over: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = _USUAL
    show: tuple[Show, ...] = ()
    reference: str = ""
    event_value: str = ""
    per: float = 1.0
    level: float = 0.95
    variance: Variance = "greenland-robins"
    continuity: bool = False
    places: int | Mapping[str, int] = _DECIMALS
    where: str = ""
    kind = "association"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, self.variables, self.name)
        if len(set(self.variables)) < len(self.variables):
            raise self._error("event, exposure and over must be different variables")
        if not self.over and set(self.tables) - {"crude"}:
            raise self._error("show: there are no strata without 'over'; name their variables, or leave 'show' out")
        for each in ("statistics", "show"):
            if len(set(getattr(self, each))) < len(getattr(self, each)):
                raise self._error(f"{each}: one stands there twice; keep it once")
        self._check_statistics()
        _ = self.levels, self.reference_at, self.decimals, self.happened
        totals, joint = 2 * len(self.strata) * len(self.levels), self._joint
        if totals > MAX_TOTALS or totals * joint.size > _MAX_ENTRIES:
            raise self._error(
                f"{len(self.levels):,} levels of '{self.exposure}' in {len(self.strata):,} strata are too many: "
                f"{totals:,} totals, at most {MAX_TOTALS:,} are possible, and {totals * joint.size:,} entries, at most "
                f"{_MAX_ENTRIES:,}; band one of the variables, or release it in parts by 'where'"
            )

    def _check_statistics(self) -> None:
        if not self.shown:
            raise self._error(
                f"statistics: {list(self.statistics)} are none of what {list(self.tables)} shows; "
                f"{list(OF_POOLED)} are pooled numbers, {[*OF_LEVELS, 'attributable fraction']} are not"
            )
        if "limits" in self.statistics and not set(MEASURES) & set(self.statistics):
            raise self._error(f"statistics: limits are those of a measure; add one of {list(MEASURES)}")
        pooled = [each for each in self.statistics if each in OF_POOLED]
        if pooled and "pooled" not in self.tables:
            raise self._error(
                f"statistics: '{pooled[0]}' is a pooled number; add 'pooled' to 'show', or use kind: test"
            )
        if self.continuity and not pooled:
            raise self._error("continuity: there is no chi-square or p to correct; leave it out")
        sato = self.variance == "sato"
        if sato and not ("pooled" in self.tables and {"risk difference", "limits"} <= set(self.statistics)):
            raise self._error("variance: 'sato' is that of limits of a pooled risk difference; leave it out")

    def _error(self, text: str) -> OutputError:
        return OutputError(f"output '{self.name}': {text}")

    @property
    def variables(self) -> list[str]:
        """Strata, exposure and event."""
        return [*self.over, self.exposure, self.event]

    @cached_property
    def subset(self) -> Subset:
        """The records it was computed on."""
        return Subset(self.codebook, self.where, self.name)

    @property
    def tables(self) -> tuple[Show, ...]:
        """Which tables are shown, in their order: without strata the crude one, else by default this and the pooled."""
        usual: tuple[Show, ...] = ("crude", "pooled") if self.over else ("crude",)
        return tuple(each for each in _SHOWN if each in (self.show or usual))

    @cached_property
    def happened(self) -> object:
        """The value of `event` that counts as one."""
        return smooth.value_of_event(self.codebook, self.event, self.event_value, self.name)

    @cached_property
    def levels(self) -> list[Any]:
        """The values of the exposure that records may have."""
        possible, variable = self.subset.levels(self.exposure), self.codebook[self.exposure]
        found = [value for value in variable.values if not self.where or format_value(value) in possible]
        if len(found) < 2:
            where = f" where {self.where}" if self.where else ""
            raise self._error(
                f"exposure: '{self.exposure}' has one value{where}, and nothing to compare it with; name another"
            )
        return found

    @cached_property
    def reference_at(self) -> int:
        """Which of the levels the others are compared with."""
        labels = [format_value(each) for each in self.levels]
        if self.reference and self.reference not in labels:
            raise self._error(
                f"reference {self.reference!r} is not a value of '{self.exposure}'"
                f"{did_you_mean(self.reference, labels)}; values are {labels[:20]}"
            )
        return labels.index(self.reference) if self.reference else 0

    @cached_property
    def strata(self) -> list[tuple[Any, ...]]:
        """Values of `over` in every stratum that records may be in; one empty stratum without `over`."""
        every = smooth.groups_of(self.codebook, self.over)
        return [every[at] for at in self._strata.places] if self.over else every

    @cached_property
    def _strata(self) -> Strata:
        return Strata(self.subset, self.over, {}, "over", False)

    @cached_property
    def shown(self) -> tuple[tuple[int, int, str], ...]:
        """Of each number the table (a stratum; then the crude one; then the pooled), the level, and what it is."""
        S, found = len(self.strata), list[tuple[int, int, str]]()
        tables = {"strata": list(range(S)), "crude": [S], "pooled": [S + 1]}
        for table in (at for each in self.tables for at in tables[each]):
            for level in range(len(self.levels)):
                found += [(table, level, name) for name in self._of_row(table > S, level == self.reference_at)]
        return tuple(found)

    def _of_row(self, pooled: bool, reference: bool) -> list[str]:
        """What is shown of one level of one table."""
        found = list[str]()
        for each in self.statistics:
            if each == "limits" or (each in OF_LEVELS and pooled) or (each not in OF_LEVELS and reference):
                continue
            if (each in OF_POOLED and not pooled) or (each == "attributable fraction" and pooled):
                continue
            found.append(each)
            if each in MEASURES and "limits" in self.statistics:
                found += limits_of(each)
        return found

    @property
    def labels(self) -> list[str]:
        """By table, level and statistic, such as 'age=40, smoker=yes: risk ratio', 'pooled, smoker=yes: risk ratio'."""
        return [f"{self.row(table, level)}: {name}" for table, level, name in self.shown]

    def row(self, table: int, level: int) -> str:
        """What a level of a table is called."""
        own = f"{self.exposure}={format_value(self.levels[level])}"
        S = len(self.strata)
        words = [f"{n}={format_value(v)}" for n, v in zip(self.over, self.strata[table % S], strict=True)]
        if table >= S:
            words = ([["crude"], ["pooled"]][table - S]) if self.over else []
        return ", ".join([*words, own])

    @cached_property
    def digits(self) -> dict[str, int]:
        """Digits after the point of each statistic but limits, which have those of their measure."""
        names = [each for each in self.statistics if each != "limits"]
        return smooth.decimals_of(self.places, names, COUNTS, _DECIMALS, self.name)

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        digits = decimals_by_name(self.digits, list(dict.fromkeys(name for _, _, name in self.shown)))
        return np.array([digits[name] for _, _, name in self.shown], dtype=np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        reference = format_value(self.levels[self.reference_at])
        parts = [
            f"{self.event} = {format_value(self.happened)} by {self.exposure} (beside {reference})",
            f"{', '.join(self.tables)} over {', '.join(self.over)}" if self.over else "",
            f"limits at {100 * self.level:g} %" if "limits" in self.statistics else "",
            f"{self.variance} variance" if self.variance == "sato" else "",
            f"risks per {self.per:,g}" if self.per != 1.0 else "",
            "with continuity correction" if self.continuity else "",
            f"where {self.where}" if self.where else "",
        ]
        return "; ".join(part for part in parts if part)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by pandas and statsmodels on the decoded records, shape (k,)."""
        frame = self.subset.complete(data, self.variables)
        return by_table(self, frame)

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Records by stratum, level of the exposure and event, (strata, levels, 2), flat."""
        return (self.of_shown(np.arange(len(self.shown))),)

    def of_shown(self, at: NDArray[np.int64]) -> ModelPart:
        """The part of some of the numbers."""
        cell, size = self.cells
        rows = np.zeros((len(cell), size))
        known = np.flatnonzero(cell >= 0)
        rows[known, cell[known]] = 1.0
        return ModelPart(smooth.sums_of(self._joint, rows, self.subset.masks()), self.map_of(at), len(at))

    def map_of(self, at: NDArray[np.int64]) -> TwoByTwo:
        """How some of the numbers follow from the totals."""
        return TwoByTwo(
            shape=(len(self.strata), len(self.levels)),
            reference=self.reference_at,
            shown=tuple(self.shown[each] for each in at),
            per=self.per,
            level=self.level,
            variance=self.variance,
            continuity=self.continuity,
            decimals=self.decimals[at],
        )

    @cached_property
    def _joint(self) -> Joint:
        return joint_for(self.codebook, self.variables, self.name)

    @cached_property
    def cells(self) -> tuple[NDArray[np.int64], int]:
        """Which total a record at each level of the joint of all variables adds to, -1 for none, and how many there
        are.
        """
        S, L = len(self.strata), len(self.levels)
        frame = support_frame(self.codebook, self._joint)
        known = frame.notna().all(axis=1).to_numpy(dtype=bool)
        places = np.where(known, places_in(self.codebook, self.over, frame), 0)
        of_stratum = np.full(max(int(places.max()) + 1, S), -1)
        of_stratum[self._strata.places if self.over else [0]] = np.arange(S)
        stratum = of_stratum[places]
        level = np.select([np.asarray(frame[self.exposure] == value) for value in self.levels], range(L), -1)
        happened = np.asarray(frame[self.event] == self.happened, dtype=np.int64)
        inside = known & (stratum >= 0) & (level >= 0)
        return np.where(inside, (stratum * L + level) * 2 + happened, -1), 2 * S * L

    @property
    def counted(self) -> NDArray[np.bool_]:
        """At which cells of a table by the `variables` (their missing levels last) records have all values."""
        return np.asarray(self.cells[0] >= 0, np.bool_).reshape([self.codebook[name].size for name in self.variables])

    def of_counts(self, counts: Array) -> Array:
        """The numbers (b, k) from tables of counts (b, ...) with an axis for each of the `variables`, whose missing
        level is the last; NaN where one is undefined.
        """
        cell = self.cells[0]
        adds = np.zeros((len(cell), self.cells[1]))
        known = np.flatnonzero(cell >= 0)
        adds[known, cell[known]] = 1.0
        return self.map_of(np.arange(len(self.shown))).of_many(counts.reshape(len(counts), -1) @ adds)

    @property
    def crossed(self) -> tuple[str, ...]:
        """The variables of the table behind what is shown."""
        return (*(self.over if "strata" in self.tables else ()), self.exposure, self.event)

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """Records and cases by level of the exposure, by stratum and in all."""
        return told.record_counts_of(self, low, high)

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Records and cases in tables, and then the others."""
        return told.counts_first(self, low, high)

    def implied(self, low: Array, high: Array) -> tuple[Released, ...]:
        """Which cells have somebody, as there are such numbers."""
        return told.implied(self, low, high)

    def check(self, low: Array, high: Array) -> None:
        """OutputError for released values that no data can have: it names the first such number, or two."""
        check(self, low, high)


class AssociationEntry(Entry):
    """Measures of association in a study file; `decimals` one number (cases and n have none), or one a statistic."""

    positional = ("event", "exposure", "over")

    kind: Literal["association"]
    event: str
    exposure: str
    over: Names = ()
    statistics: Annotated[tuple[Statistic, ...], BeforeValidator(listed)] = Field(default=_USUAL, min_length=1)
    show: Annotated[tuple[Show, ...], BeforeValidator(listed)] = ()
    reference: Level = ""
    event_value: Level = ""
    per: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    level: float = Field(default=0.95, gt=0, lt=1)
    variance: Variance = "greenland-robins"
    continuity: bool = False
    decimals: smooth.Decimals = _DECIMALS

    def build(self, codebook: Codebook, position: int) -> list[Association]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        over = f" over {' x '.join(self.over)}" if self.over else ""
        return [
            Association(
                codebook,
                self.name or f"association of {self.event} with {self.exposure}{over}",
                self.event,
                self.exposure,
                self.over,
                tuple(dict.fromkeys(self.statistics)),
                tuple(dict.fromkeys(self.show)),
                self.reference,
                self.event_value,
                self.per,
                self.level,
                self.variance,
                self.continuity,
                self.decimals,
                self.where,
            )
        ]
