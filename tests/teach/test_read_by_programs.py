"""Teaching data as R and PSPP open them, labels and all; skipped where these are not installed."""

import shutil
import subprocess

import pytest
import yaml
from cli.command import outrisk

from outrisk.codebook import codebook_from_dict
from outrisk.config import study_of

CODEBOOK = r"""
variables:
  sex: {kind: categorical, levels: {f: woman, m: "man 'quoted' \"x\""}, label: "Sex, as $told \"now\""}
  region: {kind: categorical, levels: {"1": Köln, "2": "North & South", "3": "East \\ West"}, label: Region}
  job: {kind: categorical, levels: ["01", "02", none]}
  age: {kind: integer, min: 18, max: 65, label: Age in years}
"""
COUNTS = [50, 60, 40, 70, 50, 30]
STUDY = f"""
name: lab
records: 300
codebook: lab.codebook.yaml
outputs: [{{kind: frequencies, by: [sex, region], values: {COUNTS}}}]
"""
SCRIPT = """
source("read.R")
counts <- function(x) cat(c(t(table(x$sex, x$region))), "\\n")
counts(data)
stopifnot(identical(levels(data$region), c("Köln", "North & South", "East \\\\ West")))
stopifnot(identical(levels(data$job), c("01", "02", "none")), attr(data$age, "label") == "Age in years")
stata <- as.data.frame(haven::read_dta("synthetic/lab_synthetic_1.dta"))
spss <- as.data.frame(haven::read_sav("synthetic/lab_synthetic_1.sav"))
for (each in list(stata, spss)) {
  counts(haven::as_factor(each))
  stopifnot(identical(levels(haven::as_factor(each)$sex), levels(data$sex)), all(each$age == data$age))
  stopifnot(attr(each$sex, "label") == 'Sex, as $told "now"')
}
"""
SYNTAX = """GET FILE="synthetic/lab_synthetic_1.sav".
CROSSTABS /TABLES=sex BY region.
"""


@pytest.fixture
def course(tmp_path, capsys):
    pytest.importorskip("pyreadstat")
    (tmp_path / "lab.codebook.yaml").write_text(CODEBOOK, encoding="utf-8")
    (tmp_path / "lab.yaml").write_text(STUDY, encoding="utf-8")
    command = ("teach", tmp_path / "lab.yaml", "--out", tmp_path / "course", "--dta", "--sav", "--quiet")
    assert outrisk(capsys, *command)[0] == 0
    return tmp_path / "course"


def carried_out(folder, program, script, *more):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    path = folder / "script"
    path.write_text(script, encoding="utf-8")
    done = subprocess.run([program, path, *more], cwd=folder, capture_output=True, text=True, check=False)
    if "there is no package called" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[0])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_r_reads_the_script_and_both_files(course):
    said = carried_out(course, "Rscript", SCRIPT)
    assert said.splitlines() == [" ".join(map(str, COUNTS)) + " "] * 3


def test_pspp_opens_the_spss_file_and_its_table_is_read(course):
    carried_out(course, "pspp", SYNTAX, "-o", "out.csv")
    document = {"name": "lab", "records": 300, "codebook": "lab.codebook.yaml"}
    entry = {"kind": "frequencies", "by": ["sex", "region"], "values": str(course / "out.csv")}
    study = study_of(document | {"outputs": [entry]}, course / "lab.yaml")
    (released,) = study.given(codebook_from_dict(yaml.safe_load(CODEBOOK))).values()
    assert released.values.reshape(3, 4)[:2, :3].astype(int).ravel().tolist() == COUNTS
