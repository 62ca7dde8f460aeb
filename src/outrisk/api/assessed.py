"""What an assessment found, in a Python session: a sentence, data frames, and a report where one is asked for."""

from __future__ import annotations

import html
import math
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from outrisk.api.checks_of_arguments import check_file, check_place, check_switch
from outrisk.assess.study_run import StudyRun
from outrisk.assess.verdict.wording import number
from outrisk.codebook import Codebook
from outrisk.errors import ConfigError
from outrisk.records.directory import RunDirectory
from outrisk.records.schema import Decision, Guessed, Risk
from outrisk.report.pages.study_page import copy_pages, render

_PAPER = "tcap_undefined"  # the paper's measure, which no verdict rests on
_SHOWN = ["tcap_undefined", "tcap_zero", "dcap", "baseline"]


class _Memory:
    """Takes what a run directory would (`RunFiles`): tables as data frames, the rest as documents."""

    def __init__(self) -> None:
        self.tables: dict[str, pd.DataFrame] = {}
        self.documents: dict[str, Any] = {}

    def log(self, event: str, **particulars: object) -> None:
        """Nothing: nobody waits for it."""

    def rows(self, name: str, kind: type[Any], rows: Iterable[Any]) -> None:
        """Keep a table: rows of a class of the schema."""
        names = [field.name for field in fields(kind)]
        self.tables[name.removesuffix(".csv")] = pd.DataFrame(
            [[getattr(row, name) for name in names] for row in rows], columns=names
        )

    def json(self, name: str, document: Any) -> None:
        """Keep a document of the schema."""
        self.documents[name] = document

    def yaml(self, name: str, document: Mapping[str, Any]) -> None:
        """Keep a document."""
        self.documents[name] = document

    def text(self, name: str, text: str) -> None:
        """Keep a text."""
        self.documents[name] = text

    def codebook(self, codebook: Codebook) -> None:
        """Nothing: the assessment has it."""


class Assessed:
    """What `outrisk.assess` found. Nothing of it is on disk unless it was asked for; no record is shown.

    Shares lie in [0, 1], larger = riskier; what is undefined is NaN, with a `reason`.
    """

    def __init__(self, run: StudyRun) -> None:
        self._run = run

    @cached_property
    def _kept(self) -> _Memory:
        memory = _Memory()
        self._run.write(memory)
        return memory

    @property
    def _risk(self) -> Risk:
        found: Risk = self._kept.documents["risk.json"]
        return found

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table of a run directory by the name of its file (see docs/run-files.md), such as `matched`."""
        return self._kept.tables

    @property
    def decision(self) -> Decision:
        """The verdict with all it rests on (decision.json; see docs/verdict.md)."""
        found: Decision = self._kept.documents["decision.json"]
        return found

    @property
    def verdict(self) -> str:
        """One of five, such as "disclosive" or "no marginal risk found, up to x" (see docs/verdict.md).

        `decision.sentence` says it with its number, `decision.up_to` is the x.
        """
        return self.decision.verdict

    @property
    def released(self) -> pd.DataFrame:
        """Each released number beside its refit from the synthetic data of each run (matched.csv)."""
        return self.tables["matched"]

    @property
    def risk(self) -> pd.DataFrame:
        """Risk by level of folds and measure: original, holdout, their difference with its 95 % interval, the reason
        for what is undefined.

        `keys` is 'all' for the mean over all key sets, 'largest' for the set of all keys. Level 1 is the whole data, 2
        the halves, each with the other as its holdout.
        """
        return pd.DataFrame(list(self._risk_rows()))

    def _risk_rows(self) -> Iterable[dict[str, Any]]:
        for level in self._risk.levels:
            found = {(row.measure, row.keys, row.side): row for row in level.estimates}
            for measure, keys, side in found:
                if side != "original":
                    continue
                own, held, marginal = (found[measure, keys, each] for each in ("original", "holdout", "marginal"))
                yield {
                    "level": level.level,
                    "measure": measure,
                    "keys": keys,
                    "original": own.value,
                    "holdout": held.value,
                    "difference": marginal.value,
                    "low": marginal.low,
                    "high": marginal.high,
                    "key_sets": own.n_key_sets,
                    "undefined": own.n_undefined,
                    "reason": marginal.reason or own.reason,
                }

    @property
    def findings(self) -> pd.DataFrame:
        """What the outputs say outright, the worst first (findings.csv)."""
        return self.tables["findings"]

    @property
    def certain(self) -> pd.DataFrame:
        """Whose target the outputs prove to an intruder who knows everybody's keys: `record`, the row's position, and
        `value`. Never written: it names people.
        """
        return self._run.certain.certain

    @property
    def key_sets(self) -> pd.DataFrame:
        """Each measure of each key set, side and run (risk.csv)."""
        return self.tables["risk"]

    @property
    def people(self) -> pd.DataFrame:
        """By level of folds, of how many people the target is inferred rightly in at least 90 % of the runs.

        Counts and shares of the people in the data and in the holdout, with the 95 % interval of the difference; never
        who they are. `inference`: 'certain', where the synthetic records with the person's keys agree (to the share
        `tau`); 'most frequent', where one value leads among them. `group`: everybody, people alone with their keys,
        holders of a value of the target. `beyond`: people beyond those rightly inferred without being in the data.
        """
        return self.tables["people"]

    @property
    def register(self) -> pd.DataFrame:
        """How often the target is guessed rightly by who holds a register of everybody's keys (register.csv).

        Of people in the data, of people who are not, and the difference, with 95 % intervals; a row for each fold,
        measure, and group of people (all, or those unique on their keys). Empty where it was not asked for.
        """
        return self.tables.get("register", pd.DataFrame(columns=[field.name for field in fields(Guessed)]))

    @property
    def codebook(self) -> Codebook:
        """The variables and their supports, as given or as inferred; it counts as public."""
        return self._run.assessment.original.codebook

    @property
    def study(self) -> dict[str, Any]:
        """The study as carried out, defaults filled in: what a study file would hold."""
        return self._run.study.resolved()

    def synthetic(self, level: int = 1, fold: str = "", run: int = 1) -> pd.DataFrame:
        """The synthetic records that one run ended with; `fold` by default the first of its level."""
        for result in self._run.results:
            at = result.job
            if (at.fold.level, at.run) == (level, run) and fold in ("", at.fold.name):
                return result.synthetic.frame()
        known = sorted({(result.job.fold.level, result.job.fold.name) for result in self._run.results})
        raise ConfigError(f"no run {run} of fold {fold or 'any'!r} at level {level}; levels and folds are {known}")

    @property
    def sentence(self) -> str:
        """The answer in short: the verdict, as reported, what outputs say outright, and the paper's measure."""
        runs, by = len(self._run.results), [self.released[name] for name in ("level", "fold", "run")]
        complete, near = (int(self.released[name].groupby(by).all().sum()) for name in ("matched", "near"))
        target, rows = self._run.assessment.learnt, self.risk
        said = f"{self.decision.sentence} {self._risk.outright} Synthetic data reproduced every released number in "
        said += f"{complete} of {runs} runs (to 1 % of its sampling error in {near}). Correct attribution of {target} "
        said += "(TCAP, mean over key sets; no verdict rests on it): "
        rows = rows[(rows["measure"] == _PAPER) & (rows["keys"] == "all")]
        held = rows[rows["difference"].notna()]
        if held.empty:
            own = rows.iloc[-1]  # the smallest folds, which have a holdout if any have
            value = "undefined" if math.isnan(own["original"]) else f"{own['original']:.3f}"
            return f"{said}{value} ({own['reason'] or 'no holdout'})."
        row = held.iloc[0]
        between = f"95 % interval {row['low']:+z.3f} to {row['high']:+z.3f}"
        if math.isnan(row["low"]):
            between = row["reason"] if "no interval" in row["reason"] else f"no interval: {row['reason']}"
        return (
            f"{said}{row['original']:.3f} for people in the data and {row['holdout']:.3f} for people who are not, a "
            f"difference of {row['difference']:+z.3f} ({between})."
        )

    def _short(self) -> pd.DataFrame:
        rows = self.risk
        rows = rows[(rows["keys"] == "all") & rows["measure"].isin(_SHOWN)]
        return rows[["level", "measure", "original", "holdout", "difference", "low", "high"]]

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{self._short().to_string(index=False, float_format=number, na_rep='')}"

    def _repr_html_(self) -> str:
        table = self._short().to_html(index=False, border=0, float_format=number, na_rep="")
        return f"<p>{html.escape(self.sentence)}</p>\n{table}"

    def report(self, path: str | Path) -> Path:
        """Write the report, and return its path: page one, with the details beside it in `<name>.details.html`.

        Both are self-contained; files of the run that they speak of are written by `write`.
        """
        path = check_file(path)
        with tempfile.TemporaryDirectory() as place:
            copy_pages(self.write(Path(place) / self._run.study.file.name), path)
        return path

    def write(self, out: str | Path, force: bool = False) -> Path:
        """Write a run directory as `outrisk assess` does, report included, and return its path."""
        check_switch(force, "force")
        directory = RunDirectory(check_place(out, "out"), force)
        directory.open()
        try:
            self._run.write(directory)
            self._run.write_synthetic(directory.synthetic)
            render(directory.folder)
            self._run.complete(directory)
        except BaseException:
            directory.discard()
            raise
        return directory.close()
