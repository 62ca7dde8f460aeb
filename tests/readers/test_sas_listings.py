"""Listings of SAS, laid out from our own records: each output takes its own table, and others are refused."""

import contextlib
import os
import random

import numpy as np
import pytest
from as_sas import crossed, logistic, one_way, page, procedure
from as_stata import given, people
from test_fuzz_values import mutated

from outrisk.errors import OutputError, OutRiskError
from outrisk.readers.remarks import kept

PEOPLE = people(400)
LOGIT, FIT = logistic(PEOPLE, "ill", ["age"], {"area": "north"}, 1)
CROSSED = crossed(PEOPLE, "area", "ill")
SESSION = (
    page(1, feed=False) + procedure("FREQ") + one_way(PEOPLE, "area") + one_way(PEOPLE, "wave") + CROSSED
    + crossed(PEOPLE, "area", "wave") + page(2) + procedure("LOGISTIC") + LOGIT
)  # fmt: skip
BY_AREA = {"kind": "frequencies", "by": ["area", "ill"]}
OF_ILL = {"kind": "logit", "formula": "ill ~ age + C(area)"}


def matched(text, entry, tmp_path, frame=PEOPLE, suffix=""):
    found = given(text, entry, tmp_path, frame, "out.lst", suffix)
    assert all(beside.matched.all() for _, beside in found), [beside for _, beside in found]
    return found[0][0]


@pytest.mark.parametrize(
    ("entry", "n"),
    [
        (BY_AREA, 12),
        (BY_AREA | {"by": ["ill", "area"]}, 12),
        (BY_AREA | {"show": "proportions"}, 6),
        (BY_AREA | {"show": "row_percentages"}, 6),
        (BY_AREA | {"show": "column_percentages"}, 6),
        ({"kind": "frequencies", "by": ["area"]}, 3),
        ({"kind": "frequencies", "by": ["wave"], "show": "proportions"}, 2),
        (OF_ILL, 4 * 3 + 2),
    ],
)
def test_each_output_takes_its_own_table_of_a_listing(entry, n, tmp_path):
    released = matched(SESSION, entry, tmp_path)
    assert len(released.labels) == n


def test_a_logit_is_that_of_statsmodels(tmp_path):
    released = matched(SESSION, OF_ILL, tmp_path)
    low, high = (np.asarray(each)[:4] for each in (released.low, released.high))
    fit = FIT.params.rename(lambda name: name.replace(", Treatment(reference='north')", ""))
    assert np.all((low - 1e-9 <= fit.to_numpy()) | (high + 1e-9 >= fit.to_numpy()))
    assert sorted(np.round(fit, 4)) == pytest.approx(sorted((low + high) / 2), abs=1e-9)


def test_effect_coding_is_never_read_as_reference_coding(tmp_path):
    text, _ = logistic(PEOPLE, "ill", ["age"], {"area": "north"}, 1, coding="effect")
    with pytest.raises(OutputError, match=r"'area' is by effect coding.*PARAM=REF"):
        given(text, OF_ILL, tmp_path, PEOPLE)
    alone = text[text.index("Probability modeled") : text.index("Class Level")] + text[text.index("Analysis of Max") :]
    with pytest.raises(OutputError, match="does not say how 'area' is coded"):
        given(alone, OF_ILL, tmp_path, PEOPLE)


def test_reference_coding_is_told_by_odds_ratios_where_the_levels_are_not_there(tmp_path):
    head = LOGIT[LOGIT.index("Probability modeled") : LOGIT.index("Class Level")]
    matched(head + LOGIT[LOGIT.index("Analysis of Max") :], OF_ILL, tmp_path)
    without = LOGIT[LOGIT.index("Analysis of Max") : LOGIT.index("Odds Ratio")]
    with pytest.raises(OutputError, match="does not say how 'area' is coded"):
        given(head + without, OF_ILL, tmp_path, PEOPLE)
    with pytest.raises(OutputError, match=r"which is not read|does not say which level"):
        given(LOGIT[LOGIT.index("Analysis of Max") :], OF_ILL, tmp_path, PEOPLE)


def test_another_event_flips_all_signs_and_is_taken_or_refused(tmp_path):
    other, _ = logistic(PEOPLE, "ill", ["age"], {"area": "north"}, 0)
    with pytest.raises(OutputError, match=r"models the probability of ill = 0, the output says event: 1"):
        given(other, OF_ILL | {"event": 1}, tmp_path, PEOPLE)
    with kept() as notes:
        matched(other, OF_ILL, tmp_path)
    assert any("ill = 0, which is taken for the output's event" in note for note in notes)
    matched(other, OF_ILL | {"event": 0}, tmp_path)


def test_a_response_that_is_a_level_is_the_one_that_is_modelled(tmp_path):
    text = LOGIT.replace("ill=1.", "wave=1.").replace("Variable             ill", "Variable             wave")
    with pytest.raises(OutputError, match=r"models the probability of wave = 1, and the output's response"):
        given(text, {"kind": "logit", "formula": "I(wave == 2) ~ age + C(area)"}, tmp_path, PEOPLE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("    112 |", "    113 |"), "do not add up to its total"),
        (("Percent  |\n", ""), "not laid out|says show|add up|no cell|whole"),
        (("   112 |", " 112.5 |"), "not whole numbers, as of weights"),
    ],
)
def test_a_table_that_does_not_make_a_table_is_refused(change, message, tmp_path):
    text = CROSSED.replace(*change)
    assert text != CROSSED
    with pytest.raises(OutputError, match=message):
        given(text, BY_AREA, tmp_path, PEOPLE)


ENTRIES = (
    BY_AREA,
    BY_AREA | {"show": "row_percentages"},
    OF_ILL,
    {"kind": "frequencies", "by": ["wave"]},
    {"kind": "test", "variable": "area", "by": ["ill"], "test": "chi-square"},
)


@pytest.mark.parametrize("seed", range(int(os.environ.get("OUTRISK_FUZZ", "24"))))
def test_mutated_listings_give_numbers_or_one_line(seed, tmp_path):
    rng = random.Random(seed)
    with contextlib.suppress(OutRiskError):
        given(mutated(SESSION, rng), rng.choice(ENTRIES), tmp_path, PEOPLE)
