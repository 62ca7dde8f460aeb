"""Numbers that runs did not meet: which are told, in what order, and with what reason."""

import math
from types import SimpleNamespace

from outrisk.assess.verdict.unmet import MOST, unmet
from outrisk.assess.verdict.wording import settle
from outrisk.reasons import sentence


def row(label, difference, near=False, reason="stood_still", run=1, error=1.0, detail=""):
    return SimpleNamespace(
        output="o", label=label, level=2, fold="1", run=run, released=5.0, refit=5.0 + difference, near=near,
        difference=difference, decimals=1, sampling_error=error, reason=reason, detail=detail,
    )  # fmt: skip


def test_the_worst_run_of_each_number_and_what_cannot_be_first():
    rows = [
        row("near", 0.001, near=True),
        row("once", 9.0),
        row("twice", 1.0),
        row("twice", -3.0, run=2, reason="out_of_time"),
        row("never", 0.2, reason="conflict", detail="x"),
        row("lost", math.nan, reason="no_refit", detail="why"),
        row("digits", 0.5, error=math.nan),
    ]
    found = unmet(rows)
    assert [each.number for each in found] == ["never", "twice", "lost", "digits", "once"]
    assert (found[1].runs, found[1].refit, found[1].why) == (2, 2.0, sentence("out_of_time"))
    assert found[0].why == sentence("conflict", "x") and "correct one of them" in found[0].why
    assert len(unmet([row(str(k), 1.0) for k in range(30)])) == MOST
    assert unmet(rows[:1]) == ()


def test_a_longer_search_is_no_advice_for_what_no_data_set_has():
    missed = (SimpleNamespace(output="o"),)
    for reason, said in (("conflict", "no data set has it"), ("stood_still", "A longer search")):
        evidence = SimpleNamespace(
            missed=missed, levels=(), findings=(), unmet=unmet([row("a", 1.0, reason=reason, detail="x")])
        )
        advice = list(settle(SimpleNamespace(evidence=evidence, verdict="not reproduced")))
        assert sum(said in each for each in advice) == 1
        assert any("longer search" in each for each in advice) == (reason != "conflict")
