"""How subsets lie to each other, held against every combination of values gone through; and how long that takes."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrisk.assess.look.printed import Numbers
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import Magnitudes
from outrisk.outputs.base import Subset, joint_for, support_frame
from outrisk.outputs.conditions.pairs import compare

BOOK = Codebook(
    (
        Variable("age", "integer", (1, 2, 3, 4, 5)),
        Variable("job", "categorical", ("a", "b", "c"), missing=True),
        Variable("one", "categorical", ("only",)),
        Variable("ill", "categorical", ("no", "yes")),
    )
)


def slowly(codebook, first, second):
    """Both subsets over the product of all variables that either names, evaluated there each time."""
    subsets = Subset(codebook, first, "t"), Subset(codebook, second, "t")
    named = {name for subset in subsets for name in subset.variables}
    joint = joint_for(codebook, [name for name in codebook.names if name in named], "t")
    frame = support_frame(codebook, joint)
    return joint, *(np.isin(frame.index, subset.select(frame).index) for subset in subsets)


OF_AGE = ("age < 3", "age >= 2", "age in [1, 4]", "age > 5", "age < 9")
OF_OTHERS = ("job == 'a'", "job != 'b'", "isna(job)", "not isna(job)", "one == 'only'", "ill == 'yes'", "ill == 'no'")
PIECES = st.sampled_from((*OF_AGE, *OF_OTHERS))
JOINED = st.tuples(PIECES, st.sampled_from(("and", "or")), PIECES).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})")
CONDITIONS = st.one_of(st.just(""), PIECES, JOINED)


@given(CONDITIONS, CONDITIONS)
def test_pairs_are_what_going_through_all_values_says(first, second):
    joint, one, other = slowly(BOOK, first, second)
    pair = compare(BOOK, first, second, "t")
    assert pair.joint == joint
    assert (pair.first == one).all()
    assert (pair.second == other).all()
    assert pair.equal == (one == other).all()
    assert pair.contains == (one | ~other).all()
    assert pair.apart == (not (one & other).any())


def test_codebooks_of_the_same_names_are_told_apart():
    for most in (3, 9, 3):
        book = Codebook((Variable("age", "integer", tuple(range(1, most + 1))),))
        assert compare(book, "", "age <= 3", "t").equal == (most == 3)


def test_the_output_is_named_that_cannot_be_compared():
    large = Codebook(tuple(Variable(name, "integer", tuple(range(300))) for name in "abc"))
    for name in ("one", "two"):
        with pytest.raises(OutputError, match=f"output '{name}'"):
            compare(large, "a + b >= 0", "b + c >= 0", name)
        with pytest.raises(OutputError, match=f"output '{name}'.*names"):
            compare(large, "a > 0", "unknown > 0", name)


def test_sums_on_many_nested_subsets_take_no_longer_than_their_number():
    """Each of 25 * 24 pairs went through all 40,002 values twice; a subset is evaluated once."""
    book = Codebook(
        (Variable("sex", "categorical", ("m", "f")), Variable("pay", "integer", tuple(range(20_001)))),
    )
    rng = np.random.default_rng(1)
    data = Microdata(book, np.stack([rng.integers(0, size, 500) for size in book.sizes], axis=1).astype(np.uint16))
    where = [f"pay <= {20_000 - 7 * at} and sex == 'm'" for at in range(25)]
    outputs = [Magnitudes(book, one, "pay", (), ("sum", "count"), one, digits=(0, 0)) for one in where]
    begun = time.process_time()
    for first, second in list(product(where, where))[:60]:
        slowly(book, first, second)
    per_pair, begun = (time.process_time() - begun) / 60, time.process_time()
    Numbers.of(outputs, data)
    assert time.process_time() - begun < 2 * 25 * 24 * per_pair / 10
