"""What benchmarks/ablation.py switches off is there to be switched off."""

from dataclasses import fields

from outrisk.evolve.settings import preset
from outrisk.evolve.tuning import TUNING


def test_every_switch_names_what_there_is(benchmark):
    for changes, constants, places in benchmark("ablation").SWITCHES.values():
        preset("fast", **changes)
        assert set(constants) <= {field.name for field in fields(TUNING)}
        assert all(hasattr(place, name) for place, name, _ in places)
