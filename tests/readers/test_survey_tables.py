"""Prints of R's package survey (4.1-1, of the records beside `outputs/survey/make_survey.R`), and of Stata's svy, which
are by hand: R's numbers with limits by Student's t of the design.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import released_as_given
from outrisk.readers.values import resolve

HERE = Path(__file__).parent
PRINTED = HERE / "printed"
RECORDS = pd.read_csv(HERE.parent / "outputs" / "survey" / "survey_records.csv")
CODEBOOK = infer_codebook(RECORDS)[0]
DATA = from_frame(RECORDS, CODEBOOK)
DESIGN = {"weights": "weight", "strata": "stratum", "psu": "psu"}
MEAN = {"kind": "magnitudes", "value": "pressure", "design": DESIGN}
SHARE = {"kind": "proportions", "event": "smoker", "design": DESIGN}


def read(given, values, codebook=CODEBOOK):
    entry = TypeAdapter(OutputEntry).validate_python(given | {"values": values})
    (found,) = resolve(entry, codebook, 1, PRINTED)
    return found


def given(entry):
    (output,) = entry.build(CODEBOOK, 1)
    return output, released_as_given([output], entry.values, Path())[0]


@pytest.mark.parametrize(
    ("file", "entry", "statistics", "numbers"),
    [
        ("r_svymean.txt", MEAN, ("mean", "standard error"), 2),
        ("r_svymean_levels.txt", SHARE | {"event": "region"}, ("proportion", "standard error"), 6),
        ("r_svyby_mean.txt", MEAN | {"by": "region"}, ("mean", "standard error"), 6),
        ("r_svyby_mean_ci.txt", MEAN | {"by": "region"}, ("mean", "standard error", "limits"), 12),
        ("r_svyby_two.txt", MEAN | {"by": ["sex", "region"]}, ("mean", "standard error"), 12),
        ("r_svyciprop.txt", SHARE, ("proportion", "limits"), 3),
        ("r_svyby_ciprop.txt", SHARE | {"by": "region"}, ("proportion", "limits"), 9),
        ("stata_svy_mean.log", MEAN | {"by": "region"}, ("mean", "standard error", "limits", "psus", "strata"), 14),
        (
            "stata_svy_proportion.log",
            SHARE | {"event": "region"},
            ("proportion", "standard error", "limits", "n", "population", "psus", "strata"),
            16,
        ),
    ],
)
def test_prints_are_read_and_are_those_of_the_records(file, entry, statistics, numbers):
    if file.startswith("r_"):
        entry = entry | {"design": DESIGN | {"program": "r"}}
    found = read(entry, file)
    assert found.statistics == statistics
    output, released = given(found)
    assert len(output.labels) == numbers
    assert released.is_matched(output.refit(DATA)).all() and np.isfinite(released.low).all()


@pytest.mark.parametrize(
    ("file", "formula", "kind"),
    [
        ("r_svyglm.txt", "pressure ~ age + sex + region", "ols"),
        ("r_svyglm_logit.txt", "smoker ~ age + sex", "logit"),
        ("stata_svy_regress.log", "pressure ~ age + sex", "ols"),
    ],
)
@pytest.mark.parametrize("said", [True, False])
def test_regressions_by_a_design(file, formula, kind, said):
    if file.startswith("stata") and not said:
        found = read({"kind": kind, "formula": formula, "weight": "weight"}, file)
        assert found.design is None and "standard_errors" not in found.release  # it names no design
        return
    found = read({"kind": kind, "formula": formula} | ({"design": DESIGN} if said else {}), file)
    assert found.design.program == ("stata" if file.startswith("stata") else "r")
    assert (found.design.strata, found.design.psu, found.design.weights) == ("stratum", "psu", "weight")
    assert {"standard_errors", "p_values"} <= set(found.release)
    output, released = given(found)
    assert released.is_matched(output.refit(DATA)).all()


@pytest.mark.parametrize(
    ("change", "entry", "says"),
    [
        (("strata = ~stratum", "strata = ~region"), {}, "the strata of the print are 'region'"),
        (("nest = TRUE", "nest = TRUE, fpc = ~age"), {}, "fpc, which is not known"),
        (("svydesign(~psu, strata", "subset(full, age > 30) #"), {}, "it is of a subpopulation of the design"),
        (("", ""), {"design": DESIGN | {"program": "stata"}}, "it is of R, the output says"),
    ],
)
def test_a_design_that_is_another_is_refused(change, entry, says):
    text = (PRINTED / "r_svyglm.txt").read_text().replace(*change)
    entry = {"kind": "ols", "formula": "pressure ~ age + sex + region", "design": DESIGN} | entry
    with pytest.raises(OutputError, match=says):
        read(entry, text)


@pytest.mark.parametrize(
    ("file", "entry", "says"),
    [
        ("r_svyby_confint.txt", MEAN | {"by": "region"}, "limits alone"),
        ("r_svytable.txt", MEAN | {"by": "region"}, "no column 'region'"),
        ("r_svymean.txt", MEAN | {"by": "region"}, "print svyby"),
        ("r_svyby_mean.txt", MEAN | {"by": "sex"}, "no column 'sex'"),
        (
            "stata_svy_mean.log",
            MEAN | {"by": "sex"},
            "its rows are of 'c.pressure@region', the output is of pressure by",
        ),
        ("stata_svy_mean.log", MEAN | {"value": "visits", "by": "region"}, "its rows are of 'c.pressure@region'"),
        ("r_svyciprop.txt", SHARE | {"event": "sex"}, "'I\\(smoker == 1\\)' is not sex=m"),
        ("r_svyciprop.txt", SHARE | {"event_value": "0"}, "'I\\(smoker == 1\\)' is not smoker=0"),
        ("r_svyby_ciprop.txt", SHARE | {"by": "region", "event_value": "0"}, "'smoker' is not smoker=0"),
        ("r_svyby_mean.txt", MEAN | {"value": "age", "by": "region"}, "no mean of age is known in it"),
        ("stata_svy_mean.log", MEAN | {"by": "region", "level": 0.9}, "'level' is 0.9 in the study"),
    ],
)
def test_other_prints_are_refused(file, entry, says):
    with pytest.raises(OutputError, match=says):
        read(entry, file)


@pytest.mark.parametrize("file", ["r_svymean.txt", "r_svyby_mean_ci.txt", "r_svyciprop.txt"])
def test_what_r_prints_is_of_r_whether_the_study_says_so_or_not(file):
    """Limits of means are by the normal distribution then."""
    entry = (SHARE if "ciprop" in file else MEAN) | ({"by": "region"} if "svyby" in file else {})
    for text in (file, "> print(found)\n" + (PRINTED / file).read_text()):
        found = read(entry, text)
        assert found.design.program == "r"
        output, released = given(found)
        assert released.is_matched(output.refit(DATA)).all()


def test_effects_of_the_design_are_left_out():
    found = read(MEAN, "           mean    SE   DEff\npressure 131.31 1.652 1.8234\n")
    assert given(found)[1].low.tolist() == [131.31, 1.652]


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("stata_svy_mean.log", ("Linearized", "Jackknife"), "replicate weights"),
        ("stata_svy_mean.log", ("Linearized", "     BRR *"), "replicate weights"),
        ("stata_svy_mean.log", ("Number of PSUs ", "N. of poststrata = 3  Number of PSUs "), "calibrated"),
        ("r_svyglm.txt", ("svydesign(", "calibrate(svydesign("), "its design is calibrated \\(calibrate\\)"),
        ("r_svyglm.txt", ("svydesign(", "postStratify(svydesign("), "calibrated"),
    ],
)
def test_errors_by_other_than_the_design_are_refused(file, change, says):
    text = (PRINTED / file).read_text().replace(*change)
    entry = {"kind": "ols", "formula": "pressure ~ age + sex + region"} if "svyglm" in file else MEAN | {"by": "region"}
    with pytest.raises(OutputError, match=says):
        read(entry | {"design": DESIGN}, text)


def test_each_mean_of_a_session_is_found():
    text = (PRINTED / "stata_svy_mean.log").read_text()
    other = text.replace("pressure", "visits").replace("129.8519", "229.8519")
    entry = MEAN | {"by": "region"}
    alone = read(entry, "stata_svy_mean.log")
    for session in (f". svyset p\n\n{text}\n{other}", f"{other}\n{text}\n. tabulate region\n\n east | 1 2\n"):
        assert read(entry, session).values == alone.values
    with pytest.raises(OutputError, match="no tables of age and region"):
        read(entry | {"value": "age"}, f"{other}\n{text}")
