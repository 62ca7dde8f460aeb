"""What margins tell: proportions of cells with the people behind them, and levels of few."""

from dataclasses import replace

import numpy as np
import pytest

from outrisk.assess.look import Appetite, look
from outrisk.assess.look.counts_told import counts_told
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Association, Magnitudes, Margins, Proportions, Release
from outrisk.outputs.regression.margins_of_cells import as_proportions, same_as

CODEBOOK = Codebook(
    (
        Variable("arm", "categorical", ("a", "b", "c")),
        Variable("age", "integer", (20, 30, 40), missing=True),
        Variable("ill", "integer", (0, 1)),
        Variable("pay", "integer", tuple(range(100))),
        Variable("times", "integer", (1, 2, 3)),
    )
)
BOTH = ("coefficients", "standard_errors", "n")


def records(seed=0, few=4):
    rng = np.random.default_rng(seed)
    arm = np.repeat([0, 1, 2], [60, 50, few])
    ill = (rng.random(len(arm)) < 0.4).astype(int)
    ill[:60] = [0] * 57 + [1] * 3
    ill[-few:] = np.arange(few) % 2
    age, pay, times = (rng.integers(*ends, len(arm)) for ends in ((0, 3), (5, 95), (0, 3)))
    return Microdata(CODEBOOK, np.stack([arm, age, ill, pay, times], axis=1).astype(np.uint16))


def told(outputs, data, about="pay"):
    """Whom something is told of for certain."""
    found = [each for each in look(outputs, data, Appetite(), about) if each.certain and each.about == about]
    return set(np.concatenate([each.who for each in found]).tolist()) if found else set()


def margins(formula="ill ~ arm", model="logit", parts=BOTH, **options):
    options = {"predictions": ("arm",), **options}
    return Margins(CODEBOOK, "m", model, formula, release=Release(parts, 4), **options)


@pytest.mark.parametrize("model", ["logit", "probit", "ols"])
def test_margins_of_a_model_of_a_group_alone_are_its_proportions(model):
    """Proportion and standard error by the model are those of the cell, so that both counts follow from them."""
    data, output = records(), margins(model=model)
    (cells,) = as_proportions(output)
    assert (cells.event, cells.by) == ("ill", ("arm",))
    ours, theirs = output.refit(data)[output.n_hidden :], cells.refit(data)
    per = len(cells.shown)
    np.testing.assert_allclose(ours[:3], theirs[::per], rtol=1e-7)
    assert per == (1 if model == "ols" else 2)
    if model != "ols":
        np.testing.assert_allclose(ours[3:6], theirs[1::per], rtol=1e-6)
    found = look([output], data, Appetite(), "ill")
    plain = look(
        [Proportions(CODEBOOK, "m", "ill", ("arm",), tuple(cells.places), places=cells.places)], data, Appetite(), "ill"
    )
    said = {(each.rule, each.certain, each.places) for each in found}
    assert {(each.rule, each.certain, each.places) for each in plain} <= said
    assert any(each.rule == "few people behind a margin" and each.places == "arm=c: 4" for each in found)
    assert not any(
        each.rule == "not looked at" or (each.rule == "saturated model" and model != "ols") for each in found
    )


def test_the_counts_of_a_saturated_model_are_told():
    data = records()
    both = [margins(), *same_as(margins())]
    counts = {known.by: (known.low, known.high) for each in both for _, known in counts_told(each, data)}
    low, high = counts[("arm", "ill")]
    assert low[:, 1].tolist() == high[:, 1].tolist() and low[0, 1] == 3
    assert [end.tolist() for end in counts[("arm",)]] == [[60, 50, 4]] * 2
    assert counts[()][0] == len(data)


def test_a_logit_with_a_constant_tells_the_share_of_all():
    data = records()
    (cells,) = as_proportions(margins("ill ~ arm + age", predictions=("", "arm")))
    assert cells.by == ()
    np.testing.assert_allclose(
        margins("ill ~ arm + age", predictions=("",)).refit(data)[4], cells.refit(data)[0], rtol=1e-7
    )
    assert not list(as_proportions(margins("ill ~ arm + age", "probit", predictions=("", "arm"))))
    assert not list(as_proportions(margins("ill ~ arm", weight="age")))


def test_nothing_is_certain_of_a_model_that_is_no_table():
    found = look([margins("ill ~ arm + age", dydx=("age", "arm"))], records(), Appetite(), "ill")
    assert found and not any(each.certain for each in found)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("ols", {}),
        ("ols", {"at_means": True}),
        ("ols", {"weight": "times"}),
        ("poisson", {}),
        ("poisson", {"weight": "times"}),
        ("negbin", {}),
    ],
)
def test_the_mean_of_a_group_of_one_is_its_value(model, options):
    """As a table of means has it; another value of this person would be printed otherwise."""
    data, output = records(few=1), margins("pay ~ arm", model, ("coefficients",), **options)
    assert told([output], data) == {110}
    codes = data.codes.copy()
    codes[110, 3] += 1
    assert (output.publish(output.refit(data))[0] != output.publish(output.refit(Microdata(CODEBOOK, codes)))[0]).any()
    for few in (2, 4):  # one of two knows the other
        table = Magnitudes(CODEBOOK, "m", "pay", ("arm",), ("mean",), "", options.get("weight", ""), (4,))
        assert told([output], records(few=few)) == told([table], records(few=few))


def test_margins_at_means_of_a_group_alone_are_its_proportions():
    data = records()
    plain, at_means = (look([margins(at_means=each)], data, Appetite(), "ill") for each in (False, True))
    assert [(each.rule, each.certain, each.places) for each in plain] == [
        (each.rule, each.certain, each.places) for each in at_means
    ]


@pytest.mark.parametrize("model", ["ols", "logit", "poisson"])
@pytest.mark.parametrize("formula", ["age", "times"])
def test_means_of_all_that_are_subtracted_tell_of_one(model, formula):
    """The mean of all fitted values is that of the response, also where ages are missing."""
    response = "pay" if model == "poisson" else "ill"
    data = records(few=1)
    data.codes[:5, 1] = 3
    both = [
        margins(f"{response} ~ {formula}", model, ("coefficients", "n"), predictions=("",), where=where)
        for where in ("", "arm != 'c'")
    ]
    found = look([both[0], replace(both[1], name="m2")], data, Appetite(), response)
    certain = [each for each in found if each.certain]
    assert [(each.rule, each.output, each.who.tolist()) for each in certain] == [
        ("difference of outputs", "m minus m2", [110])
    ]
    assert not told([both[0]], data, response)


def test_records_without_a_value_of_the_model_are_none_of_its_proportion():
    data = records(few=20)
    data.codes[:40, 1] = 3
    output = margins("ill ~ arm + age", predictions=("",), parts=("coefficients", "n"))
    (cells,) = as_proportions(output)
    np.testing.assert_allclose(output.refit(data)[output.n_hidden :], cells.refit(data), rtol=1e-7)


def test_slopes_of_a_linear_model_are_its_coefficients():
    """So that leverage, and groups of one that a column each has, are told as of the regression."""
    data = records(few=1)
    output = margins("pay ~ C(arm) - 1", "ols", ("coefficients",), dydx=("arm",), predictions=(), factors="slopes")
    found = look([output], data, Appetite(), "pay")
    assert [(each.rule, each.who.tolist()) for each in found if each.certain] == [("leverage", [110])]


def test_a_difference_of_risks_with_limits_tells_counts():
    """As a risk difference does, whose limits are the same."""
    rng = np.random.default_rng(1)
    codes = np.zeros((24, 5), dtype=np.uint16)
    codes[:, 0], codes[:, 2] = np.repeat([0, 1], [11, 13]), rng.permutation(24) % 3 == 0
    data = Microdata(CODEBOOK, codes)
    where = "arm != 'c'"
    parts = ("coefficients", "confidence_limits", "n")
    formula = "ill ~ C(arm, Treatment(reference='a', without=['c']))"
    output = margins(formula, parts=parts, dydx=("arm",), predictions=(), where=where)
    risks = Association(CODEBOOK, "m", "ill", "arm", statistics=("risk difference", "limits"), places=4, where=where)
    theirs = {each.rule for each in look([risks], data, Appetite(), "ill")}
    assert theirs & {each.rule for each in look([output], data, Appetite(), "ill")} == theirs
