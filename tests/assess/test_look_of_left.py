"""What subtracting leaves is told whatever kind of output prints the numbers: rates, fits, curves, tests, and parts."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.assess.look import Appetite, look
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies
from outrisk.outputs.base import release
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest
from outrisk.outputs.smooth.proportions import Proportions
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.protection import Protection
from outrisk.outputs.tables.rates import Rates

_RNG = np.random.default_rng(5)
_CROWD = pd.DataFrame(
    {
        "sex": _RNG.choice(["f", "m"], 60),
        "age": _RNG.integers(20, 60, 60),
        "region": np.resize(["n", "s", "e", "x", "y"], 60),
        "ill": _RNG.choice(["no", "yes"], 60),
        "arm": np.resize(["a", "b"], 60),
        "months": _RNG.integers(5, 40, 60),
        "pay": _RNG.integers(10, 90, 60) * 10,
    }
)
_ONE = {"sex": "m", "age": 69, "region": "w", "ill": "yes", "arm": "a", "months": 37, "pay": 977}
_OTHER = {"ill": "no", "months": 21, "pay": 450}


BOOK = Codebook(
    (
        Variable("sex", "categorical", ("f", "m")),
        Variable("age", "integer", tuple(range(20, 70))),
        Variable("region", "categorical", ("n", "s", "e", "x", "y", "w")),
        Variable("ill", "categorical", ("no", "yes"), missing=True),
        Variable("arm", "categorical", ("a", "b")),
        Variable("months", "integer", tuple(range(1, 61))),
        Variable("pay", "integer", tuple(range(1001))),
    )
)


def people(missing=(), **one):
    """The crowd, and somebody of 69, the only one; values of variables by place set to none."""
    frame = pd.concat([_CROWD, pd.DataFrame([{**_ONE, **one}])], ignore_index=True)
    for at, name in missing:
        frame.loc[at, name] = None
    return frame


KINDS = {
    "table": lambda **more: outrisk.Frequencies(["sex", "ill"], **more),
    "rates": lambda **more: outrisk.Rates(
        "ill == 'yes'", "months", by=["sex"], statistics=["numerator", "denominator", "rate"], **more
    ),
    "standardised": lambda **more: outrisk.Standardised(
        "ill", over=["arm"], by=["sex"], standard={"a": 1, "b": 1}, statistics=["rate", "events", "n"], **more
    ),
    "association": lambda **more: outrisk.Association(
        "ill", "sex", show=["crude"], statistics=["n", "cases", "risk ratio"], **more
    ),
    "survival": lambda **more: outrisk.Survival(
        "months", "ill", by=["sex"], times=[10, 20, 38], statistics=["survival", "at risk", "events"], **more
    ),
    "cox": lambda **more: outrisk.Cox(
        "Surv(months, ill == 'yes') ~ sex", release=["coefficients", "n", "events"], **more
    ),
    "proportions": lambda **more: outrisk.Proportions(
        "ill", ["sex"], event_value="yes", statistics=["events", "n"], **more
    ),
}


def certain(frame, outputs, target="ill", book=BOOK):
    found = outrisk.check(frame, outputs, keys=["age", "sex", "region"], target=target, codebook=book).findings
    found = found[found["certain"].astype(bool) & (found["about"] == target)]
    return found[found["rule"] == "difference of outputs"]["people"].tolist()


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "table"])
def test_one_person_is_told_by_any_kind_of_which_two_differ_by_them(kind):
    make = KINDS[kind]
    assert certain(people(), [make(name="all"), make(name="less", where="age < 69")]) == [1]


@pytest.mark.parametrize("kind", ["association", "standardised", "proportions"])
def test_one_person_is_told_by_a_table_and_another_kind(kind):
    outputs = [KINDS["table"](name="all"), KINDS[kind](name="less", where="age < 69")]
    assert certain(people(), outputs) == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_two_who_differ_are_not_told(kind):
    frame = pd.concat([people(), pd.DataFrame([{**_ONE, **_OTHER}])], ignore_index=True)
    outputs = [KINDS[kind](name="all"), KINDS[kind](name="less", where="age < 69")]
    assert certain(frame, outputs) == []


@pytest.mark.parametrize("first", ["table", "proportions"])
def test_missing_values_of_others_hide_nobody(first):
    frame = people(missing=[(3, "ill"), (17, "ill"), (40, "ill")])
    outputs = [KINDS[first](name="all"), KINDS["proportions"](name="less", where="age < 69")]
    assert certain(frame, outputs) == [1]
    two = pd.concat([frame, pd.DataFrame([{**_ONE, "ill": None}])], ignore_index=True)
    assert certain(two, outputs) == []  # who of the two is ill is not told


def test_person_time_is_subtracted():
    outputs = [KINDS["rates"](name="all"), KINDS["rates"](name="less", where="age < 69")]
    assert certain(people(), outputs, "months") == [1]
    rates = [outrisk.Rates("ill == 'yes'", "months", by=["sex"], **each) for each in ({}, {"where": "age < 69"})]
    assert certain(people(), rates, "months") == []  # the time is not printed


@pytest.mark.parametrize("formula", ["pay ~ sex", "pay ~ 0 + sex"])
def test_means_of_saturated_regressions_are_subtracted_from_each_other_and_from_tables(formula):
    less = outrisk.OLS(formula, name="less", where="age < 69", release=["coefficients", "n"], decimals=3)
    table = outrisk.Magnitudes("pay", ["sex"], statistics=["mean", "count"], decimals=3, name="means")
    assert certain(people(), [table, less], "pay") == [1]
    everybody = outrisk.OLS(formula, name="all", decimals=3)
    assert certain(people(), [everybody, outrisk.Frequencies(["sex"], name="sex"), less], "pay") == [1]
    assert certain(people(), [everybody, less], "pay") == []  # of how many people nothing is printed


def test_tables_that_statistics_leave_are_subtracted():
    test = outrisk.Test("chi-square", "ill", ["sex"], statistics=["statistic", "p", "n"], name="less", where="age < 69")
    assert certain(people(), [KINDS["table"](name="all"), test]) == [1]
    logit = outrisk.Logit(
        "ill ~ sex", release=["coefficients", "standard_errors", "n"], decimals=4, name="less", where="age < 69"
    )
    assert certain(people(), [KINDS["table"](name="all"), logit]) == [1]


def test_a_whole_less_all_of_its_regions_is_one_person():
    parts = [KINDS["table"](name=each, where=f"region == '{each}'") for each in "nsexy"]
    assert certain(people(), [KINDS["table"](name="all"), *parts]) == [1]
    assert certain(people(), [KINDS["table"](name="all"), *parts[:4]]) == []
    two = pd.concat([people(), pd.DataFrame([{**_ONE, **_OTHER}])], ignore_index=True)
    assert certain(two, [KINDS["table"](name="all"), *parts]) == []


SMALL = Codebook(
    (
        Variable("sex", "categorical", ("f", "m"), missing=True),
        Variable("age", "integer", (1, 2, 3)),
        Variable("ill", "categorical", ("n", "y")),
        Variable("pay", "integer", (1, 2, 5, 9)),
    )
)
MADE = (
    lambda by, **more: Frequencies(SMALL, by=(*by, "ill"), **more),
    lambda by, **more: Frequencies(SMALL, by=(*by, "ill"), protection=Protection(threshold=2), **more),
    lambda by, **more: Proportions(
        SMALL, event="ill", by=by, event_value="y", statistics=("proportion", "n"), per=100, **more
    ),
    lambda by, **more: Rates(
        SMALL, numerator="ill == 'y'", denominator="pay", by=by, statistics=("numerator",), **more
    ),
    lambda by, **more: Survival(
        SMALL, time="pay", event="ill", by=by, event_value="y", times=(2, 5), statistics=("at risk", "events"), **more
    ),
    lambda by, **more: HypothesisTest(
        SMALL, test="chi-square", variable="ill", by=("sex",), statistics=("statistic", "n"), **more
    ),
)


def random_case(seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 6) for size in SMALL.sizes], axis=1)
    codes[:, 1] = np.where(np.arange(6) == 0, 2, rng.integers(0, 2, 6))  # one of age 3
    outputs = [
        MADE[rng.integers(0, len(MADE))]([(), ("sex",)][rng.integers(0, 2)], name=str(at), where=where)
        for at, where in enumerate(["", "age < 3", str(rng.choice(["age < 3", "age == 1", "sex == 'm'"]))])
    ]
    return Microdata(SMALL, codes.astype(np.uint16)), outputs


def printed(outputs, data):
    """What is printed; nothing where an output has none."""
    try:
        found = [release(each, data) for each in outputs]
    except OutputError:
        return None
    return np.concatenate([end for each in found for end in (each.low, each.high)])


def claims(seed):
    data, outputs = random_case(seed)
    own = printed(outputs, data)
    if own is None:
        return data, outputs, own, []
    found = [each for each in look(outputs, data, Appetite(), "ill") if each.rule == "difference of outputs"]
    return data, outputs, own, [each for each in found if each.certain]


@pytest.mark.parametrize("seed", range(24))
def test_what_is_called_certain_is_so_in_every_data_set_that_fits(seed):
    data, outputs, own, found = claims(seed)
    who = sorted({one for each in found for one in each.who.tolist()})
    for values in product((0, 1), repeat=len(data)) if who else ():
        codes = data.codes.copy()
        codes[:, 2] = values
        if (codes[who, 2] != data.codes[who, 2]).any():
            other = printed(outputs, Microdata(SMALL, codes))
            assert other is None or not np.array_equal(own, other, equal_nan=True), found


def test_random_cases_hold_such_claims():
    assert sum(bool(claims(seed)[-1]) for seed in range(24)) >= 6


def test_who_is_last_seen_before_the_last_time_is_told_to_have_had_nothing():
    """At risk no more at 38 months, and no event up to then."""
    book = Codebook(tuple(replace(each, missing=False) for each in BOOK.variables))
    curves = [KINDS["survival"](name=name, **where) for name, where in (("all", {}), ("less", {"where": "age < 69"}))]
    assert certain(people(ill="no", months=25), curves, book=book) == [1]
    assert certain(people(ill="no", months=39), curves, book=book) == [], "who is still at risk may have it later"
    assert certain(people(ill="yes", months=39), curves, book=book) == []
    assert certain(people(ill="no", months=25), curves) == [], "or it may be missing"


def curve(output, data, months, ill):
    """Numbers at risk and events of every assignment (sets, n), from the definition."""
    frame, found = data.frame(), []
    inside = frame.eval(output.where).to_numpy() if output.where else np.ones(len(data), bool)
    for group in sorted(set(frame["sex"])) if output.by else [None]:
        rows = inside & ((frame["sex"] == group).to_numpy() if group else True)
        for before, time in zip((0, *output.times), output.times, strict=False):
            found.append((months[:, rows] >= time).sum(axis=1))
            found.append((ill[:, rows] & (months[:, rows] > before) & (months[:, rows] <= time)).sum(axis=1))
    return np.stack(found, axis=1)


def test_what_curves_on_nested_subsets_tell_is_so_of_all_times_and_events_with_the_same_print():
    times = np.array(SMALL["pay"].values)
    every = np.array(list(product(product(times, (0, 1)), repeat=4)))
    months, ill = every[:, :, 0], every[:, :, 1].astype(bool)
    told = {False: 0, True: 0}
    for seed in range(80):
        rng = np.random.default_rng(seed)
        codes = np.stack([rng.integers(0, size, 4) for size in (2, 2, 2, 4)], axis=1)
        codes[0, 1] = 2
        data, by = Microdata(SMALL, codes.astype(np.uint16)), [(), ("sex",)][rng.integers(0, 2)]
        at = tuple(sorted(rng.choice(times, int(rng.integers(1, 4)), replace=False).tolist()))
        outputs = [MADE[4](by, name=name, where=where) for name, where in (("all", ""), ("less", "age < 3"))]
        outputs = [replace(each, times=at) for each in outputs]
        if not data.frame().eval("age < 3").any():
            continue
        own = times[codes[:, 3]][None], codes[:, 2][None].astype(bool)
        fits = np.ones(len(every), bool)
        for each in outputs:
            fits &= (curve(each, data, months, ill) == curve(each, data, *own)).all(axis=1)
        found = [each for each in look(outputs, data, Appetite(), "ill") if each.rule == "difference of outputs"]
        who = sorted({one for each in found if each.certain for one in each.who.tolist()})
        for person in who:
            assert (ill[fits][:, person] == own[1][0, person]).all(), (seed, found)
            told[bool(own[1][0, person])] += 1
        alone = len(np.unique(ill[fits][:, 0])) == 1
        assert not alone or by or 0 in who, "one person is left, and the curves leave one answer"
    assert min(told.values()) > 5, told
