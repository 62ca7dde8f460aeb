"""What benchmarks/ablation.py switches off is there to be switched off."""

import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from outrisk.evolve.settings import preset
from outrisk.evolve.tuning import TUNING


def test_every_switch_names_what_there_is(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    monkeypatch.delitem(sys.modules, "ablation", raising=False)
    for changes, constants, places in import_module("ablation").SWITCHES.values():
        preset("fast", **changes)
        assert set(constants) <= {field.name for field in fields(TUNING)}
        assert all(hasattr(place, name) for place, name, _ in places)
