"""Tables of PROC FREQ in listings of SAS: over pages, with missing values, in groups and layers, as lists."""

import numpy as np
import pytest
from as_sas import crossed, one_way, page, procedure
from as_stata import given, people
from test_sas_listings import matched

from outrisk.errors import OutputError

PEOPLE = people(300)
BY = {"kind": "frequencies", "by": ["area", "wave"]}
FREQ = procedure("FREQ")


def listed(frame, names):
    """TABLES a*b / LIST."""
    counts = frame.groupby(names).size()
    head = "".join(f"{name:<10}" for name in names)
    out = [f"{'':<{len(head)}}                             Cumulative    Cumulative",
           f"{head}    Frequency     Percent     Frequency      Percent", "-" * (len(head) + 56)]  # fmt: skip
    up = 0
    for levels, k in counts.items():
        up += k
        out.append("".join(f"{level!s:<10}" for level in levels) + f"    {k:9d}{100 * k / len(frame):12.2f}{up:14d}"
                   f"{100 * up / len(frame):13.2f}")  # fmt: skip
    return "\n".join(out) + "\n\n"


def test_a_wide_table_goes_on_in_panels_and_over_pages(tmp_path):
    text = FREQ + crossed(PEOPLE, "wave", "area", split=2)
    at = text.index("Table of", 0)
    second = text.index("          wave      area", text.index("Total"))
    text = text[:second] + page(2) + FREQ + text[at : text.index("\n", at)] + "\n\n" + text[second:]
    for show in ("counts", "proportions", "row_percentages", "column_percentages"):
        matched(text, BY | {"show": show}, tmp_path, PEOPLE)
    cut = text[:second]
    with pytest.raises(OutputError, match="cut off before its totals"):
        given(cut, BY, tmp_path, PEOPLE)


def test_a_long_table_goes_on_over_pages(tmp_path):
    text = FREQ + crossed(PEOPLE, "area", "wave")
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if "Frequency|" in line)
    rows = [at for at, line in enumerate(lines) if line.strip().startswith("---")]
    cut = rows[1] + 1
    again = [*page(2).splitlines(), *FREQ.splitlines(), *lines[2:first], *lines[first : rows[0] + 1]]
    matched("\n".join([*lines[:cut], "(Continued)", *again, *lines[cut:]]), BY, tmp_path, PEOPLE)


def test_the_characters_of_the_sas_font_are_rules_and_bars(tmp_path):
    lines = (FREQ + one_way(PEOPLE, "area") + crossed(PEOPLE, "area", "wave")).splitlines()
    font = str.maketrans({"-": "ƒ", "+": "ˆ", "|": "‚"})
    text = "\n".join(line.translate(font) if "|" in line or "---" in line else line for line in lines)
    assert "ƒƒˆƒƒ" in text
    matched(text, BY, tmp_path, PEOPLE)
    matched(text, BY | {"by": ["area"]}, tmp_path, PEOPLE)


def test_who_has_no_value_is_left_out_as_sas_does(tmp_path):
    frame = people(300)
    frame.loc[::9, "area"] = None
    text = FREQ + one_way(frame, "area") + crossed(frame, "area", "ill")
    assert "Frequency Missing = 34" in text
    matched(text, {"kind": "frequencies", "by": ["area"]}, tmp_path, frame)
    matched(text, {"kind": "frequencies", "by": ["area", "ill"]}, tmp_path, frame)


def test_groups_go_with_where_and_not_with_all_records(tmp_path):
    text = ""
    for area in ("north", "south", "west"):
        text += page(1) + "-" * 40 + f" area={area} " + "-" * 40 + "\n\n" + FREQ
        text += crossed(PEOPLE[PEOPLE["area"] == area], "ill", "wave")
    entry = {"kind": "frequencies", "by": ["ill", "wave"]}
    for area in ("north", "west"):
        matched(text, entry | {"where": f"area == '{area}'"}, tmp_path, PEOPLE)
    with pytest.raises(OutputError, match=r"tables of counts by ill, wave are of groups .*of all records; give the"):
        given(text, entry, tmp_path, PEOPLE)
    with pytest.raises(OutputError, match=r"3 tables of counts by ill, wave; say which"):
        given(text, entry | {"where": "age > 30"}, tmp_path, PEOPLE)


def test_layers_are_of_their_groups_and_together_of_three_variables(tmp_path):
    text = FREQ
    for number, wave in enumerate((1, 2), 1):
        some = crossed(PEOPLE[PEOPLE["wave"] == wave], "area", "ill")
        text += some.replace(
            "Table of area by ill", f"Table {number} of area by ill\n{'':30}Controlling for wave={wave}"
        )
    entry = {"kind": "frequencies", "by": ["area", "ill"]}
    matched(text, entry | {"where": "wave == 2"}, tmp_path, PEOPLE)
    assert len(matched(text, entry | {"by": ["wave", "area", "ill"]}, tmp_path, PEOPLE).labels) == 12
    with pytest.raises(OutputError, match="are of groups"):
        given(text, entry, tmp_path, PEOPLE)


def test_a_list_of_combinations_is_a_table(tmp_path):
    matched(FREQ + listed(PEOPLE, ["area", "wave"]), BY, tmp_path, PEOPLE)
    matched(FREQ + listed(PEOPLE, ["area", "wave", "ill"]), BY | {"by": ["wave", "ill", "area"]}, tmp_path, PEOPLE)


def test_names_and_levels_that_are_broken_over_lines_are_put_together(tmp_path):
    text = FREQ + crossed(PEOPLE, "wave", "area", label="(Area of residence)")
    head = next(line for line in text.splitlines() if "Col Pct" in line)
    rule = next(line for line in text.splitlines() if "---+" in line)
    stub = head.index("|")
    broken = head.replace("|north   |south   |west    |", "|nort    |sou     |west    |")
    more = " " * stub + "|h       |th      |        |"
    # SAS fills a line before it breaks a level, so that these two are told by blanks that are not theirs
    matched(text.replace(head, f"{broken}\n{more}").replace(rule, rule), BY, tmp_path, PEOPLE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FREQ + one_way(PEOPLE, "area"), "no tables of counts by area, wave"),
        (FREQ + crossed(PEOPLE, "area", "ill"), "no tables of counts by area, wave"),
        (
            "proc freq data=p;\n tables area*wave;\n weight w;\nrun;\n" + FREQ + crossed(PEOPLE, "area", "wave"),
            "weighted by w",
        ),
        (
            "proc freq data=p(obs=50);\n tables area*wave;\nrun;\n" + FREQ + crossed(PEOPLE, "area", "wave"),
            "a subset, obs=50",
        ),
        (
            "12   proc freq data=p;\n13     tables area*wave;\n14     where ill = 1;\n15   run;\n\n"
            + FREQ
            + crossed(PEOPLE, "area", "wave"),
            "a subset, ill = 1",
        ),
        (
            FREQ + crossed(PEOPLE, "area", "wave", legend=("Percent", "Row Pct")),
            "it has proportions, row_percentages, the",
        ),
    ],
)
def test_what_is_of_others_is_refused(text, message, tmp_path):
    with pytest.raises(OutputError, match=message):
        given(text, BY, tmp_path, PEOPLE)


def test_two_tables_with_other_numbers_are_told_apart_by_number(tmp_path):
    other = PEOPLE[PEOPLE["age"] > 40]
    text = FREQ + crossed(PEOPLE, "area", "wave") + page(2) + FREQ + crossed(other, "area", "wave")
    with pytest.raises(OutputError, match=r"2 tables of counts by area, wave; say which .*1: area x wave"):
        given(text, BY, tmp_path, PEOPLE)
    assert np.array_equal(
        matched(text, BY, tmp_path, PEOPLE, "#1").low,
        matched(FREQ + crossed(PEOPLE, "area", "wave"), BY, tmp_path, PEOPLE).low,
    )
