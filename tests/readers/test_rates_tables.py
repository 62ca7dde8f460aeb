"""Tables of rates in files and printed pages: statistics by their heads, per, limits, totals; against a refit."""

import logging

import numpy as np
import pandas as pd
import pytest
from fair import MEANINGS, codebook, data, frame, study

from outrisk.errors import OutputError
from outrisk.outputs.tables.person_time import Limits

RATES = {"kind": "rates", "numerator": "affair", "denominator": "yrs_married", "by": ["religion"]}


def totals(by=("religion",)):
    return frame().groupby(list(by))[["affair", "yrs_married"]].sum()


def numbers(by=("religion",), per=1000.0, interval="exact", level=0.95):
    """Events, time, rate and limits as a table, unrounded."""
    found = totals(by)
    found.columns = ["events", "time"]
    found["rate"] = per * found["events"] / found["time"]
    ends = Limits(interval, level).of(found["events"])
    found[["lower", "upper"]] = per * ends / found["time"].to_numpy()[:, None]
    return found


def read(text, tmp_path=None, **entry):
    """What a study reads off a page or, in a folder, a file, beside what the data give: (released, refit) of each."""
    if tmp_path is not None:
        (tmp_path / "rates.csv").write_text(text, encoding="utf-8")
    values = text if tmp_path is None else str(tmp_path / "rates.csv")
    given = study({**RATES, **entry, "values": values}).given(codebook())
    return [(released, released.recompute(data())) for released in given.values()]


@pytest.mark.parametrize(
    "heads",
    [
        ["D", "Y", "Rate", "Lower", "Upper"],
        ["_D", "_Y", "_Rate", "_Lower", "_Upper"],
        ["events", "person-years", "IR", "LCL", "UCL"],
        ["Deaths", "Person time", "Rate per 1,000", "95% LCL", "95% UCL"],
        ["affair", "yrs_married", "rate (per 1000 person-years)", "conf.low", "conf.high"],
        ["n.event", "pyears", "Incidence rate", "lower 95%", "upper 95%"],
        ["cases", "person_years", "rate_per_1000", "lower limit", "upper limit"],
    ],
)
@pytest.mark.parametrize("interval", ["exact", "byar", "log"])
def test_a_table_with_a_column_a_statistic(tmp_path, heads, interval):
    text = numbers(interval=interval).round(7).set_axis(heads, axis=1).to_csv()
    said = {"per": 1000} if "_Y" in heads else {}  # by which strate may have divided it
    ((released, beside),) = read(text, tmp_path, **said)
    output = released.output
    assert output.statistics == ("numerator", "denominator", "rate", "limits")
    assert (output.per, output.interval, output.level) == (1000, interval, 0.95)
    assert beside.matched.all() and len(released.low) == 20


def test_limits_of_few_digits_are_told_by_their_distance(tmp_path):
    for interval in ("exact", "log"):
        text = numbers(["occ"], interval=interval).round(1).to_csv()
        ((released, beside),) = read(text, tmp_path, by=["occ"])
        assert released.output.interval == interval and beside.matched.all()


def test_limits_in_one_cell_and_behind_the_rate(tmp_path):
    found = numbers(level=0.9, interval="log").round(2)
    for cell in (
        "{:.2f}-{:.2f}",
        "({:.2f}, {:.2f})",
        "({:.2f},{:.2f})",
        "[{:.2f}; {:.2f}]",
        "{:.2f} to {:.2f}",
        "{:.2f} – {:.2f}",
    ):
        ends = [cell.format(*pair) for pair in found[["lower", "upper"]].to_numpy()]
        table = found[["events", "time", "rate"]].assign(**{"90% CI": ends})
        ((released, beside),) = read(table.to_csv(), tmp_path)
        assert released.output.level == 0.9 and released.output.interval == "log" and beside.matched.all()
        if cell[0] in "([":
            behind = [f"{rate:.2f} {pair}" for rate, pair in zip(found["rate"], ends, strict=True)]
            table = found[["events", "time"]].assign(**{"Rate (90% CI)": behind})
            ((released, beside),) = read(table.to_csv(), tmp_path)
            assert len(released.low) == 20 and beside.matched.all()


def test_rates_alone_and_statistics_that_are_said(tmp_path):
    found = numbers().round(1)
    ((released, beside),) = read(found[["rate"]].to_csv(), tmp_path, per=1000)
    assert released.output.statistics == ("rate",) and beside.matched.all() and released.decimals.max() == 1
    ((released, beside),) = read(found.to_csv(), tmp_path, statistics=["rate", "numerator"])
    assert released.output.statistics == ("rate", "numerator") and beside.matched.all()


def test_two_variables_wide_and_long_and_from_a_workbook(tmp_path):
    by = ["religion", "children"]
    found = numbers(by).round(3)
    ((_, beside),) = read(found.to_csv(), tmp_path, by=by)
    assert beside.matched.all()
    ((released, beside),) = read(found.to_csv(), tmp_path, by=[])
    assert released.output.by == tuple(by) and beside.matched.all()
    wide = found[["events", "time", "rate"]].unstack()
    ((_, beside),) = read(wide.to_csv(), tmp_path, by=by)
    assert beside.matched.all()
    ((_, beside),) = read(found["rate"].unstack().to_csv(), tmp_path, by=by, per=1000)
    assert beside.matched.all()
    pytest.importorskip("openpyxl")
    found.reset_index().to_excel(tmp_path / "t.xlsx", index=False)
    given = study({**RATES, "by": by, "values": str(tmp_path / "t.xlsx")}).given(codebook())
    assert all(released.recompute(data()).matched.all() for released in given.values())


def test_a_total_and_a_table_of_one_row(tmp_path):
    everybody = frame().assign(religion="Total").groupby("religion")[["affair", "yrs_married"]].sum()
    rows = pd.concat([totals(), everybody])
    rows["rate"] = (1000 * rows["affair"] / rows["yrs_married"]).round(2)
    cells, total = read(rows.to_csv(index_label="religion"), tmp_path)
    assert cells[1].matched.all() and total[1].matched.all() and total[0].output.by == ()
    ((released, beside),) = read(rows.tail(1).to_csv(index=False), tmp_path, by=[])
    assert released.output.by == () and beside.matched.all() and len(released.low) == 3


def test_withheld_cells(tmp_path):
    found = numbers(["occ"]).round(2).astype(object)
    few = totals(["occ"])["affair"].to_numpy() < 100
    found.loc[few, "events"] = "<100"
    found.loc[few, ["rate", "lower", "upper"]] = "*"
    ((released, beside),) = read(found.to_csv(), tmp_path, by=["occ"])
    assert released.output.protection.threshold == 100 and few.sum() == 2 and beside.matched.all()
    with pytest.raises(OutputError, match="has no threshold; add its 'protection'"):
        read(found.replace("<100", "*").to_csv(), tmp_path, by=["occ"])


def test_denominators_that_are_divided_as_rates_are(tmp_path, caplog):
    found = numbers()
    found["time"] /= 1000
    text = found.round(3).to_csv()
    ((released, beside),) = read(text, tmp_path, per=1000)
    assert beside.matched.all() and released.low[1] == round(totals()["yrs_married"].iloc[0])
    found = numbers(per=365.25)
    found["time"] /= 365.25
    with caplog.at_level(logging.INFO, "outrisk"):
        ((released, beside),) = read(found.round(3).to_csv(), tmp_path, per=365.25)
    assert released.output.statistics == ("numerator", "rate", "limits") and beside.matched.all()
    assert "denominators are divided by 365.25" in caplog.text


@pytest.mark.parametrize(
    ("change", "entry", "message"),
    [
        (lambda t: t.rename(columns={"rate": "hazard", "events": "a", "time": "b", "lower": "c", "upper": "e"}),
         {"statistics": ["rate", "numerator"]}, "no column of a rate is known in it"),
        (lambda t: t.drop(columns="upper"), {}, "a lower limit alone; add the other"),
        (lambda t: t.assign(IR=1.0), {}, "'rate' and 'IR' are both columns of a rate"),
        (lambda t: t.rename(columns={"rate": "rate per 1000"}), {"per": 100}, "'per' is 100 in the study and 1000"),
        (lambda t: t.assign(rate=t["rate"] + 1), {}, "its rates are not its numerators per"),
        (lambda t: t.assign(upper=t["upper"] + 1), {}, "its limits are neither exact, byar nor log"),
        (lambda t: t.assign(level=95.5), {"level": 0.9}, "'level' is 0.9 in the study and 0.955 in the table"),
        (lambda t: t.assign(rate="many"), {}, "the value of religion=1 is 'many', which is not a number"),
        (lambda t: t.drop(columns="time"), {"statistics": ["denominator"]}, "the table has no denominator; it has"),
        (lambda t: t.drop(columns=["lower", "upper"]).assign(ci="from 1 up"), {}, "the limits 'from 1 up' are not two"),
        (lambda t: t.drop(columns=["lower", "upper"]).assign(ci="1,234.5"), {}, "the limits '1,234.5' are not two"),
        (lambda t: t.rename(columns={"time": "_Y"}), {}, r"strate has divided its _Y by its per\(\); say which"),
        (lambda t: t.rename(index={4: 7}), {}, "'7' is no level of 'religion'"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(tmp_path, change, entry, message):
    text = change(numbers().round(3)).to_csv()
    with pytest.raises(OutputError, match=message) as error:
        read(text, tmp_path, **entry)
    assert "\n" not in str(error.value)


def test_a_column_that_is_no_statistic_is_left_out(tmp_path, caplog):
    text = numbers().round(3).assign(**{"adjusted rate per 1000": 0.1, "Rate ratio": 1, "n": 7}).to_csv()
    with caplog.at_level(logging.INFO, "outrisk"):
        ((_, beside),) = read(text, tmp_path)
    assert beside.matched.all() and "left out: adjusted rate per 1000, Rate ratio, n" in caplog.text


def test_a_cell_without_events(tmp_path):
    found = numbers(["occ"], interval="log").round(3).astype(object)
    found.loc["student", ["events", "rate"]] = 0
    found.loc["student", ["lower", "upper"]] = "."
    ((released, _),) = read(found.to_csv(), tmp_path, by=["occ"])
    at = released.labels.index("occ=student: lower limit")
    assert released.output.interval == "log" and np.isinf(released.high[at])


def boxed(heads, rows):
    """A table as Stata's `list` draws it."""
    widths = [2 + max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    inner = ["".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows]]
    rule = "-" * (len(inner[0]) + 1)
    drawn = "\n".join(f"  |{line} |" for line in inner[1:])
    return f"  +{rule}+\n  |{inner[0]} |\n  |{rule}|\n{drawn}\n  +{rule}+\n"


def strate(by=("religion",), per=1000, title="Estimated failure rates", wide=4, level=95, names=None, called=str):
    """What strate prints: Y divided by per(), no limits where nobody failed."""
    found, power = numbers(by, per, "log", level / 100), 0 if per == 1 else wide
    rows = [
        [
            *map(called, key if isinstance(key, tuple) else (key,)),
            f"{row.events:.0f}",
            f"{row.time / per:.{power}f}",
            *("." if np.isnan(each) else f"{each:.{wide}f}" for each in (row.rate, row.lower, row.upper)),
        ]
        for key, row in zip(found.index, found.itertuples(), strict=True)
    ]
    unit = f" (per {per:g})" if per != 1 else ""
    above = f"{title}{unit} and lower/upper bounds of {level}% confidence intervals"
    command = f". strate {' '.join(by)}{f', per({per:g})' if per != 1 else ''}"
    table = boxed([*(names or by), "D", "Y", "Rate", "Lower", "Upper"], rows)
    facts = "        Failure _d: affair\n  Analysis time _t: yrs_married\n"
    return f"{command}\n\n{facts}\n{above}\n(6,366 records included in the analysis)\n\n{table}"


@pytest.mark.parametrize("title", ["Estimated failure rates", "Estimated rates"])
@pytest.mark.parametrize("per", [1, 100, 1000, 100_000])
def test_strate_of_stata(title, per):
    ((released, beside),) = read(strate(per=per, title=title))
    output = released.output
    assert (output.per, output.interval, output.level) == (per, "log", 0.95) and len(released.low) == 20
    assert beside.matched.all()
    time = np.array([": denominator" in label for label in released.labels])
    assert np.allclose((released.low + released.high)[time] / 2, totals()["yrs_married"], rtol=0, atol=5)


def test_strate_whose_title_does_not_say_what_its_command_does():
    ((released, _),) = read(strate(per=1000))
    ((same, _),) = read(strate(per=1000).replace(" (per 1000)", ""))
    assert "(per 1000)" in strate(per=1000) and same.output.per == 1000.0
    assert (same.low == released.low).all() and (same.high == released.high).all()


def test_strate_whose_person_time_has_few_digits():
    """Y of 5.742 by per(10000) is 57,420 give or take 5, and no exact 57,420."""
    ((released, beside),) = read(strate(per=10_000, wide=3))
    time = [": denominator" in label for label in released.labels]
    assert np.allclose((released.high - released.low)[time], 10) and beside.matched.all()


def test_strate_by_two_variables_with_a_name_cut_off_and_by_none():
    by = ("religion", "children")
    ((released, beside),) = read(strate(by, names=["religion", "chil~n"]), by=list(by))
    assert released.output.by == by and beside.matched.all()
    everybody = strate().split("  +--")[0].replace("strate religion", "strate")
    whole = totals().sum()
    rate = 1000 * whole["affair"] / whole["yrs_married"]
    ends = np.exp(np.array([-1, 1]) * 1.959964 / np.sqrt(whole["affair"])) * rate
    cells = [f"{whole['affair']:.0f}", *(f"{each:.4f}" for each in (whole["yrs_married"] / 1000, rate, *ends))]
    ((released, beside),) = read(everybody + boxed(["D", "Y", "Rate", "Lower", "Upper"], [cells]), by=[])
    assert released.output.by == () and beside.matched.all() and len(released.low) == 5


def test_strate_of_value_labels_with_blanks():
    text = strate(level=90, called=lambda level: MEANINGS[level - 1])
    given = study({**RATES, "values": text}).given(codebook(labelled=True))
    (released,) = given.values()
    assert "|  not at all " in text and released.output.level == 0.9
    assert released.recompute(data(labelled=True)).matched.all()


def test_jackknife_limits_are_left_out(caplog):
    with caplog.at_level(logging.INFO, "outrisk"):
        ((released, beside),) = read(strate().replace("95% conf", "95% jackknife conf"))
    assert released.output.statistics == ("numerator", "denominator", "rate") and beside.matched.all()
    assert "jackknife limits are not known here; they are left out" in caplog.text


def shown(number):
    """A number as Stata's %9.0g shows it."""
    text = f"{number:.{max(0, 7 - len(str(int(number))) + (number < 1))}f}".removeprefix("0")
    return text.rstrip("0").rstrip(".") if "." in text else text


def stptime(per=1000, old=False, title="Person-time", by=True):
    """What stptime prints: person-time undivided, a total below."""
    whole = totals().sum()
    ends = Limits("log", 0.95).of(whole["affair"])
    rates = per * np.array([whole["affair"], *ends]) / whole["yrs_married"]
    rows = [(key, *row) for key, row in zip(totals().index, numbers(per=per, interval="log").to_numpy(), strict=True)]
    rows = [(key, time, events, *others) for key, events, time, *others in rows]
    last = ("total" if old else "Total", whole["yrs_married"], whole["affair"], *rates)
    lines = [
        f"{key:>8} | {shown(time):>11} {events:>10.0f} " + " ".join(f"{shown(each):>11}" for each in others)
        for key, time, events, *others in [*(rows if by else []), last]
    ]
    heads = [title, "Failures", "Rate", "[95% conf. interval]"]
    heads = [title.lower(), "failures", "rate", "[95% Conf. Interval]"] if old else heads
    rule = "---------+" + "-" * 60
    head = f"{'religion' if by else 'Cohort':>8} | {heads[0]:>11} {heads[1]:>10} {heads[2]:>11}   {heads[3]}"
    typed = f". stptime, {'by(religion) ' if by else ''}per({per:g}) title({title})"
    body = [*lines[:-1], *([rule] if by else []), lines[-1]]
    return "\n".join([typed, "", "        Failure _d: affair", "", head, rule, *body, "", ". "])


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("per", [1, 1000])
@pytest.mark.parametrize("title", ["Person-time", "Person-years", "years at risk"])
def test_stptime_of_stata(old, per, title):
    (cells, beside), (total, of_total) = read(stptime(per, old, title))
    assert (cells.output.per, cells.output.interval) == (per, "log") and beside.matched.all()
    assert total.output.by == () and of_total.matched.all() and len(total.low) == 5
    rate = total.labels.index("all: rate")
    assert total.high[rate] - total.low[rate] < 1e-4


def test_stptime_without_by_and_without_its_command():
    ((released, beside),) = read(stptime(by=False), by=[])
    assert released.output.by == () and beside.matched.all() and len(released.low) == 5
    (_, beside), _ = read("\n".join(stptime().splitlines()[1:]))
    assert beside.matched.all()


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (strate(), {"per": 100}, "'per' is 100 in the study and 1000 in the table"),
        (strate(), {"by": ["occ"]}, "the table is by religion, 'by' says"),
        (strate() + strate(), {}, "it has 2 tables of rates; say which"),
        (strate().replace("Lower ", "Least "), {}, "known are D, Y, Rate, Lower, Upper"),
        (strate()[:500], {}, "there is no whole table of strate"),
        (strate().replace("|         1", "|   1"), {}, "does not stand in line with its head"),
        (strate().replace("95%", "80%"), {}, "its limits are neither exact, byar nor log limits"),
        (stptime().replace("       1 | ", "       1 | x "), {}, "is no row of stptime"),
        (stptime().replace("       1 |", "(0 - 50] |"), {}, r"'\(0 - 50\]' is no level of 'religion'"),
    ],
)
def test_logs_that_cannot_be_read_are_refused(text, entry, message):
    with pytest.raises(OutputError, match=message) as error:
        read(text, **entry)
    assert "\n" not in str(error.value)


def test_one_of_several_tables_of_a_log(tmp_path):
    (tmp_path / "log.txt").write_text(strate(["occ"]) + "\n" + stptime())
    for number, tables in ((1, 1), (2, 2)):
        by = ["occ"] if number == 1 else ["religion"]
        given = study({**RATES, "by": by, "values": f"{tmp_path / 'log.txt'}#{number}"}).given(codebook())
        assert len(given) == tables and all(each.recompute(data()).matched.all() for each in given.values())
    with pytest.raises(OutputError, match="it has no table 3 of rates; it has 2"):
        study({**RATES, "values": f"{tmp_path / 'log.txt'}#3"}).given(codebook())
