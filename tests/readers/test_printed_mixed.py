"""Printed linear mixed models: each number against a refit.

R's lme4 1.1, lmerTest 3.1, nlme 3.1, plm 2.6 and statsmodels printed their own, of pupils.csv. Stata's logs are by hand
in their layout: of mixed with numbers of lme4, of xtreg, re with plm's of Grunfeld's ten firms, which are balanced.
The table of broom.mixed has the numbers of lmerTest, in its layout.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.datasets as datasets

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook

PRINTED = Path(__file__).parent / "printed"
OF_ALL = {"coefficients", "standard_errors", "n", "levels"}
OF_LME4 = OF_ALL | {"log_likelihood", "sigma_u", "variance_u", "residual_sd", "variance_e"}
ROOTS, SQUARES = {"sigma_u", "residual_sd"}, {"variance_u", "variance_e"}
TABLES = {  # what each file releases, how it was fitted, and by which program
    "lme4_reml.txt": (OF_LME4, "reml", "lme4"),
    "lme4_ml.txt": (OF_LME4 | {"aic", "bic"}, "ml", "lme4"),
    "lmertest.txt": (OF_LME4 | {"p_values"}, "reml", "lmerTest"),
    "nlme.txt": (OF_ALL | ROOTS | {"p_values", "log_likelihood", "aic", "bic"}, "reml", "nlme"),
    "plm_swar.txt": (OF_ALL | ROOTS | SQUARES | {"p_values", "rho"}, "gls", "plm"),
    "statsmodels_mixedlm.txt": (OF_ALL | SQUARES | {"p_values", "confidence_limits", "log_likelihood"}, "reml", ""),
    "statsmodels_mixedlm_ml.txt": (OF_ALL | SQUARES | {"p_values", "confidence_limits", "log_likelihood"}, "ml", ""),
    "stata_mixed.log": (OF_ALL | SQUARES | {"p_values", "confidence_limits", "log_likelihood"}, "ml", "mixed"),
    "broom_mixed.csv": (({*OF_ALL} - {"n", "levels"}) | ROOTS | {"p_values"}, "reml", "lmerTest"),
}


@cache
def data(name):
    if name == "pupils":
        frame = pd.read_csv(PRINTED / "pupils.csv")
    else:
        frame = datasets.grunfeld.load_pandas().data
        frame = frame[frame["firm"] != "American Steel"].reset_index(drop=True)
    return from_frame(frame, infer_codebook(frame)[0])


def given(entry, of="pupils"):
    """The output of an entry as its print gives it, and its refit."""
    keys = {"keys": ["school"], "target": "score"} if of == "pupils" else {"keys": ["firm"], "target": "invest"}
    document = {"name": "pupils", "data": {"path": "pupils.csv"}, **keys}
    study = study_of(document | {"outputs": [{"kind": "mixed", **entry}]}, PRINTED / "pupils.yaml")
    (found,) = study.given(data(of).codebook).values()
    return found, found.recompute(data(of))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("formula", ["score ~ hours + sex + (1 | school)", "score ~ hours + sex", ""])
def test_every_printed_number_is_what_a_refit_gives(name, formula):
    parts, method, program = TABLES[name]
    model = {"formula": formula} if formula else {"response": "score"}
    if name == "broom_mixed.csv" and not formula:
        model |= {"groups": "school"}
    released, beside = given({**model, "values": name})
    output = released.output
    assert set(output.release.parts) == parts
    assert (output.groups, output.fitted_by, output.program) == ("school", method, program or "statsmodels")
    off = np.abs(beside.differences) * 10.0**released.decimals
    wrong = [label for label, bad in zip(released.labels, ~(beside.matched | (off <= ROUNDING)), strict=True) if bad]
    assert beside.failure == "" and not wrong


@pytest.mark.parametrize(("name", "more"), [("stata_xtreg_re.log", {"confidence_limits"}), ("plm_random.txt", SQUARES)])
def test_swamy_arora_of_balanced_groups(name, more):
    released, beside = given({"formula": "invest ~ value + capital", "values": name}, "grunfeld")
    assert set(released.output.release.parts) == OF_ALL | ROOTS | {"p_values", "rho"} | more
    off = np.abs(beside.differences) * 10.0**released.decimals
    wrong = [label for label, bad in zip(released.labels, ~(beside.matched | (off <= ROUNDING)), strict=True) if bad]
    assert not wrong


@pytest.mark.parametrize(("name", "old", "new"), [
    ("lme4_reml.txt", "1.04527", "1.04547"),
    ("lme4_ml.txt", "6.327", "6.337"),
    ("lmertest.txt", "0.0646", "0.0656"),
    ("nlme.txt", "1678.507", "1678.607"),
    ("plm_swar.txt", "37.535", "37.635"),
    ("statsmodels_mixedlm.txt", "50.1939", "50.2939"),
    ("stata_mixed.log", "40.03094", "41.03094"),
])  # fmt: skip
def test_a_wrong_digit_shows(name, old, new, tmp_path):
    text = (PRINTED / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    _, beside = given({"formula": "score ~ hours + sex", "groups": "school", "values": str(tmp_path / name)})
    assert not beside.matched.all()


@pytest.mark.parametrize(("name", "entry", "says"), [
    ("lme4_slope.txt", {}, r"\(hours \| school\) is not known; known is one random intercept"),
    ("lme4_reml.txt", {"formula": "score ~ hours + sex + (1 | sex)"}, "is of groups by school, the output says sex"),
    ("lme4_reml.txt", {"method": "ml"}, "the table is by reml, the output says method: ml"),
    ("lme4_reml.txt", {"program": "nlme"}, "the table is by lme4, the output says program: nlme"),
    ("lme4_reml.txt", {"formula": "hours ~ sex"}, "the table is of the response 'score', the output says 'hours'"),
    ("lme4_reml.txt", {"formula": "score ~ hours"}, "'sexgirl' is no variable or level"),
    ("lme4_reml.txt", {"kind": "ols"}, "the table is of a mixed, the output says kind: ols"),
])  # fmt: skip
def test_what_does_not_fit_the_study_is_refused(name, entry, says):
    with pytest.raises(OutputError, match=says):
        given({"formula": "score ~ hours + sex", "values": name} | entry)


@pytest.mark.parametrize(("name", "old", "new", "says"), [
    ("nlme.txt", "~1 | school", "~hours | school", r"it has Formula: ~hours \| school, which is not known"),
    ("plm_swar.txt", "Swamy-Arora's", "Nerlove's", "plm's random model Nerlove's, which is not known"),
    ("stata_mixed.log", "                  var(_cons)", "                  var(hours)", r"it has var\(hours\)"),
    ("statsmodels_mixedlm.txt", "school Var ", "hours Var   1.0   1.0\nschool Var ", "several variances"),
    ("stata_xtreg_re.log", "Random-effects GLS", "Random-effects ML", "its title is 'Random-effects ML"),
    ("lme4_reml.txt", "   Data: d\n", "   Data: d\n Offset: w\n", "a fit by lmer with an offset, which is not known"),
    ("lme4_reml.txt", "   Data: d\n", "   Data: d\nWeights: w\n", "a fit by lmer with weights, which are not known"),
])  # fmt: skip
def test_other_models_are_refused(name, old, new, says, tmp_path):
    text = (PRINTED / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    with pytest.raises(OutputError, match=says):
        given({"formula": "score ~ hours + sex", "groups": "school", "values": str(tmp_path / name)})


@pytest.mark.parametrize(("name", "by"), [
    ("lmertest_kr.txt", "standard errors and p-values of Kenward and Roger"),
    ("plm_vcovhc.txt", "standard errors and p-values by vcovHC"),
])  # fmt: skip
def test_errors_that_are_not_the_models_are_left_out(name, by, caplog):
    caplog.set_level("INFO")
    released, beside = given({"formula": "score ~ hours + sex + (1 | school)", "values": name})
    assert not {"standard_errors", "p_values"} & set(released.output.release.parts) and beside.matched.all()
    assert by in caplog.text


@pytest.mark.parametrize(("old", "new"), [
    ("43.92    6.627 ", "0.00     0.000 "),
    ("43.92    6.627 ", "0.000000 0.00000"),
    ("43.92    6.627 ", "0        0      "),
])  # fmt: skip
def test_a_singular_fit_is_said(old, new, caplog, tmp_path):
    caplog.set_level("INFO")
    text = (PRINTED / "lme4_reml.txt").read_text()
    assert old in text
    (tmp_path / "a.txt").write_text(text.replace(old, new))
    given({"formula": "score ~ hours + sex", "groups": "school", "values": str(tmp_path / "a.txt")})
    assert "a singular fit: the variance between groups is 0" in caplog.text


def test_a_subset_needs_where(tmp_path):
    text = (PRINTED / "lme4_reml.txt").read_text().replace("   Data: d\n", '   Data: d\n Subset: sex == "girl"\n')
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(OutputError, match="the table is of a subset"):
        given({"formula": "score ~ hours + sex", "groups": "school", "values": str(tmp_path / "a.txt")})
