"""Counts among the numbers of an output, alone."""

import pickle

import numpy as np
import pytest
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.microdata import from_frame
from outrisk.outputs import release
from outrisk.problem.counts import counts_alone, made_of_counts

WITH_COUNT = {"kind": "magnitudes", "value": "AGE", "by": ["SEX", "MSTATUS"], "statistics": ["mean", "count", "sd"]}
QUARTILES = {"kind": "quantiles", "value": "AGE", "by": ["MSTATUS"], "quantiles": [0.25, 0.5]}


def released(entry):
    data = from_frame(sars_like(500, 1991), sars_codebook())
    (output,) = TypeAdapter(OutputEntry).validate_python(entry).build(data.codebook, 1)
    return release(output, data), data


def test_counts_beside_means_are_the_table_of_counts():
    """Number for number the table of the same variables, which pandas counts."""
    one, data = released(WITH_COUNT)
    alone = counts_alone(one)
    table = data.frame().groupby(["SEX", "MSTATUS"], observed=False).size()
    assert np.array_equal(alone.low, table.to_numpy()) and np.array_equal(alone.high, alone.low)
    assert (alone.decimals == 0).all() and alone.known.all()
    assert (alone.name, alone.kind, alone.importance) == (one.name, one.kind, one.importance)
    (part,) = alone.parts
    assert made_of_counts(part) and part.n_numbers == len(table)


@pytest.mark.parametrize(
    "entry",
    [
        WITH_COUNT | {"statistics": ["mean", "sd"]},
        QUARTILES,
        {"kind": "logit", "formula": "TENURE ~ AGE", "event": 1},
    ],
    ids=["means alone", "quantiles", "regression"],
)
def test_others_have_none(entry):
    assert counts_alone(released(entry)[0]) is None


def test_counts_alone_go_to_another_process_and_back():
    """A problem whose counts have been asked for is sent to workers as it is."""
    alone = counts_alone(released(WITH_COUNT)[0])
    back = pickle.loads(pickle.dumps(alone))
    assert np.array_equal(back.low, alone.low) and np.array_equal(back.decimals, alone.decimals)
    assert back.name == alone.name


def test_a_table_of_counts_is_what_it_is():
    one, _ = released({"kind": "frequencies", "by": ["SEX", "MSTATUS"], "protection": {"threshold": 10}})
    assert counts_alone(one) is one


def test_of_a_protected_table_of_means_the_records_that_are_known_stay():
    one, _ = released(WITH_COUNT | {"statistics": ["mean"], "protection": {"threshold": 10}})
    alone = counts_alone(one)
    assert len(alone.low) == len(one.low) // 2 and np.array_equal(alone.low, one.low[len(alone.low) :])
