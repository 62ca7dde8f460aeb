"""Benchmarks and the validation import what they need of the package as it is: they are not run by other tests."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORTS = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_every_script_can_be_imported():
    scripts = [path for folder in ("benchmarks", "validation") for path in sorted((ROOT / folder).glob("*.py"))]
    assert len(scripts) > 20
    path = [str(ROOT / folder) for folder in ("validation", "benchmarks", "src")]
    code = f"import sys; sys.path[:0] = {path!r}{IMPORTS}"
    done = subprocess.run(
        [sys.executable, "-c", code, *(each.stem for each in scripts)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
