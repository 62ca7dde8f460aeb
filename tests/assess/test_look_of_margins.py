"""What margins tell: proportions of cells with the people behind them, and levels of few."""

import numpy as np
import pytest

from outrisk.assess.look import Appetite, look
from outrisk.assess.look.counts_told import counts_told
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Margins, Proportions, Release
from outrisk.outputs.regression.margins_of_cells import as_proportions

CODEBOOK = Codebook(
    (
        Variable("arm", "categorical", ("a", "b", "c")),
        Variable("age", "integer", (20, 30, 40)),
        Variable("ill", "integer", (0, 1)),
    )
)
BOTH = ("coefficients", "standard_errors", "n")


def records(seed=0, few=4):
    rng = np.random.default_rng(seed)
    arm = np.repeat([0, 1, 2], [60, 50, few])
    ill = (rng.random(len(arm)) < 0.4).astype(int)
    ill[:60] = [0] * 57 + [1] * 3
    ill[-few:] = [0, 1] * (few // 2)
    return Microdata(CODEBOOK, np.stack([arm, rng.integers(0, 3, len(arm)), ill], axis=1).astype(np.uint16))


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
    assert not any(each.rule in ("not looked at", "saturated model") for each in found)


def test_the_counts_of_a_saturated_model_are_told():
    data = records()
    told = {known.by: (known.low, known.high) for _, known in counts_told(margins(), data)}
    low, high = told[("arm", "ill")]
    assert low[:, 1].tolist() == high[:, 1].tolist() and low[0, 1] == 3
    assert [end.tolist() for end in told[("arm",)]] == [[60, 50, 4]] * 2
    assert told[()][0] == len(data)


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
