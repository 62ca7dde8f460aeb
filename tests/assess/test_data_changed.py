"""Values that a study changes before its outputs are computed: found, counted, and said with the verdict."""

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.api.looking import look_at_study
from outrisk.cli.commands import run

RULE = "data changed"


@pytest.fixture
def firms(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sector": rng.choice(list("abcd"), 500), "region": rng.choice(["n", "s"], 500)})
    frame["turnover"] = np.exp(rng.normal(6, 1, 500)).round().astype(int)
    frame.loc[7, "turnover"] = 5_000_000
    frame.loc[[3, 4, 9], "region"] = ["east", "east", "west"]
    frame.to_csv(tmp_path / "firms.csv", index=False)
    return tmp_path / "firms.csv"


def started(firms, **wishes):
    start = outrisk.init(pd.read_csv(firms), keys=["sector", "region"], target="turnover", **wishes)
    start.write(firms.with_name("firms.yaml"), firms, False)
    return start


def findings(firms, outputs, data):
    study = firms.with_name("s.yaml")
    study.write_text(
        f"name: s\ndata: {{path: firms.csv, {data}}}\ncodebook: firms.codebook.yaml\nkeys: [sector]\n"
        f"target: region\noutputs: {outputs}\n"
    )
    sentence, found = look_at_study(study)
    return sentence, [each.what for each in found if each.rule == RULE]


SUMS = "[{kind: magnitudes, value: turnover, by: [sector], statistics: [sum]}]"
TABLE = "[{kind: frequencies, by: [sector, region]}]"


def test_what_init_writes_is_said(firms):
    start = started(firms)
    cut = start.proposal.data_section()["derive"]["turnover"]
    top = int(start.codebook["turnover"].values[-1])
    beyond = int((pd.read_csv(firms)["turnover"] > top).sum())
    assert any(f"Numbers of 'turnover' far out are cut off at 0 and {top}" in line for line in start.told)
    data = f"derive: {{turnover: '{cut}'}}, merge: {{region: Other}}"
    sentence, (what,) = findings(firms, SUMS, data)
    assert f"turnover of {beyond} records is cut off at {top}" in what and "region" not in what
    assert "The study changes values before outputs are computed (data changed): risks may read lower" in sentence
    _, (what,) = findings(firms, TABLE, data)
    assert "region of 3 records counts as 'Other'" in what and "turnover" not in what
    assert "east" not in what
    assert findings(firms, "[{kind: frequencies, by: sector}]", data)[1] == []


def test_rounding_units_one_level_and_given_values_are_none(firms):
    started(firms)
    frame = pd.read_csv(firms)
    frame["region"] = frame["region"].replace("east", "west")  # one rare level: Other is another name of it
    frame["turnover"] = frame["turnover"].clip(upper=30_000)
    frame.to_csv(firms, index=False)
    data = "derive: {turnover: 'round(turnover / 100) * 10'}, merge: {region: Other}"
    assert findings(firms, TABLE, data)[1] == []
    assert findings(firms, SUMS, data)[1] == []
    frame.loc[3, "region"] = "east"
    frame.to_csv(firms, index=False)
    counts = pd.crosstab(frame["sector"], frame["region"].replace(["east", "west"], "Other"))
    counts.to_csv(firms.with_name("t.csv"))
    assert findings(firms, TABLE, data)[1]
    assert findings(firms, "[{kind: frequencies, by: [sector, region], values: t.csv}]", data)[1] == []


@pytest.mark.parametrize("book", ["codebook: f.codebook.yaml\n", ""])
def test_numbers_cut_off_within_the_codebook_or_without_one_are_said(firms, book):
    """Also where the codebook goes on above the cut, and where nobody lies above it by more than a step."""
    frame = pd.read_csv(firms)[["sector", "region"]].assign(region="n", pay=50, kids=np.arange(500) % 4)
    frame.loc[::2, "region"], frame.loc[::3, "pay"] = "s", 80
    frame.loc[[1, 2], "pay"], frame.loc[[5, 6, 7], "kids"] = 95, 4
    frame.to_csv(firms, index=False)
    firms.with_name("f.codebook.yaml").write_text(
        "variables:\n  sector: {kind: categorical, levels: [a, b, c, d]}\n"
        "  region: {kind: categorical, levels: [n, s]}\n"
        "  pay: {kind: integer, min: 0, max: 200}\n  kids: {kind: integer, min: 0, max: 3}\n"
    )
    study = firms.with_name("s.yaml")
    study.write_text(
        f"name: s\ndata: {{path: firms.csv, derive: {{pay: 'minimum(pay, 80)', kids: 'minimum(kids, 3)'}}}}\n{book}"
        "keys: [sector]\ntarget: region\noutputs: [{kind: frequencies, by: [pay, kids]}]\n"
    )
    (what,) = [each.what for each in look_at_study(study)[1] if each.rule == RULE]
    assert "pay of 2 records is cut off at 80 and kids of 3 records is cut off at 3" in what


def test_outputs_already_released_are_computed_from_the_changed_data_too(firms):
    started(firms)
    data = "derive: {turnover: 'round(minimum(turnover, 3000) / 10) * 10'}, merge: {region: Other}"
    findings(firms, SUMS, data)
    earlier = firms.with_name("s.yaml").rename(firms.with_name("earlier.yaml"))
    earlier.write_text(earlier.read_text().replace("name: s", "name: earlier"))
    findings(firms, "[{kind: frequencies, by: sector}]", data)
    found = look_at_study(firms.with_name("s.yaml"), released=[earlier])[1]
    assert [each.what for each in found if each.rule == RULE and "turnover of" in each.what]


def test_records_left_out_are_said_of_any_output(firms):
    started(firms, rare="drop")
    data = "derive: {turnover: 'round(minimum(turnover, 4000) / 10) * 10'}, known: [region]"
    _, (what,) = findings(firms, "[{kind: frequencies, by: sector}]", data)
    assert "region of 3 records is not in the codebook, so that they are left out: of outputs" in what


def test_page_one_warns_however_long_the_verdict_is(firms):
    started(firms)
    study = firms.with_name("firms.yaml")
    study.write_text(study.read_text().replace("runs: enough", "runs: 1"))
    folder = firms.with_name("out")
    assert run(["assess", str(study), "--out", str(folder), "--quiet"]) == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    box = page.partition("Verdict</h2>")[2].partition("</p>")[0]
    assert "Risks may read lower than they are: outputs are computed from data in which" in box
    groups = set(pd.read_csv(folder / "people.csv")["group"])
    assert all(" to " in group for group in groups if group.startswith("turnover = "))


def test_a_frame_that_init_has_changed_says_so_of_itself(firms):
    """What `outrisk.init(df).data` merges and cuts off is a finding in Python too, also of a part of it."""
    start = outrisk.init(pd.read_csv(firms), keys=["sector", "region"], target="turnover")
    table = pd.crosstab(start.data["sector"], start.data["region"])
    for data in (start.data, start.data.copy(), start.data[start.data["sector"].isin(list("abcd"))]):
        found = outrisk.check(data, [table], keys=["sector"], target="region", codebook=start.codebook).findings
        (what,) = [each for each, rule in zip(found["what"], found["rule"], strict=True) if rule == RULE]
        assert "region of 3 records counts as 'Other'" in what and "east" not in what
    kept = outrisk.init(pd.read_csv(firms), keys=["sector"], target="region", rare="keep")
    counts = pd.crosstab(kept.data["sector"], kept.data["region"])
    found = outrisk.check(kept.data, [counts], keys=["sector"], target="region", codebook=kept.codebook).findings
    assert RULE not in set(found["rule"])


def test_a_number_cut_off_under_another_name_is_said(firms):
    frame = pd.read_csv(firms)
    frame["region"] = frame["region"].replace(["east", "west"], "n")
    frame["kids"] = np.arange(500) % 6
    frame.to_csv(firms, index=False)
    firms.with_name("firms.codebook.yaml").write_text(
        "variables:\n  sector: {kind: categorical, levels: [a, b, c, d]}\n"
        "  region: {kind: categorical, levels: [n, s]}\n  few: {kind: integer, min: 0, max: 3}\n"
    )
    table = "[{kind: frequencies, by: [sector, few]}]"
    _, (what,) = findings(firms, table, "derive: {few: 'minimum(kids, 3)'}")
    most = int((frame["kids"] > 3).sum())
    assert f"few of {most} records is 'kids' cut off at 3" in what
    for text in ("kids // 2", "(kids > 2) * 1", "minimum(kids, 7) // 2"):  # another number, by its name
        assert findings(firms, table, f"derive: {{few: '{text}'}}")[1] == []
