"""What columns hold: one check, one wording, for every family of measures."""

import datetime
import inspect
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import outrisk.risk
from outrisk.errors import RiskError
from outrisk.risk import attack, cap, disclosure, privacy_metrics
from outrisk.risk.coding.kinds import are_numbers, same_kind

TEXT = pd.Series(["x", "y"])
DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series([1, 2]), "numbers"),
        (pd.Series([1.5, None]), "numbers"),
        (pd.Series([1, "", None], dtype=object), "numbers"),
        (pd.Series([Decimal("1.5")]), "numbers"),
        (pd.Series([1, None], dtype="Int64"), "numbers"),
        (pd.Series(pd.Categorical([1, 2])), "numbers"),
        (pd.Series([True, False]), "true or false"),
        (pd.Series([True, None], dtype=object), "true or false"),
        (pd.Series([pd.Timestamp(DAY)]), "times"),
        (pd.Series([DAY]), "dates"),
        (TEXT, "text"),
        (TEXT.astype("category"), "text"),
        (pd.Series(["", "NA", None]), ""),
        (pd.Series([np.nan, np.nan]), ""),
    ],
)
def test_kinds(column, kind):
    assert same_kind("a", {"original": column, "synthetic": pd.Series([None, None])}) == kind
    if kind not in ("", "text"):
        told = f"^column 'a' holds {kind} in original and text in synthetic: 1 and '1' are one level only if"
        with pytest.raises(RiskError, match=told):
            same_kind("a", {"original": column, "synthetic": TEXT})


def test_categories_of_numbers_are_no_numbers_to_measure_with():
    numbers = pd.Series([1, 2])
    assert are_numbers("a", {"original": numbers, "synthetic": numbers.astype(float)})
    assert not are_numbers("a", {"original": numbers, "synthetic": numbers.astype("category")})


def frame(a):
    return pd.DataFrame({"a": pd.Series(a), "t": ["no", "yes", "no", "yes"]})


MEASURES = {
    "disclosure": disclosure,
    "cap": cap,
    "attack": lambda *tables, **options: attack(*tables, classifiers=["zero_rule"], **options),
    "privacy_metrics": lambda *tables, **options: privacy_metrics(*tables, metrics=["CRP"], **options),
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("synthetic", "message"),
    [
        (
            ["1", "2", "3", "4"],
            "column 'a' holds (numbers|text) in .* and (numbers|text) in .*: 1 and '1' are one level",
        ),
        (["1", 2, 3, 4], "synthetic: column 'a' mixes numbers and text; make it one of them"),
    ],
)
def test_every_family_refuses_in_the_same_words(measure, synthetic, message):
    with pytest.raises(RiskError, match=message):
        MEASURES[measure](frame([1, 2, 3, 4]), frame(synthetic), keys=["a"], target="t")


def test_a_number_is_the_level_that_its_category_is():
    plain = frame(np.array([0.1, 2, 30, 4], dtype=np.float32))
    category = frame(pd.Categorical([0.1, 2.0, 30.0, 4.0]))
    assert disclosure(plain, category, keys=["a"], target="t").attribute["DiSCO"].item() == 1
    assert cap(plain, category, keys=["a"], target="t").per_set["GCAP"].item() == 1


@pytest.mark.parametrize(
    "name", ["disclosure", "multi_disclosure", "cap", "attack", "tcap", "dcap", "privacy_metrics", "score"]
)
def test_every_measure_takes_its_tables_in_one_order_and_the_rest_by_name(name):
    parameters = inspect.signature(getattr(outrisk.risk, name)).parameters.values()
    by_place = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    assert by_place == ["original", "synthetic", "holdout"]
    by_name = {parameter.name for parameter in parameters} - set(by_place)
    assert {"sets" if name == "score" else "keys", "targets" if name.startswith("multi") else "target"} <= by_name
