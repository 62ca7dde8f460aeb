"""The wheels for an installation without a network: what they need is there, and they install."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("wheelhouse", ROOT / "install" / "wheelhouse.py")
wheelhouse = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wheelhouse)


def wheel(folder, name, version="1.0", tags="py3-none-any", needs=()):
    path = folder / f"{name}-{version}-{tags}.whl"
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {need}" for need in needs)]
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}-{version}.dist-info/METADATA", "\n".join(lines) + "\n")


def test_what_the_wheels_lack_is_found_for_each_platform_and_python(tmp_path):
    assert wheelhouse.lacking(tmp_path, "linux", "3.11", []) == ["outrisk itself"]
    needs = ("numpy>=2", "typer", "openpyxl>=3; extra == 'excel'")
    wheel(tmp_path, "outrisk", needs=needs)
    wheel(tmp_path, "numpy", "2.1", "cp311-cp311-win_amd64")
    wheel(tmp_path, "numpy", "1.9", "cp312-cp312-win_amd64")
    wheel(tmp_path, "typer", needs=("colorama; sys_platform == 'win32'", "Fine.Name; python_version < '3.12'"))
    wheel(tmp_path, "fine_name", tags="cp37-abi3-win_amd64")
    assert wheelhouse.lacking(tmp_path, "linux", "3.11", []) == []
    assert wheelhouse.lacking(tmp_path, "windows", "3.11", []) == ['typer 1.0 needs colorama; sys_platform == "win32"']
    assert wheelhouse.lacking(tmp_path, "linux", "3.12", []) == ["outrisk 1.0 needs numpy>=2"]
    assert wheelhouse.lacking(tmp_path, "linux", "3.11", ["excel"]) == [
        'outrisk 1.0 needs openpyxl>=3; extra == "excel"'
    ]


def test_the_two_commands_are_those_of_the_platform():
    linux = wheelhouse.install_text("linux", "1.0", ["3.11"], ["excel"])
    assert 'outrisk-env/bin/python -m pip install --no-index --find-links wheels "outrisk[excel]"' in linux
    windows = wheelhouse.install_text("windows", "1.0", ["3.11"], [])
    assert "py -m venv outrisk-env\r\n" in windows and "outrisk-env\\Scripts\\outrisk assess demo\\fair.yaml" in windows
    assert '"outrisk[]"' not in windows
    assert all((ROOT / "configs" / name).is_file() for name in wheelhouse.DEMO)


@pytest.mark.skipif(
    "OUTRISK_WHEELHOUSE" not in os.environ, reason="OUTRISK_WHEELHOUSE names no zip of `make wheelhouse`"
)
def test_it_installs_without_an_index_and_runs(tmp_path):
    """Two minutes: a fresh environment from the zip alone, then a study with one run a half."""
    with zipfile.ZipFile(os.environ["OUTRISK_WHEELHOUSE"]) as file:
        file.extractall(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [python, "-m", "pip", "install", "--no-index", "--find-links", tmp_path / "wheels", "outrisk[excel,spss]"]
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    subprocess.run(install, check=True, env=alone | {"PIP_CONFIG_FILE": os.devnull})
    study = tmp_path / "demo" / "fair.yaml"
    text = study.read_text(encoding="utf-8")
    study.write_text(text[: text.index("\nstudy:")] + "\nstudy: {runs: 1, folds: [1, 2]}\n", encoding="utf-8")
    run = [python.parent / "outrisk", "assess", study, "--out", tmp_path / "run", "--quiet"]
    subprocess.run(run, check=True, env=alone, cwd=tmp_path)
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
