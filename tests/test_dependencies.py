"""What is imported is declared, what is declared is imported, and the lock file fits both."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "pydantic-core": "pydantic_core",
}  # where the module is not called as its package
EXTRAS = {"parquet", "spss", "excel", "dask"}


def needed(requirements):
    """Package and least version of each requirement."""
    return dict(re.fullmatch(r"([\w.-]+)>=([\d.]+)", each).groups() for each in requirements)


def imported(folder):
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"outrisk"}


def test_imports_and_dependencies_are_the_same():
    declared = set(needed(PROJECT["dependencies"]))
    for extra in EXTRAS:
        declared |= set(needed(PROJECT["optional-dependencies"][extra]))
    assert imported(ROOT / "src") == {MODULES.get(name, name) for name in declared}


def test_the_lock_file_fits():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    locked = dict(line.lower().replace("_", "-").split("==") for line in lines if line and not line.startswith("#"))
    declared = needed(PROJECT["dependencies"])
    for name, extra in PROJECT["optional-dependencies"].items():
        declared |= needed(extra) if name != "acro" else {}  # which has no version for the pandas of the lock
    for name, least in declared.items():
        version = locked[name.lower()]
        ours, theirs = ([int(part) for part in re.findall(r"\d+", text)][:3] for text in (version, least))
        assert ours >= theirs, f"{name} {version}"


def test_without_pyarrow_only_parquet_is_refused(tmp_path):
    """In a process that has no pyarrow: CSV is measured as ever, Parquet is refused in one line."""
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'pyarrow': raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == 'pyarrow' else find(name, package)
from pathlib import Path
from outrisk.cli.commands import run
Path('o.csv').write_text('a,b\\n' + '1,x\\n2,y\\n' * 30)
Path('o.parquet').write_bytes(b'')
measured = ['measure', '--synthetic', 'o.csv', '--keys', 'a', '--target', 'b', '--original']
print(run([*measured, 'o.csv']), run([*measured, 'o.parquet']), 'pyarrow' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "0 2 False", done.stderr
    assert "outrisk: o.parquet: Parquet needs pyarrow; install it" in done.stderr
