"""Descriptive tables in logs of Stata: each number found, mutated prints read right or refused."""

import os
import random
import re

import as_stata as stata
import numpy as np
import pytest
from test_fuzz_values import mutated

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.errors import OutputError, OutRiskError

PEOPLE = stata.people()
WAGE = {"kind": "magnitudes", "value": "wage"}
BY_AREA = WAGE | {"by": ["area"]}
BY_BOTH = WAGE | {"by": ["area", "wave"]}
ENDS = {"kind": "quantiles", "value": "wage", "quantiles": ["min", "max"]}
RANKS = ENDS | {"quantiles": ["min", "median", "max"]}
SHAPE = {"kind": "shape", "value": "wage", "moments": "population"}
COUNTS = {"kind": "frequencies", "by": ["area"]}
CROSSED = {"kind": "frequencies", "by": ["area", "wave"]}
SOME = ["N", "Mean", "SD", "Min", "Max"]
SHARES = ("row", "column", "cell")
TWO = ["wage", "age"]
BY = {"by": "area"}
PRINTS = {  # a print, and what is read of it: an entry, and how many numbers of it
    "summarize": (stata.summarize(PEOPLE, TWO), WAGE, 3),
    "summarize, ends": (stata.summarize(PEOPLE, TWO), ENDS, 2),
    "detail": (stata.detail(PEOPLE, "wage"), WAGE, 3),
    "detail, ranks": (stata.detail(PEOPLE, "wage"), RANKS, 3),
    "detail, shape": (stata.detail(PEOPLE, "wage"), SHAPE, 3),
    "tabstat": (stata.tabstat(PEOPLE, TWO, SOME), WAGE, 3),
    "tabstat, old": (stata.tabstat(PEOPLE, TWO, SOME, old=True), WAGE, 3),
    "tabstat, columns": (stata.tabstat(PEOPLE, TWO, SOME, columns="statistics"), WAGE, 3),
    "tabstat by": (stata.tabstat(PEOPLE, ["wage"], SOME, **BY), BY_AREA, 12),
    "tabstat by, old": (stata.tabstat(PEOPLE, ["wage"], ["N", "Mean", "SD", "SE(mean)"], old=True, **BY), BY_AREA, 16),
    "tabstat by, two": (stata.tabstat(PEOPLE, TWO, SOME, **BY), BY_AREA, 12),
    "tabstat by, long": (stata.tabstat(PEOPLE, TWO, SOME, long=True, **BY), BY_AREA, 12),
    "tabstat by, columns": (stata.tabstat(PEOPLE, TWO, SOME, columns="statistics", **BY), BY_AREA, 12),
    "tabstat by, long columns": (
        stata.tabstat(PEOPLE, TWO, SOME, columns="statistics", long=True, total=False, **BY),
        BY_AREA,
        9,
    ),
    "tabstat by, ranks": (stata.tabstat(PEOPLE, TWO, ["p50", "Min", "Max"], **BY), RANKS | BY, 12),
    "tabstat by, shape": (
        stata.tabstat(PEOPLE, ["wage"], ["Skewness", "Kurtosis", "CV"], **BY),
        SHAPE | {"statistics": ["skewness", "kurtosis", "cv"], "percent": False} | BY,
        12,
    ),
    "tabulate": (stata.tabulate(PEOPLE, "area"), COUNTS, 4),
    "tabulate, shares": (stata.tabulate(PEOPLE, "area"), COUNTS | {"show": "proportions"}, 3),
    "tabulate two": (stata.tabulate(PEOPLE, "area", "wave"), CROSSED, 12),
    "tabulate two, shares": (stata.tabulate(PEOPLE, "area", "wave", SHARES), CROSSED, 12),
    "tabulate two, rows": (
        stata.tabulate(PEOPLE, "area", "wave", SHARES),
        CROSSED | {"show": "row_percentages"},
        6,
    ),
    "tabulate two, turned": (
        stata.tabulate(PEOPLE, "area", "wave", SHARES),
        {"kind": "frequencies", "by": ["wave", "area"], "show": "row_percentages"},
        6,
    ),
    "tabulate two, turned columns": (
        stata.tabulate(PEOPLE, "area", "wave", SHARES),
        {"kind": "frequencies", "by": ["wave", "area"], "show": "column_percentages"},
        6,
    ),
    "tabulate two, cells": (stata.tabulate(PEOPLE, "area", "wave", SHARES), CROSSED | {"show": "proportions"}, 6),
    "tabulate, summarize": (stata.tabulate_summarize(PEOPLE, "area", "wage"), BY_AREA, 12),
    "tabulate two, summarize": (stata.tabulate_summarize(PEOPLE, "area", "wage", "wave"), BY_BOTH, 36),
    "mean": (stata.mean(PEOPLE, ["wage"]), WAGE, 5),
    "mean, over": (stata.mean(PEOPLE, TWO, "area"), BY_AREA, 6),
    "mean, over, old": (stata.mean(PEOPLE, TWO, "area", old=True), BY_AREA, 6),
    "ci means": (stata.ci_means(PEOPLE, TWO), WAGE, 5),
}


def matched(found):
    """Whether all numbers are those of the records; how many they are."""
    numbers = 0
    for released, beside in found:
        off = np.abs(beside.differences) * 10.0 ** released.decimals[released.known]
        assert beside.failure == "" and (beside.matched | (off <= ROUNDING)).all(), released.labels
        numbers += int(released.known.sum())
    return numbers


@pytest.mark.parametrize("name", PRINTS)
def test_every_number_of_a_print_is_found(name, tmp_path):
    text, entry, numbers = PRINTS[name]
    assert matched(stata.given(text, entry, tmp_path)) == numbers


@pytest.mark.parametrize("name", PRINTS)
def test_a_changed_number_is_seen(name, tmp_path):
    text, entry, _ = PRINTS[name]
    found = stata.given(text, entry, tmp_path)
    label = next(each for each, known in zip(found[0][0].labels, found[0][0].known, strict=True) if known)
    cells = [each for each in re.findall(r"(?<=\s)[\d.]*\d(?=\s)", text) if len(each) > 1]
    changed = 0
    for cell in sorted(set(cells), key=cells.index)[:12]:
        other = text.replace(cell, cell[:-1] + str((int(cell[-1]) + 5) % 10))
        try:
            numbers = stata.given(other, entry, tmp_path)
        except OutRiskError:
            changed += 1
            continue
        changed += any(not beside.matched.all() for _, beside in numbers)
    assert changed, label


@pytest.mark.parametrize("name", PRINTS)
def test_a_row_without_a_cell_is_refused_or_of_another_variable(name, tmp_path):
    text, entry, _ = PRINTS[name]
    lines = text.splitlines()
    whole = [list(released.values) for released, _ in stata.given(text, entry, tmp_path)]
    for at, line in enumerate(lines):
        cells = list(re.finditer(r"(?<=[\s|])-?[\d.,]+(?=\s|$)", line))
        if not cells or ("|" not in line and "%" not in line):
            continue
        first = cells[-1]
        cut = [*lines[:at], line[: first.start()] + " " * len(first[0]) + line[first.end() :], *lines[at + 1 :]]
        try:
            found = stata.given("\n".join(cut) + "\n", entry, tmp_path)
        except OutRiskError:
            continue
        again = [list(released.values) for released, _ in found]
        assert [np.nan_to_num(each).tolist() for each in again] == [np.nan_to_num(each).tolist() for each in whole], (
            line
        )


@pytest.mark.parametrize("name", PRINTS)
@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_a_print_that_is_cut_off_is_refused_or_what_is_there_is_right(name, cut, tmp_path):
    text, entry, _ = PRINTS[name]
    lines = text.splitlines()
    try:
        found = stata.given("\n".join(lines[: int(cut * len(lines))]) + "\n", entry, tmp_path)
    except OutRiskError:
        return
    for released, beside in found:
        off = np.abs(beside.differences) * 10.0 ** released.decimals[released.known]
        there = ~np.isnan(off)
        counts = np.array(["count" in each for each in np.array(released.labels)[released.known]])
        assert (off[there & ~counts] <= ROUNDING).all()


def in_markup(text):
    """A log as .smcl has it: commands, results and rules in directives."""
    lines = ["{smcl}", "{com}{sf}{ul off}{txt}{.-}"]
    for line in text.splitlines():
        line = line.replace("{", "{c -(}")
        if line.startswith(". "):
            lines.append("{com}" + line)
            continue
        line = re.sub(r"-{4,}", lambda found: f"{{hline {len(found[0])}}}", line)
        left, bar, right = line.partition("|")
        if bar:
            name = left.strip()
            line = f"{{txt}}{{ralign {max(len(left) - 1, len(name))}:{name}}}{' ' if left else ''}{{c |}}"
            line += f"{{res}}{right.replace('|', '{c |}')}"
        lines.append(line.replace("}+{", "}{c +}{"))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", PRINTS)
def test_a_log_with_markup_is_the_log(name, tmp_path):
    text, entry, numbers = PRINTS[name]
    found = stata.given(
        in_markup(stata.log(("display 1", "1\n"), ("describe", text))), entry, tmp_path, name="out.smcl"
    )
    assert matched(found) == numbers


@pytest.mark.parametrize("name", PRINTS)
def test_decimal_commas_are_read(name, tmp_path):
    text, entry, numbers = PRINTS[name]
    turned = re.sub(r"(?<![\w.,])-?[\d.,]*\d[\d.,]*(?!\w)", lambda n: n[0].translate(str.maketrans(".,", ",.")), text)
    if "," not in turned:
        pytest.skip("no decimals")
    assert matched(stata.given(turned, entry, tmp_path)) == numbers


def test_each_output_takes_its_table_of_a_whole_log(tmp_path):
    text = stata.log(
        ("use people, clear", "(60 people)\n"),
        ("summarize wage age", stata.summarize(PEOPLE, TWO)),
        ("summarize wage, detail", stata.detail(PEOPLE, "wage")),
        ("tabstat wage, by(area) stat(n mean sd min max)", stata.tabstat(PEOPLE, ["wage"], SOME, **BY)),
        ("tabulate area wave, row column cell", stata.tabulate(PEOPLE, "area", "wave", SHARES)),
        ("tab1 area wave", f"\n-> tabulation of area\n{stata.tabulate(PEOPLE, 'area')}"
                           f"\n-> tabulation of wave\n{stata.tabulate(PEOPLE, 'wave')}"),
        ("mean age, over(area)", stata.mean(PEOPLE, ["age"], "area")),
    )  # fmt: skip
    for entry, numbers in ((BY_AREA, 12), (RANKS, 3), (SHAPE, 3), (CROSSED, 12), (COUNTS, 4), (ENDS | BY, 8)):
        assert matched(stata.given(text, entry, tmp_path)) == numbers
    assert matched(stata.given(text, {"kind": "frequencies", "by": ["wave"]}, tmp_path)) == 3
    assert matched(stata.given(text, {"kind": "magnitudes", "value": "age", "by": ["area"]}, tmp_path)) == 6
    assert matched(stata.given(text, WAGE, tmp_path)) == 3  # the same numbers by summarize, and with detail
    other = stata.summarize(PEOPLE[PEOPLE["age"] > 30], ["wage"])
    with pytest.raises(OutputError, match=r"2 tables of wage; say which .*'...#2'"):
        stata.given(text + stata.log(("summarize wage if age > 30", other), opened=False), WAGE, tmp_path)
    assert matched(stata.given(text, WAGE, tmp_path, suffix="#1")) == 3
    assert matched(stata.given(text, WAGE, tmp_path, suffix="#3")) == 3
    with pytest.raises(OutputError, match="no table 30"):
        stata.given(text, WAGE, tmp_path, suffix="#30")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("summarize wage if age > 30", "of a subset, age > 30"),
        ("summarize wage in 1/30", "of a subset, in 1/30"),
        ("quietly: by wave: summarize wage if ill == 1", "of a subset, ill == 1"),
        ("summarize wage [aw=age]", r"weighted \(aw=age\)"),
        ("summarize wage [fweight = age] if ill", "weighted"),
    ],
)
def test_a_table_of_some_or_with_weights_is_refused(command, says, tmp_path):
    with pytest.raises(OutputError, match=says):
        stata.given(stata.log((command, stata.summarize(PEOPLE, ["wage"]))), WAGE, tmp_path)


@pytest.mark.parametrize("over", ["", "area"])
def test_means_by_other_errors_are_refused(over, tmp_path):
    text = stata.mean(PEOPLE, ["wage"], over)
    head = next(line for line in text.splitlines() if "Std. err." in line)
    for other, says in (
        (text.replace("\nMean est", "\nMultiple-imputation estimates     Imputations =  20\nMean est"), "imputations"),
        (text.replace(head, f"{head.partition('|')[0]}|               Robust\n{head}"), "'Robust'"),
        (text.replace("\n\n---", "\n\n         (Std. err. adjusted for 9 clusters in age)\n---", 1), "clusters"),
        (text.replace("Mean   Std. err.", "Ratio  Linearized"), "laid out|no tables"),
    ):
        assert other != text
        with pytest.raises(OutputError, match=says):
            stata.given(other, BY_AREA if over else WAGE, tmp_path)


def test_records_complete_in_all_variables_are_those_of_the_output(tmp_path):
    frame = PEOPLE.assign(wage=PEOPLE["wage"].where(PEOPLE.index > 4), area=PEOPLE["area"].where(PEOPLE.index < 50))
    complete = frame.dropna()
    age = WAGE | {"value": "age"}
    text = stata.log(("tabstat age wage, s(n mean sd) casewise", stata.tabstat(complete, ["age", "wage"], SOME[:3])))
    found = stata.given(text, age, tmp_path, frame.assign(area=PEOPLE["area"]))
    assert found[0][0].output.where == "wage.notna()"
    text = stata.log(("mean age wage", stata.mean(frame[frame["wage"].notna()], ["age", "wage"])))
    assert matched(stata.given(text, age, tmp_path, frame)) == 5


def test_whom_the_data_of_a_log_are_is_said(tmp_path, caplog):
    caplog.set_level("INFO")
    text = stata.log(("keep if age > 17", "(0 observations deleted)\n"), ("su wage", stata.summarize(PEOPLE, ["wage"])))
    assert matched(stata.given(text, WAGE, tmp_path)) == 3 and "keep if age > 17" in caplog.text
    caplog.clear()
    text = text.replace(". su wage", ". use people, clear\n\n. su wage")
    assert matched(stata.given(text, WAGE, tmp_path)) == 3 and "keep if" not in caplog.text


def test_groups_of_a_prefix_are_one_table(tmp_path):
    rule = "-" * 79
    parts = [f"\n{rule}\n-> area = {area}\n{stata.summarize(part, TWO)}" for area, part in PEOPLE.groupby("area")]
    for order in (parts, parts[::-1]):
        text = stata.log(("bysort area: summarize wage age", "".join(order)))
        assert matched(stata.given(text, BY_AREA, tmp_path)) == 9
        with pytest.raises(OutputError, match="no tables of wage;"):
            stata.given(text, WAGE, tmp_path)


def test_groups_in_another_order_are_read_by_their_names(tmp_path):
    text = stata.tabstat(PEOPLE, ["wage"], SOME, total=False, **BY)
    lines = text.splitlines()
    rows = [at for at, line in enumerate(lines) if re.match(r"\s+(north|south|west) \|", line)]
    lines[rows[0]], lines[rows[2]] = lines[rows[2]], lines[rows[0]]
    assert matched(stata.given("\n".join(lines) + "\n", BY_AREA, tmp_path)) == 9


def test_labels_that_are_cut_off_are_known(tmp_path):
    labels = {1: "first wave", 2: "second wave of "}  # of 'second wave of the panel'
    frame = PEOPLE.assign(wave=PEOPLE["wave"].map(labels))
    text = stata.tabstat(frame, ["wage"], SOME, by="wave")
    assert matched(stata.given(text, WAGE | {"by": ["wave"]}, tmp_path)) == 9
    text = stata.tabulate(frame, "area", "wave")
    assert "second wa" in text and matched(stata.given(text, CROSSED, tmp_path)) == 12
    with pytest.raises(OutRiskError, match="'secnd wav' is no level"):
        stata.given(text.replace("second wa", "secnd wav"), CROSSED, tmp_path)


def test_a_format_of_its_own_is_taken_as_it_is_printed(tmp_path):
    text = stata.tabstat(PEOPLE, ["wage"], ["Mean", "SD", "Min"], form=lambda x: f"{x:.2f}", **BY)
    ((released, _), _) = found = stata.given(
        stata.log(("tabstat wage, by(area) s(mean sd min) format(%9.2f)", text)), BY_AREA, tmp_path
    )
    assert matched(found) == 8 and set(released.decimals) == {2}
    whole = stata.tabstat(PEOPLE, ["wage"], ["Mean", "SD"], form=lambda x: f"{x:.0f}", **BY)
    ((released, _), _) = found = stata.given(
        stata.log(("tabstat wage, by(area) s(mean sd) format(%9.0f)", whole)), BY_AREA, tmp_path
    )
    assert matched(found) == 8 and set(released.decimals) == {0}


def test_zeros_that_the_general_format_cuts_off_count(tmp_path):
    frame = PEOPLE.iloc[:4].assign(area=["north", "north", "south", "south"], wage=[100.0, 103.0, 50.25, 51.0])
    text = stata.log(("tabstat wage, by(area)", stata.tabstat(frame, ["wage"], ["Mean"], total=False, **BY)))
    ((released, _),) = stata.given(text, BY_AREA, tmp_path, frame)
    assert "101.5\n" in text and list(released.decimals) == [5, 5, 5]
    assert released.low[0] > 101.49994 and released.high[0] < 101.50006


@pytest.mark.parametrize("said", [True, False])
def test_who_has_no_value_is_left_out_as_stata_does(said, tmp_path):
    frame = PEOPLE.assign(area=PEOPLE["area"].where(PEOPLE.index % 7 != 0), wage=PEOPLE["wage"].where(PEOPLE.index > 4))
    for text, entry, numbers in (
        (stata.tabulate(frame, "area"), COUNTS, 5),
        (stata.tabstat(frame[frame["area"].notna()], ["wage"], SOME, **BY), BY_AREA, 13),
        (stata.summarize(frame, TWO), WAGE, 3),
    ):
        command = "tabulate area" if entry is COUNTS else "tabstat wage, by(area)" if entry is BY_AREA else "su wage"
        text = stata.log((command, text)) if said else text
        found = stata.given(text, entry, tmp_path, frame)
        assert matched(found) == numbers
        assert (found[0][0].output.where == "area.notna()") == (entry is not WAGE)


def test_percentiles_are_statas_unless_the_output_says_another_program(tmp_path):
    for program in ({}, {"program": "stata"}, {"program": "sas"}):
        for asked in ([0.25, 0.75], ["median", 0.9]):
            found = stata.given(stata.detail(PEOPLE, "wage"), ENDS | {"quantiles": asked} | program, tmp_path)
            assert matched(found) == 2
    for program in ("r", "spss"):
        with pytest.raises(OutputError, match=f"'program: {program}'; say stata"):
            stata.given(stata.detail(PEOPLE, "wage"), ENDS | {"quantiles": [0.25], "program": program}, tmp_path)


def test_moments_that_stata_has_not_are_refused(tmp_path):
    for more in ({"moments": "adjusted"}, {"excess": True}):
        with pytest.raises(OutputError, match="moments: population"):
            stata.given(stata.detail(PEOPLE, "wage"), SHAPE | more, tmp_path)


def test_a_table_of_another_variable_is_refused(tmp_path):
    for text, entry in (
        (stata.summarize(PEOPLE, ["age"]), WAGE),
        (stata.tabulate(PEOPLE, "wave"), COUNTS),
        (stata.tabstat(PEOPLE, ["wage"], SOME, by="wave"), BY_AREA),
        (stata.tabulate(PEOPLE, "area", "ill"), CROSSED),
    ):
        with pytest.raises(OutputError, match="no tables of"):
            stata.given(text, entry, tmp_path)


def test_a_label_in_place_of_a_name_is_taken_with_a_line(tmp_path, caplog):
    caplog.set_level("INFO")
    text = stata.tabulate(PEOPLE, "area", label="Where")
    assert matched(stata.given(text, COUNTS, tmp_path)) == 4 and "does not name variables" in caplog.text
    text = stata.log(("tabulate area", text), ("tabulate wave", stata.tabulate(PEOPLE, "wave")))
    caplog.clear()
    assert matched(stata.given(text, COUNTS, tmp_path)) == 4 and "does not name" not in caplog.text


def test_a_name_that_is_none_of_the_codebook_is_another_variable(tmp_path):
    frame = PEOPLE.assign(income=PEOPLE["wage"], county=PEOPLE["area"])
    for text, entry in (
        (stata.summarize(frame, ["income"]), WAGE),
        (stata.detail(frame, "income"), RANKS),
        (stata.tabstat(frame, ["wage"], SOME, by="county"), BY_AREA),
    ):
        with pytest.raises(OutputError, match="no tables of"):
            stata.given(text, entry, tmp_path)
        assert matched(stata.given(text, entry, tmp_path, suffix="#1")) in (3, 12)
    text = stata.tabstat(frame, ["wage"], SOME, by="county").replace("(Of it)", "(area)")
    assert matched(stata.given(text, BY_AREA, tmp_path)) == 12
    assert matched(stata.given(stata.detail(PEOPLE, "wage", "What they get"), RANKS, tmp_path)) == 3


def test_weights_that_a_print_shows_are_refused(tmp_path):
    text = stata.detail(PEOPLE, "wage")
    more = re.sub(r"(Sum of wgt\.\s+)60", r"\g<1>93", text)
    with pytest.raises(OutputError, match="weighted: 60 records, 93"):
        stata.given(more, WAGE, tmp_path)
    text = stata.summarize(PEOPLE, ["wage"]).replace("Obs        Mean", "Obs      Weight        Mean")
    with pytest.raises(OutputError, match="as of weighted records"):
        stata.given(text, WAGE, tmp_path)


def test_wide_tables_in_panels_are_one(tmp_path):
    text = stata.tabulate(PEOPLE, "area", "wave")
    lines = [line for line in text.splitlines() if line]
    first = [line[:23] for line in lines]  # stub and its first column
    second = [line[:12] + line[23:] if line[11] in "|+" else line for line in lines]
    title = lines[0][:12] + "        wave"
    text = "\n".join(["", title, *first[1:], "", "", title, *second[1:]]) + "\n"
    assert matched(stata.given(text, CROSSED, tmp_path)) == 12
    with pytest.raises(OutputError, match="cut off before its totals"):
        stata.given("\n".join(["", title, *first[1:], ""]), CROSSED, tmp_path)


OF_THREE = {"kind": "correlations", "variables": ["age", "wage", "wave"]}
THREE = ["wage", "age", "wave"]
MATRICES = {
    "correlate": (stata.correlations(PEOPLE, THREE), 4),
    "pwcorr": (stata.correlations(PEOPLE, THREE, star=0.5), 3),
    "pwcorr, sig": (stata.correlations(PEOPLE, THREE, p=True), 6),
    "pwcorr, sig obs star": (stata.correlations(PEOPLE, THREE, p=True, obs=True, star=0.5), 7),
    "pwcorr, obs": (stata.correlations(PEOPLE, THREE, obs=True), 4),
    "in panels": (stata.correlations(PEOPLE, THREE, p=True, columns=2), 6),
}


@pytest.mark.parametrize("name", MATRICES)
def test_correlations_are_found(name, tmp_path):
    text, numbers = MATRICES[name]
    assert matched(stata.given(text, OF_THREE, tmp_path)) == numbers
    log = stata.log(("tab area", stata.tabulate(PEOPLE, "area")), ("pwcorr wage age wave", text))
    assert matched(stata.given(log, OF_THREE | {"variables": ["wave", "wage"]}, tmp_path)) in (1, 2, 3)
    assert matched(stata.given(in_markup(log), OF_THREE, tmp_path)) == numbers


@pytest.mark.parametrize("name", MATRICES)
def test_correlations_without_a_cell_are_refused(name, tmp_path):
    text, _ = MATRICES[name]
    lines = text.splitlines()
    for at, line in enumerate(lines):
        cell = re.search(r"(?<=[\s|])-?\d\.\d{4}\*?(?=\s|$)", line)
        if cell:
            cut = [*lines[:at], line[: cell.start()] + " " * len(cell[0]) + line[cell.end() :], *lines[at + 1 :]]
            with pytest.raises(OutRiskError):
                stata.given("\n".join(cut) + "\n", OF_THREE, tmp_path)


def test_correlations_of_other_records_are_refused(tmp_path):
    frame = PEOPLE.assign(wage=PEOPLE["wage"].where(PEOPLE.index > 4))
    text = stata.correlations(frame, THREE, star=0.05)
    for command, says in (
        ("pwcorr wage age wave, star(.05)", "pwcorr takes for each pair"),
        ("pwcorr wage age wave if age > 30, listwise", "of a subset, age > 30"),
        ("pwcorr wage age wave [aw=age], listwise", "weighted"),
    ):
        with pytest.raises(OutputError, match=says):
            stata.given(stata.log((command, text)), OF_THREE, tmp_path, frame)
    assert matched(stata.given(stata.log(("pwcorr wage age wave, listwise", text)), OF_THREE, tmp_path, frame)) == 3
    with pytest.raises(OutputError, match="no tables of correlations of age, ill"):
        stata.given(text, OF_THREE | {"variables": ["age", "ill"]}, tmp_path)
    with pytest.raises(OutputError, match="leaves out who has no wage either"):
        stata.given(stata.correlations(frame, THREE), OF_THREE | {"variables": ["age", "wave"]}, tmp_path, frame)


def test_corrected_p_values_are_left_out(tmp_path):
    text = stata.log(("pwcorr wage age wave, sig bonferroni", stata.correlations(PEOPLE, THREE, p=True)))
    assert matched(stata.given(text, OF_THREE, tmp_path)) == 3


ILL = {"kind": "proportions", "event": "ill"}
SHARES_OF = {
    "exact": (stata.ci_proportions(PEOPLE, "ill"), ILL, 5, "exact"),
    "wilson": (stata.ci_proportions(PEOPLE, "ill", "Wilson", "wilson"), ILL, 5, "wilson"),
    "jeffreys": (stata.ci_proportions(PEOPLE, "ill", "------ Jeffreys ------", "jeffreys"), ILL, 5, "jeffreys"),
    "wald": (stata.ci_proportions(PEOPLE, "ill", "Binomial Wald", "normal"), ILL, 5, "normal"),
    "proportion": (stata.proportion(PEOPLE, "ill"), ILL, 2, ""),
    "proportion of levels": (stata.proportion(PEOPLE, "area"), ILL | {"event": "area"}, 6, ""),
}


@pytest.mark.parametrize("name", SHARES_OF)
def test_proportions_are_found(name, tmp_path):
    text, entry, numbers, interval = SHARES_OF[name]
    for shown in (text, in_markup(stata.log(("ci proportions ill", text)))):
        found = stata.given(shown, entry, tmp_path)
        assert matched(found) == numbers and (not interval or found[0][0].output.interval == interval)


def test_proportions_of_others_are_refused(tmp_path):
    text = SHARES_OF["exact"][0]
    for command, entry, says in (
        ("ci proportions ill if age > 30", ILL, "of a subset, age > 30"),
        ("ci proportions ill [fw=wave]", ILL, "weighted"),
        ("ci proportions ill", ILL | {"event_value": "0"}, "counts who has 1"),
        ("ci proportions ill", ILL | {"interval": "wilson"}, "exact ones, the output says interval: wilson"),
        ("ci proportions ill", ILL | {"by": ["area"]}, "give those by groups as a table"),
        ("ci proportions ill", ILL | {"event": "area", "event_value": "west"}, "no tables of proportions of 'area'"),
    ):
        with pytest.raises(OutputError, match=says):
            stata.given(stata.log((command, text)), entry, tmp_path)
    with pytest.raises(OutputError, match="its limits are 'Somebody's'"):
        stata.given(text.replace("Binomial exact", "Somebody's"), ILL, tmp_path)


@pytest.mark.parametrize("name", SHARES_OF)
def test_proportions_without_a_cell_are_refused(name, tmp_path):
    text, entry, *_ = SHARES_OF[name]
    for cell in re.findall(r"(?<=\s)\.\d+(?=\s)", text):
        with pytest.raises(OutRiskError):
            stata.given(text.replace(cell, " " * len(cell), 1), entry, tmp_path)


CURVE = {"kind": "survival", "time": "age", "event": "ill"}
CURVES = {
    "all": (stata.sts_list(PEOPLE, "age", "ill"), CURVE),
    "old": (stata.sts_list(PEOPLE, "age", "ill", old=True), CURVE),
    "by": (stata.sts_list(PEOPLE, "age", "ill", "area"), CURVE | BY),
    "by, old": (stata.sts_list(PEOPLE, "age", "ill", "area", old=True), CURVE | BY),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_found(name, tmp_path):
    text, entry = CURVES[name]
    rows = sum(bool(re.match(r"\s+\d+ +\d+ +\d+ +\d+ ", line)) for line in text.splitlines())
    errors = len(re.findall(r"[01]\.\d{4} +\d\.\d{4} ", text))
    option = ", by(area)" if "by" in entry else ""
    for shown in (text, in_markup(stata.log(("tab area", ""), (f"sts list{option}", text)))):
        assert matched(stata.given(shown, entry, tmp_path)) >= 3 * rows + errors - 1


def test_curves_of_others_are_refused(tmp_path):
    text = CURVES["all"][0]
    for command, shown, says in (
        ("sts list if wave == 1", text, "of a subset, wave == 1"),
        ("sts list, at(20 30)", text, "without at"),
        ("sts list", text.replace("_t: age", "_t: wage"), "its time is 'wage'"),
        ("sts list", text.replace("_d: ill", "_d: dead"), "its event is 'dead'"),
        ("sts list", text.rstrip("-\n"), "cut off"),
        ("sts list", re.sub(r"(?m)^( +\d+ .* \d\.\d{4}) +\d\.\d{4}$", r"\1", text), "has 7 numbers"),
    ):
        with pytest.raises(OutputError, match=says):
            stata.given(stata.log((command, shown), opened=False), CURVE, tmp_path)


ALL = [*(case[:2] for case in PRINTS.values()), *((text, OF_THREE) for text, _ in MATRICES.values()),
       *(case[:2] for case in SHARES_OF.values()), *CURVES.values()]  # fmt: skip


@pytest.mark.parametrize("seed", range(int(os.environ.get("OUTRISK_FUZZ", "60"))))
def test_fuzz_a_clear_error_or_numbers(seed, tmp_path):
    rng = random.Random(seed)
    text, entry = ALL[seed % len(ALL)]
    text = in_markup(stata.log(("describe", text))) if rng.random() < 0.3 else text
    found, message = [], ""
    try:
        found = stata.given(mutated(text, rng), entry, tmp_path)
    except OutRiskError as error:
        message = str(error)
    assert (message or found) and "\n" not in message and len(message) < 2_000
    for released, _ in found:
        assert len(released.low) and not np.isnan(released.low).any() and (released.low <= released.high).all()


def test_collapsed_data_that_are_listed_are_read(tmp_path):
    collapsed = PEOPLE.groupby("area")["wage"].agg(["mean", "std", "count"])
    collapsed = collapsed.rename(columns={"std": "sd", "count": "n"}).reset_index()
    text = stata.log(("collapse (mean) mean=wage (sd) sd=wage (count) n=wage, by(area)", ""),
                     ("list", stata.listing(collapsed, separator=2)))  # fmt: skip
    for shown in (text, in_markup(text), stata.listing(collapsed)):
        assert matched(stata.given(shown, BY_AREA, tmp_path)) == 9
    counts = PEOPLE.groupby(["area", "wave"]).size().reset_index(name="_freq").rename(columns={"_freq": "freq"})
    assert matched(stata.given(stata.listing(counts), CROSSED, tmp_path)) == 6
    both = text + stata.log(("list, sepby(area)", stata.listing(counts)), opened=False)
    with pytest.raises(OutputError, match="2 lists; say which"):
        stata.given(both, CROSSED, tmp_path)
    assert matched(stata.given(both, CROSSED, tmp_path, suffix="#2")) == 6
    row = next(line for line in text.splitlines() if "south" in line)
    with pytest.raises(OutputError, match="3 cells below 4 names"):
        stata.given(text.replace(row, row[:-8] + " " * 7 + "|"), BY_AREA, tmp_path)
