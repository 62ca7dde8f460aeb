"""Prove what every data set that fits a release says, without an evolution."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from outrisk.api.checks_of_arguments import check_count, check_file, check_number_or_none, listed
from outrisk.api.not_over_inputs import check_outputs
from outrisk.api.studies import studies_at, study_of_session
from outrisk.assess.certain_people import certain_people, check_register
from outrisk.assess.contributions.earlier import check_earlier
from outrisk.assess.told_by_statistics import programme_with_statistics, told_by_statistics
from outrisk.codebook import Codebook
from outrisk.config import Study, read_study
from outrisk.errors import ConfigError
from outrisk.load import load_study_data, public_rules
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.problem.blocks import Mask
from outrisk.problem.released import Released
from outrisk.prove.budget import Budget
from outrisk.prove.cell_bounds import audit
from outrisk.prove.certain_claims import CertainRecords, certain_records
from outrisk.prove.few_people import FewPeople, few_people
from outrisk.prove.programme import Programme, drawn
from outrisk.prove.what_must_go import in_words, what_must_go
from outrisk.risk.coding.bands import bands_of
from outrisk.whole_files import whole


@dataclass(frozen=True, eq=False)
class Proof:
    """What is certain, in words and as a table.

    sentence: the answer. certain: with a register, `record` (the row's position among the records kept, from 0) and
    `value` proved; without one, the records that every data set holds, with their `number`. by_outputs: with a
    register, for each such record the `outputs` that prove its value (joined by '; '), and whether no fewer do
    (`smallest`). left_out: outputs of which numbers were not used, with the reason. seconds: what it took. cells: what
    tables say without a register of counts that are not printed: `table`, `released` (whether an output withholds the
    cell; else the table was not released), `cell`, and `low` and `high`, between which all data sets that fit have it;
    `recovered`, `narrowed`, and the `outputs` that recover it. of_cells: that in words. counted: what rows of `certain`
    and `by_outputs` are, with a register: "people", or "records" where people may have several.
    """

    sentence: str
    certain: pd.DataFrame
    left_out: dict[str, str]
    seconds: float
    by_outputs: pd.DataFrame = field(default_factory=pd.DataFrame)
    cells: pd.DataFrame = field(default_factory=pd.DataFrame)
    of_cells: str = ""
    counted: str = "people"

    def __repr__(self) -> str:
        """The sentence."""
        return self.sentence

    def write(self, path: str | Path) -> None:
        """Write `certain` as CSV."""
        with whole(check_file(path)) as draft:
            self.certain.to_csv(draft, index=False)


def _aside(text: str) -> None:
    Console(stderr=True, highlight=False).print(escape(text))


@dataclass(frozen=True)
class Asked:
    """How a question is put: known_for, the share of people in the register, drawn at random by `seed` (None: as the
    study says); sample, how many of them are asked about (None: all); time_limit in seconds (None: work is
    bounded, on any machine alike, and no clock is looked at); tell is given what there is to know before (it goes to
    stderr).
    """

    known_for: float | None = None
    sample: int | None = None
    time_limit: float | None = None
    seed: int = 1
    tell: Callable[[str], None] = _aside

    def checked(self) -> Asked:
        """Itself; ConfigError for what cannot be."""
        check_number_or_none(self.known_for, "known_for")
        check_number_or_none(self.time_limit, "time_limit")
        check_count(self.sample, "sample", or_none=True)
        check_count(self.seed, "seed", 0)
        if self.known_for is not None and not 0.0 < self.known_for <= 1.0:
            raise ConfigError(f"known_for is {self.known_for:g}: write a share of the people, above 0 and up to 1")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ConfigError(f"time_limit is {self.time_limit:g}: write seconds, above 0")
        return self

    @property
    def budget(self) -> Budget:
        """Work and time that proofs may take."""
        return Budget(seconds=np.inf if self.time_limit is None else self.time_limit)

    def people(self, n: int, share: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Who of n people is in the register (by default this share of them), and who is asked about, (n,) each."""
        share = share if self.known_for is None else self.known_for
        known = drawn(n, share, self.seed)
        if not known.any():
            raise ConfigError(f"known_for is {share:g}: of {n:,} people that is nobody")
        asked = known.copy()
        if self.sample is not None and self.sample < known.sum():
            order = np.random.default_rng([self.seed, 0x5A3]).permutation(np.flatnonzero(known))
            asked[order[self.sample :]] = False
        return known, asked


def prove(
    data: pd.DataFrame,
    outputs: Sequence[object],
    *,
    keys: Sequence[str],
    target: str,
    codebook: Codebook | None = None,
    decimals: int | None = None,
    rules: Sequence[str] = (),
    target_within: float | None = None,
    released: Sequence[object] = (),
    known_for: float = 1.0,
    sample: int | None = None,
    time_limit: float | None = None,
    seed: int = 1,
) -> Proof:
    """Prove whose target outputs give away to an intruder who knows the keys of everybody in the data.

    Parameters
    ----------
    data : the records (n, variables) behind the outputs.
    outputs, keys, target, codebook, decimals, rules, target_within : as of `outrisk.assess`.
    released : outputs, as `outputs`, and study files, or folders of them, that are already released: equations beside
        the new ones.
    known_for : share of the people whose keys are known, drawn at random by `seed`; of the others nothing is known.
    sample : ask about so many people only, drawn at random by `seed`: for data that are too large to ask about all.
    time_limit : seconds for it; what is proved by then is told. Without one the work is bounded, so that two runs
        never differ.

    Returns
    -------
    Proof : its `sentence`; `certain`, a data frame with `record` (the row's position) and `value`, a row for each
        person whose target is the same in every data set that fits the released numbers and the keys; `by_outputs`,
        the outputs that prove it; `cells`, bounds of counts that no output prints; `left_out`.

    Raises
    ------
    OutRiskError : in one line, for whatever is wrong with the data, the outputs or the settings.

    Examples
    --------
    >>> outrisk.prove(df, [pd.crosstab([df.age, df.area], df.ill)], keys=["age", "area"], target="ill").certain
    """
    settings: dict[str, Any] = {"name": "study", "rules": listed(rules), "target_within": target_within}
    study, records = study_of_session(
        "outrisk.prove", {"data": data}, outputs, keys, target, codebook, decimals, settings, released
    )
    check_earlier(study, records)
    return _values(study, records.original, Asked(known_for, sample, time_limit, seed).checked())


def prove_study(
    path: Path, asked: Asked, trust: bool = False, released: Sequence[Path] = (), outputs: Sequence[Path] = ()
) -> Proof:
    """What the outputs of a study prove: to an intruder who holds a register of everybody's keys and lacks the target.

    A study without data has no register: then the records that every data set which fits its numbers holds.
    `released`: studies whose outputs are already released, besides those it names. `outputs`: files that will be
    written, which are checked before anything else.
    ProveError where no data set fits, or the question is too large.
    """
    asked = asked.checked()
    study = read_study(path, trust=trust, released=studies_at(path, released))
    check_outputs(outputs, study.files)
    if study.file.data is None:
        return _records(study, asked)
    data = load_study_data(study)
    check_earlier(study, data)
    return _values(study, data.original, asked)


def _values(study: Study, data: Microdata, asked: Asked) -> Proof:
    file, codebook, started = study.file, data.codebook, time.perf_counter()
    check_register(study, codebook)
    rules = [rule.mask for rule in public_rules(study, data)]
    known, some = asked.people(len(data), file.register_.share)
    outputs, given = study.outputs(codebook), study.given(codebook)
    numbers = {output.name: given.get(output.name) or release(output, data) for output in outputs}
    found = certain_people(
        list(numbers.values()),
        data,
        study.register_keys,
        file.target,
        rules=rules,
        known=known,
        asked=some,
        computed=not given,
        budget=asked.budget,
        most_entries=np.inf,
        seed=asked.seed,
        tell=asked.tell,
        bands=bands_of(codebook, file.target, file.target_within),
    )
    seconds = time.perf_counter() - started
    summary = found.summary
    proof = Proof(summary.sentence, found.certain, dict(summary.left_out), seconds, found.by_outputs)
    proof = replace(proof, counted=summary.counted)
    return _with_cells(proof, study, codebook, list(numbers.values()), len(data), rules)


def _records(study: Study, asked: Asked) -> Proof:
    codebook, n = study.codebook(), study.file.records
    if codebook is None or n is None:
        raise ConfigError(f"{study.path}: 'records' is missing; add how many records the released numbers are of")
    started = time.perf_counter()
    released = study.released(codebook)
    rules = [rule.mask for rule in study.rules(codebook)]
    few = few_people(codebook, released, n, rules)
    data, alone = (
        few.data_sets(np.ones(len(few.statistics), dtype=np.bool_), most=2) if few else (np.zeros((0, n)), False)
    )
    if few and alone and len(data) == 1:
        return _only_one(few, data[0], codebook, asked.budget, started)
    of = programme_with_statistics(codebook, released, n, rules=rules, crossed=True)
    found = certain_records(of, asked.budget)
    columns = {name: [codebook[name].labels[code] for code in found.kinds[:, at]] for at, name in enumerate(of.unknown)}
    certain = pd.DataFrame(columns).assign(number=found.number)
    proof = Proof(_of_records(found, of, n), certain, dict(of.left_out), time.perf_counter() - started)
    return _with_cells(proof, study, codebook, released, n, rules)


def _with_cells(
    proof: Proof, study: Study, codebook: Codebook, released: Sequence[Released], n: int, rules: Sequence[Mask]
) -> Proof:
    """A proof with what tables say of cells that they do not print."""
    small = study.file.appetite.safe_threshold
    told, _ = told_by_statistics(codebook, released)
    found = audit(codebook, released, n, rules, study.file.target, small=small, told=told)
    rows = [
        {
            "table": each.table.name,
            "released": bool(each.table.output),
            "cell": each.table.labels[q],
            "low": int(each.low[q]),
            "high": int(each.high[q]),
            "recovered": bool(each.recovered[q]),
            "narrowed": bool(each.narrowed[q]),
            "outputs": "; ".join(each.outputs) if each.recovered[q] else "",
        }
        for each in found.tables
        for q in range(len(each.low))
    ]
    columns = ["table", "released", "cell", "low", "high", "recovered", "narrowed", "outputs"]
    return replace(proof, cells=pd.DataFrame(rows, columns=columns), of_cells=found.sentence)


def _only_one(few: FewPeople, data: NDArray[np.int64], codebook: Codebook, budget: Budget, started: float) -> Proof:
    """The one data set that fits, and which numbers must go so that nobody is proved."""
    kinds, number = np.unique(data, return_counts=True)
    columns = {
        name: [codebook[name].labels[code] for code in few.kinds[kinds, at]] for at, name in enumerate(few.names)
    }
    must_go = what_must_go(few, data, budget)
    said = (
        f"Exactly one data set fits the released numbers: all {few.n:,} records are proved, from the numbers alone. "
        f"{in_words(few, must_go)}"
    )
    return Proof(said, pd.DataFrame(columns).assign(number=number), {}, time.perf_counter() - started)


def _of_records(found: CertainRecords, of: Programme, n: int) -> str:
    more = " It was stopped early: there may be more." if found.state == "stopped early" else ""
    number = int(found.number.sum())
    if found.complete:
        return f"Exactly one data set fits the released numbers: all {n:,} records are proved, from the numbers alone."
    if not number:
        return f"No record of {n:,} is in every data set that fits the released numbers.{more}"
    return f"{number:,} of {n:,} records are in every data set that fits the released numbers.{more}"
