"""A paper's table one: as programs write it, against refits; as people write it, against what it says."""

import logging
import shutil
import subprocess

import numpy as np
import pytest
from fair import MEANINGS, PRINTED, frame

from outrisk.api.studies import prepare_study
from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.codebook import Codebook, Variable
from outrisk.config import study_of
from outrisk.errors import OutRiskError
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import TableOneEntry

TABLE = {"kind": "table_one", "by": "affair"}
OF_ARSENAL = {"counts": "chi-square", "means": "anova"}  # which its CSV does not say
FILES = {  # of a program: the table, the entry, how many numbers it holds, how many p-values among them
    "arsenal": ("arsenal.csv", {**TABLE, "tests": OF_ARSENAL}, 65, 4),
    "arsenal, printed": ("arsenal.md", {**TABLE, "tests": OF_ARSENAL}, 65, 4),
    "arsenal, with gaps": ("arsenal_gaps.csv", {**TABLE, "tests": OF_ARSENAL}, 69, 4),
    "arsenal, a page": ("arsenal_gaps.html", {**TABLE, "tests": OF_ARSENAL}, 69, 4),
    "arsenal, of all": ("arsenal_all.csv", {"kind": "table_one"}, 8, 0),
    "arsenal, by four": ("arsenal_rows.csv", {**TABLE, "by": "religion", "tests": {"means": "anova"}}, 54, 2),
    "tableone": ("tableone.csv", TABLE, 48, 5),
    "tableone, a page": ("tableone.html", TABLE, 48, 5),
    "tableone, with gaps": ("tableone_gaps.csv", TABLE, 57, 5),
    "tableone, a page with gaps": ("tableone_gaps.html", TABLE, 57, 5),
    "tableone, of all": ("tableone_all.csv", {"kind": "table_one"}, 7, 0),
    "tableone, by four": ("tableone_by_four.csv", {**TABLE, "by": "religion"}, 31, 2),
}


def people(gaps=True):
    found = frame()[["affair", "age", "yrs_married", "religion", "educ", "occ"]].copy()
    if gaps:
        found[["educ", "religion"]] = found[["educ", "religion"]].astype(float)
        found.loc[16::17, "educ"] = np.nan
        found.loc[22::23, "religion"] = np.nan
    return found


def codebook(gaps=True):
    found, _ = infer_codebook(people(False), few=20)
    changed = {
        "religion": Variable("religion", "categorical", ("1", "2", "3", "4"), missing=gaps, descriptions=MEANINGS),
        "affair": Variable("affair", "categorical", ("0", "1"), descriptions=("none", "some")),
        "age": Variable("age", "numeric", found["age"].values, label="Age, years"),
        "educ": Variable("educ", "integer", found["educ"].values, label="Education", missing=gaps),
    }
    return Codebook(tuple(changed.get(each.name, each) for each in found.variables))


def released(entry, gaps=False):
    document = {"name": "fair", "outputs": [entry], "codebook": "none.yaml", "records": 6366}
    return list(study_of(document, PRINTED / "fair.yaml").released(codebook(gaps)))


def unlike(entry, gaps=False):
    """The numbers that a refit does not give, to the digits that they show."""
    data, found = from_frame(people(gaps), codebook(gaps)), []
    for each in released(entry, gaps):
        beside = each.recompute(data)
        off = np.abs(beside.differences) * 10.0 ** each.decimals[each.known]
        fine = beside.matched | (off <= ROUNDING)
        labels = np.array(each.output.labels)[each.known]
        found += [f"{each.name}: {label}" for label in labels[~fine]]
    return found


def outputs(text, gaps=False, **more):
    """Of a table, the values of each output by label."""
    found = released({**TABLE, "values": text, **more}, gaps)
    return {
        each.name.partition(": ")[2]: dict(zip(each.output.labels, zip(each.low, each.high, strict=True), strict=True))
        for each in found
    }


@pytest.mark.parametrize("case", FILES)
def test_every_number_of_a_program_is_what_a_refit_gives(case):
    file, entry, numbers, tests = FILES[case]
    gaps = "gaps" in file or file in ("tableone_all.csv", "tableone_by_four.csv")
    entry = {**entry, "values": file}
    assert unlike(entry, gaps) == []
    found = released(entry, gaps)
    assert sum(len(each.low) for each in found) == numbers
    assert sum(each.output.kind == "test" for each in found) == tests


def test_the_installed_program_writes_such_tables(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    frame().to_csv(tmp_path / "fair.csv", index=False)
    command = ["Rscript", PRINTED.with_name("programs") / "table_one_by_r.R", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "there is no package called" in done.stderr or ("pandoc" in done.stderr.lower() and done.returncode):
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    for file, entry, *_ in FILES.values():
        if file.startswith("arsenal"):
            assert unlike({**entry, "values": str(tmp_path / file)}, "gaps" in file) == []


PRINTED_BY_R = """\
                            Stratified by affair
                             0                    1                     p      test
  n                            4313                 2053
  age (mean (SD))             28.39 (6.81)         30.54 (6.70)         <0.001
  yrs_married (median [IQR])   6.00 [2.50, 13.00]   9.00 [6.00, 16.50]  <0.001 nonnorm
  religion (%)                                                          <0.001
     1                          613 (14.2)           408 (19.9)
     2                         1448 (33.6)           819 (39.9)
     3                         1715 (39.8)           707 (34.4)
     4                          537 (12.5)           119 ( 5.8)
  occ = student (%)              34 ( 0.8)             7 ( 0.3)
"""
LEVELS_OF_R = """\
"","level","Overall","0","1","p","test"
"n","","  6366","  4313","  2053","",""
"age (mean (SD))",""," 29.08 (6.85)"," 28.39 (6.81)"," 30.54 (6.70)","<0.001",""
"religion (%)","1","  1021 (16.0) ","   613 (14.2) ","   408 (19.9) ","<0.001",""
"","2","  2267 (35.6) ","  1448 (33.6) ","   819 (39.9) ","",""
"","3","  2422 (38.0) ","  1715 (39.8) ","   707 (34.4) ","",""
"","4","   656 (10.3) ","   537 (12.5) ","   119 ( 5.8) ","",""
"""
GTSUMMARY = """\
**Characteristic**,"**Overall**
N = 6,366","**0**
N = 4,313","**1**
N = 2,053",**p-value**
"Age, years","27 (22, 32)","27 (22, 32)","27 (27, 37)",<0.001
religion,NA,NA,NA,<0.001
not at all,"1,021 (16%)",613 (14%),408 (20%),NA
mildly,"2,267 (36%)","1,448 (34%)",819 (40%),NA
fairly,"2,422 (38%)","1,715 (40%)",707 (34%),NA
strongly,656 (10%),537 (12%),119 (5.8%),NA
Education,NA,NA,NA,NA
Mean (SD),14.21 (2.18),14.32 (2.21),13.97 (2.09),NA
"Min, Max","9.00, 20.00","9.00, 20.00","9.00, 20.00",NA
"""
MARKDOWN = """\
| **Characteristic** | **0**, N = 4,313 | **1**, N = 2,053 | **p-value** |
|---|---|---|---|
| __Age, years__ | 28.4 (6.8) | 30.5 (6.7) | <0.001 |
| __religion__ |  |  | <0.001 |
| not at all | 613 (14%) | 408 (20%) | |
| mildly | 1,448 (34%) | 819 (40%) | |
| fairly | 1,715 (40%) | 707 (34%) | |
| strongly | 537 (12%) | 119 (5.8%) | |
| ^1^ Mean (SD); n (%) | | | |
| ^2^ Welch Two Sample t-test; Pearson's Chi-squared test | | | |
"""
BY_HAND = """\
Table 1. Women with and without an affair;;;
;none (n = 4.313);some (n=2.053);P
Age, mean ± SD;28,39 ± 6,81;30,54 ± 6,70;<0,001
Religion, n (%);;;<0,001
  Not at all;613 (14,2);408 (19,9);
  Mildly;1448 (33,6);819 (39,9);
  Fairly;1715 (39,8);707 (34,4);
  Strongly;537 (12,5);119 (5,8);
Student, n (%);34 (0,8);7 (0,3);
Values are means or numbers;;;
"""
TESTS = {"counts": "chi-square", "means": "welch", "medians": "rank-sum"}
WRITTEN = {  # a table, its tests, how many numbers it holds
    "R's tableone, printed": (PRINTED_BY_R, {}, 25),
    "R's tableone, all levels": (LEVELS_OF_R, {}, 18),
    "gtsummary": (GTSUMMARY, TESTS, 33),
    "gtsummary, Markdown": (MARKDOWN, {}, 16),
    "by hand, decimal commas": (BY_HAND, TESTS, 18),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_every_number_of_a_written_table_is_what_a_refit_gives(case):
    text, tests, numbers = WRITTEN[case]
    entry = {**TABLE, "values": text, "tests": tests}
    assert unlike(entry) == []
    assert sum(len(each.low) for each in released(entry)) == numbers


def test_tests_of_r_are_those_that_its_column_and_its_defaults_say():
    found = {
        each.output.variable: each.output
        for each in released({**TABLE, "values": PRINTED_BY_R})[1:]
        if each.output.kind == "test"
    }
    assert {name: (each.test, each.continuity) for name, each in found.items()} == {
        "age": ("anova", False),
        "yrs_married": ("kruskal-wallis", False),
        "religion": ("chi-square", True),
    }


def test_a_p_whose_test_nobody_says_is_left_out_with_a_line(caplog):
    caplog.set_level(logging.INFO, "outrisk")
    assert not any(each.output.kind == "test" for each in released({**TABLE, "values": BY_HAND}))
    assert "p of religion is left out: which test it is of is not told; say it in 'tests'" in caplog.text
    caplog.clear()
    several = "x,0,1,p\nreligion,,,\n1,613,408,0.1\n2,1448,819,0.2\n3,1715,707,\n4,537,119,\n"
    assert "test" not in str(outputs(several, tests=TESTS).keys())
    assert "p of religion is left out: several stand there" in caplog.text


def test_quartiles_that_may_be_others_have_a_line(caplog):
    caplog.set_level(logging.INFO, "outrisk")
    text = 'x,0,1\nn,4313,2053\n"age, median (IQR)","27 (22, 32)","32 (27, 37)"\n'

    def programs(**more):
        every = [each.output for each in released({**TABLE, "values": text, **more})]
        return {output.program for output in every if output.kind == "quantiles"}

    assert programs() == {"r"}
    assert "quartiles are taken to be R's, linear between records; those of Stata" in caplog.text
    caplog.clear()
    assert programs(program="sas") == {"sas"}
    assert "quartiles are taken" not in caplog.text


def test_a_run_keeps_how_its_tables_were_read(tmp_path, caplog):
    """The report says it, and not only the terminal: whoever releases the table releases these numbers too."""
    people(False).sample(200, random_state=1).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "one.csv").write_text("x,0,1,p\nreligion,,,0.03\n1,613,408,\n2,1448,819,\n3,1715,707,\n4,537,119,\n")
    (tmp_path / "study.yaml").write_text(
        "{name: one, data: {path: data.csv}, outputs: [{kind: table_one, by: affair, values: one.csv}], keys: [age], "
        "target: affair}"
    )
    run = prepare_study(tmp_path / "study.yaml", tmp_path / "run", False, None, None, False)
    caplog.clear()
    why = "which test it is of is not told; say it in 'tests'"
    assert run.manifest.remarks == (f"[outputs 1.values] one.csv: p of religion is left out: {why}",)
    assert not caplog.records  # it was told when the study was read


def test_a_p_is_what_it_is_said_to_be():
    for text, ends in (
        ("<0.001", (0.0, 0.001)),
        ("0.30", (0.3, 0.3)),
        (">0.9", (0.9, 1.0)),
        ("p = 0.04", (0.04, 0.04)),
    ):
        found = outputs(f"x,0,1,p\nage (mean (SD)),28.39 (6.81),30.54 (6.70),{text}\n", tests={"age": "t"})
        assert found["t test of age"] == {"p": pytest.approx(ends)}


def test_the_level_that_is_left_follows_where_its_number_is_told():
    found = outputs("x,0 (N=4313),1 (N=2053)\nreligion,,\n1,613,408\n2,1448,819\n3,1715,707\n")["religion"]
    assert (found["religion=4, affair=0"], found["religion=4, affair=1"]) == ((537, 537), (119, 119))
    gaps = outputs("x,0 (N=4313),1 (N=2053)\nreligion,,\n1,613,408\n2,1448,819\n3,1715,707\n", gaps=True)
    assert gaps["religion"]["religion=4, affair=0"] == (0, 0)  # of those at levels 1 to 3
    (table,) = [
        each for each in released({**TABLE, "values": "x,0,1\nreligion,,\n1,613,408\n"}) if "numbers" not in each.name
    ]
    assert table.output.where == "religion in ['1']" and list(table.low) == [613, 408]


def test_of_a_table_without_a_row_of_missing_values_those_with_a_value_are_counted():
    text = "x,0,1\nreligion,,\n" + "".join(f"{level},{level}0,{level}1\n" for level in "1234")
    (table,) = released({**TABLE, "values": text}, gaps=True)
    assert table.output.where == "religion.notna()" and table.low[-2:].tolist() == [0, 0]
    (table,) = released({**TABLE, "values": text + "Unknown,7,8\n"}, gaps=True)
    assert table.output.where == "" and table.low[-2:].tolist() == [7, 8]


def test_what_is_withheld_is_as_the_table_says():
    head = "x,0 (N=200),1 (N=100)\nreligion,,\n1,20,30\n2,60,40\n3,100,26\n"
    found = outputs(f"{head}4,20,<5\n")["religion"]
    assert found["religion=4, affair=1"] == (1, 4)  # a threshold: zeros would be shown
    assert outputs(f"{head}4,20,<25\n")["religion"]["religion=4, affair=1"] == (0, 24)  # 20 is shown beside it
    by_share = outputs(f"{head}4,20 (10.0),<5 (4.0)\n")["religion"]
    assert by_share["religion=4, affair=1"] == (4, 4)
    cells = ["20 (10.0),30 (30.0)", "60 (30.0),40 (40.0)", "100 (50.0),26 (26.0)", "20 (10.0),<5 (4.0)"]
    texts = [f"{level},{cell}" for level, cell in enumerate(cells, start=1)]
    beside = outputs("\n".join([*head.splitlines()[:2], *texts, ""]))
    assert beside["religion (percentages)"]["religion=4, affair=1"] == (4.0, 4.0)
    one = outputs("x,0 (N=200),1 (N=100)\nocc = student (%),<5 (1.5),<5 (4.0)\n")["occ"]
    assert one == {"affair=0": (3, 3), "affair=1": (4, 4)}
    rounded = outputs(f"{head}4,20,5\n".replace("26", "25"), protection={"round_to": 5})["religion"]
    assert (rounded["religion=1, affair=0"], rounded["religion=4, affair=1"]) == ((18, 22), (3, 7))


def test_percentages_are_of_columns_or_of_rows_as_they_add_up():
    columns = "x,0,1\nreligion,,\n1,14.2%,19.9%\n2,33.6%,39.9%\n3,39.8%,34.4%\n4,12.5%,5.8%\n"
    rows = "x,0,1\nreligion,,\n1,60.0%,40.0%\n2,63.9%,36.1%\n3,70.8%,29.2%\n4,81.9%,18.1%\n"
    for text, show in ((columns, "column_percentages"), (rows, "row_percentages")):
        (table,) = released({**TABLE, "values": text})
        assert table.output.show == show
        assert unlike({**TABLE, "values": text}) == []


def test_a_column_of_all_says_more_only_where_its_groups_do_not_tell_it():
    text = "x,All,0,1\nreligion,,,\n1,1021,613,408\n2,2267,1448,819\n3,2422,1715,707\n4,656,537,{}\n"
    assert list(outputs(text.format(119))) == ["religion"]
    withheld = outputs(text.format("*"))
    assert withheld["religion of all"]["religion=4"] == (656, 656)
    with pytest.raises(OutRiskError, match="religion = 4 is 656 of all, its groups add up to 657"):
        outputs(text.format(120))


def test_rows_says_what_a_row_is_of():
    text = (
        "x,0,1\nHow devout,,\n1,613,408\n2,1448,819\n3,1715,707\n4,537,119\nStudying,34,7\nBMI (kg/m2),25 (3),24 (3)\n"
    )
    rows = {"How devout": "religion", "Studying": "occ = student", "BMI": ""}
    found = outputs(text, rows=rows)
    assert list(found) == ["religion", "occ"] and found["occ"]["affair=1"] == (7, 7)
    with pytest.raises(OutRiskError, match="the row '1' stands below 'How devout', which is no variable of the cod"):
        outputs(text)


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("x,a,b\nage,1,2\n", {}, r"no line of it has columns of the levels of 'affair' \(0, 1\)"),
        ("x,a,b\nage,1,2\n", {"by": ""}, "no line of it has columns of all people .*; say with 'by' whose levels"),
        ("x,0,1\nbmi,1,2\n", {}, r"the row 'bmi' is no variable of the codebook; say in 'rows'"),
        (
            "x,0,1\nbmi,1,2\nage,1,2\nmood,,\nlow,3,4\nhigh,3,4\npay,3,4\n",
            {},
            "the rows 'bmi', 'mood'.* are no variables",
        ),
        ("x,0,1\nage,one,two\n", {}, "mean of age is 'one', which is not a number"),
        ("x,0,1\n,,\n", {}, "no row of it has numbers"),
        ("x,0 (N=9),1\nreligion,,\n1,10,3\n", {}, "counts of 'religion' add up to 10 of 9 people"),
        ("x,0,1\nocc,27 (1),14 (1)\n", {}, "does not say of which level of 'occ' it is; say it in 'rows'"),
        ("x,0,1\nage (mean (SD)),28 [1 2 3],2 (1)\n", {}, "sd of age is '1 2 3', which is not a number"),
        ("x,0,1\nreligion,,\n1,1,2\nUnknown,3,4\n", {}, "values of 'religion' are missing; its codebook needs"),
        ("x,0,1\nage,1 (2),1 (2)\nage,1 (2),1 (3)\n", {}, "the mean of 'age' stands there twice"),
        ("x,0,1\nage,1,2\n", {"variables": ["age"]}, "the table says which variables it has; leave 'variables' out"),
        ("x,0,1\nage,1,2\n", {"rows": {"age": "bmi"}}, "'age' is said to be 'bmi', which is no variable"),
        ("x,0,1\nage,1,2\n", {"by": "bmi"}, "no variable 'bmi'"),
        ("x,0,1\nage,1,2\n", {"tests": {"counts": "t"}}, "'t' is no test of counts"),
        ("x,0,1\nage,1,2\n", {"tests": {"occ": "t"}}, "'occ' has levels, and neither mean nor median"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(text, more, message):
    with pytest.raises(OutRiskError, match=message) as error:
        outputs(text, **more)
    assert "\n" not in str(error.value)


MANY = Codebook(
    (
        Variable("arm", "categorical", ("0", "1"), missing=True),
        Variable("band", "categorical", ("0-4", "5-9", "10-14")),
        Variable("given", "categorical", ("Control", "Test")),
        Variable("age", "integer", tuple(range(100)), label="Age"),
        Variable("visits", "integer", tuple(range(9)), label="Number of visits"),
        Variable("weight", "integer", tuple(range(200)), missing=True),
        Variable("sex", "categorical", ("F", "M"), descriptions=("Female", "Male")),
        Variable("smoke", "categorical", ("no", "yes"), missing=True, label="Smoking"),
        Variable("race", "categorical", ("a", "b", "other/unknown")),
        Variable("job", "categorical", ("x", "Other", "y"), missing=True),
    )
)


def read(text, by="arm", **more):
    """Of a table of MANY, the numbers that are no zeros and not undefined, by output and label."""
    document = {"name": "x", "codebook": "none.yaml", "records": 600}
    document["outputs"] = [{"kind": "table_one", "by": by, "values": text, **more}]
    found = {}
    for each in study_of(document, PRINTED / "x.yaml").released(MANY):
        rows = zip(each.output.labels, each.low.tolist(), each.high.tolist(), strict=True)
        some = {label: low if low == high else (low, high) for label, low, high in rows if high and low > -np.inf}
        found[each.name.partition(": ")[2]] = some
    return found


UNKNOWN = (0.0, np.inf)
SMALL = {  # a table: what it says
    "an empty cell is of nobody knows how many": (
        "x,0 (N=50),1 (N=60)\nsex,,\nF,20,\nM,30,20\n",
        {"sex": {"sex=F, arm=0": 20, "sex=M, arm=0": 30, "sex=F, arm=1": UNKNOWN, "sex=M, arm=1": 20}},
    ),
    "an empty cell is not subtracted as nobody": (
        "x,0 (N=50),1 (N=60)\nrace,,\na,20,30\nb,10,\n",
        {"race": {"race=a, arm=0": 20, "race=a, arm=1": 30, "race=b, arm=0": 10, "race=b, arm=1": UNKNOWN}},
    ),
    "less than a percent is not nobody": (
        "x,0 (N=200),1 (N=300)\nrace,,\na,<1%,50%\nb,50%,30%\nother/unknown,50%,20%\n",
        {
            "race": {
                **{"race=a, arm=0": UNKNOWN, "race=a, arm=1": (149, 151), "race=b, arm=0": (99, 101)},
                **{"race=b, arm=1": (89, 91), "race=other/unknown, arm=0": (99, 101)},
                "race=other/unknown, arm=1": (59, 61),
            }
        },
    ),
    "a * beside <5 may be more": (
        "x,0 (N=50),1 (N=60)\nsex,,\nF,*,<5\nM,10,50\n",
        {"sex": {"sex=F, arm=0": UNKNOWN, "sex=F, arm=1": (0, 4), "sex=M, arm=0": 10, "sex=M, arm=1": 50}},
    ),
    "thousands": ('x,0,1\nsex,,\nF,"1,448",3\nM,4,5\n', {"sex": {"sex=F, arm=0": 1448}}),
    "a decimal comma alone": ("x;0;1\nage;28,4;31,7\n", {"age": {"arm=0: mean of age": 28.4}}),
    "decimal commas of percentages": ("x;0;1\nsex;;\nF;1 (14,2);2\nM;4 (85,8);3\n", {"sex": {"sex=M, arm=0": 4}}),
    "percentages first": ('x,0,1\n"sex, % (n)",,\nF,25 (1),20 (2)\nM,75 (3),80 (8)\n', {"sex": {"sex=M, arm=1": 8}}),
    "percentages alone": (
        'x,0,1\n"sex, %",,\nF,30,40\nM,70,60\n',
        {"sex (percentages)": {"sex=F, arm=0": 30, "sex=F, arm=1": 40, "sex=M, arm=0": 70, "sex=M, arm=1": 60}},
    ),
    "a level in brackets": ('x,0,1\n"Smoking (no), n (%)",5 (1),6 (1)\n', {"smoke": {"arm=0": 5, "arm=1": 6}}),
    "missing values behind a comma": ('x,0,1\n"Smoking, missing",5,6\n', {"smoke missing": {"arm=0": 5, "arm=1": 6}}),
    "missing values of a number": ('x,0,1\n"weight (missing)",5,6\n', {"weight missing": {"arm=0": 5, "arm=1": 6}}),
    "a standard error": ('x,0,1\n"Age, mean ± SEM",45 ± 18,20 ± 10\n', {"age": {"arm=0: mean of age": 45}}),
    "a variable called a number of something": (
        "x,0,1\nNumber of visits,2 (1-3),1 (0-2)\n",
        {"visits (quantiles)": {"arm=0: median of visits": 2}},
    ),
    "people of no group": ("x,0 (N=5),1 (N=6),All (N=14)\nage,3,4,4\n", {"numbers of people": {"arm=Missing": 3}}),
    "nobody in a group": ("x,0,1\nage (mean (SD)),NA (NA),4 (1)\n", {"age": {"arm=1: mean of age": 4}}),
    "a level NA": ("x,level,0,1\nsmoke (%),no,5,6\n,yes,5,6\n,NA,1,2\n", {"smoke": {"smoke=Missing, arm=1": 2}}),
}


@pytest.mark.parametrize("case", SMALL)
def test_a_number_is_not_read_as_another(case):
    text, wanted = SMALL[case]
    found = read(text)
    for name, cells in wanted.items():
        assert {label: found[name].get(label) for label in cells} == cells
        assert UNKNOWN not in cells.values() or len(found[name]) == len(cells)


def test_heads_are_levels_before_they_are_anything_else():
    row = "\nage (mean (SD)),1 (1),6 (1)"
    bands = read(f"x,0-4,5-9,10-14{row},12 (1)\n", "band")["age"]
    assert bands["band=5-9: mean of age"] == 6 and len(bands) == 6
    assert read(f"x,Control,Test{row}\n", "given")["age"]["given=Test: mean of age"] == 6
    page = "<table><tr><th></th><th colspan=2>0</th><th>1</th></tr><tr><td>F</td><td>2</td><td>9%</td><td>3</td></tr>\n"
    assert read(page + "</table>\n")["sex"] == {"arm=0": 2, "arm=1": 3}


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("x,0,1,2\nage,1,6,7\n", "the column '2' is of no group and is left out"),
        ("x,0,1,Missing\nweight (mean (SD)),1 (1),2 (1),3 (1)\n", "the column 'Missing' is of no group"),
        ("x,0,1,Missing\nweight (mean (SD)),1 (1),2 (1),5.9\n", "percentages of missing values of weight are left"),
        ("x,0 (N=20),1 (N=30)\nSmoking,3/18,4/25\n", "of how many people smoke = yes is told"),
        ("x,0 (N=20),1 (N=30)\nSmoking,20%,30%\n", "percentages of smoke are left out: of how many"),
        ("x,0,1,p\nChildren,,,\nsex,,,0.03\nF,1,2,\nM,2,3,\n", "p of sex is left out: which test it is of is not told"),
    ],
)
def test_what_is_left_out_has_a_line(text, note, caplog):
    caplog.set_level(logging.INFO, "outrisk")
    read(text)
    assert note in caplog.text


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("x;0 (n = 4.313);1 (n = 50)\nage;1;2\n", {}, "N of 0 is '4.313', which is no number of people"),
        ("x,0,1,0,1\nage,1,2,3,4\n", {}, "two columns are of '0'"),
        ("x,0,1\nNumber of women,12,15\nage,1,2\n", {}, "the row 'Number of women' is no variable"),
        ("x,0 (N=10),1 (N=20)\nn,9,20\nage,1,2\n", {}, "N of 0 is 10 in its head and 9 below"),
        ("x,All (N=9),0 (N=10),1 (N=20)\nage,1,2,2\n", {}, "N of all is 9, those of the groups add up to 30"),
        ('x,0,1\n"Age, geometric mean",45,20\n', {}, "the mean of 'age' is not the plain one"),
        ("x,0,1\nrace,,\na,1,2\nb,2,3\nOther,3,4\n", {}, "the row 'Other' is no variable .* no level of 'race'"),
        ("x,0,1\nage,30,31\nHeight,,\nMean (SD),17 (9),18 (8)\n", {}, "'Mean .SD.' stands below 'Height', which is no"),
        ("x,0,1\nnever smoke,,\nsmoke (never),3,4\n", {}, "does not say of which level"),
        ("x,0,1\nweight,30,31\nUnknown,1,2\nMissing,3,4\n", {}, "missing values of 'weight' stand there twice"),
        ("x;0;1\nage, mean;7,000;8,000\n", {}, "'7,000', a decimal comma or one of thousands"),
        ("Stratified by arm\n     0     1\nage  28.4  30.51\nsex = F   12345 3\n", {}, "does not stand in the columns"),
    ],
)
def test_what_may_be_another_number_is_refused(text, more, message):
    with pytest.raises(OutRiskError, match=message):
        read(text, **more)


def test_rows_below_one_that_is_left_out_are_left_out_with_it(caplog):
    caplog.set_level(logging.INFO, "outrisk")
    found = read("x,0,1\nsmoke,,\nno,12,13\nHypertension,,\nyes,3,4\n", rows={"Hypertension": ""})
    assert found == {"smoke": {"arm=0": 12, "arm=1": 13}}
    assert "'yes' below 'Hypertension' is left out with it" in caplog.text


def test_a_table_one_of_data_is_the_outputs_that_it_is_made_of():
    entry = {**TABLE, "variables": ["religion", "age"], "medians": "yrs_married", "counts": "educ"}
    entry["tests"] = {"counts": "chi-square", "age": "welch"}
    made = TableOneEntry.model_validate(entry).build(codebook(False), 1)
    assert [(each.kind, each.name.partition(": ")[2]) for each in made] == [
        ("frequencies", "numbers of people"),
        ("frequencies", "religion"),
        ("test", "chi-square test of religion"),
        ("magnitudes", "age"),
        ("test", "welch test of age"),
        ("quantiles", "yrs_married"),
        ("frequencies", "educ"),
        ("test", "chi-square test of educ"),
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "it names no variables; list them, or name the file"),
        ({"variables": ["bmi"]}, "no variable 'bmi'"),
        ({"variables": ["affair"]}, "'affair' makes the groups"),
        ({"medians": ["religion"]}, "'religion' has levels, and neither mean nor median"),
        ({"medians": ["age"], "counts": ["age"]}, "'age' is named under medians and counts"),
        ({"variables": ["age"], "tests": {"educ": "t"}}, "tests: 'educ' is none of the variables"),
        ({"variables": ["age"], "by": "", "tests": {"age": "t"}}, "tests are between groups"),
        ({"variables": ["age"], "rows": {"a": "age"}}, "'rows' go with 'values' from a file"),
        ({"variables": ["age"], "values": [1, 2]}, "values of a table one are a file or a pasted text"),
    ],
)
def test_what_no_table_one_can_be_is_refused(more, message):
    with pytest.raises(OutRiskError, match=message):
        TableOneEntry.model_validate({**TABLE, **more}).build(codebook(False), 1)


LEVELS = "religion (n),,,<0.001,exact\n1,613,408,,\n2,1448,819,,\n3,1715,707,,\n"


def test_an_exact_test_is_taken_as_one():
    text = f"x,0,1,p,test\n{LEVELS}4,537,119,,\n"
    (found,) = [each for each in released({**TABLE, "values": text}) if each.output.kind == "test"]
    assert (found.output.test, found.low[0], found.high[0]) == ("fisher", 0, 0.001)


def test_a_p_of_some_levels_may_be_of_these_alone_and_is_left_out(caplog):
    caplog.set_level(logging.INFO, "outrisk")
    some = [f"x,0,1,p,test\n{LEVELS}", f"x,0 (N=4313),1 (N=2053),p,test\n{LEVELS}"]
    assert not any(each.output.kind == "test" for text in some for each in released({**TABLE, "values": text}))
    assert "p of religion is left out: whether levels that are not printed are in its test is not told" in caplog.text
    whole = f"x,0 (N=3776),1 (N=1934),p,test\n{LEVELS}"  # nobody has the fourth
    assert any(each.output.kind == "test" for each in released({**TABLE, "values": whole}))


def test_heads_may_say_what_their_columns_have():
    rows = "age,28.39 (6.81),30.54 (6.70),NS\nreligion,,,\n1,613 (14.2),408 (19.9),\n2,1448 (33.6),819 (39.9),\n"
    rows += "3,1715 (39.8),707 (34.4),\n4,537 (12.5),119 (5.8),\n"
    heads = [
        "x,none,some,p\n,%,%,\n",
        "x,none (N=4313),some (N=2053),p\n,n (%),n (%),\n",
        'x,"none, n (%)",some n (%),p\n',
        "x,none (%),some (%),p\n",
    ]
    for head in heads:
        assert unlike({**TABLE, "values": head + rows, "tests": TESTS}) == []
        assert list(outputs(head + rows))[-2:] == ["age", "religion"]


RANDOM = Codebook(
    (
        Variable("arm", "categorical", ("0", "1", "2"), missing=True, descriptions=("none", "low", "high")),
        Variable("sex", "categorical", ("f", "m"), label="Sex at birth"),
        Variable("stage", "categorical", ("I", "II", "III, IV"), missing=True),
        Variable("age", "integer", tuple(range(20, 90)), label="Age, years"),
        Variable("weight", "numeric", tuple(each / 2 for each in range(80, 240)), missing=True),
    )
)


def a_random_table(seed):
    """Random people, and a table one of them as somebody may write it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 150))
    codes = np.stack([rng.integers(0, size, n) for size in RANDOM.sizes], axis=1)
    data = Microdata(RANDOM, codes.astype(np.uint16))
    frame, comma = data.frame(), bool(rng.random() < 0.3)
    frame["arm"], frame["stage"] = frame["arm"].astype(object), frame["stage"].astype(object)
    groups = [(level, frame[frame["arm"] == level]) for level in rng.permutation(["0", "1", "2"])]
    if rng.random() < 0.5:  # of everybody, or of those in the groups
        groups.append(("Overall", frame if rng.random() < 0.5 else frame[frame["arm"].notna()]))
    least = int(rng.choice([0, 5]))

    def number(value, digits):
        text = "NA" if np.isnan(value) else f"{value:.{digits}f}"
        return text.replace(".", ",") if comma else text

    def count(people, whole):
        if 0 < people < least:
            return f"<{least}" if rng.random() < 0.5 else f"<{least} ({number(100 * people / max(whole, 1), 1)})"
        return f"{people} ({number(100 * people / max(whole, 1), 1)})"

    of_all = [len(part) for _, part in groups]
    named = dict(zip("012", ("none", "Low", "arm = high"), strict=True))
    lines = [
        ["", *(f"{named.get(level, level)} (N = {whole})" for (level, _), whole in zip(groups, of_all, strict=True))]
    ]
    lines.append(["Sex at birth = f (%)", *(count((part["sex"] == "f").sum(), len(part)) for _, part in groups)])
    lines.append(["stage, n (%)", *("" for _ in groups)])
    for level in ("I", "II", "III, IV"):
        lines.append([level, *(count((part["stage"] == level).sum(), part["stage"].count()) for _, part in groups)])
    if rng.random() < 0.5:
        lines.append(["Unknown", *(str(part["stage"].isna().sum()) for _, part in groups)])
    for label, name in (("Age, years", "age"), ("weight", "weight")):
        parts = [part[name].dropna().astype(float) for _, part in groups]
        if rng.random() < 0.5:
            lines.append(
                [f"{label}, mean (SD)", *(f"{number(one.mean(), 1)} ({number(one.std(), 2)})" for one in parts)]
            )
        else:
            ends = [[number(one.quantile(at), 2) for at in (0.5, 0.25, 0.75)] for one in parts]
            lines.append([f"{label}, median [Q1, Q3]", *("{} [{} to {}]".format(*each) for each in ends)])
    return data, "\n".join(";".join(line) for line in lines) + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_a_random_table_is_read_as_it_was_written(seed):
    data, text = a_random_table(seed)
    document = {"name": "t", "outputs": [{"kind": "table_one", "by": "arm", "values": text}], "codebook": "none.yaml"}
    found = study_of(document | {"records": len(data.codes)}, PRINTED / "t.yaml").released(RANDOM)
    assert {"sex", "stage", "age", "weight"} <= {each.name.split(": ")[1].split(" ")[0] for each in found}
    for each in found:
        true, half = each.output.refit(data), 0.51 * 10.0**-each.output.decimals
        fits = (true >= each.low - half) & (true <= each.high + half)
        undefined = np.isnan(true) & np.isinf(each.low)
        assert (fits | undefined).all(), (each.name, each.output.where, text)
        exact = each.low == each.high
        assert exact.any() or "<" in text


@pytest.mark.parametrize(
    ("head", "cells", "found"),
    [
        ("age (mean (SE))", "50.1 (1.25),48 (2)", {"mean": 50.1, "standard error": 1.25}),
        ('"age, mean ± SEM"', "50.1 ± 1.25,48 ± 2", {"mean": 50.1, "standard error": 1.25}),
        ('"age, mean (95% CI)"', '"50.1 (47.6, 52.6)","48 (44, 52)"', {"mean": 50.1, "lower limit": 47.6}),
        ('"age, mean [95% confidence interval]"', "50.1 [47.6 to 52.6],48 [44 to 52]", {"upper limit": 52.6}),
        ('"Age, mean (90 % CI)"', "50.1 (47.6-52.6),48 (44-52)", {"lower limit": 47.6, "upper limit": 52.6}),
    ],
)
def test_errors_and_limits_behind_a_mean_count(head, cells, found):
    values = read(f"x,0,1\n{head},{cells}\n")["age"]
    assert {each: values[f"arm=0: {each} of age"] for each in found} == found
    assert len(values) == (6 if "limit" in str(found) else 4)


def test_the_level_of_limits_is_that_of_the_row():
    text = 'x,0,1\n"age, mean (90% CI)",50.1 (47.6-52.6),48 (44-52)\n'
    document = {"name": "x", "codebook": "none.yaml", "records": 600}
    document["outputs"] = [{"kind": "table_one", "by": "arm", "values": text}]
    (output,) = (each.output for each in study_of(document, PRINTED / "x.yaml").released(MANY) if "age" in each.name)
    assert output.level == 0.9 and output.statistics == ("mean", "limits")


@pytest.mark.parametrize(
    ("head", "cells", "found"),
    [
        ('"age, mean ± 1.96 SE"', "50.1 ± 2.45,48 ± 3", ("mean",)),
        ('"age, mean (2 SE)"', "50.1 (2.5),48 (3)", ("mean",)),
        ('"age, mean (robust SE)"', "50.1 (2.5),48 (3)", ("mean",)),
        ('"age, mean (bootstrap 95% CI)"', "50.1 (47.5 to 52.1),48 (44 to 51)", ("mean",)),
        ('"age, means ± standard errors"', "50.1 ± 2.45,48 ± 3", ("mean", "standard error")),
    ],
)
def test_only_plain_errors_and_limits_of_a_mean_are_taken_for_these(head, cells, found):
    values = read(f"x,0,1\n{head},{cells}\n")["age"]
    assert {label.partition(": ")[2].partition(" of ")[0] for label in values} == set(found)


@pytest.mark.parametrize(
    "head", ["LS mean (SE)", "predicted mean (95% CI)", "mean difference (95% CI)", "mean change (SE)"]
)
def test_other_means_are_refused(head):
    with pytest.raises(OutRiskError, match="is not the plain one"):
        read(f'x,0,1\n"age, {head}",50.1 (47.6 to 52.6),48 (44 to 52)\n')


def test_limits_that_are_exchanged_are_refused():
    with pytest.raises(OutRiskError, match=r"not in the middle of 52.6 and 47.6"):
        read('x,0,1\n"age, mean (95% CI)",50.1 (52.6 to 47.6),48 (44 to 52)\n')


def test_names_with_blanks_and_numbers_of_0_and_1():
    """`Years ill` is years_ill; a count of a number that has 0 and 1 alone is that of its 1, as of a category."""
    codebook = Codebook(
        (
            Variable("arm", "categorical", ("0", "1")),
            Variable("years_ill", "integer", tuple(range(50))),
            Variable("ever_smoked", "integer", (0, 1)),
        )
    )
    text = 'x,0,1\nn,100,120\n"Years ill, mean (SD)",9.5 (3.1),8.2 (2.9)\n"Ever smoked, n (%)",40 (40.0%),30 (25.0%)\n'
    document = {"name": "x", "codebook": "none.yaml", "records": 220}
    document["outputs"] = [{"kind": "table_one", "by": "arm", "values": text}]
    found = {each.name: each for each in study_of(document, PRINTED / "x.yaml").released(codebook)}
    smoked = found["table one by arm: ever_smoked"]
    counts = dict(zip(smoked.output.labels, smoked.low.tolist(), strict=True))
    assert counts == {
        "ever_smoked=0, arm=0": 60.0,
        "ever_smoked=0, arm=1": 90.0,
        "ever_smoked=1, arm=0": 40.0,
        "ever_smoked=1, arm=1": 30.0,
    }
    assert found["table one by arm: years_ill"].low.tolist()
