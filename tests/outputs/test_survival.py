import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, by_differences, numbers_of, random_records, refit_of
from slow import block_totals
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import released
from outrisk.outputs.smooth.derivatives import derivatives
from outrisk.outputs.smooth.kaplan_meier import Curves
from outrisk.outputs.smooth.survival import Survival, SurvivalEntry

CODEBOOK = Codebook(
    (
        Variable("months", "integer", (1, 2, 3, 5, 8), missing=True),
        Variable("died", "integer", (0, 1), missing=True),
        Variable("arm", "categorical", ("a", "b", "c"), missing=True),
        Variable("stage", "categorical", ("early", "middle", "late")),
    )
)
ALL = ("survival", "standard error", "at risk", "events", "log-rank")
BY_ARM = Survival(CODEBOOK, "s", "months", "died", ("arm",), (), ALL)


def records(*rows):
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))


def test_four_records_by_hand():
    data = records([0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [3, 1, 0, 0], [0, 2, 0, 0], [5, 1, 0, 0])
    output = Survival(CODEBOOK, "s", "months", "died", (), (0.5, 1, 4, 6), ALL[:4])
    found = output.refit(data).reshape(4, 4)
    np.testing.assert_allclose(found[:, 0], [1, 3 / 4, 1 / 2, 0])
    np.testing.assert_allclose(found[:3, 1], [0, 0.75 * (1 / 12) ** 0.5, 0.5 * (1 / 12 + 1 / 6) ** 0.5])
    assert np.isnan(found[3, 1])
    assert found[:, 2].tolist() == [4, 4, 1, 0]
    assert found[:, 3].tolist() == [0, 1, 1, 1]
    assert output.labels[4:6] == ["months=1: survival", "months=1: standard error"]
    assert output.decimals[:4].tolist() == [3, 3, 0, 0]


def test_groups_with_equal_curves_have_a_p_of_one():
    data = records(*([time, died, arm, 0] for time, died in ((0, 1), (2, 1), (3, 0)) for arm in (0, 1)))
    output = Survival(CODEBOOK, "s", "months", "died", ("arm",), (), ("log-rank",))
    np.testing.assert_allclose(output.refit(data), [0, 1], atol=1e-12)
    np.testing.assert_allclose(numbers_of(output, data), [0, 1], atol=1e-12)


def test_agrees_with_statsmodels_at_its_own_times():
    rng = np.random.default_rng(1)
    data = Microdata(CODEBOOK, np.stack([rng.integers(0, k, 80) for k in (5, 2, 3, 3)], axis=1).astype(np.uint16))
    frame = data.frame()
    curve = SurvfuncRight(frame["months"], frame["died"])
    output = Survival(CODEBOOK, "s", "months", "died", (), tuple(curve.surv_times), ALL[:4])
    columns = [curve.surv_prob, curve.surv_prob_se, curve.n_risk, curve.n_events]
    np.testing.assert_allclose(output.refit(data).reshape(-1, 4).T, columns)
    test = Survival(CODEBOOK, "s", "months", "died", ("arm",), (), ("log-rank",)).refit(data)
    np.testing.assert_allclose(test, survdiff(frame["months"], frame["died"], frame["arm"].astype(str)))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([("arm",), ("arm", "stage"), ("stage",)]),
    st.sampled_from([(), (0.0, 2, 4, 9)]),
    st.sampled_from(["", "stage != 'late'"]),
)
def test_totals_and_statsmodels_agree(seed, by, times, where):
    data = random_records(CODEBOOK, seed)
    output = Survival(CODEBOOK, "s", "months", "died", by, times, ALL, where=where)
    expected = refit_of(output, data)
    np.testing.assert_allclose(numbers_of(output, data), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([("survival", "standard error", "at risk", "log-rank"), ("events",)]))
def test_derivatives_agree_with_differences(seed, statistics):
    output = Survival(CODEBOOK, "s", "months", "died", ("arm",), (), statistics)
    (part,) = output.parts(np.zeros(len(output.labels)))
    totals = np.random.default_rng(seed).integers(1, 9, part.model.size).astype(float)
    found = part.map.jacobian(totals, NO_INFORMATION)
    expected = by_differences(lambda each: part.map.numbers(each, NO_INFORMATION), totals, 1e-5)
    np.testing.assert_allclose(found, np.where(np.isfinite(expected), expected, 0.0), rtol=1e-5, atol=1e-7)
    precision = part.map.precision(totals, NO_INFORMATION)
    assert np.isfinite(precision).all() and (np.linalg.eigvalsh(precision) > 0).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000))
def test_derivatives_agree_with_complex_steps(seed):
    rng = np.random.default_rng(seed)
    groups, times = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    support, at = (np.sort(rng.choice(24, n, replace=False)) - 2.0 for n in (times, int(rng.integers(1, 6))))
    totals = rng.integers(0, rng.choice([2, 3, 9]), (2, groups, times)).astype(float)
    totals[1, rng.integers(groups)] *= rng.integers(2)  # a curve that comes to 0
    totals[:, rng.integers(groups)] *= rng.integers(2)  # no records
    n = groups * len(at) * 4 + 2 * (groups > 1)
    curves = Curves(groups, support, at, ("survival", "standard error", "at risk", "events"), groups > 1, np.full(n, 3))
    expected = derivatives(curves._numbers, totals.ravel())
    expected[np.abs(expected) > 1e7] = 0.0  # of a root at 0, where no one has had the event yet: no end
    some = slice(0, n - (groups > 1))  # p has none by complex steps
    np.testing.assert_allclose(
        curves.jacobian(totals.ravel(), NO_INFORMATION)[some], expected[some], rtol=1e-9, atol=1e-12
    )


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(), ("arm",), ("arm", "stage")]),
    st.sampled_from([(), (0.0, 2, 4, 9), (1, 3)]),
    st.sampled_from([ALL[:4], ("survival", "at risk"), ("events",), ("at risk", "events")]),
    st.sampled_from(["", "stage != 'late'"]),
)
def test_counts_first_are_the_numbers_in_another_order(seed, by, times, statistics, where):
    """Times are withheld at random, as of a group that a printed table has no row for."""
    data, rng = random_records(CODEBOOK, seed), np.random.default_rng(seed)
    output = Survival(CODEBOOK, "s", "months", "died", by, times, statistics, where=where)
    numbers = refit_of(output, data)
    low, high = output.publish(numbers)
    gone = rng.random(len(low)) < rng.choice([0.0, 0.3, 1.0], p=[0.5, 0.4, 0.1])
    low, high = np.where(gone, -np.inf, low), np.where(gone, np.inf, high)
    found = output.counts_first(low, high)
    if found is None:
        assert "events" not in statistics and all(gone[k] for k, name in enumerate(output.labels) if "at risk" in name)
        return
    totals = [block_totals(block, data.codes) for block in found.blocks]
    first = np.concatenate(totals[: len(found.parts[0].blocks)])
    seen = [found.parts[0].map.numbers(first)]
    seen += [part.map.numbers(totals[-1], NO_INFORMATION) for part in found.parts[1:]]
    np.testing.assert_allclose(np.concatenate(seen), found.output.refit(data), rtol=1e-9, atol=1e-9)
    own = found.known & np.isfinite(found.low)
    assert np.array_equal(found.is_matched(np.concatenate(seen))[own], np.ones(own.sum(), bool))
    kept = {k for k in range(len(low)) if not gone[k]} - set(found.of)
    assert all(output.labels[k].endswith(("survival", "standard error")) for k in kept)
    assert len(found.labels) == len(found.low) == len(found.decimals) == sum(part.n_numbers for part in found.parts)


@settings(max_examples=400, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(), ("arm",)]),
    st.sampled_from([(), (0.0, 2, 4, 9), (1, 3), (5,), (2.5, 3, 8)]),
    st.integers(0, 3),
)
def test_events_lie_where_survival_and_numbers_at_risk_leave_them(seed, by, times, places):
    data, rng = random_records(CODEBOOK, seed), np.random.default_rng(seed)
    names = list(rng.permutation(["survival", "at risk", "log-rank"][: 2 + bool(by)]))
    output = Survival(CODEBOOK, "s", "months", "died", by, times, tuple(names), places={"survival": places})
    numbers = refit_of(output, data)
    low, high = output.publish(numbers)
    gone = rng.random(len(low)) < rng.choice([0.0, 0.3, 1.0], p=[0.5, 0.4, 0.1])
    low, high = np.where(gone, -np.inf, low), np.where(gone, np.inf, high)
    found = output.counts_first(low, high, proves=True)
    actual = found.output.refit(data)
    events = np.array([label.endswith("events by survival and at risk") for label in found.labels])
    assert events.sum() == len(output.at) * len(output.groups)
    assert (found.low[events] <= actual[events]).all() and (actual[events] <= found.high[events]).all()
    assert all(output.labels[at].endswith(": survival") for at in found.of[events])


def test_events_at_a_time_of_its_own_follow_from_survival_and_numbers_at_risk():
    data = records([0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [3, 1, 0, 0], [0, 2, 0, 0], [5, 1, 0, 0])
    output = Survival(CODEBOOK, "s", "months", "died", (), (), ("survival", "at risk"))
    found = output.counts_first(*output.publish(output.refit(data)), proves=True)
    events = [at for at, label in enumerate(found.labels) if label.endswith("events by survival and at risk")]
    assert found.low[events].tolist() == found.high[events].tolist() == [1, 1, 0, 1, 0]
    assert len(found.parts) == 2  # the curve stays, by which a data set is held against what was printed
    wide = Survival(CODEBOOK, "s", "months", "died", (), (1, 5), ("survival", "at risk"))
    found = wide.counts_first(*wide.publish(wide.refit(data)), proves=True)
    events = [at for at, label in enumerate(found.labels) if "events" in label]
    assert found.low[events].tolist() == [1, 1]  # the last falls to 0 from one at risk at least, four at most
    assert found.high[events].tolist() == [1, 4]
    assert output.counts_first(*output.publish(output.refit(data))).labels[-1].endswith(": survival")


def test_curves_that_counts_at_every_time_determine_are_left_out():
    data = random_records(CODEBOOK, 4)
    every = Survival(CODEBOOK, "s", "months", "died", ("arm",), (), ALL)
    low, high = every.publish(every.refit(data))
    found = every.counts_first(low, high)
    assert len(found.parts) == 1 and len(found.low) == 2 * 5 * 3
    assert found.labels[0] == "arm=a, months=1: at risk, but for those of arm=a, months=2: at risk"
    assert found.labels[-1] == "arm=c, months=8: events"
    some = Survival(CODEBOOK, "s", "months", "died", ("arm",), (2, 8), ALL)
    assert len(some.counts_first(*some.publish(some.refit(data))).parts) == 2
    rounded = low.copy()
    rounded[every.labels.index("arm=a, months=2: at risk")] -= 3
    assert every.counts_first(rounded, high) is None  # at risk from 3 fewer on
    curve = Survival(CODEBOOK, "s", "months", "died")
    assert curve.counts_first(*curve.publish(curve.refit(data))) is None  # no numbers of records


@pytest.mark.parametrize("totals", [np.zeros(30), np.eye(30)[7], np.eye(30)[20], 3.0 * (np.arange(30) < 15)])
def test_odd_totals_give_nan_and_finite_slopes(totals):
    (part,) = BY_ARM.parts(np.zeros(len(BY_ARM.labels)))
    assert part.map.numbers(totals, NO_INFORMATION).shape == (len(BY_ARM.labels),)
    assert np.isfinite(part.map.jacobian(totals, NO_INFORMATION)).all()
    assert np.isfinite(part.map.precision(totals, NO_INFORMATION)).all()


def test_the_value_that_counts_as_the_event():
    data = records([0, 1, 0, 2], [1, 1, 0, 0], [2, 0, 0, 2])
    output = Survival(CODEBOOK, "s", "months", "stage", (), (), ("events",), "late")
    assert output.refit(data).tolist() == [1, 0, 1, 0, 0]
    assert "event stage = late" in output.notes


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"time": "weeks", "event": "died"}, "no variable 'weeks'"),
        ({"time": "arm", "event": "died"}, "'arm' is categorical and a number is needed"),
        ({"time": "months", "event": "stage"}, "say with 'event_value'"),
        ({"time": "months", "event": "died", "event_value": "2"}, "'2' is not a value of 'died'"),
        ({"time": "months", "event": "died", "times": (3, 3)}, "must rise"),
        ({"time": "months", "event": "died", "by": "months"}, "must be different variables"),
        ({"time": "months", "event": "died", "statistics": "log-rank"}, "give 'by'"),
        ({"time": "months", "event": "died", "decimals": {"p": 3}}, "decimals for 'p'"),
    ],
)
def test_entries_that_cannot_be_used(entry, message):
    with pytest.raises(OutputError, match=message) as caught:
        SurvivalEntry(kind="survival", **entry).build(CODEBOOK, 1)
    assert "\n" not in str(caught.value)


def test_a_support_too_large():
    codebook = Codebook((Variable("days", "integer", tuple(range(2_100))), Variable("died", "integer", (0, 1))))
    with pytest.raises(OutputError, match="4,200 totals; at most 4,000 are possible: band 'days'"):
        Survival(codebook, "s", "days", "died")


@pytest.mark.parametrize(
    ("statistics", "values", "message"),
    [
        (("survival",), [1, 0.9, 1.1, 0.5, 0.5], "months=3: survival is 1.1; survival and p lie in 0 to 1"),
        (("survival",), [1, 0.9, 0.95, 0.5, 0.5], "months=3: survival is 0.95; survival never rises"),
        (("at risk",), [9, 8, 8, 8, 9], "months=8: at risk is 9; at risk never rises"),
        (("events",), [1, -1, 0, 0, 0], "months=2: events is -1"),
    ],
)
def test_released_values_that_no_data_can_have(statistics, values, message):
    output = Survival(CODEBOOK, "s", "months", "died", (), (), statistics)
    with pytest.raises(OutputError, match=message):
        output.check(np.array(values, float), np.array(values, float))


def test_a_p_above_one_and_values_of_real_data():
    BY_ARM.check(*BY_ARM.publish(BY_ARM.refit(random_records(CODEBOOK, 3))))
    values = np.zeros(len(BY_ARM.labels))
    values[-1] = 1.5
    with pytest.raises(OutputError, match=r"log-rank p is 1\.5"):
        BY_ARM.check(values, values)


def test_no_records_to_compute_it_on():
    data = Microdata(CODEBOOK, np.array([[0, 2, 0, 0]], dtype=np.uint16))
    with pytest.raises(OutputError, match="no records to compute it on"):
        BY_ARM.refit(data)


def test_curves_that_contradict_their_own_counts_are_refused():
    data = records([0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [3, 1, 0, 0])
    output = Survival(CODEBOOK, "s", "months", "died", (), (), ("survival", "at risk", "events"))
    low, _ = output.publish(output.refit(data))
    assert released(output, low).low is not None
    wrong = low.copy()
    wrong[output.labels.index("months=2: survival")] += 0.002
    with pytest.raises(OutputError, match=r"months=2: survival is 0.502; events and numbers at risk make it another"):
        released(output, wrong)
    wrong[output.labels.index("months=2: events")] = -np.inf  # not all are known
    high = np.where(np.isfinite(wrong), wrong, np.inf)
    assert released(output, wrong, high).high is not None
