"""A test of a hypothesis as a program prints it, as an entry of a study: which test, which numbers, which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.smooth.by_scipy import OF_TWO
from outrisk.outputs.smooth.compared import CORRECTED, OF_MEANS, OF_PAIRS, OF_SCORES, OF_TABLES, Test
from outrisk.outputs.smooth.hypothesis_test import OF_TEST, HypothesisTestEntry, Statistic
from outrisk.readers.found_tests import SIGNED, FoundTest, Number
from outrisk.readers.means_of_groups import means_of_groups, means_of_pair, only
from outrisk.readers.order_of_pairs import in_order_of_pair
from outrisk.readers.remarks import remark
from outrisk.readers.sas_whom import hold_whom, same_group
from outrisk.readers.source import Source
from outrisk.readers.stata_data import hold_above
from outrisk.readers.term_names import levels_of
from outrisk.readers.tests_of_broom import tests_of_broom
from outrisk.readers.tests_of_r import MEANS, tests_of_r
from outrisk.readers.tests_of_sas import tests_of_sas
from outrisk.readers.tests_of_scipy import tests_of_scipy
from outrisk.readers.tests_of_spss import tests_of_spss
from outrisk.readers.tests_of_stata import tests_of_stata

_READERS: tuple[Callable[[Source], list[FoundTest]], ...] = (
    tests_of_r,
    tests_of_stata,
    tests_of_spss,
    tests_of_scipy,
    tests_of_broom,
    tests_of_sas,
)
_LONGEST = 1_000_000  # characters
_KNOWN = (
    "R's t.test, wilcox.test, chisq.test, fisher.test, kruskal.test, oneway.test, prop.test, prop.trend.test, "
    "cor.test, mcnemar.test and summary(aov), Stata's ttest, ranksum, signrank, kwallis, oneway, tabulate, tabodds, "
    "spearman, ktau, kap and mcc, SPSS's T-TEST, ONEWAY, CROSSTABS, CORRELATIONS and NPAR TESTS as CSV, "
    "listings of SAS's FREQ, TTEST and NPAR1WAY, scipy's tests"
)


def entries_of_test(
    source: Source, entry: HypothesisTestEntry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the numbers of a printed test, then tables of the means that it prints; OutputError where the
    text has none of the entry, or several.

    `number`: which of several tests, from 1. How they were read is remarked.
    """
    if len(source.text) > _LONGEST:
        raise OutputError(
            f"{place}: {len(source.text):,} characters are more than tests are printed in; give these alone"
        )
    said = [each.label for each in codebook.variables]
    names = {
        each.label: each.name
        for each in codebook.variables
        if each.label and each.label not in codebook and said.count(each.label) == 1
    }
    tests = [_by_name(each, names) for read in _READERS for each in read(source)]
    if entry.where and number is None:
        tests = [each for each in tests if same_group(each.layer, entry.where, codebook) is not False] or tests
    found = _one_of(tests, entry, number, place)
    if same_group(found.layer, entry.where, codebook) is False:
        raise OutputError(f"{place}: the test is of {found.whom}, the output's where is {entry.where}; correct one")
    if found.whom:
        hold_whom(found.whom, entry.where, place)
    if found.at is not None:
        hold_above(source.lines, found.at, entry.where, place)
    test = _test(found, entry, place)
    entry = _with_scores(_with_weights(found, entry, place), found, test, codebook, place)
    continuity = _continuity(found, test, entry, place)
    if "continuity" not in entry.model_fields_set:
        found = replace(found, doubtful={**found.unsaid, **found.doubtful})
    if test in OF_PAIRS:
        found, called = in_order_of_pair(found, test, entry, codebook, place)
        notes = list[str]()
    else:
        called = _same_variables(found, test, entry, codebook, place)
        _no_slope(found, entry, codebook, place)
        _all_groups(found, test, entry, codebook, place)
        found, notes = _in_codebook_order(found, test, entry, codebook)
    numbers = {name: each for name, each in found.numbers.items() if name in OF_TEST[test]}
    statistics = _statistics(numbers, found, test, entry, place)
    _check(numbers, found, test, continuity, entry, codebook, place)
    means_of = means_of_pair if test in OF_PAIRS else means_of_groups
    tables = means_of(found.described, entry, codebook)
    if found.described and not tables:
        notes = [*notes, MEANS]
    of_test = [found.note_of[test]] if test in found.note_of else []
    for note in (*called, *found.notes, *of_test, *notes):
        remark(place, note)
    made = _made(entry, test, continuity, statistics, numbers)
    (output,) = made.build(codebook, 1)
    decimals = dict(zip(output.statistics, output.decimals.tolist(), strict=True))
    labels = dict(zip(output.statistics, output.labels, strict=True))
    values = {labels[name]: numbers[name].given(decimals[name]) for name in output.statistics}
    return [made.model_copy(update={"values": values}), *tables]


def _by_name(found: FoundTest, names: Mapping[str, str]) -> FoundTest:
    """The test with names of variables in place of the labels that a program prints."""
    pair = tuple(names.get(each, each) for each in found.pair)
    variable, by = (names.get(each, each) for each in (found.variable, found.by))
    described = {names.get(each, each): texts for each, texts in found.described.items()} if pair else found.described
    return replace(found, variable=variable, by=by, pair=pair, described=described)


def _one_of(found: Sequence[FoundTest], entry: HypothesisTestEntry, number: int | None, place: str) -> FoundTest:
    """The test that is meant."""
    if not found:
        raise OutputError(
            f"{place}: no test is known in it; known are what {_KNOWN} print, "
            "and a CSV with the columns label and value"
        )
    if number is not None:
        if not 1 <= number <= len(found):
            raise OutputError(f"{place}: it has {len(found)} tests, and no test {number}")
        found = [found[number - 1]]
    fitting = [each for each in found if entry.test in each.may_be or (entry.test is None and not each.aside)]
    fitting = [each for each in fitting if _is_of(each, entry)] or fitting
    fitting = [each for each in fitting if _has_weights(each, entry)] or fitting
    if "continuity" in entry.model_fields_set:
        fitting = [each for each in fitting if each.continuity == entry.continuity] or fitting
    if len(found) > 1 and len(fitting) != 1:
        called = [" or ".join(each.may_be) or "not read" for each in found]
        listed = ", ".join(f"{at}: {name}" for at, name in enumerate(called, start=1))
        raise OutputError(
            f"{place}: it has {len(found)} tests ({listed}); give one alone, or say which as 'FILE#2' for the second"
        )
    chosen = fitting[0] if fitting else found[0]
    if chosen.refused:
        raise OutputError(f"{place}: {chosen.refused}")
    suited = tuple(each for each in chosen.may_be if (each in OF_PAIRS) == bool(entry.paired))
    if not suited:
        of, way = "of pairs", "'paired', the other variable of the same records, in place of 'by'"
        if entry.paired:
            of, way = "between groups", "'by' in place of 'paired'"
        raise OutputError(f"{place}: it is a test {of}; give {way}")
    return replace(chosen, may_be=suited)


def _is_of(found: FoundTest, entry: HypothesisTestEntry) -> bool:
    """Whether a test says that it is of the variables of the entry, as far as it names them."""
    if entry.paired or found.pair:
        return set(found.pair) == {entry.variable, entry.paired}
    said = {found.variable, found.by} - {""}
    return entry.variable in said and said <= {entry.variable, *entry.by}


def _has_weights(found: FoundTest, entry: HypothesisTestEntry) -> bool:
    """Whether a kappa has the weights of the entry, or it does not say which and the entry has some."""
    return found.weights == entry.weights or (found.weights is None and entry.weights != "none")


def _test(found: FoundTest, entry: HypothesisTestEntry, place: str) -> Test:
    """Which test it is, by the text or else by the entry."""
    if entry.test is not None:
        if entry.test not in found.may_be:
            raise OutputError(
                f"{place}: 'test' is '{entry.test}' in the study and '{' or '.join(found.may_be)}' in the text; "
                "correct one of them"
            )
        return entry.test
    if found.also:
        raise OutputError(f"{place}: it may be of {found.also}; say 'test' in the output, if it is one")
    if len(found.may_be) > 1:
        raise OutputError(f"{place}: it does not say which of {list(found.may_be)} it is; say 'test' in the output")
    return found.may_be[0]


def _continuity(found: FoundTest, test: Test, entry: HypothesisTestEntry, place: str) -> bool:
    """Whether it is corrected for continuity, by the text or else by the entry."""
    said = "continuity" in entry.model_fields_set
    if found.continuity is None or test not in CORRECTED:
        return entry.continuity
    if said and entry.continuity != found.continuity:
        words = [str(each).lower() for each in (entry.continuity, found.continuity)]
        raise OutputError(f"{place}: 'continuity' is {words[0]} in the study and {words[1]} in the text; correct one")
    return found.continuity


def _with_weights(found: FoundTest, entry: HypothesisTestEntry, place: str) -> HypothesisTestEntry:
    """The entry with the weights of kappa that the text says; OutputError where the entry has others."""
    if found.weights is None and found.may_be == ("kappa",) and entry.weights == "none":
        raise OutputError(f"{place}: it does not say the weights of its kappa; say 'weights: linear', or quadratic")
    if found.weights is None or found.weights == entry.weights:
        return entry
    if "weights" in entry.model_fields_set:
        raise OutputError(
            f"{place}: 'weights' are '{entry.weights}' in the study and '{found.weights}' in the text; correct one"
        )
    return entry.model_copy(update={"weights": found.weights})


def _with_scores(
    entry: HypothesisTestEntry, found: FoundTest, test: Test, codebook: Codebook, place: str
) -> HypothesisTestEntry:
    """The entry with the scores that the text says, of groups in the order of the codebook."""
    if not found.scores or test not in OF_SCORES or len(entry.by) != 1 or entry.by[0] not in codebook:
        return entry
    by, scores = entry.by[0], list(found.scores)
    if by in entry.scores and list(entry.scores[by]) != scores:
        raise OutputError(
            f"{place}: scores of '{by}' are {entry.scores[by]} in the study and {scores} in the text; correct one"
        )
    number = len(codebook[by].values)
    if len(scores) != number:
        raise OutputError(
            f"{place}: it has {len(scores)} groups, with the scores {scores}, and '{by}' has {number} values; leave "
            "the others out of the codebook, or give the test by label"
        )
    return entry.model_copy(update={"scores": {**entry.scores, by: scores}})


def _same_variables(
    found: FoundTest, test: Test, entry: HypothesisTestEntry, codebook: Codebook, place: str
) -> list[str]:
    """OutputError where the text is of other variables than the entry; a note on names that the entry does not have."""
    of_text = " by ".join(name for name in (found.variable, found.by) if name)
    own, said = f"{entry.variable} by {', '.join(entry.by)}", (found.variable, found.by)
    if any(name in codebook and name not in (entry.variable, *entry.by) for name in said):
        raise OutputError(f"{place}: it is a test of {of_text}, and the output is one of {own}; correct one of them")
    if test not in (*OF_TABLES, *OF_SCORES) and (found.variable in entry.by or found.by == entry.variable):
        raise OutputError(f"{place}: it is a test of {of_text}; exchange 'variable' and 'by' of the output")
    if test in OF_MEANS and "(" in found.variable:
        raise OutputError(f"{place}: it is a test of {found.variable[:80]}, which is no variable; derive one")
    unknown = [name for name in said if name and name not in (entry.variable, *entry.by)]
    return [f"it is called a test of {of_text[:200]}; it is taken for one of {own}"] if unknown else []


def _no_slope(found: FoundTest, entry: HypothesisTestEntry, codebook: Codebook, place: str) -> None:
    """OutputError where an analysis of variance may be that of a slope on the numbers that groups are called by."""
    levels = [label for name in entry.by if name in codebook for label in codebook[name].labels]
    df = found.numbers.get("df")
    if (
        found.slope
        and len(levels) > 2
        and all(_is_number(label) for label in levels)
        and df is not None
        and df.low == 1
    ):
        raise OutputError(
            f"{place}: its df is 1, as that of a slope on the numbers of {', '.join(entry.by)}; print the analysis of "
            f"factor({entry.by[0]})"
        )


def _all_groups(found: FoundTest, test: Test, entry: HypothesisTestEntry, codebook: Codebook, place: str) -> None:
    """OutputError where two groups are compared of a variable that has more, and the study does not say so."""
    if test not in OF_TWO or len(found.groups) != 2 or len(entry.by) != 1 or entry.where or entry.by[0] not in codebook:
        return
    variable = codebook[entry.by[0]]
    levels = [levels_of(variable, text) for text in found.groups]
    if len(variable.values) > 2 and all(len(each) == 1 for each in levels):
        raise OutputError(
            f"{place}: it compares {' and '.join(found.groups)} of '{variable.name}', which has other levels; say so "
            f"with 'where: \"{only(variable, [each[0] for each in levels])}\"'"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _in_codebook_order(
    found: FoundTest, test: Test, entry: HypothesisTestEntry, codebook: Codebook
) -> tuple[FoundTest, list[str]]:
    """The test of the first group in codebook order against the second; what is not certain of it is doubtful."""
    signed = [name for name in SIGNED if name in found.numbers]
    if test not in OF_TWO or not signed:
        return found, []
    if len(entry.by) != 1 or entry.by[0] not in codebook:
        return _unordered(found, signed, "groups by several variables are not told apart in it"), []
    labels = codebook[entry.by[0]].labels
    if not found.groups:
        return _by_first_level(found, signed, labels, entry.by[0])
    levels = [levels_of(codebook[entry.by[0]], text) for text in found.groups]
    for text, each in zip(found.groups, levels, strict=True):
        if len(each) != 1:
            why = f"its group {text!r} is no level of '{entry.by[0]}', which are {', '.join(labels[:20])}"
            return _unordered(found, signed, why), []
    first, second = (labels.index(each[0]) for each in levels)
    return (found if first < second else _turned(found)), []


def _by_first_level(
    found: FoundTest, signed: Sequence[Statistic], labels: Sequence[str], by: str
) -> tuple[FoundTest, list[str]]:
    """Of groups without names: R begins with the first level, which is the codebook's where levels are in order."""
    why = "it does not say which group comes first"
    if found.order == "unknown" or found.by != by:
        return _unordered(found, signed, why), []
    if not _sorted(labels):
        return _unordered(found, signed, f"{why} (R's first level, which need not be the codebook's)"), []
    return found, ["it does not name its groups; they are taken in the order of the codebook, in which R puts levels"]


def _sorted(labels: Sequence[str]) -> bool:
    """Whether levels stand as R puts them, as numbers or in whatever alphabet."""
    if all(map(_is_number, labels)):
        return sorted(labels, key=float) == list(labels)
    return sorted(labels) == list(labels) == sorted(labels, key=str.casefold)


def _unordered(found: FoundTest, signed: Sequence[Statistic], why: str) -> FoundTest:
    return replace(found, doubtful={**found.doubtful, **{name: why for name in signed if name not in found.doubtful}})


def _turned(found: FoundTest) -> FoundTest:
    """The test with its groups the other way round."""
    numbers = dict(found.numbers)
    doubtful = dict(found.doubtful)
    for name in (each for each in SIGNED if each in numbers):
        if name != "statistic" or "rank-sum" not in found.may_be:
            numbers[name] = numbers[name].negative
        elif len(found.sizes) == 2:
            pairs, u = float(found.sizes[0] * found.sizes[1]), numbers[name]
            numbers[name] = Number(pairs - u.high, pairs - u.low, u.decimals)
        else:
            doubtful[name] = "its U is of the codebook's second group, and of the first only with the records of both"
    return replace(found, numbers=numbers, groups=found.groups[::-1], sizes=found.sizes[::-1], doubtful=doubtful)


def _statistics(
    numbers: dict[Statistic, Number], found: FoundTest, test: Test, entry: HypothesisTestEntry, place: str
) -> list[Statistic]:
    """Those of the entry, or else all that the text has; OutputError for one that is absent or not certain."""
    there = [name for name in OF_TEST[test] if name in numbers]
    wanted = list(entry.statistics) if "statistics" in entry.model_fields_set else there
    absent = next((name for name in wanted if name not in there), None)
    if absent is not None:
        raise OutputError(f"{place}: it has no {absent}; it has {', '.join(there) or 'no number of a test'}")
    doubtful = next((name for name in wanted if name in found.doubtful), None)
    if doubtful is not None:
        certain = ", ".join(name for name in there if name not in found.doubtful)
        without = f"leave it out with 'statistics: [{certain}]', or give" if certain else "give"
        raise OutputError(f"{place}: {doubtful}: {found.doubtful[doubtful]}; {without} the test by label")
    return wanted


def _check(
    numbers: dict[Statistic, Number],
    found: FoundTest,
    test: Test,
    continuity: bool,
    entry: HypothesisTestEntry,
    codebook: Codebook,
    place: str,
) -> None:
    """OutputError where numbers contradict each other: all that are printed, also those that the study leaves out."""
    signed = () if test == "signed-rank" else SIGNED  # of which V is another in the other order
    names = [name for name in OF_TEST[test] if name in numbers and (name in signed or name not in found.doubtful)]
    if not names:
        return
    own = _made(entry.model_copy(update={"decimals": {}}), test, continuity, names, numbers)
    (output,) = own.build(codebook, 1)
    low, high = (np.array([getattr(numbers[name], end) for name in output.statistics]) for end in ("low", "high"))
    try:
        output.check(low, high)
    except OutputError as error:
        raise OutputError(f"{place}: {error}") from None


def _made(
    entry: HypothesisTestEntry,
    test: Test,
    continuity: bool,
    statistics: Sequence[Statistic],
    numbers: dict[Statistic, Number],
) -> HypothesisTestEntry:
    """The entry of these statistics, with the digits they show unless it says its own."""
    shown: dict[str, int] = {str(name): max(0, numbers[name].decimals) for name in statistics}
    said: Any = entry.decimals
    if "decimals" not in entry.model_fields_set or isinstance(said, dict):
        said = shown | {name: each for name, each in (said if isinstance(said, dict) else {}).items() if name in shown}
    changes = {"test": test, "continuity": continuity, "statistics": statistics, "decimals": said, "values": "text"}
    return type(entry).model_validate({**entry.model_dump(), **changes})
