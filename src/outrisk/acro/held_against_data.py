"""Proposals for a session's outputs held against data: what is open is tried until the numbers agree, or said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from outrisk.acro.proposed import Proposed
from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutRiskError
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, released_as_given
from outrisk.outputs.base import Entry, Subset, release
from outrisk.problem.refit import Refit
from outrisk.problem.released import Released, agrees
from outrisk.readers.values import resolve

_MOST_CANDIDATES = 60
_FEWER_DIGITS = (5, 4, 3, 2, 1, 0)


@dataclass(frozen=True)
class Held:
    """Entries beside data: numbers, and how many of them agree; why they could not be compared."""

    numbers: int = 0
    agree: int = 0
    failure: str = ""

    @property
    def whole(self) -> bool:
        """Whether every number agrees."""
        return not self.failure and self.numbers == self.agree > 0


@dataclass(frozen=True, eq=False)
class Verifier:
    """Data that proposals are held against.

    `public` is what the study will compute with; `exact` the same records with every value as it is. `folder`: where
    the study stands, which paths start from.
    """

    public: Microdata
    exact: Microdata
    folder: Path

    def hold(self, entries: Sequence[Mapping[str, Any]], exact: bool = False) -> Held:
        """Entries beside the data."""
        data, refits = self.exact if exact else self.public, list[Refit]()
        try:
            for entry in entries:
                for each in self._resolved(entry, data.codebook):
                    built = each.build(data.codebook, 1)
                    refits += [given.recompute(data) for given in released_as_given(built, each.values, self.folder)]
        except (OutRiskError, KeyError, ValidationError) as error:
            return Held(failure=" ".join(str(error).split()).removeprefix("[outputs 1.values] "))
        failure = next((refit.failure for refit in refits if refit.failure), "")
        numbers = sum(len(refit.matched) for refit in refits)
        return Held(numbers, sum(int(refit.matched.sum()) for refit in refits), failure)

    def _resolved(self, entry: Mapping[str, Any], codebook: Codebook) -> list[Entry]:
        model = REGISTRY[str(entry["kind"])].model_validate(dict(entry))
        return resolve(model, codebook, 1, self.folder)

    def verified(self, proposed: Proposed) -> Proposed:
        """A proposal with what makes its numbers agree; else what a person has to say, with the agreement reached."""
        if proposed.state == "not covered" or not proposed.entries:
            return proposed
        first = self.hold(proposed.entries)
        if first.whole:
            return _agreed(proposed, proposed.entries, first)
        for entries in self._candidates(proposed):
            found = self.hold(entries)
            if found.whole:
                where = entries[0].get("where", "")
                taken = [f"where: {where} (found by trying: every number agrees)"] if where else []
                return _agreed(proposed, entries, found, taken)
        return self._on_the_grid(proposed) or self._open(proposed, first)

    def _candidates(self, proposed: Proposed) -> Iterator[Sequence[Mapping[str, Any]]]:
        """Other models that it may be, and subsets of as many records as it says it rests on."""
        yield from ([other] for other in proposed.others)
        if any("where" in entry for entry in proposed.entries):
            return
        whole = len(self.public)
        n = proposed.n if proposed.n is not None else self._counted(proposed.entries)
        if n is None or n == whole:
            return
        tried = 0
        for where, number in self._subsets:
            if number == n and tried < _MOST_CANDIDATES:
                tried += 1
                for base in (proposed.entries, *([other] for other in proposed.others)):
                    yield [{**entry, "where": where} for entry in base]

    def _counted(self, entries: Sequence[Mapping[str, Any]]) -> int | None:
        """Records of a table of counts, by its own numbers."""
        if entries[0].get("kind") != "frequencies" or "protection" in entries[0] or "show" in entries[0]:
            return None
        try:
            model = REGISTRY["frequencies"].model_validate(dict(entries[0]))
            (first, *_) = resolve(model, self.public.codebook, 1, self.folder)
        except OutRiskError:
            return None
        cells = {label: value for label, value in first.values.items() if "=Total" not in label}
        return int(sum(cells.values())) if all(isinstance(each, float) for each in cells.values()) else None

    @cached_property
    def _subsets(self) -> list[tuple[str, int]]:
        """Subsets by one variable, each with its number of records; one of the same records is listed once."""
        frame, found = self.public.frame(), dict[bytes, tuple[str, int]]()
        for where in _conditions(self.public.codebook):
            try:
                kept = Subset(self.public.codebook, where, "subset").select(frame).index.to_numpy()
            except OutRiskError:
                continue
            mask = np.zeros(len(frame), dtype=np.bool_)
            mask[kept] = True
            found.setdefault(np.packbits(mask).tobytes(), (where, len(kept)))
        return list(found.values())

    def _on_the_grid(self, proposed: Proposed) -> Proposed | None:
        """Entries whose numbers agree with the records as they are, but not with values rounded to the codebook's grid:
        computed by the study, where that tells the same numbers; else with as many digits as agree, or as they are.
        """
        for entries in self._as_they_are(proposed):
            agree = self.hold(entries, exact=True)
            if agree.whole:
                return self._computed(proposed, entries, agree) or self._with_fewer_digits(proposed, entries, agree)
        return None

    def _as_they_are(self, proposed: Proposed) -> Iterator[Sequence[Mapping[str, Any]]]:
        """The entries, and of subsets of as many records as they say they rest on."""
        yield proposed.entries
        if not any("where" in entry for entry in proposed.entries):
            for where, number in self._subsets:
                if number == proposed.n:
                    yield [{**entry, "where": where} for entry in proposed.entries]

    def _computed(self, proposed: Proposed, entries: Sequence[Mapping[str, Any]], agree: Held) -> Proposed | None:
        """Entries without values, if what they publish of the rounded records are the numbers that the session has."""
        found, furthest = list[Mapping[str, Any]](), 0.0
        try:
            for entry in entries:
                for each in self._resolved(entry, self.public.codebook):
                    built = each.build(self.public.codebook, 1)
                    for own, given in zip(built, released_as_given(built, each.values, self.folder), strict=True):
                        ours = release(own, self.public)
                        told = ours.known & (ours.low == ours.high) & _single(given)
                        if not (np.array_equal(told, ours.known) and np.array_equal(told, given.known)):
                            return None
                        furthest = max(furthest, np.abs(given.distance(np.where(told, ours.low, 0.0))).max(initial=0.0))
                    plain = each.model_dump(mode="json", exclude_defaults=True, exclude={"values"})
                    found.append({"kind": each.kind, **plain})
        except (OutRiskError, KeyError, ValidationError):
            return None
        note = (
            "computed by the study, from values on the codebook's grid: the session's numbers agree with the data as "
            f"they are, and lie within {furthest:.2g} of these"
        )
        return _agreed(proposed, found, agree, [note])

    def _with_fewer_digits(self, proposed: Proposed, entries: Sequence[Mapping[str, Any]], agree: Held) -> Proposed:
        """Entries with as many digits as agree with the rounded records; as they are where there are none."""
        for digits in _FEWER_DIGITS:
            fewer = [
                {**entry, "decimals": digits} if entry["kind"] not in ("mode", "survival") else dict(entry)
                for entry in entries
            ]
            held = self.hold(fewer)
            if held.whole:
                note = (
                    f"taken at {digits} decimals: to more, the numbers agree with the data as they are, and not "
                    "with values rounded to the codebook's grid"
                )
                return _agreed(proposed, fewer, held, [note])
        note = "differs where the codebook's grid rounds a value; every number agrees without"
        return _agreed(proposed, entries, agree, [note])

    def _open(self, proposed: Proposed, held: Held) -> Proposed:
        """What a person has to say where nothing that was tried agrees."""
        if held.failure:
            blanks = [*proposed.blanks, f"??? {held.failure}"]
        else:
            n = f" (it rests on {proposed.n:,} records, the data have {len(self.public):,})" if proposed.n else ""
            blanks = [
                *proposed.blanks,
                f"??? where: {held.agree:,} of {held.numbers:,} numbers agree with the data as they are{n}; say on "
                "which records it was computed, or which variables were derived",
            ]
        return replace(proposed, state="needs input", blanks=tuple(dict.fromkeys(blanks)))


def _single(released: Released) -> NDArray[np.bool_]:
    """Which numbers (k,) are known to their last digit or the one before: a log-likelihood is printed as it fits."""
    between = np.where(released.known, released.high, 0.0) - np.where(released.known, released.low, 0.0)
    return released.known & agrees(between * 0.499999, released.decimals - (released.decimals > 0))


def _agreed(
    proposed: Proposed, entries: Sequence[Mapping[str, Any]], held: Held, notes: Sequence[str] = ()
) -> Proposed:
    taken = [
        f"{note.removeprefix('??? ')} - settled by the data" for note in proposed.blanks if "statistic" not in note
    ]
    return replace(
        proposed,
        state="assessed",
        entries=tuple(entries),
        blanks=tuple(note for note in proposed.blanks if "statistic" in note),
        notes=(*proposed.notes, *taken, *notes),
        agreement=f"{held.agree:,} of {held.numbers:,} numbers agree with the data",
    )


def _conditions(codebook: Codebook) -> Iterator[str]:
    """Subsets by one variable: without a level, of one level, above and below a value."""
    for variable in codebook.variables:
        if len(variable.values) > 400:
            continue
        name = variable.name if variable.name.isidentifier() else f"`{variable.name}`"
        texts = [format_value(value) if variable.numeric else repr(value) for value in variable.values]
        for text in texts:
            yield f"{name} != {text}"
            yield f"{name} == {text}"
        for text in texts[1:] if variable.numeric else ():
            yield f"{name} >= {text}"
            yield f"{name} < {text}"
