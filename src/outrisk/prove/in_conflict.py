"""Which released numbers no data set has together, from the numbers alone, where few kinds of records are in question.

Numbers of few variables are linear constraints on how many records there are of each kind; where these cannot all be,
first of any size, then in whole numbers (a mean that no so many people have), a least set of them says which contradict
each other (see contradiction.py). What is not linear is left out, unless a table settles it (see of_full_tables.py). No
set is named which some data set has.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from outrisk.codebook import Codebook
from outrisk.errors import ProveError
from outrisk.problem.blocks import Mask
from outrisk.problem.released import ModelPart, Released
from outrisk.prove.contradiction import Contradiction, contradiction, infeasible
from outrisk.prove.of_full_tables import not_as_tables_say
from outrisk.prove.programme import Programme, programme

_COLUMNS = 20_000  # kinds of records, at most
_DENSE = 10_000  # numbers in the equations of regressions, from which whole ones take minutes, whatever they are given
_SHOWN = 3  # numbers that are named


def in_conflict(
    codebook: Codebook,
    released: Sequence[Released],
    n_records: int,
    rules: Sequence[Mask] = (),
    seconds: float = 10.0,
) -> list[dict[int, str]]:
    """Of each output, by position: the others of a set of numbers that no data set of n_records has together.

    Contradictions are looked for one after the other, without the numbers of those before, for so many seconds. What is
    not named may contradict others all the same: where variables make too many kinds of records, or a number is not
    linear in them and no table has all of its variables.
    """
    found = not_as_tables_say(codebook, released, n_records)
    position = {one.name: at for at, one in enumerate(released)}
    until = time.perf_counter() + seconds
    try:
        of = programme(codebook, released, n_records, rules=rules, most_columns=_COLUMNS)
    except ProveError:
        return found
    while (cannot_be := _infeasible(of, until)) is not None:
        one = contradiction(cannot_be, max(0.0, until - time.perf_counter()))
        if not one.irreducible or not one.numbers:
            break
        named = _named(of.released, one)
        for text, numbers in named.items():
            for output, number in numbers:
                found[position[output]][number] = _others(named, text, output)
        of = _without(of, one)
    return found


def _infeasible(of: Programme, until: float) -> Programme | None:
    """A programme that no numbers of people fit, or no whole ones: without regressions then, where these are many."""
    if infeasible(of, False, until):
        return of
    models = {one.name for one in of.released if any(isinstance(p, ModelPart) and p.model.n_score for p in one.parts)}
    dense = np.array([name in models for name in of.origin], np.bool_)
    whole = of.some(~dense) if of.matrix[np.flatnonzero(dense)].nnz > _DENSE else of
    return whole if infeasible(whole, True, until) else None


def _named(released: Sequence[Released], of: Contradiction) -> dict[str, list[tuple[str, int]]]:
    """What contradicts each other, in words, each with its output and positions as published. The equations of a
    regression rest on all of its coefficients, so that it is named as one.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for output, number, label, printed in of.numbers:
        one = next(each for each in released if each.name == output)
        model = _model(one, number)
        if model:
            found[f"the coefficients of '{output}'"] = [(output, k) for k in model]
        elif number >= 0:
            found[f"{label} = {printed} of '{output}'"] = [(output, number if one.of is None else int(one.of[number]))]
    return found


def _model(released: Released, number: int) -> range:
    """The numbers of the model that a number is of; empty for another."""
    at = 0
    for part in released.parts:
        if at <= number < at + part.n_numbers and isinstance(part, ModelPart) and part.model.n_score:
            return range(at, at + part.n_numbers)
        at += part.n_numbers
    return range(0)


def _others(named: Mapping[str, list[tuple[str, int]]], this: str, output: str) -> str:
    """What else contradicts something, that of other outputs first."""
    others = sorted((text for text in named if text != this), key=lambda text: named[text][0][0] == output)
    more = f", and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return (", ".join(others[:_SHOWN]) + more) or "the number of records"


def _without(of: Programme, found: Contradiction) -> Programme:
    """A programme without some numbers."""
    gone = {(output, number) for output, number, _, _ in found.numbers}
    return of.some(np.array([each not in gone for each in zip(of.origin, of.number.tolist(), strict=True)], np.bool_))
