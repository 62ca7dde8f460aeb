"""Numbers that no data set has together are found and named, and no others; by planted contradictions."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from outrisk.config import OutputEntry, read_study
from outrisk.load import load_study_data
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import Frequencies
from outrisk.outputs.base import release, released
from outrisk.problem.refit import Refit
from outrisk.problem.tension import compared, influences, tensions
from outrisk.prove.in_conflict import in_conflict

BY_SEX = {"kind": "frequencies", "by": ["sex", "ill"]}
BY_AREA = {"kind": "frequencies", "by": ["area", "ill"]}
AGES = {"kind": "frequencies", "by": ["age", "sex"]}
MEAN = {"kind": "magnitudes", "value": "age", "by": ["sex"], "statistics": ["mean"], "decimals": 1}
LOGIT = {"kind": "logit", "formula": "ill ~ C(area) + sex", "event": 1, "decimals": 3}


def people(n=200, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "area": rng.choice(list("nsw"), n),
            "sex": rng.integers(0, 2, n),
            "ill": rng.integers(0, 2, n),
            "age": rng.integers(20, 26, n),
        }
    )


def given(frame, entries, change):
    """The outputs of these records, some values changed: {(output, position): by how much}."""
    codebook, _ = infer_codebook(frame)
    data = from_frame(frame, codebook)
    outputs = [
        TypeAdapter(OutputEntry).validate_python(entry).build(codebook, at)[0] for at, entry in enumerate(entries)
    ]
    found = []
    for at, output in enumerate(outputs):
        values = release(output, data).values.copy()
        for k in range(len(values)):
            values[k] += change.get((at, k), 0.0)
        found.append(released(output, values))
    return data, found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("entries", [[BY_SEX, BY_AREA], [AGES, MEAN], [BY_SEX, AGES, MEAN], [BY_AREA, LOGIT]])
def test_numbers_of_one_data_set_are_never_in_conflict(entries, seed):
    data, outputs = given(people(60, seed), entries, {})
    assert in_conflict(data.codebook, outputs, len(data.codes)) == [{} for _ in entries]


def test_a_number_at_risk_that_a_table_does_not_allow_is_named_as_it_was_printed():
    curves = {"kind": "survival", "time": "age", "event": "ill", "by": "sex", "times": [20, 22, 24]}
    curves["statistics"] = ["survival", "at risk", "events", "log-rank"]
    data, outputs = given(people(), [curves, AGES], {(0, 4): 1})
    assert outputs[0].labels[4] == "sex=0, age=22: at risk"
    found = in_conflict(data.codebook, outputs, 200)
    assert 4 in found[0] and set(found[0]) <= {1, 4}  # with that of 20, people of 20 and 21, too
    assert "sex=0, age=22: at risk = " in str(found[1])


def test_two_tables_that_disagree_by_three_people():
    """Three people who are ill in one table and well in the other: both totals of ill, and nothing else."""
    data, outputs = given(people(), [BY_SEX, BY_AREA], {(0, 0): 3, (0, 1): -3})
    found = in_conflict(data.codebook, outputs, 200)
    assert found[0] and found[1]
    for at, numbers in enumerate(found):
        assert all(f"of '{outputs[1 - at].name}'" in text for text in numbers.values())
    # each named cell, and each named in its place, is of the same answer: a contradiction of well, or of ill
    labels = [[outputs[at].labels[k] for k in numbers] for at, numbers in enumerate(found)]
    assert {label.split("ill=")[1] for label in labels[0]} == {label.split("ill=")[1] for label in labels[1]}


def test_a_mean_that_a_table_does_not_allow():
    data, outputs = given(people(), [AGES, MEAN], {(1, 0): 0.4})
    found = in_conflict(data.codebook, outputs, 200)
    assert set(found[1]) == {0}  # the other mean can be
    assert outputs[1].labels[0] in next(iter(found[0].values()))


def test_regressions_of_many_kinds_of_records_are_held_to_parts_of_people_alone(monkeypatch):
    """Beside them a mean that no whole people have is named all the same, and they take no more time than they have."""
    wide = {"kind": "logit", "formula": "ill ~ C(area) + age", "event": 1, "decimals": 3}
    data, outputs = given(people(), [AGES, MEAN, wide], {(1, 0): 0.4})
    monkeypatch.setattr("outrisk.prove.in_conflict._DENSE", 0)
    found = in_conflict(data.codebook, outputs, 200)
    assert set(found[1]) == {0} and not found[2]
    study = read_study(Path(__file__).parents[2] / "configs" / "fair-regressions.yaml")
    women = load_study_data(study).original
    of_women = [release(output, women) for output in study.outputs(women.codebook)]
    monkeypatch.undo()
    began = time.perf_counter()
    assert in_conflict(women.codebook, of_women, len(women)) == [{} for _ in of_women]
    assert time.perf_counter() - began < 60.0  # 280 s, of ten that it had


def test_whole_people_beside_a_regression(monkeypatch):
    """A mean to three decimals that no whole ages of so many people have."""
    mean = MEAN | {"decimals": 3}
    data, outputs = given(people(), [{"kind": "frequencies", "by": ["sex"]}, mean, LOGIT], {(1, 0): 0.0005 * 7})
    whole = in_conflict(data.codebook, outputs, 200)
    monkeypatch.setattr("outrisk.prove.in_conflict._DENSE", 0)
    assert in_conflict(data.codebook, outputs, 200) == whole
    assert whole[1]


def test_a_coefficient_that_a_table_does_not_allow():
    """The odds of one area are those of its cells where the model has nothing else."""
    logit = {"kind": "logit", "formula": "ill ~ C(area)", "event": 1, "decimals": 3}
    data, outputs = given(people(), [BY_AREA, logit], {(1, 1): 0.4})
    found = in_conflict(data.codebook, outputs, 200)
    assert 1 in found[1] and found[0]


def test_what_is_too_large_is_left_out():
    frame = people()
    for name in "abcd":
        frame[name] = np.arange(len(frame)) % 40
    data, outputs = given(frame, [{"kind": "frequencies", "by": [name, "age"]} for name in "abcd"], {(0, 0): 3})
    in_conflict(data.codebook, outputs, 200, seconds=2.0)  # 40^4 kinds: no programme, and no error


def test_the_reason_stands_beside_what_is_not_matched():
    data, outputs = given(people(), [AGES, MEAN], {(1, 0): 0.4})
    refits = [one.recompute(data) for one in outputs]
    rows = list(compared(refits, "stalled", lambda: in_conflict(data.codebook, outputs, 200)))
    assert [(row.output, row.reason) for row in rows if row.reason] == [(outputs[1].name, "conflict")]
    assert outputs[0].name in next(row.detail for row in rows if row.reason)


def test_numbers_that_pull_against_each_other_are_named():
    """More of one cell and more of all other cells of a group that is full: what one gains another loses."""
    frame = people()
    data, outputs = given(frame, [{"kind": "frequencies", "by": ["sex"]}, {"kind": "frequencies", "by": ["area"]}], {})
    first, second = (one.recompute(data) for one in outputs)
    first = Refit(first.released, first.codes, first.numbers + np.array([-2.0, -2.0]))  # both are to grow
    second = Refit(second.released, second.codes, second.numbers + np.array([-1.0, 1.0, 0.0]))  # one grows, one falls
    found = tensions([first, second])
    assert set(found[0]) == {0, 1}
    assert first.released.labels[1] in found[0][0] and first.released.labels[0] in found[0][1]
    assert found[1] == {}
    rows = list(compared([first, second], "stalled"))
    assert [row.reason for row in rows] == ["tension", "tension", "stood_still", "stood_still", ""]
    assert {row.reason for row in compared([first, second], "budget")} == {"out_of_time", ""}


@pytest.mark.parametrize("entry", [LOGIT, MEAN, {"kind": "ols", "formula": "age ~ sex", "decimals": 4}])
def test_influence_is_what_a_record_changes(entry):
    """Against a record put in the place of another, and all computed again."""
    data, (one,) = given(people(2_000), [entry], {})
    numbers = np.flatnonzero(one.known)
    rows = influences(one, data.codes, numbers)
    before, told, seen = one.output.refit(data), [], []
    for i, j in zip(range(0, 60, 2), range(1, 61, 2), strict=True):
        codes = data.codes.copy()
        codes[i] = codes[j]
        told.append(rows[j] - rows[i])
        seen.append((one.output.refit(type(data)(data.codebook, codes)) - before)[numbers])
    told, seen = np.array(told), np.array(seen)
    for k in range(len(numbers)):
        assert np.corrcoef(told[:, k], seen[:, k])[0, 1] > 0.95, one.labels[numbers[k]]


def test_a_standard_error_that_a_table_does_not_allow():
    """A table of everybody settles the fit of the variables that it crosses; statsmodels has the number."""
    logit = {"kind": "logit", "formula": "ill ~ C(area)", "event": 1, "decimals": 3}
    logit["release"] = ["coefficients", "standard_errors"]
    data, outputs = given(people(), [BY_AREA, logit], {(1, 4): 0.05})
    found = in_conflict(data.codebook, outputs, 200)
    assert found == [{}, {4: f"the counts of '{outputs[0].name}'"}]
    wider = logit | {"formula": "ill ~ C(area) + age"}  # the table does not cross age
    data, outputs = given(people(), [BY_AREA, wider], {(1, 5): 0.05})
    assert in_conflict(data.codebook, outputs, 200) == [{}, {}]
    part = BY_AREA | {"where": "sex == 0"}  # nor does it count everybody
    data, outputs = given(people(), [part, logit], {(1, 4): 0.05})
    assert in_conflict(data.codebook, outputs, 200) == [{}, {}]


def test_a_mean_that_no_so_many_people_have():
    """Whole ages of n people add up to a whole number (Brown and Heathers 2017)."""
    means = {"kind": "magnitudes", "value": "age", "by": ["sex"], "statistics": ["mean", "count"], "decimals": 4}
    data, outputs = given(people(40), [means], {})
    first, count = outputs[0].values[:2]
    assert in_conflict(data.codebook, outputs, 40) == [{}]
    data, outputs = given(people(40), [means], {(0, 0): 0.4 / count})
    assert abs((first * count) - round(first * count)) < 0.01
    found = in_conflict(data.codebook, outputs, 40)
    assert 0 in found[0] and outputs[0].labels[0].startswith("sex=0: mean")


def test_numbers_of_many_variables_that_no_table_has_together():
    """Nine variables in a row of tables: two million kinds of records, of which no output has more than 25."""
    frame, other = (pd.DataFrame(np.random.default_rng(s).integers(0, 5, (60, 9))).add_prefix("v") for s in (1, 2))
    codebook, _ = infer_codebook(pd.concat([frame, other]))
    data, third = (from_frame(each, codebook) for each in (frame, other))
    pairs = [(f"v{at}", f"v{at + 1}") for at in range(8)]
    outputs = [Frequencies(codebook, "-".join(pair), pair) for pair in pairs]
    published = [release(one, third if one.name == "v5-v6" else data) for one in outputs]
    found = in_conflict(codebook, published, 60)
    assert found[5] and {at for at, said in enumerate(found) if said} <= {4, 5, 6}
    assert not any(in_conflict(codebook, [release(one, data) for one in outputs], 60))
