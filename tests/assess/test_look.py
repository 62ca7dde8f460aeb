"""The direct look finds what is certain, names it, and is silent where a release says nothing outright."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.assess.look import Appetite, in_a_sentence, look
from outrisk.assess.look.finding import everybody_of
from outrisk.assess.look.same_answer import known_answer, same_answer
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import (
    REGISTRY,
    Correlations,
    Cox,
    Frequencies,
    Histogram,
    Magnitudes,
    Mode,
    Quantiles,
    Regression,
    Release,
    Survival,
)
from outrisk.outputs.tables.protection import Protection

APPETITE = Appetite()
CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("a", "b", "c")),
        Variable("sex", "categorical", ("f", "m")),
        Variable("ill", "categorical", ("no", "yes"), missing=True),
        Variable("pay", "integer", tuple(range(101))),
    )
)


def records(*rows):
    """Records of (area, sex, ill, pay) by code, each so many times."""
    return Microdata(CODEBOOK, np.array([row[:4] for row in rows for _ in range(row[4])], dtype=np.uint16))


def table(by=("area", "ill"), **options):
    return Frequencies(CODEBOOK, "t", by, **options)


def by_area(*counts):
    """Records of three areas: so many who are not ill, and so many who are."""
    return records(*[(area, 0, ill, 1, number) for area, pair in enumerate(counts) for ill, number in enumerate(pair)])


def by_rule(outputs, data, target="ill", **options):
    found = look(outputs if isinstance(outputs, list) else [outputs], data, APPETITE, target, **options)
    return {finding.rule: finding for finding in reversed(found)}  # of one rule the first, the worst, stays


def random_records(seed, n=200):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, size, n) for size in CODEBOOK.sizes]
    return Microdata(CODEBOOK, np.stack(codes, axis=1).astype(np.uint16))


FULL = records(*[(area, sex, ill, 10 * area + sex, 60) for area in range(3) for sex in range(2) for ill in range(2)])

CODEBOOK_OF_TWO = Codebook((Variable("pay", "integer", (1, 2, 3)), Variable("age", "integer", (1, 2, 3))))
TWO = Microdata(CODEBOOK_OF_TWO, np.array([(0, 1), (1, 2), (2, 0)] * 30, dtype=np.uint16))


def test_nothing_is_found_where_nothing_is_said():
    outputs = [
        table(("area", "sex", "ill"), margins=True),
        table(show="row_percentages"),
        Magnitudes(CODEBOOK, "pay", "pay", ("sex", "ill"), ("mean", "sd", "count")),
        Quantiles(CODEBOOK, "median", "pay", ("sex",)),
        Histogram(CODEBOOK, "bars", "pay", (0, 5, 15, 30)),
        Correlations(CODEBOOK_OF_TWO, "r", ("pay", "age")),
    ]
    found = [*look(outputs[:-1], FULL, APPETITE, "ill"), *look(outputs[-1:], TWO, APPETITE)]
    assert found == []


def test_a_listing_of_patients_is_no_evidence_of_no_risk():
    codebook = Codebook(
        (
            Variable("patient_id", "integer", tuple(range(2000))),
            Variable("diagnosis", "categorical", tuple("abcde")),
        )
    )
    codes = np.stack([np.arange(2000), np.random.default_rng(1).integers(0, 5, 2000)], axis=1)
    data = Microdata(codebook, codes.astype(np.uint16))
    first, *others = look([Frequencies(codebook, "listing", ("patient_id", "diagnosis"))], data, APPETITE, "diagnosis")
    assert (first.rule, first.certain, first.people) == ("same answer", True, 2000)
    assert "diagnosis of 2,000 people is told for certain to anybody who knows patient_id" in first.what
    small = next(finding for finding in others if finding.rule == "small cells")
    assert (small.cells, small.people) == (2000, 2000)
    assert "2,000 cells a single person" in small.what


def test_a_table_of_fair_that_a_mean_over_key_sets_buried():
    frame = sm.datasets.fair.load_pandas().data
    frame = frame.assign(affair=(frame.affairs > 0).astype(int))[["age", "yrs_married", "religious", "affair"]]
    variables = tuple(
        Variable(name, "numeric", tuple(float(value) for value in sorted(frame[name].unique()))) for name in frame
    )
    data = from_frame(frame, Codebook(variables))
    groups = frame.groupby(["age", "yrs_married", "religious"]).affair
    expected = int(groups.transform("nunique").eq(1).sum())
    first = look([Frequencies(data.codebook, "four", tuple(frame.columns))], data, APPETITE, "affair")[0]
    assert (first.rule, first.people) == ("same answer", expected)
    assert expected > 0
    assert first.cells == int((groups.nunique() == 1).sum())


def alike(data, by, name, where=""):
    """Records in groups by the other names in which everybody has one value of a name, by pandas."""
    kept = data.frame().query(where) if where else data.frame()
    text = kept[list(by)].astype(object).fillna("Missing")
    others = [other for other in by if other != name]
    groups = text.groupby(others, sort=False)[name] if others else text.groupby(np.zeros(len(text)))[name]
    return set(text.index[groups.transform("nunique").eq(1) & text[name].ne("Missing")])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([("area", "ill"), ("area", "sex", "ill"), ("ill",), ("sex", "area")]))
def test_groups_with_one_answer_are_those_of_pandas(seed, by):
    data = random_records(seed, 12)
    found = {
        finding.what.split(" ")[0]: finding.people
        for finding in look([table(by)], data, APPETITE, "ill")
        if finding.rule == "same answer"
    }
    for name in by:
        assert found.get(name, 0) == len(alike(data, by, name))


def test_missing_values_bury_no_group_of_one_answer():
    """Of area c 65 are ill, nobody is not, and of 2 it is missing: that leads; that the 2 are of area c is the last."""
    data = records(
        (0, 0, 0, 5, 60), (0, 0, 1, 5, 40), (1, 0, 0, 5, 30), (1, 0, 1, 5, 30), (2, 0, 1, 5, 65), (2, 0, 2, 5, 2)
    )
    found = look([table(), table(("sex", "area"))], data, APPETITE, "ill")
    assert [(each.about, each.people) for each in found if each.certain] == [("ill", 65), ("sex", 227), ("area", 2)]
    assert found[0].what.endswith(
        "everybody whose ill is known has the same value (yes: 65). It is missing of 2 people in it."
    )
    assert found[0].who.tolist() == list(range(160, 225))
    assert not [each for each in look([table(where="ill != 'no'")], data, APPETITE, "ill") if each.about == "ill"]


def test_groups_whose_known_answers_are_one_are_those_of_pandas():
    found_in = 0
    for seed in range(300):
        data = random_records(seed, 14)
        frame = data.frame().astype(object)
        by = (["area"], ["area", "sex"], ["sex"])[seed % 3]
        groups = frame.groupby(by).ill
        one = (groups.transform("nunique") == 1) & groups.transform(lambda group: group.isna().any())
        expected = set(np.flatnonzero(one & frame.ill.notna()))
        found = list(known_answer(table((*by, "ill")), data, APPETITE, "ill"))
        assert {int(person) for each in found for person in each.who} == expected
        found_in += bool(expected)
        rounded = table((*by, "ill"), protection=Protection(round_to=5))
        assert not list(known_answer(rounded, data, APPETITE, "ill")), "it might hold others"
    assert found_in > 100


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), where=st.sampled_from(["", "area != 'a'"]))
def test_people_of_several_findings_are_counted_once(seed, where):
    data, tables = random_records(seed, 30), [("area", "sex", "ill"), ("sex", "ill"), ("sex", "pay"), ("area",)]
    found = [each for by in tables for each in same_answer(table(by, where=where), data, APPETITE, "ill")]
    expected = set().union(*(alike(data, by, name, where) for by in tables for name in by))
    assert set(everybody_of(found).tolist()) == expected
    assert [each.people for each in found] == [len(each.who) for each in found]


def one_each(found):
    return {finding.rule: finding.who.tolist() for finding in reversed(found)}


def test_each_rule_knows_whom_it_is_about():
    rows = [(0, 0, 0, 5, 1), (1, 0, 0, 7, 30), (1, 1, 1, 9, 30), (2, 1, 0, 3, 1), (2, 1, 0, 90, 1)]
    data = records(*rows)  # record 0 alone in area a; records 61, 62 in area c
    summary = Magnitudes(CODEBOOK, "sums", "pay", ("area",), statistics=("sum",), digits=0)
    ends = Quantiles(CODEBOOK, "ends", "pay", ("area",), probabilities=(0.0, 1.0))
    bars = Histogram(CODEBOOK, "bars", "pay", (0.0, 4.0, 8.0, 100.0))
    found = one_each(look([summary], data, APPETITE))
    assert found == {"small cells": [0, 61, 62], "same answer": [0], "dominance": [62]}
    found = one_each(look([ends], data, APPETITE))
    assert found == {"small cells": [0, 61, 62], "extreme values": [0, 61, 62], "same answer": [0]}
    assert one_each(look([bars], data, APPETITE)) == {"small cells": [61]}
    whole, part = table(("area", "ill")), Frequencies(CODEBOOK, "part", ("area", "ill"), where="pay != 90")
    difference = next(each for each in look([whole, part], data, APPETITE, "ill") if each.rule.startswith("difference"))
    assert (difference.certain, difference.who.tolist()) == (True, [62])
    fit = Regression(CODEBOOK, "fit", "ols", "pay ~ C(area)")
    assert one_each(look([fit], data, APPETITE))["few people behind a coefficient"] == [0, 61, 62]
    assert one_each(look([fit], data, APPETITE))["leverage"] == [0]


def test_what_a_subset_says_of_its_records_is_no_answer():
    data = by_area((60, 0), (30, 30), (0, 60))
    found = look([table(where="area == 'a'")], data, APPETITE, "ill")
    assert [each.about for each in found if each.rule == "same answer"] == ["ill"]
    strict, of_three = Appetite(zeros_are_disclosive=True), table(("ill", "area"), where="area in ['a', 'b']")
    rules = [each.rule for each in look([of_three], by_area((60, 30), (60, 30), (0, 0)), strict, "area")]
    assert "values excluded" not in rules


def test_the_target_leads_and_missing_is_no_answer():
    others = [(1, sex, ill, 5, 40) for sex in range(2) for ill in range(2)]
    data = records((0, 0, 1, 5, 20), (0, 1, 2, 5, 30), *others)
    found = by_rule(table(("area", "sex", "ill")), data)["same answer"]
    assert (found.people, found.cells) == (20, 1)
    assert found.places == "area=a, sex=f: 20 people, all ill=yes"


def test_what_is_withheld_is_not_told_and_what_margins_give_back_is():
    data = by_area((50, 4), (30, 20), (25, 40))
    guarded = Protection(threshold=10)
    assert "small cells" in by_rule(table(), data)
    assert not {"small cells", "withheld cells recoverable"} & set(by_rule(table(protection=guarded), data))
    found = by_rule(table(protection=guarded, margins=True), data)
    assert "small cells" not in found
    assert (found["withheld cells recoverable"].cells, found["withheld cells recoverable"].people) == (1, 4)
    advice = "Withhold 3 further cells (area=a, ill=no; area=b, ill=no; area=b, ill=yes)"
    assert advice in found["withheld cells recoverable"].advice
    printed = by_rule(table(margins=True), data)["small cells"].advice
    assert "withhold 1 cell and 3 more (area=a, ill=no; area=b, ill=no; area=b, ill=yes)" in printed
    assert "small cells" not in by_rule(table(protection=Protection(round_to=10)), data)


def test_shares_that_are_counts_in_disguise():
    data = by_area((150, 3), (90, 60), (80, 80))
    fine = by_rule(table(show="row_percentages"), data)["small cells"]
    coarse = by_rule(table(show="row_percentages", digits=0), data)["small cells"]
    assert "1 decimal of a share of at most 160 records tell every count exactly" in fine.what
    assert "tell every count" not in coarse.what


def test_summaries_that_one_person_decides():
    rows = [(0, 0, 0, 90, 1), (0, 0, 0, 1, 30), (1, 0, 0, 0, 40), (2, 0, 0, 7, 1), (1, 1, 0, 50, 40), (0, 1, 0, 20, 40)]
    found = by_rule(Magnitudes(CODEBOOK, "pay", "pay", ("area", "sex"), ("mean",)), records(*rows))
    assert found["dominance"].places == "area=c, sex=f: 1 record, (n, k) and p %"
    assert found["same answer"].people == 41, "a mean of one person, and one at the end of the codebook"
    found = by_rule(Quantiles(CODEBOOK, "pay", "pay", ("sex",), (0.0, 0.5, 1.0)), records(*rows))
    assert found["extreme values"].people == 1
    assert found["extreme values"].places == "sex=f: the largest value is that of 1 person"


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["sex", "ill"]))
def test_the_mode_of_one_person_is_their_value(seed, variable):
    data = random_records(seed, 8)
    frame = data.frame().dropna(subset=[variable])
    alone = frame.groupby("area", observed=True)[variable].transform("size").eq(1)
    found = by_rule(Mode(CODEBOOK, "mode", variable, ("area",)), data, variable).get("same answer")
    assert (found.people if found else 0) == alone.sum()
    assert found is None or (found.certain, found.about) == (True, variable)
    assert found is None or set(found.who) == set(frame.index[alone])


@pytest.mark.parametrize("weight", [10, 11])
def test_dominance_by_hand(weight):
    """Of 90 and 11 once and 1 ten times, the two largest are 101 of 111: 0.9099; what is left is 10, 0.111 of 90."""
    data = records((0, 0, 0, 90, 1), (0, 0, 0, weight, 1), (0, 0, 0, 1, 10))
    found = by_rule(Magnitudes(CODEBOOK, "pay", "pay", ("area",), ("sum",)), data)
    assert found["dominance"].places == "area=a: 12 records, (n, k)"
    assert (found["dominance"].certain, found["dominance"].people) == (False, 2)


@pytest.mark.parametrize(
    ("statistics", "digits", "certain"),
    [
        (["sum"], [0], True),
        (["count", "mean"], [0, 1], True),
        (["mean"], [4], False),
        (["count", "mean"], [0, -1], False),
    ],
)
def test_the_second_largest_has_the_largest_to_within_p(statistics, digits, certain):
    """Of 90, 2 and 1 six times: 98 less 2 is 96, 6 off; 10 % of 90 are 9; a mean to tens is 40 off in all."""
    table = Magnitudes(CODEBOOK, "pay", "pay", ("area",), tuple(statistics), digits=tuple(digits))
    found = by_rule(table, OF_98)["dominance"]
    assert (found.certain, found.people, found.about) == (certain, 1, "pay" if certain else "")
    assert ("pay of 1 person can be worked out to within 10 %" in found.what) == certain


OF_98 = records((0, 0, 0, 90, 1), (0, 0, 0, 2, 1), (0, 0, 0, 1, 6))
MEAN = Magnitudes(CODEBOOK, "pay", "pay", ("area",), ("mean",), digits=(2,))


def test_a_mean_whose_number_of_records_nobody_prints_leaves_the_largest_open():
    """12.25 is the mean of 98 in eight and of 49 in four: who has 2 leaves 96 or 47 to the largest."""
    other = records((0, 0, 0, 45, 1), (0, 0, 0, 2, 1), (0, 0, 0, 1, 2))
    assert np.array_equal(MEAN.refit(OF_98), MEAN.refit(other), equal_nan=True)
    upper = {n: 12.25 * n - 2 for n in range(2, 9)}
    assert [n for n, most in upper.items() if abs(most - 90) < 9] == [7, 8], "only who knows how many they are has it"
    assert not by_rule(MEAN, OF_98)["dominance"].certain


@pytest.mark.parametrize(
    ("more", "certain"),
    [
        (table(("area",)), True),
        (table(("area", "sex")), True),
        (table(("area",), protection=Protection(round_to=10)), False),
        (Regression(CODEBOOK, "m", "ols", "pay ~ 1", Release(("coefficients", "n"))), True),
        (replace(MEAN, name="of f", by=(), where="sex == 'f'", statistics=("count",), digits=(0,)), False),
    ],
)
def test_the_number_of_records_of_a_mean_may_stand_elsewhere(more, certain):
    """That they are eight; rounded to tens they may be more, and of another subset it says little."""
    data = records((0, 0, 0, 90, 1), (0, 0, 0, 2, 1), (0, 0, 0, 1, 6))
    found = [each for each in look([MEAN, more], data, APPETITE) if each.rule == "dominance"]
    assert found[0].certain == certain


def test_rounded_sums_tell_nobody_for_certain():
    """Base 4 leaves each sum open by 2, so 90 is told to 8; base 10 leaves it open by 5, and no value for certain."""
    data = records((0, 0, 0, 90, 1), (0, 0, 0, 2, 1), (0, 0, 0, 1, 6), (1, 0, 0, 0, 7))

    def summed(base):
        protection = Protection(round_to=base) if base else Protection()
        return by_rule(
            Magnitudes(CODEBOOK, "pay", "pay", ("area",), ("sum",), digits=(0,), protection=protection), data
        )

    assert (summed(0)["same answer"].people, summed(0)["dominance"].certain) == (7, True)
    assert "same answer" not in summed(4) and summed(4)["dominance"].certain
    assert "same answer" not in summed(10) and not summed(10)["dominance"].certain


def test_a_dummy_for_one_person():
    data = records((0, 0, 0, 10, 50), (1, 0, 0, 20, 50), (0, 1, 0, 12, 50), (1, 1, 0, 22, 50), (2, 0, 0, 77, 1))
    model = Regression(CODEBOOK, "pay", "ols", "pay ~ C(area) + C(sex)")
    found = by_rule(model, data)
    assert (found["leverage"].certain, found["leverage"].people) == (True, 1)
    assert found["few people behind a coefficient"].places == "C(area)[T.c]: 1"
    fitted = sm.OLS.from_formula("pay ~ C(area) + C(sex)", data.frame().astype({"area": str, "sex": str})).fit()
    assert fitted.fittedvalues.iloc[-1] == pytest.approx(77), "it is the person's own value"
    assert not {"leverage", "few people behind a coefficient"} & set(by_rule(model, FULL))


@pytest.mark.parametrize(
    ("kind", "formula", "few"),
    [
        ("logit", "ill ~ pay", "yes: 3"),
        ("mnlogit", "area ~ pay", "c: 3"),
        ("ologit", "area ~ pay", "c: 3"),
        ("poisson", "I(sex == 'm') ~ pay", "above 0: 3"),
        ("ols", "pay ~ C(area)", None),
    ],
)
def test_an_outcome_that_few_people_have(kind, formula, few):
    """The constant tells how many, though no column of the design has few people."""
    data = records(*[(0, 0, 0, pay, 30) for pay in (1, 2, 3)], *[(1, 0, 0, pay, 30) for pay in (1, 2, 3)])
    three = records(*[(2, 1, 1, pay, 1) for pay in (1, 2, 3)])
    data = Microdata(CODEBOOK, np.concatenate([data.codes, three.codes]))
    model = Regression(CODEBOOK, "m", kind, formula, event="yes" if kind == "logit" else "")
    found = by_rule(model, data, target="pay").get("few people with an outcome")
    assert (found and found.places) == few
    if few:
        assert (found.certain, found.people, found.who.tolist()) == (False, 3, [180, 181, 182])


@pytest.mark.parametrize("alone", [0, 1, 2])
@pytest.mark.parametrize("kind", ["ologit", "mnlogit"])
def test_one_person_in_a_level_decides_a_direction_of_an_ordered_model(kind, alone):
    """Also in the reference level, though there is no constant: its thresholds are one."""
    sizes = [1 if area == alone else 20 for area in range(3)]
    data = records(*[(area, 0, 0, pay, sizes[area]) for area in range(3) for pay in (1, 2, 3)[: sizes[area]]])
    book = Codebook((*CODEBOOK.variables[:3], Variable("pay", "integer", (1, 2, 3))))
    codes = data.codes - np.array([0, 0, 0, 1], dtype=np.uint16)
    found = {
        each.rule: each.people
        for each in look([Regression(book, "m", kind, "pay ~ C(area)")], Microdata(book, codes), APPETITE)
    }
    assert found["leverage"] == 1


def test_thresholds_and_a_dispersion_take_degrees_of_freedom():
    pays = records(*[(area, 0, 0, pay, 1) for area in range(3) for pay in (0, 1, 2, 9)])  # 12 people
    book = Codebook((CODEBOOK.variables[0], Variable("pay", "integer", (0, 1, 2, 9))))
    data = Microdata(book, np.stack([pays.codes[:, 0], np.tile(np.arange(4), 3)], axis=1).astype(np.uint16))
    left = {}
    for kind in ("ologit", "mnlogit", "negbin", "poisson"):
        rules = look([Regression(book, "m", kind, "pay ~ C(area)")], data, APPETITE)
        left[kind] = next(each.what for each in rules if each.rule == "degrees of freedom").split(" (")[0]
    assert left["ologit"].startswith("7 ") and left["negbin"].startswith("8 ") and left["poisson"].startswith("9 ")


def test_a_saturated_model_is_a_table():
    model = Regression(CODEBOOK, "all", "ols", "pay ~ C(area) * C(sex)")
    assert by_rule(model, FULL)["saturated model"].cells == 6
    assert "saturated model" not in by_rule(Regression(CODEBOOK, "some", "ols", "pay ~ C(area) + C(sex)"), FULL)


def test_a_curve_of_few():
    codebook = Codebook((Variable("time", "integer", (1, 2, 3)), Variable("dead", "integer", (0, 1))))
    rows = [(0, 1)] * 12 + [(1, 1)] * 3 + [(1, 0)] * 30 + [(2, 0)] * 20
    data = Microdata(codebook, np.array(rows, dtype=np.uint16))
    (found,) = look([Survival(codebook, "curve", "time", "dead")], data, APPETITE)
    assert (found.rule, found.cells, found.people) == ("small steps of a curve", 1, 3)
    assert found.places == "time=2: 53 at risk, 3 events"


def test_subtraction_counts_what_only_inside_names():
    data = random_records(3, 120)
    outputs = [table(), Frequencies(CODEBOOK, "most", ("area", "ill"), "pay != 7")]
    counted = by_rule(outputs, data)["difference of outputs"]
    named = by_rule(outputs, data, inside=True)["difference of outputs"]
    assert counted.places == "" != named.places
    assert counted.people == named.people > 0


def test_a_stricter_environment_finds_more():
    loose, strict = Appetite(safe_threshold=3), Appetite(safe_threshold=100)
    assert [f.cells for f in look([table()], FULL, strict, "ill") if f.rule == "small cells"] == []
    rare = records((0, 0, 0, 1, 50), (0, 0, 1, 1, 4), (1, 0, 0, 1, 30), (1, 0, 1, 1, 20))
    cells = [
        sum(f.cells for f in look([table()], rare, appetite, "ill") if f.rule == "small cells")
        for appetite in (loose, APPETITE, strict)
    ]
    assert cells == [0, 1, 4]


def test_the_sentence_says_the_worst_first_and_never_that_all_is_well():
    rare = by_area((50, 4), (30, 20), (25, 0))
    certain = look([table()], rare, APPETITE, "ill")
    said = in_a_sentence(certain, 1)
    assert said.endswith(")."), "nothing follows the last sentence"
    assert "There is 1 further finding of that kind." in in_a_sentence([certain[0], certain[0]], 1)
    assert said.startswith("The release says outright, for certain (“t”): ill of 25 people is told for certain")
    assert "Besides, one output or pair of outputs breaks a rule (small cells)." in said
    broken = [finding for finding in certain if not finding.certain]
    assert in_a_sentence(broken, 1).startswith("The direct look found nothing that is certain about people")
    assert "it proves nothing beyond that" in in_a_sentence([], 3)


def test_small_cells_of_a_table_that_was_not_released_follow_from_three_that_were():
    rows = [(0, 0, 0)] * 4 + [(0, 1, 1)] * 3 + [(1, 1, 0)] * 19 + [(1, 1, 1)] * 15 + [(2, 0, 0)] * 30
    data = records(*(((*row, 0, 1)) for row in rows))
    tables = [Frequencies(CODEBOOK, " x ".join(by), by) for by in (("area", "sex"), ("area", "ill"), ("sex", "ill"))]
    found = [each for each in look(tables, data, APPETITE, "ill", inside=True) if each.rule == "table not released"]
    assert [(each.cells, each.people) for each in found] == [(2, 7)]
    assert found[0].places == "area=a, sex=m, ill=yes: 3; area=a, sex=f, ill=no: 4"
    assert "area x sex x ill was not released; 2 cells of fewer than 10 records follow exactly" in found[0].what
    unnamed = [each for each in look(tables, data, APPETITE, "ill") if each.rule == "table not released"]
    assert unnamed[0].places == ""


def test_what_is_too_large_to_be_bounded_is_said():
    data = by_area((50, 4), (30, 20), (25, 40))
    book = replace(data.codebook, variables=(*data.codebook.variables, Variable("x", "integer", tuple(range(200)))))
    wide = Microdata(book, np.column_stack([data.codes, np.zeros(len(data), np.uint16)]))
    tables = [Frequencies(book, "one", ("area", "x")), Frequencies(book, "two", ("ill", "x"))]
    (found,) = [each for each in look(tables, wide, APPETITE) if each.rule == "not bounded"]
    assert found.places == "area x ill x x" and "too many cells" in found.what
    said = in_a_sentence([found], 2)
    assert "at 2 outputs, as far as it could look, found no small cell" in said and "(not bounded)" in said


FOLLOWED = Codebook(
    (
        Variable("arm", "categorical", ("a", "b"), missing=True),
        Variable("months", "integer", (1, 2, 3, 5)),
        Variable("died", "integer", (0, 1), missing=True),
    )
)


@pytest.mark.parametrize("statistics", [("at risk", "events"), ("survival", "at risk"), ("survival", "events")])
@pytest.mark.parametrize("seed", range(8))
def test_curves_tell_who_died_as_the_table_of_the_same_numbers_does(statistics, seed):
    """With numbers at risk and events, or survival that implies these, at every time; without numbers at risk, where
    there were no events.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    codes = [rng.integers(0, size, n) for size in FOLLOWED.sizes]
    data = Microdata(FOLLOWED, np.stack(codes, axis=1).astype(np.uint16))
    curves = Survival(FOLLOWED, "t", "months", "died", ("arm",), (), statistics)
    of_table = Frequencies(FOLLOWED, "t", ("arm", "months", "died"), "")
    known = np.array([data.codes[:, at] < len(v.values) for at, v in enumerate(FOLLOWED.variables)]).all(axis=0)
    complete = Microdata(FOLLOWED, data.codes[known])
    expected = [f for f in same_answer(of_table, complete, APPETITE, "died") if f.about == "died"]
    found = list(same_answer(curves, data, APPETITE, "died"))
    if "at risk" not in statistics:
        arms, months, died = complete.codes.T
        alive = [not died[(arms == arm) & (months == month)].any() for arm, month in zip(arms, months, strict=True)]
        assert sum(each.people for each in found) == sum(alive)
        return
    assert [(f.people, f.what, f.places) for f in found] == [(f.people, f.what, f.places) for f in expected]
    assert expected and "Publish fewer times" in found[0].advice


def test_curves_with_few_times_tell_what_is_alone_between_them():
    data = Microdata(FOLLOWED, np.array([(0, 0, 1), (0, 1, 1), (0, 1, 1), (0, 2, 0), (0, 3, 1)] * 3, dtype=np.uint16))
    some = Survival(FOLLOWED, "t", "months", "died", ("arm",), (2, 3, 5), ("at risk", "events"))
    (found,) = same_answer(some, data, APPETITE, "died")
    assert found.people == 6  # at 3 and 5; those of 2 may have died at 1
    (found,) = same_answer(replace(some, times=(3, 5)), data, APPETITE, "died")
    assert found.people == 3  # at 5 alone
    assert list(same_answer(replace(some, times=(1, 5)), data, APPETITE, "died")) == []


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_a_cox_model_of_nobody_who_survived(deaths):
    """Its numbers of people and of events tell that all died; not where somebody did not, nor one of them alone."""
    rng = np.random.default_rng(1)
    rows = np.stack([rng.integers(0, 2, 30), rng.integers(0, 4, 30), np.ones(30, int)], axis=1)
    rows[:deaths, 2] = 0
    data = Microdata(FOLLOWED, rows.astype(np.uint16))
    parts = ("coefficients", "n", "events")
    model = Cox(FOLLOWED, "c", "cox", "months ~ C(arm)", Release(parts), status="died")
    found = [f for f in look([model], data, APPETITE, target="died") if f.rule == "same answer"]
    assert [f.people for f in found] == ([30] if deaths == 0 else [])
    assert all(f.certain for f in found)
    without = replace(model, release=Release(("coefficients", "n")))
    assert not [f for f in look([without], data, APPETITE, target="died") if f.rule == "same answer"]


def test_the_rules_know_how_to_read_every_kind_but_those_of_a_function():
    from outrisk.assess.look import _SEEN

    assert {"univariate", "table_one", *_SEEN} == set(REGISTRY) - {"custom"}  # which are tables, and outputs of these


def test_all_who_died_of_three_states():
    codebook = Codebook(
        (Variable("months", "integer", (1, 2, 3)), Variable("state", "categorical", ("well", "ill", "dead")))
    )
    codebook = Codebook((*codebook.variables, Variable("sex", "integer", (0, 1))))
    rng = np.random.default_rng(2)
    data = Microdata(
        codebook, np.stack([rng.integers(0, 3, 20), np.full(20, 2), rng.integers(0, 2, 20)], 1).astype(np.uint16)
    )
    model = Cox(
        codebook, "c", "cox", "months ~ sex", Release(("coefficients", "n", "events")), "", "dead", status="state"
    )
    (found,) = [f for f in look([model], data, APPETITE, target="state") if f.rule == "same answer"]
    assert found.certain and found.people == 20
    assert not [
        f for f in look([model], data, APPETITE, target="state") if f.rule in ("saturated model", "not looked at")
    ]


def test_few_events_behind_a_cox_model():
    """Not people but their events tell of hazards: three events of arm b, five in all."""
    died = np.array([1] * 2 + [0] * 38 + [1] * 3 + [0] * 37)
    codes = np.stack([np.repeat([0, 1], 40), np.arange(80) % 4, died], axis=1)
    model = Cox(FOLLOWED, "c", "cox", "months ~ C(arm)", Release(("coefficients",)), status="died")
    found = {f.rule: f for f in look([model], Microdata(FOLLOWED, codes.astype(np.uint16)), APPETITE, target="died")}
    assert found["few people behind a coefficient"].people == 3
    assert "fewer than 10 events" in found["few people behind a coefficient"].what
    assert "4 residual degrees of freedom (5 events among 80 records, 1 column)" in found["degrees of freedom"].what


def test_weights_that_nobody_prints_hide_what_the_largest_has():
    """100 weighted 9 times, or 90 weighted 10 times, make the same sum beside 1 once or ten times."""
    book = Codebook((*CODEBOOK.variables, Variable("w", "integer", tuple(range(1, 11)))))
    rows = [(0, 0, 0, 90, 9), *[(0, 0, 0, 1, 0)] * 11]
    other = [(0, 0, 0, 100, 8), *rows[1:]]
    table = Magnitudes(book, "pay", "pay", ("area",), ("sum",), weight="w")
    data, changed = (Microdata(book, np.array(each, dtype=np.uint16)) for each in (rows, other))
    assert np.array_equal(table.refit(data), table.refit(changed))
    (found,) = [each for each in look([table], data, APPETITE) if each.rule == "dominance"]
    assert not found.certain


@pytest.mark.parametrize(("top", "certain"), [(95, True), (80, False)])
def test_a_top_code_near_its_values_hides_no_dominance(top, certain):
    """Whoever has 2 finds at most 103 less 2: 95 to 101 of 100 at most; of 80 to 100 that is 20 off."""
    data = records((0, 0, 0, 99, 1), (0, 0, 0, 2, 1), (0, 0, 0, 1, 3))
    table = Magnitudes(CODEBOOK, "pay", "pay", ("area",), ("sum",), protection=Protection(top_code=top))
    found = by_rule(table, data)["dominance"]
    assert found.certain == certain
