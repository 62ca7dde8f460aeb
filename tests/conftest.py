"""Fixtures that several test folders share."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

# A change is judged by the same examples each time; runs without the reference data required look for new ones.
settings.register_profile("judged", derandomize=True)
if os.environ.get("OUTRISK_REQUIRE_SHARED"):
    settings.load_profile("judged")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference data beside the checkout; absent, its tests are skipped, or fail where it is required."""
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        message = f"../shared is missing: no folder {folder}"
        if os.environ.get("OUTRISK_REQUIRE_SHARED") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture
def benchmark(monkeypatch):
    """Imports a benchmark by its name, for one test: it is in no package, and may have the name of a folder here."""
    folder = Path(__file__).resolve().parents[1] / "benchmarks"
    monkeypatch.syspath_prepend(folder)
    for path in folder.glob("*.py"):
        monkeypatch.setitem(sys.modules, path.stem, None)  # to be as it was afterwards
        del sys.modules[path.stem]
    return import_module
