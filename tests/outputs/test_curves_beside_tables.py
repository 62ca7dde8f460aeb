"""Survival curves beside a table of times: which numbers of events they leave, against all that fit."""

import itertools

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.told_by_statistics import programme_with_statistics, told_by_statistics
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, release
from outrisk.outputs.of_one_table.curves_beside import events_told
from outrisk.outputs.smooth.survival import Survival

TIMES = (1, 2, 3, 4)
CODEBOOK = Codebook(
    (
        Variable("months", "integer", TIMES),
        Variable("arm", "categorical", ("a", "b")),
        Variable("died", "integer", (0, 1)),
    )
)


def people(rng, n):
    return Microdata(CODEBOOK, np.stack([rng.integers(0, k, n) for k in (4, 2, 2)], axis=1).astype(np.uint16))


def kaplan_meier(there, events):
    at_risk = there[::-1].cumsum()[::-1]
    return np.cumprod([1 - d / n if n else 1.0 for d, n in zip(events, at_risk, strict=True)])


@pytest.mark.parametrize("places", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_told_where_one_number_fits_the_digits_and_only_there(seed, places):
    data = people(np.random.default_rng(seed), 14)
    curve = Survival(CODEBOOK, "s", "months", "died", ("arm",), (), ("survival",), "", places)
    released = [release(each, data) for each in (curve, Frequencies(CODEBOOK, "t", ("arm", "months")))]
    (table,) = [*events_told(CODEBOOK, released)] or [None]
    printed = released[0].low.reshape(2, 4)
    if table is not None:
        assert table.output.by == ("arm", "months", "died")
    for arm in range(2):
        there = np.array([((data.codes[:, 1] == arm) & (data.codes[:, 0] == t)).sum() for t in range(4)])
        fits = [
            events
            for events in itertools.product(*(range(n + 1) for n in there))
            if (np.abs(kaplan_meier(there, events) - printed[arm]) <= 0.5 * 10.0**-places + 1e-9).all()
        ]
        assert fits
        for t in range(4):
            possible = {events[t] for events in fits}
            if table is None:
                continue
            low, high = (end.reshape(2, 4, 2)[arm, t] for end in (table.low, table.high))
            if np.isfinite(low).any():
                assert possible == {low[1]} == {high[1]} and low[0] == there[t] - low[1]
            elif places == 3:  # so many digits leave nothing open
                assert len(possible) > 1 or printed[arm, t - 1] == 0


def test_a_variable_with_missing_values_in_the_event_or_other_records_tell_nothing():
    data = people(np.random.default_rng(1), 14)
    curve = Survival(CODEBOOK, "s", "months", "died", (), (), ("survival",))
    of_others = Frequencies(CODEBOOK, "t", ("months",), "arm == 'a'")
    assert not [*events_told(CODEBOOK, [release(each, data) for each in (curve, of_others)])]
    told = [*events_told(CODEBOOK, [release(each, data) for each in (curve, Frequencies(CODEBOOK, "t", ("months",)))])]
    assert [each.name for each in told] == ["s with t"]
    book = Codebook((*CODEBOOK.variables[:2], Variable("died", "integer", (0, 1), missing=True)))
    data = Microdata(book, data.codes)
    curve = Survival(book, "s", "months", "died", (), (), ("survival",))
    assert not [*events_told(book, [release(each, data) for each in (curve, Frequencies(book, "t", ("months",)))])]


def test_a_subset_of_the_records_is_told_by_a_table_that_crosses_it():
    data = people(np.random.default_rng(2), 14)
    curve = Survival(CODEBOOK, "s", "months", "died", (), (), ("survival",), "", 3, "arm == 'a'")
    (table,) = events_told(CODEBOOK, [release(e, data) for e in (curve, Frequencies(CODEBOOK, "t", ("arm", "months")))])
    inside = data.codes[data.codes[:, 1] == 0]
    truth = np.array([[((inside[:, 0] == t) & (inside[:, 2] == d)).sum() for d in range(2)] for t in range(4)])
    known = np.isfinite(table.low.reshape(4, 2))
    assert known.any() and (table.low.reshape(4, 2)[known] == truth[known]).all()


def test_events_that_are_printed_are_told_with_those_who_had_none():
    data = people(np.random.default_rng(4), 14)
    curve = Survival(CODEBOOK, "s", "months", "died", ("arm",), (), ("events",))
    released = [release(each, data) for each in (curve, Frequencies(CODEBOOK, "t", ("arm", "months")))]
    (table,) = events_told(CODEBOOK, released)
    whole = release(Frequencies(CODEBOOK, "w", ("arm", "months", "died")), data)
    assert np.array_equal(table.low, whole.low) and np.array_equal(table.high, whole.low)


def test_the_look_says_whose_event_curve_and_table_tell_and_neither_alone():
    # one person at month 4 in each arm: in arm a it died, in arm b it did not
    rows = [(0, arm, died) for arm in (0, 1) for died in (0, 1) for _ in range(6)] + [(3, 0, 1), (3, 1, 0)]
    data = Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))
    curve, table = (
        Survival(CODEBOOK, "s", "months", "died", ("arm",), (), ("survival",)),
        Frequencies(CODEBOOK, "t", ("arm", "months")),
    )

    def said(*outputs):
        return [each for each in look(outputs, data, Appetite()) if each.certain and each.about == "died"]

    assert not said(table) and not said(curve)
    (found,) = said(curve, table)
    assert found.output == "s with t" and found.people == 2 and "months=4" in found.places
    changed = data.codes.copy()
    changed[-1, 2] = 1  # another value of one of them is printed otherwise
    other = Microdata(CODEBOOK, changed)
    assert (release(curve, other).low != release(curve, data).low).any()


def test_a_proof_holds_to_the_events_that_curve_and_table_imply():
    data = people(np.random.default_rng(3), 14)
    curve = Survival(CODEBOOK, "s", "months", "died", (), (), ("survival",))
    released = [release(each, data) for each in (curve, Frequencies(CODEBOOK, "t", ("months",)))]
    ((table,), left_out) = told_by_statistics(CODEBOOK, released)
    assert (table.name, left_out) == ("s with t", {})
    assert "s" in programme_with_statistics(CODEBOOK, released, len(data)).left_out  # beyond that it says more
