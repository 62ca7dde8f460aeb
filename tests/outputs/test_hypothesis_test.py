"""Tests between groups and of pairs: by hand, by scipy, by what R prints, and what is refused."""

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, even_records, numbers_of, random_records, refit_of, slopes_of, totals_of
from scipy import stats
from statsmodels.stats.contingency_tables import Table
from statsmodels.stats.inter_rater import cohens_kappa

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import released
from outrisk.outputs.smooth.compared import OF_PAIRS, OF_SCORES
from outrisk.outputs.smooth.hypothesis_test import OF_TEST, HypothesisTest, HypothesisTestEntry

CODEBOOK = Codebook(
    (
        Variable("sex", "categorical", ("f", "m"), missing=True),
        Variable("arm", "categorical", ("a", "b", "c")),
        Variable("dose", "numeric", (0.5, 1.0, 1.5, 4.0), missing=True),
        Variable("age", "integer", tuple(range(20, 60))),
        Variable("before", "numeric", (0.2, 0.5, 0.8, 1.1, 2.5), missing=True),
        Variable("after", "numeric", (0.1, 0.2, 0.5, 0.8, 1.1)),
        Variable("pain", "categorical", ("no", "yes"), missing=True),
        Variable("pain after", "categorical", ("no", "yes")),
        Variable("grade", "categorical", ("low", "mid", "high"), missing=True),
        Variable("grade after", "categorical", ("low", "mid", "high")),
    )
)
TESTS = [
    HypothesisTest(CODEBOOK, f"{test} {by}{continuity}", test, variable, by, OF_TEST[test], continuity, 4)
    for test, variable, by, continuity in [
        ("chi-square", "arm", ("sex",), False),
        ("chi-square", "dose", ("sex", "arm"), False),
        ("chi-square", "arm", ("sex",), True),
        ("t", "age", ("sex",), False),
        ("welch", "dose", ("sex",), False),
        ("welch", "age", ("sex",), False),
        ("anova", "age", ("arm",), False),
        ("anova", "dose", ("sex", "arm"), False),
        ("rank-sum", "age", ("sex",), False),
        ("rank-sum", "dose", ("sex",), True),
        ("kruskal-wallis", "age", ("arm",), False),
        ("kruskal-wallis", "dose", ("arm", "sex"), False),
        ("fisher", "arm", ("sex",), False),
        ("fisher", "sex", ("arm",), False),
        ("fisher", "dose", ("sex",), False),
        ("trend", "sex", ("dose",), False),
        ("trend", "pain", ("arm",), False),
        ("linear-by-linear", "arm", ("dose",), False),
        ("linear-by-linear", "age", ("sex",), False),
    ]
]
TESTS += [
    HypothesisTest(CODEBOOK, f"{test} {of}{continuity}", test, of, (), OF_TEST[test], continuity, 4, paired=paired)
    for test, of, paired, continuity in [
        ("paired t", "after", "before", False),
        ("paired t", "age", "dose", False),
        ("signed-rank", "after", "before", False),
        ("signed-rank", "after", "before", True),
        ("signed-rank", "age", "dose", False),
        ("mcnemar", "pain after", "pain", False),
        ("mcnemar", "pain after", "pain", True),
        ("exact mcnemar", "pain", "pain after", False),
        ("pearson", "after", "before", False),
        ("pearson", "age", "dose", False),
        ("spearman", "after", "before", False),
        ("spearman", "age", "arm", False),
        ("kendall", "after", "before", False),
        ("kendall", "arm", "dose", False),
        ("kappa", "pain after", "pain", False),
        ("kappa", "grade", "grade after", False),
        ("mcnemar", "grade", "grade after", False),
    ]
]
TESTS += [
    replace(each, name=f"{each.name} {weights}", weights=weights)
    for each in TESTS
    if each.test == "kappa" and each.variable == "grade"
    for weights in ("linear", "quadratic")
]
TESTS += [
    HypothesisTest(
        *(CODEBOOK, "scored", "trend", "sex", ("arm",), OF_TEST["trend"], False, 4),
        scores={"arm": (0.0, 3.0, 4.5)},
    ),
    HypothesisTest(
        *(CODEBOOK, "both scored", "linear-by-linear", "arm", ("dose",), OF_TEST["linear-by-linear"], False, 4),
        scores={"arm": (1.0, 0.0, 7.0), "dose": (2.0, 2.0, 1.0, 5.0)},
    ),
]
EXACT = ("fisher", "exact mcnemar")
each_test = pytest.mark.parametrize("output", TESTS, ids=lambda output: output.name)


def records(**columns):
    """Records of these codes of some variables; 0 of the others."""
    n = len(next(iter(columns.values())))
    codes = [columns.get(name, [0] * n) for name in CODEBOOK.names]
    return Microdata(CODEBOOK, np.array(codes, dtype=np.uint16).T)


def two_by_two(a, b, c, d):
    """Arms a and b by sex: a and b of the women, c and d of the men."""
    return records(sex=[0] * (a + b) + [1] * (c + d), arm=[0] * a + [1] * b + [0] * c + [1] * d)


def test_two_by_two_by_hand():
    data = two_by_two(10, 20, 30, 40)  # expected 12, 18, 28, 42: gaps of 2
    plain = HypothesisTest(CODEBOOK, "c", "chi-square", "arm", ("sex",), ("statistic", "df", "n", "cramers v"))
    chi2 = 4 * (1 / 12 + 1 / 18 + 1 / 28 + 1 / 42)
    np.testing.assert_allclose(plain.refit(data), [chi2, 1, 100, (chi2 / 100) ** 0.5])
    assert plain.labels == ["chi2", "df", "n", "cramers v"]
    assert plain.decimals.tolist() == [3, 0, 0, 3]
    corrected = HypothesisTest(CODEBOOK, "c", "chi-square", "arm", ("sex",), ("statistic",), continuity=True)
    np.testing.assert_allclose(corrected.refit(data), [chi2 / 4 * 1.5**2])


def test_means_and_ranks_by_hand():
    data = records(sex=[0, 0, 0, 1, 1, 2], age=[1, 2, 3, 4, 6, 5])  # 21, 22, 23 and 24, 26; the last lacks its sex
    student = HypothesisTest(CODEBOOK, "t", "t", "age", ("sex",), ("difference", "standard error", "statistic", "df"))
    error = ((2 + 2) / 3 * (1 / 3 + 1 / 2)) ** 0.5
    np.testing.assert_allclose(student.refit(data), [-3, error, -3 / error, 3])
    welch = HypothesisTest(CODEBOOK, "w", "welch", "age", ("sex",), ("standard error", "df"))
    np.testing.assert_allclose(welch.refit(data), [(1 / 3 + 1) ** 0.5, (4 / 3) ** 2 / (1 / 9 / 2 + 1)])
    ranks = HypothesisTest(CODEBOOK, "r", "rank-sum", "age", ("sex",), ("statistic", "z", "n"))
    np.testing.assert_allclose(ranks.refit(data), [0, -3 / (6 * 6 / 12) ** 0.5, 5])


def test_pairs_by_hand():
    data = records(before=[0, 1, 2, 3, 5], after=[2, 4, 4, 4, 1])  # +0.3, +0.6, +0.3, 0 and one that lacks its before
    paired = HypothesisTest(CODEBOOK, "p", "paired t", "after", (), OF_TEST["paired t"], paired="before")
    sd = (((0.0) ** 2 * 2 + 0.3**2 + 0.3**2) / 3) ** 0.5  # of 0.3, 0.6, 0.3, 0: their mean is 0.3
    found = dict(zip(paired.statistics, paired.refit(data), strict=True))
    np.testing.assert_allclose([found[each] for each in ("n", "df", "difference")], [4, 3, 0.3])
    np.testing.assert_allclose([found["standard error"], found["cohens d"]], [sd / 2, 0.3 / sd])
    np.testing.assert_allclose(found["statistic"], 0.3 / (sd / 2))
    ranks = HypothesisTest(CODEBOOK, "r", "signed-rank", "after", (), ("statistic", "z", "n"), paired="before")
    z = 3 / (3 * 4 * 7 / 24) ** 0.5  # 0.5 - 0.2 and 1.1 - 0.8 are not the same number, in R neither
    np.testing.assert_allclose(ranks.refit(data), [6, z, 4])
    assert ranks.labels == ["V", "z", "n"] and ranks.decimals.tolist() == [1, 3, 0]
    turned = replace(ranks, variable="before", paired="after")
    np.testing.assert_allclose(turned.refit(data), [0, -z, 4])
    tied = replace(ranks, variable="age", paired="dose", statistics=("z",))
    ages = records(age=[0, 1, 2], dose=[1, 1, 3])  # 19, 20 and 18
    same = records(age=[0, 1, 1], dose=[1, 1, 1])  # 19 and twice 20: 2**3 - 2
    np.testing.assert_allclose(tied.refit(ages), [3 / (3 * 4 * 7 / 24) ** 0.5])
    np.testing.assert_allclose(tied.refit(same), [3 / (3 * 4 * 7 / 24 - 6 / 48) ** 0.5])


def test_changes_by_hand():
    data = records(**{"pain": [0] * 9 + [1] * 5 + [2], "pain after": [0] * 3 + [1] * 6 + [0] + [1] * 4 + [0]})
    plain = HypothesisTest(CODEBOOK, "m", "mcnemar", "pain after", (), ("statistic", "df", "n"), paired="pain")
    np.testing.assert_allclose(plain.refit(data), [(6 - 1) ** 2 / 7, 1, 14])  # six got it, one lost it
    np.testing.assert_allclose(replace(plain, continuity=True).refit(data), [(6 - 1 - 1) ** 2 / 7, 1, 14])
    other = HypothesisTest(CODEBOOK, "m", "exact mcnemar", "pain after", (), ("p", "n"), paired="pain")
    np.testing.assert_allclose(other.refit(data), [2 * (1 + 7) / 2**7, 14])
    np.testing.assert_allclose(numbers_of(other, data), [2 * (1 + 7) / 2**7, 14])
    nobody = records(**{"pain": [0, 1, 1], "pain after": [0, 1, 1]})
    for output in (plain, other):
        assert np.isnan(output.refit(nobody)[0]) and output.refit(nobody)[-1] == 3


def test_changes_between_levels_that_are_numbers_and_words():
    book = Codebook((Variable("a", "integer", (0, 1)), Variable("b", "categorical", ("0", "1"))))
    codes = np.array([[0, 0], [1, 1], [0, 1], [0, 1], [1, 0]], dtype=np.uint16)
    output = HypothesisTest(book, "m", "mcnemar", "a", (), ("statistic", "n"), paired="b")
    for found in (output.refit(Microdata(book, codes)), numbers_of(output, Microdata(book, codes))):
        np.testing.assert_allclose(found, [1 / 3, 5])


def test_sizes_of_effects_by_hand():
    data = records(sex=[0, 0, 0, 1, 1, 2], age=[1, 2, 3, 4, 6, 5])
    for test in ("t", "welch"):  # squares inside groups 2 and 2, of 5 records
        output = HypothesisTest(CODEBOOK, "d", test, "age", ("sex",), ("cohens d",))
        np.testing.assert_allclose(output.refit(data), [-3 / (4 / 3) ** 0.5])
    share = HypothesisTest(CODEBOOK, "e", "anova", "age", ("sex",), ("eta squared",))
    np.testing.assert_allclose(share.refit(data), [10.8 / 14.8])  # squares in all about the mean of 3.2
    data = records(sex=[0, 0, 1, 1, 1], age=[3, 1, 1, 2, 0])
    area = HypothesisTest(CODEBOOK, "a", "rank-sum", "age", ("sex",), ("auc", "statistic"))
    np.testing.assert_allclose(area.refit(data), [4.5 / 6, 4.5])


# of R 4.2: t.test(a, b, paired = TRUE); wilcox.test(a, b, paired = TRUE, exact = FALSE), with correct = FALSE;
# mcnemar.test(p, q), with correct = FALSE; binom.test(3, 12)
PAIRS_OF_R = [
    ("paired t", False, {"statistic": 0.764470787, "df": 9, "p": 0.464157896, "difference": 0.1}),
    ("signed-rank", True, {"statistic": 22.5, "p": 0.570158045}),
    ("signed-rank", False, {"statistic": 22.5, "p": 0.522955588}),
    ("mcnemar", True, {"statistic": 2.083333333, "df": 1, "p": 0.148914673}),
    ("mcnemar", False, {"statistic": 3, "df": 1, "p": 0.0832645167}),
    ("exact mcnemar", False, {"p": 0.145996094}),
]


@pytest.mark.parametrize(("test", "continuity", "expected"), PAIRS_OF_R)
def test_r_prints_the_same_of_pairs(test, continuity, expected):
    a, b = [0, 1, 4, 4, 3, 2, 4, 1, 0, 3], [0, 0, 1, 3, 3, 0, 1, 2, 0, 0]
    data = records(after=a, before=b)
    names = ("after", "before")
    if "mcnemar" in test:
        data = records(**{"pain": [0] * 14 + [1] * 13, "pain after": [0] * 11 + [1] * 3 + [0] * 9 + [1] * 4})
        names = ("pain after", "pain")
    output = HypothesisTest(CODEBOOK, "r", test, names[0], (), tuple(expected), continuity, paired=names[1])
    np.testing.assert_allclose(output.refit(data), list(expected.values()), rtol=1e-6)


# of R 4.2: t.test(a ~ g), with var.equal = TRUE; anova(lm(a ~ h)); wilcox.test(a ~ g, exact = FALSE), with correct =
# FALSE; kruskal.test(a ~ h); chisq.test(m), with correct = FALSE
OF_R = [
    ("welch", "sex", False, {"statistic": -2.1142844, "df": 4.4014542, "p": 0.0956838}),
    ("t", "sex", False, {"statistic": -2.1142844, "df": 6, "p": 0.07890419, "difference": 14.0 - 21.5}),
    ("anova", "arm", False, {"statistic": 0.83826, "df": 2, "df within": 5, "p": 0.48534}),
    ("rank-sum", "sex", True, {"statistic": 1.5, "p": 0.0814291}),
    ("rank-sum", "sex", False, {"statistic": 1.5, "p": 0.05907187}),
    ("kruskal-wallis", "arm", False, {"statistic": 2.2841365, "df": 2, "p": 0.3191582}),
]


@pytest.mark.parametrize(("test", "by", "continuity", "expected"), OF_R)
def test_r_prints_the_same(test, by, continuity, expected):
    a = [12, 15, 11, 19, 22, 15, 30, 18]
    data = records(age=a, sex=[0, 0, 0, 1, 1, 1, 1, 0], arm=[0, 1, 2, 0, 1, 2, 0, 1])
    output = HypothesisTest(CODEBOOK, "r", test, "age", (by,), tuple(expected), continuity)
    np.testing.assert_allclose(output.refit(data), list(expected.values()), rtol=1e-5)


@pytest.mark.parametrize(
    ("continuity", "expected"), [(True, (9.4656611, 0.00209354)), (False, (11.402715, 0.0007333685))]
)
def test_r_prints_the_same_of_a_table(continuity, expected):
    output = HypothesisTest(CODEBOOK, "r", "chi-square", "arm", ("sex",), continuity=continuity)
    np.testing.assert_allclose(output.refit(two_by_two(12, 9, 5, 30)), expected, rtol=1e-5)


# of R 4.2: prop.trend.test(c(15, 10, 5, 9), c(30, 32, 29, 40)), with score = c(0, 1, 2.5, 7)
@pytest.mark.parametrize(
    ("scores", "expected"), [({}, (6.7222702, 0.009521635042)), ([0, 1, 2.5, 7], (3.842201755, 0.04997785128))]
)
def test_r_prints_the_same_of_a_trend(scores, expected):
    """dose has the values 0.5, 1, 1.5, 4; R's default is 1, 2, 3, 4."""
    of, at = (15, 10, 5, 9), (30, 32, 29, 40)
    data = records(
        dose=np.repeat(range(4), at), sex=np.concatenate([[0] * x + [1] * (n - x) for x, n in zip(of, at, strict=True)])
    )
    output = HypothesisTest(CODEBOOK, "r", "trend", "sex", ("dose",), scores={"dose": scores or [1, 2, 3, 4]})
    np.testing.assert_allclose(output.refit(data), expected, rtol=1e-7)
    np.testing.assert_allclose(numbers_of(output, data), expected, rtol=1e-7)
    named = HypothesisTest(CODEBOOK, "r", "trend", "sex", ("dose",))
    of_values = replace(named, scores={"dose": [0.5, 1.0, 1.5, 4.0]})
    assert named.refit(data).tolist() == of_values.refit(data).tolist() != output.refit(data).tolist()


def test_a_trend_by_hand():
    """(N - 1) r^2 = 4.515 of the table of Sribney's comparison of tests for trend (StataCorp), as SAS prints it."""
    data = records(sex=[0] * 117 + [1] * 27, arm=np.repeat([0, 1, 2, 0, 1, 2], [19, 31, 67, 1, 5, 21]))
    output = HypothesisTest(CODEBOOK, "s", "linear-by-linear", "sex", ("arm",), ("statistic", "p", "n", "r", "z"))
    chi2, p, n, r, z = output.refit(data)
    assert (round(chi2, 3), round(p, 3), n) == (4.515, 0.034, 144)
    np.testing.assert_allclose([(n - 1) * r**2, z * z], chi2)
    trend = replace(output, test="trend")
    np.testing.assert_allclose(trend.refit(data)[0], chi2 * n / (n - 1))
    table = Table(np.array([[19, 31, 67], [1, 5, 21]]), shift_zeros=False)
    np.testing.assert_allclose(table.test_ordinal_association(np.arange(2), np.arange(3)).zscore, z)


# of R 4.2: cor.test(a, b, exact = FALSE), also with method = "spearman" and "kendall"
CORRELATIONS_OF_R = {
    "pearson": {
        **{"r": 0.4771003928, "statistic": 1.53546741, "df": 8, "p": 0.1632184885},
        **{"lower limit": -0.2180171637, "upper limit": 0.8510696606},
    },
    "spearman": {"r": 0.5821186196, "statistic": 68.95042777, "p": 0.07746382218},
    "kendall": {"r": 0.4738704723, "z": 1.688871349, "p": 0.09124408685},
}


@pytest.mark.parametrize("test", CORRELATIONS_OF_R)
def test_r_prints_the_same_correlations(test):
    expected = CORRELATIONS_OF_R[test]
    data = records(after=[0, 1, 4, 4, 3, 2, 4, 1, 0, 3], before=[0, 0, 1, 3, 3, 0, 1, 2, 0, 0])
    output = HypothesisTest(CODEBOOK, "r", test, "after", (), tuple(expected), paired="before")
    np.testing.assert_allclose(output.refit(data), list(expected.values()), rtol=1e-8)
    np.testing.assert_allclose(numbers_of(output, data), list(expected.values()), rtol=1e-8)
    label = {"pearson": "r", "spearman": "rho", "kendall": "tau-b"}[test]
    assert output.labels[0] == label and ("lower 95 %" in output.labels) == (test == "pearson")


def test_levels_in_order_have_ranks():
    data = records(grade=[0, 1, 2, 2, 1, 3], arm=[0, 1, 2, 1, 1, 0])
    output = HypothesisTest(CODEBOOK, "r", "spearman", "grade", (), ("r", "n"), paired="arm")
    np.testing.assert_allclose(output.refit(data), [stats.spearmanr([0, 1, 2, 2, 1], [0, 1, 2, 1, 1])[0], 5])


@pytest.mark.parametrize("test", ["pearson", "spearman", "kendall"])
def test_correlations_of_one_and_of_two_records(test):
    """A correlation of 1 has no t; two records have no p."""
    output = HypothesisTest(CODEBOOK, "r", test, "after", (), OF_TEST[test], paired="before")
    for codes in ([0, 1, 2, 3], [0, 1], [2]):
        data = records(after=codes, before=codes) if test != "pearson" else records(age=codes, dose=codes)
        of = output if test != "pearson" else replace(output, variable="age", paired="dose", where="dose < 2")
        found = dict(zip(of.statistics, of.refit(data), strict=True))
        np.testing.assert_allclose(numbers_of(of, data), of.refit(data), atol=1e-9)
        assert len(codes) < 2 or abs(found["r"] - 1.0) < 1e-12
        assert np.isnan(found["p"]) == (len(codes) < 3) and found["n"] == len(codes) - (test == "pearson") * (
            len(codes) > 3
        )
        assert test != "pearson" or np.isnan(found["statistic"])


def square(table):
    """Records of a square table of grade and grade after."""
    own, other = (np.repeat(each.ravel(), np.ravel(table)) for each in np.indices(np.shape(table)))
    return records(**{"grade": own, "grade after": other})


RATED = [[20, 9, 1], [4, 15, 2], [3, 6, 10]]


def agreement(**more):
    return HypothesisTest(
        CODEBOOK, "k", "kappa", "grade", (), **{"statistics": OF_TEST["kappa"], "paired": "grade after", **more}
    )


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_statsmodels_has_the_same_kappa(weights):
    found = cohens_kappa(np.array(RATED), wt=None if weights == "none" else weights)
    output = agreement(weights=weights)
    numbers = dict(zip(output.statistics, output.refit(square(RATED)), strict=True))
    for name, expected in {
        **{"kappa": found.kappa, "standard error": found.std_kappa, "null error": found.std_kappa0},
        **{"z": found.z_value, "p": found.pvalue_two_sided},
        **{"lower limit": found.kappa_low, "upper limit": found.kappa_upp},
    }.items():
        np.testing.assert_allclose(numbers[name], expected, rtol=1e-6, err_msg=name)


# of vcd 1.4 in R 4.2: Kappa(m), also with weights = "Fleiss-Cohen"; psych 2.2's cohen.kappa has 0.29 and 0.62
OF_VCD = {"none": (0.45533769, 0.08597253), "linear": (0.50680272, 0.08604371), "quadratic": (0.5626, 0.09682)}


@pytest.mark.parametrize("weights", OF_VCD)
def test_vcd_has_the_same_asymptotic_error(weights):
    output = agreement(weights=weights, statistics=("kappa", "standard error", "lower limit", "upper limit"))
    numbers = output.refit(square(RATED))
    np.testing.assert_allclose(numbers[:2], OF_VCD[weights], rtol=1e-4 if weights == "quadratic" else 1e-7)
    assert weights != "none" or numbers[2:].round(2).tolist() == [0.29, 0.62]


def test_kappa_by_hand():
    """Of Stata's page of kap in its FAQ: 66.67 % agree, 33.33 % by chance, kappa 0.5000, error 0.1667, z 3.00."""
    data = records(**{"grade": [0] * 4 + [1] * 4 + [2] * 4, "grade after": [0] * 4 + [1] * 8})
    output = agreement(statistics=("agreement", "expected agreement", "kappa", "null error", "z"))
    np.testing.assert_allclose(output.refit(data), [2 / 3, 1 / 3, 0.5, 1 / 6, 3.0])
    alike = records(**{"grade": [0] * 4, "grade after": [0] * 4})
    for found in (output.refit(alike), numbers_of(output, alike)):
        np.testing.assert_array_equal(found, [1, 1, np.nan, np.nan, np.nan])


def test_symmetry_as_r_prints_it():
    """mcnemar.test(matrix(c(20, 4, 3, 9, 15, 6, 1, 2, 10), 3)) of R 4.2."""
    output = replace(agreement(statistics=("n",)), test="mcnemar", statistics=("statistic", "df", "p", "n"))
    np.testing.assert_allclose(output.refit(square(RATED)), [4.923076923, 3, 0.1775172677, 70], rtol=1e-8)
    two = square([[5, 0, 4], [0, 0, 0], [1, 0, 3]])  # the middle is nobody's
    np.testing.assert_allclose(output.refit(two)[:2], [9 / 5, 1])
    np.testing.assert_allclose(numbers_of(output, two)[:2], [9 / 5, 1])
    none = square([[5, 0, 4], [0, 2, 1], [1, 0, 3]])  # nobody changed between low and mid: R's is NaN
    assert np.isnan(output.refit(none)[:3]).all() and np.isnan(numbers_of(output, none)[:3]).all()


def exact(of="sex", by=("arm",), **more):
    return HypothesisTest(CODEBOOK, "f", "fisher", of, by, ("p", "n"), **more)


def test_an_exact_test_by_hand():
    data = two_by_two(3, 1, 1, 3)  # of 70 ways 1, 16, 36, 16, 1: 34 are no likelier
    for output in (exact(), exact("arm", ("sex",))):
        np.testing.assert_allclose(output.refit(data), [34 / 70, 8])
        np.testing.assert_allclose(numbers_of(output, data), [34 / 70, 8])
    one = two_by_two(3, 0, 5, 0)
    np.testing.assert_array_equal(exact().refit(one), [np.nan, 8])
    np.testing.assert_array_equal(numbers_of(exact(), one), [np.nan, 8])


@settings(max_examples=40, deadline=None)
@given(st.tuples(*[st.integers(1, 600)] * 4))
def test_an_exact_test_of_two_by_two_in_whole_numbers(cells):
    a, b, c, d = cells
    ways = [comb(a + b, x) * comb(c + d, a + c - x) for x in range(min(a + b, a + c) + 1)]
    p = float(Fraction(sum(each for each in ways if each * 10**7 <= ways[a] * (10**7 + 1)), sum(ways)))
    data = two_by_two(*cells)
    np.testing.assert_allclose(exact().refit(data)[0], p, rtol=1e-8)
    np.testing.assert_allclose(numbers_of(exact(), data)[0], p, rtol=1e-8)


def test_an_exact_test_moves_as_a_chi_square_does():
    """It has steps; between whole numbers, and for its slopes, it is near that one."""
    data = even_records(CODEBOOK, 3, 200)
    (part,) = exact("arm", ("sex",)).parts(np.zeros(2))
    of_chi = HypothesisTest(CODEBOOK, "c", "chi-square", "arm", ("sex",), ("p", "n"))
    (other,) = of_chi.parts(np.zeros(2))
    totals = totals_of(part, data)
    slopes, others = (each.map.jacobian(totals, NO_INFORMATION) for each in (part, other))
    np.testing.assert_allclose(slopes, others)
    assert np.abs(slopes[0]).max() > 0
    between, there = (each.map.numbers(totals + 0.25, NO_INFORMATION) for each in (part, other))
    np.testing.assert_allclose(between, there)
    assert abs(part.map.numbers(totals, NO_INFORMATION) - between)[0] < 0.05


def test_an_exact_test_that_is_too_much_is_refused():
    cells = np.array([[900, 1000, 950], [950, 900, 1000]])
    wide = Codebook((Variable("a", "integer", tuple(range(3))), Variable("b", "integer", tuple(range(3)))))
    codes = np.repeat(np.indices((3, 3)).reshape(2, -1).T, [*cells.ravel(), 900, 800, 700], axis=0)
    data = Microdata(wide, codes.astype(np.uint16))
    output = HypothesisTest(wide, "f", "fisher", "a", ("b",), ("p", "n"))
    with pytest.raises(OutputError, match="8,100 records in a table of 3 x 3 are too many for Fisher's exact test; "):
        output.refit(data)
    (part,) = output.parts(np.zeros(2))
    (other,) = replace(output, test="chi-square").parts(np.zeros(2))  # a search has that one instead
    numbers = [each.map.numbers(totals_of(part, data), NO_INFORMATION) for each in (part, other)]
    np.testing.assert_array_equal(*numbers)


def test_what_is_released_of_a_test_that_does_not_say():
    of = {
        each: HypothesisTestEntry(kind="test", test=each, variable="arm", by="sex") for each in ("chi-square", "fisher")
    }
    assert [of[each].build(CODEBOOK, 1)[0].statistics for each in of] == [("statistic", "p"), ("p",)]


@each_test
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["", "age < 40", "arm == 'a' or arm == 'c'"]))
def test_totals_and_scipy_agree(output, seed, where):
    data = random_records(CODEBOOK, seed)
    of_some = replace(output, where=where)
    expected = refit_of(of_some, data)
    np.testing.assert_allclose(numbers_of(of_some, data), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("output", [each for each in TESTS if each.test not in EXACT], ids=lambda output: output.name)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_derivatives_agree_with_differences(output, seed):
    data = even_records(CODEBOOK, seed, 80)
    (part,) = output.parts(output.refit(data))
    totals = totals_of(part, data)
    found, expected, size = slopes_of(part, totals, 1e-5)
    size = np.maximum(size, 1e-6)  # below it a difference is rounding
    turns = output.refit(data)[output.statistics.index("p")] > 0.99  # a p of 1: p, V and corrected z turn back
    flat = ["statistic"] if output.test in ("mcnemar", *OF_SCORES) else []  # 0 there, and so is its slope
    smooth = ~np.isin(output.statistics, ["p", "z", "cramers v", *flat]) | (not turns)
    smooth &= np.isfinite(expected).all(axis=1)  # no pair that differs: neither a test nor a slope
    np.testing.assert_allclose((found / size)[smooth], (expected / size)[smooth], atol=2e-5)
    precision = part.map.precision(totals, NO_INFORMATION)
    assert np.isfinite(precision).all() and (np.diag(precision) > 0).all()


def test_groups_and_values_without_records_are_left_out():
    output = HypothesisTest(CODEBOOK, "k", "kruskal-wallis", "age", ("arm",), ("df", "n"), where="arm != 'b'")
    data = records(arm=[0, 1, 2, 2], age=[1, 2, 3, 4])
    assert output.refit(data).tolist() == [1, 3]
    three = HypothesisTest(CODEBOOK, "t", "t", "age", ("arm",), ("n", "statistic", "p"))
    assert np.isnan(three.refit(data)[1:]).all() and three.refit(data)[0] == 4
    constant = HypothesisTest(CODEBOOK, "t", "t", "age", ("sex",), ("difference", "statistic", "p"))
    alike = records(sex=[0, 0, 1, 1], age=[1, 1, 2, 2])
    np.testing.assert_array_equal(constant.refit(alike), [-1, np.nan, np.nan])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"test": "t", "variable": "arm", "by": "sex"}, "'arm' is categorical and a number is needed"),
        ({"test": "t", "variable": "age", "by": "age"}, "must be different"),
        ({"test": "t", "variable": "age", "by": "sex", "statistics": "cramers v"}, "a test 't' has no 'cramers v'"),
        ({"test": "t", "variable": "age", "by": "sex", "continuity": True}, "no such correction"),
        ({"test": "fisher", "variable": "arm", "by": "sex", "continuity": True}, "no such correction"),
        ({"test": "fisher", "variable": "arm", "by": "sex", "statistics": "statistic"}, "'fisher' has no 'statistic'"),
        ({"test": "chi-square", "variable": "age", "by": ["dose", "arm", "sex"], "where": "hat > 1"}, "hat"),
        ({"test": "paired t", "variable": "age", "by": "sex"}, "a test 'paired t' needs 'paired' and has no 'by'"),
        ({"test": "t", "variable": "age", "paired": "dose"}, "a test 't' needs 'by' and has no 'paired'"),
        ({"test": "paired t", "variable": "age", "paired": "arm"}, "'arm' is categorical and a number is needed"),
        ({"test": "paired t", "variable": "age", "paired": "age"}, "variable and paired must be different"),
        ({"test": "signed-rank", "variable": "age", "paired": "doze"}, "no variable 'doze'"),
        ({"test": "mcnemar", "variable": "pain", "paired": "sex"}, r"the same levels; those of 'pain' are \['no'"),
        ({"test": "mcnemar", "variable": "arm", "paired": "sex"}, "the same levels"),
        ({"test": "exact mcnemar", "variable": "pain", "paired": "pain after", "continuity": True}, "no such correct"),
        ({"test": "exact mcnemar", "variable": "grade", "paired": "grade after"}, "the same two levels"),
        ({"test": "mcnemar", "variable": "grade", "paired": "grade after", "continuity": True}, "with continuity comp"),
        ({"test": "kappa", "variable": "grade", "paired": "arm"}, "the same levels; .* derive variables with these"),
        ({"test": "kappa", "variable": "pain", "by": "sex"}, "needs 'paired' and has no 'by'"),
        ({"test": "pearson", "variable": "age", "paired": "arm"}, "'arm' is categorical and a number is needed"),
        ({"test": "mcnemar", "variable": "grade", "paired": "grade after", "weights": "linear"}, "weights: a test 'mc"),
        ({"test": "trend", "variable": "arm", "by": "dose"}, "of a variable with two values, and 'arm' has 3"),
        ({"test": "trend", "variable": "sex", "by": ["arm", "dose"]}, "is by one variable, .* and 2 are given"),
        ({"test": "trend", "variable": "sex", "by": "arm", "scores": {"arm": [1, 2]}}, "'arm' are .*; give 3 numbers"),
        ({"test": "trend", "variable": "sex", "by": "arm", "scores": {"arm": [1, 1, 1]}}, "that are not all the same"),
        ({"test": "trend", "variable": "sex", "by": "arm", "scores": {"age": [1]}}, "scores of 'age', which is none"),
        ({"test": "t", "variable": "age", "by": "sex", "scores": {"age": [1]}}, "scores: a test 't' has none"),
    ],
)
def test_what_cannot_be_is_refused(entry, message):
    with pytest.raises(OutputError, match=message):
        HypothesisTestEntry(kind="test", **entry).build(CODEBOOK, 1)


@pytest.mark.parametrize(
    ("test", "statistics", "values", "message"),
    [
        ("chi-square", ("statistic", "p"), [-1.0, 0.5], "chi2 is -1"),
        ("chi-square", ("statistic", "p"), [1.0, 1.5], "p is 1.5"),
        ("fisher", ("p", "n"), [1.5, 20], "p is 1.5"),
        ("chi-square", ("statistic", "df", "p"), [3.841, 1, 0.06], "p is 0.06; chi2 and df make it another number"),
        ("t", ("statistic", "df", "p"), [-2.0, 60, 0.02], "p is 0.02"),
        ("anova", ("statistic", "df", "df within", "p"), [3.0, 2, 57, 0.5], "p is 0.5"),
        ("rank-sum", ("z", "p"), [1.96, 0.5], "p is 0.5; z make"),
        ("rank-sum", ("auc",), [1.2], "auc is 1.2; p and shares lie in 0 to 1"),
        ("anova", ("eta squared",), [-0.1], "eta squared is -0.1"),
        ("paired t", ("statistic", "df", "p"), [-2.0, 60, 0.02], "p is 0.02"),
        ("signed-rank", ("z", "p"), [1.96, 0.5], "p is 0.5; z make"),
        ("mcnemar", ("statistic", "df", "p"), [3.841, 1, 0.06], "p is 0.06; chi2 and df make it another number"),
        ("exact mcnemar", ("p",), [-0.2], "p is -0.2"),
        ("pearson", ("r", "p"), [1.2, 0.5], "r is 1.2; p and shares lie in 0 to 1, correlations and kappa in -1 to 1"),
        ("pearson", ("statistic", "df", "p"), [-2.0, 60, 0.02], "p is 0.02; t and df make it another number"),
        ("kendall", ("z", "p"), [1.96, 0.5], "p is 0.5; z make"),
        ("trend", ("statistic", "df", "p"), [3.841, 1, 0.06], "p is 0.06; chi2 and df make it another number"),
        ("kappa", ("kappa",), [-1.5], "kappa is -1.5"),
    ],
)
def test_values_that_no_data_have_are_refused(test, statistics, values, message):
    if test in OF_PAIRS:
        of, paired = ("pain after", "pain") if "mcnemar" in test or test == "kappa" else ("after", "before")
        output = HypothesisTest(CODEBOOK, "x", test, of, (), statistics, paired=paired)
    else:
        variable = {"chi-square": "arm", "fisher": "arm", "trend": "pain"}.get(test, "age")
        output = HypothesisTest(CODEBOOK, "x", test, variable, ("sex",), statistics)
    with pytest.raises(OutputError, match=message):
        released(output, np.array(values))


@each_test
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_its_own_numbers_pass(output, seed):
    found = refit_of(output, random_records(CODEBOOK, seed))
    low, high = output.publish(found)
    assert released(output, low, high).low.tolist() == low.tolist()


@each_test
@pytest.mark.parametrize("cells", [0, 1, 3])
def test_of_nobody_or_few_there_is_a_precision(output, cells):
    (part,) = output.parts(np.zeros(len(output.statistics)))
    totals = np.zeros(part.model.n_extra)
    totals[:cells] = 1.0
    precision = part.map.precision(totals, NO_INFORMATION)
    assert np.isfinite(precision).all() and (np.diag(precision) > 0).all()
    assert np.isfinite(part.map.jacobian(totals, NO_INFORMATION)).all()


def test_what_is_too_large_is_refused():
    wide = Codebook(
        (Variable("pay", "numeric", tuple(map(float, range(3_000)))), Variable("area", "integer", tuple(range(600))))
    )
    for test in ("t", "kruskal-wallis"):
        with pytest.raises(OutputError, match="3,000 values of 'pay' in 600 groups are too many for a test"):
            HypothesisTest(wide, "x", test, "pay", ("area",))
    for test, totals in (("signed-rank", "3,599 totals"), ("paired t", None)):
        output = {"test": test, "variable": "pay", "paired": "area"}
        if totals is None:
            assert len(HypothesisTest(wide, "x", **output).parts(np.zeros(2))[0].model.extra[0].rows) == 1_800_000
            continue
        with pytest.raises(OutputError, match=f"3,000 values of 'pay' in 'area' are too many for a test: {totals}"):
            HypothesisTest(wide, "x", **output)


@pytest.mark.parametrize(("by", "paired"), [("", ""), ("sex", "dose")])
def test_an_entry_has_groups_or_a_pair(by, paired):
    with pytest.raises(ValueError, match="give either 'by', groups of records, or 'paired'"):
        HypothesisTestEntry(kind="test", test="t", variable="age", by=[by] if by else [], paired=paired)


@pytest.mark.parametrize(
    ("test", "usual"),
    [
        ("fisher", ("p",)),
        ("chi-square", ("statistic", "p")),
        ("exact mcnemar", ("p",)),
        ("paired t", ("statistic", "p")),
        ("trend", ("statistic", "p")),
        ("spearman", ("r", "p")),
        ("kappa", ("kappa", "p")),
    ],
)
def test_an_entry_without_statistics_has_the_usual_and_is_read_again_as_it_was(test, usual):
    other = {"paired": "b"} if test in OF_PAIRS else {"by": "b"}
    entry = HypothesisTestEntry.model_validate({"kind": "test", "test": test, "variable": "a", **other})
    assert entry.statistics == usual
    assert HypothesisTestEntry.model_validate(entry.model_dump(mode="json")) == entry
