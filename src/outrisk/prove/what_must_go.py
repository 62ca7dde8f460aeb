"""Which released numbers must go so that nobody is proved: all smallest sets of them.

Numbers about the same people (their count, mean and median) go together. Numbers that suffice to prove a record are a
proof; a set of numbers frees everybody when it holds one of each proof. Smallest such sets of the proofs found so far
are tried: one that leaves somebody proved brings a new proof, reduced number by number; one that leaves nobody proved
is an answer. Data sets that were found on the way answer many questions again without a search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.prove.budget import Budget
from outrisk.prove.few_people import MOST_NODES, FewPeople

Flags = NDArray[np.bool_]
_SEARCHES = 2_000  # in all; a clock is looked at only where a user set one
_QUICK = 300_000  # branches by which a number is seen not to be needed in a proof


@dataclass(frozen=True, eq=False)
class MustGo:
    """Answers, each a set of what numbers are about (`Statistic.about`), all of the same, smallest size.

    complete: these are all smallest sets; else it was stopped early, and no smaller set than `size` does. proofs: sets
    of statistics that each prove some record. questions: data sets asked for, searched: those
    of them that took a search.
    """

    answers: tuple[tuple[int, ...], ...]
    size: int
    complete: bool
    proofs: tuple[tuple[int, ...], ...]
    questions: int
    searched: int


@dataclass(eq=False)
class _Asked:
    """Whether numbers prove a kind of record, by search or by what was found before."""

    of: FewPeople
    budget: Budget
    most: int
    data: list[NDArray[np.int64]] = field(default_factory=list)
    has: list[Flags] = field(default_factory=list)
    questions: int = 0
    searched: int = 0

    def keep(self, data: NDArray[np.int64]) -> None:
        """A data set, with the statistics that it has."""
        self.data.append(data)
        self.has.append(self.of.has(data))

    def proves(self, active: Flags, kind: int, nodes: int = MOST_NODES) -> bool | None:
        """Whether every data set with these statistics has a record of this kind; None where so many branches do not do
        to tell. TimeoutError.
        """
        self.questions += 1
        for data, has in zip(reversed(self.data), reversed(self.has), strict=True):
            if has[active].all() and kind not in data:
                return False
        if self.searched >= self.most or self.budget.over:
            raise TimeoutError
        self.searched += 1
        allowed = np.ones(len(self.of.kinds), dtype=np.bool_)
        allowed[kind] = False
        found, ended = self.of.data_sets(active, allowed, nodes=nodes)
        if len(found):
            self.keep(found[0])
            return False
        return True if ended else None


def what_must_go(
    of: FewPeople, data: NDArray[np.int64], budget: Budget | None = None, searches: int = _SEARCHES
) -> MustGo:
    """The smallest sets without which no record of `data` (n,), that fits, is proved, by at most so many searches.

    Numbers about the same people go or stay together.
    """
    asked = _Asked(of, budget or Budget(), searches)
    asked.keep(data)
    about = np.array([statistic.about for statistic in of.statistics])
    kinds, S = np.unique(data), int(about.max()) + 1
    proofs: list[frozenset[int]] = []
    answers: list[tuple[int, ...]] = []
    size = 0
    try:
        for size in range(S + 1):
            for gone in _hitting(proofs, S, size):
                active = ~np.isin(about, gone)
                told = {kind: asked.proves(active, kind) for kind in kinds.tolist()}
                if True in told.values():
                    proofs.append(_reduced(asked, about, gone, next(kind for kind, each in told.items() if each)))
                elif None in told.values():
                    raise TimeoutError
                else:
                    answers.append(gone)
            if answers:
                break
        complete = True
    except TimeoutError:
        complete = False
    sets = tuple(tuple(sorted(proof)) for proof in proofs)
    return MustGo(tuple(sorted(answers)), size, complete, sets, asked.questions, asked.searched)


def in_words(of: FewPeople, found: MustGo) -> str:
    """What must go, in a sentence or two."""
    if not found.answers:
        return f"To leave nobody proved, numbers about {found.size} groups of people or more would have to go."
    sets = [_named(of, answer) for answer in found.answers]
    groups = "one group" if found.size == 1 else f"{found.size} groups"
    if len(sets) == 1:
        only = "nothing smaller does, and nothing else as small" if found.complete else "nothing smaller does"
        return f"To leave nobody proved, the numbers about {groups} of people must go ({only}): {sets[0]}."
    return (
        f"To leave nobody proved, the numbers about {groups} of people must go, in one of {len(sets)} ways: "
        f"{' or '.join(sets)}."
    )


def _named(of: FewPeople, answer: tuple[int, ...]) -> str:
    parts = [f"{each.output} ({each.words})" for each in of.statistics if each.about in answer]
    return ", ".join(parts)


def _hitting(proofs: list[frozenset[int]], n: int, size: int) -> Iterator[tuple[int, ...]]:
    """Sets of one size that hold a number of each proof, also of those that are added meanwhile."""

    def grow(gone: tuple[int, ...], barred: frozenset[int]) -> Iterator[tuple[int, ...]]:
        missed = next((proof for proof in proofs if not proof & set(gone)), None)
        if missed is None:
            if len(gone) == size:
                yield gone
            elif len(gone) < size:
                for more in combinations([k for k in range(n) if k not in barred and k not in gone], size - len(gone)):
                    whole = (*gone, *more)
                    if all(proof & set(whole) for proof in proofs):
                        yield tuple(sorted(whole))
            return
        if len(gone) == size:
            return
        for k in sorted(missed - barred):
            yield from grow((*gone, k), barred)
            barred = barred | {k}  # sets with it have been told

    for gone in grow((), frozenset()):
        yield tuple(sorted(gone))


def _reduced(asked: _Asked, about: NDArray[np.int64], gone: tuple[int, ...], kind: int) -> frozenset[int]:
    """A proof of a kind among active statistics, without those that are soon seen not to be needed."""
    out = set(gone)
    for k in sorted(set(about.tolist()) - out, reverse=True):
        if asked.proves(~np.isin(about, [*out, k]), kind, _QUICK):
            out.add(k)
    return frozenset(set(about.tolist()) - out)
