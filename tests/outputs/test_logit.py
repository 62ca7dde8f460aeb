import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import from_frame
from outrisk.outputs import Logit, RegressionEntry, logit_from_terms, release
from outrisk.outputs.regression import fit
from outrisk.outputs.regression.sandwich import Covariance

CODEBOOK = Codebook(
    (
        Variable("ill", "categorical", ("no", "yes")),
        Variable("rent", "integer", (0, 1)),
        Variable("age", "integer", tuple(range(20, 60))),
        Variable("pay", "numeric", (0.5, 1.0, 2.5, 4.0), missing=True),
        Variable("area", "categorical", ("n", "s", "w~e", "it's")),
        Variable("my job", "categorical", ("a", "b", "c"), missing=True),
        Variable("flat", "categorical", ("x", "never")),
    )
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    n = 900
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "pay": rng.choice([0.5, 1.0, 2.5, 4.0, np.nan], n),
            "area": rng.choice(["n", "s", "w~e", "it's"], n),
            "my job": rng.choice(["a", "b", "c", None], n),
            "flat": "x",
        }
    )
    eta = 0.03 * (frame["age"] - 40) + 0.5 * (frame["area"] == "s") - 0.2 * frame["pay"].fillna(1)
    frame["rent"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    frame["ill"] = np.where(rng.random(n) < 1 / (1 + np.exp(0.5 - eta)), "yes", "no")
    return from_frame(frame, CODEBOOK)


def plain(data):
    """Records for statsmodels' own formulas: 0/1 response, names without spaces."""
    frame = data.frame().rename(columns={"my job": "job"})
    return frame.assign(ill01=(frame["ill"] == "yes").astype(int))


@pytest.mark.parametrize(
    ("formula", "theirs"),
    [
        ("ill ~ age + area", "ill01 ~ age + area"),
        ("rent ~ age + pay", "rent ~ age + pay"),
        ("rent ~ C(pay) + age", "rent ~ C(pay) + age"),
        ("ill ~ age * area", "ill01 ~ age * area"),
        ("ill ~ 1", "ill01 ~ 1"),
        ("ill ~ age + `my job` + C(area, contr.treatment(base='s'))", "ill01 ~ age + job + C(area, Treatment('s'))"),
        ("ill ~ np.log(age) + I(age ** 2)", "ill01 ~ np.log(age) + I(age ** 2)"),
        ("`rent` ~ area:pay", "rent ~ area:pay"),
    ],
)
@pytest.mark.parametrize("where", ["", "age >= 30 and area != 'n'", "pay > 0.5"])
def test_a_formula_agrees_with_statsmodels(data, formula, theirs, where):
    if "area" in formula or "pay" in formula:  # elsewhere a level would have no records, and is refused
        where = where and "age >= 30"
    output = Logit(CODEBOOK, "l", formula, where=where)
    frame = plain(data)
    frame = frame.query(where) if where else frame
    expected = smf.logit(theirs, frame).fit(disp=0)
    # The order of columns may differ between the two formula languages; the fit may not.
    np.testing.assert_allclose(np.sort(output.refit(data)), np.sort(expected.params.to_numpy()), atol=1e-6, rtol=1e-6)
    assert len(output.labels) == len(output.refit(data, np.zeros(len(output.labels))))


def test_terms_agree_with_dummies(data):
    output = logit_from_terms(CODEBOOK, "l", "ill", ["age", "area", "my job"], {"area": "w~e"}, event="no")
    frame = data.frame().dropna(subset=["my job"])
    columns = {"const": 1.0, "age": frame["age"].astype(float)}
    columns |= {f"area_{level}": (frame["area"] == level).astype(float) for level in ("n", "s", "it's")}
    columns |= {f"my job_{level}": (frame["my job"] == level).astype(float) for level in ("b", "c")}
    expected = sm.Logit((frame["ill"] == "no").astype(float), pd.DataFrame(columns)).fit(disp=0).params
    assert output.labels == list(columns)
    np.testing.assert_allclose(output.refit(data), expected, atol=1e-7)
    assert output.notes.endswith("event ill = no; reference area = w~e, my job = a")


@pytest.mark.parametrize(("event", "sign"), [("1", 1), ("0", -1), ("", 1)])
def test_the_event_of_a_numeric_response(data, event, sign):
    base = Logit(CODEBOOK, "l", "rent ~ age").refit(data)
    np.testing.assert_allclose(Logit(CODEBOOK, "l", "rent ~ age", event=event).refit(data), sign * base, atol=1e-8)


def test_one_level_against_the_rest(data):
    output = Logit(CODEBOOK, "l", "area ~ age", event="it's")
    frame = data.frame().assign(y=lambda f: (f["area"] == "it's").astype(int))
    np.testing.assert_allclose(output.refit(data), smf.logit("y ~ age", frame).fit(disp=0).params, atol=1e-7)


def test_release_rounds_to_its_decimals(data):
    output = Logit(CODEBOOK, "l", "ill ~ age", decimals=2)
    np.testing.assert_array_equal(release(output, data).values, np.round(output.refit(data), 2))


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("ill ~ age +", "cannot be read: Operator"),
        ("ill ~ age) + (", "cannot be read"),
        ("", "needs one response"),
        ("age", "needs one response"),
        ("~ age", "needs one response"),
        ("ill + rent ~ age", "needs one response"),
        ("ill ~ age ~ pay", "cannot be read"),
        ("ill ~ age^2", r"has 'age\^...', .* interactions with itself; write I\(age\*\*2\)"),
        ("ill ~ age**2 + pay", r"write I\(age\*\*2\)"),
        ("ill ~ C(area, Treatment(reference=3))", "reference 3 is not a level; levels are n, s, "),
        ("ill ~ age | pay", "has '|', which no formula may have"),
        ("ill ~ 0", "has no terms; write at least 1"),
        ("ill ~ wage", r"names 'wage', which is not a variable; variables are \['ill'"),
        ("sick ~ age", "names 'sick', which is not a variable"),
        ("ill ~ ill + age", "has 'ill' on both sides; keep one"),
        ("ill ~ nothing(age)", "has 'nothing.age.', which is no function of formulas"),
        ("ill ~ scale(wage)", "names 'wage', which is not a variable"),
        ("ill ~ age / 'a'", "output 'l'"),
        ("ill ~ {1/(age-20)}", "gives no number at age = 20"),
        ("ill ~ {log(age-30)}", "gives no number at age = 20"),
        ("ill ~ scale(age)", "depends on all the data; write its constants out"),
        ("ill ~ center(age)", "depends on all the data"),
        ("ill ~ poly(age, 2)", "depends on all the data"),
        ("ill ~ bs(age, df=4)", "depends on all the data"),
        ("ill ~ {age - age.mean()}", "has 'age.mean..', which is no function of formulas"),
        ("ill ~ area:{pay - pay.mean()}", "has 'pay.mean..', which is no function of formulas"),
        ("age ~ pay", "the response 'age' takes other values than 0 and 1"),
        ("area ~ age", "the response 'area' has 4 levels; say which counts with 'event'"),
    ],
)
def test_formulas_that_cannot_be_used(formula, message):
    with pytest.raises(OutputError, match=message) as caught:
        Logit(CODEBOOK, "l", formula)
    assert "output 'l'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "give either 'formula', or 'response' and 'terms'"),
        ({"formula": "ill ~ age", "response": "ill"}, "give either 'formula'"),
        ({"formula": "ill ~ age", "terms": ("age",)}, "'terms' and 'reference' go with 'response'"),
        ({"response": "ill", "terms": ("wage",)}, "no variable 'wage'; variables are"),
        ({"response": "sick", "terms": ("age",)}, "no variable 'sick'"),
        ({"response": "ill", "terms": ("age", "age")}, "must be different variables"),
        ({"response": "ill", "terms": ("ill",)}, "not the response 'ill'"),
        ({"response": "ill", "terms": ("age",), "reference": {"age": 20}}, "'age' is numeric and has no reference"),
        ({"response": "ill", "terms": ("area",), "reference": {"area": 7}}, "reference '7' is not a level of 'area'"),
        ({"response": "ill", "terms": ("age",), "reference": {"area": "n"}}, "not among the terms"),
        (
            {"response": "ill", "terms": ("age",), "event": "maybe"},
            r"event 'maybe' is not a level of 'ill'; levels are",
        ),
        ({"response": "rent", "terms": ("age",), "event": "yes"}, "event 'yes' is not a number"),
        ({"response": "rent", "terms": ("age",), "event": 2}, "event '2' is not a value of 'rent'; values are 0, 1"),
        ({"formula": "ill ~ age", "where": "age >"}, "is not an expression"),
        ({"formula": "ill ~ age", "where": "wage > 3"}, r"names \['wage'\]; variables are"),
        ({"formula": "ill ~ age", "where": "3 > 2"}, "names no variable"),
        ({"formula": "ill ~ age", "where": "age > 99"}, "holds for no value of the codebook"),
        ({"formula": "ill ~ age", "where": "area == 1"}, "compares 'area' with 1; the levels of 'area' are text: '"),
        ({"formula": "ill ~ age", "where": "age + 1"}, "is not true or false for each record"),
        ({"formula": "ill ~ age", "where": "area > 3"}, "where: 'area > 3' fails"),
    ],
)
def test_entries_that_cannot_be_used(entry, message):
    with pytest.raises(OutputError, match=message) as caught:
        RegressionEntry(kind="logit", **entry).build(CODEBOOK, 1)
    assert str(caught.value).startswith("output 'logit 1': ")


def test_a_term_whose_support_is_too_large():
    codebook = Codebook(
        (*(Variable(name, "integer", tuple(range(300))) for name in "abc"), Variable("y", "integer", (0, 1)))
    )
    with pytest.raises(OutputError, match=r"'l': the supports of .* multiply to 27,000,000 combinations"):
        Logit(codebook, "l", "y ~ a:b:c")


@pytest.mark.parametrize(
    ("formula", "change", "message"),
    [
        ("ill ~ age + area", {"area": "n", "ill": "no"}, "area = n is separated: the response is 0 in all"),
        ("ill ~ C(pay)", {"pay": 4.0, "ill": "yes"}, "pay = 4 is separated: the response is 1 in all"),
        ("ill ~ flat", {}, "flat = never has no records; merge it"),
        ("ill ~ C(flat, contr.treatment(base='never'))", {}, "flat = never has no records"),
        ("ill ~ age + I(2 * age)", {}, r"3 columns are collinear \(rank 2\); drop a term"),
        ("ill ~ age + I(age / 3 + 1)", {}, "collinear"),
    ],
)
@pytest.mark.parametrize("started", [False, True])
def test_fits_that_are_not_defined(data, formula, change, message, started):
    frame = data.frame().astype(object)
    for name, value in change.items():
        frame.loc[frame[next(iter(change))] == next(iter(change.values())), name] = value
    output = Logit(CODEBOOK, "l", formula)
    with pytest.raises(OutputError, match=message):
        output.refit(from_frame(frame, CODEBOOK), np.zeros(len(output.labels)) if started else None)


def test_no_records_and_a_constant_response(data):
    with pytest.raises(OutputError, match="no records to fit it on"):
        Logit(CODEBOOK, "l", "ill ~ age", where="flat == 'never'").refit(data)
    with pytest.raises(OutputError, match=r"the response is constant \(1\)"):
        Logit(CODEBOOK, "l", "ill ~ age", where="ill == 'yes'").refit(data)


def test_a_hidden_separation_is_seen(data):
    frame = data.frame().astype(object)
    young = frame["age"] < 35
    frame["ill"] = np.where(young, "yes", "no")
    with pytest.raises(OutputError, match=r"does not converge|separated"):
        Logit(CODEBOOK, "l", "ill ~ age + area").refit(from_frame(frame, CODEBOOK))


def test_small_units_are_no_separation(data):
    np.testing.assert_allclose(
        Logit(CODEBOOK, "l", "ill ~ I(age / 1e6)").refit(data)[1],
        1e6 * Logit(CODEBOOK, "l", "ill ~ age").refit(data)[1],
    )


def test_a_reference_is_found_by_how_it_is_written():
    levels = ("1", "2", "3", "4.5")
    codebook = Codebook(
        (
            Variable("ill", "categorical", ("no", "yes")),
            Variable("text", "categorical", levels),
            Variable("number", "numeric", tuple(map(float, levels))),
        )
    )
    for name in ("text", "number"):
        for reference in ("reference=3", "'3'", "3.0", "base=3"):
            made = Logit(codebook, "l", f"ill ~ C({name}, Treatment({reference}))")
            assert made.notes.endswith(f"reference {name} = 3")
            assert len(made.columns) == 4 and not any("T.3]" in c or "T.3.0]" in c for c in made.columns)
        assert Logit(codebook, "l", f"ill ~ C({name}, contr.treatment(base=4.5))").notes.endswith(f"{name} = 4.5")


@pytest.mark.parametrize("kind", ["logit", "ols"])
def test_a_fit_leaves_its_design_to_the_bit_as_it_was(kind):
    """It is scaled in place, columns of zeros apart, also where the fit fails."""
    design = np.column_stack([np.ones(300), np.random.default_rng(1).normal(0.0, [1e-7, 3e5], (300, 2))])
    for more in ([], [np.zeros(300)], [design[:, 1]], [np.full(300, 1e200)]):
        X = np.column_stack([design, *more])
        before, response = X.copy(), (X[:, 2] + np.random.default_rng(2).normal(0.0, 1e5, 300) > 0).astype(float)
        sample = fit.Sample(response, X, np.zeros(300))
        found = fit.fit_ols(sample, True, Covariance()) if kind == "ols" else fit.fit_likelihood("logit", sample)
        assert (found is None) == (X.shape[1] == 4) and np.array_equal(X, before)
