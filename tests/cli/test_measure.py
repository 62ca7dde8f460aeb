import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command import outrisk, records, refused

from outrisk.cli.spread import spread
from outrisk.risk import attack, cap, disclosure, multi_disclosure, privacy_metrics


@pytest.fixture
def files(tmp_path):
    """Original, two syntheses and a holdout as CSV files."""
    found = {}
    for seed, name in enumerate(("original", "synthetic", "second", "holdout"), start=1):
        found[name] = tmp_path / f"{name}.csv"
        records(seed=seed).to_csv(found[name], index=False)
    return found


def arguments(files, *more, keys=("age", "area"), target="ill", synthetic=("synthetic",)):
    return [
        *["measure", "--original", files["original"], "--synthetic", *(files[name] for name in synthetic)],
        *["--keys", *keys, "--target", target, *more],
    ]


def test_several_values_stand_after_one_option():
    repeatable = {"--keys", "--synthetic"}
    assert spread(["--keys", "a", "b", "--target", "t"], repeatable) == ["--keys", "a", "--keys", "b", "--target", "t"]
    assert spread(["--keys=a", "b"], repeatable) == ["--keys=a", "--keys", "b"]
    assert spread(["--keys", "a", "--keys", "b"], repeatable) == ["--keys", "a", "--keys", "b"]
    assert spread(["--target", "t", "stray"], repeatable) == ["--target", "t", "stray"]


def test_measure_writes_what_the_python_interface_finds(files, tmp_path, capsys):
    out = tmp_path / "out.json"
    code, said, err = outrisk(
        capsys, *arguments(files, "--holdout", files["holdout"], "--targets", "sex", "--json", out)
    )
    assert (code, err) == (0, "")
    found = json.loads(out.read_text())
    parts = {section["name"]: section for section in found["sections"]}
    assert {"disclosure", "checks", "targets"} <= set(parts)
    frames = [records(seed=seed) for seed in (1, 2, 4)]
    expected = disclosure(frames[0], frames[1], frames[2], keys=["age", "area"], target="ill")
    against, identity, attribute, cap = parts["disclosure"]["tables"]
    for table, frame in ((identity, expected.identity), (attribute, expected.attribute), (cap, expected.cap)):
        assert table["columns"] == list(frame.columns)
        assert len(table["rows"]) == 1
        row = [math.nan if value is None else value for value in table["rows"][0]]
        assert row == pytest.approx(frame.iloc[0].tolist(), nan_ok=True)
    at = against["columns"].index("difference")
    marginal = [math.nan if row[at] is None else row[at] for row in against["rows"]]
    assert marginal == pytest.approx(list(expected.marginal["marginal"]), nan_ok=True)
    several = multi_disclosure(frames[0], frames[1], frames[2], keys=["age", "area"], targets=["ill", "sex"])
    table = parts["targets"]["tables"][0]
    assert [row[0] for row in table["rows"]] == list(several.table["target"])
    assert found["records"] == {"original": 160, "synthetic": [160], "holdout": 160}
    assert {entry["what"] for entry in found["inputs"]} == {"original", "synthetic", "holdout"}
    for name in ("repU", "DiSCO", "DCAP", "Original against holdout"):
        assert name in said


def test_measure_writes_a_self_contained_report(files, tmp_path, capsys):
    page = tmp_path / "out.html"
    command = arguments(
        files, "--holdout", files["holdout"], "--targets", "sex", "--html", page, synthetic=("synthetic", "second")
    )
    assert outrisk(capsys, *command)[0] == 0
    text = page.read_text()
    assert text.count("<svg ") == 2
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "means over the synthetic tables" in text
    assert str(tmp_path) not in text
    assert ">None<" not in text and ">nan<" not in text
    again = tmp_path / "again.html"
    assert outrisk(capsys, *[again if each == page else each for each in command])[0] == 0
    assert again.read_text() == text


def test_a_codebook_makes_text_and_numbers_one(files, tmp_path, capsys):
    records(seed=1).assign(age=lambda f: "g" + f["age"].astype(str)).to_csv(files["original"], index=False)
    assert "'age' holds text in original and numbers in synthetic" in refused(capsys, *arguments(files))
    (tmp_path / "cb.yaml").write_text("variables: {age: {kind: categorical, levels: [g0, '0']}}\n")
    assert outrisk(capsys, *arguments(files, "--codebook", tmp_path / "cb.yaml"))[0] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keys": ("age", "wage")}, "original: no column 'wage'; known"),
        ({"target": "wage"}, "original: no column 'wage'; known"),
        ({"target": "age"}, "target 'age' is among the keys"),
        ({"keys": ("age", "age")}, "repeated; name each key once"),
        ({"more": ["--targets", "ill"]}, "name each target once"),
        ({"more": ["--targets", "area"]}, "target 'area' is among the keys"),
        ({"more": ["--holdout", "none.csv"]}, "none.csv: no such file"),
        ({"more": ["--json", "nowhere/out.json"]}, "nowhere: no such directory"),
        ({"more": ["--key-sizes", "3"]}, "key sizes [3]: give each size once, from 1 to the number of keys, 2"),
        ({"more": ["--key-sizes", "two"]}, "Invalid value for '--key-sizes'"),
        ({"more": ["--metrics", "DCR"]}, "--metrics is about the privacy metrics; give --privacy too"),
        ({"more": ["--privacy", "--metrics", "CDR"]}, "no metric 'CDR'; known: ['ZCAP', 'GCAP',"),
        (
            {"more": ["--attacks-encoding", "ordinal"]},
            "--attacks-encoding is about the classifiers; give --attacks too",
        ),
        ({"more": ["--privacy", "--sample", "1"]}, "Invalid value for '--sample'"),
        ({"more": ["--colour"]}, "--colour"),
    ],
)
def test_bad_input_is_told_in_one_line(files, capsys, change, message):
    assert message in refused(capsys, *arguments(files, *change.pop("more", []), **change))


def test_an_input_is_not_overwritten(files, capsys):
    before = files["original"].read_bytes()
    assert "is an input" in refused(capsys, *arguments(files, "--json", files["original"]))
    assert files["original"].read_bytes() == before


def test_key_sizes_and_attacks_are_the_python_interface_too(files, tmp_path, capsys):
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    more = [
        "--holdout",
        files["holdout"],
        "--key-sizes",
        "1",
        "2",
        "--attacks",
        "--attacks-encoding",
        "ordinal",
        "--json",
        out,
        "--html",
        page,
    ]
    code, _, err = outrisk(capsys, *arguments(files, *more, synthetic=("synthetic", "second")))
    assert (code, err) == (0, "")
    parts = {section["name"]: section["tables"] for section in json.loads(out.read_text())["sections"]}
    original, *several, held = (records(seed=seed) for seed in (1, 2, 3, 4))
    expected = [
        cap(original, each, held, keys=["age", "area"], target="ill", key_sizes=[1, 2]).marginal for each in several
    ]
    for table, size in zip(parts["cap"], ("all", "1", "2"), strict=True):
        values = pd.concat([frame[frame["size"] == size] for frame in expected]).rename(
            columns={"marginal": "difference"}
        )
        check_each_and_mean(table, values, "measure")
    guesses = [
        attack(original, each, held, keys=["age", "area"], target="ill", encoding="ordinal").frame for each in several
    ]
    renamed = [frame.rename(columns={"accuracy_original": "original"}) for frame in guesses]
    check_each_and_mean(parts["attacks"][0], pd.concat(renamed), "classifier")
    assert page.read_text().count("<svg ") == 3


def test_every_file_is_read_as_it_is_said_to_be_written(files, tmp_path, capsys):
    plain = tmp_path / "plain.json"
    held = ["--holdout", files["holdout"]]
    frames = {
        path: pd.read_csv(path).assign(town="Köln", weight=lambda table: table["age"] + 0.5) for path in files.values()
    }
    for path, frame in frames.items():
        frame.to_csv(path, index=False)
    assert outrisk(capsys, *arguments(files, *held, "--json", plain))[0] == 0
    for path, frame in frames.items():
        frame.to_csv(path, index=False, sep="|", decimal=",", encoding="utf-16")
    said = tmp_path / "said.json"
    more = [*held, "--sep", "|", "--decimal", ",", "--encoding", "utf-16", "--json", said]
    assert outrisk(capsys, *arguments(files, *more))[::2] == (0, "")  # nothing found out, so no note
    one, other = (json.loads(path.read_text())["sections"] for path in (plain, said))
    assert one == other
    assert "'age'" in refused(capsys, *arguments(files, "--sep", ";"))
    frames[files["original"]].to_stata(tmp_path / "original.dta", write_index=False)
    mixed = files | {"original": tmp_path / "original.dta"}
    assert outrisk(capsys, *arguments(mixed, *more, "--json", said))[0] == 0  # said of those that are CSV
    assert json.loads(said.read_text())["sections"] == one
    none = dict.fromkeys(files, tmp_path / "original.dta")
    assert "leave them out for Stata" in refused(capsys, *arguments(none, "--sep", ";"))


def test_privacy_metrics_are_the_python_interface_too(files, tmp_path, capsys):
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    metrics = ["NNAA", "CRP", "GCAP", "MIR"]
    more = ["--privacy", "--metrics", *map(str.lower, metrics), "--sample", "50", "--json", out, "--html", page]
    code, said, err = outrisk(capsys, *arguments(files, *more, "--holdout", files["holdout"]))
    assert (code, err) == (0, "")
    section = next(part for part in json.loads(out.read_text())["sections"] if part["name"] == "privacy")
    frames = [records(seed=seed) for seed in (1, 2, 4)]
    expected = privacy_metrics(*frames, keys=["age", "area"], target="ill", metrics=metrics, sample=50)
    table = section["tables"][0]
    assert [row[0] for row in table["rows"]] == ["NNAA", "CRP", "GCAP_review", "MIR"]
    for column, theirs in (("original", "value"), ("holdout", "holdout"), ("low", "difference_low")):
        at = table["columns"].index(column)
        assert [row[at] for row in table["rows"]] == pytest.approx(list(expected[theirs]))
    assert any("asked about a sample: 50 of 160 original" in note for note in section["notes"])
    assert "Privacy metrics for synthetic data" in said and page.read_text().count("<svg ") == 2


def test_privacy_metrics_without_a_holdout_stand_beside_the_worst_case(files, tmp_path, capsys):
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    more = ["--privacy", "--metrics", "CRP", "MIA", "DCR", "--time-limit", "0", "--json", out, "--html", page]
    assert outrisk(capsys, *arguments(files, *more))[0] == 0
    section = next(part for part in json.loads(out.read_text())["sections"] if part["name"] == "privacy")
    table = section["tables"][0]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert rows[0]["worst_case"] > 0.5 and rows[0]["reason"] == ""
    assert [(row["original"], row["reason"]) for row in rows[1:]] == [
        (None, "needs a holdout"),
        (None, "timed out after 0 s"),
    ]
    assert "DCR: timed out after 0 s" in section["notes"]
    assert page.read_text().count("<svg ") == 1


def check_each_and_mean(table, values, by):
    """The table has the values of each synthetic table, then their means."""
    means = values.groupby(by, sort=False)[["original", "difference"]].mean()
    for column in ("original", "difference"):
        at = table["columns"].index(column)
        found = [math.nan if row[at] is None else row[at] for row in table["rows"]]
        assert found == pytest.approx([*values[column], *means[column]], nan_ok=True)


def test_help_of_measure_loads_nothing_heavy():
    program = (
        "import sys\nfrom outrisk.cli.commands import run\nrun(['measure', '--help'])\n"
        "print(sorted({'numpy', 'pandas', 'sklearn', 'rich.table'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


@pytest.fixture
def copied(tmp_path):
    """300 of 1,000 records copied; records of five columns, one of them fine."""
    rng = np.random.default_rng(0)

    def people(n):
        return pd.DataFrame(
            {
                "age": rng.integers(20, 80, n),
                "sex": rng.choice(list("mf"), n),
                "region": rng.choice(list("nswe"), n),
                "income": rng.choice(["low", "mid", "high"], n),
                "weight": np.round(rng.normal(50, 10, n), 2),
            }
        )

    original, holdout = people(1_000), people(1_000)
    for name, frame in (("o", original), ("h", holdout), ("s", pd.concat([original.iloc[:300], people(700)]))):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return [*("--original", tmp_path / "o.csv", "--synthetic", tmp_path / "s.csv", "--target", "income")]


def test_it_begins_with_a_sentence_on_exact_copies(copied, tmp_path, capsys):
    keys = ["--keys", "age", "sex", "region", "weight"]
    with_holdout = [*copied, "--holdout", tmp_path / "h.csv", *keys]
    files = ["--html", tmp_path / "m.html", "--json", tmp_path / "m.json"]
    code, out, _ = outrisk(capsys, "measure", *with_holdout, *files)
    assert code == 0
    copies = "300 of 1,000 people are in the synthetic file as they are, in all 5 columns that the files share"
    first = f"{copies}; of 1,000 "
    words = " ".join(out.split())
    assert words.startswith(first + "people who were never used, 0.")
    assert "(DiSCO), and of " in words and "more than chance explains." in words
    assert "alone in the" in words and "jackknife" not in words
    assert "undefined" not in next(line for line in out.splitlines() if line.startswith("UiO "))  # it has no baseline
    assert "check_2way" not in words
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert page.index("In short") < page.index(first) < page.index("Provenance")
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert document["in_short"][0].startswith(first)
    closer = outrisk(capsys, "measure", *with_holdout, "--details")[1]
    assert "jackknife" in closer and "check_2way" in closer
    alone = " ".join(outrisk(capsys, "measure", *copied, *keys)[1].split())
    assert alone.startswith(f"{copies}.")
    assert "without a holdout nothing says how much of that is known" in alone


def test_numeric_keys_are_grouped_where_asked(copied, tmp_path, capsys):
    keys = [*copied, "--keys", "sex", "weight"]
    assert "--ngroups-keys" in outrisk(capsys, "measure", *keys)[1]
    assert "--ngroups-keys" in outrisk(capsys, "measure", "--help")[1]
    assert "--ngroups-keys" not in outrisk(capsys, "measure", *keys, "--ngroups-keys", "10")[1]
    assert "--ngroups-keys" in refused(capsys, "measure", *keys, "--ngroups-keys", "0")
