"""Runs as many as are enough: rounds of them, until more would not change what the verdict rests on."""

import math
from threading import Event
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.api import studies
from outrisk.assess.rounds import ELSEWHERE, ROUNDS
from outrisk.assess.verdict.more_runs import are_enough

KEYS = ["age", "area", "sex"]
FULL = {"kind": "frequencies", "name": "full", "by": [*KEYS, "ill"]}
LIGHT = {"kind": "univariate", "name": "one by one", "variables": [*KEYS, "ill"]}


def people(n, levels=5):
    rng = np.random.default_rng(1)
    age = rng.integers(0, levels, n)
    return pd.DataFrame(
        {
            "age": age,
            "area": rng.choice(["n", "s", "w"], n),
            "sex": rng.integers(1, 3, n),
            "ill": np.where(rng.random(n) < 0.2 + 0.1 * (age % 5), "yes", "no"),
        }
    )


def assess(data, outputs, **settings):
    chosen = {"runs": "enough", "folds": [1, 2], "privacy": {"metrics": []}, "workers": 1, "quiet": True, "seed": 3}
    return outrisk.assess(data, outputs, keys=KEYS, target="ill", **{**chosen, **settings})


def level_of(low, difference, high, error=0.01, share=0.5, runs=5):
    """What was found at a level of two key sets and their mean, of one measure that is judged and one that is not."""
    rows = [np.full((2, 3), each) for each in (difference, error, share)]
    found = SimpleNamespace(measures=("right", "other"), difference=rows[0], standard_error=rows[1], runs_share=rows[2])
    limits = [np.full(3, low), np.full(3, high), np.full(3, 0.5)]
    return SimpleNamespace(judged=("right",), runs=runs, found=found, limits_of=lambda _: limits)


@pytest.mark.parametrize(
    ("level", "enough"),
    [
        (level_of(-0.01, 0.0, 0.01), True),  # far below the margin of 0.05
        (level_of(-0.04, 0.0, 0.04), False),  # below it, but not between limits half as wide again: 0.06
        (level_of(0.10, 0.12, 0.14), True),  # far above
        (level_of(0.06, 0.10, 0.14), False),  # above it, and 0.04 between wider limits
        (level_of(0.06, 0.07, 0.08), True),
        (level_of(-0.04, 0.0, 0.06, share=0.1), True),  # 5 % of an error are the search's
        (level_of(-0.04, 0.0, 0.06, share=0.4), False),  # 23 %
        (level_of(-0.04, 0.0, 0.06, share=0.0, runs=1), False),  # nothing is known of the search's chance
        (level_of(-0.04, 0.0, 0.06, share=1.0 + 1e-15), False),  # all of it, but for rounding
        (level_of(math.nan, math.nan, math.nan, error=math.nan, share=math.nan), False),
    ],
)
def test_they_are_enough_where_more_would_not_change_what_is_said(level, enough):
    assert are_enough([level], 0.05) == enough
    assert are_enough([], 0.05)


def test_a_release_that_tells_little_of_many_needs_the_first_round_only():
    found = assess(people(3000), [LIGHT])
    assert found.verdict == "no marginal risk found, up to x"
    assert found.decision.basis.runs == ROUNDS[0]


def test_where_limits_stay_wide_there_are_more_and_then_no_more():
    """Of 150 people the search makes most of the width."""
    rounds = assess(people(150), [LIGHT])
    runs = rounds.decision.basis.runs
    assert runs in ROUNDS[1:]
    counts = {fold.level: len(fold.runs) for fold in rounds._risk.folds}
    assert counts == {1: ELSEWHERE, 2: runs}
    fixed = assess(people(150), [LIGHT], runs={1: ELSEWHERE, 2: runs})
    assert rounds.decision == fixed.decision or repr(rounds.decision) == repr(fixed.decision)
    assert rounds.risk.equals(fixed.risk)


def test_without_a_holdout_more_runs_mend_nothing():
    found = assess(people(150), [LIGHT], folds=[1])
    assert [len(fold.runs) for fold in found._risk.folds] == [ROUNDS[0]]


def test_what_is_certain_needs_no_more_runs():
    found = assess(people(150, levels=12), [FULL])
    assert found.verdict == "disclosive" and found.decision.basis.runs == ROUNDS[0]


def test_a_given_holdout_leads(tmp_path):
    data = people(1600)
    found = assess(data.iloc[:800], [LIGHT], holdout=data.iloc[800:])
    counts = {(fold.level, fold.fold): len(fold.runs) for fold in found._risk.folds}
    assert counts[1, "whole"] >= ROUNDS[0] > counts[2, "1"] == counts[2, "2"] == ELSEWHERE


@pytest.mark.parametrize("backend", ["threads", "fork"])
def test_a_study_that_is_stopped_goes_on_with_its_rounds(tmp_path, backend):
    """Halted in the second round, and gone on with: the files are those of an undisturbed one."""
    people(150).to_csv(tmp_path / "people.csv", index=False)
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: s\ndata: {path: people.csv}\noutputs: [{kind: univariate, variables: [age, area, sex, ill]}]\n"
        "keys: [age, area, sex]\ntarget: ill\nkey_sizes: [1, 2, 3]\nstudy: {runs: enough, folds: [1, 2]}\n"
        "privacy: {metrics: []}\n"
    )

    def prepared(name):
        return studies.prepare_study(study, tmp_path / name, False, 2, None, False, None, None, backend)

    plain, halt = prepared("plain"), Event()
    with plain:
        plain.fork()
        plain.carry_out(Event(), lambda *_: None, lambda _: None)
        expected = {job.name: plain.done[job].synthetic.codes for job in plain.jobs}
        levels = list(plain.levels[0].rows())
        plain.directory.leave()
    stopped = prepared("stopped")
    first = 2 * ROUNDS[0] + ELSEWHERE

    def stop(_):
        if len(stopped.done) > first:
            halt.set()

    with stopped:
        stopped.fork()
        stopped.carry_out(halt, lambda *_: None, stop)
        assert first < len(stopped.done) < len(expected)
        assert not stopped.all_runs
        stopped.directory.leave()
    again = prepared("stopped")
    with again:
        assert len(again.done) == len(stopped.done) and again.rounds.number >= 1
        again.fork()
        again.carry_out(Event(), lambda *_: None, lambda _: None)
        found = {job.name: again.done[job].synthetic.codes for job in again.jobs}
        assert repr(list(again.levels[0].rows())) == repr(levels)
        again.directory.leave()
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in found)


def test_the_word_is_refused_within_a_mapping_and_others_are_named():
    with pytest.raises(outrisk.OutRiskError, match=r"write a whole number .* or 'enough'"):
        assess(people(150), [LIGHT], runs="many")
    with pytest.raises(outrisk.OutRiskError, match=r"write a whole number .* or 'enough'"):
        assess(people(150), [LIGHT], runs={1: "enough", 2: 3})
