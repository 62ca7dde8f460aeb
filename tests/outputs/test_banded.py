"""Columns that are bands of a number: found in records, and said by rules that a person may state."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import outrisk
from outrisk.api.looking import look_at_study
from outrisk.cli.commands import run
from outrisk.codebook import Codebook, Variable
from outrisk.config import read_study
from outrisk.load import load_study_data, public_rules
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import read_rules
from outrisk.outputs.conditions.banded import banded_in
from outrisk.problem.determined import determined

GROUPS = ["0-15", "16-24", "25-44", "45-64", "65+"]


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 95, n)
    groups = pd.cut(age, [-1, 15, 24, 44, 64, 120], labels=GROUPS).astype(str)
    return pd.DataFrame(
        {"age": age, "group": groups, "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["0", "1"], n)}
    )


def codebook(missing=False):
    return Codebook(
        (
            Variable("age", "integer", tuple(range(110)), missing=missing),
            Variable("group", "categorical", tuple(GROUPS), missing=missing),
            Variable("sex", "categorical", ("f", "m")),
            Variable("ill", "categorical", ("0", "1")),
        )
    )


@pytest.mark.parametrize("missing", [False, True])
def test_groups_of_ages_and_rules_that_tell_them_from_ages(missing):
    frame = people()
    if missing:
        frame.loc[:9, ["age", "group"]] = np.nan
    data = from_frame(frame, codebook(missing))
    (found,) = banded_in(data)
    assert (found.name, found.of) == ("group", "age")
    assert found.rules[1] == "group == '16-24' implies age >= 16 and age < 25"
    assert len(found.rules) == 5 + 2 * missing
    rules = read_rules(data.codebook, found.rules)
    assert sum(rule.broken(data) for rule in rules) == 0
    (one,) = determined([rule.mask for rule in rules], data.codebook.sizes)
    assert data.codebook.names[one.variable] == "group"
    expected = [*np.repeat([0, 1, 2, 3, 4], [16, 9, 20, 20, 45]), *([5] if missing else [])]
    assert one.code.tolist() == expected


def test_a_limit_that_nobody_is_at_is_a_round_number():
    frame = people()
    frame = frame[~frame["age"].between(58, 66)]
    frame["group"] = np.where(frame["age"] > 60, "old", "young")
    book = Codebook((codebook()["age"], Variable("group", "categorical", ("young", "old"))))
    (found,) = banded_in(from_frame(frame, book))
    assert found.rules == ("group == 'young' implies age < 60", "group == 'old' implies age >= 60")


def shifted(frame):
    return frame.assign(group=frame["group"].where(frame.index != frame["age"].idxmax(), "0-15"))


@pytest.mark.parametrize(
    "changed",
    [
        shifted,  # one record in another group
        lambda frame: frame.assign(group=np.where(frame["age"] % 2, "0-15", "16-24")),  # no band
        lambda frame: frame.assign(group=np.where(frame["age"] == frame["age"].max(), "65+", "0-15")),  # one old person
        lambda frame: frame.assign(group="65+"),
    ],
)  # fmt: skip
def test_what_is_no_band(changed):
    assert list(banded_in(from_frame(changed(people()), codebook()))) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_rules_hold_in_the_records_they_come_from(seed):
    rng = np.random.default_rng(seed)
    steps = sorted(set(rng.integers(1, 40, rng.integers(1, 6)).tolist()))
    number = Variable("the number", "numeric", tuple(float(each) for each in np.arange(40) * rng.choice([0.5, 1, 5])))
    band = Variable("band", "integer", tuple(range(len(steps) + 1)))
    codes = rng.integers(0, 40, int(rng.integers(5, 200)))
    data = Microdata(
        Codebook((number, band)), np.column_stack([codes, np.searchsorted(steps, codes, "right")]).astype(np.uint16)
    )
    for found in banded_in(data):
        rules = read_rules(data.codebook, found.rules)
        assert sum(rule.broken(data) for rule in rules) == 0 and found.of == "the number"
        (one,) = determined([rule.mask for rule in rules], data.codebook.sizes)
        assert (one.code[codes] == data.codes[:, 1]).all()


def test_init_says_so_and_a_study_without_is_told(tmp_path, capsys):
    people().to_csv(tmp_path / "d.csv", index=False)
    study, told = tmp_path / "d.yaml", ["--keys", "age", "sex", "--target", "ill", "--table", "group,ill"]
    assert run(["init", str(tmp_path / "d.csv"), *told]) == 0
    assert "In all records 'group' is the band of 'age'" in capsys.readouterr().out
    read = read_study(study)
    data = load_study_data(read).original
    (one,) = determined([rule.mask for rule in public_rules(read, data)], data.codebook.sizes)
    assert data.codebook.names[one.variable] == "group"
    assert run(["check", str(study)]) == 0
    assert "band of" not in capsys.readouterr().out
    content = yaml.safe_load(study.read_text())
    rules = content.pop("rules")
    study.write_text(yaml.safe_dump(content | {"study": {"runs": 2, "folds": [2]}, "privacy": {"metrics": []}}))
    assert run(["check", str(study)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(not tied) In all records 'group' is the band of 'age', and no rule of the study says so" in said
    assert all(rule in said for rule in rules)
    assert run(["assess", str(study), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert "Risks may read lower than they are: in all records" in (tmp_path / "out" / "decision.md").read_text()


def test_a_band_that_no_output_uses_is_no_matter():
    frame = people()
    found = outrisk.check(frame, [{"kind": "frequencies", "by": ["sex", "ill"]}], keys=["age"], target="ill").findings
    assert "not tied" not in set(found["rule"])
    found = outrisk.check(frame, [{"kind": "frequencies", "by": ["group", "ill"]}], keys=["age"], target="ill").findings
    assert "not tied" in set(found["rule"])


@pytest.mark.parametrize(
    ("levels", "tied"),
    [(["20s", "30s", "40s", "50s"], True), (["50s", "20s", "30s", "40s"], True), (["20s", "50s", "40s", "30s"], False)],
)
def test_a_group_that_nobody_is_in(levels, tied):
    """It lies beside or between others where these are in order; else a person says of which ages it is."""
    rng = np.random.default_rng(1)
    age = rng.integers(20, 50, 200)
    book = Codebook((Variable("age", "integer", tuple(range(20, 60))), Variable("group", "categorical", tuple(levels))))
    (found,) = banded_in(from_frame(pd.DataFrame({"age": age, "group": [f"{each // 10}0s" for each in age]}), book))
    rules = [rule.mask for rule in read_rules(book, found.rules)]
    assert found.rest == (() if tied else ("50s",))
    assert len(determined(rules, book.sizes)) == tied
    if not tied:
        more = ["group == '40s' implies age >= 40 and age < 50", "group == '50s' implies age >= 50"]
        rules = [rule.mask for rule in read_rules(book, [*found.rules[:-1], *more])]
    (one,) = determined(rules, book.sizes)
    assert [levels[code] for code in one.code[:30]] == [f"{each // 10}0s" for each in range(20, 50)]


def test_a_whole_number_that_is_the_first_age_of_its_group():
    rng = np.random.default_rng(1)
    age = rng.integers(20, 50, 200)
    book = Codebook(
        (Variable("age", "integer", tuple(range(20, 50))), Variable("group", "integer", tuple(range(20, 41))))
    )
    (found,) = banded_in(from_frame(pd.DataFrame({"age": age, "group": age // 10 * 10}), book))
    (one,) = determined([rule.mask for rule in read_rules(book, found.rules)], book.sizes)
    assert (one.code[np.arange(30)] == np.arange(30) // 10 * 10).all()


AREAS = {"a1": "north", "a2": "north", "b1": "south", "b2": "south", "b3": "south", "c1": "west"}


def of_areas(n=400, seed=0, levels=tuple(AREAS), missing=False):
    """People of areas with their regions, and the codebook of both."""
    rng = np.random.default_rng(seed)
    area = pd.Series(rng.choice(list(AREAS), n))
    frame = pd.DataFrame({"area": area, "region": area.map(AREAS), "ill": rng.choice(["no", "yes"], n)})
    if missing:
        frame.loc[rng.random(n) < 0.1, ["area", "region"]] = None
    regions = Variable("region", "categorical", ("north", "south", "west"), missing)
    return frame, Codebook(
        (Variable("area", "categorical", levels, missing), regions, Variable("ill", "categorical", ("no", "yes")))
    )


@pytest.mark.parametrize("missing", [False, True])
def test_a_region_follows_from_its_areas(missing):
    frame, book = of_areas(missing=missing)
    data = from_frame(frame, book)
    (found,) = banded_in(data)
    assert (found.name, found.of, found.band, found.rest) == ("region", "area", False, ())
    assert found.rules[0] == "region == 'north' implies area in ['a1', 'a2']"
    rules = read_rules(book, found.rules)
    assert not any(rule.broken(data) for rule in rules)
    (one,) = determined([rule.mask for rule in rules], book.sizes)
    assert (one.code[data.codes[:, 0]] == data.codes[:, 1]).all()


def test_an_area_that_nobody_is_in_is_left_to_a_person():
    frame, book = of_areas(levels=(*AREAS, "d1"))
    (found,) = banded_in(from_frame(frame, book))
    assert found.left == "say likewise of which 'region' d1 are"


def test_a_code_follows_from_its_label_once():
    frame, book = of_areas()
    frame["code"] = frame["region"].map({"north": 3, "south": 1, "west": 2})
    book = Codebook((*book.variables, Variable("code", "integer", (1, 2, 3))))
    data = from_frame(frame, book)
    found = list(banded_in(data))
    assert {(each.name, each.of) for each in found} == {("region", "area"), ("code", "area")}
    rules = [rule.mask for each in found for rule in read_rules(book, each.rules)]
    assert {book.names[each.variable] for each in determined(rules, book.sizes)} == {"region", "code"}


def test_a_study_that_says_so_is_told_no_more(tmp_path):
    """Of two that follow from each other the one is named that rules then determine."""
    frame, _ = of_areas()
    frame = frame.assign(code=frame["region"].map({"north": 3, "south": 1, "west": 2})).drop(columns="area")
    table = [{"kind": "frequencies", "by": ["region", "ill"]}]
    (told,) = outrisk.check(frame, table, keys=["code"], target="ill").findings.to_dict("records")
    assert "'code' follows from 'region'" in told["what"]
    content = {"name": "x", "data": {"path": "x.csv"}, "outputs": table, "keys": ["code"], "target": "ill"}
    content["rules"] = yaml.safe_load(told["advice"].partition("rules: ")[2].removesuffix("."))
    frame.to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(content))
    assert look_at_study(tmp_path / "x.yaml")[1] == []


@pytest.mark.parametrize("n", [25, 400])
def test_what_follows_by_chance_is_not_taken_for_it(n):
    """Few people of each area, nearly all of one region: nothing that everybody must know."""
    rng = np.random.default_rng(3)
    area = np.arange(n) // 2
    frame = pd.DataFrame({"area": area, "region": np.where(area == 3, "south", "north")})
    levels = Variable("region", "categorical", ("north", "south"))
    assert list(banded_in(from_frame(frame, Codebook((Variable("area", "integer", tuple(range(n))), levels))))) == []
    frame, book = of_areas(n)
    frame["region"] = rng.choice(["north", "south", "west"], n)
    assert list(banded_in(from_frame(frame, book))) == []


def test_people_with_several_records_are_counted_once():
    frame, book = of_areas(12)
    data = from_frame(frame, book)
    rows = np.repeat(np.arange(12), 40)
    assert list(banded_in(data.take(rows)))
    assert list(banded_in(replace(data.take(rows), person=rows, together=rows))) == []


def test_what_is_asked_about_counts_beside_outputs():
    """A table by area tells of a region that is a key; one by neither tells of none."""
    frame, _ = of_areas(400)
    for by, keys, expected in [
        (["area", "ill"], ["region"], True),
        (["region", "ill"], ["area"], True),
        (["area", "ill"], ["area"], False),
        (["ill"], ["area", "region"], False),
    ]:
        found = outrisk.check(frame, [{"kind": "frequencies", "by": by}], keys=keys, target="ill").findings
        assert ("not tied" in set(found["rule"])) == expected, (by, keys)


@pytest.mark.parametrize("kind", ["magnitudes", "ols", "quantiles"])
def test_a_number_that_follows_from_a_category_is_summed_as_ever(kind):
    """Years of school beside the school: told by the school, and reproduced."""
    rng = np.random.default_rng(2)
    school = rng.choice(["none", "first", "second", "high"], 240, p=[0.1, 0.3, 0.4, 0.2])
    years = {"none": 0, "first": 8, "second": 10, "high": 16}
    frame = pd.DataFrame(
        {"school": school, "years": [years[each] for each in school], "age": rng.integers(20, 60, 240)}
    )
    frame = frame.assign(ill=rng.integers(0, 2, 240))
    output = {
        "magnitudes": {"kind": "magnitudes", "value": "years", "by": ["ill"], "statistics": ["mean", "sd"]},
        "ols": {"kind": "ols", "formula": "years ~ age + C(ill)", "release": ["coefficients", "standard_errors"]},
        "quantiles": {"kind": "quantiles", "value": "years", "by": ["ill"]},
    }[kind]
    rules = [f"years == {number} implies school in ['{name}']" for name, number in years.items()]
    table = {"kind": "frequencies", "by": ["school", "ill"]}
    given = {"keys": ["age"], "target": "ill", "rules": rules, "runs": 1, "folds": [1], "privacy": False}
    found = outrisk.assess(frame, [table, output], run_time_limit=20, quiet=True, **given)
    (run,) = found._run.results
    assert all(refit.near.all() for refit in run.refits)
    synthetic = run.synthetic.frame()
    assert (synthetic["school"].map(years).astype(int) == synthetic["years"]).all()
