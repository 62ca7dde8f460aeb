"""What measures of association leave of the tables that they are made of, held against trying all tables."""

from itertools import product

import numpy as np
import pytest

import outrisk
from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.finding import NOT_BOUNDED
from outrisk.assess.told_by_statistics import programme_with_statistics, told_by_statistics
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError, ProveError
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, release, released
from outrisk.outputs.of_one_table.described import described_tables
from outrisk.outputs.of_one_table.tables_that_fit import tables_that_fit
from outrisk.outputs.smooth.association_told import OneTable
from outrisk.problem.released import half_digit

CODEBOOK = Codebook(
    (
        Variable("ill", "integer", (0, 1), missing=True),
        Variable("dose", "categorical", ("none", "some", "much")),
        Variable("it's", "categorical", ("a", "b"), missing=True),
    )
)
MEASURES = {"kind": "association", "event": "ill", "exposure": "dose", "statistics": ["risk ratio", "limits"]}
BY_STRATUM = {**MEASURES, "over": "it's", "show": ["strata", "crude"]}
KINDS = [
    MEASURES,
    {**MEASURES, "statistics": ["odds ratio", "limits"], "reference": "much", "decimals": 1},
    {**MEASURES, "statistics": ["risk", "risk difference"], "per": 100, "decimals": 1, "event_value": 0},
    {**MEASURES, "statistics": ["n", "cases", "attributable fraction"]},
    {**MEASURES, "statistics": ["n", "risk ratio"], "where": "dose != 'much'"},
    BY_STRATUM,
    {**BY_STRATUM, "statistics": ["n", "odds ratio", "limits"]},
    {**BY_STRATUM, "show": "pooled", "statistics": ["risk difference", "limits", "p"], "variance": "sato"},
]
BESIDE = {
    "margins": [{"kind": "univariate", "variables": ["dose", "it's"]}],
    "outcome": [{"kind": "univariate", "variables": ["ill"]}],
    "crossed": [{"kind": "frequencies", "by": ["it's", "dose"]}, {"kind": "frequencies", "by": ["it's", "ill"]}],
    "nothing": [],
}


def built(*entries):
    return [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(CODEBOOK, at)]


def people(n, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    dose, stratum = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.integers(0, 2, n)
    ill = (rng.random(n) < 0.15 + 0.15 * dose + 0.1 * stratum).astype(int)
    ill[rng.random(n) < missing], stratum[rng.random(n) < missing] = 2, 2
    return Microdata(CODEBOOK, np.column_stack([ill, dose, stratum]).astype(np.uint16))


def truth_of(data, each):
    """The data's own table by the variables of a described one, of the records that it is of."""
    kept = [*built({"kind": "frequencies", "by": list(each.by), **({"where": each.where} if each.where else {})})]
    return kept[0].refit(data).reshape([CODEBOOK[name].size for name in each.by]).astype(int)


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("entry", KINDS, ids=range(len(KINDS)))
def test_the_truth_is_among_what_fits(entry, beside):
    told = 0
    for seed, n in product(range(3), (7,) if entry.get("show") == "pooled" else (9, 20)):
        data = people(n, seed, missing=0.1 * (seed % 2))
        try:
            printed = [release(each, data) for each in built(*BESIDE[beside], entry)]
        except OutputError:
            continue
        for each in described_tables(CODEBOOK, printed):
            truth = truth_of(data, each)
            assert each.many or (each.fitting == truth).reshape(len(each.fitting), -1).all(axis=1).any()
            assert (each.low <= truth).all() and (truth <= each.high).all()
            told += not each.many
        if n < 20:
            told_by_statistics(CODEBOOK, printed)  # no conflict
    assert told or beside in ("nothing", "outcome")


@pytest.mark.parametrize("statistics", [["risk ratio", "limits"], ["odds ratio"], ["risk difference", "risk"]])
@pytest.mark.parametrize("seed", range(3))
def test_fitting_tables_are_those_whose_refit_is_printed(statistics, seed):
    data = people(11, seed)
    output, margins = built(
        {**MEASURES, "statistics": statistics, "decimals": 1, "where": "dose != 'much'"},
        {"kind": "frequencies", "by": ["ill"], "where": "dose != 'much'"},
    )
    printed = release(output, data)
    described = described_tables(CODEBOOK, [release(margins, data), printed])
    if not np.isfinite(printed.low).all():
        assert not described or np.isfinite(printed.low).any()
        return
    (found,) = described
    kept = data.take(np.flatnonzero(data.codes[:, 1] < 2))
    ill = [int((kept.codes[:, 0] == at).sum()) for at in (0, 1)]
    fitting = set()
    for b, a in product(range(ill[0] + 1), range(ill[1] + 1)):  # of some; the others have none
        table = [(0, 0, ill[0] - b), (1, 0, ill[1] - a), (0, 1, b), (1, 1, a)]
        codes = np.repeat([(one, two, 0) for one, two, _ in table], [number for *_, number in table], axis=0)
        numbers = output.refit(Microdata(CODEBOOK, codes.astype(np.uint16)))
        if (np.abs(numbers - printed.low) <= 0.05 * (1 + 1e-9)).all():
            fitting.add((ill[0] - b, ill[1] - a, b, a))
    order = [found.by.index("dose"), found.by.index("ill")]
    tables = found.fitting.transpose(0, 1 + order[0], 1 + order[1])[:, :2, :2].reshape(-1, 4)
    assert {tuple(each) for each in tables.tolist()} == fitting
    assert truth_of(data, found).sum() == len(kept)


@pytest.mark.parametrize("seed", range(20))
def test_risks_lie_where_the_others_leave_them(seed):
    rng = np.random.default_rng(seed)
    (output,) = built({**MEASURES, "statistics": ["risk ratio", "risk difference", "odds ratio", "limits"]})
    counts = rng.integers(0, 9, (1, 3, 3)) * np.array([1, 1, 0])
    low, high = output.publish(output.of_counts(counts.astype(float))[0])
    of, risks = OneTable(output, low, high), counts[0, :, 1] / np.maximum(counts[0].sum(axis=1), 1)
    for group in range(3):
        others = {at: np.array([risks[at]]) for at in range(3) if at != group and counts[0, at].sum()}
        least, most = of.between(group, others)
        if counts[0, group].sum():
            assert least[0] - 1e-9 <= risks[group] <= most[0] + 1e-9


def look_at(data, *entries):
    return look(built(*entries), data, Appetite(), "ill", inside=True)


def test_the_look_names_small_cells_of_strata_that_nobody_released():
    data = people(150, 1)
    found = [each for each in look_at(data, *BESIDE["crossed"], BY_STRATUM) if each.rule == "table not released"]
    whole = [each for each in found if "(where `it's` == 'a')" in each.what]
    assert whole and "what the association prints" in whole[0].what and "without limits" in whole[0].advice
    table = np.zeros((2, 3), int)
    codes = data.codes[data.codes[:, 2] == 0].astype(int)
    np.add.at(table, (codes[:, 0], codes[:, 1]), 1)
    few = table[(table > 0) & (table < 10)]
    assert (whole[0].cells, whole[0].people) == (len(few), few.sum())


def test_tables_too_many_to_try_are_said_where_cells_are_small():
    data = people(20_000, 2)
    codes = data.codes.copy()
    codes[(codes[:, 1] == 2) & (np.arange(20_000) % 500 > 0), 1] = 0
    dose = {"kind": "univariate", "variables": ["dose"]}
    found = look_at(Microdata(CODEBOOK, codes), dose, {**MEASURES, "statistics": ["risk ratio"], "decimals": 0})
    (finding,) = [each for each in found if each.rule == NOT_BOUNDED]
    assert "Too many tables fit the printed counts of dose x ill to ask which of them what they print" in finding.what


def test_proofs_know_what_ratios_tell():
    data = people(150, 1)
    frame = data.frame()
    tables = [outrisk.Frequencies(["it's", "dose"]), outrisk.Frequencies(["it's", "ill"])]
    ratios = outrisk.Association("ill", "dose", "it's", show="strata")
    alone, both = (
        outrisk.prove(frame, outputs, keys=["it's", "dose"], target="ill", codebook=CODEBOOK)
        for outputs in (tables, [*tables, ratios])
    )
    name = "association of ill with dose over it's"
    assert both.left_out[name] == "the range that it leaves each count of its table is used"
    assert both.cells["recovered"].sum() > alone.cells["recovered"].sum()


@pytest.mark.parametrize("entry", KINDS, ids=range(len(KINDS)))
def test_a_programme_holds_of_the_records_themselves(entry):
    for seed in range(3):
        data = people(30, seed)
        printed = [release(each, data) for each in built(*BESIDE["margins"], entry)]
        of = programme_with_statistics(CODEBOOK, printed, len(data))
        assert of.n_records == len(data) if hasattr(of, "n_records") else of


def test_risks_that_no_table_gives_are_refused():
    data = people(60, 2)
    table, risks = built(BESIDE["margins"][0], {**MEASURES, "statistics": ["risk"], "decimals": 3})[::2]
    truth = release(risks, data)
    wrong = released(risks, truth.low + 0.004, truth.high + 0.004)
    with pytest.raises(
        ProveError, match="no data set fits all the released numbers: what association of ill with dose"
    ):
        told_by_statistics(CODEBOOK, [release(table, data), wrong])


WAYS = [["risk ratio", "limits"], ["odds ratio", "limits"], ["risk difference", "limits"], ["risk", "n", "odds ratio"]]


@pytest.mark.parametrize("statistics", WAYS, ids=range(len(WAYS)))
@pytest.mark.parametrize("seed", range(6))
def test_what_risks_and_limits_leave_out_gives_other_numbers(statistics, seed):
    """Of few people, all tables are tried one by one as well."""
    data = people(13, seed, missing=0.1 * (seed % 2))
    entry = {**MEASURES, "statistics": statistics, "decimals": seed % 3, "reference": ("none", "some")[seed % 2]}
    entry |= {"per": 10, "level": 0.8} if statistics[0] == "risk difference" else {}
    printed = [release(each, data) for each in built({"kind": "univariate", "variables": ["ill"]}, entry)]
    for each in described_tables(CODEBOOK, printed):
        output = printed[-1].output
        tables = tables_that_fit(each.printed)
        order = [0, *(1 + each.by.index(name) for name in output.variables)]
        numbers = output.of_counts(tables.transpose(order).astype(float))
        known = np.isfinite(printed[-1].low)
        half = (half_digit(output.decimals) * (1 + 1e-9))[known]
        fits = (np.abs(numbers[:, known] - printed[-1].low[known]) <= half + 1e-9).all(axis=1)
        expected = {tuple(table.ravel().tolist()) for table in tables[fits]}
        assert {tuple(table.ravel().tolist()) for table in each.fitting} == expected


def test_limits_tell_the_table_of_a_few_hundred_people():
    """Beside how many are ill: two equations in two unknown counts for each dose."""
    data = people(300, 1)
    for statistics in (["risk ratio", "limits"], ["odds ratio", "limits"]):
        printed = [{"kind": "univariate", "variables": ["ill"]}, {**MEASURES, "statistics": statistics}]
        (found,) = described_tables(CODEBOOK, [release(each, data) for each in built(*printed)])
        assert len(found.fitting) == 1 and (found.fitting[0] == truth_of(data, found)).all()
