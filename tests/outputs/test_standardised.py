"""Standardised rates by hand, against R, and from totals against a refit; what they tell, and values that cannot be."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, assert_reproduced, even_records, numbers_of, random_records, refit_of, slopes_of
from slow import block_totals

import outrisk
from outrisk.assess.look import Appetite, look
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Standardised, StandardisedEntry, release, released, released_as_given
from outrisk.outputs.conflicts import conflicts
from outrisk.outputs.smooth.standard_rates import StandardRates
from outrisk.outputs.smooth.standardised_told import sums_told

CODEBOOK = Codebook(
    (
        Variable("age", "numeric", (40, 60, 80), missing=True),
        Variable("sex", "categorical", ("f", "m"), missing=True),
        Variable("region", "categorical", ("north", "south", "west")),
        Variable("died", "integer", (0, 1), missing=True),
        Variable("months", "integer", (0, 1, 2, 5, 9), missing=True),
    )
)
STANDARD = {"40": 50, "60": 30, "80": 20}
REFERENCE = {"40": 2.0, "60": 0.0, "80": 8.0}
DIRECT = ("rate", "standard error", "limits", "crude rate", "events", "person-time", "n")
RATIO = ("ratio", "expected", *DIRECT[1:])
WAYS = {
    **{each: {"time": "months", "interval": each} for each in ("normal", "fay-feuer", "dobson-byar", "dobson-exact")},
    "prevalence": {},
    "poisson": {"variance": "poisson"},
    "of records": {"interval": "fay-feuer"},
    **{
        f"ratio, {each}": {"time": "months", "interval": each, "method": "indirect", "reference": REFERENCE}
        for each in ("exact", "byar", "log")
    },
    "ratio of records": {"method": "indirect", "reference": REFERENCE},
}


def standardised(way, by=("sex",), statistics=None, over=("age",), standard=None, where="", per=1000.0, **more):
    options = WAYS[way]
    ratio = options.get("method") == "indirect"
    every = [each for each in (RATIO if ratio else DIRECT) if each != "person-time" or "time" in options]
    given_ = {} if ratio else standard or STANDARD
    return Standardised(
        CODEBOOK, "s", "died", over, given_, by, statistics=statistics or tuple(every), per=per, where=where,
        **options, **more,
    )  # fmt: skip


def records(*rows):
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))


FEW = records(  # of age 40: one of 7 months died; of 60: one of 11; of 80: both, of 3 months
    *([0, 0, 0, 0, 3], [0, 0, 0, 1, 2], [1, 0, 0, 0, 4], [1, 1, 1, 1, 2], [2, 0, 0, 1, 1], [2, 1, 2, 1, 2]),
    *([3, 0, 0, 1, 1], [0, 0, 0, 2, 1], [0, 1, 0, 1, 5]),
)


def test_a_rate_by_hand():
    found = dict(zip(standardised("normal", ()).labels, standardised("normal", ()).refit(FEW), strict=True))
    rate = 0.5 / 7 + 0.3 / 11 + 0.2 * 2 / 3
    error = (0.25 / 49 + 0.09 / 121 + 0.04 * 2 / 9) ** 0.5
    assert found["all: rate"] == pytest.approx(1000 * rate)
    assert found["all: standard error"] == pytest.approx(1000 * error)
    assert found["all: lower limit"] == pytest.approx(1000 * (rate - 1.959964 * error), abs=1e-3)
    assert found["all: crude rate"] == pytest.approx(1000 * 4 / 21)
    assert [found[f"all: {each}"] for each in ("events", "person-time", "n")] == [4, 21, 6]


def test_a_prevalence_by_hand():
    output = standardised("prevalence", (), ("rate", "standard error", "n"), per=100.0)
    rate, error, n = output.refit(FEW)
    assert rate == pytest.approx(100 * (0.5 * 2 / 3 + 0.3 / 2 + 0.2))  # months are not asked for
    assert error == pytest.approx(100 * (0.25 * 2 / 27 + 0.09 / 8) ** 0.5)
    assert n == 7
    poisson = standardised("poisson", (), ("standard error",), per=100.0).refit(FEW)
    assert poisson == pytest.approx(100 * (0.25 * 2 / 9 + 0.09 / 4 + 0.04 / 2) ** 0.5)


def test_a_ratio_by_hand():
    output = standardised("ratio, log", (), ("events", "expected", "ratio", "standard error", "limits"))
    events, expected, ratio, error, low, high = output.refit(FEW)
    assert (events, expected) == (4, pytest.approx((2 * 7 + 8 * 3) / 1000))
    assert ratio == pytest.approx(4 / expected) and error == pytest.approx(2 / expected)
    assert np.log([ratio / low, high / ratio]) == pytest.approx([1.959964 / 2] * 2, abs=1e-6)


def test_what_is_not_defined_is_nan_and_no_zero():
    output = standardised("dobson-exact")  # of the men nobody of 40 is counted
    men = dict(zip(output.labels, output.refit(FEW), strict=True))
    assert all(np.isnan(men[f"sex=m: {each}"]) for each in ("rate", "standard error", "lower limit", "upper limit"))
    assert men["sex=m: crude rate"] == pytest.approx(500.0) and men["sex=m: events"] == 2
    alive = records([0, 0, 0, 0, 1], [1, 0, 0, 0, 1], [2, 0, 0, 0, 1])
    women = dict(zip(output.labels, output.refit(alive), strict=True))
    assert women["sex=f: rate"] == women["sex=f: standard error"] == 0
    assert np.isnan(women["sex=f: lower limit"]) and np.isnan(women["sex=m: crude rate"])
    gamma = dict(zip(output.labels, standardised("fay-feuer").refit(alive), strict=True))
    assert gamma["sex=f: lower limit"] == 0 < gamma["sex=f: upper limit"]


DOWN = {  # Down's syndrome by mother's age, of first and of fifth and later children (Fleiss 1981, p. 249)
    "first": ([107, 141, 60, 40, 39, 25], [230061, 329449, 114920, 39487, 14208, 3052]),
    "fifth": ([0, 8, 63, 112, 262, 295], [327, 30666, 123419, 149919, 104088, 34392]),
}
ALL = np.array([319933, 931318, 786511, 488235, 237863, 61313])
FROM_R = {  # R 4.2: crude rate, rate, its standard error, limits by qgamma (Fay and Feuer 1997), by Dobson with qchisq
    "first": [56.3475054604, 92.3045255332, 6.26017789217, 80.4417498507, 105.763345749, 80.329480832, 105.187005529],
    "fifth": [167.114186414, 75.5290074453, 4.10208446325, 67.7021204177, 188.300172728, 67.6328352583, 83.8670317435],
}  # fmt: skip


@pytest.mark.parametrize("order", DOWN)
def test_the_example_of_fay_and_feuer(order):
    totals, expected = np.concatenate(DOWN[order]).astype(float), FROM_R[order]
    shown = ("crude rate", "rate", "standard error", "lower limit", "upper limit")

    def numbers(interval):
        decimals = np.full(len(shown), 1)
        direct = StandardRates(
            "direct", ALL / ALL.sum(), shown, 1, 1e5, interval, 0.95, "poisson", False, 0.5, 1.0, decimals
        )
        return direct.numbers(totals, NO_INFORMATION)

    np.testing.assert_allclose(numbers("fay-feuer"), expected[:5], rtol=1e-9)
    np.testing.assert_allclose(numbers("dobson-exact")[3:], expected[5:], rtol=1e-7)
    np.testing.assert_allclose(numbers("dobson-byar")[3:], expected[5:], rtol=1e-2)


def test_exact_limits_of_a_ratio_are_those_of_r():
    """R 4.2: poisson.test(17, 11.2)."""
    shown = ("ratio", "lower limit", "upper limit")
    ratio = StandardRates(
        "indirect", np.array([0.1]), shown, 1, 1.0, "exact", 0.95, "poisson", False, 0.5, 1.0, np.full(3, 3)
    )
    expected = [1.517857142857, 0.884207720501, 2.430236322849]
    np.testing.assert_allclose(ratio.numbers(np.array([17.0, 112.0]), NO_INFORMATION), expected, rtol=1e-9)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(), ("region",), ("region", "sex")]),
    st.sampled_from(["", "region != 'west'", "sex == 'm' and months > 0"]),
)
def test_totals_and_refit_agree(way, seed, by, where):
    data = random_records(CODEBOOK, seed, 90)
    output = standardised(way, by, where=where)
    expected = refit_of(output, data)
    np.testing.assert_allclose(numbers_of(output, data), expected, rtol=1e-9, atol=1e-9)
    output.check(*output.publish(expected))


def test_strata_of_several_variables_and_of_a_subset():
    data = even_records(CODEBOOK, 1, 300)
    both = {f"{age}, {sex}": weight for age, weight in STANDARD.items() for sex in "fm"}
    output = standardised("normal", ("region",), over=("age", "sex"), standard=both)
    np.testing.assert_allclose(numbers_of(output, data), output.refit(data), rtol=1e-9)
    some = {label: weight for label, weight in both.items() if "40" not in label}
    older = standardised("normal", ("region",), over=("age", "sex"), standard=some, where="age > 40")
    np.testing.assert_allclose(numbers_of(older, data), older.refit(data), rtol=1e-9)
    assert older.strata.labels == ["60, f", "60, m", "80, f", "80, m"]
    twice = standardised("normal", ("region",), over=("age", "sex"), standard=dict.fromkeys(some, 7), where="age > 40")
    once = standardised("normal", ("region",), over=("age", "sex"), standard=dict.fromkeys(some, 1), where="age > 40")
    np.testing.assert_allclose(twice.refit(data), once.refit(data))


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_agree_with_differences(way):
    output = standardised(way, ("region",))
    (part,) = output.parts(np.zeros(len(output.labels)))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        totals = rng.uniform(1, 9, part.model.size)
        totals[9:18] += 9
        found, expected, size = slopes_of(part, totals, 1e-4)
        np.testing.assert_allclose(found / size, expected / size, atol=1e-7)
        precision = part.map.precision(totals, NO_INFORMATION)
        assert np.isfinite(precision).all() and (np.linalg.eigvalsh(precision) > 0).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fill", [np.zeros, np.ones, lambda m: np.eye(m)[3], lambda m: np.eye(m)[-1]])
def test_odd_totals_give_nan_and_finite_slopes(way, fill):
    output = standardised(way)
    (part,) = output.parts(np.zeros(len(output.labels)))
    totals = fill(part.model.size)
    assert part.map.numbers(totals, NO_INFORMATION).shape == (len(output.labels),)
    assert np.isfinite(part.map.jacobian(totals, NO_INFORMATION)).all()
    assert np.isfinite(part.map.precision(totals, NO_INFORMATION)).all()


@pytest.mark.parametrize("proves", [False, True])
@pytest.mark.parametrize("way", ["normal", "prevalence", "ratio, exact"])
@pytest.mark.parametrize("seed", range(8))
def test_counts_first_are_the_numbers_in_another_order(way, proves, seed):
    data, output = random_records(CODEBOOK, seed, 90), standardised(way, ("region",))
    try:
        low, high = output.publish(output.refit(data))
    except OutputError:
        return
    found = output.counts_first(low, high, proves)
    seen, at = [], 0
    for part in found.parts:
        totals = np.concatenate([block_totals(block, data.codes) for block in part.blocks])
        more = (NO_INFORMATION,) if hasattr(part, "model") else ()
        seen.append(part.map.numbers(totals, *more))
        at += part.n_numbers
    numbers = np.concatenate(seen)
    assert at == len(found.labels) == len(low)
    np.testing.assert_allclose(numbers, found.output.refit(data), rtol=1e-9, atol=1e-9)
    assert (found.is_matched(numbers) | ~found.known).all()
    assert found.labels[0].endswith("events") and sorted(found.of) == list(range(len(low)))


@pytest.mark.parametrize("way", ["ratio, exact", "ratio, byar", "ratio, log", "ratio of records"])
def test_a_ratio_with_limits_tells_the_events_and_what_was_expected(way):
    data = even_records(CODEBOOK, 4, 200)
    for shown in (("ratio", "limits"), ("ratio", "standard error")):
        output = standardised(way, ("region",), shown, places=4, per=10.0)
        numbers = dict(
            zip(*([one := standardised(way, ("region",), per=10.0)][0].labels, one.refit(data)), strict=True)
        )
        told = output.implied(*output.publish(output.refit(data)))
        names = ("events", "expected")[: len(told)]
        for name, each in zip(names, told, strict=True):
            actual = [numbers[f"region={region}: {name}"] for region in ("north", "south", "west")]
            np.testing.assert_allclose(each.refit(data), actual)
            assert (each.low <= np.array(actual) + 1e-9).all() and (np.array(actual) - 1e-9 <= each.high).all()
        assert (told[0].low == told[0].high).all() and told[0].kind == "existence"
        proving = output.counts_first(*output.publish(output.refit(data)), proves=True)
        assert proving.labels[0] == "region=north: events by the other numbers"
        assert proving.low[:3].tolist() == told[0].low.tolist()


def test_a_crude_rate_beside_its_denominator_tells_the_events():
    data = even_records(CODEBOOK, 5, 120)
    output = standardised("prevalence", ("region",), ("rate", "crude rate", "n"), per=100.0)
    told = output.implied(*output.publish(output.refit(data)))
    events = standardised("prevalence", ("region",), ("events",)).refit(data)
    assert told[-1].low.tolist() == told[-1].high.tolist() == events.tolist()


def test_a_number_of_records_is_whole_beside_a_crude_rate():
    """59 of 61 print as 97: had the number half a digit of its own, they would be told as well."""
    output = standardised("prevalence", (), ("crude rate", "n"), per=100.0, places=0)
    events = sums_told(output, np.array([98.0, 61.0]), np.array([98.0, 61.0]))["events"]
    assert [each.tolist() for each in events] == [[60.0], [60.0]]


def test_a_direct_rate_says_that_each_stratum_has_somebody():
    output = standardised("normal", ("sex",), ("rate",))
    (found,) = output.implied(*output.publish(output.refit(FEW)))  # the men have no rate
    assert found.low.tolist() == [1, 1, 1] and np.isinf(found.high).all()
    assert found.refit(FEW).tolist() == [2, 1, 1]


def test_numbers_of_records_are_held_against_tables():
    output = standardised("prevalence", ("region",), ("events", "n"))
    low, high = output.publish(output.refit(FEW))
    n, events = {each.by: each for each in output.counts(low, high)}.values()
    assert n.low.tolist() == [5, 1, 1] and np.isinf(n.high).all()  # others may lack their age, or whether they died
    assert events.by == ("region", "died") and events.low[:, 1].tolist() == [3, 1, 1]
    assert np.isinf(events.high).all()
    table = release(Frequencies(CODEBOOK, "table", ("region",)), FEW)  # of all, the two without a value among them
    assert not conflicts(CODEBOOK, [released(output, low, high), table], len(FEW))


@pytest.mark.parametrize("way", ["normal", "fay-feuer", "dobson-exact", "ratio, exact", "ratio of records"])
def test_a_release_of_300_people_is_reproduced(way):
    rng = np.random.default_rng(3)
    age = rng.integers(0, 3, 300)
    codes = [age, rng.integers(0, 2, 300), rng.integers(0, 3, 300), rng.random(300) < 0.1 + 0.1 * age]
    original = Microdata(CODEBOOK, np.stack([*codes, rng.integers(0, 5, 300)], axis=1).astype(np.uint16))
    ratio = way.startswith("ratio")
    shown = ("ratio", "limits") if ratio else ("rate", "limits", "crude rate", "n")
    outputs = [
        standardised(way, ("region",), shown, places=1, per=100.0),
        standardised(way, ("sex",), ("events", "ratio" if ratio else "rate"), places=1, per=100.0),
        Frequencies(CODEBOOK, "table", ("age", "sex")),
    ]
    problem = Problem(CODEBOOK, 300, tuple(release(each, original) for each in outputs))
    assert_reproduced(problem)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"event": "nobody"}, "no variable 'nobody'"),
        ({"event": "region"}, "say with 'event_value' which value of 'region' counts"),
        ({"event_value": "2"}, "'2' is not a value of 'died'"),
        ({"by": "age"}, "event, time, over and by must be different variables"),
        ({"time": "region"}, "'region' is categorical and a number is needed"),
        ({"time": "change"}, "time: 'change' has values from -1 to 1; person-time is from 0 on"),
        ({"standard": {}}, "standard: is missing; give each stratum its weight: '40', '60', '80'"),
        ({"standard": {**STANDARD, "400": 1}}, "no stratum '400' of age; did you mean '40'"),
        ({"standard": {**STANDARD, 60.5: 1}}, "there is no stratum '60.5' of age"),
        ({"standard": {"40": 1, "60": 2}}, "standard: stratum '80' has no number; add one for '80'"),
        ({"standard": {**STANDARD, "60": 0}}, "stratum '60' has 0; weights are above 0"),
        ({"standard": {**STANDARD, "60": -2}}, "stratum '60' has -2; weights are above 0"),
        ({"where": "age < 80"}, "there is no stratum '80' of age where age < 80"),
        ({"reference": REFERENCE}, "reference: direct standardisation takes 'standard'"),
        ({"method": "indirect"}, "standard: indirect standardisation takes 'reference'"),
        ({"method": "indirect", "standard": {}}, "reference: is missing; give each stratum its rate"),
        ({"method": "indirect", "standard": {}, "reference": dict.fromkeys(STANDARD, 0)}, "all rates are 0"),
        ({"method": "indirect", "standard": {}, "reference": {**STANDARD, "40": -1}, "per": 100}, "-1; rates are"),
        ({"method": "indirect", "standard": {}, "reference": REFERENCE}, "are more than one a record; give"),
        ({"statistics": "ratio"}, "direct standardisation has no 'ratio'; it has"),
        ({"statistics": "person-time"}, "there is no person-time without 'time'"),
        ({"interval": "exact"}, "direct standardisation has no 'exact' limits; it has"),
        ({"variance": "binomial", "time": "months"}, "variance: 'binomial' is that of events among records"),
        ({"variance": "binomial", "interval": "fay-feuer"}, "variance: 'binomial' is that of"),
        ({"decimals": {"ratio": 2}}, "decimals for 'ratio', which is not released"),
    ],
)  # fmt: skip
def test_entries_that_cannot_be_used(changes, message):
    codebook = Codebook((*CODEBOOK.variables, Variable("change", "integer", (-1, 0, 1))))
    entry = {"event": "died", "over": "age", "standard": STANDARD, **changes}
    with pytest.raises(OutputError, match=message) as caught:
        StandardisedEntry(kind="standardised", **entry).build(codebook, 1)
    assert "\n" not in str(caught.value)


def test_too_many_strata():
    codebook = Codebook((Variable("day", "integer", tuple(range(2_100))), Variable("ill", "integer", (0, 1))))
    with pytest.raises(OutputError, match="2,100 strata in 1 groups are too many: 4,200 totals, at most 4,000"):
        Standardised(codebook, "s", "ill", ("day",), {str(day): 1 for day in range(2_100)})


@pytest.mark.parametrize(
    ("way", "statistics", "values", "message"),
    [
        ("normal", ("rate",), [-1], "all: rate is -1; nothing here is below 0"),
        ("prevalence", ("rate",), [1001], "all: rate is 1001; nothing here is below 0, nor a rate above 1000"),
        ("normal", ("events",), [2.5], "whole"),
        ("prevalence", ("events", "n"), [5, 4], "all: events is 5 and all: n 4; the first is never above the other"),
        ("normal", ("rate", "limits"), [10, 11, 12], "all: lower limit is 11 and all: rate 10; the first is never"),
        ("normal", ("rate", "limits"), [10, 8, 9], "all: rate is 10 and all: upper limit 9"),
        ("prevalence", ("crude rate", "events", "n"), [500, 4, 10], "crude rate is 500; events and n make it another"),
        ("ratio, exact", ("ratio", "expected", "events"), [2, 3, 4], "ratio is 2; events and expected make it another"),
        (
            "ratio of records",
            ("ratio", "standard error"),
            [1.0, 0.6],
            "no number of events of all has all of its numbers",
        ),
        ("ratio, exact", ("ratio", "limits"), [1.52, 0.88, 2.6], "no number of events has these exact limits at 95 %"),
    ],
)
def test_released_values_that_no_data_can_have(way, statistics, values, message):
    output = standardised(way, (), statistics)
    with pytest.raises(OutputError, match=message) as caught:
        released(output, np.array(values, float))
    assert "\n" not in str(caught.value)


def test_values_are_given_by_label():
    output = standardised("ratio, exact", ("sex",), ("ratio", "limits"))
    values = {f"sex=f: {each}": value for each, value in zip(output.shown, (1.52, 0.88, 2.43), strict=True)}
    (found,) = released_as_given([output], {**values, **{f"sex=m: {each}": "withheld" for each in output.shown}}, None)
    assert found.known.tolist() == [True] * 3 + [False] * 3
    (events, _) = found.implied
    assert (events.low[0], events.high[0]) == (17, 17) and np.isinf(events.high[1])


def test_the_python_way_in_is_the_study_file_s():
    frame = even_records(CODEBOOK, 3, 200).frame()
    weights = pd.Series({40: 5, 60: 3, 80: 2})
    entry = outrisk.Standardised("died", "age", "sex", standard=weights, time="months", statistics=["rate", "events"])
    found = outrisk.check(frame[["age", "sex", "died", "months"]], [entry], keys=["age"], target="died")
    assert "not looked at" not in set(found.findings["rule"])
    document = {**entry.document, "standard": {int(age): weight for age, weight in weights.items()}}
    (built,) = StandardisedEntry(**document).build(CODEBOOK, 1)
    assert built.name == "died standardised over age by sex" and built.standard == {"40": 5, "60": 3, "80": 2}


def test_the_look_finds_few_events_and_groups_without_any():
    rows = [[age, 0, 0, died, 2] for age in (0, 1, 2) for died in (0, 1, 0, 1, 0)]
    rows += [[age, 1, 0, 0, 2] for age in (0, 1, 2, 0, 1, 2)]
    data = records(*rows)
    for way, told in (("normal", False), ("ratio, exact", True)):
        output = standardised(way, statistics=("ratio" if told else "rate", "limits"))
        found = {each.rule: each for each in look([output], data, Appetite())}
        assert set(found) == {"small cells", "same answer"}
        few, nobody = found["small cells"], found["same answer"]
        assert few.people == 6 and "1 cell of 2 rests on fewer than 10 records that add to died = 1" in few.what
        assert ("give it away" in few.what) == told and "sex=f: 6" in few.places
        assert nobody.certain and nobody.people == 6 and nobody.about == "died"
        assert "died = 1 of 6 people is told for certain to anybody who knows sex" in nobody.what
    coarse = standardised("normal", statistics=("rate",), per=1e-6, places=0)  # one event more is not printed
    assert [each.rule for each in look([coarse], data, Appetite())] == ["small cells"]


def test_what_says_nothing_of_events_tells_nobody_s_answer():
    data = records([0, 0, 0, 1, 2], *([age, 1, 0, 0, 2] for age in (0, 1, 2) * 20))
    for statistics in (("expected",), ("n",), ("person-time",)):
        output = standardised("ratio, exact", statistics=statistics)
        assert not [each for each in look([output], data, Appetite()) if each.rule == "same answer"]
    limits = standardised("ratio, log", statistics=("ratio", "limits"), places=1)  # undefined without events
    (found,) = (each for each in look([limits], data, Appetite()) if each.rule == "same answer" and each.people == 60)
    assert found.certain


def test_strata_that_are_called_alike_and_weights_that_are_no_numbers():
    book = Codebook(
        (
            *(Variable("ill", "integer", (0, 1)), Variable("u", "categorical", ("a", "a, b"))),
            Variable("v", "categorical", ("b, c", "c")),
        )
    )
    with pytest.raises(OutputError, match="two strata of u, v are called 'a, b, c', as their levels have commas"):
        Standardised(book, "s", "ill", ("u", "v"), {"a, b, c": 1.0})
    entry = {"kind": "standardised", "event": "died", "over": "age"}
    for standard, message in (
        ({40: True}, "stratum '40' has True; write a number"),
        ({40: 1, "40": 2}, "stands there t"),
    ):
        with pytest.raises(ValueError, match=message):
            StandardisedEntry(**entry, standard=standard)


def test_a_group_of_one_person_and_one_in_which_all_have_the_event():
    data = records([0, 0, 0, 1, 2], [0, 1, 0, 1, 2], [2, 1, 0, 1, 2])
    output = standardised("ratio of records", statistics=("ratio", "events"), per=10.0)
    found = [each for each in look([output], data, Appetite()) if each.rule == "same answer"]
    assert [(each.certain, each.people) for each in found] == [(True, 1), (False, 2)]
