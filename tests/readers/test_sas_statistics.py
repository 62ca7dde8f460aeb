"""Statistics of PROC MEANS and UNIVARIATE in listings of SAS, laid out from our own records."""

import numpy as np
import pytest
from as_sas import corr, means, page, procedure, univariate
from as_stata import given, people
from test_sas_listings import matched

from outrisk.errors import OutputError

PEOPLE = people(300)
USUAL = ("N", "Mean", "Std Dev", "Minimum", "Maximum")
RANKS = ("N", "Minimum", "Lower Quartile", "Median", "Upper Quartile", "90th Pctl", "Maximum")
LIMITS = ("N", "Mean", "Std Error", "Lower 95% CL for Mean", "Upper 95% CL for Mean")
WAGE = {"kind": "magnitudes", "value": "wage"}
QUANTILES = {"kind": "quantiles", "value": "wage"}
SESSION = (
    page(1, feed=False) + procedure("MEANS") + means(PEOPLE, ["wage"], USUAL, label="Monthly wage")
    + page(2) + procedure("MEANS") + means(PEOPLE, ["wage", "age"], USUAL, ("area",))
    + page(3) + procedure("MEANS") + means(PEOPLE, ["wage"], RANKS, ("area", "wave"))
    + page(4) + procedure("UNIVARIATE") + univariate(PEOPLE, "age", "Age in years")
)  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "n"),
    [
        (WAGE, 3),
        (WAGE | {"by": ["area"]}, 9),
        (WAGE | {"value": "age", "by": ["area"], "statistics": ["mean", "sd"]}, 6),
        (QUANTILES | {"by": ["wave", "area"]}, 6 * 6),
        (QUANTILES | {"by": ["area", "wave"], "quantiles": [0.25, 0.5, 0.9]}, 6 * 3),
        (QUANTILES | {"value": "age", "quantiles": [0.01, 0.25, 0.5, 0.95]}, 4),
        (WAGE | {"value": "age"}, None),
        ({"kind": "shape", "value": "age", "statistics": ["skewness", "kurtosis"]}, 2),
    ],
)
def test_each_output_takes_its_own_statistics(entry, n, tmp_path):
    released = matched(SESSION, entry, tmp_path, PEOPLE)
    assert n is None or len(released.labels) == n


def test_limits_of_means_are_read_with_their_level(tmp_path):
    text = procedure("MEANS") + means(PEOPLE, ["wage"], LIMITS, ("area",))
    assert len(matched(text, WAGE | {"by": ["area"]}, tmp_path, PEOPLE).labels) == 3 * 5
    with pytest.raises(OutputError, match=r"'level' is 0\.9 in the study and 0\.95 in the table"):
        given(text, WAGE | {"by": ["area"], "level": 0.9}, tmp_path, PEOPLE)


def test_statistics_in_panels_are_of_one_table(tmp_path):
    text = procedure("MEANS") + means(PEOPLE, ["wage", "age"], USUAL[:3], ("area",))
    text += means(PEOPLE, ["wage", "age"], USUAL[3:], ("area",))
    assert len(matched(text, WAGE | {"by": ["area"]}, tmp_path, PEOPLE).labels) == 9
    assert len(matched(text, QUANTILES | {"by": ["area"], "quantiles": [0, 1]}, tmp_path, PEOPLE).labels) == 6


def test_missing_values_are_left_out_as_sas_does(tmp_path):
    frame = people(200)
    frame.loc[::7, "wage"] = np.nan
    frame.loc[::11, "area"] = None
    text = procedure("MEANS") + means(frame, ["wage"], USUAL, ("area",))
    matched(text, WAGE | {"by": ["area"]}, tmp_path, frame)


def test_a_deviation_of_0_is_no_rounded_number(tmp_path):
    frame = people(100)
    frame.loc[frame["area"] == "west", "age"] = 30
    text = procedure("MEANS") + means(frame, ["age"], ("Mean", "Std Dev"), ("area",))
    released = matched(text, WAGE | {"value": "age", "by": ["area"]}, tmp_path, frame)
    at = released.labels.index("area=west: sd of age")
    assert released.high[at] - released.low[at] < 1e-5


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (SESSION, WAGE | {"by": ["ill"]}, "no tables of wage by ill"),
        (
            SESSION,
            QUANTILES | {"by": ["area", "wave"], "program": "spss"},
            "definition 5.*says 'program: spss'; say sas",
        ),
        (
            SESSION,
            {"kind": "shape", "value": "age", "moments": "population"},
            "'moments: adjusted' with 'excess: true'",
        ),
        (
            procedure("UNIVARIATE")
            + univariate(PEOPLE, "age").replace("Sum Weights                  300", "Sum Weights    310.5"),
            WAGE | {"value": "age"},
            r"it is weighted: 300 records, 310\.5 sum of weights",
        ),
        (
            "proc means data=people;\n  where age > 30;\n  var wage;\nrun;\n"
            + procedure("MEANS")
            + means(PEOPLE, ["wage"], USUAL),
            WAGE,
            "is of a subset, age > 30, the output is of all records",
        ),
        (
            "proc means data=people;\n  var wage;\n  weight w;\nrun;\n"
            + procedure("MEANS")
            + means(PEOPLE, ["wage"], USUAL),
            WAGE,
            "is weighted by w, which is not read",
        ),
        (
            procedure("MEANS") + "-" * 30 + " wave=1 " + "-" * 30 + "\n\n" + means(PEOPLE, ["wage"], USUAL),
            WAGE,
            "are of groups .*wave=1.*of all records",
        ),
    ],
)
def test_what_is_of_others_is_refused(text, entry, message, tmp_path):
    with pytest.raises(OutputError, match=message):
        given(text, entry, tmp_path, PEOPLE)


@pytest.mark.parametrize("option", ["vardef=n", "qntldef=3"])
def test_other_definitions_are_refused(option, tmp_path):
    text = (
        f"proc means data=people {option};\n  var wage;\nrun;\n" + procedure("MEANS") + means(PEOPLE, ["wage"], USUAL)
    )
    with pytest.raises(OutputError, match=f"is by {option}, which is not read"):
        given(text, WAGE, tmp_path, PEOPLE)


def test_a_class_of_univariate_and_other_procedures_are_refused(tmp_path):
    text = procedure("UNIVARIATE") + univariate(PEOPLE, "age").replace("age\n", "age\n   area = north\n", 1)
    with pytest.raises(OutputError, match=r"it is of one class \(area = north\)"):
        given(text, WAGE | {"value": "age"}, tmp_path, PEOPLE)
    text = procedure("LIFETEST") + "  age  Survival  Failure\n\n   20    0.9000   0.1000\n"
    with pytest.raises(OutputError, match="no table of a listing of SAS is read for kind: survival"):
        given(text, {"kind": "survival", "time": "age", "event": "ill"}, tmp_path, PEOPLE)


def test_groups_of_by_go_with_where(tmp_path):
    text = procedure("MEANS")
    for wave in (1, 2):
        some = PEOPLE[PEOPLE["wave"] == wave]
        text += "-" * 30 + f" wave={wave} " + "-" * 30 + "\n\n" + means(some, ["wage"], USUAL)
    for wave in (1, 2):
        matched(text, WAGE | {"where": f"wave == {wave}"}, tmp_path, PEOPLE)


def test_correlations_are_those_of_their_variables(tmp_path):
    text = page(1, feed=False) + procedure("CORR") + corr(PEOPLE, ["age", "wave", "wage"], label="Age in years")
    entry = {"kind": "correlations", "variables": ["wage", "age"]}
    assert len(matched(text, entry, tmp_path, PEOPLE).labels) == 3
    assert len(matched(text, entry | {"variables": ["age", "wave", "wage"]}, tmp_path, PEOPLE).labels) == 7
    assert len(matched(text, entry | {"statistics": ["correlation"]}, tmp_path, PEOPLE).labels) == 1
    with pytest.raises(OutputError, match="weighted by w"):
        given("proc corr data=p; var age wave wage; weight w; run;\n" + text, entry, tmp_path, PEOPLE)
