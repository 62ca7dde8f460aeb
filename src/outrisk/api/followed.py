"""Ask whom a release follows: change values of few people, release again, and see whether the inference changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from outrisk.api.checks_of_arguments import check_count, seeded
from outrisk.api.studies import studies_at, study_of_session
from outrisk.assess.contributions.earlier import check_earlier
from outrisk.assess.following import Followed, Question
from outrisk.assess.following import follow as follow_people
from outrisk.assess.study_run import assessment_of
from outrisk.codebook import Codebook
from outrisk.config import Study, read_study
from outrisk.errors import ConfigError
from outrisk.load import StudyData, load_study_data


@dataclass(frozen=True, eq=False)
class Following:
    """Whom a release follows, in counts: a `sentence`; `people`, `flagged`, `tried`, `followed`; `by_keys`, a data
    frame with a row for each key set of which classes were tried.
    """

    sentence: str
    people: int
    flagged: int
    tried: int
    followed: int
    by_keys: pd.DataFrame

    def __repr__(self) -> str:
        """The sentence."""
        return self.sentence


def follow(
    data: pd.DataFrame,
    outputs: Sequence[object],
    *,
    keys: Sequence[str],
    target: str,
    codebook: Codebook | None = None,
    decimals: int | None = None,
    target_within: float | None = None,
    released: Sequence[object] = (),
    evolve: Mapping[str, Any] | None = None,
    runs: int = 5,
    rounds: int = 1,
    seed: int = 1,
    workers: int | None = None,
) -> Following:
    """Ask whom a release follows: whose inferred value changes when their own value is changed and released again.

    Parameters
    ----------
    data : the records (n, variables) behind the outputs. Copies with changed values are made in memory only.
    outputs, keys, target, codebook, decimals, target_within, released, evolve, seed, workers : as of `outrisk.assess`;
        what is already released is released again too.
    runs : runs of evolution on each release; 5 or more, as 90 % of them have to agree.
    rounds : how often values are changed, of at most 5 % of the records each time.

    Returns
    -------
    Following : its `sentence`; counts of people `flagged`, `tried` and `followed`; larger = riskier.

    Raises
    ------
    OutRiskError : in one line, for whatever is wrong with the data, the outputs or the settings.

    Examples
    --------
    >>> outrisk.follow(df, [pd.crosstab([df.area, df.job], df.ill)], keys=["area", "job"], target="ill").followed
    """
    settings: dict[str, Any] = {"name": "study", "target_within": target_within, "evolve": seeded(evolve, seed)}
    study, records = study_of_session(
        "outrisk.follow", {"data": data}, outputs, keys, target, codebook, decimals, settings, released
    )
    return _following(study, records, runs, rounds, workers)


def follow_study(
    path: Path,
    runs: int,
    rounds: int,
    seed: int | None,
    workers: int | None,
    trust: bool = False,
    released: Sequence[Path] = (),
) -> Following:
    """The same of a study file. `trust`: the study's own functions may be run. `released`: studies whose outputs are
    already released, besides those it names.
    """
    study = read_study(path, seed, trust, released=studies_at(path, released))
    if study.file.data is None:
        raise ConfigError(f"{path}: 'data' is missing: without records nobody's value can be changed")
    return _following(study, load_study_data(study), runs, rounds, workers)


def _following(study: Study, data: StudyData, runs: int, rounds: int, workers: int | None) -> Following:
    for name, number in (("runs", runs), ("rounds", rounds)):
        check_count(number, name)
    check_count(workers, "workers", or_none=True)
    check_earlier(study, data)
    asked = assessment_of(study, data)
    found = follow_people(
        Question(
            original=asked.original,
            outputs=asked.outputs,
            keys=asked.keys,
            target=asked.target,
            learnt=asked.learnt,
            settings=asked.settings,
            rules=asked.rules,
            seed=asked.seed,
            runs=runs,
            rounds=rounds,
            workers=min(workers or os.cpu_count() or 1, runs),
            bands=asked.bands,
        )
    )
    rows = pd.DataFrame([asdict(row) | {"keys": "+".join(row.keys)} for row in found.by_keys])
    return Following(_sentence(found), found.people, found.flagged, found.tried, found.followed, rows)


def _sentence(found: Followed) -> str:
    start = (
        f"Of {found.people:,} people, {found.flagged:,} are in groups of at most 10 with one value of {found.target} "
        f"that {found.runs} runs on the release infer rightly"
    )
    more = (
        ""
        if found.reproduced
        else " Not every run reproduced every output, so that more people may be followed than were found."
    )
    if not found.flagged:
        return f"{start}: there is nobody whom the release could be seen to follow.{more}"
    rest = found.flagged - found.tried
    left = f" {rest:,} more were not tried (further rounds)." if rest else ""
    changed = f"{start}; the value of {found.tried:,} of them was changed in a copy and the outputs released again"
    if not found.followed:
        return f"{changed}: the inference followed none of them.{left}{more}"
    return (
        f"{changed}: the inference followed {found.followed:,} of them. What it says of these is the release's doing, "
        f"whatever holds for other people.{left}{more}"
    )
