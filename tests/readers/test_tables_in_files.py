"""Cross tables and survival tables in files: axes, levels, margins, withheld cells, digits; against a refit."""

import numpy as np
import pandas as pd
import pytest
from fair import codebook, data, frame, study
from scipy import stats

from outrisk.errors import OutputError

COUNTS = {"kind": "frequencies", "by": ["occ", "religion"]}


def table(folder, text, **entry):
    """What a study reads off a table, beside what the data give: (released, refit) of each output."""
    (folder / "table.csv").write_text(text, encoding="utf-8")
    given = study({**COUNTS, **entry, "values": str(folder / "table.csv")}).given(codebook())
    return [(released, released.recompute(data())) for released in given.values()]


def crosstab(**options):
    return pd.crosstab(frame()["occ"], frame()["religion"], **options)


def test_a_wide_table_with_and_without_margins_and_turned(tmp_path):
    for text in (
        crosstab().to_csv(),
        crosstab(margins=True).to_csv(),
        crosstab(margins=True, margins_name="Total").to_csv(),
        crosstab().T.to_csv(),
        crosstab(margins=True).to_csv().replace(",", ";"),
        crosstab(margins=True).to_csv(index_label=""),
    ):
        ((released, beside),) = table(tmp_path, text)
        assert beside.matched.all() and len(released.low) == (35 if "All" in text or "Total" in text else 24)


def test_a_long_table_and_one_of_several_variables(tmp_path):
    long = frame().groupby(["occ", "religion"]).size().reset_index(name="Freq").to_csv(index=False)
    ((released, beside),) = table(tmp_path, long)
    assert beside.matched.all() and len(released.low) == 24
    four = pd.crosstab([frame()["occ"], frame()["religion"]], [frame()["affair"], frame()["marriage"]]).to_csv()
    ((released, beside),) = table(tmp_path, four, by=["occ", "religion", "affair", "marriage"])
    assert beside.matched.all() and len(released.low) == 240


@pytest.mark.parametrize("form", ["religion = {}", "religion={}", "Religion: {}"])
def test_levels_with_the_name_of_their_variable(tmp_path, form):
    """They also say which variable an axis is of, where both have the same levels."""
    counts = crosstab(margins=True).T
    counts.index = [form.format(each) if each != "All" else each for each in counts.index]
    ((released, beside),) = table(tmp_path, counts.to_csv(index_label=""))
    assert beside.matched.all() and len(released.low) == 35
    with pytest.raises(OutputError, match="is no level"):
        table(tmp_path, counts.rename(index={form.format(4): "occ = 4"}).to_csv(index_label=""))


def test_a_workbook(tmp_path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="notes")
        crosstab(margins=True).to_excel(book, sheet_name="table")
    given = study({**COUNTS, "values": f"{tmp_path / 't.xlsx'}#2"}).given(codebook())
    assert all(released.recompute(data()).matched.all() for released in given.values())


@pytest.mark.parametrize("mark", ["", "*", "c", "<10"])
def test_withheld_cells(tmp_path, mark):
    counts = crosstab()
    text = counts.astype(object).where(counts >= 10, mark).to_csv()
    ((released, beside),) = table(tmp_path, text)
    hidden = (counts.to_numpy() < 10).sum()
    assert hidden == 2 and (released.low != released.high).sum() == hidden and beside.matched.all()
    withheld = released.high[released.low != released.high]
    assert (withheld == (9 if mark == "<10" else np.inf)).all()


def test_totals_of_the_printed_cells_alone_are_no_margins(tmp_path):
    """What a program adds up after withholding says nothing of the records; taken for a margin it would be wrong."""
    counts = crosstab()
    shown = counts.where(counts >= 10)
    shown["All"] = shown.sum(axis=1)
    ((released, beside),) = table(tmp_path, shown.to_csv())
    assert beside.matched.all() and not released.output.margins


def test_a_margin_that_is_no_sum_is_refused(tmp_path):
    counts = crosstab(margins=True)
    counts.loc["managerial", 1] += 1
    text = counts.to_csv()
    with pytest.raises(OutputError, match=r"occ=managerial, religion=Total is 740, its cells add up to 741"):
        table(tmp_path, text)


def test_totals_of_the_rows_alone(tmp_path):
    text = crosstab(margins=True).drop(index="All").to_csv()
    (cells, beside), (totals, of_totals) = table(tmp_path, text)
    assert not cells.output.margins and beside.matched.all()
    assert totals.output.by == ("occ",) and of_totals.matched.all() and len(totals.low) == 6


def test_rounded_counts_whose_half_may_go_either_way(tmp_path):
    for base in (5, 10):
        rounded = (base * (crosstab() / base).round()).astype(int)  # a half to the even multiple
        ((_, beside),) = table(tmp_path, rounded.to_csv(), protection={"round_to": base})
        assert beside.matched.all()


@pytest.mark.parametrize(
    ("normalize", "show"),
    [("index", "row_percentages"), ("columns", "column_percentages"), ("all", "proportions")],
)
def test_shares_as_fractions_and_as_percentages(tmp_path, normalize, show):
    shares = crosstab(normalize=normalize)
    ((_, beside),) = table(tmp_path, shares.to_csv(), show=show)
    assert beside.matched.all()
    if show != "proportions":
        ((released, beside),) = table(tmp_path, (100 * shares).round(1).astype(str).add("%").to_csv(), show=show)
        assert beside.matched.all() and (released.decimals == 1).all()


def test_thousands_are_separated(tmp_path):
    text = crosstab().map(lambda count: f"{count:,}").to_csv()
    assert table(tmp_path, text)[0][1].matched.all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "occ,1,2,3,4\nmanagerial,1,2,3,4\npilot,1,2,3,4\nstudent,1,2,3,4\nbaker,1,2,3,4\n",
            "'pilot' is no level of 'occ'",
        ),
        ("occ,1,2,3,4\nmanagerial,1,2,3,4\nmanagerial,1,2,3,4\n", "occ=managerial, religion=1 stands there twice"),
        (
            "occ,1,2,3,4\nmanagerial,1,two,3,4\n",
            "the value of occ=managerial, religion=2 is 'two', which is not a number",
        ),
        ("occ\n", "no table in it"),
        ("educ,1,2,3,4\n9,1,2,3,4\n", "the table is by educ, 'by' says"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, text, message):
    with pytest.raises(OutputError, match=message):
        table(tmp_path, text)


def test_means_with_their_margins_as_tables_of_their_own(tmp_path):
    pivot = frame().pivot_table(
        index=["occ"], columns=["affair"], values=["age"], aggfunc=["mean", "std", "count"], margins=True
    )
    found = table(
        tmp_path,
        pivot.to_csv(),
        kind="magnitudes",
        by=["occ", "affair"],
        value="age",
        statistics=["mean", "sd", "count"],
    )
    assert [released.output.by for released, _ in found] == [("occ", "affair"), ("occ",), ("affair",), ()]
    assert all(beside.matched.all() for _, beside in found)


@pytest.mark.parametrize("heads", [("se", "lower", "upper", "n"), ("Std. Error", "LCL", "UCL", "count")])
def test_means_with_errors_and_limits_by_their_heads(tmp_path, heads):
    groups = frame().groupby("occ")["age"]
    found = pd.DataFrame({"mean": groups.mean(), heads[0]: groups.sem()})
    apart = found[heads[0]] * stats.t.ppf(0.975, groups.size() - 1)
    found[heads[1]], found[heads[2]], found[heads[3]] = found["mean"] - apart, found["mean"] + apart, groups.size()
    entry = {"kind": "magnitudes", "by": ["occ"], "value": "age"}
    text = found.round(3).to_csv()
    ((_, beside),) = table(tmp_path, text, **entry, statistics=["mean", "standard error", "limits", "count"])
    assert beside.matched.all() and len(beside.matched) == 5 * found.shape[0]
    assert set(beside.released.decimals.tolist()) == {0, 3}
    with pytest.raises(OutputError, match=r"those of a mean|no mean"):
        table(tmp_path, text, **entry, statistics=["standard error"])
    ((_, of_heads),) = table(tmp_path, text, **entry)
    assert of_heads.matched.all() and len(of_heads.matched) == len(beside.matched)


def test_columns_of_a_table_of_means_that_are_left_out_have_a_line(tmp_path, caplog):
    caplog.set_level("INFO", "outrisk")
    groups = frame().groupby("occ")["age"]
    found = pd.DataFrame({"mean": groups.mean(), "min": groups.min(), "sd": groups.std()}).round(3)
    ((released, _),) = table(tmp_path, found.to_csv(), kind="magnitudes", by=["occ"], value="age")
    assert released.output.statistics == ("mean", "sd")
    assert "columns of min are none of its statistics and are left out" in caplog.text


@pytest.mark.parametrize(
    ("aggfunc", "entry"),
    [
        ("median", {"kind": "quantiles", "value": "educ"}),
        ("max", {"kind": "quantiles", "value": "educ", "quantiles": ["max"]}),
        ("mean", {"kind": "magnitudes", "value": "educ"}),
        ("std", {"kind": "magnitudes", "value": "educ", "statistics": ["sd"]}),
        (lambda values: values.mode().iloc[0], {"kind": "mode", "variable": "educ"}),
    ],
    ids=["median", "max", "mean", "sd", "mode"],
)
def test_statistics_of_a_variable(tmp_path, aggfunc, entry):
    text = crosstab(values=frame()["educ"], aggfunc=aggfunc).to_csv()
    ((_, beside),) = table(tmp_path, text, **entry)
    assert beside.matched.all()


def test_a_survival_table(tmp_path):
    from statsmodels.duration.survfunc import SurvfuncRight

    fit = SurvfuncRight(frame()["yrs_married"], frame()["affair"])
    entry = {"kind": "survival", "time": "yrs_married", "event": "affair"}
    (tmp_path / "km.csv").write_text(fit.summary().to_csv())
    given = study({**entry, "values": str(tmp_path / "km.csv")}).given(codebook())
    (released,) = given.values()
    assert released.recompute(data()).matched.all() and len(released.low) == 4 * 7
    r = pd.DataFrame({"time": fit.surv_times, "n.risk": fit.n_risk, "n.event": fit.n_events, "estimate": fit.surv_prob})
    (tmp_path / "km.csv").write_text(r.to_csv(index=False))
    (released,) = study({**entry, "values": str(tmp_path / "km.csv")}).given(codebook()).values()
    assert released.recompute(data()).matched.all() and len(released.low) == 3 * 7


def test_rounded_sums_are_ranges_and_totals_of_them_say_nothing(tmp_path):
    sums = crosstab(values=frame()["affairs"], aggfunc="sum", margins=True)
    shown = (5 * np.floor(sums.astype(float) / 5 + 0.5)).iloc[:-1, :-1]
    entry = {"kind": "magnitudes", "value": "affairs", "statistics": ["sum"], "protection": {"round_to": 5}}
    ((released, beside),) = table(tmp_path, shown.to_csv(), **entry)
    known = released.high - released.low
    assert beside.matched.all() and set(known[shown.notna().to_numpy().ravel()]) == {5.0}
    added = shown.copy()
    added["All"] = added.sum(axis=1)
    ((again, _),) = table(tmp_path, added.to_csv(), **entry)
    assert (again.low == released.low).all()  # the sums of rounded sums are left out
    own = 5 * np.floor(sums.astype(float) / 5 + 0.5)  # margins that were rounded on their own
    assert [each.output.by for each, _ in table(tmp_path, own.to_csv(), **entry)] == [
        ("occ", "religion"),
        ("occ",),
        ("religion",),
        (),
    ]
    wrong = shown.copy()
    wrong.iloc[0, 0] += 10
    ((_, differs),) = table(tmp_path, wrong.to_csv(), **entry)
    assert (~differs.matched).sum() == 1


@pytest.mark.parametrize("aggfunc", ["sum", "mean"])
def test_withheld_sums_and_means_say_the_threshold_or_are_refused_without_one(tmp_path, aggfunc):
    numbers = crosstab(values=frame()["affairs"], aggfunc=aggfunc)
    few = crosstab() < 10
    entry = {"kind": "magnitudes", "value": "affairs", "statistics": [aggfunc]}
    ((released, beside),) = table(tmp_path, numbers.astype(object).mask(few, "<10").to_csv(), **entry)
    assert released.output.protection.threshold == 10 and beside.matched.all()
    assert np.isinf(released.high[: numbers.size][few.to_numpy().ravel()]).all()
    with pytest.raises(OutputError, match="is withheld, and its table has no threshold; add its 'protection'"):
        table(tmp_path, numbers.astype(object).mask(few, "*").to_csv(), **entry)
    ((same, _),) = table(
        tmp_path, numbers.astype(object).mask(few, "*").to_csv(), **entry, protection={"threshold": 10}
    )
    assert (same.low == released.low).all() and (same.high == released.high).all()


def curves(by):
    """Kaplan-Meier tables of each group, as R's tidy writes them, by the variables of `by`."""
    from statsmodels.duration.survfunc import SurvfuncRight

    found = []
    for group, part in frame().groupby(by):
        fit = SurvfuncRight(part["yrs_married"], part["affair"])
        strata = ", ".join(f"{name}={level}" for name, level in zip(by, group, strict=True))
        numbers = {
            "n.risk": fit.n_risk,
            "n.event": fit.n_events,
            "estimate": fit.surv_prob,
            "std.error": fit.surv_prob_se,
        }
        found.append(pd.DataFrame({"time": fit.surv_times, **numbers, "strata": strata}))
    return pd.concat(found)


def test_survival_curves_by_group(tmp_path):
    entry = {"kind": "survival", "time": "yrs_married", "event": "affair", "by": ["religion"]}
    entry["values"] = str(tmp_path / "km.csv")
    strata = curves(["religion"])
    columns = strata.assign(religion=strata["strata"].str[-1:]).drop(columns="strata")
    for text in (strata.to_csv(index=False), columns.to_csv(), strata.to_csv(index=False, sep=";", decimal=",")):
        (tmp_path / "km.csv").write_text(text)
        (released,) = study(entry).given(codebook()).values()
        assert len(released.low) == 4 * 4 * 7 and released.recompute(data()).matched.all()
    wrong = strata.reset_index(drop=True)
    wrong.loc[9, "estimate"] += 0.01
    (tmp_path / "km.csv").write_text(wrong.to_csv(index=False))
    (released,) = study(entry).given(codebook()).values()
    assert (~released.recompute(data()).matched).sum() == 1
    two = curves(["religion", "occ"])
    (tmp_path / "km.csv").write_text(two.to_csv(index=False))
    (released,) = study(entry | {"by": ["occ", "religion"]}).given(codebook()).values()
    beside = released.recompute(data())
    assert beside.matched.all() and len(released.low) == 6 * 4 * 4 * 7
    absent = 6 * 4 * 7 - len(two)  # times that a group has nobody at
    assert (released.high == np.inf).sum() >= 3 * absent > 0


@pytest.mark.parametrize(
    ("change", "by", "message"),
    [
        (lambda text: text, [], "has curves by 'religion=1' and others; say the variables with 'by'"),
        (lambda text: text.replace("religion=3", "religion=7"), ["religion"], "'7' is no level of 'religion'"),
        (lambda text: text, ["occ"], "'religion=1' is no level of 'occ'"),
        (lambda text: text, ["occ", "religion"], "does not say of which occ a curve is"),
        (
            lambda text: text.replace("religion=2", "religion=1"),
            ["religion"],
            "stands there twice, religion=1; keep one",
        ),
        (lambda text: text.replace("\n2.5,", "\nsoon,", 1), ["religion"], "the time 'soon' is not a number"),
    ],
)
def test_curves_that_do_not_fit_are_refused(tmp_path, change, by, message):
    (tmp_path / "km.csv").write_text(change(curves(["religion"]).to_csv(index=False)))
    entry = {"kind": "survival", "time": "yrs_married", "event": "affair", "by": by, "values": str(tmp_path / "km.csv")}
    with pytest.raises(OutputError, match=message):
        study(entry).given(codebook())


@pytest.mark.parametrize("rows", [["occ"], ["occ", "religion"], ["occ", "religion", "marriage"]])
def test_levels_that_a_workbook_merges(tmp_path, rows):
    """As pandas and acro write tables of several row variables."""
    pytest.importorskip("openpyxl")
    counts = pd.crosstab([frame()[name] for name in rows], frame()["affair"])
    counts.columns.name = None
    counts.to_excel(tmp_path / "t.xlsx")
    entry = {"kind": "frequencies", "by": [*rows, "affair"], "values": str(tmp_path / "t.xlsx")}
    (released,) = study(entry).given(codebook()).values()
    assert released.recompute(data()).matched.all()


def test_withheld_cells_at_the_end_of_a_row_of_a_workbook(tmp_path):
    """A row with blanks at its end is no line of names: blanks below it stay withheld, not what stands above."""
    pytest.importorskip("openpyxl")
    counts = crosstab().astype(object).T  # religion by occ, so that more columns than the first can be filled
    counts.iloc[0, -2:] = None
    counts.iloc[2, 1] = None
    counts.to_excel(tmp_path / "t.xlsx")
    (released,) = study({**COUNTS, "values": str(tmp_path / "t.xlsx")}).given(codebook()).values()
    beside = released.recompute(data())
    assert (released.low != released.high).sum() == 3 and beside.matched.all()
