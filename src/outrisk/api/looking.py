"""Look at what released outputs say outright, without an evolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from outrisk.api.checks_of_arguments import check_switch, listed, section
from outrisk.api.studies import studies_at, study_of_session
from outrisk.assess.contributions.earlier import check_earlier
from outrisk.assess.look import Found, in_a_sentence
from outrisk.assess.look.in_study import found_in_study
from outrisk.assess.study_run import check_roles
from outrisk.codebook import Codebook
from outrisk.config import Study, read_study
from outrisk.errors import ConfigError
from outrisk.load import StudyData, load_study_data, public_rules
from outrisk.records.folded import Folded as Folded
from outrisk.records.folded import folded
from outrisk.records.schema import Finding


@dataclass(frozen=True, eq=False)
class Checked:
    """What outputs say outright: a `sentence`, and `findings`, a data frame with a row for each, the worst first."""

    sentence: str
    findings: pd.DataFrame

    def __repr__(self) -> str:
        """The sentence."""
        return self.sentence


def check(
    data: pd.DataFrame,
    outputs: Sequence[object],
    *,
    keys: Sequence[str],
    target: str,
    codebook: Codebook | None = None,
    person: str = "",
    household: str = "",
    decimals: int | None = None,
    rules: Sequence[str] = (),
    appetite: Mapping[str, float] | None = None,
    released: Sequence[object] = (),
    inside: bool = False,
) -> Checked:
    """Look at what outputs say outright: groups with one answer, small cells, dominance. Seconds, no evolution.

    Parameters
    ----------
    data : the records (n, variables) behind the outputs.
    outputs, keys, target, codebook, person, household, decimals, rules : as of `outrisk.assess`.
    appetite : the environment's rules, by ACRO's names, such as {"safe_threshold": 10} (docs/direct-look.md).
    released : outputs, as `outputs`, and study files, or folders of them, that are already released: looked at with the
        new ones.
    inside : name the small cells that only a subtraction of two outputs shows.

    Returns
    -------
    Checked : its `sentence`; `findings`, columns rule, certain, output, cells, people, what, places, advice, about,
        already.

    Raises
    ------
    OutRiskError : in one line, for whatever is wrong with the data, the outputs or the settings.

    Examples
    --------
    >>> outrisk.check(df, [pd.crosstab(df.area, df.ill)], keys=["age", "area"], target="ill").findings
    """
    check_switch(inside, "inside")
    chosen = {} if appetite is None else section(appetite)
    settings = {"name": "study", "appetite": chosen, "rules": listed(rules)}
    study, records = study_of_session(
        "outrisk.check",
        {"data": data},
        outputs,
        keys,
        target,
        codebook,
        decimals,
        settings,
        released,
        person,
        household,
    )
    sentence, found = _look(study, records, inside)
    return Checked(
        sentence, pd.DataFrame([vars(each) for each in found], columns=[field.name for field in fields(Finding)])
    )


def look_at_study(
    path: Path, inside: bool = False, trust: bool = False, released: Sequence[Path] = ()
) -> tuple[str, list[Found]]:
    """What the outputs of a study say outright: a sentence, and the findings, the worst first.

    `inside`: cells that only a subtraction of two outputs shows are named too. `trust`: the study's own functions may
    be run. `released`: studies whose outputs are already released, besides those it names. ConfigError for a study
    without data.
    """
    study = read_study(path, trust=trust, released=studies_at(path, released))
    if study.file.data is None:
        raise ConfigError(f"{path}: 'data' is missing; add it: what released numbers say is read off with the records")
    return _look(study, load_study_data(study), inside)


def in_groups(findings: Sequence[Finding], each_one: bool = False) -> list[Folded]:
    """Findings, those that say the same of several outputs as one, or each by itself."""
    return [Folded((each,)) for each in findings] if each_one else folded(findings)


def _look(study: Study, data: StudyData, inside: bool) -> tuple[str, list[Found]]:
    check_roles(study, data.original.codebook)
    check_earlier(study, data)
    original = data.original
    outputs = study.outputs(original.codebook)
    refits = [released.recompute(original) for released in study.given(original.codebook).values()]
    rules = [rule.mask for rule in public_rules(study, original, data.holdout)]
    findings = found_in_study(study, data, outputs, rules, refits, inside)
    return in_a_sentence(findings, len(outputs)), findings
