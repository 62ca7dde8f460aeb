"""A study's run directory read back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from outrisk.errors import ConfigError
from outrisk.records import files
from outrisk.records.schema import (
    Certain,
    Contrast,
    Contribution,
    Decision,
    Difference,
    Estimate,
    Finding,
    Fold,
    Given,
    Guessed,
    Level,
    Manifest,
    Matched,
    MeanOfRuns,
    PeopleCount,
    Recurring,
    Register,
    Reliability,
    Risk,
    Run,
    Score,
    Snapshot,
    Step,
)

LEADING = "tcap_undefined"  # the measure that the report's answer rests on; `tcap_zero` stands beside it


@dataclass(frozen=True, eq=False)
class Results:
    """Everything the report is made from: aggregates only. Tables are read when they are asked for."""

    directory: Path
    manifest: Manifest
    study: dict[str, Any]
    risk: Risk

    @property
    def runs(self) -> list[Run]:
        """Finished runs of all folds."""
        return [run for fold in self.risk.folds for run in fold.runs]

    @property
    def lead(self) -> Level | None:
        """The level the answer rests on: the fewest (hence largest) folds with a holdout, defined marginals first."""
        held_out = {fold.level for fold in self.risk.folds if fold.n_holdout and fold.runs}
        levels = [level for level in self.risk.levels if level.level in held_out]
        return min(levels, key=lambda level: (math.isnan(marginal(level).value), level.level), default=None)

    def folds_of(self, level: int) -> list[Fold]:
        """Folds of a level with a finished run."""
        return [fold for fold in self.risk.folds if fold.level == level and fold.runs]

    @property
    def shown_level(self) -> int | None:
        """The level that sections without a contrast show: that of the answer, else the largest folds."""
        levels = [fold.level for fold in self.risk.folds if fold.runs]
        return self.lead.level if self.lead else min(levels, default=None)

    def matched(self, fold: Fold) -> list[Matched]:
        """Released numbers of a fold beside their refits in every run."""
        path = self.directory / "matched.csv"
        return files.read_rows(path, Matched, lambda rows: (rows.level == fold.level) & (rows.fold == fold.fold))

    @cached_property
    def trajectory(self) -> list[Step]:
        """Errors by generation."""
        return files.read_rows(self.directory / "trajectory.csv", Step)

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """Errors by refit, and risk, along the runs."""
        return files.read_rows(self.directory / "snapshots.csv", Snapshot)

    @cached_property
    def scores(self) -> list[Score]:
        """Every measure, side and key set."""
        path = self.directory / "risk.csv"
        rows = files.read_rows(path, Score)
        if len({(row.level, row.fold, row.run, row.keys, row.measure, row.side) for row in rows}) < len(rows):
            raise files.broken(path, "a measure of a key set stands there twice")
        return rows

    def _rows(self, name: str, kind: type[files.Kind]) -> list[files.Kind] | None:
        """The rows of a file that not every run has; None where this one has not."""
        path = self.directory / name
        return files.read_rows(path, kind) if path.is_file() else None

    def _document(self, name: str, kind: type[files.Kind]) -> files.Kind | None:
        """The document of a file that not every run has; None where this one has not."""
        path = self.directory / name
        return files.read_document(path, kind) if path.is_file() else None

    @cached_property
    def means(self) -> list[MeanOfRuns]:
        """Means over runs of the measures of all families; none where the run has no such file."""
        return self._rows("over_runs.csv", MeanOfRuns) or []

    @cached_property
    def decision(self) -> Decision | None:
        """The verdict; None where the run has no such file."""
        return self._document("decision.json", Decision)

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """The marginal risk by measure and key set; none where the run has no such file."""
        return self._rows("marginal.csv", Contrast) or []

    @cached_property
    def people(self) -> list[PeopleCount]:
        """By person, in counts; none where the run has no such file."""
        return self._rows("people.csv", PeopleCount) or []

    @cached_property
    def contributions(self) -> list[Contribution]:
        """What each output adds; none where that was not asked for."""
        return self._rows("contributions.csv", Contribution) or []

    @cached_property
    def findings(self) -> list[Finding] | None:
        """What the outputs say outright, the worst first; None where the run has no such file."""
        return self._rows("findings.csv", Finding)

    @cached_property
    def certain(self) -> Certain | None:
        """What the outputs prove to an intruder with a register; None where the run has no such file."""
        return self._document("certain.json", Certain)

    @cached_property
    def given(self) -> list[Given]:
        """Released numbers that the study gives beside what the data give; none where it gives none."""
        return self._rows("given.csv", Given) or []

    @cached_property
    def differences(self) -> list[Difference]:
        """Groups that a subtraction of outputs isolates; none where the run has no such file."""
        return self._rows("differencing.csv", Difference) or []

    @cached_property
    def register(self) -> Register | None:
        """What an intruder with a register guesses; None where that was not asked for."""
        return self._document("register.json", Register)

    @cached_property
    def guessed(self) -> list[Guessed]:
        """How often guesses with a register are right; none where that was not asked for."""
        return self._rows("register.csv", Guessed) or []

    @cached_property
    def recurring(self) -> list[Recurring]:
        """Records that recur over runs; none where the run has no such file."""
        return self._rows("recurring.csv", Recurring) or []

    @cached_property
    def reliability(self) -> list[Reliability]:
        """Guesses with a register by their chance; none where that was not asked for."""
        return self._rows("reliability.csv", Reliability) or []


def read_run(directory: Path) -> Results:
    """Read a run directory; ConfigError, in one line, where it is none or a file is missing or broken."""
    if not (directory / "manifest.json").is_file():
        raise ConfigError(
            f"{directory} is not a run directory (no manifest.json in it); give a directory that `outrisk assess` wrote"
        )
    return Results(
        directory=directory,
        manifest=files.read_document(directory / "manifest.json", Manifest),
        study=files.read_yaml(directory / "study.yaml"),
        risk=files.read_document(directory / "risk.json", Risk),
    )


def find(estimates: Sequence[Estimate], measure: str, side: str, keys: str = "all") -> Estimate:
    """The estimate asked for; an undefined one, with the reason, where the files have none."""
    for estimate in estimates:
        if (estimate.measure, estimate.side, estimate.keys) == (measure, side, keys):
            return estimate
    nan = math.nan
    return Estimate(measure, keys, side, nan, nan, nan, nan, 0, 0, "not estimated in this run")


def marginal(part: Fold | Level, measure: str = LEADING) -> Estimate:
    """Original minus holdout, averaged over all key sets."""
    return find(part.estimates, measure, "marginal")
