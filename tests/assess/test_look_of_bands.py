"""Two bandings that differ by a value: what the one leaves of the other, as far as it follows from what is printed."""

from itertools import product

import numpy as np
import pytest
from printed_again import published

from outrisk.assess.look import Appetite, look
from outrisk.assess.look.of_bands import bands_subtracted
from outrisk.assess.look.printed import Numbers
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes
from outrisk.outputs.conditions.derived import derived_in
from outrisk.outputs.conditions.rules import read_rules
from outrisk.outputs.tables.protection import Protection

APPETITE = Appetite()
AGES = (1, 2, 3, 4, 5, 6)
BANDS = {"young": "age < 3", "youngish": "age <= 3", "third": "(age + 1) // 2", "half": "(age >= 2) & (age <= 4)"}
LEVELS = {name: ("1", "2", "3") if name == "third" else ("0", "1") for name in BANDS}
CODEBOOK = Codebook(
    (
        Variable("age", "integer", AGES),
        *(Variable(name, "categorical", levels) for name, levels in LEVELS.items()),
        Variable("sex", "categorical", ("f", "m")),
        Variable("ill", "categorical", ("no", "yes"), missing=True),
        Variable("pay", "integer", (0, 1, 3, 9)),
    )
)
RULES = [rule.mask for rule in derived_in(CODEBOOK, BANDS).values() if rule is not None]


def records(*rows):
    """Records of (age, sex, ill, pay), pay by code, each so many times."""
    of = {
        "young": lambda age: age < 3,
        "youngish": lambda age: age <= 3,
        "third": lambda age: (age + 1) // 2 - 1,
        "half": lambda age: 2 <= age <= 4,
    }
    codes = [
        (row[0] - 1, *(int(band(row[0])) for band in of.values()), *row[1:4]) for row in rows for _ in range(row[4])
    ]
    return Microdata(CODEBOOK, np.array(codes, dtype=np.uint16))


def test_rules_are_read():
    assert len(RULES) == len(BANDS)


def table(*by, **options):
    return Frequencies(CODEBOOK, " x ".join(by), by, "", **options)


MANY = [(age, sex, ill, 1, 20) for age in AGES if age != 3 for sex in range(2) for ill in range(2)]


def test_the_one_person_between_a_band_and_a_subset():
    """Illness by whether younger than 3, and of those up to 3: the one of 3 is told; by a band with a gap nobody is."""
    data = records(*MANY, (3, 0, 1, 3, 1))
    some = Frequencies(CODEBOOK, "some", ("ill",), "age <= 3")
    found = look([some, table("young", "ill")], data, APPETITE, "ill", rules=RULES)[0]
    assert (found.rule, found.certain, found.about) == ("difference of outputs", True, "ill")
    assert (found.output, found.who.tolist()) == ("some minus young x ill", [400])
    for other in ([some, table("half", "ill")], [some, table("young", "sex", protection=Protection(round_to=5))]):
        assert not [each for each in look(other, data, APPETITE, "ill", rules=RULES) if each.certain]
    assert not [each for each in look([some, table("young", "ill")], data, APPETITE, "ill") if each.certain]
    old = Frequencies(CODEBOOK, "old", ("young", "ill"), "age >= 3")  # of whom nobody is of the one band
    assert not [each for each in look([some, old], data, APPETITE, "ill", rules=RULES) if each.people == 0]
    many = records(*MANY, *[(3, sex, ill, 1, 20) for sex in range(2) for ill in range(2)])
    assert not look([some, table("young", "ill")], many, APPETITE, "ill", rules=RULES)


def test_the_one_person_between_two_bands():
    data = records(*MANY, (3, 0, 1, 3, 1))
    outputs = [table("young", "ill"), table("youngish", "ill")]
    found = look(outputs, data, APPETITE, "ill", rules=RULES)[0]
    assert (found.rule, found.certain, found.about) == ("difference of outputs", True, "ill")
    assert (found.output, found.who.tolist()) == ("young x ill minus youngish x ill", [400])
    assert not [each for each in look(outputs, data, APPETITE, "ill") if each.certain], "nobody says what young is"
    names = [*("age < 3 implies young == '1'", "age >= 3 implies young == '0'")]
    names += ["age <= 3 implies youngish == '1'", "age > 3 implies youngish == '0'"]
    stated = [rule.mask for rule in read_rules(CODEBOOK, names)]
    assert look(outputs, data, APPETITE, "ill", rules=stated)[0].who.tolist() == [400]
    sums = [Magnitudes(CODEBOOK, by, "pay", (by,), ("sum",), digits=(0,)) for by in ("young", "youngish")]
    found = look(sums, data, APPETITE, "pay", rules=RULES)[0]
    assert (found.certain, found.about, found.who.tolist()) == (True, "pay", [400])


def test_what_is_rounded_or_of_many_is_not_told():
    data = records(*MANY, (3, 0, 1, 3, 1))
    rounded = {"protection": Protection(round_to=5)}
    outputs = [table("young", "ill", **rounded), table("youngish", "ill", **rounded)]
    assert not [each for each in look(outputs, data, APPETITE, "ill", rules=RULES) if each.certain]
    many = records(*MANY, (3, 0, 1, 3, 15), (3, 0, 0, 3, 12))
    outputs = [table("young", "ill"), table("youngish", "ill")]
    assert not [each for each in look(outputs, many, APPETITE, "ill", rules=RULES) if each.rule.startswith("diff")]


def random_case(seed):
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.choice(AGES)), *(int(rng.integers(0, size)) for size in (2, 3, 4)), 1)
        for _ in range(rng.integers(4, 8))
    ]
    protections = [Protection()] * 4 + [Protection(threshold=2), Protection(round_to=3)]
    outputs = []
    for band in rng.permutation(list(BANDS))[: int(rng.integers(2, 4))]:
        more = [("ill",), ("ill",), ("sex", "ill"), ("sex",)][rng.integers(0, 4)]
        rule = protections[rng.integers(0, len(protections))]
        outputs.append(table(str(band), *more, protection=rule, margins=bool(rng.random() < 0.2)))
    return records(*rows), outputs


def test_what_is_called_certain_is_so_in_every_data_set_that_fits():
    found_in = 0
    for seed in range(150):
        data, outputs = random_case(seed)
        numbers = Numbers.of(outputs, data)
        certain = [each for each in bands_subtracted(numbers, RULES, data, APPETITE, "ill", True) if each.certain]
        found_in += bool(certain)
        if not certain or len(data) > 5 or found_in > 40:
            continue
        at, seen = CODEBOOK.index("ill"), [set() for _ in range(len(data))]
        printed = published(outputs, data)
        for values in product(range(3), repeat=len(data)):
            codes = data.codes.copy()
            codes[:, at] = values
            if all(map(np.array_equal, printed, published(outputs, Microdata(CODEBOOK, codes)))):
                for person, value in enumerate(values):
                    seen[person].add(value)
        assert all(len(seen[person]) == 1 for each in certain for person in each.who), seed
    assert found_in > 20


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_the_cross_of_both_bandings(seed):
    """Bands by limits: every part follows, so that cells of few are those of the cross table by pandas."""
    rng = np.random.default_rng(seed)
    rows = [(int(rng.choice(AGES)), *(int(rng.integers(0, size)) for size in (2, 3, 4)), 1) for _ in range(60)]
    data = records(*rows)
    outputs = [table("young", "ill"), table("youngish", "ill")]
    frame = data.frame().astype(object).fillna("Missing")
    counts = frame[(frame.young == "0") & (frame.youngish == "1")].groupby("ill").size()
    (found,) = bands_subtracted(Numbers.of(outputs, data), RULES, data, APPETITE, "ill", True)
    assert found.cells == (counts < 10).sum() and found.people == counts[counts < 10].sum()
    finer = [table("young", "ill"), table("third", "ill")]
    assert list(bands_subtracted(Numbers.of(finer, data), RULES, data, APPETITE, "ill", True)) == []
