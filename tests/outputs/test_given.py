import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutRiskError
from outrisk.outputs import (
    Frequencies,
    FrequenciesEntry,
    Magnitudes,
    RegressionEntry,
    logit_from_terms,
    released_as_given,
)
from outrisk.outputs.given import _nearest

CODEBOOK = Codebook(
    (
        Variable("sex", "categorical", ("f", "m")),
        Variable("area", "categorical", ("n", "s", "w")),
        Variable("ill", "integer", (0, 1)),
        Variable("age", "integer", tuple(range(5))),
    )
)
TABLE = Frequencies(CODEBOOK, "table", ("sex", "ill"))
LABELS = ["sex=f, ill=0", "sex=f, ill=1", "sex=m, ill=0", "sex=m, ill=1"]
LOGIT = logit_from_terms(CODEBOOK, "logit", "ill", ["age", "sex"], {}, decimals=3)


def given(values, output=TABLE, folder=None):
    (found,) = released_as_given([output], values, folder)
    return found


def test_a_list_is_in_the_order_of_the_labels():
    assert TABLE.labels == LABELS
    assert given([1, 2, 3, 4]).values.tolist() == [1, 2, 3, 4]


def test_labels_win_over_order(tmp_path):
    backwards = dict(zip(LABELS[::-1], [4, 3, 2, 1], strict=True))
    assert given(backwards).values.tolist() == [1, 2, 3, 4]
    rows = "".join(f'{value},"{label}"\n' for label, value in backwards.items())
    (tmp_path / "values.csv").write_text("value,label\n" + rows)
    assert given("values.csv", folder=tmp_path).values.tolist() == [1, 2, 3, 4]


def test_a_file_of_terms():
    assert LOGIT.labels == ["const", "age", "sex_m"]


@pytest.mark.parametrize("column", ["term", "label"])
def test_terms_of_a_regression_from_a_file(tmp_path, column):
    (tmp_path / "v.csv").write_text(f"{column},value\nsex_m,-0.5\nconst,0.125\nage,1e-2\n")
    assert given("v.csv", LOGIT, tmp_path).values.tolist() == [0.125, 0.01, -0.5]


def test_standard_errors_from_a_column_of_their_own(tmp_path):
    entry = RegressionEntry(kind="ols", formula="age ~ sex", release=["coefficients", "standard_errors", "n"])
    (output,) = entry.build(CODEBOOK, 1)
    assert output.labels[:4] == ["Intercept", "sex[T.m]", "Intercept: standard error", "sex[T.m]: standard error"]
    rows = f"term,std_err,value\nsex[T.m],0.25,-0.5\n{output.labels[4]},,90\nIntercept,0.125,2\n"
    (tmp_path / "v.csv").write_text(rows)
    assert given("v.csv", output, tmp_path).values.tolist() == [2, -0.5, 0.125, 0.25, 90]


def test_what_rounding_leaves_open(tmp_path):
    entry = FrequenciesEntry(kind="frequencies", by=("sex", "ill"), margins=False, protection={"round_to": 5})
    (output,) = entry.build(CODEBOOK, 1)
    found = given([10, 0, "withheld", 25], output)
    assert (found.low[0], found.high[0]) == tuple(end[0] for end in output.publish(np.full(4, 10.0)))
    assert found.low[0] < 10 < found.high[0]
    assert not found.known[2]


def test_several_outputs_of_one_entry(tmp_path):
    entry = FrequenciesEntry(kind="frequencies", by=("sex", "area", "ill"), ways=1, name="t")
    outputs = entry.build(CODEBOOK, 1)
    expected = {"t sex": [3, 4], "t area": [1, 2, 4], "t ill": [5, 2]}
    found = released_as_given(outputs, expected, tmp_path)
    assert {each.name: each.values.tolist() for each in found} == expected
    rows = [
        f"{output.name},{label},{value}"
        for output in outputs[::-1]
        for label, value in zip(output.labels, expected[output.name], strict=True)
    ]
    (tmp_path / "v.csv").write_text("\n".join(["output,label,value", *rows]) + "\n")
    found = released_as_given(outputs, "v.csv", tmp_path)
    assert {each.name: each.values.tolist() for each in found} == expected


def test_what_was_withheld_and_what_is_known_to_a_range():
    found = given(["withheld", 2, "1 to 9", 4])
    assert found.low[1:].tolist() == [2, 1, 4] and found.high[1:].tolist() == [2, 9, 4]
    assert found.low[0] == 0 and np.isinf(found.high[0])
    assert found.known.tolist() == [False, True, True, True]


def test_keys_of_yaml_may_be_numbers():
    table = Frequencies(CODEBOOK, "table", ("ill",))
    entry = FrequenciesEntry(kind="frequencies", by=("ill",), values={"ill=0": 1, "ill=1": 2})
    assert given(entry.values, table).values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1, 2, 3],
            "output 'table': 3 values given for 4 published numbers, which are 'sex=f, ill=0'; .*; give one each",
        ),
        ([1, 2, 3, 4, 5], "5 values given for 4"),
        ([1, 2, 3, "four"], "the value of sex=m, ill=1 is 'four', which is not a number; write a number"),
        ([1, 2, 3, True], "ill=1 is True, which is not a number"),
        ([1, 2, 3, None], "ill=1 is None, which is not a number"),
        ([1, 2, 3, float("nan")], "ill=1 is nan, which is not a number"),
        ([1, 2, 3, float("inf")], "is inf, which is not a number"),
        ([1, 2, 3, "1,234"], "is '1,234', which is not a number"),
        ([1, 2, 3, "1_0"], "is '1_0', which is not a number"),
        ([1, 2, 3, [4]], r"is \[4\], which is not a number"),
        ([1, 2, 3, "9 to 1"], "is '9 to 1'; put the lower end first"),
        ([1, 2, 3, "a to 1"], "is 'a to 1', which is not a number"),
        ([1, 2, 3, 4.5], "is 4.5, which has more digits than the 0 decimals released; round it, or give"),
        ([1, 2, 3, -4], "sex=m, ill=1 is -4; a count"),
        (dict.fromkeys(LABELS[:3], 1), "no value for 'sex=m, ill=1'; give every number of it"),
        (
            dict.fromkeys([*LABELS, "sex=f, ill=2"], 1),
            "it has no number called 'sex=f, ill=2'; known: ",
        ),
        ({"ill=1, sex=m": 1}, "it has no number called 'ill=1, sex=m'; did you mean 'sex=m, ill=1'?"),
        (dict.fromkeys([*LABELS, "zzz"], 1), "no number called 'zzz'; known: 'sex=f, ill=0'"),
    ],
)
def test_values_that_do_not_fit(values, message):
    with pytest.raises(OutRiskError, match=message) as caught:
        given(values)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("output 'table': ")


def protected(show="counts", **protection):
    entry = FrequenciesEntry(kind="frequencies", by=("sex", "ill"), show=show, protection=protection)
    return entry.build(CODEBOOK, 1)[0]


MEANS = Magnitudes(CODEBOOK, "means", "age", ("sex",), ("mean", "count"))


@pytest.mark.parametrize(
    ("output", "values", "message"),
    [
        (
            protected(threshold=10),
            [20, 3, 0, 11],
            r"sex=f, ill=1 is 3, and cells of 1 to 9 records are withheld \(threshold\); write 'withheld', or correct",
        ),
        (protected(threshold=10, withhold_zeros=True), [20, 30, 0, 11], "sex=m, ill=0 is 0, and cells of 0 to 9 rec"),
        (protected(threshold=10, known_threshold=False), [20, 9, 0, 11], "sex=f, ill=1 is 9, and cells of 1 to 9"),
        (protected(threshold=10, round_to=5), [20, 5, 0, 15], "sex=f, ill=1 is 5, and cells of 1 to 9 records"),
        (
            protected(round_to=5),
            [20, 13, 0, 15],
            r"sex=f, ill=1 is 13, and counts are rounded to base 5 \(round_to\); write a multiple of it, or correct",
        ),
        (protected(round_to=5, random=True), [20, 5, 0, 14], "ill=1 is 14, and counts are rounded to base 5"),
        (
            protected(top_code=60),
            [20, 5, 0, 61],
            r"ill=1 is 61, and counts above 60 are given as that \(top_code\); write 60",
        ),
        (protected(), [20, 5, 0, "undefined"], "ill=1 is undefined, and a count never is; write 0, or 'withheld'"),
        (
            protected("proportions"),
            [0.5, 0.1, 0.4, "withheld"],
            "ill=1 is withheld, and its table has no threshold; add its 'protection', or write 'undefined'",
        ),
        (MEANS, [2.5, 3, "withheld", 0], "sex=m: mean of age is withheld, and its table has no threshold"),
    ],
)
def test_values_that_the_protection_of_their_table_rules_out(output, values, message):
    with pytest.raises(OutRiskError, match=message) as caught:
        given(values, output)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"output '{output.name}': ")


def test_what_a_protected_table_tells_of_the_records_behind_it():
    shares = protected("row_percentages", threshold=10)
    assert len(shares.labels) == 8
    found = given([100, 0, "withheld", "withheld"], shares)
    assert found.low[4:].tolist() == [10, 0, 1, 1]
    assert found.high[4:].tolist() == [np.inf, np.inf, 9, 9]
    found = given([100, 0, "undefined", "undefined"], shares)
    assert (found.low[6:].tolist(), found.high[6:].tolist()) == ([0, 0], [0, 0])
    found = given([100, 0, "0 to 20", "withheld"], shares)
    assert (found.low[2], found.high[2], found.low[6], found.high[6]) == (0, 20, 0, np.inf)
    assert given([60, 0, 5, 5], protected(top_code=60)).high[0] == np.inf
    assert given([10, 0, 5, 5], protected(threshold=5, round_to=5)).low.tolist() == [8, 0, 5, 5]


def test_what_is_undefined_is_not_withheld():
    found = given([2.5, 3, "undefined", 0], MEANS)
    assert (found.low.tolist(), found.high[3]) == ([2.5, 3, -np.inf, 0], 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("term,value\nconst,1\nage,2\nage,3\nsex_m,1\n", "v.csv: record 3: 'age' stands there twice; keep one"),
        ("term,value\nconst,1\nagee,2\nsex_m,1\n", "no number called 'agee'; did you mean 'age'"),
        ("term,value\nconst,1\nage,\nsex_m,1\n", "the value of age is '', which is not a number"),
        ("term,value\nconst,1\nage,2\n", "no value for 'sex_m'"),
        ("term,estimate\nconst,1\n", r"v.csv: needs the columns label \(or term\) and value; it has"),
        ("value\n1\n", r"needs the columns label \(or term\) and value"),
        ("term,value,std_err\nconst,1,0.1\nage,2,\nsex_m,3,\n", "no number called 'const: standard error'"),
        ("output,term,value\nother,const,1\n", "values: no output 'other' here; known: 'logit'"),
        ("term,value\nconst,0.1234\nage,2\nsex_m,3\n", "value of const is 0.1234, which has more digits than the 3"),
        ("", "v.csv: the file is empty"),
        (None, "v.csv: no such file"),
    ],
)
def test_files_that_do_not_fit(tmp_path, content, message):
    if content is not None:
        (tmp_path / "v.csv").write_text(content)
    with pytest.raises(OutRiskError, match=message):
        given("v.csv", LOGIT, tmp_path)


def test_a_p_value_may_be_below_a_number(tmp_path):
    (output,) = RegressionEntry(kind="logit", formula="ill ~ age", release=["coefficients", "p_values"]).build(
        CODEBOOK, 1
    )
    (released,) = released_as_given([output], [0.1, 0.2, "<0.001", " < 0.05"], tmp_path)
    assert released.low[2:].tolist() == [0, 0] and released.high[2:].tolist() == [0.001, 0.05]
    with pytest.raises(OutRiskError, match=r"the value of age is '<0.2', which is not a number"):
        released_as_given([output], [0.1, "<0.2", 0.5, 0.5], tmp_path)
    with pytest.raises(OutRiskError, match=r"'< few', which is not a number; .* or '<0.001'"):
        released_as_given([output], [0.1, 0.2, 0.5, "< few"], tmp_path)


def test_several_outputs_need_a_mapping_or_a_file(tmp_path):
    outputs = FrequenciesEntry(kind="frequencies", by=("sex", "area"), ways=1).build(CODEBOOK, 1)
    with pytest.raises(OutRiskError, match="a list for 2 outputs; write a mapping with one list for each: 'table sex'"):
        released_as_given(outputs, [1, 2], tmp_path)
    with pytest.raises(OutRiskError, match="output 'table area': no values; add them under its name"):
        released_as_given(outputs, {"table sex": [1, 2]}, tmp_path)
    with pytest.raises(OutRiskError, match="no output 'table aera' here; did you mean 'table area'"):
        released_as_given(outputs, {"table sex": [1, 2], "table aera": [1, 2, 3]}, tmp_path)
    with pytest.raises(OutRiskError, match="output 'table sex': values: 3 is neither a list nor a mapping"):
        released_as_given(outputs, {"table sex": 3, "table area": [1, 2, 3]}, tmp_path)
    (tmp_path / "v.csv").write_text("label,value\nsex=f,1\n")
    with pytest.raises(OutRiskError, match="needs the columns output, label"):
        released_as_given(outputs, "v.csv", tmp_path)


@pytest.mark.parametrize("values", [3, 2.5, True])
def test_values_of_no_kind_are_refused_in_the_study(values):
    with pytest.raises(ValueError, match="write a list in the order of the labels, a mapping"):
        RegressionEntry(kind="logit", formula="ill ~ age", values=values)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("C(religious)[T.1]", ""),
        ("C(religious)[T.4]: p-value", ""),
        ("C(religion)[T.3]", "C(religious)[T.3]"),
        ("c(religious)[t.3]", "C(religious)[T.3]"),
        ("AREAP_60", ""),
        ("AREA_58", "AREAP_58"),
        ("sex=m, ill=2", ""),
        ("sex=m, il=1", "sex=m, ill=1"),
        ("agee", "age"),
    ],
)
def test_no_suggestion_is_another_level(name, meant):
    labels = ["Intercept", "C(religious)[T.2]", "C(religious)[T.3]", "C(religious)[T.3]: p-value"]
    labels += ["AREAP_57", "AREAP_58", "sex=m, ill=0", "sex=m, ill=1", "age"]
    found = _nearest(name, labels)
    if meant:
        assert found == f"; did you mean '{meant}'?"
    else:
        assert found.startswith("; known: ")
