"""Small problems: annealing finds the one solution, and works out every number as the outputs themselves do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry, read_study
from outrisk.evolve.compiled.annealing import number_of
from outrisk.evolve.compiled.sums import totals_of
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.small import Exact
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import release

CACM = Path(__file__).parents[2] / "configs" / "cacm.yaml"
SEVEN = {  # Garfinkel, Abowd and Martindale 2019: the people behind their table
    (8, "F", "B", "S"), (18, "M", "W", "S"), (24, "F", "W", "S"), (30, "M", "W", "M"), (36, "F", "B", "M"),
    (66, "F", "B", "M"), (84, "M", "B", "M"),
}  # fmt: skip
PAGE = [
    {"kind": "frequencies", "by": ["sex", "work"]},
    {"kind": "frequencies", "by": ["area"], "show": "proportions", "decimals": 1},
    {"kind": "magnitudes", "value": "age", "by": ["sex"], "statistics": ["count", "mean", "sd"], "decimals": 1},
    {"kind": "quantiles", "value": "age", "by": ["area"], "quantiles": [0.25, 0.5], "where": "work == '1'"},
    {"kind": "mode", "variable": "age", "by": ["sex"]},
]
CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 60)), missing=True),
        Variable("sex", "categorical", ("f", "m")),
        Variable("work", "categorical", ("0", "1")),
        Variable("area", "categorical", ("a", "b", "c")),
    )
)
REGRESSION = {
    "kind": "ols", "formula": "age ~ C(sex) + C(work)", "release": ["coefficients", "standard_errors"], "decimals": 2,
}  # fmt: skip


def published() -> Problem:
    study = read_study(CACM)
    codebook = study.codebook()
    assert codebook is not None and study.file.records == 7
    rules = tuple(rule.mask for rule in study.rules(codebook))
    return Problem(codebook, 7, tuple(study.released(codebook)), rules)


def people(n: int, seed: int, missing: float = 0.0) -> Microdata:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "work": rng.choice(["0", "1"], n),
            "area": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
        }
    )
    frame["age"] = frame["age"].where(rng.random(n) >= missing)
    return from_frame(frame, CODEBOOK)


def page(data: Microdata, entries: list[dict[str, object]]) -> Problem:
    adapter: TypeAdapter[OutputEntry] = TypeAdapter(OutputEntry)
    outputs = [one for at, entry in enumerate(entries, 1) for one in adapter.validate_python(entry).build(CODEBOOK, at)]
    return Problem(CODEBOOK, len(data), tuple(release(output, data) for output in outputs))


def test_seven_people_are_found_from_their_page_of_statistics() -> None:
    problem = published()
    for seed in range(10):
        *_, last = evolve(problem, preset("fast"), np.random.default_rng(seed))
        data = Microdata(problem.codebook, last.codes)
        assert last.stop == "matched"
        assert set(data.frame().itertuples(index=False, name=None)) == SEVEN
        assert all(released.recompute(data).matched.all() for released in problem.released)


def test_twenty_people_with_a_page_of_statistics() -> None:
    problem = page(people(20, 1), PAGE)
    ends = [list(evolve(problem, preset("fast"), np.random.default_rng(seed)))[-1] for seed in range(1, 6)]
    assert min(last.errors.matched for last in ends) >= 16  # of 19
    matched = [last for last in ends if last.stop == "matched"]
    assert matched
    data = Microdata(CODEBOOK, matched[0].codes)
    assert all(released.recompute(data).matched.all() for released in problem.released)


@pytest.mark.parametrize("seed", range(8))
def test_formulas_give_the_numbers_that_pandas_finds(seed: int) -> None:
    problem = page(people(12, seed, missing=0.1), PAGE)
    exact = Exact(problem)
    codes = people(12, seed + 100, missing=0.2).codes
    totals = totals_of(exact.plan, codes)
    refits = np.concatenate([released.recompute(Microdata(CODEBOOK, codes)).numbers for released in problem.released])
    found = [number_of.py_func(exact.recipes, at, totals) for at in range(len(exact.numbered))]
    np.testing.assert_allclose(found, refits[exact.numbered], atol=1e-9)


def test_the_cost_of_a_chain_is_that_of_its_records() -> None:
    problem = page(people(12, 3), [*PAGE, REGRESSION])
    *_, last = evolve(problem, preset("fast", generations=1), np.random.default_rng(2))
    data = Microdata(CODEBOOK, last.codes)
    matched = sum(int(released.recompute(data).matched.sum()) for released in problem.released)
    assert last.errors.matched == matched
    np.testing.assert_allclose(last.best.totals, problem.totals(last.best.codes), atol=1e-9)


def test_the_same_seed_gives_the_same_people() -> None:
    problem = page(people(10, 4), [*PAGE, REGRESSION])
    one, other = (
        [generation.codes for generation in evolve(problem, preset("fast", generations=2), np.random.default_rng(5))]
        for _ in range(2)
    )
    assert len(one) == len(other)
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


def test_annealing_is_left_out_where_it_is_switched_off() -> None:
    problem = page(people(12, 6), PAGE)
    annealed, searched = (
        next(iter(evolve(problem, preset("fast", anneal=anneal), np.random.default_rng(1)))).fitness
        for anneal in (12, 11)
    )
    assert set(annealed) != set(searched)
