"""Groups of a regression with one outcome, whose coefficients run off."""

import numpy as np
import pandas as pd
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.told_by_models import told_by_models
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import Cox, Regression

CODEBOOK = Codebook(
    (
        Variable("eth", "categorical", ("a", "b", "c")),
        Variable("sex", "integer", (0, 1)),
        Variable("age", "integer", tuple(range(20))),
        Variable("ill", "categorical", ("no", "yes")),
        Variable("state", "categorical", ("well", "so so", "bad")),
        Variable("visits", "integer", tuple(range(4))),
    )
)


def people_of(n=300, seed=1):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1)
    return codes.astype(np.uint16)


def alike(kind, formula, codes, **options):
    make = Cox if kind == "cox" else Regression
    data = Microdata(CODEBOOK, codes)
    found = look([make(CODEBOOK, "m", kind, formula, **options)], data, Appetite(), "ill")
    return [each for each in found if each.rule == "same answer"]


@pytest.mark.parametrize(
    ("kind", "formula", "column", "value", "said"),
    [
        ("logit", "ill ~ age + C(eth)", 3, 1, "ill=yes"),
        ("probit", "ill ~ age + C(eth)", 3, 0, "ill=no"),
        ("mnlogit", "state ~ age + C(eth)", 4, 1, "state=so so"),
        ("ologit", "state ~ age + C(eth)", 4, 2, "state=bad"),
        ("poisson", "visits ~ age + C(eth)", 5, 0, "visits=0"),
        ("negbin", "visits ~ age + C(eth)", 5, 0, "visits=0"),
    ],
)
@pytest.mark.parametrize("level", [0, 2])
def test_a_level_whose_people_have_one_outcome(kind, formula, column, value, said, level):
    codes = people_of()
    assert alike(kind, formula, codes) == []
    codes[codes[:, 0] == level, column] = value
    (found,) = alike(kind, formula, codes)
    assert (found.certain, found.people, found.about) == (True, (codes[:, 0] == level).sum(), said.split("=")[0])
    assert found.places == f"eth={'abc'[level]}: {found.people} people, all {said}"


def test_what_is_between_the_ends_of_an_ordered_model_has_a_coefficient():
    codes = people_of()
    codes[codes[:, 0] == 2, 4] = 1
    assert alike("ologit", "state ~ age + C(eth)", codes) == []


def test_a_cell_of_an_interaction_and_a_condition():
    codes = people_of()
    cell = (codes[:, 0] == 2) & (codes[:, 1] == 1)
    codes[cell, 3] = 1
    assert alike("logit", "ill ~ age + C(eth) + sex", codes) == []  # which has no column of its own
    (found,) = alike("logit", "ill ~ age + C(eth) * sex", codes)
    assert (found.people, found.certain) == (cell.sum(), True)
    old = codes[:, 2] > 15
    codes[old, 3] = 0
    (found, *_) = alike("logit", "ill ~ sex + I(age > 15)", codes)
    assert (found.people, found.certain) == (old.sum(), True)


def test_what_is_not_printed_leaves_it_open():
    codes = people_of()
    codes[codes[:, 0] == 2, 3] = 1
    (found,) = alike("logit", "ill ~ age + C(eth)", codes, keep=("eth",))
    assert not found.certain, "without the constant, the other levels may be those with one outcome"
    assert alike("logit", "ill ~ age + C(eth)", codes, keep=("eth", "constant"))[0].certain


def test_a_value_among_several_is_not_told():
    codes = people_of()
    codes[codes[:, 0] == 2, 4] = 0
    (found,) = alike("logit", "state ~ age + C(eth)", codes, event="bad")
    assert (found.certain, found.about) == (True, "")
    assert "without the event (event state = bad)" in found.what


def test_a_group_of_a_cox_model_without_events():
    codes = people_of()
    codes[codes[:, 0] == 2, 3] = 0
    (found,) = alike("cox", "age ~ C(eth)", codes, status="ill")
    assert (found.certain, found.people) == (False, (codes[:, 0] == 2).sum())


@pytest.mark.parametrize("formula", ["ill ~ C(eth) + age", "ill ~ C(eth) * sex", "ill ~ C(eth):age", "ill ~ sex + age"])
def test_found_is_what_ranks_and_pandas_say(formula):
    """A group of one outcome, whose column leaves the rank of the design as it is; and then there is no fit."""
    rng, some = np.random.default_rng(3), 0
    output = Regression(CODEBOOK, "m", "logit", formula)
    for seed in range(40):
        data = Microdata(CODEBOOK, people_of(int(rng.integers(8, 20)), seed))
        sample, frame = output.sample(data)
        expected, rank = set(), np.linalg.matrix_rank(sample.design)
        by = [["eth"] * ("C(eth)" in formula), ["sex"] * ("sex" in formula), ["eth", "sex"] * ("*" in formula)]
        for names in filter(None, by):
            for _, group in frame.groupby(names, observed=True):
                column = frame.index.isin(group.index).astype(float)
                spanned = np.linalg.matrix_rank(np.column_stack([sample.design, column])) == rank
                if group.ill.nunique() == 1 and spanned:
                    expected |= set(group.index)
        found = list(told_by_models(output, data, Appetite(), "ill"))
        if frame.ill.nunique() > 1:
            assert set(np.concatenate([[], *(each.who for each in found)])) == expected
        for each in found:
            some += 1
            assert each.certain
            assert pd.Series(frame.ill.loc[each.who]).nunique() == 1
            with pytest.raises(OutputError):
                output.refit(data)
    assert some > 5 or "age" in formula.split("~")[1]
