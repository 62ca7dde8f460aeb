"""Tests of hypotheses as programs print them: every number against a refit, and what is refused."""

import shutil
import subprocess

import pytest
from fair import PRINTED, codebook, frame, study

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import from_frame

PROGRAMS = PRINTED.with_name("programs")
FOLDER = PRINTED / "tests"
AGE = {"kind": "test", "variable": "age", "by": "affair"}
SCHOOL = {"kind": "test", "variable": "educ", "by": "affair"}
BELIEF = {"kind": "test", "variable": "religion", "by": "affair"}
BY_BELIEF = {"kind": "test", "variable": "age", "by": "religion"}
T = ("statistic", "df", "p", "difference", "standard error")
F = ("statistic", "df", "df within", "p")
CHI = ("statistic", "df", "p")
BY_R = {  # file: entry, test, continuity, statistics, of how many records one is taken
    "t_welch.txt": (AGE, "welch", False, T, 1),
    "t_equal.txt": (AGE, "t", False, T, 1),
    "t_levels.txt": (AGE, "welch", False, T, 1),
    "t_reversed.txt": (AGE, "welch", False, T, 97),
    "wilcox.txt": (SCHOOL, "rank-sum", True, ("statistic", "p"), 1),
    "wilcox_uncorrected.txt": (SCHOOL | {"continuity": False}, "rank-sum", False, ("statistic", "p"), 1),
    "wilcox_limits.txt": (AGE, "rank-sum", True, ("statistic", "p"), 97),
    "chisq.txt": (BELIEF, "chi-square", False, CHI, 1),
    "chisq_variables.txt": (BELIEF, "chi-square", False, CHI, 1),
    "chisq_yates.txt": (BELIEF | {"variable": "any_child"}, "chi-square", True, CHI, 1),
    "chisq_small.txt": (BELIEF, "chi-square", False, CHI, 97),
    "chisq_simulated.txt": (BELIEF, "chi-square", False, ("statistic",), 97),
    "fisher.txt": (BELIEF, "fisher", False, ("p",), 97),
    "fisher_two.txt": (BELIEF | {"variable": "religious"}, "fisher", False, ("p",), 97),
    "kruskal.txt": (BY_BELIEF, "kruskal-wallis", False, CHI, 1),
    "kruskal_factor.txt": (BY_BELIEF, "kruskal-wallis", False, CHI, 97),
    "oneway.txt": (BY_BELIEF, "anova", False, F, 1),
    "aov.txt": (BY_BELIEF, "anova", False, F, 1),
    "anova_lm.txt": (BY_BELIEF | {"variable": "educ"}, "anova", False, F, 97),
    "console.txt#1": (AGE, "welch", False, T, 1),
    "console.txt#2": (BELIEF, "chi-square", False, CHI, 1),
}
REFUSED_OF_R = {
    "t_vectors.txt": (AGE, r"statistic: it does not say which group comes first; .*'statistics: \[df, p, standard er"),
    "t_paired.txt": (AGE, "'Paired t-test' is not read: paired tests need kind: custom"),
    "t_one_sided.txt": (AGE, r"p: it is one-sided, .* 'statistics: \[statistic, df\]'"),
    "t_mu.txt": (AGE, r"statistic: it is against 1, .*'statistics: \[df\]'"),
    "t_one_sample.txt": (AGE, "'One Sample t-test' is not read: it compares no groups"),
    "t_welch.txt": (AGE | {"test": "t"}, "'test' is 't' in the study and 'welch' in the text; correct one"),
    "wilcox.txt": (SCHOOL | {"continuity": False}, "'continuity' is false in the study and true in the text"),
    "wilcox_exact.txt": (AGE, "statistic: it does not say which group comes first; give the test by label"),
    "wilcox_uncorrected.txt": (SCHOOL, "p: before R 4.0 this title is also that of the exact test; .*'continuity: fal"),
    "chisq_given.txt": (BELIEF, "'Chi-squared test for given probabilities' is not read: it compares no groups"),
    "chisq_simulated.txt": (BELIEF | {"statistics": "p"}, "it has no p; it has statistic"),
    "fisher_simulated.txt": (BELIEF, "p: it is drawn"),
    "oneway_unequal.txt": (BY_BELIEF, "'One-way analysis of means .not assuming equal variances.' is not read"),
    "aov_two.txt": (BY_BELIEF, r"of factor\(religion\), occ is not one-way; give one of a single factor"),
    "aov_number.txt": (BY_BELIEF, r"its df is 1, as that of a slope .*print the analysis of factor\(religion\)"),
    "console.txt": (BELIEF, r"it has 2 tests \(1: welch, 2: chi-square\); give one alone, or say which"),
    "console.txt#3": (BELIEF, "it has 2 tests, and no test 3"),
    "kruskal.txt": (AGE, "it is a test of age by religion, and the output is one of age by affair; correct one"),
    "oneway.txt": (BY_BELIEF | {"variable": "religion", "by": "age"}, "exchange 'variable' and 'by' of the output"),
    "aggregate.csv": (AGE, "no test is known in it; known are what"),
}


def book():
    """The codebook, with two further variables of two values."""
    yes_no = ("False", "True")
    more = (Variable("any_child", "categorical", yes_no), Variable("religious", "categorical", yes_no))
    return Codebook((*codebook().variables, *more))


def records(every=1):
    """Every so-manieth record."""
    rows = frame().iloc[::every]
    more = {"any_child": (rows["children"] > 0).astype(str), "religious": (rows["religion"] > 2).astype(str)}
    return from_frame(rows.assign(**more), book())


def read(values, entry, every=1, known=None):
    """What a study reads, beside what the data give: (released, refit)."""
    (released,) = study({**entry, "values": values}).given(known or book()).values()
    return released, released.recompute(records(every))


@pytest.mark.parametrize("file", BY_R)
def test_every_number_of_r_is_what_a_refit_gives(file):
    compare(FOLDER, file)


def compare(folder, file):
    entry, test, continuity, statistics, every = BY_R[file]
    released, beside = read(str(folder / file), entry, every)
    output = released.output
    assert (output.test, output.continuity, output.statistics) == (test, continuity, statistics)
    assert beside.failure == "" and beside.matched.all()


def test_the_installed_r_prints_such_tests(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    frame().to_csv(tmp_path / "fair.csv", index=False)
    done = subprocess.run(["Rscript", PROGRAMS / "tests_by_r.R", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for file in BY_R:
        compare(tmp_path, file)


@pytest.mark.parametrize("file", REFUSED_OF_R)
def test_what_is_not_read_is_refused_with_the_way_out(file):
    entry, message = REFUSED_OF_R[file]
    path = FOLDER / file if (FOLDER / file.partition("#")[0]).exists() else PRINTED / file
    with pytest.raises(OutputError, match=message) as refused:
        read(str(path), entry)
    assert "\n" not in str(refused.value)
