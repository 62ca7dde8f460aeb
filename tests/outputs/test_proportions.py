"""Proportions by hand, against published limits, R, scipy and statsmodels; what they tell; values that cannot be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, assert_reproduced, even_records, numbers_of, random_records, refit_of, slopes_of
from scipy import stats
from slow import block_totals
from statsmodels.stats.proportion import proportion_confint

import outrisk
from outrisk.assess.look import Appetite, look
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Proportions, ProportionsEntry, release, released, released_as_given
from outrisk.outputs.conflicts import conflicts
from outrisk.outputs.smooth import pairs_behind
from outrisk.outputs.smooth.binomial_limits import BinomialLimits
from outrisk.outputs.smooth.pairs_behind import Printed, behind
from outrisk.outputs.smooth.proportions_told import pairs_told
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.programme import programme

CODEBOOK = Codebook(
    (
        Variable("sex", "categorical", ("f", "m"), missing=True),
        Variable("region", "categorical", ("north", "south", "west")),
        Variable("smoker", "categorical", ("never", "former", "current"), missing=True),
        Variable("ill", "integer", (0, 1), missing=True),
    )
)
EVERY = ("proportion", "standard error", "limits", "events", "n")
WAYS = {
    **{each: {"interval": each} for each in ("exact", "wilson", "wilson-continuity", "normal", "logit")},
    **{each: {"interval": each} for each in ("agresti-coull", "jeffreys")},
    **{f"{each}, t": {"interval": each, "divisor": "n-1", "distribution": "t"} for each in ("normal", "logit")},
}


def proportions(way="exact", by=("region",), statistics=EVERY, event="ill", per=100.0, **more):
    return Proportions(CODEBOOK, "p", event, by, statistics, per, **WAYS[way], **more)


def limits_of(way, level=0.95):
    options = {"interval": way, "divisor": "n", "distribution": "normal"} | WAYS.get(way, {})
    return BinomialLimits(options["interval"], level, options["divisor"], options["distribution"])


def records(*counts):
    """Records of the regions in turn: of each so many ill, and so many not."""
    rows = [[0, region, 0, ill] for region, two in enumerate(counts) for ill in (1, 0) for _ in range(two[1 - ill])]
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))


NEWCOMBE = {  # Statistics in Medicine 17, 1998, table I: exact, score, score with continuity correction
    (81, 263): [(0.2527, 0.3676), (0.2553, 0.3662), (0.2535, 0.3682)],
    (15, 148): [(0.0578, 0.1617), (0.0624, 0.1605), (0.0598, 0.1644)],
    (0, 20): [(0.0000, 0.1684), (0.0000, 0.1611), (0.0000, 0.2005)],
    (1, 29): [(0.0009, 0.1776), (0.0061, 0.1718), (0.0018, 0.1963)],
}
FROM_R = {  # R 4.2: prop.test, prop.test(correct = FALSE), binom.test
    (12, 98): [(0.06763047, 0.2078939), (0.071452, 0.2019284), (0.06490049, 0.2041269)],
    (5, 10): [(0.2365931, 0.7634069), (0.2365931, 0.7634069), (0.187086, 0.812914)],
    (7, 13): [(0.2612033, 0.7959825), (0.291438, 0.7679393), (0.2513455, 0.8077676)],
    (10, 10): [(0.6554628, 1), (0.7224672, 1), (0.6915029, 1)],
}


def test_published_limits():
    for pair, expected in NEWCOMBE.items():
        for way, ends in zip(("exact", "wilson", "wilson-continuity"), expected, strict=True):
            np.testing.assert_allclose(limits_of(way).of(*pair), ends, atol=6e-5)


def test_limits_of_r():
    for pair, expected in FROM_R.items():
        for way, ends in zip(("wilson-continuity", "wilson", "exact"), expected, strict=True):
            np.testing.assert_allclose(limits_of(way).of(*pair), ends, rtol=1e-6)
    survey = limits_of("logit, t")  # R 4.2, survey 4.1: svymean, svyciprop(method = "logit"), of 12 among 98
    assert survey.error(12, 98) == pytest.approx(0.03328341697)
    np.testing.assert_allclose(survey.of(12, 98), (0.07016267704, 0.20510497397), rtol=1e-9)


def test_limits_of_statsmodels_and_scipy():
    pairs = [(a, n) for n in (1, 2, 7, 40) for a in range(n + 1)]
    methods = {"exact": "beta", "wilson": "wilson", "normal": "normal", "agresti-coull": "agresti_coull"}
    for a, n in pairs:
        for way, method in methods.items():
            np.testing.assert_allclose(
                limits_of(way, 0.9).of(a, n), proportion_confint(a, n, 0.1, method), rtol=1e-9, atol=1e-12
            )
        low, high = proportion_confint(a, n, 0.1, "jeffreys")
        expected = (0.0 if a == 0 else low, 1.0 if a == n else high)
        np.testing.assert_allclose(limits_of("jeffreys", 0.9).of(a, n), expected, rtol=1e-9)
        exact = stats.binomtest(a, n).proportion_ci(0.9)
        np.testing.assert_allclose(limits_of("exact", 0.9).of(a, n), (exact.low, exact.high), rtol=1e-6, atol=1e-12)


def test_by_hand():
    data = records((12, 86), (0, 10), (3, 0))
    output = proportions("normal")
    found = dict(zip(output.labels, output.refit(data), strict=True))
    error = (0.12244898 * 0.87755102 / 98) ** 0.5
    assert found["region=north: proportion"] == pytest.approx(12.244898)
    assert found["region=north: standard error"] == pytest.approx(100 * error)
    assert found["region=north: upper limit"] == pytest.approx(12.244898 + 195.9964 * error)
    assert [found[f"region=south: {each}"] for each in ("proportion", "events", "n", "upper limit")] == [0, 0, 10, 0]
    assert found["region=west: lower limit"] == 100


def test_what_is_not_defined_is_nan_and_no_zero():
    data = records((1, 0), (0, 10))  # nobody in the west
    found = dict(zip(proportions("logit, t").labels, proportions("logit, t").refit(data), strict=True))
    for label, value in found.items():
        if label.endswith((": events", ": n")):
            assert np.isfinite(value)
        elif "west" in label or "limit" in label or label == "region=north: standard error":
            assert np.isnan(value)
        else:
            assert np.isfinite(value)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(), ("region",), ("region", "sex")]),
    st.sampled_from(["ill", "smoker"]),
    st.sampled_from(["", "region != 'west'"]),
)
def test_totals_and_refit_agree(way, seed, by, event, where):
    data = random_records(CODEBOOK, seed, 90)
    output = proportions(way, by, event=event, where=where)
    expected = refit_of(output, data)
    np.testing.assert_allclose(numbers_of(output, data), expected, rtol=1e-9, atol=1e-9)
    output.check(*output.publish(expected))
    some = proportions(way, by, ("proportion", "limits"), event=event, where=where)
    low, high = some.publish(some.refit(data))
    some.check(low, high)
    events, n = (proportions(way, by, (each,), event=event, where=where).refit(data) for each in ("events", "n"))
    for told, a, of in zip(pairs_told(some, low, high), events, n, strict=True):
        if told.pairs is not None and of:
            assert (told.pairs == [a, of]).all(axis=1).any()
        assert not of or (told.events[0] <= a <= told.events[1] and told.n[0] <= of <= told.n[1])


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_agree_with_differences(way):
    output = proportions(way)
    (part,) = output.parts(np.zeros(len(output.labels)))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        totals = np.concatenate([rng.uniform(2, 7, 3), rng.uniform(16, 30, 3)])
        found, expected, size = slopes_of(part, totals, 1e-4)
        np.testing.assert_allclose(found / np.maximum(size, 1e-9), expected / np.maximum(size, 1e-9), atol=2e-5)
        precision = part.map.precision(totals, NO_INFORMATION)
        assert np.isfinite(precision).all() and (np.linalg.eigvalsh(precision) > 0).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fill", [np.zeros, np.ones, lambda m: np.eye(m)[3], lambda m: np.eye(m)[0]])
def test_odd_totals_give_nan_and_finite_slopes(way, fill):
    output = proportions(way)
    (part,) = output.parts(np.zeros(len(output.labels)))
    totals = fill(part.model.size)
    assert part.map.numbers(totals, NO_INFORMATION).shape == (len(output.labels),)
    assert np.isfinite(part.map.jacobian(totals, NO_INFORMATION)).all()
    assert np.isfinite(part.map.precision(totals, NO_INFORMATION)).all()


def printed_of(limits, a, n, decimals, shown):
    """What is printed of events among n, as ranges; and which pairs (m, 2) print so, by the definition."""
    half = 0.5 * 10.0**-decimals * (1 + 1e-9)

    def numbers(a, n):
        ends = limits.of(a, n)
        of = {"proportion": a / n, "error": limits.error(a, n), "lower": ends[..., 0], "upper": ends[..., 1]}
        return {name: of[name] for name in shown}

    ranges = dict.fromkeys(("proportion", "error", "lower", "upper", "events", "n"), (-np.inf, np.inf))
    for name, value in numbers(float(a), float(n)).items():
        if np.isfinite(value):
            ranges[name] = (float(np.round(value, decimals) - half), float(np.round(value, decimals) + half))
    return Printed(**ranges), numbers


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("small", [5, 500])
@pytest.mark.parametrize("shown", [("proportion", "lower", "upper"), ("proportion", "error"), ("lower", "upper")])
def test_the_pairs_are_those_of_a_brute_force_twin(way, small, shown, monkeypatch):
    """All pairs of up to 60 records, and none beside: also by bisection, where `small` numbers are few."""
    monkeypatch.setattr(pairs_behind, "SMALL", small)
    behind.cache_clear()
    a, n = np.array([(a, n) for n in range(1, 61) for a in range(n + 1)], dtype=float).T
    rng = np.random.default_rng(len(way))
    for at in rng.choice(len(a), 40, replace=False):
        limits = limits_of(way, float(rng.choice([0.8, 0.95, 0.999])))
        printed, numbers = printed_of(limits, a[at], n[at], int(rng.choice([2, 3])), shown)
        fits = np.ones(len(a), dtype=bool)
        for name, values in numbers(a, n).items():
            low, high = getattr(printed, name)
            fits &= np.isneginf(low) | ((values >= low) & (values <= high))
        found, expected = behind(limits, printed), {*zip(a[fits], n[fits], strict=True)}
        if found.pairs is None:
            for events, records_ in expected:
                assert found.events[0] <= events <= found.events[1] and found.n[0] <= records_ <= found.n[1]
        else:
            assert {tuple(pair) for pair in found.pairs if pair[1] <= 60} == expected
    behind.cache_clear()


@pytest.mark.parametrize("way", WAYS)
def test_the_pair_of_many_people_is_never_left_out(way):
    limits, rng = limits_of(way), np.random.default_rng(3)
    for _ in range(30):
        n = int(10 ** rng.uniform(2.5, 5.3))
        a = rng.binomial(n, rng.choice([0.001, 0.1, 0.5, 0.99]))
        printed, _ = printed_of(limits, a, n, int(rng.choice([3, 4, 5])), ("proportion", "lower", "upper"))
        found = behind(limits, printed)
        assert found.events[0] <= a <= found.events[1] and found.n[0] <= n <= found.n[1]
        assert found.pairs is None or (found.pairs == [a, n]).all(axis=1).any()


def test_a_percentage_with_limits_tells_its_denominator():
    output = proportions("exact", (), ("proportion", "limits"))
    (told,) = pairs_told(output, *2 * (np.array([12.2, 6.5, 20.4]),))
    assert told.certain and told.pairs.tolist() == [[12, 98]]
    n, events = output.counts(*2 * (np.array([12.2, 6.5, 20.4]),))
    assert (n.by, float(n.low), float(n.high)) == ((), 98, np.inf)  # there may be more without a value of the event
    assert events.by == ("ill",) and events.low.tolist() == [0, 12, 0] and events.high[1] == 12


def test_tables_of_all_records_are_no_contradiction():
    data = random_records(CODEBOOK, 1, 90)
    table = release(Frequencies(CODEBOOK, "table", ("region",)), data)
    for event in ("ill", "smoker"):
        output = release(proportions(statistics=("proportion", "limits", "n"), event=event), data)
        assert not conflicts(CODEBOOK, [output, table], len(data))


def test_levels_of_a_group_have_the_same_records():
    data = even_records(CODEBOOK, 2, 150)
    output = proportions("wilson", statistics=("proportion", "limits"), event="smoker")
    assert output.labels[0] == "region=north, smoker=never: proportion"
    told = pairs_told(output, *output.publish(output.refit(data)))
    for at in range(0, len(told), 3):
        assert len({tuple(np.unique(each.pairs[:, 1])) for each in told[at : at + 3]}) == 1


@pytest.mark.parametrize("proves", [False, True])
@pytest.mark.parametrize("way", ["exact", "wilson", "logit"])
@pytest.mark.parametrize("event", ["ill", "smoker"])
@pytest.mark.parametrize("seed", range(4))
def test_counts_first_are_the_numbers_in_another_order(way, proves, event, seed):
    data = random_records(CODEBOOK, seed, 400)
    output = proportions(way, ("region",), ("proportion", "limits", "n"), event)
    try:
        low, high = output.publish(output.refit(data))
    except OutputError:
        return
    found = output.counts_first(low, high, proves)
    seen = []
    for part in found.parts:
        totals = np.concatenate([block_totals(block, data.codes) for block in part.blocks])
        seen.append(part.map.numbers(totals, *((NO_INFORMATION,) if hasattr(part, "model") else ())))
    numbers = np.concatenate(seen)
    assert len(numbers) == len(found.labels) == len(found.low)
    np.testing.assert_allclose(numbers, found.output.refit(data), rtol=1e-9, atol=1e-9)
    assert (found.is_matched(numbers) | ~found.known).all()
    assert {*found.of} <= {*range(len(low))}
    if proves:  # records of a group, which each of its rows prints, are told once
        again = [at for at, label in enumerate(output.labels) if label.endswith(": n") and "never" not in label]
        assert {*found.of} == {*range(len(low))} - ({*again} if event == "smoker" else set())
    for each in output.implied(low, high):
        assert each.is_matched(each.refit(data)).all()


@pytest.mark.parametrize("way", ["exact", "wilson", "logit"])
def test_proofs_use_what_limits_tell(way):
    """All three of the south are ill, which limits tell; and no claim is false."""
    book = Codebook((CODEBOOK["region"], Variable("ill", "integer", (0, 1))))
    data = Microdata(book, records((5, 15), (3, 0), (4, 9)).codes[:, [1, 3]])
    outputs = [
        Proportions(book, "p", "ill", ("region",), ("proportion", "limits"), 100.0, way),
        Frequencies(book, "n", ("region",)),
    ]
    known = {"region": data.codes[:, 0].astype(np.int64)}
    of = programme(book, [release(each, data) for each in outputs], len(data), known, ["ill"])
    claims = certain_values(of, "ill")
    found = claims.value >= 0
    assert found[20:23].all() and (claims.value[found] == data.codes[found, 1]).all()


def test_no_claim_about_random_releases_is_false():
    for seed in range(12):
        data = random_records(CODEBOOK, seed, 40)
        some = data.codes[(data.codes[:, 0] < 2) & (data.codes[:, 2] < 3) & (data.codes[:, 3] < 2)]
        way = [*WAYS][seed % len(WAYS)]
        outputs = [
            proportions(way, ("region",), ("proportion", "limits")),
            proportions(way, ("sex",), ("proportion", "standard error"), "smoker", places=3),
        ]
        if not len(some):
            continue
        data = Microdata(CODEBOOK, some)
        known = {name: data.codes[:, j].astype(np.int64) for j, name in enumerate(CODEBOOK.names[:3])}
        of = programme(CODEBOOK, [release(each, data) for each in outputs], len(data), known, ["ill"])
        claims = certain_values(of, "ill")
        found = claims.value >= 0
        assert (claims.value[found] == data.codes[found, 3]).all()


@pytest.mark.parametrize("way", ["exact", "wilson", "normal", "logit, t"])
def test_a_release_of_300_people_is_reproduced(way):
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, 2, 300), rng.integers(0, 3, 300), rng.integers(0, 3, 300), rng.random(300) < 0.2]
    original = Microdata(CODEBOOK, np.stack(codes, axis=1).astype(np.uint16))
    outputs = [
        proportions(way, ("region", "sex"), ("proportion", "limits")),
        proportions(way, ("region",), ("proportion", "standard error", "limits"), "smoker"),
        Frequencies(CODEBOOK, "table", ("sex", "smoker")),
    ]
    problem = Problem(CODEBOOK, 300, tuple(release(each, original) for each in outputs))
    assert_reproduced(problem)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"event": "nobody"}, "no variable 'nobody'"),
        ({"event_value": "2"}, "'2' is not a value of 'ill'"),
        ({"by": "ill"}, "event and by must be different variables"),
        ({"statistics": "limits"}, "limits alone are not released; add the proportion, or the events"),
        ({"statistics": []}, "statistics: \\[\\] must name one or more"),
        ({"distribution": "t"}, "distribution: exact limits have no t; leave it out, or take 'logit' or 'normal'"),
        ({"divisor": "n-1"}, "divisor: nothing here is divided by it"),
        ({"decimals": {"events": 0}}, "decimals for 'events', which is not released"),
    ],
)
def test_entries_that_cannot_be_used(changes, message):
    with pytest.raises(OutputError, match=message) as caught:
        ProportionsEntry(kind="proportions", **{"event": "ill", **changes}).build(CODEBOOK, 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("way", "statistics", "values", "message"),
    [
        ("exact", ("proportion",), [-1], "all: proportion is -1; nothing here is below 0"),
        ("exact", ("proportion",), [101], "all: proportion is 101; nothing here is below 0, nor a share above 100"),
        ("exact", ("events",), [2.5], "whole"),
        ("exact", ("events", "n"), [5, 4], "all: no number of events has events 5, n 4; correct one of them"),
        (
            "exact",
            ("proportion", "events", "n"),
            [12.3, 12, 98],
            "all: no number of events has proportion 12.3, events",
        ),
        (
            "exact",
            ("proportion", "limits"),
            [12.2, 7.1, 20.2],
            "all: no number of events among up to 5,000,000 records has proportion 12.2, lower limit 7.1, "
            "upper limit 20.2 by exact limits at 95 %; 'interval: wilson' has all numbers of this output: say so",
        ),
        ("exact", ("proportion", "limits"), [12.2, 12.3, 20.2], "correct them, 'interval' or 'level' or 'divisor'"),
        ("exact", ("proportion", "limits", "n"), [12.2, 6.5, 20.4, 99], "no number of events has proportion 12.2"),
        ("normal", ("standard error", "n"), [3.33, 98], "'divisor: n-1' has all numbers of this output"),
    ],
)
def test_released_values_that_no_data_can_have(way, statistics, values, message):
    output = proportions(way, (), statistics, places={"standard error": 2} if "standard error" in statistics else None)
    with pytest.raises(OutputError, match=message) as caught:
        released(output, np.array(values, float))
    assert "\n" not in str(caught.value)


def test_values_are_given_by_label():
    output = proportions("exact", ("sex",), ("proportion", "limits"))
    values = {f"sex=f: {each}": value for each, value in zip(output.shown, (12.2, 6.5, 20.4), strict=True)}
    (found,) = released_as_given([output], {**values, **{f"sex=m: {each}": "withheld" for each in output.shown}}, None)
    assert found.known.tolist() == [True] * 3 + [False] * 3
    first = found.searched
    assert first.labels[:2] == ("sex=f: events by the other numbers", "sex=f: n by the other numbers")
    assert first.low[:2].tolist() == first.high[:2].tolist() == [12, 98]


def test_the_python_way_in_is_the_study_file_s():
    frame = even_records(CODEBOOK, 3, 200).frame()
    entry = outrisk.Proportions("smoker", "sex", statistics=["proportion", "limits"], per=100)
    found = outrisk.check(frame[["sex", "region", "smoker"]], [entry], keys=["sex"], target="smoker")
    assert "not looked at" not in set(found.findings["rule"])
    (built,) = ProportionsEntry(**entry.document).build(CODEBOOK, 1)
    assert built.name == "proportions of smoker by sex" and built.decimals.tolist() == [1] * 18


def test_the_look_finds_small_cells_and_groups_of_one_answer():
    data = records((4, 40), (0, 12), (7, 0))
    output = proportions(statistics=("proportion", "limits"))
    found = look([output], data, Appetite(), target="ill")
    small = next(each for each in found if each.rule == "small cells")
    assert small.people == 11 and "2 cells of 6 behind the printed proportions hold fewer than 10 records" in small.what
    assert "records; what is printed tells exactly how many." in small.what
    assert "region=north, ill=1: 4; region=west, ill=1: 7" in small.places
    same = [each for each in found if each.rule == "same answer"]
    assert [(each.certain, each.people, each.about) for each in same] == [(True, 12, "ill"), (True, 7, "ill")]


def test_what_digits_hide_is_not_certain():
    data = records((0, 5_000), (3_000, 4_000), (2_000, 0))
    output = proportions(statistics=("proportion",), places=0)
    found = [each for each in look([output], data, Appetite()) if each.rule == "same answer"]
    assert [(each.certain, each.people) for each in found] == [(False, 7_000)]
    small = look([output], records((3, 400), (100, 100), (100, 100)), Appetite())
    assert "what is printed does not tell exactly how many" in small[0].what


def test_a_group_of_one_person():
    data = records((1, 0), (5, 50), (6, 40))
    output = proportions(statistics=("proportion", "limits"))
    (found,) = (each for each in look([output], data, Appetite()) if each.rule == "same answer")
    assert found.certain and found.people == 1 and "there is one person" in found.what
