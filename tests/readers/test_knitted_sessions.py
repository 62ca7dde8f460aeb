"""What knitr made of a session of R 4.2.2, subsets that a session makes, and summaries of statsmodels in one text."""

import re
import time

import numpy as np
import pytest
import statsmodels.formula.api as smf
from fair import PRINTED, codebook, data, frame, given, study

from outrisk.errors import OutputError
from outrisk.readers.knitted import as_console
from outrisk.readers.r_session import prints_of
from outrisk.readers.remarks import kept

LINEAR = {"kind": "ols", "formula": "affairs ~ C(religion) + age"}
LOGIT = {"kind": "logit", "formula": "affair ~ age + C(religion) + C(occ)"}
AGE = {"kind": "ols", "formula": "affairs ~ age"}
SOME = {"where": "affair == 1"}
COUNTS = {"kind": "frequencies", "by": ["occ", "religion"]}
KNITTED = (PRINTED / "knitted.md").read_text()


def read(entry, values):
    with kept() as notes:
        released, beside = given(entry | {"values": values})
    assert beside.failure == "" and beside.matched.all()
    return released, notes


def page(text):
    """A document as rmarkdown writes it as HTML (by hand)."""
    blocks = re.findall(r"```(r?)\n(.*?)```", text, re.S)
    escaped = [(code, inner.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")) for code, inner in blocks]
    heads = {"r": '<pre class="r">', "": "<pre>"}
    return "\n".join(f"{heads[code]}<code>{inner}</code></pre>\n<p>words</p>" for code, inner in escaped)


@pytest.mark.parametrize("form", [str, page, lambda text: re.sub(r"(?m)^```.*\n", "", text)])
@pytest.mark.parametrize(("entry", "n"), [(LINEAR, 18), (LOGIT, 33), (AGE | SOME, 9)], ids=["lm", "glm", "subset"])
def test_outputs_of_a_knitted_document_are_those_of_its_data(entry, n, form):
    released, _ = read(entry, form(KNITTED))
    assert len(released.labels) == n


def test_a_table_that_a_document_has_twice_counts_once():
    released, _ = read(COUNTS, KNITTED)
    assert len(released.labels) == 24


def test_a_command_over_lines_is_one():
    text = "```r\nsome <- d %>%\n  filter(affair == 1)\ntable(some$occ,\n  some$religion)\n```\n\n```\n## 1\n```\n"
    assert as_console(text) == "> some <- d %>%\n+ filter(affair == 1)\n> table(some$occ,\n+ some$religion)\n1"


def test_comments_of_a_console_are_no_output():
    text = "> ## one\n> ## two\n> ## three\n> 1 + 1\n[1] 2"
    assert as_console(text) == text and as_console("## a\n## b\n\ntext") == "## a\n## b\n\ntext"


def test_a_subset_that_a_session_makes_asks_for_the_where():
    data = frame()[frame()["affair"] == 1]
    fit = smf.ols("affairs ~ age", data).fit()
    rows = "\n".join(
        f"{name} {fit.params[term]:.6f} {fit.bse[term]:.6f} {fit.tvalues[term]:.3f} {fit.pvalues[term]:.4g}"
        for name, term in (("(Intercept)", "Intercept"), ("age", "age"))
    )
    head = "Coefficients:\n            Estimate Std. Error t value Pr(>|t|)\n"
    call = "Call:\nlm(formula = affairs ~ age, data = some)\n\n"
    session = f"> some <- subset(d, affair == 1)\n> summary(lm(affairs ~ age, some))\n\n{call}{head}{rows}\n"
    with pytest.raises(OutputError, match=r"of a subset, subset\(d, affair == 1\), the output is of all records"):
        read(AGE, session)
    _, notes = read(AGE | SOME, session)
    assert "is taken for the output's where: affair == 1" in notes[0]
    _, notes = read(AGE | SOME, session.partition("\n")[2])
    assert "its call names no subset" in notes[0]


@pytest.mark.parametrize("made", ["d[d$affair == 1, ]", "dplyr::filter(d, affair == 1)", "d |> filter(affair == 1)"])
def test_a_table_of_some_data_of_a_session_asks_for_the_where(made):
    table = as_console(KNITTED).partition("> table(data$occ, data$religion)\n")[2].partition("\n>")[0]
    with pytest.raises(OutputError, match=r"the table is of a subset, .*the output is of all records"):
        read(COUNTS, f"> some <- {made}\n> table(some$occ, some$religion)\n{table}\n")
    read(COUNTS, f"> some <- d[, c(1, 2)]\n> table(some$occ, some$religion)\n{table}\n")
    with kept() as notes:
        given(COUNTS | SOME | {"values": f"> 1\n[1] 1\n> table(d$occ, d$religion)\n{table}\n"})
    assert "of what its command does not say to be a subset" in notes[0]


def summaries(form):
    fits = [smf.ols(each["formula"], frame()).fit() for each in (LINEAR, AGE)]
    fits.append(smf.logit(LOGIT["formula"], frame()).fit(disp=0))
    return "\n".join(form(fit) for fit in fits)


@pytest.mark.parametrize(
    "form",
    [
        lambda fit: str(fit.summary()),
        lambda fit: str(fit.summary2()),
        lambda fit: fit.summary().as_html(),
        lambda fit: fit.summary().as_csv(),
    ],
    ids=["summary", "summary2", "html", "csv"],
)
@pytest.mark.parametrize(("entry", "least"), [(LINEAR, 25), (AGE, 10), (LOGIT, 50)], ids=["ols", "age", "logit"])
def test_of_several_summaries_each_output_takes_its_own(entry, least, form):
    released, _ = read(entry, summaries(form))
    assert len(released.labels) >= least


def test_summaries_that_may_both_be_meant_are_listed(tmp_path):
    fits = [smf.ols("affairs ~ age", data).fit() for data in (frame(), frame()[frame()["affair"] == 1])]
    text = "\n".join(str(fit.summary()) for fit in fits)
    with pytest.raises(OutputError, match=r"2 that may be the output's; .*1: OLS .* n = 6366; 2: .* n = 2053"):
        read(AGE, text)
    (tmp_path / "both.txt").write_text(text)
    released, _ = read(AGE | SOME, f"{tmp_path / 'both.txt'}#2")
    assert np.isclose(released.low[1], fits[1].params["age"], atol=1e-4)


def test_standard_errors_that_no_output_has_are_not_taken_for_others():
    fit = smf.ols("affairs ~ age", frame()).fit(cov_type="HC3")
    with pytest.raises(OutputError, match="standard errors of the table are HC3, which no output has"):
        read(AGE | {"covariance": "HC1"}, str(fit.summary()))


def test_a_test_of_a_subset_is_none_of_all_records():
    welch = {"kind": "test", "test": "welch", "variable": "age", "by": "affair"}
    printed = as_console(KNITTED).partition("> t.test(age ~ affair, data)\n")[2].partition("\n>")[0]
    of_all = f"> t.test(age ~ affair, data)\n{printed}\n"
    changed = printed.replace("-11.884", "-1.253").replace("4095", "60.1").replace("< 2.2e-16", "= 0.2151")
    some = f"> t.test(age ~ affair, data, subset = occ == 'student')\n{changed}\n"
    made = f"> d <- subset(data, occ == 'student')\n> t.test(age ~ affair, d)\n{changed}\n"
    for other in (some, made):
        with kept() as notes:
            released, _ = study(welch | {"values": other + of_all}).given(codebook()).values()
        assert released.recompute(data()).matched.all() and "tests of subsets are left out" in notes[0]
        with pytest.raises(OutputError):
            study(welch | {"values": other}).given(codebook())


def printed(data, name):
    """What R's summary of lm prints of affairs by age (by hand)."""
    fit = smf.ols("affairs ~ age", data).fit()
    rows = "\n".join(
        f"{called} {fit.params[term]:.6f} {fit.bse[term]:.6f} {fit.tvalues[term]:.3f} {fit.pvalues[term]:.4g}"
        for called, term in (("(Intercept)", "Intercept"), ("age", "age"))
    )
    head = "Coefficients:\n            Estimate Std. Error t value Pr(>|t|)\n"
    return f"Call:\nlm(formula = affairs ~ age, data = {name})\n\n{head}{rows}\n"


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("> s <- subset(d, affair == 1)\n> t2 <- na.omit(s)\n> summary(lm(affairs ~ age, data = t2))", "t2"),
        ("> s <- subset(d, affair == 1)\n> s <- s |> mutate(z = 1)\n> summary(lm(affairs ~ age, data = s))", "s"),
        ("> subset(d, affair == 1) -> s\n> summary(lm(affairs ~ age, data = s))", "s"),
        ("> d %>%\n+ filter(affair == 1) %>%\n+ lm(affairs ~ age, data = .) %>%\n+ summary()", "."),
        ("> s <- subset(d, affair == 1)\n> m <- lm(affairs ~ age, data = s)\n> s <- d\n> summary(m)", "s"),
        ('> summary(lm(affairs ~ age, data = d[c("1", "2"), ]))', 'd[c("1", "2"), ]'),
        ("```r\n# a subset (\ns <- subset(d, affair == 1)\nsummary(lm(affairs ~ age, data = s))\n```\n\n```", "s"),
        ("```r\ns <- d |>\n  # some\n  filter(affair == 1)\nsummary(lm(affairs ~ age, data = s))\n```\n```", "s"),
    ],
    ids=[
        "of a subset",
        "itself",
        "to the right",
        "a pipe",
        "a fit before",
        "rows by name",
        "comment",
        "comment in a pipe",
    ],
)
def test_fits_of_some_are_none_of_all(session, name):
    with pytest.raises(OutputError, match=r"is of a subset, .*the output is of all records"):
        read(AGE, f"{session}\n{printed(frame()[frame()['affair'] == 1], name)}")


def test_a_fit_before_its_data_are_cut_is_of_all():
    session = "> m <- lm(affairs ~ age, data = d)\n> d <- subset(d, affair == 1)\n> summary(m)"
    read(AGE, f"{session}\n{printed(frame(), 'd')}")


def test_data_of_some_and_others_are_not_some():
    session = "> s <- subset(d, affair == 1)\n> e <- rbind(s, others)\n> summary(lm(affairs ~ age, data = e))"
    read(AGE, f"{session}\n{printed(frame(), 'e')}")


def test_a_long_session_takes_no_time_of_its_square():
    session = "".join(f"> s{at} <- subset(d, a)\n> table(s{at}, x)\n 1 2\n" for at in range(20_000))
    start = time.perf_counter()
    assert all(each.whom for each in prints_of(session) if each.text)
    as_console("<pre>" * 50_000)
    as_console("<pre class=" * 50_000)
    assert time.perf_counter() - start < 5
