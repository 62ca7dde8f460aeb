"""Printed quantile regressions: each number against a refit.

R's quantreg 5.94, broom 1.0 and statsmodels printed their own, of wages.csv. Stata's logs are by hand in their layout,
with numbers by its formulas.
"""

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook
from outrisk.readers import quantile_output
from outrisk.readers.source import Source

PRINTED = Path(__file__).parent / "printed"
ERRORS = {"coefficients", "standard_errors", "p_values"}
LIMITS = ERRORS | {"confidence_limits"}
OF_STATA = LIMITS | {"n", "pseudo_r2", "deviations", "raw_deviations", "raw_quantile"}
TABLES = {  # what each file releases, given what the output has to say
    "rq_nid.txt": (ERRORS, {"errors": "nid"}, 0.5),
    "rq_ker.txt": (ERRORS, {"errors": "ker", "bandwidth": "bofinger"}, 0.5),
    "rq_two.txt#1": (ERRORS, {"errors": "iid"}, 0.25),
    "rq_two.txt#2": (ERRORS, {"errors": "iid"}, 0.5),
    "rq_rank.txt": ({"coefficients"}, {}, 0.5),
    "rq_tidy.csv": (LIMITS, {"errors": "nid"}, 0.5),
    "rq_tidy_rank.csv": ({"coefficients"}, {}, 0.5),
    "statsmodels_quantreg.txt": (LIMITS | {"n", "pseudo_r2"}, {"tau": 0.5, "errors": "robust"}, 0.5),
    "statsmodels_quantreg_25.txt": (LIMITS | {"n", "pseudo_r2"}, {"tau": 0.25, "errors": "iid"}, 0.25),
    "stata_qreg.log": (OF_STATA, {}, 0.5),
    "stata_qreg_25.log": (OF_STATA, {}, 0.25),
}


@cache
def data():
    frame = pd.read_csv(PRINTED / "wages.csv")
    return from_frame(frame, infer_codebook(frame)[0])


def given(**entry):
    """The output of an entry as its print gives it, and its refit."""
    document = {"name": "wages", "data": {"path": "wages.csv"}, "keys": ["age"], "target": "wage"}
    study = study_of(document | {"outputs": [{"kind": "quantreg", **entry}]}, PRINTED / "wages.yaml")
    (found,) = study.given(data().codebook).values()
    return found, found.recompute(data())


@pytest.mark.parametrize("name", TABLES)
def test_every_printed_number_is_what_a_refit_gives(name):
    parts, said, tau = TABLES[name]
    found, refit = given(formula="wage ~ age + area", values=name, **said)
    assert {*found.output.release.parts} == parts and found.output.tau == tau
    assert refit.failure == ""
    far = abs(found.distance(refit.numbers))
    assert (far <= found.tolerance * 1.001 + 1e-6 * abs(refit.numbers)).all(), dict(
        zip(found.labels, zip(found.values, refit.numbers, strict=True), strict=True)
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"values": "rq_two.txt"}, "it has 2 quantiles; say which"),
        ({"values": "rq_nid.txt", "tau": 0.25}, "of the quantile 0.5, the output says tau: 0.25"),
        ({"values": "rq_nid.txt", "program": "stata"}, "by quantreg, the output says program: stata"),
        ({"values": "statsmodels_quantreg.txt"}, "does not say of which quantile"),
        ({"values": "rq_nid.txt", "tau": [0.25, 0.5]}, "write an output each"),
        ({"values": "stata_qreg_25.log", "errors": "iid"}, "are robust, the output says errors: iid"),
    ],
)
def test_what_contradicts_is_refused(entry, reason):
    with pytest.raises(OutputError, match=reason):
        given(formula="wage ~ age + area", **entry)


def test_a_print_is_not_read_as_another_kind():
    document = {"name": "wages", "data": {"path": "wages.csv"}, "keys": ["age"], "target": "wage"}
    entry = {"kind": "ols", "formula": "wage ~ age + area", "values": "rq_nid.txt"}
    study = study_of(document | {"outputs": [entry]}, PRINTED / "wages.yaml")
    with pytest.raises(OutputError, match="the table is of a quantreg, the output says kind: ols"):
        study.given(data().codebook)


CALL = """Call: rq(formula = round(y, 1) ~ poly(x, 2), tau = 0.5, data = d, subset = x >
    30)

tau: [1] 0.5

Coefficients:
            Value    Std. Error t value  Pr(>|t|)
(Intercept) 16.00000  5.68126    2.81628  0.00670
"""


def test_arguments_of_the_call_end_where_their_brackets_do():
    read = quantile_output.read(Source("fit.txt", CALL))
    assert (read.response, read.subset, read.tau) == ("round(y, 1)", "x > 30", "0.5")
    with pytest.raises(OutputError, match="it has one quantile, and #2 asks for another"):
        quantile_output.read(Source("fit.txt", CALL), 2)
