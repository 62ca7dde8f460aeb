"""Certain claims on random small studies: those of an enumeration of every data set by independent refits."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, Quantiles, Rates, Regression, release
from outrisk.outputs.regression.release import Release
from outrisk.outputs.tables.mode import Mode
from outrisk.outputs.tables.protection import Protection
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.programme import programme

BOOK = Codebook(
    (
        Variable("area", "integer", (1, 2, 3)),
        Variable("sex", "integer", (1, 2)),
        Variable("ill", "integer", (0, 1)),
        Variable("pay", "integer", (1, 2, 5)),
    )
)
ALL = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n", "log_likelihood")


def fits(rng):
    """Regressions of either target on what the register has; some print all that a package prints."""
    digits = int(rng.integers(1, 5))
    parts = ALL if rng.random() < 0.5 else ("coefficients",)
    more = ("r2", "residual_sd") if len(parts) > 1 else ()
    pseudo = ("pseudo_r2",) if len(parts) > 1 else ()
    right = str(rng.choice(["C(area)", "sex", "area + sex", "C(area) + sex"]))
    return {
        "ill": [
            Regression(BOOK, "logit", "logit", f"ill ~ {right}", Release((*parts, *pseudo), digits)),
            Regression(BOOK, "probit", "probit", f"ill ~ {right}", Release(parts, digits)),
            Regression(BOOK, "ols", "ols", f"ill ~ {right}", Release((*parts, *more), digits)),
            Regression(BOOK, "some", "logit", "ill ~ sex", Release(parts, digits), where="area > 1"),
        ],
        "pay": [
            Regression(BOOK, "poisson", "poisson", f"pay ~ {right}", Release(parts, digits)),
            Regression(BOOK, "odds", "mnlogit", "pay ~ sex", Release(parts, digits)),
            Regression(BOOK, "ols", "ols", f"pay ~ {right}", Release((*parts, *more), digits)),
        ],
    }


def tables(rng, target):
    """Tables of either target."""
    by = (str(rng.choice(["area", "sex"])),)
    digits = int(rng.integers(0, 2))
    found = [
        Frequencies(BOOK, "counts", (*by, target)),
        Frequencies(BOOK, "shares", (*by, target), show="row_percentages", digits=digits),
        Frequencies(BOOK, "withheld", (*by, target), margins=True, protection=Protection(threshold=3)),
        Frequencies(BOOK, "rounded", (*by, target), protection=Protection(round_to=3)),
        Magnitudes(BOOK, "mean", target, by, ("count", "mean"), digits=(0, digits)),
        Magnitudes(BOOK, "sd", target, by, ("mean", "sd"), digits=(digits, 1 + digits)),
        Magnitudes(BOOK, "sd alone", target, by, ("sd",), digits=(1,)),
        Mode(BOOK, "mode", target, by),
    ]
    return [*found, Quantiles(BOOK, "median", target, (), (0.5,)), *rates(rng, target, by)]


def rates(rng, target, by):
    """Rates of either target; sex, that is known, serves as the time at risk."""
    event, interval = f"{target} == {BOOK[target].labels[1]}", str(rng.choice(["exact", "byar", "log"]))
    limits, guarded = ("rate", "limits"), Protection(threshold=2, withhold_zeros=bool(rng.random() < 0.5))
    by = () if by == ("sex",) else by
    digits = int(rng.integers(0, 4))
    return [
        Rates(BOOK, "rate", target, "sex", by, per=10.0, places=digits),
        Rates(BOOK, "limits", event, "sex", by, limits, 100.0, interval, places=digits),
        Rates(BOOK, "guarded", event, "sex", by, ("denominator", *limits), interval=interval, protection=guarded),
        Rates(BOOK, "numerators", target, "sex", by, ("numerator", "limits"), interval=interval, where="area > 1"),
    ]


def small_study(seed):
    """Records, the target, outputs that can be released from them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 13))
    codes = np.stack([rng.integers(0, size, n) for size in BOOK.sizes], axis=1).astype(np.uint16)
    data, target = Microdata(BOOK, codes), str(rng.choice(["ill", "pay"]))
    if target == "pay":
        data = Microdata(BOOK, codes[:4])
    pool = [*fits(rng)[target], *tables(rng, target)]
    chosen = [pool[at] for at in rng.choice(len(pool), 2, replace=False)]
    if seed % 5:  # every fifth is of tables alone, and of up to 12 people
        chosen.append(fits(rng)[target][int(rng.integers(0, 3))])
        data = Microdata(BOOK, data.codes[:7])
    else:
        chosen = [one for one in chosen if not isinstance(one, Regression)]
    outputs, released = [], []
    for output in {one.name: one for one in chosen}.values():
        try:
            released.append(release(output, data))
            outputs.append(output)
        except OutputError:  # a fit that is not defined is not released
            continue
    return data, target, outputs, released


def enumerated(data, target, outputs, released):
    """The value of each person that is the same in every data set that fits, and the number of data sets.

    People of the same keys are exchangeable: their values are tried as a multiset.
    """
    column = BOOK.index(target)
    _, group = np.unique(data.codes[:, [0, 1]], axis=0, return_inverse=True)
    groups = [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    possible = [set() for _ in groups]
    number, quickest = 0, sorted(released, key=lambda one: isinstance(one.output, Regression))
    for values in product(*(combinations_with_replacement(range(BOOK[target].size), len(at)) for at in groups)):
        codes = data.codes.copy()
        for at, value in zip(groups, values, strict=True):
            codes[at, column] = value
        guess = Microdata(BOOK, codes)
        if all(one.recompute(guess).matched.all() for one in quickest):
            number += 1
            for g, value in enumerate(values):
                possible[g] |= set(value)
    only = np.array([next(iter(values)) if len(values) == 1 else -1 for values in possible])
    return only[group.ravel()], [len(values) for values in possible], number


@pytest.mark.parametrize("block", range(10))
def test_claims_are_those_of_an_enumeration(block):
    for seed in range(10 * block, 10 * block + 10):
        data, target, outputs, released = small_study(seed)
        if not released:
            continue
        known = {name: data.codes[:, BOOK.index(name)].astype(np.int64) for name in ("area", "sex")}
        of = programme(BOOK, released, len(data), known, [target])
        claims = certain_values(of, target)
        truth = data.codes[:, BOOK.index(target)]
        told = claims.value >= 0
        names = [output.name for output in outputs]
        assert (claims.value[told] == truth[told]).all(), (seed, names)
        only, _, number = enumerated(data, target, outputs, released)
        assert number > 0, (seed, names)
        assert claims.value.tolist() == only.tolist(), (seed, names, number, of.left_out)
