"""What crude odds ratios and their like leave of the tables that they follow from, held against trying all tables."""

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.finding import NOT_BOUNDED
from outrisk.assess.told_by_statistics import told_by_statistics
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError, ProveError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, release, released
from outrisk.outputs.of_one_table.described import described_tables
from outrisk.outputs.of_one_table.tables_that_fit import tables_that_fit
from outrisk.outputs.of_one_table.told_together import tables_told
from outrisk.problem.blocks import Mask, joint_of

CODEBOOK = Codebook(
    (
        Variable("ill", "integer", (0, 1), missing=True),
        Variable("stage", "integer", (1, 2, 3)),
        Variable("sex", "integer", (0, 1)),
    )
)
ODDS = {"release": ["coefficients", "confidence_limits", "n"], "exponentiate": True, "decimals": 2}
BY_STAGE = {"kind": "logit", "formula": "ill ~ C(stage)", "keep": ["stage"], **ODDS}
BY_SEX = {"kind": "logit", "formula": "ill ~ sex", "keep": ["sex"], **ODDS}
TABLE_ONE = {"kind": "univariate", "variables": ["stage", "sex"]}


def built(*entries, codebook=CODEBOOK):
    return [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(codebook, at)]


def people(n, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    stage, sex = rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.integers(0, 2, n)
    ill = (rng.random(n) < 0.1 + 0.1 * stage + 0.1 * sex).astype(int)
    ill[rng.random(n) < missing] = 2
    return Microdata(CODEBOOK, np.column_stack([ill, stage, sex]).astype(np.uint16))


def described(data, *entries):
    return list(described_tables(CODEBOOK, [release(each, data) for each in built(*entries)]))


def table_of(data, by):
    codes = data.codes[:, [CODEBOOK.index(name) for name in by]].astype(int)
    found = np.zeros([CODEBOOK[name].size for name in by], dtype=int)
    np.add.at(found, tuple(codes.T), 1)
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fitting_tables_are_those_whose_refit_is_printed(seed):
    codes = np.random.default_rng(seed).integers(0, (2, 3, 2), (16, 3))
    data = Microdata(CODEBOOK, codes.astype(np.uint16))
    (found,) = described(data, {"kind": "univariate", "variables": ["sex"]}, {**BY_SEX, "decimals": 1})
    output = built({**BY_SEX, "decimals": 1})[0]
    printed = release(output, data)
    fitting = []
    for table in tables_that_fit(found.printed):
        cells = np.argwhere(np.ones(table.shape))
        codes = np.repeat(cells, table.ravel(), axis=0)
        other = Microdata(CODEBOOK, np.column_stack([codes[:, 0], 0 * codes[:, 0], codes[:, 1]]).astype(np.uint16))
        try:
            numbers = output.refit(other)
        except OutputError:
            continue
        if (np.abs(numbers - printed.low)[output.printed] <= 0.05).all():
            fitting.append(table)
    np.testing.assert_array_equal(found.fitting, fitting)
    assert any((table == table_of(data, found.by)).all() for table in fitting)


KINDS = [
    BY_STAGE,
    BY_SEX,
    {**BY_STAGE, "decimals": 1, "release": ["coefficients", "p_values", "n"]},
    {"kind": "logit", "formula": "ill ~ C(stage) * sex", **ODDS},
    {"kind": "probit", "formula": "ill ~ sex", "keep": ["sex"], "release": ["coefficients"], "decimals": 1},
    {"kind": "poisson", "formula": "ill ~ C(stage)", "keep": ["stage"], "covariance": "robust", **ODDS},
    {"kind": "ols", "formula": "ill ~ 0 + C(stage)", "release": ["coefficients", "standard_errors"], "decimals": 2},
    {"kind": "logit", "formula": "sex ~ C(stage)", "keep": ["stage"], "where": "ill == 1", **ODDS},
    {"kind": "mnlogit", "formula": "stage ~ sex", "keep": ["sex"], **ODDS},
]


@pytest.mark.parametrize("entry", KINDS, ids=range(len(KINDS)))
@pytest.mark.parametrize("beside", ["margins", "rounded", "outcome"])
def test_the_truth_is_among_what_fits_with_shares_and_without(entry, beside):
    where = {"where": entry["where"]} if "where" in entry else {}
    tables = {
        "margins": [{**TABLE_ONE, **where}],
        "rounded": [
            {"kind": "frequencies", "by": ["stage", "ill"], "margins": True, "protection": {"round_to": 3}, **where}
        ],
        "outcome": [{"kind": "univariate", "variables": ["ill", "sex"], **where}],
    }
    told = 0
    for seed in range(4):
        data = people(60, seed, missing=0.1 * (seed % 2))
        try:
            found = described(data, *tables[beside], entry)
        except OutputError:
            continue
        kept = data.take(np.flatnonzero(data.codes[:, 0] == 1)) if where else data
        for each in found:
            truth = table_of(kept, each.by)
            assert each.many or (each.fitting == truth).reshape(len(each.fitting), -1).all(axis=1).any()
            assert (each.low <= truth).all() and (truth <= each.high).all()
            told += not each.many
    assert told or beside != "margins" or entry["formula"] == "ill ~ C(stage) * sex"


def test_large_tables_are_filled_by_what_ratios_leave():
    data = people(8000, 0)
    found, narrow = (
        described(data, {"kind": "univariate", "variables": [*more, "stage"]}, BY_STAGE) for more in (["sex"], ["ill"])
    )
    truth = table_of(data, ["ill", "stage"])
    assert found[0].number is None
    for each in (*found, *narrow):
        assert not each.many and 1 <= len(each.fitting) < 100
        assert (each.fitting == truth).reshape(len(each.fitting), -1).all(axis=1).any()


def test_ratios_of_nothing_but_n_are_of_a_table_up_to_its_mirror_images():
    data = people(300, 3)
    book = Codebook((Variable("ill", "integer", (0, 1)), *CODEBOOK.variables[1:]))
    output = built({**BY_SEX, "decimals": 3}, codebook=book)[0]
    (found,) = described_tables(book, [release(output, Microdata(book, data.codes))])
    truth = table_of(data, ["ill", "sex"])[:2]
    images = {tuple(each.ravel()) for each in (truth, truth.T, truth[::-1, ::-1], truth[::-1, ::-1].T)}
    assert {tuple(each.ravel()) for each in found.fitting} == images


def look_at(data, *entries):
    return look(built(*entries), data, Appetite(), "ill", inside=True)


def test_the_look_names_small_cells_of_a_table_that_nobody_released():
    data = people(120, 1)
    (finding,) = [each for each in look_at(data, TABLE_ONE, BY_STAGE) if each.rule == "table not released"]
    few = table_of(data, ["stage", "ill"])
    few = few[(few > 0) & (few < 10)]
    assert (finding.cells, finding.people) == (len(few), few.sum())
    assert (
        finding.output == "univariate stage with logit 2"
        and "1 table fits the printed counts and what the regression prints" in finding.what
    )
    alone = [
        each.rule for each in look_at(data, TABLE_ONE, {**BY_STAGE, "release": ["coefficients", "n"], "decimals": 0})
    ]
    assert "table not released" not in alone and NOT_BOUNDED not in alone


def test_the_look_says_of_whom_a_table_is_that_tables_by_group_tell():
    data = people(240, 1)
    tables = [{"kind": "frequencies", "by": ["sex", name]} for name in ("stage", "ill")]
    where = "sex == 0"
    found = [each for each in look_at(data, *tables, {**BY_STAGE, "where": where}) if each.rule == "table not released"]
    assert len(found) == 1 and f"(where {where}) was not released" in found[0].what
    assert found[0].output.startswith("table sex x stage with table sex x ill")


def test_a_ratio_undoes_the_rounding():
    data = people(120, 1)
    rounded = {"kind": "frequencies", "by": ["stage", "ill"], "margins": True, "protection": {"round_to": 5}}
    (finding,) = [each for each in look_at(data, rounded, BY_STAGE) if each.output.endswith("with logit 2")]
    assert finding.rule == "withheld cells recoverable" and finding.cells >= 6


def test_tables_too_many_to_try_are_said_where_cells_are_small():
    rng = np.random.default_rng(0)
    stage = rng.choice(3, 200_000, p=[0.6, 0.39995, 0.00005])
    ill = (rng.random(200_000) < 0.3).astype(int)
    data = Microdata(CODEBOOK, np.column_stack([ill, stage, 0 * ill]).astype(np.uint16))
    ill[stage == 2] = np.arange((stage == 2).sum()) % 2
    data = Microdata(CODEBOOK, np.column_stack([ill, stage, 0 * ill]).astype(np.uint16))
    (finding,) = [each for each in look_at(data, TABLE_ONE, {**BY_STAGE, "decimals": 1}) if each.rule == NOT_BOUNDED]
    assert "Too many tables fit the printed counts of ill x stage" in finding.what


def test_an_output_without_a_fit_is_left_aside():
    data = people(60, 0)
    codes = data.codes.copy()
    codes[codes[:, 1] == 2, 0] = 1
    found = look_at(Microdata(CODEBOOK, codes), TABLE_ONE, BY_STAGE)
    assert not [each for each in found if each.rule in ("table not released", NOT_BOUNDED)]


def test_bounds_of_cells_know_what_ratios_tell():
    data = people(120, 1)
    values = {name: data.codes[:, at] + (name == "stage") for at, name in enumerate(CODEBOOK.names)}
    frame = pd.DataFrame(values)
    table, fit = outrisk.Univariate(["stage"]), outrisk.Logit("ill ~ C(stage)", keep=["stage"], **ODDS)
    alone, both = (
        outrisk.prove(frame, outputs, keys=["stage"], target="ill", codebook=CODEBOOK)
        for outputs in ([table], [table, fit])
    )
    few = table_of(data, ["stage", "ill"])
    told = both.cells[both.cells["recovered"]]
    assert alone.cells.empty and (~both.cells["released"]).all()
    assert len(told) == ((few > 0) & (few < 10)).sum() > 0 and set(told["outputs"]) == {"univariate stage with logit 2"}
    assert "1 tables that were not released" in both.of_cells
    assert both.left_out["logit 2"] == "the range that it leaves each count of its table is used"


def test_ratios_that_no_table_gives_are_refused():
    data = people(60, 2)
    table, odds = built({"kind": "univariate", "variables": ["sex"]}, BY_SEX)
    truth = release(odds, data)
    more = np.array([0, 0.03, 0, 0, 0, 0, 0])
    wrong = released(odds, truth.low + more, truth.high + more)
    with pytest.raises(
        ProveError, match="no data set fits all the released numbers: what logit 2; univariate sex print"
    ):
        told_by_statistics(CODEBOOK, [release(table, data), wrong])


def asked(data, *entries):
    printed = [release(each, data) for each in built(*entries)]
    return Problem(CODEBOOK, len(data), tuple(printed), told=tables_told(CODEBOOK, printed))


@pytest.mark.parametrize("n", [200, 2000])
def test_a_search_holds_to_what_ratios_tell(n):
    data = people(n, 5)
    problem = asked(data, TABLE_ONE, BY_STAGE, BY_SEX)
    assert len(problem.told) == 2 and problem.told == problem.searched.released[-2:]
    assert len(problem.searched.searched.released) == len(problem.searched.released)
    for last in evolve(problem, preset("fast"), np.random.default_rng(1)):  # noqa: B007
        pass
    assert last.stop == "matched" and last.number < 60
    assert not tables_told(CODEBOOK, [release(each, data) for each in built(TABLE_ONE)])


def test_what_is_told_is_of_the_variables_that_a_search_changes():
    book = Codebook((*CODEBOOK.variables, Variable("late", "integer", (0, 1))))
    data = people(300, 0)
    data = Microdata(book, np.column_stack([data.codes, data.codes[:, 1] == 2]).astype(np.uint16))
    late = {"kind": "logit", "formula": "ill ~ late", "keep": ["late"], **ODDS}
    printed = [
        release(each, data) for each in built({"kind": "univariate", "variables": ["late"]}, late, codebook=book)
    ]
    told = tables_told(book, printed)
    joint = joint_of(book, ["stage", "late"])
    rule = Mask(joint, np.array([True, False, True, False, False, True]))  # late is stage 3
    problem = Problem(book, len(data), tuple(printed), (rule,), told=told)
    used = {j for one in problem.tied.told for block in one.blocks for j in block.place.variables}
    assert used == {0, 1} and len(told) == 1
    assert {j for block in told[0].blocks for j in block.place.variables} == {0, 3}


def test_what_is_told_of_one_table_counts_for_others():
    data = people(3000, 2)
    alone = described(data, {"kind": "univariate", "variables": ["sex"]}, BY_SEX)
    both = described(data, TABLE_ONE, BY_SEX, BY_STAGE)
    assert len(alone[0].fitting) > len(both[0].fitting)
    assert (both[0].low == alone[0].low).all() and both[0].number == alone[0].number
    for each in both:
        assert (each.fitting == table_of(data, each.by)).all(axis=(1, 2)).any()


def test_what_only_others_bound_was_not_known_before():
    """How many people have a stage is printed nowhere; that nobody's answer is missing, by another table's n."""
    data = people(60, 3)
    no_n = {**BY_STAGE, "release": ["coefficients", "confidence_limits"], "decimals": 3}
    sexes = {"kind": "univariate", "variables": ["sex"]}
    assert not described(data, no_n)
    found = {each.by: each for each in described(data, sexes, BY_SEX, no_n)}[("ill", "stage")]
    assert (found.low == 0).all() and np.isinf(found.high).all() and found.number is None
    assert (found.fitting == table_of(data, found.by)).all(axis=(1, 2)).any()


def test_a_printed_cross_table_says_its_margins():
    data = people(400, 1)
    cross = {"kind": "frequencies", "by": ["sex", "ill"]}
    found, sparse = (described(data, each, {**BY_STAGE, "decimals": 0})[0] for each in (cross, TABLE_ONE))
    assert found.printed.outputs == ("table sex x ill",) and not found.printed.whole
    assert sparse.printed.outputs == ("univariate stage",)
