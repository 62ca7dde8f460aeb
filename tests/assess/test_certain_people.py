"""Certain claims in a study: true of the data, told as counts, and decisive where the appetite's intruder has a
register.
"""

import json

import numpy as np
import pandas as pd
import pytest

import outrisk

KEYS = ["age", "area"]


def people(n=60, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 30, n), "area": rng.choice(["n", "s"], n)})
    return frame.assign(ill=np.where(rng.random(n) < 0.4, "yes", "no"), pay=rng.integers(1, 4, n))


def outputs():
    return [
        outrisk.Frequencies(["age", "ill"]),
        outrisk.Frequencies(["area", "ill"]),
        outrisk.Frequencies(["age", "area", "ill"], where="age < 25"),
    ]


@pytest.fixture(scope="module")
def proof():
    return outrisk.prove(people(), outputs(), keys=KEYS, target="ill")


def test_claims_are_true_and_a_data_frame_of_positions_and_values(proof):
    frame = people()
    assert list(proof.certain.columns) == ["record", "value"]
    assert proof.certain.value.tolist() == frame.ill[proof.certain.record].tolist()
    whole = frame[frame.age < 25].groupby(KEYS).ill.transform("nunique") == 1
    assert set(whole[whole].index) <= set(proof.certain.record)


def test_each_person_has_a_smallest_set_of_outputs_that_proves_the_value(proof):
    frame = people()
    assert proof.by_outputs.record.tolist() == proof.certain.record.tolist()
    names = ["table age x ill", "table area x ill", "table age x area x ill"]
    chosen = dict(zip(names, outputs(), strict=True))
    for sets, part in proof.by_outputs.groupby("outputs"):
        used = [chosen[name] for name in sets.split("; ")]
        again = outrisk.prove(frame, used, keys=KEYS, target="ill").certain
        assert set(part.record) <= set(again.record), sets
        assert part.smallest.all()
        for left_out in used if len(used) > 1 else []:
            fewer = outrisk.prove(frame, [one for one in used if one is not left_out], keys=KEYS, target="ill").certain
            assert not set(part.record) & set(fewer.record)


def test_a_partial_register_proves_no_more_and_nothing_wrong(proof):
    frame = people()
    half = outrisk.prove(frame, outputs(), keys=KEYS, target="ill", known_for=0.5, seed=2).certain
    assert set(half.record) < set(proof.certain.record)
    assert half.value.tolist() == frame.ill[half.record].tolist()


def test_a_sample_of_people_has_the_answers_of_all(proof):
    found = outrisk.prove(people(), outputs(), keys=KEYS, target="ill", sample=20, seed=4)
    assert "20 people asked about" in found.sentence
    merged = found.certain.merge(proof.certain, on="record", suffixes=("", "_all"))
    assert len(merged) == len(found.certain) and (merged.value == merged.value_all).all()
    assert found.by_outputs.equals(
        proof.by_outputs[proof.by_outputs.record.isin(found.certain.record)].reset_index(drop=True)
    )


def test_cells_that_no_output_prints_are_bounded():
    frame = people()
    guarded = outrisk.Frequencies(["area", "ill"], name="guarded", protection={"threshold": 20})
    found = outrisk.prove(frame, [guarded, outrisk.Frequencies(["area", "ill"])], keys=KEYS, target="ill").cells
    hidden = found[found.table == "guarded"]
    assert len(hidden) and hidden.recovered.all() and (hidden.outputs == "table area x ill").all()
    counts = frame.groupby(["area", "ill"]).size()
    assert dict(zip(hidden.cell, hidden.low, strict=True)) == {
        f"area={area}, ill={ill}": count for (area, ill), count in counts.items() if count < 20
    }


def test_in_a_study_claims_decide_where_the_intruder_has_a_register(proof, tmp_path):
    certain = {}
    for intruder in ("codebook", "register"):
        run = tmp_path / intruder
        appetite = {"intruder": intruder}
        settings = {"keys": KEYS, "target": "ill", "appetite": appetite, "runs": 1, "folds": (1,), "quiet": True}
        result = outrisk.assess(people(), outputs(), out=run, **settings)
        told = json.loads((run / "certain.json").read_text(encoding="utf-8"))
        assert result.certain.equals(proof.certain)
        assert told["proved"] == len(proof.certain) == sum(told["values"].values())
        assert sum(each["people"] for each in told["proofs"]) == told["proved"]
        page = (run / "details.html").read_text(encoding="utf-8")
        assert "What the release proves" in page and f"prove ill of {told['proved']} of 60 people" in page
        decision = json.loads((run / "decision.json").read_text(encoding="utf-8"))
        certain[intruder] = decision["people"]
        assert any(told["sentence"] in reason for reason in decision["reasons"]) == (intruder == "register")
    assert certain["register"] == certain["codebook"] == len(proof.certain)  # the same people, counted once


def test_a_verdict_counts_people_of_several_records_once():
    """Not their records, of which there were said to be more people proved than there are in the data."""
    frame = people()
    thrice = frame.loc[frame.index.repeat(3)].assign(person=np.repeat(np.arange(60), 3)).reset_index(drop=True)
    asked = {"keys": KEYS, "target": "ill", "runs": 1, "folds": [1, 2], "person": "person"}
    result = outrisk.assess(thrice, outputs(), **asked, evolve={"generations": 3})
    number = thrice.person[result.certain.record].nunique()
    assert 0 < number < len(result.certain)
    assert f"the release proves ill of {number} people" in result.decision.sentence
