"""What benchmarks/ablation.py switches off is there to be switched off."""

import inspect
from dataclasses import fields

from outrisk.evolve.settings import preset
from outrisk.evolve.tuning import TUNING


def test_every_switch_names_what_there_is(benchmark):
    for changes, constants, places in benchmark("ablation").SWITCHES.values():
        preset("fast", **changes)
        assert set(constants) <= {field.name for field in fields(TUNING)}
        assert all(hasattr(place, name) for place, name, _ in places)


def test_what_stands_in_takes_what_is_passed(benchmark):
    for _, _, places in benchmark("ablation").SWITCHES.values():
        for place, name, instead in places:
            was = getattr(place, name)
            if inspect.isfunction(instead) and callable(was):
                inspect.signature(instead).bind(*inspect.signature(getattr(was, "py_func", was)).parameters)
