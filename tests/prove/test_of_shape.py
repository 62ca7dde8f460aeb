"""Certain claims by ordered and negative binomial regressions: true, and those of an enumeration by refits."""

import numpy as np
import pytest
from test_enumeration import BOOK, enumerated
from test_of_robust import WIDE, counts_of

from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Regression, release
from outrisk.outputs.regression.release import Release
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.programme import programme

KINDS = ["ologit", "oprobit", "negbin"]
PARTS = ("coefficients", "standard_errors", "n", "log_likelihood")


def study(kind, seed):
    """Seven records, a regression and a table of them; None where there is no regression."""
    rng = np.random.default_rng(seed)
    data = Microdata(BOOK, np.stack([rng.integers(0, size, 7) for size in BOOK.sizes], axis=1).astype(np.uint16))
    parts = PARTS if seed % 2 else ("coefficients",)
    output = Regression(BOOK, kind, kind, "pay ~ area", Release(parts, int(rng.integers(2, 5))))
    table = Frequencies(BOOK, "counts", ("sex", "pay") if seed % 3 else ("pay",))
    try:
        return data, [output, table], [release(output, data), release(table, data)]
    except OutputError:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_claims_are_true_and_more_than_those_of_the_table_alone(kind):
    proved = alone = 0
    for data, outputs, released in [each for each in (study(kind, seed) for seed in range(60)) if each][:6]:
        known = {name: data.codes[:, BOOK.index(name)].astype(np.int64) for name in ("area", "sex")}
        claims = certain_values(programme(BOOK, released, len(data), known, ["pay"]), "pay").value
        only, _, number = enumerated(data, "pay", outputs, released)
        assert number > 0
        told = claims >= 0
        np.testing.assert_array_equal(claims[told], only[told])
        proved += told.sum()
        alone += (certain_values(programme(BOOK, released[1:], len(data), known, ["pay"]), "pay").value >= 0).sum()
    assert proved > alone


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_satisfy_the_constraints(kind):
    """With weights and without, printed coarsely and finely, for who knows the design and who knows little of it."""
    used = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(25, 200))
        codes = np.stack([rng.integers(0, size, n) for size in WIDE.sizes], axis=1).astype(np.uint16)
        codes[:, WIDE.index("pay")] = rng.choice(4, n, p=[0.6, 0.15, 0.1, 0.15])
        data = Microdata(WIDE, codes)
        formula = ("pay ~ I(age / 10)", "pay ~ C(area) + I(age / 10)")[seed % 2]
        output = Regression(WIDE, kind, kind, formula, Release(PARTS, seed % 5), weight="w" if seed > 14 else "")
        try:
            one = release(output, data)
        except OutputError:
            continue
        names = ("area", "age", "w") if seed % 3 else ("area",)
        known = {name: data.codes[:, WIDE.index(name)].astype(np.int64) for name in names}
        of = programme(WIDE, [one], n, known, ["pay"])
        sums = of.matrix @ counts_of(of, data)
        slack = 1e-9 * (1.0 + np.abs(sums))
        assert ((sums >= of.low - slack) & (sums <= of.high + slack)).all(), seed
        used += "coefficients are used" in of.left_out.get(one.name, "")
    assert used >= 8
