"""The problem an evolution solves: a codebook, a number of records, and released numbers. It holds no records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import EvolveError
from outrisk.evolve.compiled.layout import Codes, Plan
from outrisk.evolve.compiled.plan import build_plan, kinds_of
from outrisk.evolve.compiled.sums import information_of, totals_of
from outrisk.problem.blocks import Array, Mask, Tally
from outrisk.problem.counts import counts_alone, made_of_counts
from outrisk.problem.determined import Determined, tied, whole
from outrisk.problem.influence import ModelRecords, records_of_model, records_of_tally
from outrisk.problem.released import ROUNDING, ModelPart, Part, Released, TallyPart
from outrisk.problem.sampling import sampling_errors

LARGE = 10_000  # people beyond which what is tried again and again takes long
SAFE = 0.999  # share of half a last digit within which a model's number counts as matched: its totals are linearised


@dataclass(frozen=True, eq=False)
class Problem:
    """Codebook, number of records, released outputs, and rules: combinations of values that no record may have.

    kinds_a_record: how many kinds of records there may be for each record in a model that still gets a table of them.
    determined: variables that stand in no output, as others tell them (see `tied`); `untied`: the problem before that.
    told: what follows from several outputs together, none of it published, that a search holds to besides.
    """

    codebook: Codebook
    n_records: int
    released: tuple[Released, ...]
    rules: tuple[Mask, ...] = ()
    kinds_a_record: int = 12
    determined: tuple[Determined, ...] = ()
    untied: Problem | None = None
    told: tuple[Released, ...] = ()

    def __post_init__(self) -> None:
        if self.n_records < 1:
            raise EvolveError(f"{self.n_records} records; at least one is needed")
        if not self.released:
            raise EvolveError("no released output; an evolution needs at least one")
        if not self.known.any():
            names = ", ".join(f"'{output.name}'" for output in self.released[:3])
            raise EvolveError(f"every released number ({names}) is withheld or undefined; release one that is known")

    @cached_property
    def parts(self) -> list[Part]:
        """The parts of all outputs, in order."""
        return [part for output in self.released for part in output.parts]

    @property
    def searched(self) -> Problem:
        """The same problem as local searches take it (see `Released.searched`)."""
        return self._searched or self

    @cached_property
    def _searched(self) -> Problem | None:
        """None: itself, which would keep it for ever."""
        found = (*(each for output in self.released for each in (output.searched, *output.implied)), *self.told)
        return None if found == self.released else replace(self, released=found, told=())

    @property
    def tied(self) -> Problem:
        """The same problem as a search takes it: what outputs say of variables that rules tell from others they say of
        these, which alone change. A start draws the former, too, as tables have them.
        """
        return self._tied or self

    @cached_property
    def _tied(self) -> Problem | None:
        if self.untied is not None or not self.rules:
            return None
        outputs, rules, determined = tied((*self.released, *self.told), self.rules, self.codebook.sizes)
        if not determined:
            return None
        released, told = outputs[: len(self.released)], outputs[len(self.released) :]
        return replace(self, released=released, rules=rules, determined=determined, untied=self, told=told)

    @property
    def large(self) -> bool:
        """Whether records are so many that little is tried again and again."""
        return self.n_records > LARGE

    @property
    def free(self) -> Problem:
        """The same problem as a start takes it, with those variables as variables of their own."""
        return self.untied or self

    def whole(self, codes: Codes) -> Codes:
        """Records (n, variables) with the values of the determined variables that follow from the others."""
        return whole(codes, self.tied.determined)

    @cached_property
    def counts(self) -> Problem | None:
        """The same problem with the counts of tables alone; None where there are none, or nothing else."""
        found = [counts_alone(output) for output in self.released]
        chosen = [output for output in found if output is not None and output.known.any()]
        return replace(self, released=tuple(chosen)) if chosen and self.sums else None

    @cached_property
    def sums(self) -> bool:
        """Whether there is more than counts: regressions and other models, sums or quantiles of values."""
        return any(isinstance(part, ModelPart) or not made_of_counts(part) for part in self.parts)

    @cached_property
    def rates(self) -> bool:
        """Whether a number is a sum of values, or a count, per a sum of values."""
        for part in self.parts:
            if isinstance(part, TallyPart):
                valued = np.repeat([b.value is not None for b in part.blocks], [b.size for b in part.blocks])
                if any(valued[each.base].any() for each in part.formulas):
                    return True
        return False

    @cached_property
    def bends(self) -> bool:
        """Whether numbers change with squares of totals, as standard errors by clusters do with their scores: steps to
        first order must be short.
        """
        return any(isinstance(part, ModelPart) and part.model.clusters is not None for part in self.parts)

    @cached_property
    def plan(self) -> Plan:
        """The flat form of all blocks."""
        blocks = [(block, part.n_numbers) for part in self.parts for block in part.blocks]
        return build_plan(
            self.codebook,
            [block for block, _ in blocks],
            [k for _, k in blocks],
            self.rules,
            self.kinds_a_record * self.n_records,
        )

    @cached_property
    def kinds(self) -> list[ModelRecords | None]:
        """Of each model, a record of each kind that it tells apart; None where these are too many for a table."""
        blocks = [
            (part.model, kinds_of(self.plan, self.plan.blocks[at]))
            for part, _, _, at in self.slices
            if isinstance(part, ModelPart)
        ]
        return [None if records is None else records_of_model(model, records) for model, records in blocks]

    @cached_property
    def slices(self) -> list[tuple[Part, slice, slice, int]]:
        """Of each part: its totals, its numbers, and the position of its first block."""
        found, total, number, block = [], 0, 0, 0
        for part in self.parts:
            size = sum(one.size for one in part.blocks)
            found.append((part, slice(total, total + size), slice(number, number + part.n_numbers), block))
            total, number, block = total + size, number + part.n_numbers, block + len(part.blocks)
        return found

    @cached_property
    def tallies(self) -> list[tuple[Tally, slice]]:
        """Each tally, and where its totals are."""
        blocks = [block for part in self.parts for block in part.blocks]
        ends = np.cumsum([block.size for block in blocks]).tolist()
        return [
            (block, slice(end - block.size, end))
            for block, end in zip(blocks, ends, strict=True)
            if isinstance(block, Tally)
        ]

    @cached_property
    def low(self) -> Array:
        """Where all published numbers lie, from; (total k,)."""
        return np.concatenate([output.low for output in self.released])

    @cached_property
    def high(self) -> Array:
        """Where all published numbers lie, to; (total k,)."""
        return np.concatenate([output.high for output in self.released])

    @cached_property
    def tolerance(self) -> Array:
        """When a number counts as met: half a last printed digit (see `Released.is_matched`), of models a hair less, so
        that a refit agrees; of tallies as they are, for these are exact; (total k,).
        """
        half = np.concatenate([output.tolerance for output in self.released])
        safe = [np.full(part.n_numbers, ROUNDING if isinstance(part, TallyPart) else SAFE) for part in self.parts]
        return np.asarray(half * np.concatenate(safe))

    @cached_property
    def importance(self) -> Array:
        """What the share of every published number in the fitness is multiplied by; (total k,)."""
        return np.concatenate([np.full(len(output.low), output.importance) for output in self.released])

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Numbers of which something was released (see Released.known)."""
        return np.concatenate([output.known for output in self.released])

    def totals(self, codes: Codes) -> Array:
        """All totals of a data set, exactly; shape (m,)."""
        return np.asarray(totals_of(self.plan, codes))

    def added(self, codes: Codes, some: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """What records (n, variables) add to some of the totals of tallies (m,), item by item: which record adds, to
        which total, and what.
        """
        record, total, value = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for block, where in self.tallies:
            if some[where].any():
                seen = records_of_tally(block, codes)
                used = np.flatnonzero(seen.cell >= 0)
                used = used[some[where][seen.cell[used]]]
                record.append(used)
                total.append(where.start + seen.cell[used])
                value.append(seen.value[used])
        return np.concatenate(record), np.concatenate(total), np.concatenate(value)

    def sampling_errors(self, codes: Codes) -> Array:
        """Of all numbers (total k,), from records that reproduce them; NaN where there is none."""
        return np.concatenate([sampling_errors(output, codes) for output in self.released])

    def informations(self, codes: Codes) -> tuple[Array, ...]:
        """Information of each part's model on a data set; (0, 0) where there is none, or it is among the totals."""
        return tuple(
            information_of(self.plan, self.plan.blocks[block], codes)
            if isinstance(part, ModelPart) and part.model.apart
            else np.zeros((0, 0))
            for part, _, _, block in self.slices
        )
