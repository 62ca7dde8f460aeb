"""Tables of a subset tell its condition of whole groups; a claim called certain holds in every data set that fits."""

from itertools import product

import numpy as np
import pytest
from printed_again import published

from outrisk.assess.look import Appetite, in_a_sentence, look
from outrisk.assess.look.differences import subtracted
from outrisk.assess.look.of_conditions import conditions_told
from outrisk.assess.look.printed import Numbers
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, Frequencies, Magnitudes, Quantiles, release
from outrisk.outputs.tables.protection import Protection

APPETITE = Appetite()
CODEBOOK = Codebook(
    (
        Variable("eth", "categorical", ("a", "b")),
        Variable("old", "categorical", ("no", "yes")),
        Variable("ill", "categorical", ("no", "mild", "yes")),
        Variable("sick", "categorical", ("no", "yes"), missing=True),
        Variable("pay", "integer", (0, 1, 2)),
    )
)


def records(*rows):
    """Records of (eth, old, ill, sick, pay) by code, each so many times."""
    return Microdata(CODEBOOK, np.array([row[:5] for row in rows for _ in range(row[5])], dtype=np.uint16))


def table(by, where="", **options):
    return Frequencies(CODEBOOK, f"{' x '.join(by)} where {where}", by, where, **options)


def told(outputs, data, target):
    return list(conditions_told(Numbers.of(outputs, data), data, APPETITE, target))


def test_all_of_a_group_are_among_the_cases():
    data = records((0, 0, 0, 0, 0, 30), (0, 0, 2, 0, 0, 20), (1, 0, 2, 0, 0, 40))
    outputs = [table(("eth",), "ill == 'yes'"), table(("eth",))]
    found = look(outputs, data, APPETITE, "ill")
    assert [(each.rule, each.certain, each.people, each.about) for each in found[:1]] == [
        ("same answer", True, 40, "ill")
    ]
    assert found[0].output == "eth where ill == 'yes' with eth where "
    assert found[0].places == "eth=b: all ill=yes"
    assert found[0].who.tolist() == list(range(50, 90))
    assert "ill of 40 people is told for certain to anybody who knows eth" in in_a_sentence(found, 2)


@pytest.mark.parametrize(
    "output",
    [
        table(("eth", "old"), "sick == 'yes'", show="row_percentages"),
        Quantiles(CODEBOOK, "quartiles", "pay", ("eth",), (0.25, 0.75), "sick == 'yes'"),
    ],
    ids=["row percentages", "quantiles"],
)
def test_what_is_undefined_of_a_group_is_of_nobody(output):
    """A row of no percentages, or a group without a median, has nobody in the subset."""
    data = records((0, 0, 1, 1, 0, 30), (0, 1, 2, 1, 2, 20), (1, 0, 0, 0, 0, 25), (1, 1, 1, 0, 1, 15))
    (found,) = [each for each in look([output], data, APPETITE, "sick") if each.certain and each.about == "sick"]
    assert found.people == 40 and found.places.startswith("eth=b") and "sick=yes" not in found.places
    changed = data.codes.copy()
    changed[-1, 3] = 1  # then something is printed of them
    before, after = (release(output, Microdata(CODEBOOK, codes)) for codes in (data.codes, changed))
    assert (before.low != after.low).any()


def test_nobody_of_a_group_is_among_the_cases():
    """With two levels no table of everybody is needed; with three, a value is excluded."""
    data = records((0, 0, 1, 1, 0, 30), (0, 0, 2, 1, 0, 20), (1, 0, 0, 0, 0, 25), (1, 0, 1, 0, 0, 15))
    found = look([table(("eth",), "sick == 'yes'")], data, APPETITE, "sick")
    assert (found[0].about, found[0].people, found[0].places) == ("sick", 40, "eth=b: all sick=no")
    found = look([table(("eth",), "ill == 'yes'")], data, APPETITE, "ill")
    assert [(each.rule, each.certain, each.people) for each in found if each.about != "eth"] == [
        ("values excluded", False, 40)
    ]


def test_a_finer_table_of_complete_cases_hides_nothing_that_a_coarser_one_of_the_subset_tells():
    data = records((0, 0, 2, 0, 0, 7), (1, 0, 2, 1, 0, 6), (0, 1, 0, 0, 0, 9), (1, 0, 0, 1, 0, 8))
    old = table(("ill", "old"), "old == 'yes'", protection=Protection(threshold=10))
    (of_sick,) = REGISTRY["proportions"](kind="proportions", event="sick", by=["ill"], statistics=["n"]).build(
        CODEBOOK, 1
    )
    for outputs in ([old], [old, of_sick]):
        (found,) = told(outputs, data, "old")
        assert (found.about, found.people, found.places) == ("old", 13, "ill=yes: all old=no")


def test_the_rest_of_the_condition_is_what_the_reader_knows():
    data = records((0, 1, 2, 0, 0, 30), (0, 1, 0, 0, 0, 10), (1, 1, 0, 0, 0, 25), (1, 0, 2, 0, 0, 15))
    found = told([table(("eth",), "old == 'yes' and ill in ['mild', 'yes']")], data, "ill")
    (of_ill,) = [each for each in found if each.about == "ill"]
    assert of_ill.people == 25, "nobody of b is old and ill: the old are not"
    assert "to anybody who knows eth and old" in of_ill.what
    (of_old,) = [each for each in found if each.about == "old"]
    assert of_old.people == 15, "and those of b who are ill are not old"


def test_nothing_is_told_where_some_are_and_some_are_not_or_nothing_is_printed():
    data = records((0, 0, 0, 0, 0, 30), (0, 0, 2, 0, 0, 20), (1, 0, 0, 0, 0, 1), (1, 0, 2, 0, 0, 40))
    assert told([table(("eth",), "ill == 'yes'"), table(("eth",))], data, "ill") == []
    rounded = {"protection": Protection(round_to=5)}
    assert told([table(("eth",), "ill == 'yes'", **rounded), table(("eth",), **rounded)], data, "ill") == []
    shares = {"show": "proportions", "digits": 1}
    assert told([table(("eth",), "ill == 'yes'", **shares), table(("eth",), **shares)], data, "ill") == []


def test_what_the_table_of_everybody_says_itself_is_not_said_again():
    data = records((0, 0, 0, 0, 0, 30), (0, 0, 2, 0, 0, 20), (1, 0, 2, 0, 0, 40))
    found = look([table(("eth", "ill")), table(("eth",), "ill == 'yes'")], data, APPETITE, "ill")
    assert [each.people for each in found if each.about == "ill" and each.certain] == [40]


WHERES = ("ill == 'yes'", "sick == 'yes'", "old == 'yes' and ill != 'no'", "old == 'yes'", "sick != 'no'")
PROTECTIONS = (Protection(), Protection(), Protection(threshold=2), Protection(round_to=3), Protection(top_code=2))


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 5 + seed % 2))
    sizes = CODEBOOK.sizes
    data = Microdata(CODEBOOK, np.stack([rng.integers(0, size, n) for size in sizes], axis=1).astype(np.uint16))
    outputs = []
    for k in range(int(rng.integers(1, 4))):
        where = "" if k == 0 and rng.random() < 0.6 else str(rng.choice(WHERES))
        by = [(), ("eth",), ("eth",), ("old",), ("eth", "old"), ("eth", "sick")][rng.integers(0, 6)]
        protection = PROTECTIONS[rng.integers(0, len(PROTECTIONS))]
        name = f"{k}"
        if not by or rng.random() < 0.3:
            by = tuple(each for each in by if each != "sick")
            statistics = [("count",), ("count", "mean"), ("mean",)][rng.integers(0, 3)]
            protection = protection if protection.threshold else Protection()
            outputs.append(Magnitudes(CODEBOOK, name, "pay", by, statistics, where, protection=protection))
        else:
            show, digits = ("counts", None) if rng.random() < 0.7 else ("proportions", int(rng.integers(1, 3)))
            protection = protection if show == "counts" or protection.threshold else Protection()
            margins = bool(rng.random() < 0.3)
            outputs.append(Frequencies(CODEBOOK, name, by, where, show, margins, "", digits, protection))
    return data, outputs


def answers(data, outputs, name):
    """The known values that each person has in any data set with the same keys that prints the same numbers."""
    at, seen = CODEBOOK.index(name), [set() for _ in range(len(data))]
    printed = published(outputs, data)
    for values in product(range(CODEBOOK.sizes[at]), repeat=len(data)):
        codes = data.codes.copy()
        codes[:, at] = values
        if all(map(np.array_equal, printed, published(outputs, Microdata(CODEBOOK, codes)))):
            for person, value in enumerate(values):
                seen[person].add(value)
    known = range(len(CODEBOOK[name].values))
    return [each & set(known) for each in seen]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_called_certain_is_so_in_every_data_set_that_fits(seed):
    data, outputs = random_case(seed)
    for found in told(outputs, data, "ill"):
        if found.certain:
            possible = answers(data, outputs, found.about)
            assert all(len(possible[person]) == 1 for person in found.who), (found.what, found.places)


def test_random_cases_hold_such_claims():
    cases = map(random_case, range(60))
    counted = [sum(each.certain for each in told(outputs, data, "ill")) for data, outputs in cases]
    assert sum(number > 0 for number in counted) > 20


def test_groups_are_those_of_pandas():
    """Exact counts of a subset beside everybody's: by pandas, the groups of which all have the condition, or none."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 25))
        codes = [rng.integers(0, size, n) for size in CODEBOOK.sizes]
        data = Microdata(CODEBOOK, np.stack(codes, axis=1).astype(np.uint16))
        by = [("eth",), ("eth", "old"), ("eth", "old", "pay")][seed % 3]
        frame = data.frame()
        sick = frame.sick.astype(object) == "yes"
        share = sick.groupby([frame[name].astype(object) for name in by]).transform("mean")
        expected = set(np.flatnonzero(((share == 1) | (share == 0)) & frame.sick.notna()))
        if sick.any():
            found = told([table(by, "sick == 'yes'"), table(by)], data, "sick")
            assert {int(person) for each in found if each.about == "sick" for person in each.who} == expected


def differing(seed):
    """Two or three tables with the illness, on everybody and on some, that are often rounded or coarse."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    data = Microdata(
        CODEBOOK, np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)
    )
    weighted = rng.random() < 0.15
    outputs = []
    for k, where in enumerate(["", str(rng.choice(["pay < 2", "old == 'no'"])), "pay == 0"][: int(rng.integers(2, 4))]):
        by = [("ill",), ("eth", "ill"), ("ill", "old")][rng.integers(0, 3)]
        protection = PROTECTIONS[rng.integers(0, len(PROTECTIONS))]
        show, digits = ("counts", None) if rng.random() < 0.6 or weighted else ("proportions", int(rng.integers(1, 4)))
        protection = protection if show == "counts" and not weighted else Protection()
        outputs.append(
            Frequencies(CODEBOOK, str(k), by, where, show, False, "pay" if weighted else "", digits, protection)
        )
    return data, outputs


def test_differences_called_certain_are_so_in_every_data_set_that_fits():
    found_in = 0
    for seed in range(250):
        data, outputs = differing(seed)
        certain = [each for each in subtracted(outputs, data, APPETITE, "ill", False) if each.certain]
        if certain and len(data) < 5:
            possible = answers(data, outputs, "ill")
            assert all(len(possible[person]) == 1 for each in certain for person in each.who), seed
        found_in += bool(certain)
    assert found_in > 40


def test_differences_of_what_is_rounded_or_coarse_are_not_certain():
    """One more, who is ill, makes no difference to what is printed; where it does, it is told."""
    data = records((0, 0, 0, 0, 0, 95), (0, 0, 2, 0, 0, 44), (0, 0, 2, 0, 2, 1))

    def certain(**options):
        outputs = [table(("ill",), where, **options) for where in ("", "pay < 2")]
        found = look(outputs, data, APPETITE, "ill")
        return [each.people for each in found if each.certain and each.rule == "difference of outputs"]

    assert certain() == [1]
    assert certain(protection=Protection(round_to=5)) == []
    assert certain(show="proportions", digits=1) == []
    assert certain(show="proportions", digits=4) == [], "how many there are is not printed"
    counted = [Magnitudes(CODEBOOK, f"n {where}", "pay", (), ("count",), where) for where in ("", "pay < 2")]
    shares = [table(("ill",), where, show="proportions", digits=4) for where in ("", "pay < 2")]
    found = look([*shares, *counted], data, APPETITE, "ill")
    assert [each.people for each in found if each.certain and each.about == "ill"] == [1]
