"""Groups of one answer in tables that outputs tell together, held against all tables with the same print."""

from itertools import product

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY

CODEBOOK = Codebook((Variable("sex", "categorical", ("f", "m")), Variable("ill", "integer", (0, 1))))
BY_SEX, BY_ILL = ({"kind": "frequencies", "by": [name]} for name in ("sex", "ill"))
TESTS = [
    {"kind": "test", "test": "chi-square", "variable": "ill", "by": ["sex"], "statistics": ["statistic", "n"]},
    {"kind": "test", "test": "fisher", "variable": "ill", "by": ["sex"], "statistics": ["p", "n"]},
    {"kind": "ols", "formula": "ill ~ C(sex)", "decimals": 2},
    {"kind": "frequencies", "by": ["sex", "ill"], "protection": {"round_to": 5}},
    {"kind": "frequencies", "by": ["sex", "ill"], "show": "row_percentages", "decimals": 0},
]


def data_of(counts):
    codes = np.repeat(np.indices((2, 2)).reshape(2, -1).T, np.ravel(counts), axis=0)
    return Microdata(CODEBOOK, codes.astype(np.uint16))


def built(*entries):
    return [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(CODEBOOK, at)]


def told(counts, outputs, inside=False):
    found = look(outputs, data_of(counts), Appetite(), "ill", inside)
    return [each for each in found if each.certain and each.about == "ill" and each.rule == "same answer"]


def test_a_test_tells_that_all_of_a_group_are_ill():
    """Of 38 people three are women; no other table with these margins has the statistic."""
    counts = [[0, 3], [20, 15]]
    (found,) = told(counts, built(BY_SEX, BY_ILL, TESTS[0]))
    assert found.who.tolist() == [0, 1, 2] and not found.places
    (found,) = told(counts, built(BY_SEX, BY_ILL, TESTS[0]), inside=True)
    assert found.places == "sex=f: 3 people, all ill=1"


@pytest.mark.parametrize("entry", range(5))
def test_what_is_called_certain_is_so_in_all_tables_with_the_same_print(entry):
    outputs, rng, kept = built(BY_SEX, BY_ILL, TESTS[entry]), np.random.default_rng(entry), {True: 0, False: 0}
    for _ in range(6):
        counts = np.array([[0, rng.integers(1, 6)], [rng.integers(4, 12), rng.integers(4, 12)]])
        counts[0, 0] = rng.integers(2)
        printed = [each.publish(each.refit(data_of(counts))) for each in outputs]
        women, ill = counts[0].sum(), counts[:, 1].sum()
        fitting = []
        for sick in range(min(women, ill) + 1):
            other = np.array([[women - sick, sick], [counts[1].sum() - ill + sick, ill - sick]])
            if (other >= 0).all():
                found = [each.publish(each.refit(data_of(other))) for each in outputs]
                pairs = (pair for a, b in zip(printed, found, strict=True) for pair in zip(a, b, strict=True))
                if all(np.allclose(a, b, equal_nan=True) for a, b in pairs):
                    fitting.append(other)
        all_ill = all(each[0, 0] == 0 for each in fitting)
        found = told(counts, outputs)
        who = {int(row) for each in found for row in each.who}
        assert set(range(women)) <= who if all_ill else not set(range(women)) & who, (counts.tolist(), len(fitting))
        kept[all_ill] += 1
    assert kept[False]


def test_nothing_is_told_where_totals_leave_several_tables():
    for counts in product((1, 3), (2, 4), (5, 9), (6, 8)):
        assert not told(np.reshape(counts, (2, 2)), built(BY_SEX, BY_ILL))
