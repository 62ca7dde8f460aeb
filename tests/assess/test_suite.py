"""What a study may ask of the suite, by name."""

import pytest

from outrisk.assess.suite.of_run import Suite, make_suite
from outrisk.config import AttacksSection
from outrisk.errors import RiskError
from outrisk.risk import CLASSIFIERS
from outrisk.risk.privacy import METRICS
from outrisk.risk.privacy.registry import UNTRAINED


def test_names():
    assert make_suite(None, 1_000, 20.0, ()) == Suite()
    assert Suite().metrics == UNTRAINED
    everything = make_suite("all", None, 5.0, "all")
    assert (everything.metrics, everything.attacks) == (tuple(METRICS), CLASSIFIERS)
    assert make_suite(["nnaa"], 9, 5.0, ["svm", "svm"]) == Suite(("NNAA",), 9, 5.0, ("svm",))
    assert make_suite([], 9, 5.0, []).metrics == ()


@pytest.mark.parametrize(
    ("metrics", "attacks", "message"),
    [
        (["NNAA", "XYZ"], (), r"\[privacy.metrics\] no metric 'XYZ'; known: "),
        (None, ["oracle"], r"\[attacks\] classifiers \['oracle'\]: no classifier 'oracle'; known: "),
    ],
)
def test_unknown_names(metrics, attacks, message):
    with pytest.raises(RiskError, match=message):
        make_suite(metrics, 9, 5.0, attacks)


def test_attacks_of_a_study_file():
    assert AttacksSection.model_validate("all") == AttacksSection(classifiers="all")
    assert AttacksSection.model_validate(["svm"]).classifiers == ("svm",)
    asked = AttacksSection.model_validate({"classifiers": ["svm"], "encoding": "ordinal"})
    assert make_suite(None, 9, 5.0, asked.classifiers, asked.encoding).encoding == "ordinal"
    with pytest.raises(ValueError, match="'nominal' or 'ordinal'"):
        AttacksSection.model_validate({"encoding": "onehot"})
