from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Correlations, Frequencies, Logit, release
from outrisk.outputs.base import Common
from outrisk.outputs.conflicts import conflicts
from outrisk.outputs.tables.counted import counts_of
from outrisk.problem.released import Released

CODEBOOK = Codebook(
    (
        Variable("age", "integer", (1, 2, 3)),
        Variable("pay", "integer", (0, 1, 2), missing=True),
        Variable("job", "categorical", ("a", "b"), missing=True),
        Variable("ill", "categorical", ("no", "yes")),
    )
)


def sample(seed, n=300):
    rng = np.random.default_rng(seed)
    return Microdata(
        CODEBOOK, np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)
    )


def table(name, by, where=""):
    return Frequencies(CODEBOOK, name, by, where)


OUTPUTS = [
    table("one", ("job", "ill")),
    table("two", ("age", "job")),
    table("young", ("ill", "age"), "age < 3"),
    table("young women", ("ill",), "age < 3 and job == 'a'"),
    Correlations(CODEBOOK, "r", ("age", "pay"), ("correlation", "mean", "n")),
    Logit(CODEBOOK, "l", "ill ~ age + C(job)"),
]


def of(data):
    return [release(output, data) for output in OUTPUTS]


def changed(released, output, label, low, high=None):
    """The same released numbers with one of them other."""
    found = []
    for each in released:
        if each.name == output:
            at = each.labels.index(label)
            ends = [end.copy() for end in (each.low, each.high)]
            ends[0][at], ends[1][at] = low, low if high is None else high
            each = replace(each, low=ends[0], high=ends[1])
        found.append(each)
    return found


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_numbers_of_one_data_set_never_conflict(seed):
    data = sample(seed)
    released = of(data)
    assert conflicts(CODEBOOK, released, len(data)) == []
    wider = [
        replace(each, low=each.low - 2, high=each.high + 2) if each.kind == "frequencies" else each for each in released
    ]
    assert conflicts(CODEBOOK, wider, len(data)) == []
    nothing = [
        replace(each, low=each.low - np.inf, high=each.high + np.inf) if each.kind != "logit" else each
        for each in released
    ]
    assert conflicts(CODEBOOK, nothing, len(data)) == []


@pytest.mark.parametrize(
    ("output", "label", "by", "message"),
    [
        ("one", "job=a, ill=no", 1, "'one' and 'two' are on the same records: job=a: "),
        ("young", "ill=no, age=1", 300, "'two' has too few records, and the records of 'young' are among the other's"),
        ("young", "ill=no, age=3", 1, "'young' has records that its subset, age < 3, leaves out: age=3: 1 or more"),
        ("young women", "ill=yes", 500, "'young' has too few records, and the records of 'young women' are among"),
        ("r", "n", 300, "'r' and 'the data' are on the same records: records in all: 5"),
        ("r", "correlation(age, pay)", 2, "is 2"),
        ("r", "mean(age)", 3, "mean(age) is"),
    ],
)
def test_a_changed_number_is_named(output, label, by, message):
    data = sample(1)
    released = of(data)
    value = next(each for each in released if each.name == output)
    value = value.low[value.labels.index(label)]
    found = conflicts(CODEBOOK, changed(released, output, label, value + by), len(data))
    assert any(message in line for line in found), found
    assert not any("\n" in line for line in found)


def test_ranges_conflict_only_where_they_cannot_meet():
    data = sample(2)
    released = of(data)
    value = released[0].low[0]
    assert conflicts(CODEBOOK, changed(released, "one", "job=a, ill=no", value - 3, value + 3), len(data)) == []
    assert conflicts(CODEBOOK, changed(released, "one", "job=a, ill=no", value + 1, value + 3), len(data))
    assert conflicts(CODEBOOK, changed(released, "one", "job=a, ill=no", 0, np.inf), len(data)) == []


def test_counts_beside_the_number_of_records():
    data = sample(3)
    released = of(data)
    for n in (299, 301):
        found = conflicts(CODEBOOK, released, n)
        assert any("the data" in line and "'one'" in line and "300" in line for line in found)
    assert conflicts(CODEBOOK, released[2:], 1_000) == []  # of subsets, and of records without a gap


@dataclass(frozen=True)
class Made(Common):
    """An output by hand, as kinds with margins and protection make them."""

    by: tuple[str, ...]
    labels: list[str]
    ending: str  # of the labels of counts
    kind: str = "table"

    def counts(self, low, high):
        return counts_of(self.codebook, self.by, self.labels, low, high, self.ending)


def made(kind, by, numbers):
    ending = {"frequencies": "", "magnitudes": ": count", "mode": ": records"}[kind]
    output = Made(CODEBOOK, f"{kind} by {'+'.join(by)}", by, list(numbers), ending)
    low, high = np.array([value if isinstance(value, tuple) else (value, value) for value in numbers.values()], float).T
    return Released(output, low, high, ())


@pytest.mark.parametrize(
    ("total", "wrong"), [(30, False), (36, False), (37, True), (20, True), ((0, 21), False), ((0, 20), True)]
)
def test_a_suppressed_cell_is_bound_by_its_margin(total, wrong):
    numbers = {"ill=no": 20, "ill=yes": (1, 16), "ill=Total": total}
    released = made("frequencies", ("ill",), numbers)
    total_of_data = total if isinstance(total, int) else 21
    assert bool(conflicts(CODEBOOK, [released], total_of_data)) == wrong


def test_numbers_of_records_behind_other_tables_count_too():
    means = made("magnitudes", ("ill",), {"ill=no: mean of age": 2, "ill=no: count": 40, "ill=yes: count": 70})
    counts = made("frequencies", ("ill",), {"ill=no": 40, "ill=yes": 60})
    (first, *_) = conflicts(CODEBOOK, [means, counts], 100)
    assert first.startswith("'magnitudes by ill' and 'the data' are on the same records")
    found = conflicts(CODEBOOK, [means, counts], 100)
    assert any(
        "ill=yes: 70 or more in 'magnitudes by ill', 60 at most in 'frequencies by ill'" in line for line in found
    )
    guarded = made("mode", ("ill",), {"ill=no: mode of age": 2, "ill=no: records": (150, np.inf)})
    assert conflicts(CODEBOOK, [guarded], 100)
