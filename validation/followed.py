"""Whom the release is found to follow: people who are planted beside all two-way tables, and others."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from cases import planted

from outrisk.assess.following import Question, follow
from outrisk.evolve.settings import preset
from outrisk.outputs import Frequencies

_NAMES = ("area", "group", "sex", "age", "ill")


def nobody(rng: np.random.Generator, n: int) -> planted.Case:
    """Nobody is planted."""
    return planted.ordinary(), planted.data(planted.people(rng, n)), "", "", 0


CASES = {case.__name__: case for case in (nobody, planted.three_alike, planted.difference, planted.ten_ones)}


def of_draw(case: str, seed: int, people: int) -> dict[str, Any]:
    """How many people are followed, of those tried and of those planted."""
    released, records, _, _, number = CASES[case](np.random.default_rng(seed), people)
    own = released[len(planted.ordinary()) :]
    ordinary = [Frequencies(planted.BOOK, " x ".join(by), by) for by in combinations(_NAMES, 2)]
    asked = Question(records, (*ordinary, *own), _NAMES[:-1], _NAMES[-1], preset("fast"), seed=seed)
    answer = follow(asked)
    return {"tried": answer.tried, "followed": answer.followed, "planted": number}


def row(case: str, draws: list[dict[str, Any]]) -> str:
    """A row of the table."""
    found = sum(draw["followed"] > 0 for draw in draws)
    whole = sum(draw["followed"] >= draw["planted"] > 0 for draw in draws)
    followed, tried = (sum(draw[name] for draw in draws) for name in ("followed", "tried"))
    words = (CASES[case].__doc__ or "").rstrip(".")
    return f"| {words} | {found} of {len(draws)} | {whole} of {len(draws)} | {followed:,} of {tried:,} |"
