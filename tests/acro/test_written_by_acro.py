"""A folder that acro itself writes becomes a study that agrees with the data, and goes back (OUTRISK_ACRO_PYTHON)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from command import outrisk
from fair import frame

PYTHON = os.environ.get("OUTRISK_ACRO_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="OUTRISK_ACRO_PYTHON names no Python with acro 1.0.2")
SESSION = """
import warnings
warnings.simplefilter("ignore")
import pandas as pd
from acro import ACRO
df = pd.read_csv("data.csv")
session = ACRO(suppress=False)
session.crosstab(df.religion, df.affair)
session.crosstab(df.occ, df.religion, margins=True)
session.crosstab(df.occ, df.affair, values=df.educ, aggfunc="mean")
session.logitr("affair ~ age + C(religion)", df)
session.olsr("affair ~ age + yrs_married", data=df)
session.enable_suppression()
session.crosstab(df.occ, df.marriage)
for key in list(session.results.results):
    session.add_exception(key, "tried")
session.finalise("session", "json")
"""


def of_acro(folder, code, *arguments):
    (folder / "script.py").write_text(code)  # acro reads the commands off the lines of the script
    done = subprocess.run([PYTHON, "script.py", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_acro_writes_is_read_and_handed_back(tmp_path, capsys):
    frame().to_csv(tmp_path / "data.csv", index=False)
    of_acro(tmp_path, SESSION)
    before = {path.name: path.read_bytes() for path in (tmp_path / "session").rglob("*") if path.is_file()}
    study = tmp_path / "study.yaml"
    roles = ("--keys", "age", "religion", "educ", "--target", "affair")
    files = ("--acro", tmp_path / "session", "--data", tmp_path / "data.csv", "--out", study)
    code, out, err = outrisk(capsys, "init", *files, *roles)
    assert code == 0, err
    assert "8 outputs: 6 assessed, 0 need input, 2 not covered" in out
    code, out, _ = outrisk(capsys, "check", tmp_path / "session")
    assert code == 0
    text = study.read_text(encoding="utf-8").replace("runs: 3, folds: [1, 2]", "runs: 1, folds: [1, 2]")
    study.write_text(text.replace("seed: 1", "seed: 1, generations: 2"), encoding="utf-8")
    run = tmp_path / "run"
    code, _, err = outrisk(capsys, "assess", study, "--out", run, "--quiet", "--workers", "1")
    assert code == 0, err
    assert outrisk(capsys, "report", run, "--acro-copy", tmp_path / "back")[0] == 0
    reload = "import sys; from acro.record import load_records; print(len(load_records(sys.argv[1]).results))"
    assert of_acro(tmp_path, reload, "back").split()[-1] == "9"
    after = {path.name: path.read_bytes() for path in (tmp_path / "session").rglob("*") if path.is_file()}
    assert after == before
