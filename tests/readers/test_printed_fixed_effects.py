"""Printed regressions with fixed effects of five programs, of Grunfeld's ten firms: each number against a refit.

R's plm printed its own (2.6-2). Stata's logs and fixest's prints are written by hand in their layout, with numbers of
statsmodels (dummies) and, of sigma_u and rho, as Stata's manual has them for these data.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import statsmodels.datasets as datasets

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook

PRINTED = Path(__file__).parent / "printed"
WHOLE = {"coefficients", "standard_errors", "confidence_limits", "p_values", "n", "f", "levels"}
OF_R = {"coefficients", "standard_errors", "p_values", "n", "r2_adjusted", "r2_within", "levels"}
OF_XTREG = WHOLE | {"r2_within", "residual_sd", "sigma_u", "rho"}
FIRM, BOTH = ("firm",), ("firm", "year")
TABLES = {  # what each file releases, what is absorbed, the program, the cluster
    "stata_areg.log": (WHOLE | {"r2", "r2_adjusted", "residual_sd"}, FIRM, "areg", ""),
    "stata_xtreg.log": (OF_XTREG, FIRM, "xtreg", ""),
    "stata_xtreg_robust.log": (OF_XTREG, FIRM, "xtreg", "firm"),
    "stata_reghdfe.log": (WHOLE | {"r2", "r2_adjusted", "r2_within", "residual_sd"}, BOTH, "reghdfe", ""),
    "fixest.txt": (OF_R | {"rmse"}, BOTH, "fixest", ""),
    "fixest_clustered.txt": (OF_R | {"rmse"}, FIRM, "fixest", "firm"),
    "plm.txt": (OF_R | {"f"}, FIRM, "plm", ""),
    "plm_twoways.txt": (OF_R | {"f"}, BOTH, "plm", ""),
}


@cache
def data():
    frame = datasets.grunfeld.load_pandas().data
    frame = frame[frame["firm"] != "American Steel"].assign(year=lambda each: each["year"].astype(int).astype(str))
    return from_frame(frame.reset_index(drop=True), infer_codebook(frame.reset_index(drop=True))[0])


def given(entry):
    """The output of an entry as its print gives it, and its refit."""
    document = {"name": "grunfeld", "data": {"path": "grunfeld.csv"}, "keys": ["firm"], "target": "invest"}
    study = study_of(document | {"outputs": [{"kind": "ols", **entry}]}, PRINTED / "grunfeld.yaml")
    (found,) = study.given(data().codebook).values()
    return found, found.recompute(data())


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("model", [{"formula": "invest ~ value + capital"}, {"response": "invest"}])
def test_every_printed_number_is_what_a_refit_gives(name, model):
    parts, absorb, program, cluster = TABLES[name]
    released, beside = given({**model, "values": name})
    output = released.output
    assert set(output.release.parts) == parts
    assert (output.absorb, output.program, output.covariance.cluster) == (absorb, program, cluster)
    off = np.abs(beside.differences) * 10.0**released.decimals
    assert beside.failure == "" and (beside.matched | (off <= ROUNDING)).all()


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_digit_shows(name, tmp_path):
    shown = {"stata": (".1101238", ".1101248"), "fixest": ("0.1101", "0.1102"), "plm": ("0.110124", "0.110134")}
    old, new = shown[name.split("_")[0].split(".")[0]]
    text = (PRINTED / name).read_text()
    if old not in text:  # of two ways
        old, new = (".11771", ".11772") if "stata" in name else ("0.117716", "0.117726")
    (tmp_path / name).write_text(text.replace(old, new))
    _, beside = given({"formula": "invest ~ value + capital", "values": str(tmp_path / name)})
    assert not beside.matched.all()


def test_what_is_printed_and_not_assessed_is_said(caplog):
    caplog.set_level("INFO", logger="outrisk")
    given({"formula": "invest ~ value + capital", "values": "stata_xtreg.log"})
    assert "the R2 between and overall, and corr(u_i, Xb)" in caplog.text
    assert "the least, mean and largest number of records per group" in caplog.text


@pytest.mark.parametrize(
    ("entry", "name", "says"),
    [
        ({"absorb": "year"}, "stata_areg.log", "the table absorbs firm, the output says year"),
        ({}, "plm_random.txt", "the table is of a mixed, the output says kind: ols; correct it"),
    ],
)
def test_what_cannot_be_read_is_refused(entry, name, says):
    with pytest.raises(OutputError, match=says):
        given({"formula": "invest ~ value + capital", "values": name, **entry})


@pytest.mark.parametrize(
    ("name", "above", "line", "says"),
    [
        (
            "fixest.txt",
            "Observations",
            "Weights: w\n",
            "it is of Weights: w, and weights with fixed effects are not known",
        ),
        ("fixest.txt", "Observations", "Offset: w\n", "it is of Offset: w, which is not known"),
        ("fixest.txt", "Standard-errors", "Varying slopes: value (firm: 10)\n", "write them as terms of the formula"),
        (
            "fixest.txt",
            "Observations",
            "Subset: year > 1940\n",
            "the table is of a subset, year > 1940, the output is of",
        ),
        ("fixest.txt", "Observations", "Sample (year): 1941\n", "the table is of a subset, 1941, the output is of all"),
        ("plm.txt", "Call:", "Instrumental variable estimation\n\n", "it is of instrumental variables"),
        (
            "stata_areg.log",
            "Linear regression",
            ". areg invest value capital if year > 1940, absorb(firm)\n\n",
            "the table is of a subset, year > 1940, the output is of all records",
        ),
    ],
)
def test_a_print_of_another_model_is_not_taken_for_one_of_all_records(name, above, line, says, tmp_path):
    text = (PRINTED / name).read_text()
    (tmp_path / name).write_text(text.replace(above, line + above, 1))
    with pytest.raises(OutputError) as error:
        given({"formula": "invest ~ value + capital", "values": str(tmp_path / name)})
    assert says in str(error.value)
