"""Every operator of the local search earns its place: switched off, a small problem of its kind goes worse."""

import itertools
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from problems import random_data
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve import linear_map, local_search, moves, schedule, weights
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.tuning import TUNING
from outrisk.microdata import from_frame
from outrisk.outputs import Frequencies, release

SEEDS = (1, 2)


def tuned(**constants):
    """Constants in force in all modules that read them."""
    changed = replace(TUNING, **constants)
    return [patch.object(module, "TUNING", changed) for module in (linear_map, local_search, moves, schedule, weights)]


def run(problem, patches=(), **changes):
    """Generations and numbers missed, over the seeds."""
    generations = missed = 0
    for each in patches:
        each.start()
    try:
        for seed in SEEDS:
            *_, end = evolve(problem, preset("fast", **changes), np.random.default_rng(seed))
            generations += end.number
            missed += end.errors.numbers - end.errors.matched
    finally:
        for each in patches:
            each.stop()
    return generations, missed


@pytest.fixture(scope="module")
def people():
    codebook = sars_codebook()
    return from_frame(sars_like(300, 1991), codebook)


@pytest.fixture(scope="module")
def pairs(people):
    """Ten two-way tables."""
    codebook, chosen = people.codebook, list(itertools.combinations(people.codebook.names, 2))[::2][:10]
    return Problem(codebook, 300, tuple(release(Frequencies(codebook, " ".join(by), by), people) for by in chosen))


@pytest.fixture(scope="module")
def mixed(people):
    """Two regressions with standard errors, beside tables and means."""
    parts = {"release": ["coefficients", "standard_errors"], "decimals": 3}
    entries = [
        {"kind": "logit", "formula": "TENURE ~ AGE + SEX + LTILL", "event": 1, **parts},
        {"kind": "ols", "formula": "AGE ~ C(SEX) + C(LTILL)", **parts},
        *({"kind": "frequencies", "by": by} for by in (["SEX", "TENURE"], ["MSTATUS", "SEX"], ["AREAP", "LTILL"])),
        {"kind": "magnitudes", "value": "AGE", "by": ["MSTATUS"]},
    ]
    adapter = TypeAdapter(OutputEntry)
    outputs = [adapter.validate_python(entry).build(people.codebook, at)[0] for at, entry in enumerate(entries)]
    return Problem(people.codebook, 300, tuple(release(output, people) for output in outputs))


@pytest.fixture(scope="module")
def tables():
    data = random_data(np.random.default_rng(5), 2000)
    pairs = itertools.combinations(data.codebook.names, 3)
    outputs = [Frequencies(data.codebook, " ".join(by), by) for by in pairs]
    return Problem(data.codebook, 2000, tuple(release(output, data) for output in outputs))


def test_swaps_between_records_alike(tables):
    off = patch.object(moves.exchanges, "exchange", lambda *_: (0, 0))
    far = {"generations": 60, "start": "univariate"}  # as no table is met
    assert sum(run(tables, **far)) < sum(run(tables, [off], **far))


def test_penalty_weights(tables):
    assert sum(run(tables, generations=60)) < sum(run(tables, tuned(emphasis=1.0), generations=60))


def test_a_start_from_the_released_tables(pairs):
    assert sum(run(pairs, generations=60)) < sum(run(pairs, generations=60, start="uniform"))


def test_local_search_beside_batches_of_swaps(mixed):
    """Batches of swaps keep the tables as they are, and few records have partners: they alone do not arrive, where no
    closing in follows.
    """
    plain, alone = {"generations": 200, "start": "released"}, patch.object(schedule, "closes", lambda _: False)
    assert run(mixed, [alone], **plain)[1] < run(mixed, [alone, *tuned(beside=1e-9)], **plain)[1]


def test_closing_in_by_balanced_batches_of_swaps(mixed):
    """From a calibrated start, all numbers at once: so many are met by no search that makes a swap on its own."""
    assert run(mixed, generations=40)[1] < run(mixed, generations=40, start="released")[1]
