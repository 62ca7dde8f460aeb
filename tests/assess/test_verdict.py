"""The verdict: five states, each reached by a study; what it rests on, in words and files."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.appetite import Appetite
from outrisk.assess.folds import Fold
from outrisk.assess.look import Found
from outrisk.assess.people import people_rows
from outrisk.assess.verdict import log_entry, of_outputs, wording
from outrisk.assess.verdict.decide import Evidence, decide
from outrisk.assess.verdict.from_folds import of_the_whole
from outrisk.assess.verdict.looked_at import MOST, looked_at
from outrisk.assess.verdict.reproduction import distance, not_reproduced
from outrisk.problem.refit import Refit
from outrisk.records.results import read_run
from outrisk.records.schema import VERDICTS, Decision, Dose, NotReproduced, PeopleCount, with_number
from outrisk.risk.by_person.record_scores import MEASURES
from outrisk.risk.intervals.paired import paired_interval

KEYS = ["age", "area", "sex"]
NONE = "no marginal risk found, up to x"
FULL = {"kind": "frequencies", "name": "full", "by": [*KEYS, "ill"]}
LIGHT = {"kind": "univariate", "name": "one by one", "variables": [*KEYS, "ill"]}


def people(n, seed=1, levels=5):
    rng = np.random.default_rng(seed)
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
    chosen = {"runs": 2, "folds": [2], "privacy": {"metrics": []}, "workers": 1, "quiet": True, "seed": 3}
    return outrisk.assess(data, outputs, keys=KEYS, target="ill", **{**chosen, **settings})


@pytest.fixture(scope="module")
def found():
    """A study for each of the five."""
    uniform = {"start": "uniform", "preset": "paper", "generations": 2}
    return {
        "disclosive": assess(people(60, levels=12), [FULL]),
        "marginal risk found": assess(
            people(600, levels=40), [FULL | {"protection": {"round_to": 2}}], appetite={"people": 600}
        ),
        "no marginal risk found, up to x": assess(people(1200), [LIGHT], runs=3),
        "cannot tell": assess(people(400), [LIGHT], folds=[1]),
        "not reproduced": assess(people(1200), [LIGHT], evolve=uniform),
    }


@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_verdict_is_reached_by_its_name(found, verdict):
    decision = found[verdict].decision
    assert found[verdict].verdict == decision.verdict == verdict
    assert decision.sentence.lower().startswith(verdict.removesuffix("x"))
    assert math.isnan(decision.up_to) == (verdict != "no marginal risk found, up to x")
    assert decision.reasons or verdict == "cannot tell"
    assert decision.settle


@pytest.mark.parametrize("verdict", VERDICTS)
def test_no_verdict_says_safe(found, verdict):
    decision = found[verdict].decision
    words = json.dumps([decision.sentence, decision.reasons, decision.settle, decision.halves, decision.verdict])
    assert "safe" not in words.lower()
    assert "safe" not in found[verdict]._kept.documents["decision.md"].lower()


def test_up_to_is_the_highest_limit_and_stands_in_the_sentence(found):
    decision = found["no marginal risk found, up to x"].decision
    assert decision.up_to == max(limit.high for limit in decision.limits) < 0.05
    assert with_number(decision.verdict, decision.up_to).removeprefix("no ") in decision.sentence
    assert all(limit.says == "below" for limit in decision.limits)
    assert decision.basis.crossed and decision.basis.level == 2 and decision.basis.key_sets == 7


def test_limits_are_those_of_the_table_and_numbers_side_by_side_subtract(found):
    for result in found.values():
        rows = result.tables["marginal"]
        by_person = result.tables["people"].dropna(subset=["difference"])
        for table, names in ((rows, ("original", "holdout")), (by_person, ("share_original", "share_holdout"))):
            first, second, difference = (table[name].to_numpy(dtype=float) for name in (*names, "difference"))
            np.testing.assert_allclose(first - second, difference, atol=1e-12)
        for limit in result.decision.limits:
            if limit.over == "people":
                continue
            row = rows[(rows["measure"] == limit.measure) & (rows["keys"] == limit.keys)].iloc[0]
            assert (row["lowest"], row["highest"]) == (limit.low, limit.high)
            assert row["lowest"] <= row["low"] <= row["difference"] <= row["high"] <= row["highest"]


def test_the_worst_key_set_decides_not_the_mean(found):
    decision = found["marginal risk found"].decision
    worst = next(limit for limit in decision.limits if limit.over == "worst key set" and limit.measure == "attribution")
    mean = next(limit for limit in decision.limits if limit.over == "mean over key sets")
    assert worst.says == "above" and worst.low > 0.05
    assert mean.difference < worst.difference
    assert worst.keys == "age+area+sex"


def test_what_was_written_is_read_back(found, tmp_path):
    for verdict in ("cannot tell", "no marginal risk found, up to x"):
        result = found[verdict]
        results = read_run(result.write(tmp_path / verdict.replace(" ", "-").replace(",", "")))
        assert results.decision.sentence == result.decision.sentence
        assert results.decision.verdict == verdict
        page = (results.directory / "decision.md").read_text(encoding="utf-8")
        assert len(page.split()) < 900
        shown = with_number(verdict, result.decision.up_to)
        assert page.startswith(f"# study: {shown}\n") and "## Decision" in page
        if results.decision.basis:
            assert len(results.contrasts) >= 4 * 8


def test_an_output_that_only_gives_the_distribution_of_the_target_tells_everybody_the_same(found):
    outputs = {each.name: each for each in found["no marginal risk found, up to x"].decision.outputs}
    assert any("tells everybody the same" in each.reason and each.up_to == 0 for each in outputs.values())


@pytest.mark.parametrize(
    ("appetite", "place"),
    [
        ({"margin": -0.01}, "appetite.margin"),
        ({"margin": 1}, "appetite.margin"),
        ({"measure": "tcap"}, "appetite.measure"),
        ({"measure": []}, "appetite.measure"),
        ({"people": -1}, "appetite.people"),
        ({"intruder": "spy"}, "appetite.intruder"),
        ({"margn": 0.1}, "margn"),
    ],
)
def test_an_appetite_that_is_none_is_told_in_one_line(appetite, place):
    with pytest.raises(outrisk.OutRiskError, match=place.replace(".", r"\.")) as error:
        assess(people(60), [LIGHT], appetite=appetite)
    assert "\n" not in str(error.value)


def test_a_measure_is_one_or_several(found):
    assert Appetite(measure="dcap").measure == ("dcap",)
    result = assess(people(300), [LIGHT], appetite={"measure": "dcap", "margin": 0.4})
    assert {limit.measure for limit in result.decision.limits if limit.over != "people"} == {"dcap"}


# ---------------------------------------------------------------- the order of the five, from evidence made up


class Level:
    """A level with given limits of one measure at two key sets and their mean."""

    level, n_keys, runs, n_original, n_holdout, crossed, judged = 2, 2, 5, 500, 500, True, ("attribution",)
    not_crossed = divided_anew = ""
    whose = ("", "")

    def __init__(self, low, high):
        self.sets = looked_at(["a", "b"], "t", [], [])
        low, high = ([*each, each[-1]][: len(self.sets) + 1] for each in (low, high))
        self.low, self.high = np.array(low, dtype=float), np.array(high, dtype=float)
        middle = np.tile((self.low + self.high) / 2, (4, 1))
        zero = np.zeros_like(middle)
        self.found = SimpleNamespace(own=middle, other=zero, difference=middle, runs_share=zero + 0.5,
                                     standard_error=zero + 0.01,
                                     measures=MEASURES, interval=lambda: (zero - 1, zero + 1))  # fmt: skip
        self.all_keys = len(self.sets) - 1

    def limits_of(self, measure):
        return self.low, self.high, np.ones(len(self.low))


def evidence(**changes):
    made = {
        "study": "s",
        "target": "t",
        "keys": ("a", "b"),
        "appetite": Appetite(),
        "outputs": {"x": ("a",)},
        "findings": [],
        "levels": [Level([-0.01, -0.01, -0.01], [0.02, 0.02, 0.02])],
        "people": [],
        "missed": (),
        "runs_done": 4,
    }
    return Evidence(**{**made, **changes})


CERTAIN = Found.of("same answer", True, "x", 1, np.arange(3), "All three have it.", about="t")
MISSED = NotReproduced("x", 1, 9, 4, 6, "b", 1.0, 2.0, "why")
HIGH = [Level([0.1, 0.2, 0.1], [0.3, 0.4, 0.3])]
WIDE = [Level([-0.1, -0.1, 0.01], [0.02, 0.2, 0.02])]


def of(*who, **changes):
    """A finding about these records."""
    return replace(CERTAIN, **{"people": len(who), "who": np.array(who), **changes})


def test_what_is_proved_to_others_and_what_no_rule_reads_stands_in_the_sentence():
    proof = "To an intruder who knows age of everybody, the outputs prove ill of 3 of 9 people."
    unseen = Found("not looked at", False, "own", 0, 0, "No rule can read an output of kind custom.")
    for levels in ([Level([-0.01, -0.01, -0.01], [0.01, 0.01, 0.01])], HIGH, []):
        found = decide(evidence(levels=levels, findings=[unseen], beyond=proof))
        assert proof in found.sentence
        assert found.sentence.endswith("The direct look could not read 1 output (“own”).")
        assert proof in found.reasons
    assert "prove" not in decide(evidence()).sentence


def test_outputs_missed_for_one_reason_share_a_line():
    missed = [replace(MISSED, output=f"y{at}", runs=at + 1, why="far off") for at in range(8)]
    reasons = decide(evidence(missed=(MISSED, *missed, replace(MISSED, why="output 'x': separated")))).reasons
    assert [line for line in reasons if "reproduced in" in line] == [
        "x was not reproduced in 1 run: why",
        "y0, y1, y2, y3, y4, y5 and 2 more were not reproduced in up to 8 runs: far off",
        "x was not reproduced in 1 run: separated",
    ]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "no marginal risk found, up to x"),
        ({"levels": WIDE}, "cannot tell"),
        ({"levels": []}, "cannot tell"),
        ({"levels": [], "runs_done": 0}, "cannot tell"),
        ({"missed": (MISSED,)}, "not reproduced"),
        ({"levels": WIDE, "missed": (MISSED,)}, "not reproduced"),
        ({"levels": HIGH, "missed": (MISSED,)}, "marginal risk found"),
        ({"levels": HIGH, "findings": [CERTAIN]}, "disclosive"),
        ({"findings": [CERTAIN], "missed": (MISSED,)}, "disclosive"),
        ({"findings": [CERTAIN], "appetite": Appetite(people=3)}, "no marginal risk found, up to x"),
        ({"findings": [CERTAIN] * 2, "appetite": Appetite(people=3)}, NONE),  # the same three
        ({"findings": [CERTAIN, of(2, 4)], "appetite": Appetite(people=3)}, "disclosive"),
        ({"findings": [CERTAIN], "proved": (np.arange(3), "Proved."), "appetite": Appetite(people=3)}, NONE),
        ({"findings": [CERTAIN], "proved": (np.arange(4), "Proved."), "appetite": Appetite(people=3)}, "disclosive"),
        ({"findings": [replace(CERTAIN, about="a")]}, "no marginal risk found, up to x"),  # a key: known already
        ({"findings": [replace(CERTAIN, about="income")]}, "disclosive"),
        ({"findings": [replace(CERTAIN, certain=False)]}, "no marginal risk found, up to x"),
        (
            {"findings": [replace(CERTAIN, certain=False)], "appetite": Appetite(rules_are_disclosive=True)},
            "disclosive",
        ),
        (
            {
                "findings": [Found.of("not looked at", False, "x", 0, np.arange(3), "")],
                "appetite": Appetite(rules_are_disclosive=True),
            },
            "no marginal risk found, up to x",
        ),
        ({"proved": (np.arange(2), "To an intruder, two are proved.")}, "disclosive"),
        ({"appetite": Appetite(margin=0.02)}, "cannot tell"),
    ],
)
def test_the_first_of_the_five_that_holds(changes, verdict):
    decision = decide(evidence(**changes))
    assert decision.verdict == verdict
    assert decision.sentence.lower().startswith(verdict.removesuffix("x"))
    assert isinstance(decision, Decision)


def test_what_cannot_be_told_says_what_would_settle_it_and_not_what_else_was_found():
    changed = Found.of(
        "data changed", False, "x", 0, np.arange(3), "Counted as Other.", advice="Give them as 'values'."
    )
    said = decide(evidence(levels=WIDE, findings=[changed]))
    assert "Give them as 'values'." in said.settle and "Give them as 'values'." not in said.sentence
    assert "would narrow" in said.sentence and "Risks may read lower" in said.sentence


def test_numbers_that_were_missed_are_told_by_both_measures():
    said = decide(evidence(levels=WIDE, missed=(MISSED,), outputs={"x": ("a",)}))
    assert "4 of 9 numbers of it at their digits, 6 to 1 % of their sampling error" in said.sentence
    assert said.outputs[0].reason == "4 of 9 numbers in the worst run (to 1 % of their sampling error 6): why"


def test_no_risk_is_found_of_an_output_beside_one_that_was_missed():
    """Its limit is of all outputs released together, and the synthetic data lack some of what these say."""
    key = evidence().levels[0].sets[0].keys
    alone = decide(evidence(outputs={"y": tuple(key)})).outputs[0]
    assert alone.verdict == NONE and "reproduced" not in alone.reason
    beside = decide(evidence(missed=(MISSED,), outputs={"x": tuple(key), "y": tuple(key), "target": ()}))
    assert [each.verdict for each in beside.outputs] == ["not reproduced", "cannot tell", NONE]
    assert beside.outputs[1].reason.endswith("but “x” was not reproduced, so that it may be more")
    assert math.isnan(beside.outputs[1].up_to)
    measured = [line for line in beside.reasons if "people who are not; difference" in line]
    assert measured and all(line.endswith(", but not all outputs were reproduced") for line in measured)


def test_what_is_not_certain_is_counted_in_the_sentence():
    decision = decide(evidence(findings=[replace(CERTAIN, certain=False, rule="small cells")]))
    assert decision.rules_broken == 1 and decision.sentence.endswith("1 further finding (small cells).")


def test_people_of_several_findings_and_of_proofs_are_counted_once():
    several = [CERTAIN, of(1, 2, 3, output="y", about="u"), of(3, certain=False), of(9, about="a")]
    decision = decide(evidence(findings=several))
    assert decision.people == 4 and "tells t, u of 4 people for certain (“x” and 1 more)." in decision.sentence
    proved = decide(
        evidence(findings=several, proved=(np.array([0, 7]), "Two are proved."), appetite=Appetite(people=2))
    )
    assert proved.people == 5
    assert proved.sentence.startswith(
        "Disclosive: the release tells t, u of 4 people for certain (“x” and 1 more). Two are proved. Together that is "
        "5 people, more than the 2 of the appetite."
    )


def test_the_sentence_says_how_surely_and_which_rules():
    dominated = of(3, rule="dominance", about="pay")
    assert "tells pay of 1 person to within 10 % (“x”)." in decide(evidence(findings=[dominated])).sentence
    both = decide(evidence(findings=[CERTAIN, dominated])).sentence
    assert "tells t, pay of 4 people for certain or to within 10 %" in both
    rule = of(*range(7), certain=False, rule="small cells")
    strict = Appetite(rules_are_disclosive=True)
    assert decide(evidence(findings=[rule], appetite=strict)).sentence == (
        "Disclosive: it breaks rules of the environment (small cells) for 7 people (“x”)."
    )


def test_more_runs_are_advised_where_the_search_brings_the_width():
    assert any("More runs" in line for line in decide(evidence(levels=WIDE)).settle)
    assert "holdout" in decide(evidence(levels=[])).settle[0]


def test_people_found_run_after_run_are_beside_the_margin_too():
    row = PeopleCount(2, "certain", "everybody", 5, 500, 100, 0.2, 500, 20, 0.04, 0.16, 0.12, 0.2, 80, 60, 100)
    decision = decide(evidence(people=[row]))
    assert decision.verdict == "marginal risk found" and "run after run" in decision.sentence


# ---------------------------------------------------------------- parts


def test_key_sets_are_all_of_few_keys_and_as_many_sizes_as_fit_of_many():
    assert len(looked_at([f"k{j}" for j in range(6)], "t", [], [])) == 63
    many = looked_at([f"k{j}" for j in range(20)], "t", [], [])
    assert len(many) == 20 + 190 + 1 <= MOST and len(many[-1].keys) == 20


def refit(values, numbers, table, decimals=0):
    values, numbers = np.array(values, dtype=float), np.array(numbers, dtype=float)
    known = np.ones(len(values), dtype=bool)
    output = SimpleNamespace(table=table, effort={"refits": 1})  # no sampling errors
    tolerance = np.full(len(values), 0.5 * 10.0**-decimals)
    released = SimpleNamespace(known=known, low=values, values=values, output=output, tolerance=tolerance, name="x",
                               labels=["a", "b", "c"], distance=lambda found: found - values,
                               is_matched=lambda found: np.abs(found - values) <= tolerance)  # fmt: skip
    return Refit(released, np.zeros((1, 1), np.uint16), numbers)


def test_numbers_met_are_those_of_the_run_that_met_the_fewest():
    near, far = refit([1, 2, 3], [2.1, 1, 4], ()), refit([1, 2, 3], [1, 2, 9], ())
    results = [SimpleNamespace(refits=[each], job=SimpleNamespace(problem=SimpleNamespace(released=[each.released])))
               for each in (near, far, refit([1, 2, 3], [1, 2, 3], ()))]  # fmt: skip
    (row,) = not_reproduced(results)
    assert (row.runs, row.numbers, row.matched, row.worst, row.refit) == (2, 3, 0, "c", 9)


def test_a_table_is_reproduced_to_half_a_percent_and_a_number_to_its_last_digit():
    assert distance(refit([500, 500], [495, 505], ("a",))) == pytest.approx(1)  # 5 of 1,000 in another cell
    assert distance(refit([500, 500], [494, 506], ("a",))) > 1
    assert distance(refit([0.12], [0.13], (), decimals=2)) == pytest.approx(1)
    assert distance(refit([0.12], [0.131], (), decimals=2)) > 1
    assert distance(refit([0.12], [np.nan], (), decimals=2)) == math.inf


def test_halves_and_quarters_are_taken_on_to_the_whole():
    halves, quarters = Dose(2, 500, "m", "", 0.2, 0.1, 0.3), Dose(4, 250, "m", "", 0.4, 0.3, 0.5)
    assert "0.100 in all records" in of_the_whole([halves, quarters])
    assert "cannot be told from chance" in of_the_whole([replace(halves, low=-0.01), quarters])
    assert "cannot be told from chance" in of_the_whole([replace(halves, difference=0.5), quarters])
    assert "a further level" in of_the_whole([halves])
    assert of_the_whole([Dose(1, 1000, "m", "", 0.2, 0.1, 0.3)]) == of_the_whole([]) == ""


def test_a_number_is_rounded_up_and_never_a_negative_nothing():
    assert wording.rounded_up(0.0201) == "0.021" and wording.rounded_up(0.02) == "0.020"
    assert wording.number(-0.0001) == "0.000"


@pytest.mark.parametrize(("margin", "found"), [(0.05, NONE), (0.0, "cannot tell"), (-0.01, "marginal risk found")])
def test_what_outputs_and_folds_tell_is_never_a_negative_nothing(margin, found):
    level = SimpleNamespace(
        sets=[SimpleNamespace(keys=("age",))],
        judged=["m"],
        limits_of=lambda _: ([-0.0002], [0.0001 - 0.0002 * (margin > 0)]),
    )
    evidence = SimpleNamespace(levels=[level], appetite=SimpleNamespace(margin=margin), target="ill")
    verdict, _, told = of_outputs._measured(evidence, ("age",))
    assert verdict == found and "0.000" in told and "-0.000" not in told
    doses = [Dose(level, 1000 // level, "m", "", -0.0002, -0.1, 0.1) for level in (2, 4)]
    assert "is 0.000 in folds of 250 records and 0.000 in folds of 500" in of_the_whole(doses)


# ---------------------------------------------------------------- by person


def runs_of(own, other, target, holdout_name, fold, level):
    """A fold with runs whose `right` flags are given, by its own people and its holdout's, (runs, people)."""
    results = []
    for run in range(len(own)):
        right = {side: {name: np.array(flags[run], dtype=bool) for name in ("certain", "most frequent")}
                 for side, flags in (("original", own), ("holdout", other)) if flags is not None}  # fmt: skip
        job = SimpleNamespace(fold=Fold(level, 0, fold, *target, holdout_name), keys=("k",), target="t")
        results.append(SimpleNamespace(job=job, right=right))
    return results


def test_people_are_counted_with_and_without_themselves():
    codebook = outrisk.Codebook(
        tuple(outrisk.codebook.Variable(name, "categorical", ("0", "1", "2")) for name in ("k", "t"))
    )
    first = outrisk.microdata.Microdata(codebook, np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint16))
    second = outrisk.microdata.Microdata(codebook, np.array([[2, 1], [1, 0], [1, 0]], dtype=np.uint16))
    results = [
        *runs_of([[1, 1, 0], [1, 0, 0]], [[1, 1, 0], [1, 1, 0]], (first, second), "fold 2", "1", 2),
        *runs_of([[1, 1, 1], [1, 1, 1]], [[0, 0, 0], [0, 0, 0]], (second, first), "fold 1", "2", 2),
    ]
    rows = {(row.inference, row.group): row for row in people_rows(results)}
    everybody = rows["certain", "everybody"]
    assert (everybody.right_original, everybody.right_holdout, everybody.people_original) == (4, 2, 6)
    assert everybody.beyond == pytest.approx(2)
    alone = rows["certain", "unique on the keys"]  # of all six: the one with k = 2
    assert (alone.people_original, alone.right_original, alone.right_holdout) == (1, 1, 1)
    holders = rows["certain", "t = 0"]
    assert (holders.people_original, holders.right_original, holders.right_holdout) == (3, 3, 1)
    assert everybody.low < everybody.difference < everybody.high


def test_people_with_the_same_keys_share_their_fate():
    """Their interval is that of key combinations where it is wider, as they are told together or not at all."""
    codebook = outrisk.Codebook(
        (
            outrisk.codebook.Variable("k", "categorical", tuple(map(str, range(20)))),
            outrisk.codebook.Variable("t", "categorical", ("0", "1")),
        )
    )
    codes = np.column_stack([np.arange(40) // 4 + 10, np.arange(40) % 2]).astype(np.uint16)
    sides = [outrisk.microdata.Microdata(codebook, codes - np.array([10, 0], dtype=np.uint16) * k) for k in (0, 1)]
    told, nobody = [(np.arange(40) // 4 < 5).tolist()] * 2, [[0] * 40] * 2
    results = [
        *runs_of(told, nobody, sides, "fold 2", "1", 2),
        *runs_of(told, nobody, sides[::-1], "fold 1", "2", 2),
    ]
    row = next(row for row in people_rows(results) if row.group == "everybody")
    first, second = np.array(told[0] * 2, dtype=bool), np.zeros(80, dtype=bool)
    wider = paired_interval(first, second, np.arange(80) // 4, sampled=False)
    assert (row.low, row.high) == pytest.approx(wider)
    plain = paired_interval(first, second)
    assert row.low < plain[0] < plain[1] < row.high


# ---------------------------------------------------------------- a holdout that is given


@pytest.mark.parametrize(("n", "crossed", "n_holdout"), [(500, True, 400), (330, True, 330), (200, False, 200)])
def test_a_given_holdout_is_crossed_where_it_is_large_enough(n, crossed, n_holdout):
    result = assess(people(400), [LIGHT], folds=[1, 2], holdout=people(n, seed=9), key_sizes=[3])
    basis = result.decision.basis
    assert (basis.level, basis.crossed, basis.n_original, basis.n_holdout) == (1, crossed, 400, n_holdout)
    assert basis.runs == 2 and {dose.level for dose in result.decision.dose} == {1, 2}
    assert set(result.tables["matched"]["fold"]) == {"whole", "1", "2"}  # what the holdout would release is no result
    assert set(result.risk["level"]) == {1, 2} and len(result._risk.folds) == 3
    assert result.decision.halves == ""
    assert basis.not_crossed == ("" if crossed else "it has 200 people and the data 400")


def test_a_holdout_that_the_outputs_cannot_be_computed_from_is_used_as_it_is():
    table = {"kind": "frequencies", "by": ["sex", "ill"], "where": "area == 's'"}
    held = people(400, seed=9)
    held = held[held["area"] != "s"]
    result = assess(people(300), [LIGHT, table], folds=[1], holdout=held)
    basis = result.decision.basis
    assert not basis.crossed and basis.n_holdout == len(held)
    assert basis.not_crossed.startswith("in its people, output") and "holds for no record" in basis.not_crossed


def test_names_in_the_log_read_as_they_are_and_upper_limits_never_round_down():
    assert log_entry._text("wife_age+x of _y_ *z*") == r"wife_age+x of \_y\_ \*z\*"
    assert [wording.rounded_up(value) for value in (0.0404, -0.0004, 0.04, math.nan)] == [
        "0.041",
        "0.000",
        "0.040",
        "nan",
    ]
