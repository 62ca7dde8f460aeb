"""Regressions of REG, GLM, GENMOD and PHREG in listings of SAS, laid out from refits of our own records."""

import pytest
from as_sas import genmod, glm, one_way, page, phreg, procedure, reg
from as_stata import given, people
from test_sas_listings import LOGIT, matched

from outrisk.errors import OutputError
from outrisk.readers.remarks import kept

PEOPLE = people(400)
PEOPLE["age"] = PEOPLE["age"].clip(18, 65)
REG = procedure("REG") + reg(PEOPLE, "wage", ["age", "wave"], label="Monthly wage", limits=True)
GLM = procedure("GLM") + glm(PEOPLE, "wage", ["age"], ["area"])
COUNTS = procedure("GENMOD") + genmod(PEOPLE, "wave", ["age"], ["area"])
HAZARDS = procedure("PHREG") + phreg(PEOPLE, "age", "ill", ["wave"], {"area": "north"})
SESSION = (
    page(1, feed=False) + REG + page(2) + GLM + page(5) + COUNTS + page(6) + HAZARDS + procedure("LOGISTIC") + LOGIT
)
COX = {"kind": "cox", "formula": "age ~ wave + C(area)", "status": "ill"}


@pytest.mark.parametrize(
    ("entry", "n"),
    [
        ({"kind": "ols", "formula": "wage ~ age + wave"}, 3 * 5 + 3),
        ({"kind": "ols", "formula": "wage ~ age + C(area)"}, 4 * 3 + 3),
        ({"kind": "poisson", "formula": "wave ~ age + C(area)"}, 4 * 5 + 2),
        (COX, 3 * 3 + 3),
        (COX | {"ties": "breslow", "event": 1}, 3 * 3 + 3),
        ({"kind": "logit", "formula": "ill ~ age + C(area)"}, 4 * 3 + 2),
    ],
)
def test_each_regression_of_a_listing_is_found_and_is_its_refit(entry, n, tmp_path):
    released = matched(SESSION, entry, tmp_path)
    assert len(released.labels) == n


def test_the_reference_is_the_last_level_with_glm(tmp_path):
    text = GLM
    released = matched(text, {"kind": "ols", "response": "wage"}, tmp_path)
    assert any("north" in each for each in released.labels) and not any("[T.west" in each for each in released.labels)


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (REG, {"kind": "ols", "formula": "age ~ wave"}, "the response 'wage', the output says 'age'"),
        (
            REG.replace("Model: MODEL1", "Model: MODEL1\n  Weight: w"),
            {"kind": "ols", "formula": "wage ~ age + wave"},
            "weighted",
        ),
        (HAZARDS, COX | {"ties": "efron"}, "the ties of the table is 'breslow'"),
        (HAZARDS, COX | {"event": 0}, "the event of the table is '1'"),
        (HAZARDS.replace("BRESLOW", "EXACT"), COX, "takes ties by 'EXACT', which no output has"),
        (
            COUNTS.replace("Poisson\n", "Normal\n").replace("Log\n", "Identity\n"),
            {"kind": "ols", "formula": "wave ~ age"},
            "normal by the link identity",
        ),
        (
            COUNTS.replace("was held fixed", "was estimated by the square root of DEVIANCE/DOF"),
            {"kind": "poisson", "formula": "wave ~ age + C(area)"},
            "its scale is estimated",
        ),
        (
            REG.replace("Analysis of Variance", "Forward Selection: Step 1"),
            {"kind": "ols", "formula": "wage ~ age + wave"},
            "chosen by steps",
        ),
        (
            LOGIT.replace("binary logit", "cumulative logit"),
            {"kind": "ologit", "formula": "ill ~ age"},
            "slopes have the other sign",
        ),
        (
            LOGIT.replace("  WORK.PEOPLE", "  WORK.PEOPLE\n  Weight Variable     w"),
            {"kind": "logit", "formula": "ill ~ age + C(area)"},
            "weighted, by 'w', which is no variable",
        ),
        (
            "--------------- wave=1 ---------------\n\n" + procedure("LOGISTIC") + LOGIT,
            {"kind": "logit", "formula": "ill ~ age + C(area)"},
            "is of a subset, wave = 1, the output is of all records",
        ),
        (
            "proc logistic data=people(where=(age>30));\nmodel ill=age;\nrun;\n" + procedure("LOGISTIC") + LOGIT,
            {"kind": "logit", "formula": "ill ~ age + C(area)"},
            r"is of a subset, where=\(age>30\)",
        ),
    ],
)
def test_what_is_of_another_model_is_refused(text, entry, message, tmp_path):
    with pytest.raises(OutputError, match=message):
        given(text, entry, tmp_path, PEOPLE)


def test_a_model_without_its_constant_is_another_model(tmp_path):
    text = "\n".join(line for line in REG.splitlines() if not line.startswith("Intercept"))
    with pytest.raises(OutputError, match=r"no Intercept \(NOINT\), the output's model has one"):
        given(text, {"kind": "ols", "formula": "wage ~ age + wave"}, tmp_path, PEOPLE)
    alone = REG[REG.index("Parameter Estimates") :]
    with pytest.raises(OutputError, match="does not say which procedure it is of"):
        given(alone, {"kind": "ols", "formula": "wage ~ age + wave"}, tmp_path, PEOPLE)
    text = HAZARDS.replace("Ties Handling", "Weight Variable          w\n           Ties Handling")
    with pytest.raises(OutputError, match="is weighted by w, which no Cox model"):
        given(text, COX, tmp_path, PEOPLE)


def test_columns_that_do_not_agree_are_refused(tmp_path):
    line = next(each for each in LOGIT.splitlines() if each.strip().startswith("age ") and "1" in each)
    cells = line.split()
    text = LOGIT.replace(line, line.replace(cells[3], "0.5000"))
    with pytest.raises(OutputError, match=r"the test of age is .* and its estimate and standard error give"):
        given(text, {"kind": "logit", "formula": "ill ~ age + C(area)"}, tmp_path, PEOPLE)


def test_a_table_over_two_pages_is_one(tmp_path):
    lines = LOGIT.splitlines()
    title = next(at for at, line in enumerate(lines) if "Analysis of Maximum" in line)
    cut = next(at for at, line in enumerate(lines) if at > title and line.strip().startswith("area       west"))
    text = (
        procedure("LOGISTIC")
        + "\n".join(lines[:cut])
        + "\n"
        + page(2)
        + procedure("LOGISTIC")
        + "\n".join(lines[title : title + 5])
        + "\n"
    )
    matched(text + "\n".join(lines[cut:]), {"kind": "logit", "formula": "ill ~ age + C(area)"}, tmp_path)


def test_two_regressions_of_one_formula_are_told_apart_by_number(tmp_path):
    text = procedure("LOGISTIC") + LOGIT + page(2) + procedure("LOGISTIC") + LOGIT
    matched(text, {"kind": "logit", "formula": "ill ~ age + C(area)"}, tmp_path)
    with pytest.raises(OutputError, match="no regression 3"):
        given(text, {"kind": "logit", "formula": "ill ~ age + C(area)"}, tmp_path, PEOPLE, "out.lst", "#3")


@pytest.mark.parametrize("dashes", ["-" * 28, ""])
def test_groups_of_by_go_with_where_and_with_no_more(dashes, tmp_path):
    some = [(k, reg(PEOPLE[PEOPLE["ill"] == k], "wage", ["age"])) for k in (0, 1)]
    text = procedure("REG").join(f"{dashes} ill={k} {dashes}\n\n{each}" for k, each in some)
    entry = {"kind": "ols", "formula": "wage ~ age"}
    matched(procedure("REG") + text, entry | {"where": "ill == '1'"}, tmp_path)
    for many in (text, text[: text.index("ill=1")]):
        with pytest.raises(OutputError, match=r"it has 2 regressions, none that is|the table is of a subset"):
            given(procedure("REG") + many, entry, tmp_path, PEOPLE, "out.lst")
    counts = procedure("FREQ") + f"{dashes} ill=0 {dashes}\n\n" + one_way(PEOPLE[PEOPLE["ill"] == 0], "area")
    entry = {"kind": "frequencies", "by": ["area"]}
    with kept() as notes:
        matched(counts, entry | {"where": "ill == '0'"}, tmp_path)
    assert not any("is taken for the output's where" in str(note) for note in notes)
    with kept() as notes:
        given(counts, entry | {"where": "ill == '0' and age > 20"}, tmp_path, PEOPLE, "out.lst")
    assert any("is taken for the output's where" in str(note) for note in notes)
