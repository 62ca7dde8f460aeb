"""A printed test of pairs in the order of a study: which of two variables is less the other."""

from __future__ import annotations

import re
from dataclasses import replace

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.smooth.compared import OF_CHANGES, OF_CORRELATIONS, Test
from outrisk.outputs.smooth.hypothesis_test import HypothesisTestEntry
from outrisk.readers.found_tests import SIGNED, FoundTest
from outrisk.readers.term_names import is_short_for


def in_order_of_pair(
    found: FoundTest, test: Test, entry: HypothesisTestEntry, codebook: Codebook, place: str
) -> tuple[FoundTest, list[str]]:
    """The test of the variable less what it is paired with, and notes on names that the entry does not have; what is
    not certain of it is doubtful. OutputError where the text is of other variables.
    """
    own, said = (entry.variable, entry.paired), " paired with ".join(found.pair)[:200]
    pair = [next((name for name in own if is_short_for(text, name)), text) for text in found.pair]
    if any(name in codebook and name not in own for name in pair):
        raise OutputError(f"{place}: it is a test of {said}, and the output is one of {entry.compared}; correct one")
    expression = next((name for name in pair if name not in own and re.search(r"[^\w.~ ]", name)), None)
    if expression is not None and test not in OF_CHANGES:
        raise OutputError(f"{place}: it is a test of {expression[:80]}, which is no variable; derive one")
    notes = []
    if any(name not in own for name in pair):
        notes.append(f"it is called a test of {said}; it is taken for one of {entry.compared}")
    signed = [name for name in SIGNED if name in found.numbers]
    _few_enough(found, test, entry, codebook, place)
    if test in (*OF_CHANGES, *OF_CORRELATIONS) or not signed:
        return found, notes
    first, second = (*pair, "", "")[:2]
    if first == entry.variable or second == entry.paired:
        return found, notes
    doubtful, numbers = dict(found.doubtful), dict(found.numbers)
    if first == entry.paired or second == entry.variable:
        of_ranks = test == "signed-rank" and "statistic" in numbers
        if of_ranks:
            doubtful["statistic"] = "its V is of the differences the other way round; exchange 'variable' and 'paired'"
        numbers |= {name: numbers[name].negative for name in signed if name != "statistic" or not of_ranks}
    else:
        why = "it does not say which of its two variables is less the other"
        doubtful = {**dict.fromkeys(signed, why), **doubtful}
    return replace(found, numbers=numbers, doubtful=doubtful), notes


def _few_enough(found: FoundTest, test: Test, entry: HypothesisTestEntry, codebook: Codebook, place: str) -> None:
    """OutputError where a test of symmetry is of more levels than the variables have."""
    df = found.numbers.get("df")
    if test == "mcnemar" and df is not None and entry.variable in codebook:
        levels = len(codebook[entry.variable].values)
        if df.low > levels * (levels - 1) / 2:
            raise OutputError(
                f"{place}: McNemar's test with df = {df.low:g} is of more levels than the {levels} of "
                f"'{entry.variable}'; correct the codebook, or the test"
            )
