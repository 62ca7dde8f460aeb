"""The direct look: what released outputs say outright about people, and which rules they break. No evolution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.as_printed import equal_values, extremes
from outrisk.assess.look.as_subsets import as_subsets, sums_as_subsets
from outrisk.assess.look.beside_curves import beside_curves
from outrisk.assess.look.by_statistics import given_back
from outrisk.assess.look.contributions import dominance, few_records
from outrisk.assess.look.differences import subtracted
from outrisk.assess.look.finding import NOBODY, NOT_SEEN, Found, Rows, in_a_sentence
from outrisk.assess.look.fits import curves, degrees_of_freedom, few_behind, few_compared
from outrisk.assess.look.fitting import beside_statistics
from outrisk.assess.look.not_printed import not_printed
from outrisk.assess.look.of_association import of_association
from outrisk.assess.look.of_bands import bands_subtracted
from outrisk.assess.look.of_conditions import conditions_told
from outrisk.assess.look.of_correlations import as_means, of_correlations
from outrisk.assess.look.of_dominance import instead, sums_dominated
from outrisk.assess.look.of_few_left import few_left
from outrisk.assess.look.of_few_values import few_values_told
from outrisk.assess.look.of_fixed_effects import of_fixed_effects, without_singletons
from outrisk.assess.look.of_instruments import of_instruments
from outrisk.assess.look.of_margins import of_margins, printed_alike
from outrisk.assess.look.of_mixed import of_mixed
from outrisk.assess.look.of_proportions import of_proportions
from outrisk.assess.look.of_quantile_regressions import of_quantile_regressions
from outrisk.assess.look.of_rates import of_rates
from outrisk.assess.look.of_shape import shapes_told
from outrisk.assess.look.of_standardised import of_standardised
from outrisk.assess.look.of_sums import parts_subtracted, sums_subtracted
from outrisk.assess.look.of_surveys import as_tables, of_surveys
from outrisk.assess.look.of_tables_together import tables_told
from outrisk.assess.look.of_tests import beside_means, few_in_a_group
from outrisk.assess.look.once import forget
from outrisk.assess.look.planes_subtracted import planes_subtracted
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.same_answer import empty_cells, known_answer, same_answer
from outrisk.assess.look.small_cells import small_cells
from outrisk.assess.look.surveys_subtracted import surveys_subtracted
from outrisk.assess.look.told_by_models import told_by_models
from outrisk.assess.look.withheld import counts_withheld, sums_withheld
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.problem.blocks import Mask

__all__ = ["Appetite", "Found", "in_a_sentence", "look"]

Rule = Callable[[Output, Microdata, Appetite, str], Iterator[Found]]
RULES: tuple[Rule, ...] = (
    same_answer,
    known_answer,
    equal_values,
    extremes,
    small_cells,
    few_records,
    of_rates,
    of_standardised,
    of_proportions,
    of_association,
    told_by_models,
    of_correlations,
    few_behind,
    degrees_of_freedom,
    few_compared,
    of_margins,
    of_fixed_effects,
    of_surveys,
    of_mixed,
    of_instruments,
    of_quantile_regressions,
    few_in_a_group,
    curves,
    empty_cells,
)
_SEEN = frozenset(  # kinds whose numbers the rules know how to read
    {"frequencies", "magnitudes", "rates", "quantiles", "mode", "histogram", "correlations", "survival", "test"}
    | {"standardised", "proportions", "association", "shape"}
    | {"logit", "probit", "poisson", "ols", "mnlogit", "ologit", "oprobit", "negbin", "cox", "margins", "mixed", "iv"}
    | {"quantreg"}
)


def look(
    outputs: Sequence[Output],
    original: Microdata,
    appetite: Appetite,
    target: str = "",
    inside: bool = False,
    rules: Sequence[Mask] = (),
) -> list[Found]:
    """What outputs computed from these records say outright: certain findings first, of these the target's,
    then the most people first; what is told of others by the target being missing stands behind them.

    Every rule goes over every output, then over pairs of outputs that can be subtracted, then over all tables together.
    Findings name cells of the outputs themselves; what only a subtraction shows is counted, and named with `inside`. An
    output that no rule can read is a finding too. rules: what is known of all records, as of which ages a band is. Whom
    a finding is about (`who`) stands in no file. Where records say whose they are (see `Microdata`), people are
    counted, and not records.
    """
    try:
        found = _look(outputs, original, appetite, target, inside, rules)
    finally:
        forget(original)
    return sorted(found, key=lambda each: (not each.certain, each.last, each.about != target, -each.people))


def _look(
    outputs: Sequence[Output],
    original: Microdata,
    appetite: Appetite,
    target: str,
    inside: bool,
    rules: Sequence[Mask],
) -> list[Found]:
    alike = printed_alike(outputs)
    outputs = [*outputs, *as_tables(outputs), *alike]
    found = [finding for output in outputs for rule in RULES for finding in rule(output, original, appetite, target)]
    means = as_means(outputs)
    numbers = Numbers.of([*outputs, *means], original)
    found += [finding for output in outputs for finding in dominance(output, original, appetite, numbers)]
    others = {each.name for each in outputs if each.kind != "magnitudes"}
    found = instead(found, unsaid(sums_dominated(numbers, others, original, appetite, inside), found))
    found += unsaid(shapes_told(outputs, numbers, original, appetite), found)
    found += unsaid(tables_told(numbers, original, target, inside), found)
    found += unsaid(conditions_told(numbers, original, appetite, target), found)
    parts = as_subsets(outputs, original.codebook, rules)
    beside = beside_statistics(Numbers.of([*outputs, *parts], original) if parts else numbers, outputs, original)
    apart = [each for each in outputs if each.kind != "margins" or each.name not in {one.name for one in alike}]
    found += subtracted([*apart, *parts], original, appetite, target, inside, beside)
    found += without_singletons(outputs, original, appetite)
    found += sums_subtracted(numbers, original, appetite, target, inside)
    found += unsaid(parts_subtracted(numbers, original, appetite, inside), found)
    found += unsaid(_of_bands_of_sums(outputs, original, appetite, target, inside, rules), found)
    found += unsaid(surveys_subtracted(outputs, original), found)
    found += unsaid(planes_subtracted(outputs, original), found)
    found += unsaid(bands_subtracted(numbers, rules, original, appetite, target, inside), found)
    found += not_printed(outputs, original, appetite, target, inside)
    there = {(each.rule, each.output) for each in found}
    found += sums_withheld(numbers, outputs, original, appetite, inside)
    counts = counts_withheld(numbers, outputs, original, inside)
    found += [each for each in counts if (each.rule, each.output) not in there]
    found += beside_means(outputs, numbers, original, appetite)
    given = list(given_back(outputs, original, appetite, target, inside))
    found += [each for each in given if not each.certain]
    found += unsaid((each for each in given if each.certain), found)
    found += unsaid(beside_curves(outputs, original, appetite, inside), found)
    found += unsaid(few_left([*outputs, *means], numbers, original, appetite, inside), found)
    values = few_values_told([*outputs, *means], numbers, original, appetite)  # which hide nothing that says whose
    found += unsaid(values, found)
    found += [
        Found(NOT_SEEN, False, output.name, 0, 0, f"No rule can read an output of kind {output.kind}.")
        for output in outputs
        if output.kind not in _SEEN
    ]
    if original.person is not None:
        whom = [original.owners(finding.who) for finding in found]
        found = [replace(each, people=len(who), who=who) for each, who in zip(found, whom, strict=True)]
    return found


def _of_bands_of_sums(
    outputs: Sequence[Output],
    data: Microdata,
    appetite: Appetite,
    target: str,
    inside: bool,
    rules: Sequence[Mask],
) -> Iterator[Found]:
    """What is certain of sums of bands and of subsets by the number that these are of, taken from each other."""
    if parts := sums_as_subsets(outputs, data.codebook, rules):
        numbers = Numbers.of([*outputs, *parts], data)
        found = [each for each in sums_subtracted(numbers, data, appetite, target, inside) if each.certain]
        yield from found
        yield from unsaid((each for each in parts_subtracted(numbers, data, appetite, inside) if each.certain), found)


def unsaid(more: Iterable[Found], found: Sequence[Found]) -> list[Found]:
    """Those of more findings that do not say what others say for certain of the same variable and people."""
    said: dict[str, Rows] = {}
    for each in found:
        if each.certain and each.about:
            said[each.about] = np.union1d(said.get(each.about, NOBODY), each.who)
    return [each for each in more if not each.certain or len(np.setdiff1d(each.who, said.get(each.about, NOBODY)))]
