from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import Rule, read_rules

CODEBOOK = Codebook(
    (
        Variable("age", "integer", (5, 15, 16, 40)),
        Variable("status", "categorical", ("single", "married", "it implies")),
        Variable("pay", "numeric", (0.0, 0.5, 1.0), missing=True),
        Variable("home town", "categorical", ("a", "b")),
    )
)
EVERYONE = np.array(list(product(*(range(size) for size in CODEBOOK.sizes))), dtype=np.uint16)


def allowed(rule):
    """Which of all possible records the mask of a rule allows."""
    levels = sum(
        EVERYONE[:, j].astype(int) * s for j, s in zip(rule.mask.joint.variables, rule.mask.joint.strides, strict=True)
    )
    return rule.mask.include[levels]


# From the definition: each rule beside a function of age, status, pay (None where missing) and town.
RULES = {
    "age < 16 implies status == 'single'": lambda a, s, p, t: a >= 16 or s == "single",
    "age < 16 implies status == 'single' and pay == 0": lambda a, s, p, t: a >= 16 or (s == "single" and p == 0),
    "status == 'it implies' implies `home town` == 'a'": lambda a, s, p, t: s != "it implies" or t == "a",
    "pay > 0.5  implies  age >= 15": lambda a, s, p, t: p is None or p <= 0.5 or a >= 15,
    "status != 'married' or age > 15": lambda a, s, p, t: s != "married" or a > 15,
    "pay <= 0.5": lambda a, s, p, t: p is not None and p <= 0.5,
}


def holds(text, record):
    values = [
        variable.values[code] if code < len(variable.values) else None
        for variable, code in zip(CODEBOOK.variables, record, strict=True)
    ]
    return bool(RULES[text](*values))


@pytest.mark.parametrize("text", RULES)
def test_masks_allow_what_the_definition_allows(text):
    assert allowed(Rule(CODEBOOK, text, 1)).tolist() == [holds(text, record) for record in EVERYONE]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, len(EVERYONE) - 1), min_size=1, max_size=30), st.sampled_from(list(RULES)))
def test_broken_counts_records_outside_the_mask(rows, text):
    data = Microdata(CODEBOOK, EVERYONE[rows])
    assert Rule(CODEBOOK, text, 1).broken(data) == sum(not holds(text, record) for record in data.codes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age < 16 implies state == 'single'", r"\[rules 2\] \"state == 'single'\" names \['state'\]; variables are"),
        ("age < 16 implies", r"\[rules 2\] 'age < 16 implies' is not an expression"),
        ("age < 16 implies ", r"\[rules 2\] 'age < 16 implies ' is not a rule; write for example"),
        ("", r"\[rules 2\] '' is not a rule"),
        ("age << < 3", "is not an expression; write for example"),
        ("age < 16 implies pay == 0 implies age > 3", "has 'implies' twice; join conditions with 'and'"),
        ("age < 5 implies pay == 0", "'age < 5' holds for no value of the codebook"),
        ("age == '5' implies pay == 0", "the values of 'age' are numbers: write one without quotes"),
        ("age" + " " * 5_000 + "> 0", r"^\[rules 2\] is longer than 5,000 characters; make several rules of it"),
        ("age + 1", "is not true or false for each record"),
    ],
)
def test_rules_that_cannot_be_read(text, message):
    with pytest.raises(OutputError, match=message) as caught:
        read_rules(CODEBOOK, ["age > 5", text])
    assert "where" not in str(caught.value)


def test_rules_that_contradict_each_other_are_named_and_no_others():
    texts = ["pay <= 1", "age < 16", "`home town` == 'a'", "age < 16 implies status == 'single'", "status == 'married'"]
    assert len(read_rules(CODEBOOK, texts[:4])) == 4
    message = (
        r"\[rules\] no combination of values keeps 2 \(age < 16\) and 4 \(age < 16 implies status == 'single'\) "
        r"and 5 \(status == 'married'\); relax one"
    )
    with pytest.raises(OutputError, match=message):
        read_rules(CODEBOOK, texts)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([(0, 1), (1, 2), (0, 3), (2, 3)]), st.integers(0, 11), st.integers(0, 11)), max_size=6
    )
)
def test_a_contradiction_is_found_exactly_where_no_record_is_left(pairs):
    """Rules 'not this value, or that one', against all possible records."""
    texts = []
    for (i, j), a, b in pairs:
        sides = []
        for k, code in ((i, a), (j, b)):
            values = CODEBOOK.variables[k].values
            sides.append(f"`{CODEBOOK.names[k]}` == {values[code % len(values)]!r}")
        texts.append(f"{sides[0]} implies {sides[1]}" if (a + b) % 2 else sides[1])
    left = np.ones(len(EVERYONE), dtype=bool)
    for number, text in enumerate(texts, start=1):
        left &= allowed(Rule(CODEBOOK, text, number))
    if left.any():
        assert len(read_rules(CODEBOOK, texts)) == len(texts)
    else:
        with pytest.raises(OutputError, match="no combination of values keeps"):
            read_rules(CODEBOOK, texts)
