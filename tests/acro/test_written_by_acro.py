"""Sessions that acro itself writes become studies that agree with the data, and go back.

Run where acro is installed (the extra `acro`, which needs pandas 2), or where OUTRISK_ACRO_PYTHON names a Python that
has it. Tried with acro 1.0.2 and 0.4.12. OUTRISK_VIEWER_PYTHON: a Python with sacroviewer, which is shown our copy.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from command import outrisk
from fair import frame
from sessions import acro_of

PYTHON, _ = acro_of()
pytestmark = pytest.mark.skipif(not PYTHON, reason="acro is not installed, and OUTRISK_ACRO_PYTHON names no Python")
VIEWER = os.environ.get("OUTRISK_VIEWER_PYTHON")
SESSION = """
import sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
from acro import ACRO
df = pd.read_csv("data.csv")
session = ACRO(suppress=False)
session.crosstab(df.religion, df.affair)
session.crosstab(df.occ, df.religion, margins=True)
session.crosstab(df.occ, df.affair, values=df.educ, aggfunc="mean")
session.crosstab([df.occ, df.religion], df.affair)
session.pivot_table(df, index=["occ"], values=["educ"], aggfunc=["mean", "std"])
session.logitr("affair ~ age + C(religion)", df)
session.olsr("affair ~ age + yrs_married", data=df)
session.enable_suppression()
session.crosstab(df.occ, df.marriage)
for key in list(session.results.results):
    session.add_exception(key, "tried")
session.finalise("session", sys.argv[1])
"""


def of_acro(folder, code, *arguments):
    (folder / "script.py").write_text(code)  # acro reads the commands off the lines of the script
    done = subprocess.run([PYTHON, "script.py", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=["json", "xlsx"])
def session(request, tmp_path):
    """A folder that acro finalised in one of its two forms, the data beside it."""
    frame().to_csv(tmp_path / "data.csv", index=False)
    of_acro(tmp_path, SESSION, request.param)
    return tmp_path / "session"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_acro_writes_is_read_and_handed_back(session, tmp_path, capsys):
    before, study = contents(session), tmp_path / "study.yaml"
    roles = ("--keys", "age", "religion", "educ", "--target", "affair")
    files = ("--acro", session, "--data", tmp_path / "data.csv", "--out", study)
    code, out, err = outrisk(capsys, "init", *files, *roles)
    assert code == 0, err
    assert " 8 assessed, 0 need input" in out  # what acro adds for checkers is in results.json alone, and not covered
    code, out, _ = outrisk(capsys, "check", session)
    assert code == 0 and "occ=student, religion=3, affair=1: 1" in out
    text = study.read_text(encoding="utf-8").replace("runs: 3, folds: [1, 2]", "runs: 1, folds: [1, 2]")
    study.write_text(text.replace("seed: 1", "seed: 1, generations: 1"), encoding="utf-8")
    run = tmp_path / "run"
    code, _, err = outrisk(capsys, "assess", study, "--out", run, "--quiet", "--workers", "1")
    assert code == 0, err
    code, _, err = outrisk(capsys, "report", run, "--acro-copy", tmp_path / "back")
    if (session / "results.json").exists():
        assert code == 0, err
        was = len(json.loads((session / "results.json").read_text(encoding="utf-8"))["results"])
        reload = "import sys; from acro.record import load_records; print(len(load_records(sys.argv[1]).results))"
        assert of_acro(tmp_path, reload, "back").split()[-1] == str(was + 1)
        shown_by_viewer(tmp_path, "back", was + 1)
    else:
        assert code == 2 and "a session in a workbook cannot be annotated" in err
    assert contents(session) == before


VIEW = """
import os, sys
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "sacro.settings"
import django
django.setup()
from django.test import Client
from sacro.models import find_acro_metadata, load_from_path
path = find_acro_metadata(Path(sys.argv[1]).resolve())
outputs = load_from_path(path)
assert all(file["checksum_valid"] for entry in outputs.values() for file in entry["files"])
page = Client().get("/checker/", {"path": str(path)}, HTTP_HOST="localhost")
assert page.status_code == 200
assert all(name in page.content.decode() for name in outputs)
for name, entry in outputs.items():
    for file in entry["files"]:
        assert Client().get(file["url"], HTTP_HOST="localhost").status_code == 200, file
print(len(outputs))
"""


def shown_by_viewer(folder, copy, outputs):
    """SACRO-Viewer lists each output of a copy, finds every checksum true and opens every file."""
    if VIEWER:
        command = [VIEWER, "-c", VIEW, copy]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[-1] == str(outputs)
