"""Whose records are whose: read from a file, guessed where nothing is said, and refused where it cannot be."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import yaml

import outrisk
from outrisk.assess.contributions.worth import Place, worth_of
from outrisk.assess.folds import make_folds, swapped
from outrisk.assess.look import Appetite, look
from outrisk.assess.look.of_few_values import VALUES_OF_FEW
from outrisk.codebook import Codebook, Variable
from outrisk.config import read_study
from outrisk.errors import ConfigError, DataError
from outrisk.load import load_study_data
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Histogram, Magnitudes, Quantiles, Regression, Survival
from outrisk.risk.attribution.over_key_sets import marginal, score
from outrisk.risk.by_person.crossed import Pairing, contrasts
from outrisk.risk.coding.classes import code_microdata
from outrisk.risk.coding.with_numbers import from_coding
from outrisk.risk.intervals.closed import RunningMeans, interval, sample
from outrisk.risk.intervals.clustered import variance_of_mean
from outrisk.risk.intervals.jackknife import deal
from outrisk.risk.intervals.paired import paired_interval
from outrisk.risk.privacy.metrics import measure_tables
from outrisk.risk.register.rightly import dealt, unique_rows
from outrisk.whose import alike_by, whose_records

MISSING = {"data": ("", "NA"), "holdout": ("", "NA")}


def panel(people=60, seed=0, first=0):
    """Records of people who have one to five each, in the order of nobody."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 6, people)
    of = {"sex": rng.integers(0, 2, people), "area": rng.integers(0, 4, people), "ill": rng.integers(0, 2, people)}
    frame = pd.DataFrame(of).assign(pid=np.arange(people) + first, home=np.arange(people) // 2 + first)
    frame = frame.loc[frame.index.repeat(times)]
    return frame.assign(visit=frame.groupby("pid").cumcount()).sample(frac=1, random_state=seed).reset_index(drop=True)


def study(tmp_path, frame, holdout=None, **data):
    frame.to_csv(tmp_path / "x.csv", index=False)
    document = {"name": "x", "data": {"path": "x.csv"} | data, "keys": ["sex", "area"], "target": "ill"}
    document["outputs"] = [{"kind": "frequencies", "by": ["area", "ill"]}]
    if holdout is not None:
        holdout.to_csv(tmp_path / "y.csv", index=False)
        document["holdout"] = {"path": "y.csv"}
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(document))
    return read_study(tmp_path / "x.yaml")


def test_the_people_of_records_are_known_and_are_no_variable(tmp_path):
    frame = panel()
    data = {"person": "pid", "where": "visit < 3", "columns": ["sex", "area", "ill"]}
    found = load_study_data(study(tmp_path, frame, **data)).original
    kept = frame[frame["visit"] < 3]
    assert list(found.codebook.names) == ["sex", "area", "ill"]
    assert found.people() == kept["pid"].nunique() == found.apart
    assert (pd.factorize(found.person)[0] == pd.factorize(kept["pid"])[0]).all()
    assert "pid" not in load_study_data(study(tmp_path, frame, person="pid", drop=["pid"])).original.codebook


def test_a_household_keeps_people_together_who_are_counted_for_themselves(tmp_path):
    frame = panel()
    both = load_study_data(study(tmp_path, frame, person="pid", household="home", drop=["visit"])).original
    assert (both.people(), both.apart, both.whose) == (60, 30, "60 people")
    alone = load_study_data(study(tmp_path, frame, household="home", drop=["visit", "pid"])).original
    assert (alone.people(), alone.apart, alone.whose) == (len(frame), 30, "30 households")


def test_somebody_who_moves_joins_two_households():
    frame = pd.DataFrame({"pid": [1, 1, 2, 3, 4], "home": ["a", "b", "b", "a", "c"]})
    found = whose_records({"data": frame}, "pid", "home", MISSING)["data"]
    assert found.together.tolist() == [0, 0, 0, 0, 1]


def test_people_of_the_holdout_are_numbered_apart_from_those_of_the_data(tmp_path):
    data, others = (panel(first=first).drop(columns=["home", "visit"]) for first in (0, 60))
    found = load_study_data(study(tmp_path, data, others, person="pid"))
    assert not set(found.original.together) & set(found.holdout.together)
    assert found.holdout.people() == 60


def test_what_cannot_be_is_refused(tmp_path):
    frame = panel()
    with pytest.raises(ConfigError, match=r"\[data\] person: no column 'nobody'; columns are"):
        load_study_data(study(tmp_path, frame, person="nobody"))
    with pytest.raises(DataError, match=r"\[data\] person: 'pid' is missing in 7 records; give them one, or leave"):
        load_study_data(study(tmp_path, frame.assign(pid=frame["pid"].where(frame.index >= 7)), person="pid"))
    with pytest.raises(ConfigError, match=r"\[holdout\] person: 10 values of 'pid' are in the data, too"):
        load_study_data(study(tmp_path, frame, panel(first=50), person="pid"))
    for other in (lambda pid: pid.astype(float), lambda pid: [f" {each:05} " for each in pid]):
        same = panel(first=50).assign(pid=lambda of, other=other: other(of["pid"]))
        with pytest.raises(ConfigError, match="10 values of 'pid' are in the data, too"):
            load_study_data(study(tmp_path, frame, same, person="pid"))
    with pytest.raises(ConfigError, match=r"\[data\] person, household: all records are of one"):
        load_study_data(study(tmp_path, frame.assign(home=frame["visit"] % 2), person="pid", household="home"))
    with pytest.raises(ConfigError, match=r"\[data\] household: 'one' has one value in all records"):
        load_study_data(study(tmp_path, frame.assign(one=1), household="one"))
    given = study(tmp_path, frame, panel(first=60), person="pid").path
    given.write_text(given.read_text().replace("path: y.csv", "path: y.csv\n  person: pid"))
    with pytest.raises(ConfigError, match="'person' and 'household' stand in 'data'"):
        read_study(given)


def test_records_that_look_like_those_of_one_person_are_found_by_what_they_share():
    frame, asked = panel(), ("sex", "area", "ill")
    found = alike_by(frame, asked, ())
    assert (found.name, found.values, found.records, found.same) == ("pid", 60, len(frame), asked)
    strange = frame.rename(columns={"pid": "x"}).drop(columns="home")
    assert alike_by(strange, asked, ()).name == "x"  # two or more variables alike, whatever the name
    assert alike_by(strange, asked, (), known=["x"]) is None  # a variable of the codebook
    assert alike_by(strange, ("sex",), ()) is None
    for name in ("nhs_id", "SERIALNO", "hhid", "Patient", "pidp"):
        assert alike_by(strange.rename(columns={"x": name}), ("sex", "visit"), (), known=[name]).name == name


def test_answers_may_change_from_wave_to_wave():
    frame = panel(400)
    rng = np.random.default_rng(5)
    for name, levels in (("area", 4), ("ill", 2)):
        frame[name] = frame[name].where(rng.random(len(frame)) > 0.04, rng.integers(0, levels, len(frame)))
    assert alike_by(frame.drop(columns="home"), ("area", "ill"), ()).name == "pid"


def test_values_of_several_kinds_are_compared_as_text():
    frame = panel().drop(columns="home")
    mixed = [pd.Timestamp(2020, 1, 1) if each == 5 else (str(each) if each % 2 else each) for each in frame["pid"]]
    assert alike_by(frame.assign(pid=pd.Series(mixed, dtype=object)), ("sex", "area"), ()).name == "pid"


def test_records_that_lack_it_are_counted():
    frame = panel().drop(columns="home")
    found = alike_by(
        frame.assign(pid=frame["pid"].astype(object).where(frame.index > 4, " NA")), ("sex", "area"), ("NA",)
    )
    assert (found.name, found.gaps) == ("pid", 5)


def test_nothing_is_found_where_records_share_no_more_than_by_chance():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, 3, 300) for name in ("sex", "area", "ill")})
    frame = frame.assign(age=rng.integers(0, 80, 300), pay=rng.integers(0, 150, 300), pid=range(300))
    assert alike_by(frame, ("sex", "area", "ill"), ()) is None
    assert alike_by(frame.assign(sex=0, area=0), ("sex", "area", "ill"), ()) is None  # the same of everybody


@pytest.mark.parametrize("n", [500, 1_500, 5_000])
def test_what_groups_and_bands_are_of_is_nobody(n):
    """Ages, incomes, codes of occupations and of areas: variables that follow from them are no sign of one person."""
    rng = np.random.default_rng(n)
    age, income, code = rng.integers(0, 95, n), rng.integers(0, 300, n) * 100, rng.integers(100, 400, n)
    town = rng.integers(0, 100, n)
    county = rng.integers(0, 12, 100)[town]
    frame = pd.DataFrame({"age": age, "band": age // 10, "pensioner": age > 64, "income": income, "occupation": code})
    frame = frame.assign(high=income // 5000, poor=income < 9000, group=code // 100, minor=code // 10)
    frame = frame.assign(town=[f"t{each * 37 % 101}" for each in town], county=county, region=county // 4)
    asked = ("band", "pensioner", "high", "poor", "group", "minor", "county", "region")
    assert alike_by(frame, asked, ()) is None
    assert alike_by(frame.assign(school_id=town), ("county", "region"), ()) is None or n < 1_500


def test_a_study_that_does_not_say_so_is_told(tmp_path):
    table = [{"kind": "frequencies", "by": ["area", "ill"]}]
    frame = panel(300).drop(columns=["home", "visit"])
    unsaid = outrisk.check(frame, table, keys=["sex", "area"], target="ill")
    (row,) = unsaid.findings[unsaid.findings["rule"] == "several records of one"].to_dict("records")
    assert "Records with the same 'pid' (300 values" in row["what"] and "{person: pid}" in row["advice"]
    assert "several records of one" in unsaid.sentence
    said = outrisk.check(frame, table, keys=["sex", "area"], target="ill", person="pid")
    assert "several records of one" not in set(said.findings["rule"])


@pytest.mark.parametrize("name", ["by", "name", "show", "weight"])
def test_an_identifier_called_like_a_word_of_the_study_is_no_variable(tmp_path, name):
    frame = panel().drop(columns=["home", "visit"]).rename(columns={"pid": name})
    assert name not in load_study_data(study(tmp_path, frame, person=name)).original.codebook


def test_a_column_that_is_dropped_tells_all_the_same_and_so_do_ids_in_data_and_holdout(tmp_path):
    frame = panel(200).drop(columns=["home", "visit"])
    assert load_study_data(study(tmp_path, frame, drop=["pid"])).alike.name == "pid"
    assert load_study_data(study(tmp_path, frame, columns=["sex", "area", "ill"])).alike.name == "pid"
    once = frame.drop_duplicates("pid")
    assert load_study_data(study(tmp_path, once)).alike is None
    assert load_study_data(study(tmp_path, once, once)).alike.name == "pid"
    others = panel(200, seed=9).drop(columns=["home", "visit"]).drop_duplicates("pid")
    assert load_study_data(study(tmp_path, once, others)).alike is None  # numbered anew


def test_a_study_that_is_released_says_whose_records_are_whose_for_the_next(tmp_path):
    frame = panel(100).drop(columns=["home", "visit"])
    old = study(tmp_path, frame, person="pid").path.rename(tmp_path / "old.yaml")
    new = study(tmp_path, frame, drop=["pid"]).path
    with pytest.raises(ConfigError, match=r"old.yaml, already released, says whose records are whose \(person: pid\)"):
        load_study_data(read_study(new, released=[old]))
    assert (
        load_study_data(read_study(study(tmp_path, frame, person="pid").path, released=[old])).original.people() == 100
    )


def test_init_proposes_whose_records_are_whose():
    frame = panel(300).assign(pid=lambda of: of["pid"] * 7 + 100_001).drop(columns="home")
    found = outrisk.init(frame, keys=["sex", "area"], target="ill")
    assert "an identifier by its name" in found.left_out["pid"]
    assert "\n  person: pid " in found.study_text()
    assert "person:" not in outrisk.init(frame.drop(columns="pid"), keys=["sex", "area"], target="ill").study_text()


def test_an_assessment_parts_people_not_records(tmp_path):
    table = [{"kind": "frequencies", "by": ["sex", "area", "ill"]}]
    given = {"keys": ["sex", "area"], "target": "ill", "runs": 1, "folds": [2], "privacy": False, "quiet": True}
    frame = panel(80).drop(columns=["home", "visit"])
    found = outrisk.assess(frame, table, person="pid", **given)
    first, second = (job.fold for job in found._run.jobs)
    assert not set(first.original.person) & set(first.holdout.person)
    assert set(second.original.person) == set(first.holdout.person)
    assert first.original.people() + second.original.people() == 80


CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("a", "b", "c")),
        Variable("sex", "categorical", ("f", "m")),
        Variable("ill", "categorical", ("no", "yes")),
        Variable("pay", "integer", tuple(range(101))),
    )
)


def people_of(n, seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)
    codes[:, 2] = np.where(rng.random(n) < 0.5, codes[:, 1], codes[:, 2])
    return Microdata(CODEBOOK, codes)


def repeated(data, times):
    """The same people with so many records each."""
    person = np.repeat(np.arange(len(data)), times)
    order = np.random.default_rng(7).permutation(len(person))
    return Microdata(data.codebook, data.codes[person][order], person[order], person[order])


def test_nobody_is_in_their_own_holdout():
    rng = np.random.default_rng(1)
    person = rng.integers(0, 100, 400)
    data = Microdata(CODEBOOK, people_of(400, 2).codes, person, person)
    folds = make_folds(data, None, [1, 2, 4], np.random.default_rng(0))
    for fold in folds[1:]:
        assert not set(fold.original.person) & set(fold.holdout.person)
    for part in (folds[1:3], folds[3:]):
        assert sum(len(fold.original) for fold in part) == 400
        assert max(len(fold.original) for fold in part) - min(len(fold.original) for fold in part) <= 20
    few = Microdata(CODEBOOK, data.codes, person % 7, person % 7)
    with pytest.raises(ConfigError, match="4 folds of 7 people or households leave fewer than 2 people or households"):
        make_folds(few, None, [4], np.random.default_rng(0))
    assert len(make_folds(Microdata(CODEBOOK, data.codes, person % 8, person % 8), None, [4], rng)) == 4


def test_of_a_larger_holdout_whole_people_take_the_place_of_the_data():
    data, holdout = repeated(people_of(30, 1), 2), repeated(people_of(90, 2), 3)
    (whole,) = make_folds(data, holdout, [1], np.random.default_rng(0))
    drawn = swapped(whole, np.random.default_rng(0)).original
    assert len(drawn) == 60 and drawn.people() == 20


@pytest.mark.parametrize("times", [2, 5])
def test_records_that_are_there_again_say_no_more(times):
    """Errors of people with several equal records each are those of the people with one."""
    own, other = people_of(60, 3), people_of(50, 4)
    synthetic = [people_of(60, seed) for seed in (5, 6)], [people_of(60, seed) for seed in (7, 8)]
    sets = [("area",), ("area", "sex")]
    once = contrasts(Pairing(own, other, *synthetic), sets, "ill", permutations=400)
    again = contrasts(Pairing(repeated(own, times), repeated(other, times), *synthetic), sets, "ill", permutations=400)
    for name in ("own", "other", "standard_error", "runs_share", "null_error"):
        np.testing.assert_allclose(getattr(again, name), getattr(once, name), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(again.permuted.std(axis=0), once.permuted.std(axis=0), rtol=0.15)
    naive = Pairing(*(Microdata(CODEBOOK, repeated(side, times).codes) for side in (own, other)), *synthetic)
    assert (contrasts(naive, sets, "ill", permutations=9).null_error < 0.8 * once.null_error).all()


def test_limits_hold_where_a_release_tells_nothing_of_people_with_several_records():
    """By synthetic data of others 0 is in the interval as often as it says, and was not with records for people."""
    rng, draws = np.random.default_rng(11), 300
    within = {True: 0, False: 0}
    for seed in range(draws):
        population = people_of(180, 1_000 + seed)
        sides = []
        for rows in np.split(np.arange(120), 2):
            person = np.repeat(np.arange(60), rng.integers(1, 8, 60))
            sides.append(Microdata(CODEBOOK, population.codes[rows][person], person, person))
        for known in within:
            data = [side if known else Microdata(CODEBOOK, side.codes) for side in sides]
            made = population.take(np.arange(120, 180))
            found = contrasts(Pairing(*data, [made]), [("area", "sex")], "ill", permutations=0)
            low, high = found.interval()
            within[known] += low[2, 0] <= 0 <= high[2, 0]
    assert within[True] >= 0.91 * draws
    assert within[False] < 0.85 * draws


def test_worths_of_releases_go_by_people():
    own, other = people_of(40, 3), people_of(40, 4)
    runs = [people_of(40, 5)], [people_of(40, 6)]
    places = [Place("attribution", "all keys", (("area", "sex"),))]
    worth = worth_of([Pairing(repeated(own, 3), repeated(other, 3), *runs)], places, "ill", 1.0, True)
    assert [len(np.unique(side)) for side in worth.together[0]] == [40, 40]


def test_the_variance_of_a_mean_is_that_of_statsmodels_by_clusters():
    rng = np.random.default_rng(0)
    together = rng.integers(0, 25, 200)
    values = rng.normal(size=(200, 2)) + rng.normal(size=(25, 2))[together]
    found = variance_of_mean(values, together)
    for column, variance in zip(values.T, found, strict=True):
        fit = sm.OLS(column, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": together})
        assert variance == pytest.approx(float(fit.cov_params()[0, 0]))
    alone = variance_of_mean(values, np.arange(200))
    np.testing.assert_allclose(alone, variance_of_mean(values, None))


@pytest.mark.parametrize("times", [1, 2, 6])
def test_closed_intervals_of_repeated_records_are_those_of_people(times):
    rng = np.random.default_rng(2)
    first, second = rng.random(40) < 0.6, rng.random(40) < 0.4
    together, row = np.repeat(np.arange(40), times), np.repeat(np.arange(40), times)
    assert paired_interval(first[row], second[row], together) == pytest.approx(paired_interval(first, second))
    once = [sample(each.astype(float), np.ones(40)) for each in (first, second)]
    weights = np.full(40, float(times))
    again = [sample(each.astype(float), weights, members=(row, together)) for each in (first, second)]
    assert interval(*again) == pytest.approx(interval(*once))
    means = RunningMeans()
    means.add(sample(np.stack([first, second]).astype(float), weights, members=(row, together)), np.array([True, True]))
    assert RunningMeans.mean([means], 0).variance == pytest.approx(once[0].variance)


def test_jackknife_groups_hold_people_whole():
    together = np.random.default_rng(0).integers(5, 40, 120)
    for groups in (deal(120, 10, 1, "original", together), None):
        group = dealt(120, 10, 1, together) if groups is None else None
        parts = [np.flatnonzero(group == each) for each in range(10)] if groups is None else groups
        assert sorted(np.concatenate(parts).tolist()) == list(range(120))
        assert len(np.unique(together)) == sum(len(np.unique(together[rows])) for rows in parts)
        assert {len(np.unique(together[rows])) for rows in parts} <= {3, 4}


def test_the_jackknife_of_repeated_records_is_about_that_of_people():
    own, other, made = people_of(400, 3), people_of(400, 4), people_of(400, 5)
    given = {"sets": [("area", "sex")], "target": "ill", "groups": 40}
    once = marginal(score(own, made, other, **given), "dcap").standard_error
    again = marginal(score(repeated(own, 4), made, repeated(other, 4), **given), "dcap").standard_error
    naive = [Microdata(CODEBOOK, repeated(side, 4).codes) for side in (own, other)]
    taken_apart = marginal(score(naive[0], made, naive[1], **given), "dcap").standard_error
    assert again == pytest.approx(once, rel=0.3)
    assert taken_apart < 0.7 * once


OUTPUTS = [
    Frequencies(CODEBOOK, "t", ("area", "sex", "ill")),
    Frequencies(CODEBOOK, "shares", ("area", "pay"), show="row_percentages"),
    Frequencies(CODEBOOK, "some", ("area", "ill"), where="pay > 3"),
    Frequencies(CODEBOOK, "more", ("area", "ill")),
    Magnitudes(CODEBOOK, "pay", "pay", ("area", "sex"), ("mean", "sum")),
    Magnitudes(CODEBOOK, "by pay", "pay", ("ill", "area", "sex"), ("mean", "sd", "count")),
    Quantiles(CODEBOOK, "ends", "pay", ("sex",), probabilities=(0.0, 0.5, 1.0)),
    Histogram(CODEBOOK, "bars", "pay", (0, 5, 15, 30)),
    Survival(CODEBOOK, "curve", "pay", "ill", ("area",), (10.0, 50.0, 90.0), event_value="yes"),
]


@pytest.mark.parametrize("seed", range(5))
def test_the_direct_look_counts_people_not_records(seed):
    """People with three equal records each are told of as those with one are. But sets of six values are others than
    those of two: nobody who reads a cell's numbers knows that its records are equal by threes.
    """
    data, appetite = people_of(50, seed), Appetite()
    once, again = (look(OUTPUTS, each, appetite, "ill") for each in (data, repeated(data, 3)))
    shown = [
        [(each.rule, each.output, each.cells, each.people) for each in found if each.rule != VALUES_OF_FEW]
        for found in (once, again)
    ]
    assert shown[0] and sorted(shown[1]) == sorted(shown[0])
    assert any(each.rule == VALUES_OF_FEW for each in once)
    assert all(each.people <= 12 // 3 * each.cells for each in again if each.rule == VALUES_OF_FEW)


def test_people_who_are_alone_with_their_keys_may_have_several_records():
    keys, owner = np.array([[0], [0], [1], [1], [2]]), np.array([3, 3, 4, 5, 6])
    assert unique_rows(keys).tolist() == [False, False, False, False, True]
    assert unique_rows(keys, owner).tolist() == [True, True, False, False, True]


def test_one_person_with_several_records_is_told_of_for_certain():
    """A cell of one person's records; a column of a regression that one person alone differs in."""
    people = np.concatenate([np.arange(40), np.full(2, 40)])
    area = np.where(people == 40, 2, people % 2)
    codes = np.stack([area, people % 2, people % 2, people % 30], axis=1).astype(np.uint16)
    codes[-1, 3] += 7
    data = Microdata(CODEBOOK, codes, people, people)
    found = look([Magnitudes(CODEBOOK, "pay", "pay", ("area",), ("mean",))], data, Appetite(), "ill")
    assert any(each.certain and each.people == 1 and "with the records of one person" in each.what for each in found)
    fit = Regression(CODEBOOK, "fit", "ols", "pay ~ C(sex) + C(area)")
    (leverage,) = [each for each in look([fit], data, Appetite(), "ill") if each.rule == "leverage"]
    assert leverage.certain and leverage.people == 1 and "1 person alone decides" in leverage.what
    few = Microdata(CODEBOOK, np.repeat(codes[:6], 6, axis=0), np.repeat(np.arange(6), 6), np.repeat(np.arange(6), 6))
    outputs = [Regression(CODEBOOK, "fit", "ols", "pay ~ C(sex)")]
    assert {"degrees of freedom"} <= {each.rule for each in look(outputs, few, Appetite(), "ill")}


def test_intervals_of_privacy_metrics_go_by_people():
    """Those of people with four equal records are about those of people with one."""
    own, other, made = people_of(120, 3), people_of(120, 4), people_of(120, 5)
    found = {}
    for name, times in (("once", 1), ("people", 4), ("records", 4)):
        sides = [repeated(side, times) for side in (own, other)]
        sides = sides if name != "records" else [Microdata(CODEBOOK, side.codes) for side in sides]
        coding = code_microdata({"original": sides[0], "holdout": sides[1]}, CODEBOOK.names).beside(made)
        given = {"keys": ("area", "sex"), "target": "ill", "threads": 1}
        frame = measure_tables(from_coding(coding), metrics=["GCAP", "CRP", "DVP", "MIR"], seed=1, **given)
        found[name] = frame.set_index("metric")
    width = {name: each["high"] - each["low"] for name, each in found.items()}
    assert len(width["once"]) and (width["once"] > 0).all()
    np.testing.assert_allclose(width["people"], width["once"], rtol=0.15)
    assert (width["records"] < 0.7 * width["once"]).all()


def test_metrics_that_tell_records_from_others_say_that_these_may_be_of_one_person(tmp_path):
    rng = np.random.default_rng(1)
    visits = pd.DataFrame({"who": np.repeat(np.arange(60), 2), "age": np.repeat(rng.integers(0, 8, 60), 2)})
    visits["area"], visits["ill"] = rng.choice(["n", "s"], 120), rng.integers(0, 2, 120)
    asked = {"keys": ["age", "area"], "target": "ill", "runs": 1, "quiet": True}
    for name, person, said in (("of people", "who", {"Auth", "NNDR", "ID"}), ("of records", "", set())):
        outputs = [outrisk.Frequencies(by=["area", "ill"])]
        metrics = {"metrics": ["Auth", "NNDR", "ID", "DCR", "ZCAP"]}
        frame = visits if person else visits.drop(columns="who")
        outrisk.assess(frame, outputs, **asked, person=person, privacy=metrics, out=tmp_path / name)
        rows = pd.read_csv(tmp_path / name / "measures.csv")
        noted = rows[rows["note"].fillna("").str.contains("of the same person or household count among the others")]
        assert set(noted["measure"]) == said
