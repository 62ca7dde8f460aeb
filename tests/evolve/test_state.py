"""The state of a search: another one goes on from it as this one would have gone on, through every phase."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems import random_data
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.evolve.local_search import _Search
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.state import State, restore, state_of
from outrisk.outputs import release


def problem(n=400):
    data = random_data(np.random.default_rng(2), n)
    errors = {"release": ["coefficients", "standard_errors"], "decimals": 6}
    entries = [
        {"kind": "logit", "formula": "ill ~ age + C(area) + income", "event": 1, **errors},
        {"kind": "frequencies", "by": ["area", "ill", "job"]},
        {"kind": "magnitudes", "value": "income", "by": ["area"]},
    ]
    adapter = TypeAdapter(OutputEntry)
    outputs = [adapter.validate_python(entry).build(data.codebook, at)[0] for at, entry in enumerate(entries)]
    return Problem(data.codebook, n, tuple(release(output, data) for output in outputs))


def facts(generation):
    return generation.number, generation.errors, generation.stop, generation.fitness, generation.codes.tobytes()


SETTINGS = {
    "fast": preset("fast", generations=90, patience=0, tighten=0.08, start="released"),
    "apart": preset("fast", generations=30, patience=0, tighten=0.0, start="released"),
    "closing": preset("fast", generations=40, patience=0),
    "paper": preset("paper", generations=24, population=6, crowding=12),
}


PHASES = {
    "fast": {"approach", "counts", "together", "closing"},
    "apart": {"approach", "apart"},
    "closing": {"closing"},
    "paper": {""},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_another_search_goes_on_as_this_one_would_have(name):
    settings, phases = SETTINGS[name], set()
    whole, states = [], []
    for generation in evolve(problem(), settings, np.random.default_rng(5)):
        whole.append(facts(generation))
        states.append(generation.state())
        phases.add(states[-1].text.partition('"schedule.phase": "')[2].partition('"')[0])
    assert phases == PHASES[name]
    for after in range(0, len(states) - 1, 5 if name == "paper" else 7):
        again = State(after, states[after].text, {at: array.copy() for at, array in states[after].arrays.items()})
        going = evolve(problem(), settings, np.random.default_rng(99), 2, again)  # the state has its own draws
        assert [facts(generation) for generation in going] == whole[after + 1 :], after


def test_everything_that_changes_is_in_the_state():
    """After it is restored, an object that searches is alike in every attribute; what follows is made again."""
    fresh = _Search(problem(), SETTINGS["fast"], np.random.default_rng(1), None)
    old = _Search(problem(), SETTINGS["fast"], np.random.default_rng(2), None)
    for generation in old.run(0):
        if generation.number == 40:
            break
    restore(fresh, state_of(old, 40))
    assert state_of(fresh, 40).text == state_of(old, 40).text
    one, other = state_of(fresh, 40).arrays, state_of(old, 40).arrays
    assert one.keys() == other.keys() and all(np.array_equal(one[at], other[at]) for at in one)


def test_what_a_state_cannot_hold_is_said():
    with pytest.raises(TypeError, match="odd is a set"):
        state_of(SimpleNamespace(odd={1}), 0)
