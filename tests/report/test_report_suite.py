"""The sections on the suite of measures, as the report shows them."""

import json
import re

import pandas as pd
import pytest
from run_directory import write

from outrisk.assess.suite.over_runs import COLUMNS
from outrisk.report.pages.study_page import render


def row(family, measure, fold="", **changes):
    values = {
        "original": 0.6,
        "holdout": 0.5,
        "difference": 0.1,
        "low": 0.05,
        "high": 0.15,
        "least": 0.08,
        "most": 0.12,
    }
    place = {"family": family, "level": 2, "fold": fold, "measure": measure, "runs": 8, "runs_defined": 8}
    return {**place, **values, **changes}


def rendered(directory, rows, **study):
    write(directory)
    path = directory / "study.yaml"
    path.write_text(json.dumps(json.loads(path.read_text()) | study))
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame.to_csv(directory / "over_runs.csv", index=False)
    return render(directory).read_text()


def headings(text):
    return re.findall(r"<h2>(.*?)</h2>", text)[-4:]


def test_sections_are_numbered_and_hold_their_rows(tmp_path):
    undefined = dict.fromkeys(("original", "holdout", "difference", "low", "high", "least", "most"))
    late = {**undefined, "runs_defined": 0, "reason": "timed_out", "detail": "20 s <"}
    rows = [
        row("synthpop", "DiSCO"),
        *(row("cap", "GCAP", size=size) for size in ("3", "4", "all")),
        row("privacy", "NNAA", direction="larger = riskier"),
        row("privacy", "D-MLP", **late),
        *(row("privacy", "NNAA", fold) for fold in ("1", "2")),
    ]
    text = rendered(tmp_path, rows, privacy={"sample": 1234})
    assert headings(text) == [
        "9. Disclosure measures of synthpop",
        "10. Correct attribution and classifier attacks",
        "11. Privacy metrics for synthetic data",
        "12. Provenance",
    ]
    assert '+0.100</td><td class="n">+0.050 to +0.150</td><td class="n">+0.080 to +0.120</td>' in text
    assert "+0.1000" in text
    assert "At most 1,234 records of each table" in text
    assert "<code>attacks: all</code> in the study file asks for it" in text
    assert '<th scope="row">D-MLP</th>' in text and '<td class="n">timed out</td>' in text
    assert "D-MLP: timed out after 20 s &lt; s" in text
    assert '<td class="label">all sets</td>' in text and '<td class="label">4 keys</td>' in text
    assert '<td class="label">3 keys</td>' not in text
    assert text.count("<summary>Every fold</summary>") == 1
    assert '<td class="label">half 2</td>' in text


@pytest.mark.parametrize("sample", [{"privacy": {"sample": None}}, {}])
def test_classifiers_and_no_sample(tmp_path, sample):
    text = rendered(tmp_path, [row("cap", "GCAP", size="3"), row("attacks", "svm"), row("privacy", "NNAA")], **sample)
    assert headings(text)[-3:] == [
        "9. Correct attribution and classifier attacks",
        "10. Privacy metrics for synthetic data",
        "11. Provenance",
    ]
    assert "Read each against zero_rule and uniform" in text
    assert "asks for it" not in text
    assert "All records are asked about." in text


def test_a_run_without_the_file_has_no_such_section(tmp_path):
    assert headings(render(write(tmp_path)).read_text())[-1] == "9. Provenance"
