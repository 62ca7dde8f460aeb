"""Tests of PROC FREQ, TTEST and NPAR1WAY in listings of SAS, laid out from scipy's results on our own records."""

import pytest
from as_sas import chisq, crossed, npar1way, page, procedure, ttest
from as_stata import given, people
from test_sas_listings import matched

from outrisk.errors import OutputError

PEOPLE = people(150)
OF_TABLE = crossed(PEOPLE, "ill", "wave") + chisq(PEOPLE, "ill", "wave")
LARGE = crossed(PEOPLE, "area", "wave") + chisq(PEOPLE, "area", "wave")
FREQ, T, RANKS = procedure("FREQ"), procedure("TTEST"), procedure("NPAR1WAY")
SESSION = (
    page(1, feed=False) + FREQ + LARGE + OF_TABLE + page(2) + T + ttest(PEOPLE, "wage", "ill") + page(3) + RANKS
    + npar1way(PEOPLE, "age", "ill") + npar1way(PEOPLE, "age", "area")
)  # fmt: skip
OF = {"kind": "test"}
WAGE = OF | {"variable": "wage", "by": ["ill"]}
AGE = OF | {"variable": "age", "by": ["ill"]}


@pytest.mark.parametrize(
    ("entry", "statistics"),
    [
        (OF | {"variable": "ill", "by": ["wave"], "test": "chi-square", "continuity": False}, 5),
        (OF | {"variable": "wave", "by": ["ill"], "test": "chi-square", "continuity": True}, 4),
        (OF | {"variable": "area", "by": ["wave"], "test": "chi-square"}, 5),
        (OF | {"variable": "ill", "by": ["wave"], "test": "fisher"}, 2),
        (OF | {"variable": "ill", "by": ["wave"], "test": "linear-by-linear"}, 4),
        (WAGE | {"test": "t"}, 5),
        (WAGE | {"test": "welch"}, 4),
        (AGE | {"test": "rank-sum"}, 4),
        (AGE | {"test": "kruskal-wallis"}, 4),
        (OF | {"variable": "age", "by": ["area"], "test": "kruskal-wallis"}, 4),
    ],
)
def test_each_test_of_a_listing_is_that_of_scipy(entry, statistics, tmp_path):
    released = matched(SESSION, entry, tmp_path, PEOPLE)
    assert len(released.labels) == statistics


def test_ranks_without_correction_are_told_by_their_sums(tmp_path):
    text = RANKS + npar1way(PEOPLE, "age", "ill", correct=False)
    matched(text, AGE | {"test": "rank-sum"}, tmp_path, PEOPLE)
    with pytest.raises(OutputError, match="'continuity' is true in the study and false in the text"):
        given(text, AGE | {"test": "rank-sum", "continuity": True}, tmp_path, PEOPLE)


def test_groups_go_with_where(tmp_path):
    text = ""
    for wave in (1, 2):
        text += f"------------ wave={wave} ------------\n\n" + T + ttest(PEOPLE[PEOPLE["wave"] == wave], "wage", "ill")
    for wave in (1, 2):
        matched(text, WAGE | {"test": "t", "where": f"wave == {wave}"}, tmp_path, PEOPLE)
    with pytest.raises(OutputError, match=r"is of wave = 1, the output's where is wave == 2"):
        given(text, WAGE | {"test": "t", "where": "wave == 2"}, tmp_path, PEOPLE, "out.lst", "#1")


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (T + ttest(PEOPLE, "wage", "ill").replace("Pr > |t|", "Pr > t"), WAGE, "is on one side"),
        (T + ttest(PEOPLE, "age", "ill"), WAGE | {"test": "t"}, "it is a test of age by ill"),
        (
            "------------ wave=1 ------------\n\n" + T + ttest(PEOPLE, "wage", "ill"),
            WAGE | {"test": "t"},
            "is of a subset, wave = 1",
        ),
        (
            RANKS + npar1way(PEOPLE, "age", "ill").replace("-1.9395", "-1.9995"),
            AGE | {"test": "rank-sum"},
            "which its sums of ranks do not give",
        ),
        (
            "proc freq data=p;\ntables ill*wave / chisq;\nweight w;\nrun;\n" + FREQ + OF_TABLE,
            OF | {"variable": "ill", "by": ["wave"], "test": "fisher"},
            "it is weighted by w",
        ),
    ],
)
def test_what_is_no_such_test_is_refused(text, entry, message, tmp_path):
    with pytest.raises(OutputError, match=message):
        given(text, entry, tmp_path, PEOPLE)
