"""Prove what every data set that fits a release says, without an evolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from outrisk.api.studies import study_of_session
from outrisk.codebook import Codebook
from outrisk.config import Study, read_study
from outrisk.errors import ConfigError, ProveError
from outrisk.load import load_study_data
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.prove.certain_claims import CertainRecords, Claims, certain_records, certain_values
from outrisk.prove.programme import Programme, programme
from outrisk.risk.coding.classes import check_keys


@dataclass(frozen=True, eq=False)
class Proof:
    """What is certain, in words and as a table.

    sentence: the answer. certain: with a register, `record` (the row's position among the records kept, from 0) and
    `value` proved; without one, the records that every data set holds, with their `number`. left_out: outputs of which
    numbers were not used, with the reason. seconds: what the programmes took.
    """

    sentence: str
    certain: pd.DataFrame
    left_out: dict[str, str]
    seconds: float

    def __repr__(self) -> str:
        """The sentence."""
        return self.sentence


def prove(
    data: pd.DataFrame,
    outputs: Sequence[object],
    *,
    keys: Sequence[str],
    target: str,
    codebook: Codebook | None = None,
    decimals: int | None = None,
    rules: Sequence[str] = (),
    seconds: float = 120.0,
) -> Proof:
    """Prove whose target outputs give away to an intruder who knows the keys of everybody in the data.

    Parameters
    ----------
    data : the records (n, variables) behind the outputs.
    outputs, keys, target, codebook, decimals, rules : as of `outrisk.assess`.
    seconds : time for it; what is proved by then is told.

    Returns
    -------
    Proof : its `sentence`; `certain`, a data frame with `record` (the row's position) and `value`, a row for each
        person whose target is the same in every data set that fits the released numbers and the keys; `left_out`.

    Raises
    ------
    OutRiskError : in one line, for whatever is wrong with the data, the outputs or the settings.

    Examples
    --------
    >>> outrisk.prove(df, [pd.crosstab([df.age, df.area], df.ill)], keys=["age", "area"], target="ill").certain
    """
    settings = {"name": "study", "rules": list(rules)}
    study, records = study_of_session(
        "outrisk.prove", {"data": data}, outputs, keys, target, codebook, decimals, settings
    )
    return _values(study, records.original, seconds)


def prove_study(path: Path, seconds: float = 120.0) -> Proof:
    """What the outputs of a study prove: to an intruder who holds a register of everybody's keys and lacks the target.

    A study without data has no register: then the records that every data set which fits its numbers holds.
    ProveError where no data set fits, or the question is too large.
    """
    study = read_study(path)
    if study.file.data is None:
        return _records(study, seconds)
    data = load_study_data(study).original
    return _values(study, data, seconds)


def _values(study: Study, data: Microdata, seconds: float) -> Proof:
    file, codebook = study.file, data.codebook
    check_keys(codebook.names, file.keys, file.target)
    known = {name: data.codes[:, codebook.index(name)].astype(np.int64) for name in file.keys}
    released = [release(output, data) for output in study.outputs(codebook)]
    rules = [rule.mask for rule in study.rules(codebook)]
    of = programme(codebook, released, len(data), known, [file.target], rules)
    claims = certain_values(of, file.target, seconds)
    truth = data.codes[:, codebook.index(file.target)]
    wrong = int(((claims.value >= 0) & (claims.value != truth)).sum())
    if wrong:
        raise ProveError(f"{wrong:,} claims are not true of the data: this is a fault of OutRisk; please report it")
    labels = codebook[file.target].labels
    at = np.flatnonzero(claims.value >= 0)
    certain = pd.DataFrame({"record": at, "value": [labels[value] for value in claims.value[at].tolist()]})
    return Proof(_of_values(claims, certain, file.target, file.keys), certain, dict(of.left_out), claims.seconds)


def _of_values(claims: Claims, certain: pd.DataFrame, target: str, keys: tuple[str, ...]) -> str:
    n = len(claims.value)
    more = " The time ran out: there may be more." if claims.state == "out of time" else ""
    intruder = f"an intruder who knows {', '.join(keys)} of everybody in the data"
    if certain.empty:
        return f"To {intruder}, the outputs prove {target} of none of {n:,} people.{more}"
    counts = certain["value"].value_counts()
    values = ", ".join(f"{value}: {number:,}" for value, number in counts.items())
    share = f"{len(certain):,} of {n:,} people ({100 * len(certain) / n:.1f} %)"
    same = f"it is the same in every data set that fits ({values})"
    return f"To {intruder}, the outputs prove {target} of {share}: {same}.{more}"


def _records(study: Study, seconds: float) -> Proof:
    codebook = study.codebook()
    if codebook is None or study.file.records is None:
        raise ConfigError(f"{study.path}: 'records' is missing; add how many records the released numbers are of")
    released = study.released(codebook)
    rules = [rule.mask for rule in study.rules(codebook)]
    of = programme(codebook, released, study.file.records, rules=rules)
    found = certain_records(of, seconds)
    columns = {name: [codebook[name].labels[code] for code in found.kinds[:, at]] for at, name in enumerate(of.unknown)}
    certain = pd.DataFrame(columns).assign(number=found.number)
    return Proof(_of_records(found, of, study.file.records), certain, dict(of.left_out), found.seconds)


def _of_records(found: CertainRecords, of: Programme, n: int) -> str:
    more = " The time ran out: there may be more." if found.state == "out of time" else ""
    number = int(found.number.sum())
    if found.complete:
        return f"Exactly one data set fits the released numbers: all {n:,} records are proved, from the numbers alone."
    if not number:
        return f"No record of {n:,} is in every data set that fits the released numbers.{more}"
    return f"{number:,} of {n:,} records are in every data set that fits the released numbers.{more}"
