"""Regressions printed in part: what is printed, what the rest says, and that a search has the printed numbers."""

import itertools

import numpy as np
import pytest
from evolve.problems import people
from pydantic import TypeAdapter, ValidationError

from outrisk.assess.look import Appetite, look
from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.state import State
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, release, released, released_as_given
from outrisk.problem.influence import records_of_model
from outrisk.problem.untold import told_by
from outrisk.readers.values import resolve

BOOK = Codebook(
    (
        Variable("smoker", "categorical", ("no", "yes")),
        Variable("age", "integer", (20, 30, 40, 50)),
        Variable("area", "categorical", ("n", "s", "w"), missing=True),
        Variable("ill", "categorical", ("no", "yes")),
        Variable("job", "categorical", ("a", "b", "c")),
        Variable("visits", "integer", (0, 1, 2, 7)),
        Variable("months", "integer", (1, 2, 3, 4)),
        Variable("w", "numeric", (0.0, 1.0, 2.5)),
    )
)
WHOLE = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n", "log_likelihood")
DESIGN = "smoker + age + area"
KINDS = {
    "logit": ("ill", {}),
    "probit": ("ill", {}),
    "ols": ("months", {}),
    "poisson": ("visits", {}),
    "negbin": ("visits", {}),
    "mnlogit": ("job", {}),
    "ologit": ("job", {}),
    "oprobit": ("job", {}),
    "cox": ("months", {"status": "ill"}),
}


def built(kind="logit", design=DESIGN, **given):
    response, more = KINDS[kind]
    entry = {"kind": kind, "formula": f"{response} ~ {design}", "release": WHOLE, **more, **given}
    return TypeAdapter(OutputEntry).validate_python(entry).build(BOOK, 1)[0]


def table_of(data):
    return release(Frequencies(BOOK, "t", ("smoker",)), data)


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    return Microdata(BOOK, np.stack([rng.integers(0, size, n) for size in BOOK.sizes], axis=1).astype(np.uint16))


@pytest.mark.parametrize("kind", KINDS)
def test_the_kept_terms_and_numbers_of_the_whole_model_are_printed(kind):
    output = built(kind, keep="smoker")
    printed = {label for label, shown in zip(output.labels, output.printed, strict=True) if shown}
    assert printed == {
        each for each in output.labels if "smoker" in each or each in ("number of records", "log-likelihood")
    }
    hidden, whole = release(output, data := drawn(400, 1)), release(built(kind), data)
    np.testing.assert_array_equal(hidden.known, output.printed & whole.known)
    np.testing.assert_array_equal(hidden.low[hidden.known], whole.low[hidden.known])
    assert np.isneginf(hidden.low[~output.printed]).all() and np.isposinf(hidden.high[~output.printed]).all()


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("age", ["age", "smoker[T.yes]:age"]),
        ("smoker:age", ["smoker[T.yes]:age"]),
        (["area[T.w]", "constant"], ["Intercept", "area[T.w]"]),
        ((), ["Intercept", "smoker[T.yes]", "age", "smoker[T.yes]:age", "area[T.s]", "area[T.w]"]),
    ],
)
def test_terms_are_kept_by_variable_term_column_or_as_the_constant(keep, kept):
    output = built(design="smoker * age + area", keep=keep)
    assert sorted(np.array(output.coefficients)[output.kept]) == sorted(kept)


def test_names_are_those_that_are_there_first():
    """A variable called const is no constant; one in backticks is a variable; factors stand in any order."""
    book = Codebook((*BOOK.variables, Variable("const", "integer", (0, 1)), Variable("z 1", "integer", (0, 1, 2))))
    formula = "ill ~ const + `z 1` + smoker:age + log(visits + 1)"

    def keep(*names):
        entry = {"kind": "logit", "formula": formula, "keep": names}
        return TypeAdapter(OutputEntry).validate_python(entry).build(book, 1)[0]

    for name, kept in (("const", "const"), ("`z 1`", "`z 1`"), ("z 1", "`z 1`"), ("Intercept", "Intercept")):
        output = keep(name)
        assert np.array(output.coefficients)[output.kept].tolist() in ([kept], [kept.strip("`")])
    assert keep("age : smoker").kept.sum() == 2
    with pytest.raises(OutputError, match="keep: 'log' is no variable"):
        keep("log")
    output = built("mnlogit", keep="job = c: age")
    assert np.array(output.coefficients)[output.kept].tolist() == ["job = c: age"]
    assert np.array(output.columns)[output.kept_columns].tolist() == ["age"]


def test_labels_of_terms_and_parameters_of_shape_are_kept_by_name():
    output = built("negbin", keep=["smoker", "alpha"])
    assert np.array(output.coefficients)[output.kept].tolist() == ["smoker[T.yes]", "alpha"]
    entry = {"kind": "logit", "response": "ill", "terms": ["smoker", "area"]}
    for keep, kept in (("area", ["area_s", "area_w"]), (["area_w", "const"], ["const", "area_w"])):
        output = TypeAdapter(OutputEntry).validate_python(entry | {"keep": keep}).build(BOOK, 1)[0]
        assert np.array(output.coefficients)[output.kept].tolist() == kept


@pytest.mark.parametrize("keep", ["smokes", "ill", "job"])
def test_what_is_no_term_is_refused(keep):
    with pytest.raises(OutputError, match=f"keep: '{keep}' is no variable and no term of .*smoker"):
        built(keep=keep)
    with pytest.raises(ValidationError):
        TypeAdapter(OutputEntry).validate_python({"kind": "frequencies", "by": "ill", "keep": "ill"})


DESIGNS = [
    "smoker + age + area",
    "0 + area + age",
    "smoker * area",
    "C(area, Sum) + smoker",
    "area:smoker + age",
    "C(age)",
]
MORE = [{}, {"where": "age >= 30"}, {"where": "area != 'w'"}]


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_coefficients_imply_is_true_wherever_there_is_a_fit(kind):
    """Of 10 people or 40, there is hardly a fit; where there is one, a level with one outcome alone was none."""
    fits = counted = 0
    for design, more in itertools.product(DESIGNS, MORE):
        if kind in ("cox", "ologit", "oprobit") and ("0 +" in design or ":" in design):
            continue
        more = more | ({"weight": "w"} if kind in ("logit", "poisson", "ols") and "*" not in design else {})
        output = built(kind, design, release=["coefficients"], **more)
        for seed in range(12):
            data = drawn(10 if seed % 2 else 40, [seed, len(design)])
            try:
                numbers = output.refit(data)
            except OutputError:
                continue
            fits += bool(np.isfinite(numbers).all())
            nothing = np.full(len(numbers), np.inf)
            for each in output.implied(-nothing, nothing):
                counts = each.output.refit(data)
                totals = Problem(BOOK, len(data), (table_of(data), each)).totals(data.codes)
                np.testing.assert_array_equal(counts, totals[-len(counts) :])
                assert (counts >= 1).all(), (design, more, seed)
                counted += 1
    assert fits > 10 and counted > 10


def test_a_variable_of_one_level_has_no_column_that_says_anything():
    book = Codebook((*BOOK.variables, Variable("one", "categorical", ("only",))))
    entry = {"kind": "logit", "formula": "ill ~ C(one) + area + age", "keep": "age"}
    (output,) = TypeAdapter(OutputEntry).validate_python(entry).build(book, 1)
    codes = np.column_stack([drawn(90, 4).codes, np.zeros(90, np.uint16)])
    (found,) = output.implied(*output.publish(output.refit(Microdata(book, codes))))
    assert len(found.labels) == 6


def test_a_separated_level_is_what_it_implies_against():
    output = built(keep="smoker")
    data = drawn(60, 3)
    data.codes[data.codes[:, 2] == 1, 3] = 1
    with pytest.raises(OutputError, match="area = s is separated"):
        output.refit(data)
    low, high = release(output, drawn(60, 4)).low, release(output, drawn(60, 4)).high
    (each,) = output.implied(low, high)
    assert each.output.refit(data).min() == 0 and not each.known.any()
    assert built().implied(*built().publish(built().refit(drawn(60, 4)))) == ()


def test_values_of_what_is_printed_are_given_alone():
    output = built(keep="smoker", release=["coefficients", "standard_errors", "n"], decimals=2)
    label = "smoker[T.yes]"
    given = {label: 0.5, f"{label}: standard error": 0.3, "number of records": 60}
    for cells in (given, list(given.values())):
        (found,) = released_as_given([output], cells, None)
        np.testing.assert_array_equal(found.values[output.printed], [0.5, 0.3, 60])
        np.testing.assert_array_equal(found.known, output.printed)
    with pytest.raises(OutputError, match="a value is given for age, which 'keep' leaves out"):
        released_as_given([output], given | {"age": 0.1}, None)
    with pytest.raises(OutputError, match="2 values given for 3 published numbers"):
        released_as_given([output], [0.5, 0.3], None)


TABLE = """term,estimate,std.error,p.value
smokeryes,0.512,0.221,0.021
"""


def holds(values, which):
    """The numbers of the table; of R's errors and p-values, which stop short of their end, a little around them."""
    printed = np.array([0.512, 0.221, 0.021])
    low, high = values.low[which], values.high[which]
    assert (low <= printed).all() and (printed <= high).all() and (high - low <= 0.002).all()


def test_a_table_of_some_terms_is_read_where_keep_says_so(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    entry = {"kind": "logit", "formula": "ill ~ smoker + age + area", "values": "t.csv"}
    read = lambda **more: resolve(TypeAdapter(OutputEntry).validate_python(entry | more), BOOK, 1, tmp_path)  # noqa: E731
    (found,) = read(keep="smoker")
    (output,) = found.build(BOOK, 1)
    (values,) = released_as_given([output], found.values, tmp_path)
    holds(values, output.printed)
    with pytest.raises(OutputError, match=r"no coefficient for age.*say with 'keep' which terms are printed"):
        read()
    with pytest.raises(OutputError, match="prints 'smokeryes', which 'keep' leaves out"):
        read(keep="age")
    (tmp_path / "t.csv").write_text(TABLE.replace("smokeryes", "areaw"))
    (found,) = read(keep="area[T.w]")
    (values,) = released_as_given(found.build(BOOK, 1), found.values, tmp_path)
    holds(values, values.known)
    with pytest.raises(OutputError, match="no coefficient for area = s"):
        read(keep="area")


def test_a_level_with_one_outcome_is_no_infinite_coefficient():
    """A start draws records of which a level may be separated; a search begins where none is extreme."""
    output = built(keep="smoker", release=["coefficients"])
    data = drawn(200, 3)
    data.codes[data.codes[:, 2] == 1, 3] = 1
    values = release(output, drawn(200, 4))
    part = told_by(values.parts[0], values.low, values.high, data.codes)
    assert 2.0 < part.model.coefficients[0][output.coefficients.index("area[T.s]")] < 6.0


@pytest.mark.parametrize("kind", ["logit", "poisson", "ologit", "mnlogit", "cox"])
def test_records_that_were_published_have_the_numbers_in_one_step_from_what_is_told(kind):
    """Elsewhere a search and a refit would not agree: the prior is no more than a way there."""
    output = built(kind, keep="smoker", release=["coefficients", "standard_errors"], decimals=4)
    for seed in range(3):
        data = drawn(120, seed)
        found = release(output, data)
        part = told_by(found.parts[0], found.low, found.high, data.codes)
        numbers = part.map.numbers(*records_of_model(part.model, data.codes).summed(np.ones(len(data))))
        np.testing.assert_allclose(numbers[output.printed], output.refit(data)[output.printed], atol=5e-5)


@pytest.mark.parametrize(("keep", "certain"), [("area[w]", True), ("area", True), ("smoker", False)])
def test_a_fitted_value_that_is_printed_is_that_of_the_person_alone_there(keep, certain):
    data = drawn(100, 6)
    data.codes[:, 2] = np.where(data.codes[:, 2] == 2, 0, data.codes[:, 2])
    data.codes[0, 2] = 2
    output = built("ols", "0 + area", keep=keep) if "area" in keep else built("ols", "0 + area + smoker", keep=keep)
    (found,) = (each for each in look([output], data, Appetite(), "ill") if each.rule == "leverage")
    assert found.certain == certain and ("own response" in found.what) == certain


def test_few_people_are_counted_behind_what_is_printed():
    data = drawn(300, 5)
    data.codes[3:, 2] = np.where(data.codes[3:, 2] == 2, 0, data.codes[3:, 2])
    data.codes[:3, 2] = 2
    data.codes[:2, 3] = [0, 1]
    for keep, few in ((("area",), True), (("smoker",), False), ((), True)):
        output = built(keep=keep, release=["coefficients"])
        found = look([output], data, Appetite(), "ill")
        assert any("area[T.w]: 3" in each.places for each in found) == few


ADJUSTED = [
    {"kind": "frequencies", "by": ["status", "ill"]},
    {"kind": "frequencies", "by": ["sex", "ill"]},
    {"kind": "logit", "formula": "ill ~ sex + age + status", "event": 1, "keep": "sex", "exponentiate": True,
     "release": ["coefficients", "confidence_limits", "p_values"], "decimals": 2},
    {"kind": "logit", "formula": "ill ~ sex + age", "event": 1, "keep": "sex", "where": "status == 'single'",
     "release": ["coefficients", "standard_errors", "n"], "decimals": 3},
    {"kind": "ols", "formula": "age ~ sex + status + ill", "keep": "sex",
     "release": ["coefficients", "standard_errors", "r2"], "decimals": 2},
]  # fmt: skip


OF_FEW = [
    {"kind": "frequencies", "by": ["sex", "ill"]},
    {"kind": "magnitudes", "value": "age", "by": "sex", "statistics": ["mean", "sd"], "decimals": 1},
    {**ADJUSTED[2], "formula": "ill ~ sex + age"},
    {**ADJUSTED[4], "formula": "age ~ sex + ill"},
]  # fmt: skip


def adjusted(n):
    data, adapter = people(n, 1 if n > 30 else 2), TypeAdapter(OutputEntry)
    entries = ADJUSTED if n > 30 else OF_FEW
    outputs = [adapter.validate_python(each).build(data.codebook, at)[0] for at, each in enumerate(entries, 1)]
    return Problem(data.codebook, n, tuple(release(output, data) for output in outputs))


@pytest.mark.parametrize("n", [30, 250, 1_500])
def test_a_search_has_the_printed_numbers_by_refit(n):
    problem = adjusted(n)
    for last in evolve(problem, preset("fast"), np.random.default_rng(1)):  # noqa: B007
        pass
    refits = [each.recompute(Microdata(problem.codebook, last.codes)) for each in problem.released]
    assert all(refit.near.all() for refit in refits) and last.stop in ("matched", "near")


def test_a_search_goes_on_with_coefficients_as_it_had_taken_them():
    whole, states, settings = [], [], preset("fast", generations=16)
    for each in evolve(adjusted(250), settings, np.random.default_rng(2)):
        whole.append((each.number, each.errors, each.stop, each.codes.tobytes()))
        states.append(each.state())
    assert sum('"settled.told.0"' in state.text for state in states) > 4
    for after in (2, 4, 7):
        again = State(after, states[after].text, {at: array.copy() for at, array in states[after].arrays.items()})
        going = evolve(adjusted(250), settings, np.random.default_rng(9), 1, again)
        assert [(each.number, each.errors, each.stop, each.codes.tobytes()) for each in going] == whole[after + 1 :]


def test_nothing_printed_at_all_is_refused():
    with pytest.raises(OutputError, match="no coefficient is known"):
        released(built(release=["coefficients"]), np.full(5, -np.inf), np.full(5, np.inf))
