"""Outputs of a session that are already released: as if they stood in a study file, or among the new ones."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import outrisk

RNG = np.random.default_rng(4)
FRAME = pd.DataFrame({name: RNG.integers(0, size, 150) for name, size in (("age", 5), ("area", 3), ("ill", 2))})
SOME = {"keys": ["age", "area"], "target": "ill"}
ALL = pd.crosstab([FRAME.age, FRAME.area], FRAME.ill)
OLDER = pd.crosstab(FRAME.area, FRAME.ill)


def test_they_are_equations_beside_the_new_ones():
    alone = outrisk.prove(FRAME, [OLDER], **SOME).certain
    beside = outrisk.prove(FRAME, [OLDER], released=[ALL], **SOME)
    together = outrisk.prove(FRAME, [OLDER, ALL], **SOME)
    assert len(beside.certain) > len(alone)
    pd.testing.assert_frame_equal(beside.certain, together.certain)


def test_they_are_subtracted_from_the_new_ones():
    new = outrisk.Frequencies(["area", "ill"], where="age != 2")
    found = outrisk.check(FRAME, [new], released=[OLDER], **SOME).findings
    assert any(name.startswith("released: ") for name in found.output)
    assert "difference of outputs" in set(found.rule)


def test_a_verdict_says_what_new_outputs_add(tmp_path):
    fit = smf.logit("ill ~ age", FRAME).fit(disp=0)
    settings = {"evolve": {"generations": 3}, "privacy": {"metrics": []}, "runs": 1, "folds": [1, 2], "quiet": True}
    result = outrisk.assess(FRAME, [ALL], released=[fit, OLDER], out=tmp_path / "run", **SOME, **settings)
    added = result.tables["contributions"]
    assert "new outputs add" in set(added.what)
    assert sum(name.startswith("released: ") for name in result.released["output"].unique()) == 2


@pytest.mark.parametrize(
    ("released", "said"),
    [
        ("old.yaml", "give a list"),
        (OLDER, "released is a DataFrame; give a list of outputs"),
        ([3], "released: outputs 1: a int is no output"),
        ([OLDER * 2], "released: outputs 1"),
    ],
)
def test_what_is_none_of_these_is_refused(released, said):
    with pytest.raises(outrisk.OutRiskError, match=said):
        outrisk.check(FRAME, [ALL], released=released, **SOME)
