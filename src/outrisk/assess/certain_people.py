"""What the release proves about people to somebody who holds a register of their keys: certain claims, in a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.assess.look.finding import people
from outrisk.assess.told_by_statistics import programme_with_statistics
from outrisk.codebook import Codebook
from outrisk.config import Study
from outrisk.errors import ConfigError, ProveError, RiskError
from outrisk.microdata import Microdata
from outrisk.problem.blocks import Mask
from outrisk.problem.released import Released
from outrisk.prove.budget import Budget
from outrisk.prove.certain_claims import Claims, certain_values
from outrisk.prove.programme import Programme
from outrisk.prove.proofs import ProvingSet, smallest_proofs
from outrisk.prove.settled import entries_left
from outrisk.records.schema import Certain, Proof
from outrisk.risk.coding.bands import Bands, in_words
from outrisk.risk.coding.classes import check_keys

MOST_ENTRIES = 2_000_000  # entries of a programme's constraints that a study takes up by itself
_INTEGER = 2_000  # columns up to which a study takes counts as whole: seconds; `outrisk prove` goes further
_LONG = 100_000  # entries left to the search from which it may take minutes
_MUCH = 1.0  # gigabytes from which it is said how many
_BASE, _BYTES = 0.25, 300.0  # gigabytes before, and bytes an entry takes with HiGHS's share (benchmarks/certain.py)


@dataclass(frozen=True, eq=False)
class CertainPeople:
    """What is proved, `summary`, and of whom.

    value (n,): the code of the target proved for each record; -1 where none is. proofs: sets of outputs with the
    positions, among `register` (the records in it), of the people whose value they prove.
    """

    summary: Certain
    value: NDArray[np.int64]
    labels: tuple[str, ...]
    register: NDArray[np.int64]
    proofs: tuple[ProvingSet, ...] = ()

    @property
    def who(self) -> NDArray[np.intp]:
        """The records whose value is proved."""
        return np.flatnonzero(self.value >= 0)

    @cached_property
    def certain(self) -> pd.DataFrame:
        """`record` (the row's position, from 0) and the `value` proved, a row a person."""
        value = [self.labels[code] for code in self.value[self.who].tolist()]
        return pd.DataFrame({"record": self.who, "value": value})

    @cached_property
    def by_outputs(self) -> pd.DataFrame:
        """`record`, the `outputs` that prove its value (joined by '; '), and whether no fewer do (`smallest`)."""
        rows = [
            (int(self.register[person]), "; ".join(each.outputs), bool(smallest))
            for each in self.proofs
            for person, smallest in zip(each.people, each.smallest, strict=True)
        ]
        return pd.DataFrame(sorted(rows), columns=["record", "outputs", "smallest"])


def certain_people(
    released: Sequence[Released],
    original: Microdata,
    keys: Sequence[str],
    target: str,
    *,
    rules: Sequence[Mask] = (),
    known: NDArray[np.bool_] | None = None,
    asked: NDArray[np.bool_] | None = None,
    computed: bool = True,
    budget: Budget | None = None,
    most_entries: float = MOST_ENTRIES,
    integer: int | None = None,
    seed: int = 0,
    tell: Callable[[str], None] = lambda text: None,
    bands: Bands | None = None,
) -> CertainPeople:
    """Whose target outputs prove, as released, to an intruder who knows the keys of all, or of those `known` (n,).

    `asked` (n,): those of them who are asked about (None: all). `computed`: all numbers were, from the records.
    Nothing is tried, and the summary says so, where the constraints have more than `most_entries` entries; `integer`:
    columns up to which counts are taken as whole (None: as many as `Programme` says), beyond which claims may be
    missed. `bands`: claims are about bands of the target. `tell` hears beforehand of a question that will take long.
    ProveError where no data set fits, or the question is too large; and where a claim is not true of the records though
    the outputs were computed from them, which would be a fault of OutRisk.
    """
    codebook, n = original.codebook, len(original)
    register = np.arange(n) if known is None else np.flatnonzero(known)
    codes = original.codes[register].astype(np.int64)
    given = {name: codes[:, codebook.index(name)] for name in keys}
    of = programme_with_statistics(codebook, released, n, given, [target], rules)
    of = of if integer is None else replace(of, integer=integer)
    facts = _Facts(tuple(keys), target, n, len(register), in_words(target, bands), _counted(original))
    labels = tuple(codebook[target].labels) if bands is None else bands.labels
    if of.matrix.nnz > most_entries:
        summary = facts.skipped(of)
        return CertainPeople(summary, np.full(n, -1), labels, register)
    left = entries_left(of)
    if left > _LONG or gigabytes(of.matrix.nnz) > _MUCH:
        tell(facts.size(of, left))
    of_register = None if asked is None else asked[register]
    truth, fitting = codes[:, codebook.index(target)], codes if computed else None
    budget = budget or Budget()
    proving, sets = budget.part(0.7), budget.part(0.3)
    of_code = None if bands is None else bands.code
    claims = certain_values(of, target, proving, seed, of_register, fitting, of_code)
    truth = truth if bands is None else bands.code[truth]
    wrong = int(((claims.value >= 0) & (claims.value != truth)).sum())
    if wrong and computed:
        raise ProveError(f"{wrong:,} claims are not true of the data: this is a fault of OutRisk; please report it")
    proofs = smallest_proofs(of, target, claims, sets, of_code) if claims.proved else []
    value = np.full(n, -1)
    value[register] = claims.value
    owners = original.people(value >= 0)
    return CertainPeople(facts.summary(of, claims, proofs, labels, owners), value, labels, register, tuple(proofs))


def check_register(study: Study, codebook: Codebook) -> None:
    """ConfigError where an intruder cannot know the keys of a study's register, or learns nothing."""
    try:
        check_keys(codebook.names, study.register_keys, study.file.target)
    except RiskError as error:
        place = "[register] " if study.file.register_.keys else ""
        raise ConfigError(f"{study.path}: {place}{error}") from None


def certain_in_study(
    released: Sequence[Released],
    original: Microdata,
    keys: Sequence[str],
    target: str,
    rules: Sequence[Mask],
    known: NDArray[np.bool_] | None,
    computed: bool,
    bands: Bands | None = None,
) -> CertainPeople:
    """As `certain_people`; what cannot be told is said in the summary."""
    n = len(original)
    try:
        return certain_people(
            released,
            original,
            keys,
            target,
            rules=rules,
            known=known,
            computed=computed,
            integer=_INTEGER,
            bands=bands,
        )
    except ProveError as error:
        message = str(error)
        state = "no data set fits" if message.startswith("no data set fits") else "skipped"
        facts = _Facts(
            tuple(keys),
            target,
            n,
            n if known is None else int(known.sum()),
            in_words(target, bands),
            _counted(original),
        )
        summary = Certain(
            state, f"{message[0].upper()}{message[1:]}.", facts.assumption, tuple(keys), target, n, facts.known
        )
        labels = tuple(original.codebook[target].labels) if bands is None else bands.labels
        return CertainPeople(summary, np.full(n, -1), labels, np.arange(n))


def gigabytes(entries: int) -> float:
    """Memory that a process takes for a programme of so many entries, as measured."""
    return _BASE + entries * _BYTES / 1e9


def _counted(data: Microdata) -> str:
    return "people" if data.person is None else "records"


@dataclass(frozen=True)
class _Facts:
    keys: tuple[str, ...]
    target: str
    n: int
    known: int
    learnt: str  # the target in words
    counted: str  # people, or records where people have several

    @property
    def assumption(self) -> str:
        some = f"{self.known:,} of {self.n:,} {self.counted} in the data"
        whom = "everybody in the data" if self.known == self.n else some
        return f"an intruder who knows {', '.join(self.keys)} of {whom}, and nobody's {self.target}"

    def size(self, of: Programme, left: int) -> str:
        columns, rows, entries = of.matrix.shape[1], of.matrix.shape[0], of.matrix.nnz
        time = "this may take minutes and " if left > _LONG else "this takes "
        return (
            f"{columns:,} unknowns, {rows:,} constraints, {entries:,} entries ({left:,} left once single numbers are "
            f"used): {time}about {gigabytes(entries):.1f} GB; --sample N (in Python sample=N) asks about N people "
            "only, drawn at random, in less time; --time-limit S stops after S seconds with what is proved by then; "
            "fewer outputs or banded keys take less memory"
        )

    def skipped(self, of: Programme) -> Certain:
        columns, entries = of.matrix.shape[1], of.matrix.nnz
        sentence = (
            f"Not tried here: certain claims about {self.learnt} are a programme of {columns:,} unknowns and "
            f"{entries:,} entries; `outrisk prove` takes its own time for it, and with a number of people after "
            "`outrisk prove --sample` it asks about fewer."
        )
        return self._certain("skipped", sentence, of, asked=0)

    def summary(
        self, of: Programme, claims: Claims, proofs: Sequence[ProvingSet], labels: Sequence[str], owners: int
    ) -> Certain:
        codes, counts = np.unique(claims.value[claims.value >= 0], return_counts=True)
        values = {labels[code]: int(count) for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}
        asked = int(claims.asked.sum())
        return self._certain(
            claims.state,
            self._sentence(claims, values, asked, owners),
            of,
            owners=owners,
            asked=asked,
            proved=claims.proved,
            narrowed=claims.narrowed,
            values=values,
            proofs=tuple(Proof(each.outputs, len(each.people), bool(each.smallest.all())) for each in proofs),
            sharp=claims.sharp,
        )

    def _certain(self, state: str, sentence: str, of: Programme, **more: object) -> Certain:
        return Certain(
            state=state,
            sentence=sentence,
            assumption=self.assumption,
            keys=self.keys,
            target=self.target,
            people=self.n,
            known=self.known,
            left_out=dict(of.left_out),
            counted=self.counted,
            **more,  # type: ignore[arg-type]
        )

    def _sentence(self, claims: Claims, values: dict[str, int], asked: int, owners: int) -> str:
        more = "" if claims.sharp else " There may be more: not all that the numbers say was used."
        if claims.state == "stopped early":
            more = " It was stopped early: there may be more."
        drawn = f"{asked:,} {self.counted} asked about" if asked < self.n else f"{self.n:,} {self.counted}"
        if not values:
            return f"To {self.assumption}, the outputs prove {self.learnt} of none of {drawn}.{more}"
        told = ", ".join(f"{value}: {number:,}" for value, number in values.items())
        share = f"{claims.proved:,} of {drawn} ({100 * claims.proved / asked:.1f} %)"
        share += f", which are those of {people(owners)}" if self.counted == "records" else ""
        narrowed = f" Of {claims.narrowed:,} more, some values are ruled out." if claims.narrowed else ""
        same = f"it is the same in every data set that fits ({told})"
        return f"To {self.assumption}, the outputs prove {self.learnt} of {share}: {same}.{narrowed}{more}"
