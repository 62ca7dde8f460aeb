"""What ACRO flags, the direct look flags: cell by cell, against a folder that acro 1.0.2 wrote on the same records."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from outrisk.assess.look import Appetite, look
from outrisk.assess.look.contributions import broken_rules, cells_of
from outrisk.assess.look.told import told_by
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import from_frame
from outrisk.outputs import Frequencies, Magnitudes, Quantiles, Regression

APPETITE = Appetite()
OCCUPATION = {1: "student", 2: "unskilled", 3: "white_collar", 4: "teacher_nurse", 5: "managerial", 6: "professional"}


@pytest.fixture(scope="module")
def fair():
    raw = sm.datasets.fair.load_pandas().data
    frame = pd.DataFrame(
        {
            "affair": (raw.affairs > 0).astype(int),
            "affairs": raw.affairs.round(9),
            "marriage": raw.rate_marriage.astype(int),
            "religion": raw.religious.astype(int),
            "age": raw.age,
            "yrs_married": raw.yrs_married,
            "educ": raw.educ.astype(int),
            "occ": raw.occupation.map(OCCUPATION),
        }
    )
    variables = tuple(
        Variable(name, "categorical", tuple(sorted(column.unique())))
        if name == "occ"
        else Variable(name, "numeric", tuple(float(value) for value in sorted(column.unique())))
        for name, column in frame.items()
    )
    return from_frame(frame, Codebook(variables))


@pytest.fixture(scope="module")
def acro(shared):
    return json.loads((shared / "fixtures" / "acro_fair" / "results.json").read_text())["results"]


def flagged(acro, key, check):
    """Cells (row, column) that a check of ACRO flags in the table of an output."""
    return {tuple(cell) for file in acro[key]["files"] for cell in file["sdc"].get("cells", {}).get(check, [])}


def ours(flags, n_rows):
    """Flagged cells by their place in ACRO's table: the first variables make its rows, the others its columns."""
    rows = 1
    for size in flags.shape[:n_rows]:
        rows *= size
    return {tuple(cell) for cell in np.argwhere(flags.reshape(rows, -1)).tolist()}


@pytest.mark.parametrize(
    ("key", "by", "n_rows"),
    [
        ("xt_religion_affair", ("religion", "affair"), 1),
        ("output_1", ("occ", "marriage"), 1),
        ("xt_educ_affair_total", ("educ", "affair"), 1),
        ("output_2", ("occ", "religion", "affair", "marriage"), 2),
        ("output_40", ("occ", "religion"), 1),
    ],
)
def test_cells_below_the_threshold(fair, acro, key, by, n_rows):
    table = Frequencies(fair.codebook, key, by)
    told = told_by(table, fair)
    empty = ours(told.counts == 0, n_rows)
    small = ours((told.counts > 0) & (told.counts < APPETITE.safe_threshold), n_rows)
    assert flagged(acro, key, "MinimumThresholdCheck") == small | empty
    assert flagged(acro, key, "PresenceOfZeroCheck") == empty
    found = [finding.cells for finding in look([table], fair, APPETITE) if finding.rule == "small cells"]
    assert found == ([len(small)] if small else [])


@pytest.mark.parametrize(("key", "statistic"), [("output_6", "mean"), ("output_7", "sum")])
def test_dominance(fair, acro, key, statistic):
    """ACRO counts a cell whose values are all 0 among those that break p %; here its values are told outright."""
    table = Magnitudes(fair.codebook, key, "affairs", ("occ", "marriage"), (statistic,))
    labels, cells = table.cells.labels, cells_of(table, fair)
    rules = {divmod(labels.index(cell.label), 5): broken_rules(cell, APPETITE) for cell in cells}
    zeros = {divmod(labels.index(cell.label), 5) for cell in cells if not cell.values.any() and len(cell.values) > 1}
    assert {at for at, broken in rules.items() if "(n, k)" in broken} == flagged(acro, key, "NKCheck") - zeros
    assert {at for at, broken in rules.items() if "p %" in broken} == flagged(acro, key, "PPercentCheck") - zeros
    few = {divmod(labels.index(cell.label), 5) for cell in cells if len(cell.values) < APPETITE.safe_threshold}
    assert few == flagged(acro, key, "MinimumThresholdCheck") - {(2, 0)}, "the cell without anybody has no mean"
    found = look([table], fair, APPETITE)
    by_rule = {finding.rule: finding for finding in found}
    dominated = (flagged(acro, key, "NKCheck") | flagged(acro, key, "PPercentCheck")) - zeros
    assert sum(finding.cells for finding in found if finding.rule == "dominance") == len(dominated)
    assert by_rule["small cells"].cells == len(few)
    assert by_rule["same answer"].cells >= len(zeros) > 0


@pytest.mark.parametrize(("key", "value", "probability"), [("output_10", "educ", 0.5), ("output_11", "affairs", 1.0)])
def test_quantiles_of_few(fair, acro, key, value, probability):
    table = Quantiles(fair.codebook, key, value, ("occ", "affair"), (probability,))
    found = {finding.rule: finding for finding in look([table], fair, APPETITE)}
    assert found["small cells"].cells == len(flagged(acro, key, "MinimumThresholdCheck"))
    assert ("extreme values" in found) == (probability == 1.0)


def test_degrees_of_freedom(fair, acro):
    frame = fair.frame()
    few = frame[(frame.occ == "professional") & (frame.affair == 1)].index[:14].to_numpy()
    model = Regression(fair.codebook, "olsr_few", "ols", "affairs ~ age + yrs_married + educ + C(religion)")
    found = {finding.rule: finding for finding in look([model], fair.take(few), APPETITE)}
    assert acro["olsr_few"]["properties"]["dof"] == 7
    assert found["degrees of freedom"].what.startswith("7 residual degrees of freedom")
    assert not look([model], fair, APPETITE), "acro passes it on all records, and so does the look"
