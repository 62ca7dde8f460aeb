"""Every ready-made study, cut short: it runs, its numbers side by side subtract, and none is a negative nothing."""

import json
import math
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from outrisk.cli.commands import run

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
STUDIES = [path.name for path in sorted(CONFIGS.glob("*.yaml")) if "keys:" in path.read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Run directory of a study by its file's name, with one run a fold and few generations."""
    folder = tmp_path_factory.mktemp("configs")
    shutil.copytree(CONFIGS, folder, dirs_exist_ok=True)
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_a_ready_made_study(name, short, request):
    document = yaml.safe_load((short / name).read_text())
    for section in ("data", "holdout"):
        place = (document.get(section) or {}).get("path", "")
        if "shared" in place:
            request.getfixturevalue("shared")  # it skips, or fails where it is required
            document[section]["path"] = str((CONFIGS / place).resolve())
    halves = max(2, max(document["study"]["folds"])) if "holdout" not in document else 1
    document["study"] = {"runs": 1, "folds": [halves]}
    document["evolve"] = {**(document.get("evolve") or {}), "generations": 2}
    document["privacy"] = {"metrics": ["DCR"], "sample": 100}
    (short / name).write_text(yaml.safe_dump(document, sort_keys=False))
    place = short / f"run of {name}"
    assert run(["assess", str(short / name), "--out", str(place), "--quiet", "--trust"]) == 0
    rows = pd.concat([pd.read_csv(place / file) for file in ("measures.csv", "over_runs.csv")])
    gap = (rows["original"] - rows["holdout"] - rows["difference"]).dropna()
    assert len(gap) > 10 and gap.abs().max() < 1e-9
    risk = json.loads((place / "risk.json").read_text())
    assert risk["outright"]
    for part in [*risk["folds"], *risk["levels"]]:
        values = {(each["measure"], each["keys"], each["side"]): each["value"] for each in part["estimates"]}
        for (measure, keys, side), value in values.items():
            if side == "marginal" and value is not None:
                own, other = (values[measure, keys, each] for each in ("original", "holdout"))
                assert math.isclose(own - other, value, abs_tol=1e-9), (measure, keys)
    for page in (place / "report.html", place / "details.html", place / "decision.md"):
        text = re.sub(r"<svg.*?</svg>", "", page.read_text(encoding="utf-8"), flags=re.S)
        assert re.findall(r"(?<![\d.eE])[-\N{MINUS SIGN}]0(?:\.0+)?(?![\d.eE])", text) == [], page.name
