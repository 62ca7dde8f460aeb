"""Measures of association by hand, against R and scipy, and from totals against a refit; what cannot be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, assert_reproduced, even_records, numbers_of, random_records, refit_of, slopes_of
from scipy.stats import contingency
from slow import block_totals

import outrisk
from outrisk.assess.look import Appetite, look
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import Association, AssociationEntry, Frequencies, release, released, released_as_given
from outrisk.outputs.of_one_table.told_together import tables_told
from outrisk.problem.influence import records_of_model

CODEBOOK = Codebook(
    (
        Variable("ill", "integer", (0, 1), missing=True),
        Variable("smoker", "categorical", ("no", "light", "heavy"), missing=True),
        Variable("age", "numeric", (40, 60, 80)),
        Variable("sex", "categorical", ("f", "m"), missing=True),
    )
)
SINGLE = ("n", "cases", "risk", "risk ratio", "risk difference", "odds ratio", "limits", "attributable fraction")
EVERY = (*SINGLE, "chi-square", "p")
WAYS = {
    "crude": {"statistics": SINGLE},
    "by age": {"over": ("age",), "show": ("strata", "crude", "pooled"), "statistics": EVERY},
    "over age and sex": {"over": ("sex", "age"), "statistics": EVERY, "continuity": True, "reference": "light"},
    "sato": {"over": ("age",), "variance": "sato", "show": ("pooled",), "statistics": EVERY[3:], "per": 100.0},
    "90 %": {"over": ("sex",), "level": 0.9, "show": ("strata",), "statistics": SINGLE, "event_value": "0"},
}


def association(way="crude", where="", **more):
    return Association(CODEBOOK, "a", "ill", "smoker", where=where, **{**WAYS[way], **more})


def records(tables, codebook=CODEBOOK):
    """Records by age, smoking and whether they are ill, so many of each."""
    rows = np.repeat(np.argwhere(np.ones_like(tables)), np.ravel(tables), axis=0)
    return Microdata(codebook, np.column_stack([rows[:, 2], rows[:, 1], rows[:, 0], 0 * rows[:, 0]]).astype(np.uint16))


def by_label(output, data):
    return dict(zip(output.labels, output.refit(data), strict=True))


def test_a_table_by_hand():
    """20 of 100 exposed are ill, 10 of 100 others: RR 2, RD 0.1, OR 2.25."""
    data = records([[[90, 10], [80, 20]]])
    found = by_label(association(statistics=(*SINGLE,)), data)
    assert [found[f"smoker=light: {each}"] for each in ("n", "cases", "risk")] == [100, 20, 0.2]
    assert [found[f"smoker=no: {each}"] for each in ("n", "cases", "risk")] == [100, 10, 0.1]
    assert found["smoker=light: risk ratio"] == pytest.approx(2.0)
    error = (1 / 20 - 1 / 100 + 1 / 10 - 1 / 100) ** 0.5
    assert found["smoker=light: risk ratio lower limit"] == pytest.approx(2 * np.exp(-1.959964 * error), rel=1e-6)
    assert found["smoker=light: risk difference"] == pytest.approx(0.1)
    apart = 1.959964 * (0.2 * 0.8 / 100 + 0.1 * 0.9 / 100) ** 0.5
    assert found["smoker=light: risk difference upper limit"] == pytest.approx(0.1 + apart, rel=1e-6)
    assert found["smoker=light: odds ratio"] == pytest.approx(2.25)
    woolf = (1 / 20 + 1 / 80 + 1 / 10 + 1 / 90) ** 0.5
    assert found["smoker=light: odds ratio upper limit"] == pytest.approx(2.25 * np.exp(1.959964 * woolf), rel=1e-6)
    assert found["smoker=light: attributable fraction"] == pytest.approx(0.5)
    assert all(np.isnan(found[f"smoker=heavy: {each}"]) for each in ("risk", "risk ratio", "odds ratio"))
    assert "smoker=no: risk ratio" not in found and found["smoker=heavy: n"] == 0


@pytest.mark.parametrize("cells", [(7, 13, 4, 36), (120, 30, 60, 90), (3, 2, 1, 9)])
def test_a_table_is_that_of_scipy(cells):
    a, b, c, d = cells
    found = by_label(association(statistics=("risk ratio", "odds ratio", "limits")), records([[[d, c], [b, a]]]))
    ratio = contingency.relative_risk(a, a + b, c, c + d)
    odds = contingency.odds_ratio([[a, b], [c, d]], kind="sample")
    for name, value, ends in (
        ("risk ratio", ratio.relative_risk, ratio.confidence_interval(0.95)),
        ("odds ratio", odds.statistic, odds.confidence_interval(0.95)),
    ):
        of = [found[f"smoker=light: {name}{end}"] for end in ("", " lower limit", " upper limit")]
        np.testing.assert_allclose(of, [value, *ends], rtol=1e-9)


BERKELEY = [  # R's UCBAdmissions (Bickel and others, Science 187, 1975): men, women; rejected, admitted; A to F
    *([[313, 512], [19, 89]], [[207, 353], [8, 17]], [[205, 120], [391, 202]], [[279, 138], [244, 131]]),
    *([[138, 53], [299, 94]], [[351, 22], [317, 24]]),
]
SCHOOL = Codebook(
    (
        *(Variable("admitted", "integer", (0, 1)), Variable("gender", "categorical", ("male", "female"))),
        *(Variable("department", "categorical", tuple("ABCDEF")), Variable("nothing", "integer", (0,))),
    )
)
FROM_R = {  # R 4.2: mantelhaen.test(UCBAdmissions) with and without correction; metafor 3.8-1: rma.mh, add = 0
    "chi-square": 1.524606660443,
    "p": 0.216923697056,
    "odds ratio": (0.904696828259, 0.771907361759, 1.060329764437),
    "risk ratio": (0.944905022596, 0.866452232683, 1.030461308827),
    "risk difference": (-0.0184251961909, -0.0474824353465, 0.0106320429648),
}


def admitted(**more):
    statistics = ("risk ratio", "risk difference", "odds ratio", "limits", "chi-square", "p")
    return Association(
        SCHOOL,
        *("a", "admitted", "gender", ("department",), statistics),
        **{"show": ("pooled",), "reference": "female", "variance": "sato", **more},
    )


@pytest.mark.parametrize("how", ["refit", "totals"])
def test_pooled_numbers_are_those_of_r(how):
    data = records(BERKELEY, SCHOOL)
    numbers = admitted().refit(data) if how == "refit" else numbers_of(admitted(), data)
    found = dict(zip(admitted().labels, numbers, strict=True))
    for name, expected in FROM_R.items():
        ends = ("", " lower limit", " upper limit")[: np.size(expected)]
        np.testing.assert_allclose([found[f"pooled, gender=male: {name}{end}"] for end in ends], expected, rtol=1e-9)
    corrected = by_label(admitted(continuity=True), data)
    assert corrected["pooled, gender=male: chi-square"] == pytest.approx(1.426946228587, rel=1e-9)
    assert corrected["pooled, gender=male: p"] == pytest.approx(0.232263462817, rel=1e-9)
    some = admitted(continuity=True, where="department in ['D', 'E', 'F']")
    numbers = by_label(some, data)
    assert numbers["pooled, gender=male: chi-square"] == pytest.approx(0.000728639392835, rel=1e-8)
    assert numbers["pooled, gender=male: odds ratio"] == pytest.approx(0.990762750946101, rel=1e-9)


def test_greenland_and_robins_s_difference_is_the_weighted_mean_of_those_of_strata():
    data = records(BERKELEY, SCHOOL)
    found = by_label(admitted(variance="greenland-robins"), data)
    tables = np.array(BERKELEY, dtype=float)
    (b, a), (d, c) = tables[:, 0].T, tables[:, 1].T
    weight = (a + b) * (c + d) / tables.sum(axis=(1, 2))
    each = a / (a + b) - c / (c + d)
    variance = a * b / (a + b) ** 3 + c * d / (c + d) ** 3
    value, error = np.average(each, weights=weight), ((weight**2 * variance).sum() ** 0.5) / weight.sum()
    label = "pooled, gender=male: risk difference"
    ends = [found[label], found[f"{label} lower limit"], found[f"{label} upper limit"]]
    np.testing.assert_allclose(ends, value + error * np.array([0.0, -1.95996398454, 1.95996398454]), rtol=1e-9)


def test_what_is_not_defined_is_nan_and_no_zero():
    tables = [[[9, 0], [8, 2], [5, 0]], [[9, 1], [0, 2], [5, 0]], [[0, 0], [4, 1], [0, 0]]]
    found = by_label(association("by age", statistics=SINGLE), records(tables))

    def undefined(row, *names):
        return [bool(np.isnan(found[f"{row}: {each}"])) for each in names]

    names = ("risk", "risk ratio", "risk difference", "odds ratio", "odds ratio lower limit")
    assert undefined("age=40, smoker=light", *names) == [False, True, False, True, True]  # no case at the reference
    assert undefined("age=60, smoker=light", *names) == [False, False, False, True, True]  # all are cases
    assert undefined("age=60, smoker=heavy", *names) == [False, False, False, False, True]
    assert found["age=60, smoker=heavy: risk ratio"] == found["age=60, smoker=heavy: odds ratio"] == 0
    assert undefined("age=60, smoker=heavy", "risk ratio lower limit", "attributable fraction") == [True, True]
    assert undefined("age=80, smoker=light", *names) == [False, True, True, True, True]
    assert undefined("age=80, smoker=heavy", *names) == [True] * 5
    assert found["crude, smoker=light: risk ratio"] == pytest.approx(5 / 17 / (1 / 19))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["", "smoker != 'heavy'", "age > 40 and sex == 'm'"]))
def test_totals_and_refit_agree(way, seed, where):
    data = random_records(CODEBOOK, seed, 90)
    if where.startswith("age") and way == "90 %":
        where = "age > 40"
    output = association(way, where)
    expected = refit_of(output, data)
    np.testing.assert_allclose(numbers_of(output, data), expected, rtol=1e-9, atol=1e-9)
    assert len(output.labels) == len(set(output.labels)) == len(output.decimals)
    output.check(*output.publish(expected))


@pytest.mark.parametrize("way", WAYS)
def test_numbers_follow_from_a_table_of_counts(way):
    output, data = association(way), random_records(CODEBOOK, 6, 90)
    codes = data.codes[:, [CODEBOOK.index(name) for name in output.variables]].astype(int)
    counts = np.zeros((1, *(CODEBOOK[name].size for name in output.variables)))
    np.add.at(counts[0], tuple(codes.T), 1)
    np.testing.assert_allclose(output.of_counts(counts)[0], output.refit(data), rtol=1e-9, atol=1e-9)
    known = data.frame()[output.variables].notna().all(axis=1)
    assert output.counted.shape == counts.shape[1:] and (counts[0] * output.counted).sum() == known.sum()


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_agree_with_differences(way):
    output = association(way)
    (part,) = output.parts(np.zeros(len(output.labels)))
    for seed in range(5):
        totals = np.random.default_rng(seed).uniform(2, 9, part.model.size)
        found, expected, size = slopes_of(part, totals, 1e-4)
        np.testing.assert_allclose(found / size, expected / size, atol=2e-7)
        precision = part.map.precision(totals, NO_INFORMATION)
        assert np.isfinite(precision).all() and (np.linalg.eigvalsh(precision) > 0).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fill", [np.zeros, np.ones, lambda m: np.eye(m)[3], lambda m: np.eye(m)[-1]])
def test_odd_totals_give_nan_and_finite_slopes(way, fill):
    output = association(way)
    (part,) = output.parts(np.zeros(len(output.labels)))
    totals = fill(part.model.size)
    assert part.map.numbers(totals, NO_INFORMATION).shape == (len(output.labels),)
    assert np.isfinite(part.map.jacobian(totals, NO_INFORMATION)).all()
    assert np.isfinite(part.map.precision(totals, NO_INFORMATION)).all()


@pytest.mark.parametrize("way", ["crude", "by age", "over age and sex"])
@pytest.mark.parametrize("seed", range(8))
def test_counts_first_are_the_numbers_in_another_order(way, seed):
    data, output = random_records(CODEBOOK, seed, 90), association(way)
    low, high = output.publish(refit_of(output, data))
    found = output.counts_first(low, high)
    seen = []
    for part in found.parts:
        totals = np.concatenate([block_totals(block, data.codes) for block in part.blocks])
        seen.append(part.map.numbers(totals, *((NO_INFORMATION,) if hasattr(part, "model") else ())))
    numbers = np.concatenate(seen)
    np.testing.assert_allclose(numbers, found.output.refit(data), rtol=1e-9, atol=1e-9)
    assert (found.is_matched(numbers) | ~found.known).all()
    assert found.labels[0].endswith(": n") and sorted(found.of) == list(range(len(low)))
    assert association(way, statistics=("risk ratio",), continuity=False).counts_first(low, high) is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(10))
def test_what_numbers_imply_holds_of_the_records(way, seed):
    data, output = random_records(CODEBOOK, seed, 90), association(way)
    try:
        low, high = output.publish(output.refit(data))
    except OutputError:
        return
    for each in output.implied(low, high):
        assert (each.refit(data) >= each.low).all() and each.kind == "existence"


def test_a_ratio_says_who_there_must_be():
    output = association(statistics=("odds ratio", "limits"))
    low, high = output.publish(output.refit(records([[[9, 1], [8, 2], [5, 0]]])))
    (found,) = output.implied(low, high)
    assert len(found.low) == 5  # four counts of light smokers beside none; of heavy ones those who are not ill
    assert found.refit(records([[[3, 4], [5, 6], [7, 8]]])).tolist() == [6, 5, 4, 3, 7]


def test_numbers_of_records_are_held_against_tables():
    data = records([[[9, 1], [8, 2], [5, 0]], [[3, 1], [1, 2], [0, 0]], [[0, 0], [4, 1], [0, 0]]])
    output = association("by age")
    by = {each.by: each for each in output.counts(*output.publish(output.refit(data)))}
    assert set(by) == {("age", "smoker", "ill"), ("smoker", "ill")}  # whose answer is missing is in no n
    assert by["age", "smoker", "ill"].low[:, :3, 1].tolist() == [[1, 2, 0], [1, 2, 0], [0, 1, 0]]
    assert np.isinf(by["smoker", "ill"].high[:, 0]).all() and by["smoker", "ill"].high[:, 1].tolist()[:3] == [2, 5, 0]


@pytest.mark.parametrize("way", ["crude", "by age"])
def test_a_release_of_300_people_is_reproduced(way):
    original = even_records(CODEBOOK, 3, 300)
    outputs = [
        association(way, statistics=("risk ratio", "risk difference", "limits")),
        association("over age and sex", statistics=("odds ratio", "limits", "chi-square", "p"), show=("pooled",)),
        Frequencies(CODEBOOK, "table", ("age", "smoker")),
        Frequencies(CODEBOOK, "ill", ("sex", "ill")),
    ]
    printed = tuple(release(each, original) for each in outputs)
    problem = Problem(CODEBOOK, 300, printed, told=tables_told(CODEBOOK, printed))
    assert_reproduced(problem)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"event": "nobody"}, "no variable 'nobody'"),
        ({"event": "age"}, "say with 'event_value' which value of 'age' counts"),
        ({"event_value": "2"}, "'2' is not a value of 'ill'"),
        ({"over": "smoker"}, "event, exposure and over must be different variables"),
        ({"reference": "havy"}, "reference 'havy' is not a value of 'smoker'; did you mean 'heavy'"),
        ({"where": "smoker == 'no'"}, "exposure: 'smoker' has one value where smoker == 'no'"),
        ({"show": "pooled"}, "show: there are no strata without 'over'"),
        ({"statistics": "chi-square"}, "are none of what"),
        ({"statistics": ["n", "p"]}, "statistics: 'p' is a pooled number; add 'pooled' to 'show', or use kind: test"),
        ({"over": "age", "show": "pooled", "statistics": "n"}, "are none of what"),
        ({"statistics": ["n", "limits"]}, "limits are those of a measure; add one of"),
        ({"continuity": True}, "continuity: there is no chi-square or p to correct"),
        ({"variance": "sato"}, "variance: 'sato' is that of limits of a pooled risk difference"),
        ({"decimals": {"odds ratio": 2}}, "decimals for 'odds ratio', which is not released"),
    ],
)
def test_entries_that_cannot_be_used(changes, message):
    entry = {"event": "ill", "exposure": "smoker", **changes}
    with pytest.raises(OutputError, match=message) as caught:
        AssociationEntry(kind="association", **entry).build(CODEBOOK, 1)
    assert "\n" not in str(caught.value)


def test_too_many_strata():
    codebook = Codebook(
        (
            *(Variable("day", "integer", tuple(range(300))), Variable("ill", "integer", (0, 1))),
            Variable("sex", "integer", (1, 2)),
        )
    )
    with pytest.raises(OutputError, match="2 levels of 'sex' in 300 strata are too many: 1,200 totals, at most 1,000"):
        Association(codebook, "a", "ill", "sex", ("day",))


LIGHT = "smoker=light: "


@pytest.mark.parametrize(
    ("statistics", "values", "message"),
    [
        (("risk ratio",), {"risk ratio": -1}, "risk ratio is -1; risks and their differences are at most 1"),
        (("risk difference",), {"risk difference": 1.2}, "risk difference is 1.2; risks and"),
        (("cases",), {"cases": 2.5}, "whole"),
        (("cases", "n"), {"cases": 5, "n": 4}, "light: cases is above smoker=light: n; the first is never"),
        (
            ("risk ratio", "limits"),
            dict(zip(("risk ratio", "l", "u"), (2, 2.5, 3), strict=True)),
            "lower limit is above",
        ),
        (("risk", "cases", "n"), {"risk": 0.5, "cases": 4, "n": 10}, "risk is 0.5; the risks, or cases and records"),
        (("risk", "risk ratio"), {"no": 0.1, "risk": 0.2, "risk ratio": 3}, "risk ratio is 3; the risks, or cases"),
        (
            ("odds ratio", "limits"),
            dict(zip(("odds ratio", "l", "u"), (2.25, 0.93, 5.7), strict=True)),
            r"are 0.93 and 5.7 about 2.25; they are as far from it on both sides on the log .*\(Stata: cc, woolf\)",
        ),
    ],
)
def test_released_values_that_no_data_can_have(statistics, values, message):
    output = association(statistics=statistics)
    low = np.full(len(output.labels), -np.inf)
    for name, value in values.items():
        measure = next(iter(statistics))
        label = {
            "l": f"{LIGHT}{measure} lower limit",
            "u": f"{LIGHT}{measure} upper limit",
            "no": "smoker=no: risk",
        }.get(name, f"{LIGHT}{name}")
        low[output.labels.index(label)] = value
    high = np.where(np.isinf(low), np.inf, low)
    with pytest.raises(OutputError, match=message) as caught:
        released(output, low, high)
    assert "\n" not in str(caught.value)


def test_values_are_given_by_label():
    output = association(statistics=("risk ratio", "limits"), where="smoker != 'heavy'")
    values = {
        f"{LIGHT}risk ratio{end}": each for end, each in (("", 2), (" lower limit", 0.99), (" upper limit", 4.05))
    }
    (found,) = released_as_given([output], values, None)
    assert found.known.tolist() == [True] * 3 and output.labels == list(values)


def test_the_python_way_in_is_the_study_file_s():
    frame = even_records(CODEBOOK, 3, 200).frame()
    entry = outrisk.Association("ill", "smoker", "age", statistics=["odds ratio", "limits"], show="strata")
    found = outrisk.check(frame, [entry], keys=["age"], target="ill")
    assert "not looked at" not in set(found.findings["rule"])
    (built,) = AssociationEntry(**entry.document).build(CODEBOOK, 1)
    assert built.name == "association of ill with smoker over age" and built.tables == ("strata",)
    assert len(built.labels) == 18


def found_by_look(output, data, rule):
    return [each for each in look([output], data, Appetite()) if each.rule == rule]


def test_the_look_finds_few_people_behind_the_counts():
    data = records([[[40, 20], [30, 3], [5, 20]]])
    found = found_by_look(association(statistics=("risk ratio", "limits")), data, "small cells")
    few, others = sorted(found, key=lambda each: each.people)
    assert (few.people, others.people) == (3, 5)
    assert "1 cell of 3 rests on fewer than 10 records that add to ill = 1" in few.what and "give it away" in few.what
    assert "smoker=light: 3" in few.places and "smoker=heavy: 5" in others.places and "ill = 0" in others.what
    told = association(statistics=("n", "cases"))
    assert "give it away" not in found_by_look(told, data, "small cells")[0].what


def test_the_look_finds_levels_with_one_answer():
    data = records([[[40, 20], [30, 0], [0, 25]], [[40, 20], [30, 30], [25, 25]]])
    nobody, everybody = found_by_look(
        association("by age", statistics=("risk",), show=("strata",)), data, "same answer"
    )
    assert nobody.certain and everybody.certain and {nobody.people, everybody.people} == {30, 25}
    assert {nobody.about, everybody.about} == {"ill"} and "anybody who knows age and smoker" in nobody.what
    pooled = association("by age", statistics=("risk ratio",), show=("pooled",))
    assert not found_by_look(pooled, data, "same answer")  # in all strata there are both
    few = records([[[40, 20], [30, 0], [20, 25]], [[40, 20], [30, 0], [25, 25]]])
    (found,) = found_by_look(pooled, few, "same answer")
    assert found.people == 60 and "anybody who knows smoker" in found.what
    coarse = association("by age", statistics=("risk ratio",), show=("pooled",), places=0)
    assert not found_by_look(coarse, few, "same answer")  # one case more would not be printed
    assert not found_by_look(association("by age", statistics=("n",), show=("strata",)), data, "same answer")


def test_cells_are_where_records_are():
    output, data = association("by age"), random_records(CODEBOOK, 3, 90)
    (part,) = output.parts(np.zeros(len(output.labels)))
    totals = records_of_model(part.model, data.codes).totals(np.ones(len(data)))
    frame = data.frame().dropna(subset=["ill", "smoker", "age"])
    expected = [
        ((frame["age"] == age) & (frame["smoker"] == smoker) & (frame["ill"] == ill)).sum()
        for age in (40, 60, 80)
        for smoker in ("no", "light", "heavy")
        for ill in (0, 1)
    ]
    assert totals.tolist() == expected
