"""Every kind of table, on random records: totals give the numbers of the refit, ranges hold what they were made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import CODEBOOK, draw, edited, matched, placed, recomputed, split

from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Histogram, Magnitudes, Mode, Quantiles, Rates, released_as_given
from outrisk.outputs.base import middle
from outrisk.outputs.tables.protection import Protection, rounded

some_by = st.sampled_from([(), ("job",), ("ill",), ("ill", "job")])
wheres = st.sampled_from(["", "age >= 2", "pay > 1 or ill == 'yes'"])
weights = st.sampled_from(["", "w"])
thresholds = st.sampled_from(
    [
        *({}, {}, {"threshold": 3}, {"threshold": 4, "withhold_zeros": True}),
        {"threshold": 5, "known_threshold": False},
    ]
)
roundings = st.sampled_from(
    [*({}, {}, {"round_to": 5}, {"round_to": 10}), {"round_to": 3, "random": True, "seed": 7}, {"top_code": 6.0}]
)


@st.composite
def frequencies(draw_):
    by = draw_(st.sampled_from([("job",), ("age",), ("ill", "job"), ("job", "ill", "age")]))
    shows = ["counts", "counts", "proportions", "row_percentages", *["column_percentages"] * (len(by) > 1)]
    show = draw_(st.sampled_from(shows))
    more = draw_(roundings) if show == "counts" else {}
    protection = Protection(**draw_(thresholds), **more)
    margins = draw_(st.booleans())
    return Frequencies(CODEBOOK, "t", by, draw_(wheres), show, margins, draw_(weights), None, protection)


@st.composite
def magnitudes(draw_):
    value = draw_(st.sampled_from(["age", "pay"]))
    statistics = draw_(st.permutations(["mean", "sum", "sd", "count"]))[: draw_(st.integers(1, 4))]
    weight = draw_(weights)
    if "mean" in statistics and not weight:
        statistics += draw_(st.sampled_from([[], ["standard error"], ["limits"], ["standard error", "limits"]]))
    bases = [{"round_to": 5}] * bool({"count", "sum"} & set(statistics))
    if "sum" in statistics and "count" not in statistics:  # chance is drawn for counts and sums apart
        bases.append({"round_to": 4, "random": True})
    more = draw_(st.sampled_from([{}, {"top_code": 2.2}, *bases]))
    protection = Protection(**draw_(thresholds), **more)
    return Magnitudes(CODEBOOK, "t", value, draw_(some_by), tuple(statistics), draw_(wheres), weight, (), protection)


@st.composite
def quantiles(draw_):
    value = draw_(st.sampled_from(["age", "pay"]))
    chosen = draw_(
        st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0]), min_size=1, max_size=3, unique=True)
    )
    protection = Protection(**draw_(thresholds), **draw_(st.sampled_from([{}, {"top_code": 3.5}])))
    return Quantiles(CODEBOOK, "t", value, draw_(some_by), tuple(chosen), draw_(wheres), 2, protection)


@st.composite
def histograms(draw_):
    value = draw_(st.sampled_from(["age", "pay"]))
    show, closed = (
        draw_(st.sampled_from(["counts", "proportions", "density"])),
        draw_(st.sampled_from(["left", "right"])),
    )
    more = draw_(roundings) if show == "counts" else {}
    breaks = draw_(st.sampled_from([(0.0, 2.0, 2.5, 9.0), (1.0, 2.0, 7.0), (2.0, 3.0)]))
    protection = Protection(**draw_(thresholds), **more)
    return Histogram(
        CODEBOOK, "t", value, breaks, draw_(some_by), draw_(wheres), show, closed, draw_(weights), None, protection
    )


@st.composite
def modes(draw_):
    variable = draw_(st.sampled_from(["age", "pay"]))
    return Mode(CODEBOOK, "t", variable, draw_(some_by), draw_(wheres), Protection(**draw_(thresholds)))


@st.composite
def rates(draw_):
    numerator = draw_(st.sampled_from(["age", "w", "ill == 'yes'", "age >= 3 and job != 'a'"]))
    weight = draw_(weights) if numerator != "w" else ""
    of_events = not weight and numerator != "w"
    every = ["numerator", "denominator", "rate", *["limits"] * of_events]
    chosen = tuple(draw_(st.permutations(every))[: draw_(st.integers(1, len(every)))])
    return Rates(
        CODEBOOK,
        "t",
        numerator,
        draw_(st.sampled_from(["pay", *["w"] * of_events])),
        draw_(st.sampled_from([(), ("job",), ("ill",), ("age", "job")])),
        ("rate", "limits") if chosen == ("limits",) else chosen,
        draw_(st.sampled_from([1.0, 100.0])),
        draw_(st.sampled_from(["exact", "byar", "log"])),
        0.9,
        draw_(wheres),
        weight,
        protection=Protection(**draw_(thresholds)) if of_events else Protection(),
    )


KINDS = {
    "rates": rates(),
    "frequencies": frequencies(),
    "magnitudes": magnitudes(),
    "quantiles": quantiles(),
    "histogram": histograms(),
    "mode": modes(),
}
seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=seeds, n=st.integers(1, 40))
def test_totals_give_the_numbers_of_the_refit(kind, data, seed, n):
    output = data.draw(KINDS[kind])
    original, other = draw(n, seed), draw(25, seed + 1)
    values = output.refit(original)
    np.testing.assert_allclose(recomputed(output, values, original), values, rtol=1e-9, atol=1e-6)
    known = middle(*output.publish(values))  # what parts are made of when only a range is known
    for records in (original, other):
        np.testing.assert_allclose(recomputed(output, known, records), output.refit(records), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=seeds, n=st.integers(1, 40))
def test_what_is_published_holds_of_the_original(kind, data, seed, n):
    output, original = data.draw(KINDS[kind]), draw(n, seed)
    values = output.refit(original)
    low, high = output.publish(values)
    output.check(low, high)
    assert matched(output, values, low, high)
    assert placed(output, original, low, high, within=1.001)
    again = output.publish(values)
    assert (again[0] == low).all() and (again[1] == high).all()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=seeds, n=st.integers(1, 12), edits=st.integers(1, 4))
def test_totals_lie_in_their_ranges_where_the_numbers_are_matched(kind, data, seed, n, edits):
    """Both ways, record by record: what evolution pulls at is what is published, no more and no less."""
    output, original = data.draw(KINDS[kind]), draw(n, seed)
    low, high = output.publish(output.refit(original))
    other = edited(original, edits, seed)
    numbers = output.refit(other)
    if matched(output, numbers, low, high, within=0.99):
        assert placed(output, other, low, high, within=1.0)
    in_pairs = kind == "magnitudes" and "limits" in output.statistics  # a mean has to come near to their middle first
    if not in_pairs and placed(output, other, low, high, within=0.98):
        assert matched(output, numbers, low, high, within=1.01)


def written(output, values):
    """The numbers (k,) as they stand in a table, in text."""
    sheet, rule = output.sheet, output.sheet.protection
    k = len(sheet.labels)
    counted, behind = values[:k][sheet.count], values[k : k + 1 + sheet.cell[-1]]
    records = counted if len(counted) and (sheet.whole or not sheet.guarded) else behind if sheet.guarded else None
    hidden = np.zeros(k, bool) if records is None else rule.hides(records)[sheet.cell]
    numbers = rounded(values[:k], output.decimals[:k])
    numbers = np.where(sheet.count, rule.printed(numbers, hidden, output.name), numbers)
    if sheet.sums is not None and rule.round_to:
        low, high = output.publish(values)
        with np.errstate(invalid="ignore"):  # without ends where it is withheld
            numbers[sheet.sums] = (low[:k][sheet.sums] + high[:k][sheet.sums]) / 2
    words = np.where(hidden, "withheld", np.where(np.isnan(values[:k]), "undefined", ""))
    return [str(word) or repr(float(number)) for word, number in zip(words, numbers, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=seeds, n=st.integers(1, 40))
def test_a_table_typed_in_says_what_its_release_says(kind, data, seed, n):
    output, original = data.draw(KINDS[kind]), draw(n, seed)
    values = output.refit(original)
    low, high = output.publish(values)
    (found,) = released_as_given([output], written(output, values), None)
    k = len(output.sheet.labels)
    np.testing.assert_array_equal(found.low[:k], low[:k])
    np.testing.assert_array_equal(found.high[:k], high[:k])
    assert (found.low <= low).all() and (found.high >= high).all()  # a share of 0 may be one of nobody, or not


GUARD = {"weight": "w", "protection": Protection(threshold=3)}


@pytest.mark.parametrize(
    "output",
    [
        Histogram(CODEBOOK, "t", "age", (1, 2, 7), show="proportions", **GUARD),
        Frequencies(CODEBOOK, "t", ("age",), show="proportions", **GUARD),
        Frequencies(CODEBOOK, "t", ("age", "ill"), show="row_percentages", margins=True, **GUARD),
        Frequencies(CODEBOOK, "t", ("ill", "age"), show="column_percentages", margins=True, **GUARD),
        Frequencies(CODEBOOK, "t", ("age",), show="proportions", weight="w", digits=0),
    ],
)
def test_shares_of_0_beside_withheld_or_rounded_ones_need_weight(output):
    """Records of weight 0 alone lie in all ranges of the cells, and no share of them is defined."""
    codes = np.array([[1, 0, 0, 0, 2], [2, 0, 0, 0, 2], [3, 0, 0, 0, 2]], dtype=np.uint16)
    original = Microdata(CODEBOOK, codes[: 1 + 2 * (output.digits == 0)])
    low, high = output.publish(output.refit(original))
    assert (low == 0).any() and matched(output, output.refit(original), low, high)
    assert placed(output, original, low, high)
    weightless = Microdata(CODEBOOK, original.codes * np.array([1, 1, 1, 1, 0], np.uint16))
    assert np.isnan(output.refit(weightless)).any() and not matched(output, output.refit(weightless), low, high)
    assert not placed(output, weightless, low, high)


def test_withheld_bars_make_up_a_number_of_records_that_the_shown_share_can_come_from():
    """One half is no share of seven: where the shown bar has 3 records, the withheld ones have 3, and not 4."""
    output = Histogram(CODEBOOK, "t", "age", (1, 2, 3, 8), show="proportions", protection=Protection(threshold=3))

    def of(*bars):
        return Microdata(CODEBOOK, np.repeat([[0] * 5, [1] + [0] * 4, [2] + [0] * 4], bars, axis=0).astype(np.uint16))

    low, high = output.publish(output.refit(of(2, 1, 3)))
    assert low[2] == high[2] == 0.5 and np.isneginf(low[:2]).all()
    for bars, right in (
        ((2, 1, 3), True),
        ((1, 2, 3), True),
        ((2, 2, 4), True),
        ((2, 2, 3), False),
        ((1, 1, 3), False),
    ):
        assert matched(output, output.refit(of(*bars)), low, high) == right
        assert placed(output, of(*bars), low, high) == right
    (main, place), _ = split(output, middle(low, high))
    bounds = main.map.bounds(np.array([2.0, 2.0, 3.0]), low[place], high[place])
    assert sorted(bounds.high[:2]) == [1.0, np.inf]  # one of them gives way


@pytest.mark.parametrize("kind", KINDS)
def test_no_record_at_all(kind):
    """An evolution may pass by data without a record in any cell: nothing raises, what has no number is NaN."""
    by = {"by": ("ill",), "where": "age == 7"}
    output = {
        "rates": Rates(CODEBOOK, "t", "ill == 'yes'", "pay", **by),
        "frequencies": Frequencies(CODEBOOK, "t", **by, show="row_percentages", margins=True),
        "magnitudes": Magnitudes(CODEBOOK, "t", "pay", **by, statistics=("mean", "sd")),
        "quantiles": Quantiles(CODEBOOK, "t", "pay", **by),
        "histogram": Histogram(CODEBOOK, "t", "pay", (0, 3, 9), **by, show="density"),
        "mode": Mode(CODEBOOK, "t", "pay", **by),
    }[kind]
    full = draw(40, 3)
    empty = edited(full, 0, 0)
    empty.codes[:, 0] = 0
    low, high = output.publish(output.refit(full))
    assert np.isnan(output.refit(empty)).all()
    assert np.isnan(recomputed(output, middle(low, high), empty)).all()
    assert not placed(output, empty, low, high)
