"""`outrisk report RUN --acro-copy`: the session comes back with comments and true checksums, itself untouched."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from command import outrisk, refused
from fair import frame
from sessions import acro_of, write_session

ROLES = ("--keys", "age", "--keys", "religion", "--target", "affair")


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def assessed(tmp_path_factory):
    """A session with odd names and comments, the run of its study."""
    from outrisk.cli.commands import run

    place = tmp_path_factory.mktemp("copy")
    folder = write_session(place / "session", frame())
    document = json.loads((folder / "results.json").read_text())
    document["results"]["<b>&|odd"] = document["results"].pop("one")
    (folder / "results.json").write_text(json.dumps(document))
    digest = hashlib.sha256((folder / "results.json").read_bytes()).hexdigest()
    (folder / "checksums" / "results.json.txt").write_text(digest)
    frame().to_csv(place / "fair.csv", index=False)
    study = place / "study.yaml"
    assert run(["init", "--acro", str(folder), "--data", str(place / "fair.csv"), "--out", str(study), *ROLES]) == 0
    text = study.read_text().replace("seed: 1", "seed: 1, generations: 2").replace("runs: 3", "runs: 1")
    study.write_text(text)
    assert len(yaml.safe_load(text)["outputs"]) == 5
    code = run(["assess", str(study), "--out", str(place / "run"), "--quiet", "--workers", "1"])
    assert code == 0
    return folder, place / "run"


def test_a_copy_with_comments_and_true_checksums(assessed, tmp_path, capsys):
    folder, run = assessed
    before, run_before = contents(folder), contents(run)
    code, out, err = outrisk(capsys, "report", run, "--acro-copy", tmp_path / "back", "--acro", folder)
    assert code == 0 and "5 outputs have a comment" in out, err
    assert contents(folder) == before and contents(run) == run_before
    back = tmp_path / "back"
    for name, digest in ((path.stem, path.read_text()) for path in (back / "checksums").iterdir()):
        assert hashlib.sha256((back / name).read_bytes()).hexdigest() == digest, name
    old = json.loads(before["results.json"])
    new = json.loads((back / "results.json").read_text())
    assert list(new["results"]) == [*old["results"], "outrisk-DONT_RELEASE"] and new["version"] == old["version"]
    said = 0
    for key, entry in old["results"].items():
        comments = new["results"][key].pop("comments")
        assert comments[: len(entry["comments"])] == entry.pop("comments") and new["results"][key] == entry
        added = comments[1:]
        said += len(added)
        assert all(text.startswith("OutRisk: ") and "<" not in text and "\n" not in text for text in added)
        assert not any("up to x" in text for text in added)
    assert said == 5
    entry = new["results"]["outrisk-DONT_RELEASE"]
    assert (entry["type"], entry["command"], entry["status"], entry["fair"]) == ("custom", "custom", "review", {})
    assert entry["properties"]["method"] and set(old["results"]["plot"]) | {"comments"} == set(entry)
    decision = json.loads((run / "decision.json").read_text())
    assert decision["sentence"].split(":")[0] in entry["comments"][1]
    names = {file["name"] for file in entry["files"]}
    pictures = {f"outrisk_{path.name}" for path in (run / "figures").glob("*.png")}
    assert names == {"outrisk_summary.csv", "outrisk_summary.md"} | pictures
    assert all((back / name).is_file() for name in names) and not list(back.rglob("synthetic*"))
    assert "outputs.json" not in {path.name for path in back.iterdir()}
    page = (back / "outrisk_summary.md").read_text()
    assert "<" not in page and "5" in page and "not for release" in page


def test_acro_itself_reloads_the_copy(assessed, tmp_path, capsys):
    """By acro's own load_records, where acro is installed (it needs pandas 2) or a Python that has it is named."""
    python, version = acro_of()
    if not python or version.startswith("0."):
        pytest.skip("no acro 1.x: it is not installed, and OUTRISK_ACRO_PYTHON names no Python that has it")
    folder, run = assessed
    (folder / "plot_0.png").write_bytes(b"")
    outrisk(capsys, "report", run, "--acro-copy", tmp_path / "back", "--acro", folder)
    code = (
        "import sys; from acro.record import load_records; found = load_records(sys.argv[1]).results; "
        "assert 'outrisk-DONT_RELEASE' in found; "
        "print(len(found), sum(len(each.comments) > 1 for each in found.values()))"
    )
    done = subprocess.run([python, "-c", code, str(tmp_path / "back")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["7", "6"]


def test_what_cannot_be_handed_back_is_refused(assessed, tmp_path, capsys):
    folder, run = assessed
    (tmp_path / "there").mkdir()
    assert "exists" in refused(capsys, "report", run, "--acro-copy", tmp_path / "there", "--acro", folder)
    assert "which is not touched" in refused(capsys, "report", run, "--acro-copy", folder / "x", "--acro", folder)
    assert "no such folder" in refused(capsys, "report", run, "--acro-copy", tmp_path / "x", "--acro", tmp_path / "no")
    other = write_session(tmp_path / "other", frame())
    document = json.loads((other / "results.json").read_text())
    document["results"] = {"else": document["results"]["one"]}
    (other / "results.json").write_text(json.dumps(document))
    assert "no output of the run is one of its" in refused(
        capsys, "report", run, "--acro-copy", tmp_path / "x", "--acro", other
    )
    assert not (tmp_path / "x").exists()
