"""What a study may ask of the suite, by name."""

import pytest

from outrisk.assess.suite.of_run import Suite, make_suite
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
