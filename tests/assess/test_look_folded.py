"""Findings read as one: nothing certain is lost, whoever is told of most stands in full."""

import re

import numpy as np
import pytest

from outrisk.api.looking import in_groups
from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.cli.check import print_findings
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY
from outrisk.records.folded import folded
from outrisk.records.schema import NOT_BOUNDED, Finding

SIZES = {"firm": 25, "sex": 2, "old": 2, "ill": 2, "pay": 300}
WHERE = ("", "old == 0", "old == 1", "sex == 0", "sex == 1", "ill == 0")


@pytest.fixture(scope="module")
def many():
    """What a look finds in 24 outputs, many of which say the same."""
    book = Codebook(tuple(Variable(name, "integer", tuple(range(size))) for name, size in SIZES.items()))
    rng = np.random.default_rng(3)
    data = Microdata(book, np.stack([rng.integers(0, size, 300) for size in SIZES.values()], axis=1).astype(np.uint16))
    kinds = [
        {"kind": "magnitudes", "value": "pay", "by": ["firm"], "statistics": ["count", "mean"]},
        {"kind": "quantiles", "value": "pay", "by": ["firm"], "quantiles": [0, 0.5, 1]},
        {"kind": "frequencies", "by": ["firm", "ill"]},
        {"kind": "frequencies", "by": ["firm", "old"]},
    ]
    entries = [kind | ({"where": where} if where else {}) for where in WHERE for kind in kinds]
    outputs = [
        one
        for at, entry in enumerate(entries, 1)
        for one in REGISTRY[entry["kind"]](**entry, name=f"o{at}").build(book, at)
    ]
    return look(outputs, data, Appetite(), "ill")


def test_every_finding_stands_in_one_group_with_its_people(many):
    groups = folded(many)
    assert len(groups) < len(many) / 3
    assert sorted(id(each) for group in groups for each in group.findings) == sorted(map(id, many))
    assert all(each.people <= group.worst.people for group in groups for each in group.others)
    assert [group.worst.certain for group in groups] == sorted((g.worst.certain for g in groups), reverse=True)
    for group in groups:
        assert len({(each.rule, each.certain, each.about) for each in group.findings}) == 1


@pytest.fixture
def printed(monkeypatch, capsys):
    """What is printed of findings, a line each sentence."""

    def of(findings, each_one=False):
        monkeypatch.setenv("COLUMNS", "100000")
        print_findings("A sentence.", in_groups(findings, each_one))
        return [line.strip() for line in capsys.readouterr().out.splitlines()]

    return of


def test_nothing_certain_is_lost_in_print(many, printed):
    lines, certain, own = printed(many), [each for each in many if each.certain], []
    assert len(certain) > 10
    number = r"([\d,]+) (?:person|people)"
    for line in lines:
        if head := re.match(r"\d+\. (.+) \((?:[^()]+)\)(?:: " + number + ")?$", line):
            is_certain = ", certain" in line
            own += [head.groups()] if is_certain else []
        elif line.startswith("Likewise") and is_certain:
            own += re.findall(rf"“([^”]+)” \({number}\)", line)
    told = sorted((name, int(people.replace(",", ""))) for name, people in own)
    assert told == sorted((each.output, each.people) for each in certain)
    assert f"{len(many):,} findings, of {len(folded(many)):,} kinds; --all prints each one." in lines


def test_each_one_is_printed_if_asked_for(many, printed):
    text = "\n".join(printed(many, each_one=True))
    assert f"\n{len(many)}. " in text and "--all" not in text and "Likewise" not in text


def finding(output, people, what, certain=True, rule="same answer", about="age", already=0):
    return Finding(rule, certain, output, 1, people, what, about=about, already=already)


def test_the_worst_is_told_in_full_and_every_other_one_is_named():
    rows = [
        finding(name, n, f"age of {n} is told for certain: {n} cells.")
        for name, n in (("a", 2), ("b", 1_900), ("c", 1))
    ]
    (group,) = folded(rows)
    assert group.worst.output == "b" and group.named == "“a” (2 people), “c” (1 person)"


def test_other_things_that_are_certain_stay_apart():
    rows = [
        finding("a", 2, "age of 2 people is told for certain: 2 cells."),
        finding("b", 2, "age of 2 people is told for certain to who has another: 1 cell."),
        finding("c", 1, "age of 1 person can be worked out to within 10 %: 1 cell."),
        finding("d", 2, "pay of 2 people is told for certain: 2 cells.", about="pay"),
        finding("e", 2, "age of 2 people is told for certain: 2 cells.", already=2),
        finding("f", 2, "age of 2 people is told for certain: 2 cells.", certain=False),
    ]
    assert len(folded(rows)) == len(rows)


def test_what_was_not_bounded_is_one_and_faults_of_the_study_are_each_their_own():
    rows = [finding(name, 0, f"Too many sets of {name}.", False, NOT_BOUNDED, "") for name in "abc"]
    rows += [finding(name, 0, f"differs in {name}.", False, "differs from the data", "") for name in "ab"]
    assert [len(group.findings) for group in folded(rows)] == [3, 1, 1]
