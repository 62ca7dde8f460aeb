"""Which relations between variables the released numbers carry into synthetic data, and which they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from outrisk.codebook import Codebook
from outrisk.outputs import Rule
from outrisk.problem.blocks import Block, Tally, variables
from outrisk.problem.released import Released
from outrisk.records.schema import Pair, Relations


def relations(codebook: Codebook, released: Sequence[Released], rules: Sequence[Rule] = ()) -> Relations:
    """Sort all pairs of variables by what the outputs (and the rules) say of them."""
    blocks = [block for output in released for block in output.blocks]
    direct = {pair for output in released for block in output.blocks for pair in _direct(output.output.explains, block)}
    shared = {pair for block in blocks for pair in _pairs(variables(block))}
    ruled = {pair for rule in rules for pair in _pairs(rule.mask.joint.variables)}
    seen = {j for block in blocks for j in variables(block)}
    names = codebook.names
    possible = list(combinations(range(len(names)), 2))

    def named(pairs: Iterable[tuple[int, int]]) -> tuple[Pair, ...]:
        return tuple((names[i], names[j]) for i, j in pairs)

    return Relations(
        unseen=tuple(name for j, name in enumerate(names) if j not in seen),
        direct=named(pair for pair in possible if pair in direct),
        partial=named(pair for pair in possible if pair in shared - direct),
        ruled=named(pair for pair in possible if pair in ruled - shared),
        absent=named(pair for pair in possible if seen.issuperset(pair) and pair not in shared | ruled),
    )


def _pairs(found: Iterable[int]) -> Iterator[tuple[int, int]]:
    return combinations(sorted(set(found)), 2)


def _direct(explains: bool, block: Block) -> Iterator[tuple[int, int]]:
    """Pairs of variables whose relation a block's numbers are about: not those of its subset or its weight."""
    response = block.place.variables
    if isinstance(block, Tally):
        yield from _pairs(response)
        return
    response += block.clock.joint.variables if block.clock else ()
    joints = [*(term.joint for term in (*block.terms, *block.extra)), *([block.offset[0]] if block.offset else [])]
    if not explains:
        yield from _pairs((*response, *(j for joint in joints for j in joint.variables)))
        return
    for joint in joints:
        yield from _pairs((*response, *joint.variables))
