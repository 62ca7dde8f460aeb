"""What a table's numbers may be besides: thousands or decimals, percentages, negative, so much or more, of which axis.

Each text is as programs print it; what is read holds the truth (the data's), or one line says what is open.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from fair import codebook, data, frame, study
from scipy import stats

from outrisk.errors import DataError, OutputError
from outrisk.microdata import from_frame, infer_codebook
from outrisk.readers.level_of_limits import level_of_limits
from outrisk.readers.printed_number import read_printed, with_their_digits

BY = {"kind": "frequencies", "by": ["marriage"]}
MEANS = {"kind": "magnitudes", "value": "age", "by": ["affair"]}


def read(folder, text, entry, suffix="csv"):
    """The outputs of a file, each beside what the data give."""
    path = folder / f"table.{suffix}"
    if text:
        path.write_text(text, encoding="utf-8")
    given = study({**entry, "values": str(path)}).given(codebook())
    return [released.recompute(data()) for released in given.values()]


def counts(*names):
    return frame().groupby(list(names)).size()


def test_thousands_beside_tabs_and_semicolons_are_those_that_other_cells_show(tmp_path):
    n = counts("marriage")  # 99, 348, 993, 2,242, 2,684
    for between, sign in (("\t", ","), (";", ","), (";", ".")):
        text = f"marriage{between}n\n" + "".join(f"{k}{between}{v:,}\n" for k, v in n.items()).replace(",", sign)
        (beside,) = read(tmp_path, text, BY)
        assert beside.matched.all()


@pytest.mark.parametrize(("between", "sign"), [("\t", ","), (";", ","), (";", ".")])
def test_thousands_that_may_be_decimals_are_refused(tmp_path, between, sign):
    text = "affair,n\n0,4|313\n1,2|053\n".replace(",", between).replace("|", sign)
    with pytest.raises(OutputError, match=rf"affair=0 is '4\{sign}313', a decimal .* or one of thousands; write"):
        read(tmp_path, text, {"kind": "frequencies", "by": ["affair"]})


def test_person_time_that_may_be_decimals_is_refused(tmp_path):
    entry = {"kind": "rates", "by": ["affair"], "numerator": "children == 0", "denominator": "yrs_married"}
    with pytest.raises(OutputError, match="'39,439', a decimal comma or one of thousands"):
        read(tmp_path, "affair\tD\tY\n0\t426\t39,439\n1\t258\t19,164\n", entry, "tsv")


@pytest.mark.parametrize("text", ["49.2%", "12.16", "0.49", "-3"])
def test_what_is_no_number_of_people_is_refused(tmp_path, text):
    with pytest.raises(OutputError, match=rf"affair=0 is '{text}', which is no number of people; .* read "):
        read(tmp_path, f"affair,n\n0,{text}\n1,53\n", {"kind": "frequencies", "by": ["affair"]})


def test_a_number_in_brackets_may_be_negative(tmp_path):
    with pytest.raises(OutputError, match=r"affair=0 is '\(0.48\)', which may be negative"):
        read(tmp_path, "affair,mean\n0,(0.48)\n1,(0.39)\n", MEANS)


def test_means_with_three_decimals_in_quotes_lie_within_the_variable(tmp_path):
    means = frame().groupby("affair")["age"].mean()
    text = "affair,mean\n" + "".join(f'{k},"{v:.3f}"\n'.replace(".", ",") for k, v in means.items())
    (beside,) = read(tmp_path, text, MEANS)
    assert beside.matched.all() and (beside.released.decimals == 3).all()


@pytest.mark.parametrize("text", ["25.4%", '"25,4%"'])
def test_a_mean_in_percent_does_not_say_its_unit(tmp_path, text):
    with pytest.raises(OutputError, match="write it in the variable's unit"):
        read(tmp_path, f"affair,mean\n0,{text}\n1,{text}\n", {**MEANS, "value": "children"})


def test_so_much_or_more_is_no_number(tmp_path):
    entry = {"kind": "quantiles", "value": "age", "by": ["affair"], "quantiles": ["max"]}
    with pytest.raises(OutputError, match=r"'40\+', so much or more; write \* for it"):
        read(tmp_path, "affair,max\n0,40+\n1,40+\n", entry)


@pytest.mark.parametrize("sign", ["<=", "≤", "<= "])
def test_at_most_holds_its_end(tmp_path, sign):
    n = counts("occ")  # 41 students
    text = "occ,n\n" + "".join(f"{k},{f'{sign}41' if v <= 41 else v}\n" for k, v in n.items())
    (beside,) = read(tmp_path, text, {"kind": "frequencies", "by": ["occ"]})
    assert beside.matched.all() and max(beside.released.high[beside.released.low != beside.released.high]) == 41


def test_axes_of_the_same_levels_go_by_their_names_alone(tmp_path):
    pairs = frame().assign(children=(frame()["children"] > 1).astype(int))
    table = pd.crosstab(pairs["children"], pairs["affair"])
    pairs = pairs[["children", "affair", "age", "educ", "religion"]]
    known, _ = infer_codebook(pairs, few=20)
    text = table.to_numpy().tolist()
    for head, fits in (("children \\ affair", True), ("children", True), ("children by affair", True), ("", False)):
        path = tmp_path / "t.csv"
        path.write_text(f"{head},0,1\n" + "".join(f"{k},{a},{b}\n" for k, (a, b) in enumerate(text)))
        entry = {"kind": "frequencies", "by": ["affair", "children"], "values": str(path)}
        if fits:
            (released,) = study(entry).given(known).values()
            assert released.recompute(from_frame(pairs, known)).matched.all()
        else:
            with pytest.raises(OutputError, match="does not say which of 'affair' and 'children' is in its rows"):
                study(entry).given(known)


def test_axes_of_which_one_has_a_level_more_need_no_names(tmp_path):
    table = pd.crosstab(frame()["religion"], frame()["marriage"])
    (beside,) = read(tmp_path, table.to_csv(index_label=""), {"kind": "frequencies", "by": ["marriage", "religion"]})
    assert beside.matched.all()


def test_counts_that_r_writes_in_powers_of_ten_are_exact_beside_others(tmp_path):
    def decimals(*texts):
        cells = dict(enumerate(texts))
        return with_their_digits({at: read_printed(text) for at, text in cells.items()}, cells)[0].decimals

    assert decimals("1e+05", "123456") == 0 and decimals("1e+05", "12") == -4
    assert decimals("1.2e5", "123456") == -4 and decimals("1e+05", "2e+05") == -5


def test_levels_that_a_table_has_no_row_or_column_of_have_a_line(tmp_path, caplog):
    caplog.set_level("INFO", "outrisk")
    table = pd.crosstab(frame()["occ"], frame()["affair"])[[0]]
    read(tmp_path, table.to_csv(), {"kind": "frequencies", "by": ["occ", "affair"]})
    assert "no row or column of affair = 1: nobody is taken to have it" in caplog.text


def test_decimal_commas_in_quotes_between_commas(tmp_path):
    shares = pd.crosstab(frame()["affair"], frame()["religion"], normalize="index") * 100
    text = shares.map(lambda value: f'"{value:.1f}%"'.replace(".", ",")).reset_index()
    lines = [",".join(map(str, row)) for row in text.to_numpy().tolist()]
    entry = {"kind": "frequencies", "by": ["affair", "religion"], "show": "row_percentages"}
    (beside,) = read(tmp_path, "affair,1,2,3,4\n" + "\n".join(lines), entry)
    assert beside.matched.all() and (beside.released.decimals == 1).all()


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_the_level_of_limits_is_that_of_their_errors(level):
    x = sm.add_constant(frame()[["age", "educ"]])
    for fit in (sm.OLS(frame()["affairs"], x).fit(), sm.Logit(frame()["affair"], x).fit(disp=0)):
        for each in (level, 0.95):
            for digits in (8, 4):
                ends = fit.conf_int(1 - each)
                parts = {"coefficients": fit.params, "standard_errors": fit.bse, "p_values": fit.pvalues}
                table = pd.DataFrame(parts | {"lower": ends[0], "upper": ends[1]}).round(digits).astype(str)
                rows = [(name, row.to_dict()) for name, row in table.iterrows()]
                assert level_of_limits(rows, False, False) == each


def test_few_degrees_of_freedom_are_told_from_another_level():
    t, p = 2.5, 2 * stats.t.sf(2.5, 5)
    wide = stats.t.ppf(0.975, 5)
    texts = {"coefficients": t, "standard_errors": 1.0, "lower": t - wide, "upper": t + wide, "p_values": p}
    assert level_of_limits([("x", {part: repr(float(each)) for part, each in texts.items()})], False, False) == 0.95


def test_sheets_that_are_hidden_percentages_and_formulas(tmp_path, caplog):
    openpyxl = pytest.importorskip("openpyxl")
    caplog.set_level("INFO", "outrisk")
    table = pd.crosstab(frame()["affair"], frame()["religion"])
    book = openpyxl.Workbook()
    book.active.sheet_state = "hidden"
    book.active["A1"] = "notes"
    sheet, shares = book.create_sheet("table"), book.create_sheet("shares")
    sheet.append(["affair", 1, 2, 3, 4])
    shares.append(["affair", 1, 2, 3, 4])
    for level, row in table.iterrows():
        sheet.append([level, *map(int, row)])
        shares.append([level, *(round(float(each), 3) for each in row / row.sum())])
        for cell in shares[level + 2][1:]:
            cell.number_format = "0.0%"
    book.save(tmp_path / "table.xlsx")
    entry = {"kind": "frequencies", "by": ["affair", "religion"]}
    (beside,) = read(tmp_path, "", entry, "xlsx")
    assert beside.matched.all() and "read is its sheet 'table', and not 'Sheet' (hidden), 'shares'" in caplog.text
    path = f"{tmp_path / 'table.xlsx'}#3"
    for show in ("row_percentages", "counts"):
        asked = study({**entry, "show": show, "values": path})
        if show == "counts":
            with pytest.raises(OutputError, match="which is no number of people; percentages are read"):
                asked.given(codebook())
        else:
            (released,) = asked.given(codebook()).values()
            assert released.recompute(data()).matched.all() and (released.decimals == 1).all()
    sheet["F1"], sheet["F2"] = "Total", "=SUM(B2:E2)"
    book.save(tmp_path / "table.xlsx")
    with pytest.raises(DataError, match=r"the sheet 'table' has a formula without its value \(F2: =SUM"):
        read(tmp_path, "", entry, "xlsx")


AROUND = {
    "title and note": "Table 1. Affairs,,,,\n{head}\n{rows}\nCells below 5 are suppressed.,,,,\n",
    "pivot": "Count of educ,Column Labels,,,\nRow Labels,{levels}\n{rows}\n",
    "percent": "{head},%\n{with_percent}\n",
    "markdown": "|{bars}|\n|--:|--:|--:|--:|--:|\n{bar_rows}\n",
}


@pytest.mark.parametrize("what", [*AROUND, "html", "Stata", "blanks", "merged heads"])
def test_cross_tables_as_they_stand_in_spreadsheets_and_pages(tmp_path, what):
    table = pd.crosstab(frame()["affair"], frame()["religion"])
    rows = [",".join(map(str, [level, *row])) for level, row in zip(table.index, table.to_numpy(), strict=True)]
    head, entry = "affair,1,2,3,4", {"kind": "frequencies", "by": ["affair", "religion"]}
    texts = {
        "head": head,
        "levels": head.removeprefix("affair,"),
        "rows": "\n".join(rows),
        "with_percent": "\n".join(f"{row},50.0" for row in rows),
        "bars": head.replace(",", "|"),
        "bar_rows": "\n".join(f"|{row.replace(',', '|')}|" for row in rows),
    }
    if what == "html":
        text = table.to_html()
    elif what == "Stata":
        n = counts("religion")
        text = "religion,Freq.,Percent,Cum.\n" + "".join(f"{k},{v},25.00,25.00\n" for k, v in n.items())
        entry = {"kind": "frequencies", "by": ["religion"]}
    elif what in ("blanks", "merged heads"):
        three = pd.crosstab([frame()["affair"], frame()["religion"]], frame()["marriage"])
        lines = [
            ",".join(map(str, ["" if at % 4 else first, second, *row]))
            for at, ((first, second), row) in enumerate(zip(three.index, three.to_numpy(), strict=True))
        ]
        heads = "affair,religion,1,2,3,4,5" if what == "blanks" else "affair,religion,marriage,,,,\n,,1,2,3,4,5"
        text = "\n".join([heads, *lines])
        entry = {"kind": "frequencies", "by": ["affair", "religion", "marriage"]}
    else:
        text = AROUND[what].format(**texts)
    (beside,) = read(tmp_path, text, entry, "html" if what == "html" else "csv")
    assert beside.matched.all() and not np.any(np.isinf(beside.released.high))


def test_a_pivot_of_means_is_no_table_of_counts(tmp_path):
    text = "Average of age,Column Labels,\nRow Labels,1,2,3,4\n0,28,29,30,31\n1,28,29,30,31\n"
    with pytest.raises(OutputError, match="the pivot table has the 'Average of age', which is no number of people"):
        read(tmp_path, text, {"kind": "frequencies", "by": ["affair", "religion"]})


@pytest.mark.parametrize("what", ["describe", "var", "brackets", "plus and minus", "two variables"])
def test_means_as_programs_print_them(tmp_path, caplog, what):
    caplog.set_level("INFO", "outrisk")
    groups = frame().groupby("affair")[["age", "educ"]]
    mean, sd = groups.mean()["age"], groups.std()["age"]
    if what == "describe":
        text, line = frame().groupby("affair")["age"].describe().round(3).to_csv(), "columns 25%, 50%, 75% are left out"
    elif what == "var":
        text, line = (
            frame().groupby("affair")["age"].agg(["mean", "var", "count"]).round(3).to_csv(),
            "columns var are left out",
        )
    elif what == "two variables":
        text, line = groups.agg(["mean", "std"]).round(2).to_csv(), "columns of educ are left out"
    else:
        head, cell = ("mean (sd)", "{:.2f} ({:.2f})") if what == "brackets" else ("Mean ± SD", "{:.2f} ± {:.2f}")
        text, line = f"affair,{head}\n" + "".join(f"{k},{cell.format(mean[k], sd[k])}\n" for k in (0, 1)), ""
    (beside,) = read(tmp_path, text, MEANS)
    assert beside.matched.all() and line in caplog.text
    assert "mean" in beside.released.output.statistics and len(beside.released.output.statistics) >= 2


def test_a_table_one_of_fractions_and_what_page_breaks_and_totals_add(tmp_path, caplog):
    caplog.set_level("INFO", "outrisk")
    entry = {"kind": "table_one", "by": "affair"}
    with pytest.raises(OutputError, match=r"% of children = 0 is '0.508', a share or a percentage"):
        read(tmp_path, '\nx,0 (N=4313),1 (N=2053)\n"children = 0, %",0.508,0.475\n', entry)
    n = pd.crosstab(frame()["religion"], frame()["affair"])
    ages = frame().groupby("affair")["age"].agg(["mean", "std"])
    head = 'x,"0 (N=4,313)","1 (N=2,053)"\n'
    text = head + "Unweighted N,4313,2053\n" + '"religion, n (%)",,\n'
    sizes = n.sum()
    for level, row in n.iterrows():
        text += f"  {level},{row[0]} ({100 * row[0] / sizes[0]:.1f}),{row[1]} ({100 * row[1] / sizes[1]:.1f})\n"
    text += "  Total,4313 (100.0),2053 (100.0)\n" + head
    text += '"age, mean (SD)",' + ",".join(f"{each['mean']:.2f} ({each['std']:.2f})" for _, each in ages.iterrows())
    found = read(tmp_path, text, entry)
    assert all(beside.matched.all() for beside in found) and len(found) == 3
    assert "the row 'Total' below levels of religion is left out" in caplog.text
