"""Tests of hypotheses as programs print them: every number against a refit, and what is refused."""

import logging
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fair import PRINTED, codebook, frame, study
from scipy import stats
from test_fuzz_values import mutated

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError, OutRiskError
from outrisk.microdata import Microdata, from_frame

PROGRAMS = PRINTED.with_name("programs")
FOLDER = PRINTED.with_name("printed_tests")
AGE = {"kind": "test", "variable": "age", "by": "affair"}
SCHOOL = {"kind": "test", "variable": "educ", "by": "affair"}
BELIEF = {"kind": "test", "variable": "religion", "by": "affair"}
BY_BELIEF = {"kind": "test", "variable": "age", "by": "religion"}
PAIRED = {"kind": "test", "variable": "age", "paired": "educ"}
TURNED = {"kind": "test", "variable": "educ", "paired": "age"}
CHANGED = {"kind": "test", "variable": "any_child", "paired": "religious"}
OF_BELIEF = {"kind": "test", "variable": "affair", "by": "religion"}
BANDS = {"kind": "test", "variable": "age_band", "paired": "educ_band"}
R = ("r", "statistic", "df", "p", "lower limit", "upper limit")
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
    "prop.txt": (BELIEF | {"variable": "religious"}, "chi-square", True, CHI, 97),
    "prop_counts.txt": (BELIEF | {"variable": "religious"}, "chi-square", False, CHI, 97),
    "prop_uncorrected.txt": (BELIEF, "chi-square", False, CHI, 1),
    "fisher.txt": (BELIEF, "fisher", False, ("p",), 97),
    "fisher_two.txt": (BELIEF | {"variable": "religious"}, "fisher", False, ("p",), 97),
    "kruskal.txt": (BY_BELIEF, "kruskal-wallis", False, CHI, 1),
    "kruskal_factor.txt": (BY_BELIEF, "kruskal-wallis", False, CHI, 97),
    "oneway.txt": (BY_BELIEF, "anova", False, F, 1),
    "aov.txt": (BY_BELIEF, "anova", False, F, 1),
    "anova_lm.txt": (BY_BELIEF | {"variable": "educ"}, "anova", False, F, 97),
    "t_paired.txt": (PAIRED, "paired t", False, T, 1),
    "t_pair.txt": (PAIRED, "paired t", False, T, 97),
    "t_of_one.txt": (TURNED, "paired t", False, T, 97),
    "signed.txt": (PAIRED, "signed-rank", True, ("statistic", "p"), 97),
    "signed_uncorrected.txt": (TURNED | {"continuity": False}, "signed-rank", False, ("statistic", "p"), 1),
    "mcnemar.txt": (CHANGED, "mcnemar", True, CHI, 1),
    "mcnemar_uncorrected.txt": (CHANGED, "mcnemar", False, CHI, 1),
    "trend.txt": (OF_BELIEF, "trend", False, CHI, 1),
    "trend_scores.txt": (OF_BELIEF, "trend", False, CHI, 97),
    "cor.txt": (PAIRED, "pearson", False, R, 1),
    "cor_formula.txt": (TURNED, "pearson", False, R[:4], 97),
    "spearman.txt": (PAIRED, "spearman", False, ("r", "statistic", "p"), 97),
    "kendall.txt": (PAIRED, "kendall", False, ("r", "z", "p"), 1),
    "bowker.txt": (BANDS, "mcnemar", False, CHI, 97),
    "console.txt#1": (AGE, "welch", False, T, 1),
    "console.txt#2": (BELIEF, "chi-square", False, CHI, 1),
    "console.txt": (BELIEF, "chi-square", False, CHI, 1),  # the one that is of its variables
}
N = ("statistic", "df", "p", "n")
KAP = ("kappa", "null error", "z", "p", "agreement", "expected agreement")
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
    "stata_paired.log": (PAIRED, "paired t", False, ("statistic", "df", "p", "n", *T[3:]), 1),
    "stata_paired_turned.log": (PAIRED, "paired t", False, ("statistic", "df", "p", "n", *T[3:]), 97),
    "stata_signrank.log": (PAIRED, "signed-rank", False, ("statistic", "z", "p", "n"), 97),
    "stata_mcc.log#1": (CHANGED, "mcnemar", False, CHI, 97),
    "stata_mcc.log": (CHANGED | {"test": "exact mcnemar"}, "exact mcnemar", False, ("p",), 97),
    "stata_tabodds.log": (OF_BELIEF, "linear-by-linear", False, CHI, 97),
    "stata_kap.log": (BANDS, "kappa", False, KAP, 97),
    "stata_kap_linear.log": (BANDS, "kappa", False, KAP, 97),
    "stata_kap_quadratic.log": (BANDS | {"weights": "quadratic"}, "kappa", False, KAP, 97),
    "stata_spearman.log": (PAIRED, "spearman", False, ("r", "p", "n"), 97),
    "stata_ktau.log": (TURNED, "kendall", False, ("r", "n"), 97),
    "stata_all.log": (AGE | {"test": "t", "statistics": ["difference", "n"]}, "t", False, ("difference", "n"), 1),
    "stata_all.log#2": (BY_BELIEF, "anova", False, F, 97),
    "stata_all.log#3": (BELIEF, "chi-square", False, (*CHI, "cramers v"), 97),
}
TWO = BELIEF | {"variable": "religious"}
OF_PSPP = {
    "pspp_tests.csv": (AGE | {"test": "t"}, "t", False, T, 97),
    "pspp_tests.csv#2": (AGE, "welch", False, T, 97),
    "pspp_tests.csv#3": (SCHOOL, "t", False, T, 97),
    "pspp_tests.csv#5": (PAIRED, "paired t", False, T, 97),
    "pspp_tests.csv#7": (BY_BELIEF, "anova", False, F, 97),
    "pspp_tests.csv#8": (BELIEF, "chi-square", False, (*CHI, "n", "cramers v"), 97),
    "pspp_tests.csv#9": (TWO, "chi-square", False, (*CHI, "n", "cramers v"), 97),
    "pspp_tests.csv#10": (TWO, "chi-square", True, (*CHI, "n"), 97),
    "pspp_tests.csv#12": (AGE, "rank-sum", False, ("statistic", "z", "p"), 97),
    "pspp_tests.csv#13": (BY_BELIEF, "kruskal-wallis", False, CHI, 97),
    "pspp_tests.csv#14": (PAIRED, "signed-rank", False, ("statistic", "z", "p"), 97),
    "pspp_tests.csv#15": (TURNED, "signed-rank", False, ("statistic", "z", "p"), 97),
}
LINEAR = {"test": "linear-by-linear"}
OF_PSPP |= {
    "pspp_tests.csv#18": (BELIEF | LINEAR, "linear-by-linear", False, (*CHI, "n"), 97),
    "pspp_tests.csv": (BELIEF | LINEAR | {"by": "marriage"}, "linear-by-linear", False, (*CHI, "n"), 97),
    "pspp_tests.csv#21": (PAIRED | {"test": "pearson"}, "pearson", False, ("r", "p", "n"), 97),
    "pspp_tests.csv#23": (
        *(
            PAIRED | {"test": "pearson", "paired": "children", "variable": "educ"},
            "pearson",
            False,
            ("r", "p", "n"),
            97,
        ),
    ),
}
OF_SPSS = {
    "spss_pairs.csv": (TURNED | {"test": "pearson"}, "pearson", False, ("r", "p", "n"), 97),
    "spss_pairs.csv#2": (PAIRED, "kendall", False, ("r", "p", "n"), 97),
    "spss_pairs.csv#3": (TURNED | {"test": "spearman"}, "spearman", False, ("r", "p", "n"), 97),
    "spss_pairs.csv#4": (*(BANDS, "kappa", False, ("kappa", "standard error", "z", "p", "n"), 97),),
    "spss_tests.csv#1": (AGE, "t", False, T, 97),
    "spss_tests.csv#2": (AGE, "welch", False, T, 97),
    "spss_tests.csv": (AGE | {"test": "rank-sum"}, "rank-sum", False, ("statistic", "z", "p"), 97),
    "spss_tests.csv#4": (CHANGED, "mcnemar", True, ("statistic", "p", "n"), 97),
    "spss_tests.csv#5": (TWO, "chi-square", False, (*CHI, "n", "cramers v"), 97),
    "spss_tests.csv#6": (TWO | {"continuity": True}, "chi-square", True, (*CHI, "n"), 97),
    "spss_tests.csv#7": (TWO, "fisher", False, ("p", "n"), 97),
    "spss_tests.csv#8": (PAIRED, "signed-rank", False, ("statistic", "z", "p"), 97),
    "spss_tests.csv#9": (BY_BELIEF, "anova", False, F, 97),
}
OF_SCIPY = {
    "scipy_welch.txt": (AGE, "welch", False, CHI, 97),
    "scipy_t.txt": (AGE | {"test": "t"}, "t", False, CHI, 97),
    "scipy_vectors.txt": (AGE | {"statistics": ["df", "p"]}, "welch", False, ("df", "p"), 97),
    "scipy_mannwhitney.txt": (AGE | {"continuity": True}, "rank-sum", True, ("statistic", "p"), 97),
    "scipy_chi2.txt": (BELIEF, "chi-square", False, CHI, 97),
    "scipy_chi2_two.txt": (TWO | {"continuity": True}, "chi-square", True, CHI, 97),
    "scipy_fisher.txt": (TWO | {"test": "fisher"}, "fisher", False, ("p",), 97),
    "scipy_pearson.txt": (PAIRED, "pearson", False, ("r", "p"), 97),
    "scipy_spearman.txt": (PAIRED | {"test": "spearman"}, "spearman", False, ("r", "p"), 97),
    "scipy_paired.txt": (PAIRED | {"statistics": ["df", "p"]}, "paired t", False, ("df", "p"), 97),
    "scipy_signed.txt": (PAIRED | {"continuity": True, "statistics": "p"}, "signed-rank", True, ("p",), 97),
    "scipy_kruskal.txt": (BY_BELIEF, "kruskal-wallis", False, ("statistic", "p"), 97),
    "scipy_oneway.txt": (BY_BELIEF, "anova", False, ("statistic", "p"), 97),
}
OF_KAPPA = {
    "kappa_vcd.txt": (BANDS, "kappa", False, ("kappa", "standard error", "lower limit", "upper limit"), 97),
    "kappa_vcd.txt#2": (
        *(BANDS | {"weights": "linear"}, "kappa", False),
        *(("kappa", "standard error", "lower limit", "upper limit"), 97),
    ),
    "kappa_fleiss.txt": (BANDS | {"weights": "quadratic"}, "kappa", False, ("kappa", "standard error"), 97),
    "kappa_psych.txt": (BANDS, "kappa", False, ("kappa", "lower limit", "upper limit", "n"), 97),
    "kappa_psych.txt#2": (*(BANDS | {"weights": "quadratic"}, "kappa", False, ("kappa", "n"), 97),),
}
OF_IRR = {"kappa_irr.txt": (BANDS, "kappa", False, ("kappa", "z", "p", "n"), 97)}  # its layout, by statsmodels' numbers
OF_BROOM = {
    "tidy_t.csv": (AGE | {"statistics": ["df", "p"]}, "welch", False, ("df", "p"), 97),
    "tidy_groups.csv": (AGE, "t", False, (*CHI, "difference"), 97),
    "tidy_wilcox.csv": (AGE | {"statistics": "p"}, "rank-sum", True, ("p",), 97),
    "tidy_paired.csv": (PAIRED | {"statistics": ["df", "p"]}, "paired t", False, ("df", "p"), 97),
    "tidy_signed.csv": (PAIRED | {"statistics": ["p"]}, "signed-rank", True, ("p",), 97),
    "tidy_mcnemar.csv": (CHANGED, "mcnemar", True, CHI, 1),
    "tidy_cor.csv": (PAIRED, "pearson", False, R, 97),
    "tidy_spearman.csv": (PAIRED, "spearman", False, ("r", "statistic", "p"), 97),
    "tidy_kendall.csv": (PAIRED, "kendall", False, ("r", "z", "p"), 97),
    "tidy_chisq.csv": (BELIEF, "chi-square", False, CHI, 1),
    "tidy_prop.csv": (TWO, "chi-square", True, CHI, 97),
    "tidy_fisher.csv": (TWO, "fisher", False, ("p",), 97),
    "tidy_kruskal.csv": (BY_BELIEF, "kruskal-wallis", False, CHI, 97),
    "tidy_oneway.csv": (BY_BELIEF, "anova", False, F, 97),
    "tidy_aov.csv": (BY_BELIEF, "anova", False, F, 97),
}
READ = BY_R | OF_KAPPA | OF_IRR | OF_STATA | OF_SCIPY | OF_BROOM | OF_PSPP | OF_SPSS
REFUSED = {
    "pspp_tests.csv": (AGE, r"it has 23 tests \(1: t, 2: welch, 3: t, .*; give one alone, or say which as 'FILE#2'"),
    "pspp_tests.csv#11": (TWO, "PSPP's exact p is not right where several tables are as likely; give it by label"),
    "pspp_tests.csv#16": (CHANGED, "PSPP's exact p is not right"),
    "pspp_tests.csv#6": (AGE, "'One-Sample Test' is not read: it compares no groups"),
    "pspp_tests.csv#5": (TURNED | {"variable": "children"}, "a test of age paired with educ, and the output is one of"),
    "pspp_tests.csv#8": (BY_BELIEF, "a test of religion by affair, and the output is one of age by religion"),
    "t_vectors.txt": (AGE, r"statistic: it does not say which group comes first; .*'statistics: \[df, p, standard er"),
    "t_paired.txt": (AGE, "it is a test of pairs; give 'paired', the other variable of the same records, in place of"),
    "t_pair.txt": (PAIRED | {"paired": "children"}, "a test of age paired with educ, and the output is one of age pai"),
    "t_equal.txt": (PAIRED, "it is a test between groups; give 'by' in place of 'paired'"),
    "signed_uncorrected.txt": (TURNED, "p: before R 4.0 this title is also that of the exact test"),
    "signed_uncorrected.txt#1": (PAIRED | {"continuity": False}, "V is of the differences the other way round; exch"),
    "signed_exact.txt": (PAIRED, r"it is a test of c\(1.1, 2.2, 5.5, 7.1\), which is no variable; derive one"),
    "signed_one.txt": (PAIRED, r"of small.age - small.educ is of one sample, or of pairs in rows of their own; print"),
    "mcnemar_levels.txt": (CHANGED, "McNemar's test with df = 3 is of more levels than the 2 of 'any_child'"),
    "kappa_fleiss.txt#2": (BANDS, "it does not say the weights of its kappa; say 'weights: linear', or quadratic"),
    "cor_less.txt": (PAIRED, r"p: it is one-sided, .* 'statistics: \[r, statistic, df\]'"),
    "trend.txt": (
        OF_BELIEF | {"scores": {"religion": [1, 2, 3, 5]}},
        "scores of 'religion' are .1.0, 2.0, 3.0, 5.0",
    ),
    "stata_kap_linear.log": (
        BANDS | {"weights": "quadratic"},
        "'weights' are 'quadratic' in the study and 'lin",
    ),
    "scipy_spearman.txt": (PAIRED, r"it may be of fisher_exact, or of a correlation .*say 'test' in the output"),
    "stata_mcc.log": (CHANGED, r"it has 2 tests \(1: mcnemar, 2: exact mcnemar\)"),
    "stata_signrank_zeros.log": (PAIRED, "ranks differences of 0, which the output's leaves out"),
    "scipy_paired.txt": (PAIRED, "statistic: it does not say which of its two variables"),
    "scipy_signed.txt": (PAIRED | {"continuity": True}, "statistic: wilcoxon's is the smaller of two sums of ranks"),
    "t_one_sided.txt": (AGE, r"p: it is one-sided, .* 'statistics: \[statistic, df\]'"),
    "t_mu.txt": (AGE, r"statistic: it is against 1, .*'statistics: \[df\]'"),
    "t_one_sample.txt": (AGE, "'One Sample t-test' is not read: it compares no groups"),
    "t_welch.txt": (AGE | {"test": "t"}, "'test' is 't' in the study and 'welch' in the text; correct one"),
    "wilcox.txt": (SCHOOL | {"continuity": False}, "'continuity' is false in the study and true in the text"),
    "wilcox_exact.txt": (AGE, "statistic: it does not say which group comes first; give the test by label"),
    "wilcox_uncorrected.txt": (SCHOOL, "p: before R 4.0 this title is also that of the exact test; .*'continuity: fal"),
    "prop_one.txt": (
        BELIEF,
        "'1-sample proportions test with continuity correction' is not read: it compares no group",
    ),
    "prop_trend.txt": (OF_BELIEF, "3 groups, with the scores .1.0, 2.0, 3.0., and 'religion' has 4 values; leave the"),
    "chisq_given.txt": (BELIEF, "'Chi-squared test for given probabilities' is not read: it compares no groups"),
    "chisq_simulated.txt": (BELIEF | {"statistics": "p"}, "it has no p; it has statistic"),
    "fisher_simulated.txt": (BELIEF, "p: it is drawn"),
    "oneway_unequal.txt": (BY_BELIEF, "'One-way analysis of means .not assuming equal variances.' is not read"),
    "aov_two.txt": (BY_BELIEF, r"of factor\(religion\), occ is not one-way; give one of a single factor"),
    "aov_number.txt": (BY_BELIEF, r"its df is 1, as that of a slope .*print the analysis of factor\(religion\)"),
    "console.txt": (BELIEF | {"variable": "occ"}, r"it has 2 tests \(1: welch, 2: chi-square\); give one alone, or"),
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
    "scipy_signed.txt#1": (PAIRED | {"statistics": "p"}, "p: wilcoxon's p may be exact .* say 'continuity: true', or"),
    "scipy_vectors.txt": (AGE, "statistic: it does not say which group comes first"),
    "scipy_mannwhitney.txt": (AGE, "p: mannwhitneyu's p may be exact, .* say 'continuity: true', or false"),
    "scipy_chi2_two.txt": (TWO, "statistic: chi2_contingency corrects a 2 x 2 table .* say 'continuity: true', or f"),
    "scipy_fisher.txt": (TWO, r"it may be of fisher_exact, or of a correlation .*say 'test' in the output"),
    "tidy_t.csv": (AGE, "statistic: it does not say which group comes first"),
    "tidy_paired.csv": (PAIRED, "statistic: it does not say which of its two variables is less the other"),
    "tidy_less.csv": (AGE | {"statistics": ["df", "p"]}, "p: it is one-sided"),
    "tidy_aov_number.csv": (BY_BELIEF, "its df is 1, as that of a slope"),
    "aggregate.csv": (AGE, "no test is known in it; known are what"),
}


def book():
    """The codebook, with labels and two further variables of two values."""
    labels = {"age": {"label": "Age in years"}, "affair": {"label": "Had an affair", "descriptions": ("no", "yes")}}
    yes_no, bands = ("False", "True"), ("1", "2", "3")
    more = (Variable("any_child", "categorical", yes_no), Variable("religious", "categorical", yes_no))
    more += (Variable("age_band", "categorical", bands), Variable("educ_band", "categorical", bands))
    return Codebook((*(replace(each, **labels.get(each.name, {})) for each in codebook().variables), *more))


def records(every=1):
    """Every so-manieth record."""
    rows = frame().iloc[::every]
    more = {"any_child": (rows["children"] > 0).astype(str), "religious": (rows["religion"] > 2).astype(str)}
    ends = {"age": [0, 25, 35, 99], "educ": [0, 12, 15, 99]}
    more |= {f"{name}_band": pd.cut(rows[name], cuts, labels=list("123")).astype(str) for name, cuts in ends.items()}
    return from_frame(rows.assign(**more), book())


def read(values, entry, every=1, known=None):
    """What a study reads of a test, beside what the data give: (released, refit)."""
    released, *_ = study({**entry, "values": values}).given(known or book()).values()
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
        ("Rscript", "kappa_by_r.R", OF_KAPPA),
        (sys.executable, "stata_tests.py", OF_STATA | OF_SCIPY | OF_SPSS),
        ("pspp", "tests_by_pspp.sps", OF_PSPP),
    ],
)
def test_the_installed_program_prints_such_tests(program, script, cases, tmp_path):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    frame().to_csv(tmp_path / "fair.csv", index=False)
    command = [program, PROGRAMS / script, *(["-o", "pspp_tests.csv"] if program == "pspp" else [tmp_path])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    if "there is no package called" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    for file in cases:
        compare(tmp_path, file)


def of_pspp():
    return (FOLDER / "pspp_tests.csv").read_text(encoding="utf-8")


def part_of(title, at=0):
    """A table of PSPP's output by its title, the at-th of these."""
    return "Table: " + title + of_pspp().split(f"Table: {title}\n")[at + 1].join(["\n", ""]).split("Table:")[0]


def test_tables_of_other_procedures_are_no_tests():
    """They have df, Z and Sig. as well: a goodness of fit, a sign test, a model, ranks of others."""
    p = "df,3\nAsymp. Sig.,.214\n"
    friedman = f"Table: Ranks\n,Mean Rank\nage,2.00\neduc,1.00\nTable: Test Statistics\n,\nN,66\nChi-Square,66.00\n{p}"
    fit = f"Table: Test Statistics\n,age\nChi-Square,4.48\n{p}"
    sign = "Table: Frequencies\n,,N\nage - educ,Negative Differences,0\n,Positive Differences,66\n\n"
    sign += "Table: Test Statistics\n,age - educ\nZ,-8.00\nAsymp. Sig. (2-tailed),.000\n"
    model = "Table: Tests of Between-Subjects Effects\n,Squares,df,Mean Square,F,Sig.\nage,191.1,3,63.7,1.33,.273\n"
    for text, entry in ((friedman, BY_BELIEF), (fit, BY_BELIEF), (sign, PAIRED), (model, BY_BELIEF)):
        with pytest.raises(OutputError, match="no test is known in it"):
            read(text, entry)
    alone = "Table: Test Statistics\n,age\nKruskal-Wallis H,4.48\ndf,3\nAsymp. Sig.,.214\n"
    with pytest.raises(OutputError, match="the test of age needs its table of ranks above it"):
        read(alone, BY_BELIEF)
    ranks = part_of("Ranks").replace("44,30.38,1336.50", "44,31.00,1364.00")
    with pytest.raises(OutputError, match="the ranks above the test of age do not give its U"):
        read(ranks + part_of("Test Statistics"), AGE)


def test_what_stands_above_is_of_its_own_procedure():
    """Cramer's V of a later cross table, a cross table of others, means of other groups."""
    chi = part_of("religious × affair") + part_of("Chi-Square Tests", 1)
    later = part_of("religion × affair") + part_of("Symmetric Measures")
    released, beside = read(chi + later, TWO | {"continuity": False}, 97)
    assert beside.matched.all() and "cramers v" not in released.output.statistics
    none = "Table: Chi-Square Tests\n,Value\nN of Valid Cases,66\n"  # which PSPP prints of a chi2 of 0
    assert "cramers v" not in read(chi + none + part_of("Symmetric Measures"), TWO | {"continuity": False})[0].labels
    with pytest.raises(OutputError, match="no test is known in it"):
        read(none + part_of("Symmetric Measures"), TWO)
    named = chi.replace("religious × affair", "Had faith × Had an affair")
    with pytest.raises(OutputError, match="it has no cramers v"):
        read(part_of("religion × affair") + named, BELIEF | {"continuity": False, "statistics": ["p", "cramers v"]})
    layered = chi.replace("religious × affair", "religious × affair × religion")
    with pytest.raises(OutputError, match="layers of a cross table are not read"):
        read(layered, TWO)
    means = part_of("Group Statistics") + part_of("ANOVA")
    found = study({**BY_BELIEF, "values": means}).given(book())
    assert [each.output.kind for each in found.values()] == ["test"]


def test_groups_that_a_test_leaves_out_are_not_said_to_be_empty():
    three = replace(book()["religion"], values=(1, 2, 3, 4), missing=True)
    known = Codebook(tuple(three if each.name == "religion" else each for each in book().variables))
    text = part_of("Group Statistics") + part_of("Independent Samples Test")
    text = text.replace("age,0,", "age,1,").replace("\n,1,22", "\n,2,22")
    with pytest.raises(
        OutputError, match="it compares 1 and 2 of 'religion', which has other levels; say so with 'where: "
    ):
        study({**BY_BELIEF, "test": "t", "values": text}).given(known)
    _, means = study({**BY_BELIEF, "test": "t", "where": "age > 17", "values": text}).given(known).values()
    assert means.output.where == "(age > 17) and (religion == 1 or religion == 2)"


def test_an_output_of_spss_in_a_workbook_has_all_digits(tmp_path):
    """Titles stand alone there, cells are merged, and numbers are whole whatever is shown."""
    from openpyxl import Workbook

    text = (FOLDER / "spss_tests.csv").read_text(encoding="utf-8").replace("Table: ", "")
    exact = {"-1,860": -1.8596126, "-1,919": -1.9192533, ",061": 0.061194703, ",068": 0.067540}
    sheet = (book_ := Workbook()).active
    for line in text.splitlines():
        cells = [exact.get(each, each.replace(",", ".")) for each in line.split(";")]
        sheet.append([float(each) if re.fullmatch(r"-?[0-9]*\.?[0-9]+", str(each)) else each for each in cells])
    sheet.merge_cells("A11:A12")
    book_.save(tmp_path / "spss.xlsx")
    released, beside = read(str(tmp_path / "spss.xlsx"), AGE | {"test": "welch", "statistics": ["statistic", "p"]}, 97)
    assert beside.matched.all() and released.output.decimals.tolist() == [7, 6]
    released, beside = read(str(tmp_path / "spss.xlsx"), CHANGED | {"test": "mcnemar"}, 97)
    assert beside.matched.all() and len(released.low) == 3


@pytest.mark.parametrize("file", REFUSED)
def test_what_is_not_read_is_refused_with_the_way_out(file):
    entry, message = REFUSED[file]
    path = FOLDER / file if (FOLDER / file.partition("#")[0]).exists() else PRINTED / file
    with pytest.raises(OutputError, match=message) as refused:
        read(str(path), entry)
    assert "\n" not in str(refused.value)


def test_what_is_left_out_is_said(caplog):
    for file, words in {
        "t_welch.txt": "limits of the difference are taken as the difference, their middle, and its standard error",
        "wilcox.txt": "it does not name its groups; they are taken in the order of the codebook",
        "wilcox_limits.txt": "confidence limits of the shift are no number of a test",
        "prop_counts.txt": "proportions, and counts in the call, are no number of a test; give them as a table",
        "fisher_two.txt": "the odds ratio is estimated given the margins",
        "chisq_simulated.txt": "a simulated p-value is that of no refit",
        "aov.txt": "sums and means of squares are no number of a test",
        "stata_t_welch.log": "degrees of freedom by Welch's formula, and p by them, are not the output's",
        "stata_ranksum_turned.log": "the exact p-value is not that of the normal distribution",
        "stata_ranksum.log": "records of each group are no number of a test; give them as a table of counts",
        "stata_kwallis.log": "the test without ties, are no numbers of the output",
        "stata_oneway.log": "Bartlett's test are no number of the output",
        "stata_tabulate.log#1": "the table above the test is left out; give it as a table",
        "stata_tabulate.log#2": "the likelihood ratio, gamma, tau-b and one-sided tests are no output",
        "stata_signrank.log": "numbers of differences above and below 0 are no number of a test",
        "stata_mcc.log": "the table above, and proportions and odds ratio below, are left out; give the table",
        "scipy_chi2.txt": "expected frequencies are left out, and tell the totals of the table",
        "scipy_fisher.txt": "the odds ratio is no number of a test",
    }.items():
        caplog.clear()
        with caplog.at_level(logging.INFO, "outrisk"):
            read(str(FOLDER / file), READ[file][0])
        assert words in caplog.text, file


@pytest.mark.parametrize(("file", "statistics"), [("spearman", ("r", "statistic")), ("kendall", ("r",))])
def test_the_exact_p_of_a_correlation_is_left_out(file, statistics, caplog):
    text = (FOLDER / f"{file}_exact.txt").read_text()
    text = re.sub("data: .*", "data:  age and educ", text)
    with caplog.at_level(logging.INFO, "outrisk"):
        (released,) = study({**PAIRED, "values": text}).given(book()).values()
    assert released.output.statistics == statistics and "the exact p-value is not that of the output" in caplog.text
    assert released.output.decimals[0] == 7  # as R prints estimates, also 0.3714286 beside a whole S


def test_r_cuts_off_trailing_zeros_of_a_correlation():
    text = (FOLDER / "cor.txt").read_text().replace("0.02795995", "0.025").replace("t = 2.2314", "t = 1.9949")
    text = text.replace("0.02569", "0.04609").replace("0.003396545 0.052489628", "0.000435217 0.049534661")
    (released,) = study({**PAIRED, "values": text}).given(book()).values()
    assert released.output.decimals[0] == 8 and released.low[0] == released.high[0] == 0.025


def in_other_order():
    """The codebook with the groups the other way round."""
    turned = Variable("affair", "categorical", ("1", "0"))
    return Codebook(tuple(turned if each.name == "affair" else each for each in codebook().variables))


@pytest.mark.parametrize(
    "file", ["t_welch.txt", "t_equal.txt", "stata_t.log", "stata_t_unequal.log", "stata_ranksum.log"]
)
def test_groups_stand_in_the_order_of_the_codebook(file):
    entry, every = READ[file][0], READ[file][-1]
    known = in_other_order()
    released, *_ = study({**entry, "values": str(FOLDER / file)}).given(known).values()
    rows = frame().iloc[::every]
    beside = released.recompute(from_frame(rows.assign(affair=rows["affair"].astype(str)), known))
    assert beside.failure == "" and beside.matched.all()
    there, _ = read(str(FOLDER / file), entry, every)
    sign = there.output.statistics.index("z" if "ranksum" in file else "statistic")
    np.testing.assert_allclose(released.low[sign], -there.low[sign])


@pytest.mark.parametrize(
    ("file", "statistics"),
    [
        ("t_welch.txt", ("mean",)),
        ("t_equal.txt", ("mean",)),
        ("t_levels.txt", ("mean",)),
        ("t_reversed.txt", ("mean",)),
        ("stata_t.log", ("count", "mean", "sd")),
        ("stata_t_turned.log", ("count", "mean", "sd")),
    ],
)
def test_means_of_groups_beside_a_test_are_a_table_of_their_own(file, statistics):
    entry, every = READ[file][0], READ[file][-1]
    for known in (codebook(), in_other_order()):
        _, means = study({**entry, "values": str(FOLDER / file)}).given(known).values()
        assert means.output.statistics == statistics and (means.output.value, means.output.by) == ("age", ("affair",))
        rows = frame().iloc[::every]
        beside = means.recompute(from_frame(rows.assign(affair=rows["affair"].astype(str)), known))
        assert beside.matched.all() and beside.failure == "" and means.known.all()


def test_a_pair_that_is_called_otherwise_is_named_or_its_order_not_guessed(caplog):
    text = (FOLDER / "signed.txt").read_text(encoding="utf-8")
    with caplog.at_level(logging.INFO, "outrisk"):
        _, beside = read(text.replace("small$age", "own"), PAIRED, 97)
    assert beside.matched.all()
    assert "it is called a test of own paired with educ; it is taken for one of age paired with educ" in caplog.text
    with pytest.raises(OutputError, match=r"statistic: it does not say which .*'statistics: \[p\]'"):
        read(text.replace("small$age", "own").replace("small$educ", "other"), PAIRED, 97)
    with pytest.raises(OutputError, match=r"it is a test of log\(small.age\), which is no variable; derive one"):
        read(text.replace("small$age", "log(small$age)"), PAIRED)
    log = (FOLDER / "stata_mcc.log").read_text(encoding="utf-8")
    with pytest.raises(OutputError, match="a test of affair paired with religious, and the output is one of any_child"):
        read(log.replace("mcc any_child", "mcc affair"), CHANGED | {"test": "mcnemar"})
    short = (FOLDER / "stata_paired.log").read_text(encoding="utf-8").replace("(age - educ)", "(age - ed~c)")
    assert read(short, PAIRED)[1].matched.all()


def test_what_is_certain_of_the_other_order_is_read():
    for file, statistics in (("stata_signrank.log", ["z", "p", "n"]), ("signed.txt", ["p"])):
        text = (FOLDER / file).read_text(encoding="utf-8")
        with pytest.raises(
            OutputError, match="V is of the differences the other way round; exchange 'variable' and 'pa"
        ):
            read(text, TURNED, 97)
        assert read(text, TURNED | {"statistics": statistics}, 97)[1].matched.all()


def test_a_correction_of_nothing_is_not_asked_for():
    """R leaves it out of the title where as many changed one way as the other."""
    text = "\n\tMcNemar's Chi-squared test\n\ndata:  x\nMcNemar's chi-squared = 0, df = 1, p-value = 1\n"
    for continuity in (True, False):
        released, _ = read(text, CHANGED | {"continuity": continuity})
        assert released.output.continuity is continuity


@pytest.mark.parametrize("file", ["stata_paired.log", "stata_paired_turned.log"])
def test_means_of_a_pair_are_a_table_each(file):
    entry, every = READ[file][0], READ[file][-1]
    _, *means = study({**entry, "values": str(FOLDER / file)}).given(book()).values()
    assert [(each.output.value, each.output.by) for each in means] == [("age", ()), ("educ", ())]
    for each in means:
        assert each.output.statistics == ("count", "mean", "sd") and each.recompute(records(every)).matched.all()


def test_means_of_a_pair_with_missing_values_are_left_out(caplog):
    lacks = [Variable(each.name, each.kind, each.values, missing=each.name == "educ") for each in book().variables]
    with caplog.at_level(logging.INFO, "outrisk"):
        found = study({**PAIRED, "values": str(FOLDER / "stata_paired.log")}).given(Codebook(tuple(lacks)))
    assert len(found) == 1 and "means of the groups are left out" in caplog.text


def test_means_of_groups_that_are_no_levels_are_left_out(caplog):
    text = (FOLDER / "t_welch.txt").read_text(encoding="utf-8").replace("group 0", "group women")
    with caplog.at_level(logging.INFO, "outrisk"):
        (released,) = study({**AGE, "statistics": ["p"], "values": text}).given(book()).values()
    assert released.output.kind == "test" and "means of the groups are left out" in caplog.text


def test_an_order_that_is_not_said_is_not_guessed():
    for file, entry in (("wilcox.txt", SCHOOL), ("tidy_wilcox.csv", AGE)):
        with pytest.raises(
            OutputError, match=r"statistic: it does not say which group comes first.*'statistics: \[p\]'"
        ):
            study({**entry, "values": str(FOLDER / file)}).given(in_other_order())
    text = (FOLDER / "t_welch.txt").read_text(encoding="utf-8").replace("group 0", "women").replace("group 1", "men")
    with pytest.raises(
        OutputError, match="statistic: its group 'women' is no level of 'affair', which are 0, 1; leave"
    ):
        read(text.replace("in women", "in group women").replace("in men", "in group men"), AGE)


@pytest.mark.parametrize(
    ("file", "was", "becomes", "message"),
    [
        ("t_reversed.txt", "p-value = 0.06119", "p-value = 0.0312", "statistic|t and df make it another number"),
        ("t_reversed.txt", "p-value = 0.06119", "", "has no line with its p-value; give the page as R prints it"),
        ("t_reversed.txt", "df = 45.806", "df = many", "df is 'many', which is not a number"),
        (
            "t_reversed.txt",
            "Welch Two Sample t-test",
            "Brown-Mood test",
            "'Brown-Mood test' is not read: it is no test",
        ),
        ("chisq_small.txt", "p-value = 0.8078", "p-value = 1.8", "p and shares lie in 0 to 1"),
        (
            "anova_lm.txt",
            "Residuals ",
            "educ ",
            "table of an analysis of variance is cut off; give it down to its Resi",
        ),
        ("stata_t_old.log", "Ho: diff = 0 ", "Ho: diff = 2 ", "a t test of Stata against 2; print it against 0"),
        (
            "stata_t_old.log",
            "combined |",
            "together |",
            "a t test of Stata is cut off; give it from its title to its p",
        ),
        ("stata_t_old.log", "Pr(|T| > |t|) = 0.0675", "", r"a test of Stata without its Pr\(\|T\| > \|t\|\)"),
        (
            "stata_t_old.log",
            "Two-sample t test with equal variances",
            "One-sample t test",
            "'One-sample t test' compares no gr",
        ),
        ("stata_ranksum.log", "Combined |", "", "a rank-sum test of Stata is cut off"),
        ("stata_kwallis.log", "with ties", "", "a Kruskal-Wallis test of Stata without its line 'with ties'"),
        ("stata_oneway.log", "Within groups", "Residual", "none of oneway, or is cut off; give that of oneway"),
        (
            "scipy_welch.txt",
            "df=np.float64(45.806184009964966))",
            "df=np.float64(4",
            "is cut off; give it to its closin",
        ),
        ("scipy_welch.txt", "pvalue=np.float64(0.06119470257117777), ", "", "TtestResult has no statistic and pvalue"),
        (
            "scipy_welch.txt",
            "np.float64(1.9192533058899133)",
            "nan",
            "statistic of TtestResult is 'nan', which is not a",
        ),
        ("tidy_kruskal.csv", "4.47971564715963", "much", "statistic is 'much', which is not a number"),
    ],
)
def test_what_is_cut_off_or_contradicts_itself_is_refused(file, was, becomes, message):
    text = (FOLDER / file).read_text(encoding="utf-8")
    assert was in text
    with pytest.raises(OutputError, match=message) as refused:
        read(text.replace(was, becomes), READ[file][0])
    assert "\n" not in str(refused.value)


def test_a_test_must_be_said_where_values_do_not_say_it(tmp_path):
    with pytest.raises(OutRiskError, match="'test' is missing; say which of"):
        study({**AGE, "values": {"t": 1.2, "p": 0.2}})
    (tmp_path / "t.csv").write_text("label,value\nt,1.2\np,0.2\n", encoding="utf-8")
    with pytest.raises(OutRiskError, match="'test' is missing, and values by label do not say it; say which of"):
        study({**AGE, "values": str(tmp_path / "t.csv")}).given(book())


def test_texts_are_read_within_consoles_and_with_own_decimals():
    text = (FOLDER / "t_reversed.txt").read_text(encoding="utf-8")
    marked = "".join(f"## {line}\n" for line in text.splitlines())
    released, beside = read(marked, AGE | {"decimals": {"statistic": 4, "df": 3, "p": 6}}, 97)
    assert beside.matched.all() and released.high[2] > released.low[2]  # p is known to five decimals
    with pytest.raises(OutputError, match="which has more digits than the 2 decimals released"):
        read(text, AGE | {"decimals": 2})
    with pytest.raises(OutputError, match="groups by several variables are not told apart"):
        read(text, AGE | {"by": ["affair", "religion"]})
    released, _ = read(text, AGE | {"by": ["affair", "religion"], "statistics": ["df", "p"]}, 97)
    assert released.output.statistics == ("df", "p")


def of_r(number, digits):
    """R's format(number, digits = digits)."""
    wanted = float(f"{number:.{digits - 1}e}")
    least = next(k for k in range(1, digits + 1) if float(f"{number:.{k - 1}e}") == wanted)
    mantissa, _, power = f"{number:.{least - 1}e}".partition("e")
    fixed = f"{number:.{max(0, least - 1 - int(power))}f}"
    scientific = f"{mantissa}e{int(power):+03d}"
    return fixed if len(fixed) <= len(scientific) else scientific


def page(title, names, numbers, digits, more=""):
    parts = [f"{name} = {of_r(value, max(1, digits - 2))}" for name, value in zip(names, numbers[:-1], strict=True)]
    parts.append(f"p-value = {of_r(numbers[-1], max(1, digits - 3))}")
    return f"\n\t{title}\n\ndata:  x by g\n{', '.join(parts)}\n{more}\n"


def means_of(first, second):
    return f"sample estimates:\nmean in group a mean in group b \n{first:15.6g} {second:15.6g} \n"


@pytest.mark.parametrize("seed", range(20))
def test_random_tests_as_r_prints_them(seed):
    rng = np.random.default_rng(seed)
    digits, n = int(rng.choice([3, 4, 5, 7, 7, 10])), int(rng.integers(12, 60))
    known = Codebook((Variable("x", "integer", tuple(range(9))), Variable("g", "categorical", ("a", "b"))))
    codes = np.column_stack([rng.integers(0, rng.integers(2, 10), n), rng.permutation(np.arange(n) % 2)])
    data = Microdata(known, codes.astype(np.uint16))
    a, b = (codes[codes[:, 1] == group, 0] for group in (0, 1))
    if len(np.unique(codes[:, 0])) < 2 or a.mean() == b.mean():
        pytest.skip("nothing to test")
    welch, equal = stats.ttest_ind(a, b, equal_var=False), stats.ttest_ind(a, b)
    u, h = stats.mannwhitneyu(a, b, method="asymptotic"), stats.kruskal(a, b)
    table = np.array([[(part == value).sum() for part in (a, b)] for value in np.unique(codes[:, 0])])
    chi, f = stats.chi2_contingency(table, correction=False), stats.f_oneway(a, b)
    means = means_of(a.mean(), b.mean())
    for text, numbers in (
        (page("Welch Two Sample t-test", ["t", "df"], [welch.statistic, welch.df, welch.pvalue], digits, means), 3),
        (page("Two Sample t-test", ["t", "df"], [equal.statistic, equal.df, equal.pvalue], digits, means), 3),
        (page("Wilcoxon rank sum test with continuity correction", ["W"], [u.statistic, u.pvalue], digits), 2),
        (page("Kruskal-Wallis rank sum test", ["Kruskal-Wallis chi-squared", "df"], [h[0], 1, h[1]], digits), 3),
        (page("Pearson's Chi-squared test", ["X-squared", "df"], [chi[0], chi[2], chi[1]], digits), 3),
        (page("One-way analysis of means", ["F", "num df", "denom df"], [f[0], 1, n - 2, f[1]], digits), 4),
    ):
        released, *means = study({"kind": "test", "variable": "x", "by": "g", "values": text}).given(known).values()
        assert len(means) == ("t-test" in text) and all(each.recompute(data).matched.all() for each in means), text
        beside = released.recompute(data)
        assert len(released.low) == numbers and beside.matched.all(), text


def test_a_test_of_another_expression_is_refused_or_named(caplog):
    text = (FOLDER / "t_reversed.txt").read_text(encoding="utf-8")
    with pytest.raises(OutputError, match=r"it is a test of log\(age\), which is no variable"):
        read(text.replace("age by had", "log(age) by had"), AGE)
    with caplog.at_level(logging.INFO, "outrisk"):
        read(text, AGE, 97)
    assert "it is called a test of age by had; it is taken for one of age by affair" in caplog.text
    text = (FOLDER / "wilcox_limits.txt").read_text(encoding="utf-8").replace("by affair", "by had")
    with pytest.raises(OutputError, match="it does not say which group comes first"):
        read(text, AGE)
    text = (FOLDER / "scipy_welch.txt").read_text(encoding="utf-8").replace("d.affair ==", "d.religion ==")
    with pytest.raises(OutputError, match="it is a test of religion, and the output is one of age by affair"):
        read(text, AGE)


@pytest.mark.parametrize("seed", range(20))
def test_mutated_texts_give_an_error_or_numbers(seed):
    rng = random.Random(seed)
    file = rng.choice(sorted(READ))
    text = mutated((FOLDER / file.partition("#")[0]).read_text(encoding="utf-8"), rng) + "\n"
    message, given = "", {}
    try:
        given = study({**READ[file][0], "values": text}).given(book())
    except OutRiskError as error:
        message = str(error)
    assert (message or given) and "\n" not in message and len(message) < 2_000
    assert all((released.low <= released.high).all() for released in given.values())
