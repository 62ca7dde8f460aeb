"""Variables whose values follow from those of others, as an age band does from an age: public knowledge, which a rule
says. What outputs tell of such a variable they tell of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.blocks import (
    Array,
    Block,
    Joint,
    Mask,
    Model,
    Tally,
    Term,
    joint_over,
    joints,
    level_in,
    levels_over,
)
from outrisk.problem.released import ModelPart, Part, Released, TallyPart

LARGEST = 1 << 24  # combinations of the values of variables that a table of others may be told by


@dataclass(frozen=True, eq=False)
class Determined:
    """A variable (by position) whose code is `code[level]` at each level of the joint of others, none of which is
    determined itself; shape (of.size,). -1 where a rule allows none, so that no record is there.
    """

    variable: int
    of: Joint
    code: NDArray[np.int64]


def determined(rules: Sequence[Mask], sizes: Sequence[int]) -> Sequence[Determined]:
    """The variables that rules leave one value, given others, where one rule says so or those among the same variables
    do; of two that determine each other the one with fewer values, or else the later.
    """
    return _determined(tuple(rules), tuple(sizes))


@lru_cache(maxsize=8)
def _determined(rules: tuple[Mask, ...], sizes: tuple[int, ...]) -> tuple[Determined, ...]:
    found = dict[int, Determined]()
    for variables in dict.fromkeys(rule.joint.variables for rule in rules):
        joint = joint_over(variables, sizes)
        among = [rule for rule in rules if set(rule.joint.variables) <= set(variables)]
        allowed = np.logical_and.reduce([_spread(rule, joint, sizes) for rule in among])
        allowed = allowed.reshape([sizes[j] for j in variables])
        for j in sorted(variables, key=lambda j: (sizes[j], -j)):
            of = tuple(other for other in variables if other != j)
            by_value = np.moveaxis(allowed, variables.index(j), -1).reshape(-1, sizes[j])
            if j in found or not of or sizes[j] < 2 or (by_value.sum(axis=1) > 1).any():
                continue
            code = np.where(by_value.any(axis=1), by_value.argmax(axis=1), -1)
            one = _in_terms_of_others(Determined(j, joint_over(of, sizes), code), list(found.values()), sizes)
            if one is not None and j not in one.of.variables:
                others = [_in_terms_of_others(each, [one], sizes) for each in found.values()]
                if all(other is not None and other.variable not in other.of.variables for other in others):
                    found = {other.variable: other for other in others if other is not None} | {j: one}
                    break
    return tuple(found.values())


def _spread(rule: Mask, joint: Joint, sizes: Sequence[int]) -> NDArray[np.bool_]:
    """What a rule allows at each level of a joint with its variables."""
    own = rule.joint.variables == joint.variables
    return rule.include if own else rule.include[levels_over(rule.joint, joint, sizes)]


def _in_terms_of_others(one: Determined, those: Sequence[Determined], sizes: Sequence[int]) -> Determined | None:
    """The same by variables that none of those is; None where that takes too large a table."""
    if not any(each.variable in one.of.variables for each in those):
        return one
    told = _told(one.of, those, sizes)
    if told is None:
        return None
    joint, level = told
    return Determined(one.variable, joint, np.where(level >= 0, one.code[level], -1))


def _told(joint: Joint, those: Sequence[Determined], sizes: Sequence[int]) -> tuple[Joint, NDArray[np.int64]] | None:
    """A joint of other variables in the place of those, and which level of the first each of its levels is, -1 where
    none may be; None where it is too large.
    """
    of = {each.variable: each for each in those if each.variable in joint.variables}
    if not of:
        return joint, np.arange(joint.size)
    names = [v for j in joint.variables for v in (of[j].of.variables if j in of else (j,))]
    other = joint_over(list(dict.fromkeys(names)), sizes)
    if other.size > LARGEST:
        return None
    level = np.zeros([sizes[j] for j in other.variables], np.int64)
    may_be = np.ones((1,) * level.ndim, np.bool_)
    for j, stride in zip(joint.variables, joint.strides, strict=True):
        code = of[j].code if j in of else np.arange(sizes[j])
        code = _along(code, of[j].of.variables if j in of else (j,), other.variables, sizes)
        may_be = may_be & (code >= 0)
        level += code * stride
    return other, np.where(may_be, level, -1).ravel()


def _along(
    values: NDArray[np.int64], own: Sequence[int], variables: Sequence[int], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """Values at each level of a joint of their own variables, with an axis for each of more variables."""
    table = values.reshape([sizes[j] for j in own]).transpose([own.index(j) for j in variables if j in own])
    return table.reshape([sizes[j] if j in own else 1 for j in variables])


def whole(codes: NDArray[np.uint16], those: Iterable[Determined]) -> NDArray[np.uint16]:
    """Records (n, variables) with the values of these variables that follow from the others, whatever stood there; a
    copy, where there are any. Where a rule allows none the value stays.
    """
    found = codes
    for each in those:
        found = codes.copy() if found is codes else found
        code = each.code[level_in(each.of, codes)]
        found[:, each.variable] = np.where(code >= 0, code, codes[:, each.variable])
    return found


def tied(
    released: Sequence[Released], rules: Sequence[Mask], sizes: Sequence[int]
) -> tuple[tuple[Released, ...], tuple[Mask, ...], tuple[Determined, ...]]:
    """Outputs and rules without the variables that others determine, and those; the others in their place, but where
    they are weights or tell clusters, or make tables too large.
    """
    those = list[Determined]()
    blocks = [block for output in released for block in output.blocks]
    places = [*(joint for block in blocks for joint in joints(block)), *(rule.joint for rule in rules)]
    for one in determined(rules, sizes):
        more = [*those, one]
        if not any(_needs(one.variable, block) for block in blocks) and all(_told(at, more, sizes) for at in places):
            those = more
    if not those:
        return tuple(released), tuple(rules), ()
    outputs = [replace(output, parts=tuple(_part(part, those, sizes) for part in output.parts)) for output in released]
    return tuple(outputs), tuple(_rules(rules, those, sizes)), tuple(those)


def _needs(variable: int, block: Block) -> bool:
    """Whether a block cannot do without a variable."""
    clusters = isinstance(block, Model) and block.clusters is not None and variable in block.clusters.variables
    return clusters or (block.weight is not None and block.weight.variable == variable)


def _rules(rules: Sequence[Mask], those: Sequence[Determined], sizes: Sequence[int]) -> Iterator[Mask]:
    """What rules say of the other variables; nothing where they only say what follows from these."""
    for rule in rules:
        told = _told(rule.joint, those, sizes)
        assert told is not None  # as `tied` has asked
        joint, level = told
        mask = Mask(joint, np.where(level >= 0, rule.include[level], False))
        if not mask.include.all():
            yield mask


def _part(part: Part, those: Sequence[Determined], sizes: Sequence[int]) -> Part:
    if isinstance(part, TallyPart):
        return replace(part, blocks=tuple(_tally(block, those, sizes) for block in part.blocks))
    return _model_part(part, those, sizes)


def _model_part(part: ModelPart, those: Sequence[Determined], sizes: Sequence[int]) -> ModelPart:
    again = None if part.at is None else partial(_at, part.at, those, sizes)
    return replace(part, model=_model(part.model, those, sizes), at=again)


def _at(
    part_at: Callable[[Array], ModelPart], those: Sequence[Determined], sizes: Sequence[int], coefficients: Array
) -> ModelPart:
    return _model_part(part_at(coefficients), those, sizes)


def _place(joint: Joint, those: Sequence[Determined], sizes: Sequence[int]) -> tuple[Joint, NDArray[np.int64]]:
    """A joint without those, and the level of the first at each of its levels: any where no record may be."""
    found = _told(joint, those, sizes)
    assert found is not None  # as `tied` has asked
    return found[0], np.maximum(found[1], 0)


def _masks(masks: Sequence[Mask], those: Sequence[Determined], sizes: Sequence[int]) -> tuple[Mask, ...]:
    places = [(*_place(mask.joint, those, sizes), mask.include) for mask in masks]
    return tuple(Mask(joint, include[level]) for joint, level, include in places)


def _tally(block: Tally, those: Sequence[Determined], sizes: Sequence[int]) -> Tally:
    joint, level = _place(block.place, those, sizes)
    if joint.variables == block.place.variables:
        return replace(block, masks=_masks(block.masks, those, sizes))
    cell = level.astype(np.int32) if block.cell is None else block.cell[level]
    value = None if block.value is None else block.value[level]
    return replace(block, place=joint, cell=cell, value=value, masks=_masks(block.masks, those, sizes))


def _model(model: Model, those: Sequence[Determined], sizes: Sequence[int]) -> Model:
    place, level = _place(model.place, those, sizes)
    offset, clock = model.offset, model.clock
    if offset is not None:
        joint, at = _place(offset[0], those, sizes)
        offset = joint, offset[1][at]
    if clock is not None:
        joint, at = _place(clock.joint, those, sizes)
        clock = replace(clock, joint=joint, cell=clock.cell[at])
    return replace(
        model,
        place=place,
        response=model.response[level],
        terms=_terms(model.terms, those, sizes),
        extra=_terms(model.extra, those, sizes),
        offset=offset,
        clock=clock,
        masks=_masks(model.masks, those, sizes),
    )


def _terms(terms: Sequence[Term], those: Sequence[Determined], sizes: Sequence[int]) -> tuple[Term, ...]:
    places = [(*_place(term.joint, those, sizes), term) for term in terms]
    return tuple(Term(joint, term.columns, term.rows[level]) for joint, level, term in places)
