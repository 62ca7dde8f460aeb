"""Tests of hypotheses as programs print them: every number against a refit, and what is refused."""

import shutil
import subprocess
import sys

import pytest
from fair import PRINTED, codebook, frame, study

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import from_frame

PROGRAMS = PRINTED.with_name("programs")
FOLDER = PRINTED.with_name("printed_tests")
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
N = ("statistic", "df", "p", "n")
OF_STATA = {  # the same, of logs that were written in Stata's layout with numbers of scipy
    "stata_t.log": (AGE, "t", False, ("statistic", "df", "p", "n", *T[3:]), 1),
    "stata_t_old.log": (AGE, "t", False, ("statistic", "df", "p", "n", *T[3:]), 97),
    "stata_t_unequal.log": (AGE, "welch", False, ("statistic", "df", "p", "n", *T[3:]), 97),
    "stata_t_welch.log": (AGE, "welch", False, ("statistic", "n", *T[3:]), 97),
    "stata_t_turned.log": (AGE, "welch", False, ("statistic", "df", "p", "n", *T[3:]), 97),
    "stata_ranksum.log": (AGE, "rank-sum", False, ("statistic", "z", "p", "n"), 1),
    "stata_ranksum_turned.log": (AGE, "rank-sum", False, ("statistic", "z", "p", "n"), 97),
    "stata_kwallis.log": (BY_BELIEF, "kruskal-wallis", False, N, 1),
    "stata_kwallis_old.log": (BY_BELIEF, "kruskal-wallis", False, N, 97),
    "stata_oneway.log": (BY_BELIEF, "anova", False, F, 97),
    "stata_tabulate.log#1": (BELIEF, "chi-square", False, (*CHI, "cramers v"), 97),
    "stata_tabulate.log#2": (BELIEF, "fisher", False, ("p",), 97),
    "stata_tabulate.log": (BELIEF | {"test": "fisher"}, "fisher", False, ("p",), 97),
    "stata_tabulate_two.log#1": (BELIEF | {"variable": "religious"}, "chi-square", False, (*CHI, "cramers v"), 97),
    "stata_all.log": (AGE | {"test": "t", "statistics": ["difference", "n"]}, "t", False, ("difference", "n"), 1),
    "stata_all.log#2": (BY_BELIEF, "anova", False, F, 97),
    "stata_all.log#3": (BELIEF, "chi-square", False, (*CHI, "cramers v"), 97),
}
TWO = BELIEF | {"variable": "religious"}
OF_SCIPY = {
    "scipy_welch.txt": (AGE, "welch", False, CHI, 97),
    "scipy_t.txt": (AGE | {"test": "t"}, "t", False, CHI, 97),
    "scipy_vectors.txt": (AGE | {"statistics": ["df", "p"]}, "welch", False, ("df", "p"), 97),
    "scipy_mannwhitney.txt": (AGE | {"continuity": True}, "rank-sum", True, ("statistic", "p"), 97),
    "scipy_chi2.txt": (BELIEF, "chi-square", False, CHI, 97),
    "scipy_chi2_two.txt": (TWO | {"continuity": True}, "chi-square", True, CHI, 97),
    "scipy_fisher.txt": (TWO | {"test": "fisher"}, "fisher", False, ("p",), 97),
    "scipy_kruskal.txt": (BY_BELIEF, "kruskal-wallis", False, ("statistic", "p"), 97),
    "scipy_oneway.txt": (BY_BELIEF, "anova", False, ("statistic", "p"), 97),
}
OF_BROOM = {
    "tidy_t.csv": (AGE | {"statistics": ["df", "p"]}, "welch", False, ("df", "p"), 97),
    "tidy_groups.csv": (AGE, "t", False, (*CHI, "difference"), 97),
    "tidy_wilcox.csv": (AGE | {"statistics": "p"}, "rank-sum", True, ("p",), 97),
    "tidy_chisq.csv": (BELIEF, "chi-square", False, CHI, 1),
    "tidy_fisher.csv": (TWO, "fisher", False, ("p",), 97),
    "tidy_kruskal.csv": (BY_BELIEF, "kruskal-wallis", False, CHI, 97),
    "tidy_oneway.csv": (BY_BELIEF, "anova", False, F, 97),
    "tidy_aov.csv": (BY_BELIEF, "anova", False, F, 97),
}
READ = BY_R | OF_STATA | OF_SCIPY | OF_BROOM
REFUSED = {
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
    "stata_tabulate.log": (BELIEF, r"it has 2 tests \(1: chi-square, 2: fisher\)"),
    "stata_t_welch.log": (AGE | {"statistics": ["p"]}, "it has no p; it has statistic, n, difference, standard error"),
    "stata_t.log": (
        AGE | {"variable": "educ"},
        "a test of age by affair, and the output is one of educ by affair",
    ),
    "stata_t_turned.log": (AGE | {"test": "rank-sum"}, "'test' is 'rank-sum' in the study and 'welch' in the text"),
    "scipy_t.txt": (AGE, r"it does not say which of \['t', 'welch'\] it is; say 'test' in the output"),
    "scipy_vectors.txt": (AGE, "statistic: it does not say which group comes first"),
    "scipy_mannwhitney.txt": (AGE, "p: mannwhitneyu's p may be exact, .* say 'continuity: true', or false"),
    "scipy_chi2_two.txt": (TWO, "statistic: chi2_contingency corrects a 2 x 2 table .* say 'continuity: true', or f"),
    "scipy_fisher.txt": (TWO, r"it may be of a correlation .*say 'test' in the output"),
    "tidy_t.csv": (AGE, "statistic: it does not say which group comes first"),
    "tidy_paired.csv": (AGE, "'Paired t-test' is not read: paired tests need kind: custom"),
    "tidy_less.csv": (AGE | {"statistics": ["df", "p"]}, "p: it is one-sided"),
    "tidy_aov_number.csv": (BY_BELIEF, "its df is 1, as that of a slope"),
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


@pytest.mark.parametrize("file", READ)
def test_every_number_is_what_a_refit_gives(file):
    compare(FOLDER, file)


def compare(folder, file):
    entry, test, continuity, statistics, every = READ[file]
    released, beside = read(str(folder / file), entry, every)
    output = released.output
    assert (output.test, output.continuity, output.statistics) == (test, continuity, statistics)
    assert beside.failure == "" and beside.matched.all()


@pytest.mark.parametrize(
    ("program", "script", "cases"),
    [
        ("Rscript", "tests_by_r.R", BY_R),
        ("Rscript", "tests_by_broom.R", OF_BROOM),
        (sys.executable, "stata_tests.py", OF_STATA | OF_SCIPY),
    ],
)
def test_the_installed_program_prints_such_tests(program, script, cases, tmp_path):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    frame().to_csv(tmp_path / "fair.csv", index=False)
    command = [program, PROGRAMS / script, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "there is no package called" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    for file in cases:
        compare(tmp_path, file)


@pytest.mark.parametrize("file", REFUSED)
def test_what_is_not_read_is_refused_with_the_way_out(file):
    entry, message = REFUSED[file]
    path = FOLDER / file if (FOLDER / file.partition("#")[0]).exists() else PRINTED / file
    with pytest.raises(OutputError, match=message) as refused:
        read(str(path), entry)
    assert "\n" not in str(refused.value)
