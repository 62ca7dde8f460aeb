"""Tables in the forms of R's gtsummary and modelsummary: numbers and rows are found, or a line says what to do."""

import csv
import io
from dataclasses import replace

import pytest
from fair import MEANINGS, PRINTED, codebook, data, study

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.readers.cells_of_models import ends_of, has_comma, p_value, plain, whole, with_brackets

PARTS = ["coefficients", "confidence_limits", "p_values"]
LOGIT = {"kind": "logit", "formula": "affair ~ age + C(religion) + C(occ)", "release": PARTS}
LINEAR = {"kind": "ols", "formula": "affairs ~ C(religion) * age"}
SMALL = {"kind": "logit", "formula": "affair ~ age + C(religion)", "release": ["coefficients", "p_values"]}
CRUDE = {"kind": "logit", "formula": "affair ~ C(religion)"}
TABLE = (PRINTED / "gtsummary.csv").read_text(encoding="utf-8")
COX = (PRINTED / "gtsummary_cox.csv").read_text(encoding="utf-8")
LONG = (PRINTED / "modelsummary.csv").read_text(encoding="utf-8")
HEAD = "**Characteristic**,**OR**,**95% CI**,**p-value**\n"
LEVELS = 'mildly,0.85,"0.7, 1.0",0.036\nfairly,0.62,"0.5, 0.7",<0.001\nstrongly,0.33,"0.2, 0.4",<0.001\n'
ROWS = list(csv.reader(io.StringIO(TABLE)))
LABELS = {"age": "Age (years)", "religion": "Religiousness", "affair": "Had an affair"}


def labelled():
    """The codebook with labels of variables and levels."""
    return Codebook(tuple(replace(each, label=LABELS.get(each.name, "")) for each in codebook(True).variables))


def given(entry, book=None):
    (released,) = study(entry).given(book or codebook(True)).values()
    return released, released.recompute(data(True))


def number(released, label):
    at = released.labels.index(label)
    return released.low[at], released.high[at]


def test_the_digits_of_each_number_are_its_own():
    released, _ = given(LOGIT | {"values": "gtsummary.csv"})
    assert number(released, "C(occ)[T.professional]: p-value") == pytest.approx((0.35, 0.45))
    assert number(released, "C(occ)[T.student]: p-value") == pytest.approx((0.015, 0.015))
    assert number(released, "age: p-value") == pytest.approx((0, 0.001))
    assert number(released, "C(religion)[T.4]: exp(b)") == pytest.approx((0.27, 0.27))
    above = TABLE.replace('1.29",0.4\n', '1.29",>0.9\n')
    released, beside = given(LOGIT | {"values": above})
    assert number(released, "C(occ)[T.professional]: p-value") == pytest.approx((0.9, 1))
    assert (~beside.matched).sum() == 1


@pytest.mark.parametrize("file", ["gtsummary.csv", "gtsummary_jama.csv", "gtsummary_merged.csv#2"])
def test_a_wrong_digit_shows(file, tmp_path):
    name, _, model = file.partition("#")
    text = (PRINTED / name).read_text(encoding="utf-8")
    assert "0.80" in text
    (tmp_path / name).write_text(text.replace("0.80", "0.82", 1), encoding="utf-8")
    _, beside = given(LOGIT | {"values": f"{tmp_path / name}#{model}" if model else str(tmp_path / name)})
    assert (~beside.matched).sum() == 1


def test_rows_of_some_terms_are_those_that_keep_names():
    lines = TABLE.splitlines()
    text = "\n".join([lines[0], *lines[2:7]])
    _, beside = given(LOGIT | {"values": text, "keep": ["religion"]})
    assert beside.matched.all() and len(beside.matched) == 12
    with pytest.raises(OutputError, match=r"no coefficient for age; .* add it, or say with 'keep' which terms are"):
        given(LOGIT | {"values": text})
    with pytest.raises(OutputError, match="the table prints 'age', which 'keep' leaves out"):
        given(LOGIT | {"values": TABLE, "keep": ["religion"]})


def written(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


OTHERS = {
    "labels": TABLE.replace("age,", "__Age (years)__,").replace("religion,", "__Religiousness__,"),
    "italics": TABLE.replace("mildly,", "_Mildly_,").replace("0.004", "__0.004__"),
    "factor": TABLE.replace("religion,", "factor(religion),").replace("occ,", "as.factor(occ),"),
    "marks": TABLE.replace("**OR**", "OR1").replace("**95% CI**", "95% CI1,2"),
    "adjusted": TABLE.replace("**OR**", "aOR¹").replace("**95% CI**", "95% CI¹"),
    "one": TABLE.replace("not at all,NA,NA,NA", "not at all,1.00,NA,NA"),
    "ref": TABLE.replace("not at all,NA,NA,NA", "not at all,Ref.,,"),
    "spanned": ",**Crude**,,\n" + TABLE,
    "fit": TABLE + 'No. Obs.,"6,366",NA,NA\nAIC,"7,657",NA,NA\n',
    "notes": TABLE + '"Abbreviations: CI = Confidence Interval, OR = Odds Ratio",,,\n',
    "numbered": written([str(at or ""), *row] for at, row in enumerate(ROWS)),
    "pipes": "\n".join(f"|{'|'.join(row)}|" for row in [ROWS[0], [":---", "---:", ":--:", "---:"], *ROWS[1:]]),
    "a page": "<table>\n"
    + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
    + "</table>",
    "comma": written([ROWS[0], *([row[0], *(cell.replace(".", ",") for cell in row[1:])] for row in ROWS[1:])]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_ways_to_write_the_same_table(name):
    first, _ = given(LOGIT | {"values": "gtsummary.csv"})
    more = {"release": [*PARTS, "n"]} if name == "fit" else {}
    released, beside = given(LOGIT | {"values": OTHERS[name]} | more, labelled())
    assert beside.matched.all() and released.output.references == first.output.references
    assert [label for label in released.labels if label != "number of records"] == list(first.labels)
    assert ("number of records" in released.labels) == (name == "fit")


def test_the_level_of_limits_is_that_of_the_header():
    released, _ = given(LOGIT | {"values": TABLE.replace("95% CI", "90% CI")})
    assert released.output.release.level == 0.9
    released, _ = given(LINEAR | {"values": only(), "level": 0.9})
    assert released.output.release.level == 0.9


def test_the_reference_may_be_any_level():
    moved = TABLE.replace('professional,0.84,"0.55, 1.29",0.4', "professional,—,—,")
    with pytest.raises(OutputError, match=r"no coefficient for occ = managerial; say with 'where'"):
        given(LOGIT | {"values": moved})
    two = TABLE.replace('professional,0.84,"0.55, 1.29",0.4', "professional,NA,NA,NA")
    with pytest.raises(OutputError, match=r"no coefficient for occ = professional; say with 'where'"):
        given(LOGIT | {"values": two})
    last = HEAD + 'religion,,,\nnot at all,3.0,"2.4, 3.8",<0.001\nmildly,2.6,"2.1, 3.2",<0.001\n'
    last += 'fairly,1.9,"1.5, 2.3",<0.001\nstrongly,,,\n'
    assert given(CRUDE | {"values": last, "release": ["coefficients"]})[0].output.references == {"religion": "4"}


def test_p_values_of_whole_variables_are_left_out(caplog):
    caplog.set_level("INFO", "outrisk")
    text = HEAD + "religion,,,<0.001\nnot at all,—,—,\n" + LEVELS.replace("0.036", "").replace("<0.001", "")
    entry = CRUDE | {"values": text.replace("95% CI", "q-value")}
    released, _ = given(entry)
    assert released.output.release.parts == ("coefficients",)
    assert "p values are not assessed: they are of whole variables (add_global_p)" in caplog.text
    assert "columns that are no part of a regression are passed over: q-value" in caplog.text


def test_numbers_of_people_by_level_are_left_out(caplog):
    caplog.set_level("INFO", "outrisk")
    text = "Characteristic,N,OR,p-value\nreligion,,,\nnot at all,1021,,\nmildly,2267,0.85,0.036\n"
    text += "fairly,2422,0.62,<0.001\nstrongly,656,0.33,<0.001\n"
    released, beside = given(CRUDE | {"values": text})
    assert released.output.release.parts == ("coefficients", "p_values") and beside.matched.all()
    assert "numbers of people by level (n) are not assessed" in caplog.text


def test_a_single_row_of_two_levels_is_that_of_the_other_level(caplog):
    caplog.set_level("INFO", "outrisk")
    book = Codebook((*codebook(True).variables, Variable("young", "categorical", ("no", "yes"), label="Under 30")))
    text = "Characteristic,OR,p-value\nUnder 30,0.52,<0.001\n"
    entry = {"kind": "logit", "formula": "affair ~ young", "values": text}
    released = next(iter(study(entry).given(book).values()))
    assert released.labels[1] == "young[T.yes]: exp(b)" and released.low[1] == 0.52
    assert "'Under 30' is read as young = yes, against no" in caplog.text
    with pytest.raises(OutputError, match=r"'religion' has one row and no levels; .* write the table without show_sin"):
        given(CRUDE | {"values": "Characteristic,OR,p-value\nreligion,0.7,0.01\n"})


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (HEAD, SMALL, "it has a header and no coefficients"),
        (TABLE, {"kind": "logit", "response": "affair"}, "does not say which terms of the model it leaves out"),
        (TABLE, LOGIT | {"kind": "cox"}, "the table is of a logit or ologit or mnlogit, the output says kind: cox"),
        (COX, SMALL, "the table is of a cox, the output says kind: logit"),
        (HEAD + "sex,1.2,,0.3\n", SMALL, "'sex' is no variable or level; variables are"),
        (HEAD + "Behaviour,,,\nreligion,,,\n" + LEVELS, SMALL, "'Behaviour' is no variable of the model and no level"),
        (HEAD + "religion,,,\n" + LEVELS.replace("mildly", "mild"), SMALL, "'mild' below 'religion' is no variable of"),
        (HEAD + "religion,,,\nnot at all,,,\n" + LEVELS + "age,1.05,1.05,0.1\n", SMALL, "limits of 'age' are '1.05'"),
        (HEAD + "religion,,,\nnot at all,,,\n" + LEVELS + LEVELS, SMALL, r"\['religion: mildly', 'religion: mild"),
        ("Group,Characteristic,OR,p-value\nA,age,1.1,0.2\n", SMALL, r"several tables below each other \(tbl_stack,"),
        ("Characteristic,N,OR,p-value\nage,6366,1.1,0.2\neduc,6300,1.0,0.3\n", SMALL, r"rows are of 6366, 6300 people"),
        (TABLE.replace("OR", "log(OR)"), LOGIT | {"exponentiate": True}, r"not exp\(b\), the output says exponentiate"),
        (COX.replace("OR", "HR"), CRUDE | {"kind": "poisson"}, "the table is of a cox, the output says kind: poisson"),
        (HEAD.replace("OR", "SHR") + "age,1.1,,0.2\n", SMALL, "no column of estimates that is known; known are OR, HR"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_refused(text, entry, message):
    with pytest.raises(OutputError, match=message):
        given(entry | {"values": text})


def test_limits_that_may_be_profiled_are_refused_with_both_ways_out():
    entry = {name: value for name, value in LOGIT.items() if name != "release"}
    both = r"release: \[coefficients, p_values\], .* or release: \[coefficients, confidence_limits, p_values\], where"
    with pytest.raises(OutputError, match=f"from the profile likelihood unless it is told otherwise.* {both}"):
        given(entry | {"values": "gtsummary.csv"})
    with pytest.raises(OutputError, match="are no multiple of the standard errors"):
        given(entry | {"values": "gtsummary_profile.csv"})


def test_models_of_a_table_are_counted():
    for file in ("gtsummary_merged.csv", "modelsummary.csv", "modelsummary.md"):
        with pytest.raises(OutputError, match="it has 2 models; say which one behind the file's name"):
            given(LINEAR | {"values": file})
        with pytest.raises(OutputError, match="no model 3; it has 2"):
            given(LINEAR | {"values": f"{file}#3"})


def only(model=1, **changes):
    """The table of modelsummary with one of its models, and some of its cells otherwise."""
    lines = [line.split(",") for line in LONG.replace(", ", "; ").splitlines()]
    text = "\n".join(",".join([*cells[:3], cells[2 + model]]) for cells in lines).replace("; ", ", ")
    for old, new in changes.items():
        text = text.replace(old.replace("_", "."), new)
    return text


def test_standard_errors_of_modelsummary_are_as_it_says():
    text = only()
    assert given(LINEAR | {"values": text})[1].matched.all()
    for name, kept in (("IID", True), ("HC3", False), ("by: occ", False), ("by: occ & educ", False), ("HC1", True)):
        released, _ = given(LINEAR | {"values": f'{text}\n"gof","Std.Errors","","{name}"\n'})
        assert ("standard_errors" in released.output.release.parts) == kept, name
    assert released.output.covariance.estimator == "HC1"


def test_patterns_of_statistics_are_read():
    rows = [row for row in csv.reader(io.StringIO(only())) if row[2] in ("statistic", "estimate", "std.error")]
    pattern, entry = "{std.error} (t = {statistic})", LINEAR | {"release": ["coefficients", "standard_errors"]}
    changed = [
        [*row[:2], pattern, f"{row[3].strip('()')} (t = -1.2)"] if row[2] == "std.error" else row for row in rows
    ]
    _, beside = given(entry | {"values": written(changed)})
    assert beside.matched.all() and len(beside.matched) == 16
    with pytest.raises(OutputError, match=r"'0.318' of '\(Intercept\)' is not of the form"):
        given(entry | {"values": written(changed).replace("0.318 (t = -1.2)", "0.318")})


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (
            "| | (1) |\n|:--|--:|\n| age | 0.05 |\n| | (0.01) |\n| Num.Obs. | 6366 |\n",
            LINEAR,
            r"below 'age' in brackets",
        ),
        ("term,statistic,(1)\nage,estimate,0.05 (0.01)\n", LINEAR, "behind the estimate of 'age' in brackets"),
        (
            "term,statistic,(1)\nage,estimate,0.05\nage,p.fdr,0.05\n",
            LINEAR,
            "the statistic 'p.fdr' of 'age' is not known",
        ),
        ("term,statistic,(1)\nage,estimate,0.05\nage,estimate,0.05\n", LINEAR, "'age' has two rows of the same stat"),
        ("term,statistic,(1)\nage,estimate,0.05\n", SMALL, r"whether its estimates are exp\(b\) it does not say"),
        ("group,term,statistic,(1)\nx,age,estimate,0.05\n", LINEAR, "it has groups of terms"),
        ("term,statistic,(1) / Est.,(1) / S.E.\nage,estimate,0.05,0.1\n", LINEAR, "each model has several columns"),
    ],
)
def test_tables_of_modelsummary_that_leave_something_open_are_refused(text, entry, message):
    with pytest.raises(OutputError, match=message):
        given(entry | {"values": text})


def test_ratios_of_modelsummary_have_standard_errors_of_ratios():
    text = "part,term,statistic,(1)\nestimates,age,estimate,1.055\nestimates,age,std.error,(0.004)\n"
    entry = {"kind": "logit", "formula": "affair ~ age", "exponentiate": True, "values": text}
    released, _ = given(entry)
    low, high = number(released, "age: standard error")
    assert low == pytest.approx(0.0035 / 1.0555) and high == pytest.approx(0.0045 / 1.0545)


def test_the_number_of_records_of_a_cox_model_may_be_that_of_events(caplog):
    caplog.set_level("INFO", "outrisk")
    text = "part,term,statistic,(1)\nestimates,educ,estimate,-0.007\ngof,Num.Obs.,,2053\n"
    released, _ = given({"kind": "cox", "formula": "Surv(yrs_married, affair) ~ educ", "values": text})
    assert released.output.release.parts == ("coefficients",) and "may be that of events" in caplog.text


def test_labels_name_terms_of_a_flat_table():
    text = only().replace("religionmildly", "Religiousness [mildly]").replace("religionfairly", "religion3")
    text = text.replace('"age"', '"Age (years)"')
    assert given(LINEAR | {"values": text}, labelled())[1].matched.all()
    assert MEANINGS[1] == "mildly"


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("1.12, 2.07", ("1.12", "2.07")), ("-1.986, -0.507", ("-1.986", "-0.507")), ("[-0.1, 0.3]", ("-0.1", "0.3")),
        ("0.99 to 1.02", ("0.99", "1.02")), ("0.99–1.02", ("0.99", "1.02")), ("0.65-0.82", ("0.65", "0.82")),
        ("1,12, 2,07", ("1,12", "2,07")), ("1,12; 2,07", ("1,12", "2,07")), ("-10, -3.7", ("-10", "-3.7")),
        ("0.00, Inf", ("0.00", "Inf")), ("1,234, 5,678", ("1,234", "5,678")), ("1.12", None), ("1.12, ", None),
        ("1.1, 2.2, 3.3", None), ("—", None), ("0.5, 0.7, ", None),
    ],
)  # fmt: skip
def test_both_limits_of_a_cell(text, ends):
    assert ends_of(text) == ends


def test_cells():
    assert [plain(cell) for cell in ("**OR**", "__<0.001__", "_I_", "NA", "1·02", "a_b", "**OR** **(SE)**", "−1")] == [
        "OR", "<0.001", "I", "", "1.02", "a_b", "OR (SE)", "-1",
    ]  # fmt: skip
    assert [p_value(cell) for cell in (">0.9", "(<0.001)", "p=0.03", ">0.99", "0.4")] == [
        "0.9 to 1", "<0.001", "0.03", "0.99 to 1", "0.4",
    ]  # fmt: skip
    assert with_brackets("0.03* (0.01)") == ("0.03", "(0.01)") and with_brackets("0.03*") == ("0.03*", "")
    assert has_comma(["1,02", "1,234"]) and not has_comma(["1,234", "5,678"]) and not has_comma(["1,02", "1.0"])
    assert whole([["", "a", "b", ""], ["1", "x", "y", ""]]) == [["a", "b"], ["x", "y"]]
