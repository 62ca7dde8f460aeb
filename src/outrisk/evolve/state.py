"""The state of a search between two generations, as plain values: what a run that was cut short goes on from.

Of an object that searches, everything counts that its attributes hold, theirs too, but for what it was made from (the
problem, the settings) and what follows from the rest (its class names it in `FOLLOWS`). So a new attribute needs
nothing here, as long as it is a number, a text, an array, a candidate, its errors, or a list or an object of these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.candidate import Candidate
from outrisk.evolve.number_errors import Errors
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import GeneticSettings, LocalSearchSettings

_GIVEN = (Problem, GeneticSettings, LocalSearchSettings)


@dataclass(frozen=True, eq=False)
class State:
    """number: the generation that has ended. text: JSON, plain values by their place; arrays: those that it names."""

    number: int
    text: str
    arrays: Mapping[str, NDArray[Any]]

    @property
    def candidate(self) -> Candidate:
        """The candidate of a search that has one."""
        return Candidate(self.arrays["candidate.codes"].copy(), self.arrays["candidate.totals"].copy())


def state_of(search: object, number: int) -> State:
    """The state of an object that searches, after a generation; TypeError where an attribute is of no known kind."""
    values, arrays = dict[str, Any](), dict[str, NDArray[Any]]()
    _collect(search, "", values, arrays)
    return State(number, json.dumps(values), arrays)


def restore(search: object, state: State) -> None:
    """Give an object that was made from the same problem and settings the state that another one had."""
    _spread(search, "", json.loads(state.text), state.arrays)


def _attributes(owner: object, place: str) -> list[tuple[str, str, Any]]:
    """The attributes of an object that count, each with its place."""
    follows = getattr(owner, "FOLLOWS", ())
    found = [(name, value) for name, value in vars(owner).items() if name not in follows]
    return [(name, f"{place}{name}", value) for name, value in found if not isinstance(value, _GIVEN)]


def _collect(owner: object, place: str, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    for _, at, value in _attributes(owner, place):
        _put(at, value, values, arrays)


def _put(at: str, value: Any, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        values[at] = value
    elif isinstance(value, np.ndarray):
        values[at], arrays[at] = {"is": "array"}, value.copy()
    elif isinstance(value, Candidate):
        values[at] = {"is": "candidate", "fitness": list(value.fitness.values)}
        arrays[f"{at}.codes"], arrays[f"{at}.totals"] = value.codes.copy(), value.totals.copy()
    elif isinstance(value, Errors):
        values[at] = {"is": "errors"} | asdict(value)
    elif isinstance(value, np.random.Generator):
        values[at] = {"is": "random", "state": value.bit_generator.state}
    elif isinstance(value, list):
        values[at] = {"is": "list", "length": len(value)}
        for position, item in enumerate(value):
            _put(f"{at}.{position}", item, values, arrays)
    elif hasattr(value, "__dict__"):
        _collect(value, f"{at}.", values, arrays)
    else:
        raise TypeError(f"{at} is a {type(value).__name__}, which the state of a search cannot hold")


def _spread(owner: object, place: str, values: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, at, value in _attributes(owner, place):
        if at in values:
            setattr(owner, name, _get(at, value, values, arrays))
        else:
            _spread(value, f"{at}.", values, arrays)


def _get(at: str, made: Any, values: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value at a place; `made`: what a search that begins has there. A random generator stays the same object."""
    found = values[at]
    if not isinstance(found, dict):
        return found
    if found["is"] == "array":
        return arrays[at].copy()
    if found["is"] == "candidate":
        candidate = Candidate(arrays[f"{at}.codes"].copy(), arrays[f"{at}.totals"].copy())
        if found["fitness"]:
            candidate.fitness.values = tuple(found["fitness"])
        return candidate
    if found["is"] == "errors":
        return Errors(**{key: item for key, item in found.items() if key != "is"})
    if found["is"] == "list":
        old = [*made, *[None] * found["length"]]
        return [_get(f"{at}.{position}", old[position], values, arrays) for position in range(found["length"])]
    made.bit_generator.state = found["state"]
    return made
