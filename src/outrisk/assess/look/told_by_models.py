"""What regressions tell of groups of records: a rule for each, on one design."""

from __future__ import annotations

from collections.abc import Iterator

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found
from outrisk.assess.look.fits import sample_of
from outrisk.assess.look.of_few_fitted import of_few_fitted
from outrisk.assess.look.of_fitted import as_table, fits_all, of_saturated
from outrisk.assess.look.separated import separated
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.regression.regression import Regression


def told_by_models(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Groups that have one outcome; means that a saturated model tells; sums of few people.
    And fitted values that are everybody's own.
    """
    rows, sample = sample_of(output, data)
    if sample is None or not isinstance(output, Regression):
        return
    yield from separated(output, sample, rows, data)
    table = as_table(output, sample)
    if table is not None:
        yield from of_saturated(output, sample, table, rows, data, appetite)
    yield from of_few_fitted(output, sample, rows, data, appetite, table is not None)
    yield from fits_all(output, sample, rows, data)
