"""Logs of tests in the layout of Stata's manual (ttest, ranksum, signrank, kwallis, oneway, tabulate, mcc) with scipy's
numbers, an output in that of SPSS 29 as CSV, and what scipy itself shows:  python stata_tests.py FOLDER, where fair.csv
lies; run by tests/readers/test_printed_tests.py.

Neither Stata nor SPSS has run: what is held against refits is how the layout is read.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from scipy.stats import contingency
from statsmodels.stats import inter_rater

LINE = "-" * 78


def number(value):
    """Stata's %9.0g."""
    return f"{value:.7g}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.7g}"


def row(name, values):
    mean, sd = values.mean(), values.std(ddof=1)
    error = sd / len(values) ** 0.5
    reach = stats.t.ppf(0.975, len(values) - 1) * error
    cells = [len(values), *map(number, (mean, error, sd, mean - reach, mean + reach))]
    return f"{name:>8} |" + "".join(f"{cell:>12}" for cell in cells)


def p_values(found):
    tails = stats.t.cdf(found.statistic, found.df), found.pvalue, stats.t.sf(found.statistic, found.df)
    return " Pr(T < t) = {:.4f}         Pr(|T| > |t|) = {:.4f}          Pr(T > t) = {:.4f}".format(*tails)


def ttest(first, second, names, unequal=False, options="", old=False):
    found = stats.ttest_ind(first, second, equal_var=not unequal)
    difference = first.mean() - second.mean()
    reach = found.confidence_interval()
    of = "Satterthwaite's degrees of freedom" if unequal else "Degrees of freedom"
    df = f"{found.df:.4f}" if unequal else f"{found.df:.0f}"
    if "welch" in options:
        parts = [each.var(ddof=1) / len(each) for each in (first, second)]
        below = sum(part**2 / (len(each) + 1) for part, each in zip(parts, (first, second), strict=True))
        of, df = "Welch's degrees of freedom", f"{sum(parts) ** 2 / below - 2:.4f}"
    head = "Obs        Mean    Std. err.   Std. dev.   [95% conf. interval]"
    lines = [
        f". ttest age, by(affair){options}",
        "",
        f"Two-sample t test with {'un' * unequal}equal variances",
        LINE,
        f"   Group |     {head.replace('err', 'Err').replace('dev', 'Dev') if old else head}",
        LINE,
        row(names[0], first),
        row(names[1], second),
        LINE,
        row("combined" if old else "Combined", np.concatenate([first, second])),
        LINE,
        f"    diff |            {number(difference):>12}{number(difference / found.statistic):>12}            "
        f"{number(reach.low):>12}{number(reach.high):>12}",
        LINE,
        f"    diff = mean({names[0]}) - mean({names[1]})                 t = {found.statistic:8.4f}",
        f"H{'o' if old else '0'}: diff = 0                  {of.lower() if old else of} = {df:>8}",
        "",
        "    Ha: diff < 0                 Ha: diff != 0                 Ha: diff > 0",
        p_values(found),
        "",
    ]
    return "\n".join(lines)


def ranksum(first, second, names, exact=False):
    both = np.concatenate([first, second])
    ranks, n = stats.rankdata(both), len(both)
    pairs = len(first) * len(second)
    plain, tied = pairs * (n + 1) / 12, pairs / n * ranks.var(ddof=1)
    z = (ranks[: len(first)].sum() - len(first) * (n + 1) / 2) / tied**0.5
    rows = [
        (names[0], len(first), ranks[: len(first)].sum(), len(first) * (n + 1) / 2),
        (names[1], len(second), ranks[len(first) :].sum(), len(second) * (n + 1) / 2),
    ]
    rows.append(("Combined", n, n * (n + 1) / 2, n * (n + 1) / 2))
    lines = [
        ". ranksum age, by(affair)",
        "",
        "Two-sample Wilcoxon rank-sum (Mann–Whitney) test",
        "",
        "      affair |      Obs    Rank sum    Expected",
        "-------------+---------------------------------",
        *(f"{name:>12} |{obs:9}{ranks:12.12g}{expected:12.12g}" for name, obs, ranks, expected in rows),
        "-------------+---------------------------------",
        "",
        f"Unadjusted variance {plain:12.2f}",
        f"Adjustment for ties {tied - plain:12.2f}",
        "                     ----------",
        f"Adjusted variance   {tied:12.2f}",
        "",
        f"H0: age(affair=={names[0]}) = age(affair=={names[1]})",
        f"         z = {z:6.3f}",
        f"Prob > |z| = {2 * stats.norm.sf(abs(z)):.4f}",
        *([f"Exact prob = {stats.mannwhitneyu(first, second, method='exact').pvalue:.4f}"] if exact else []),
        "",
    ]
    return "\n".join(lines)


def paired(first, second, names, old=False):
    found, difference = stats.ttest_rel(first, second), first - second
    head = "    Obs        Mean    Std. err.   Std. dev.   [95% conf. interval]"
    lines = [
        f". ttest {names[0]} == {names[1]}",
        "",
        "Paired t test",
        LINE,
        f"Variable | {head.replace('err', 'Err').replace('dev', 'Dev') if old else head}",
        LINE,
        row(names[0], first),
        row(names[1], second),
        LINE,
        row("diff", difference),
        LINE,
        f"     mean(diff) = mean({names[0]} - {names[1]})                    t = {found.statistic:8.4f}",
        f" H{'o' if old else '0'}: mean(diff) = 0            {'d' if old else 'D'}egrees of freedom = {found.df:8.0f}",
        "",
        " Ha: mean(diff) < 0           Ha: mean(diff) != 0           Ha: mean(diff) > 0",
        p_values(found),
        "",
    ]
    return "\n".join(lines)


def signrank(first, second, names, zeros=0):
    difference = first - second
    ranks = stats.rankdata(np.abs(difference))
    n, above, below = len(ranks), ranks[difference > 0].sum(), ranks[difference < 0].sum()
    plain, adjusted = n * (n + 1) * (2 * n + 1) / 24, (ranks**2).sum() / 4
    z = (above - n * (n + 1) / 4) / adjusted**0.5
    lines = [
        f". signrank {names[0]} = {names[1]}",
        "",
        "Wilcoxon signed-rank test",
        "",
        "        Sign |      Obs   Sum ranks    Expected",
        "-------------+---------------------------------",
        f"    Positive |{(difference > 0).sum():9}{above:12.12g}{n * (n + 1) / 4:12.12g}",
        f"    Negative |{(difference < 0).sum():9}{below:12.12g}{n * (n + 1) / 4:12.12g}",
        f"        Zero |{zeros:9}{zeros:12}{zeros:12}",
        "-------------+---------------------------------",
        f"         All |{n:9}{n * (n + 1) / 2:12.12g}{n * (n + 1) / 2:12.12g}",
        "",
        f"Unadjusted variance {plain:12.2f}",
        f"Adjustment for ties {adjusted - plain:12.2f}",
        f"Adjustment for zeros{0:12.2f}",
        "                     ----------",
        f"Adjusted variance   {adjusted:12.2f}",
        "",
        f"H0: {names[0]} = {names[1]}",
        f"         z = {z:6.3f}",
        f"Prob > |z| = {2 * stats.norm.sf(abs(z)):.4f}",
        "",
    ]
    return "\n".join(lines)


def mcc(table):
    (a, b), (c, d) = table
    chi2 = (b - c) ** 2 / (b + c)
    lines = [
        ". mcc any_child religious",
        "",
        "                 |        Controls        |",
        "Cases            |   Exposed   Unexposed  |      Total",
        "-----------------+------------------------+-----------",
        f"         Exposed |{d:10} {c:11}  | {c + d:10}",
        f"       Unexposed |{b:10} {a:11}  | {a + b:10}",
        "-----------------+------------------------+-----------",
        f"           Total |{b + d:10} {a + c:11}  | {a + b + c + d:10}",
        "",
        f"McNemar's chi2(1) = {chi2:9.2f}    Prob > chi2 = {stats.chi2.sf(chi2, 1):.4f}",
        f"Exact McNemar significance probability       = {stats.binomtest(int(b), int(b + c)).pvalue:.4f}",
        "",
        "Proportion with factor",
        f"        Cases    {(c + d) / table.sum():9.7g}",
        "",
    ]
    return "\n".join(lines)


def of_spss(value, digits=3):
    """SPSS has no 0 before the point."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def found_above(differences):
    """The ranks of differences above 0."""
    return stats.rankdata(np.abs(differences))[differences > 0].sum()


def spss(small):
    """Tests of one output, separated by semicolons, with decimal commas, as SPSS exports them in Europe."""
    few, some = (part["age"].to_numpy() for _, part in small.groupby("affair"))
    lines = [["Group Statistics"], ["", "Had an affair", "N", "Mean", "Std. Deviation", "Std. Error Mean"]]
    for name, level, group in (("Age in years", "no", few), ("", "yes", some)):
        numbers = [group.mean(), group.std(ddof=1), stats.sem(group)]
        lines.append([name, level, str(len(group)), *(of_spss(each, 4) for each in numbers)])
    lines += [
        ["Independent Samples Test"],
        ["", "", "Levene's Test for Equality of Variances", "", "t-test for Equality of Means"],
        ["", "", "F", "Sig.", "t", "df", "Significance", "", "Mean Difference", "Std. Error Difference"],
        ["", "", "", "", "", "", "One-Sided p", "Two-Sided p", "", ""],
    ]
    for equal, name, said in ((True, "Age in years", "assumed"), (False, "", "not assumed")):
        found, difference = stats.ttest_ind(few, some, equal_var=equal), few.mean() - some.mean()
        numbers = [found.statistic, found.df, found.pvalue / 2, found.pvalue, difference, difference / found.statistic]
        tested = ["1.391", ".239"] if equal else ["", ""]
        cells = [of_spss(each, 0 if equal and at == 1 else 3) for at, each in enumerate(numbers)]
        lines.append([name, f"Equal variances {said}", *tested, *cells])
    ranks = stats.rankdata(np.concatenate([few, some]))
    sums = [ranks[: len(few)].sum(), ranks[len(few) :].sum()]
    u, z = stats.mannwhitneyu(few, some, method="asymptotic", use_continuity=False), 0.0
    z = -abs(stats.norm.isf(u.pvalue / 2))
    lines += [["Ranks"], ["", "Had an affair", "N", "Mean Rank", "Sum of Ranks"]]
    for name, level, n, total in (("Age in years", "no", len(few), sums[0]), ("", "yes", len(some), sums[1])):
        lines.append([name, level, str(n), of_spss(total / n, 2), of_spss(total, 2)])
    w = min(u.statistic, len(few) * len(some) - u.statistic)
    lines += [
        ["", "Total", str(len(ranks))],
        ["Test Statistics(a)"],
        ["", "Age in years"],
        ["Mann-Whitney U", of_spss(w)],
        ["Wilcoxon W", of_spss(sums[0])],
        ["Z", of_spss(z)],
        ["Asymp. Sig. (2-tailed)", of_spss(u.pvalue)],
        ["a. Grouping Variable: Had an affair"],
    ]
    (a, b), (c, d) = pd.crosstab(small["children"] > 0, small["religion"] > 2).to_numpy()
    chi2 = (abs(b - c) - 1) ** 2 / (b + c)
    lines += [
        ["Test Statistics(a)"],
        ["", "any_child & religious"],
        ["N", str(a + b + c + d)],
        ["Chi-Square(b)", of_spss(chi2)],
        ["Asymp. Sig.", of_spss(stats.chi2.sf(chi2, 1))],
        ["a. McNemar Test"],
        ["b. Continuity Corrected"],
    ]
    table = pd.crosstab(small["religion"] > 2, small["affair"]).to_numpy()
    tests = [stats.chi2_contingency(table, correction=corrected) for corrected in (False, True)]
    p = stats.fisher_exact(table).pvalue
    lines += [
        ["religious * Had an affair Crosstabulation"],
        ["Count"],
        ["", "", "Had an affair", "", "Total"],
        ["", "", "no", "yes", ""],
        *([["religious", str(at), *map(str, row), str(row.sum())] for at, row in enumerate(table)]),
        ["Total", "", *map(str, table.sum(axis=0)), str(table.sum())],
        ["Chi-Square Tests"],
        ["", "Value", "df", "Asymptotic Significance (2-sided)", "Exact Sig. (2-sided)", "Exact Sig. (1-sided)"],
        ["Pearson Chi-Square", f"{of_spss(tests[0].statistic)}a", "1", of_spss(tests[0].pvalue), "", ""],
        ["Continuity Correctionb", of_spss(tests[1].statistic), "1", of_spss(tests[1].pvalue), "", ""],
        ["Fisher's Exact Test", "", "", "", of_spss(p), ".535"],
        ["N of Valid Cases", str(table.sum())],
        ["a. 0 cells (0.0%) have expected count less than 5."],
        ["b. Computed only for a 2x2 table"],
        ["Symmetric Measures"],
        ["", "", "Value", "Approximate Significance"],
        ["Nominal by Nominal", "Phi", ".021", ".862"],
        ["", "Cramer's V", of_spss(contingency.association(table, method="cramer")), ".862"],
    ]
    ages, years = small["age"].to_numpy(), small["educ"].to_numpy()
    found = stats.wilcoxon(ages, years, correction=False, method="asymptotic")
    lines += [
        ["Ranks"],
        ["", "", "N", "Mean Rank", "Sum of Ranks"],
        ["Age in years - educ", "Negative Ranks", "0a", ".00", ".00"],
        ["", "Positive Ranks", f"{len(ages)}b", of_spss((len(ages) + 1) / 2, 2), of_spss(found_above(ages - years), 2)],
        ["", "Ties", "0c", "", ""],
        ["", "Total", str(len(ages)), "", ""],
        ["a. Age in years < educ"],
        ["Test Statistics(a)"],
        ["", "Age in years - educ"],
        ["Z", f"{of_spss(-abs(found.zstatistic))}b"],
        ["Asymp. Sig. (2-tailed)", of_spss(found.pvalue)],
        ["a. Wilcoxon Signed Ranks Test"],
        ["b. Based on negative ranks."],
    ]
    groups = [part["age"].to_numpy() for _, part in small.groupby("religion")]
    f = stats.f_oneway(*groups)
    lines += [
        ["ANOVA"],
        ["Age in years"],
        ["", "Sum of Squares", "df", "Mean Square", "F", "Sig."],
        ["Between Groups", "191.1", "3", "63.7", of_spss(f.statistic), of_spss(f.pvalue)],
        ["Within Groups", "2968.2", str(len(small) - 4), "47.9", "", ""],
        ["Total", "3159.3", str(len(small) - 1), "", "", ""],
    ]
    width, titles = (
        max(map(len, lines)),
        (
            *(
                "Group Statistics",
                "Independent Samples Test",
                "Ranks",
                "Test Statistics(a)",
                "ANOVA",
                "Symmetric Measures",
            ),
            *("religious * Had an affair Crosstabulation", "Chi-Square Tests"),
        ),
    )
    text = ""
    for line in lines:
        if line[0] in titles:
            text += f"\nTable: {line[0]}\n"
        else:
            text += ";".join([*line, *[""] * (width - len(line))]).replace(".", ",") + "\n"
    for word in ("a, ", "b, ", "Std,", "Sig,", "Asymp,", "ranks,"):
        text = text.replace(word, word.replace(",", "."))
    return text


def kwallis(groups, old=False):
    found = stats.kruskal(*groups.values())
    every = np.concatenate([*groups.values()])
    ranks = pd.Series(stats.rankdata(every))
    _, times = np.unique(every, return_counts=True)
    plain = found.statistic * (1 - (times**3 - times).sum() / (len(every) ** 3 - len(every)))
    ends = np.cumsum([len(group) for group in groups.values()])
    sums = [part.sum() for part in np.split(ranks.to_numpy(), ends[:-1])]
    df = len(groups) - 1
    rows = [(name, len(group), total) for (name, group), total in zip(groups.items(), sums, strict=True)]

    def of(statistic, tied):
        p = stats.chi2.sf(statistic, df)
        if old:
            name = f"chi-squared{' with ties' * tied}"
            return [f"{name} = {statistic:9.3f} with {df} d.f.", f"probability =     {p:.4f}", ""]
        return [f"  chi2({df}){' with ties' * tied} = {statistic:9.3f}", f"     Prob = {p:.4f}", ""]

    lines = [
        ". kwallis age, by(religion)",
        "",
        f"Kruskal{'-' if old else '–'}Wallis equality-of-populations rank test",
        "",
        "  +------------------------------+",
        "  | religion |    Obs | Rank sum |",
        "  |----------+--------+----------|",
        *(f"  | {name:>8} | {size:6} | {total:8.2f} |" for name, size, total in rows),
        "  +------------------------------+",
        "",
        *of(plain, False),
        *of(found.statistic, True),
    ]
    return "\n".join(lines)


def oneway(groups):
    found, every = stats.f_oneway(*groups.values()), np.concatenate([*groups.values()])
    within = sum(((group - group.mean()) ** 2).sum() for group in groups.values())
    total, df, left = ((every - every.mean()) ** 2).sum(), len(groups) - 1, len(every) - len(groups)
    between = total - within
    lines = [
        ". oneway age religion",
        "",
        "                        Analysis of variance",
        "    Source              SS         df      MS            F     Prob > F",
        "-" * 72,
        f"Between groups   {between:13.9g} {df:6} {between / df:12.9g} {found.statistic:9.2f} {found.pvalue:10.4f}",
        f" Within groups   {within:13.9g} {left:6} {within / left:12.9g}",
        "-" * 72,
        f"    Total        {total:13.9g} {df + left:6} {total / (df + left):12.9g}",
        "",
        "Bartlett's equal-variances test: chi2(3) =   6.1234    Prob>chi2 = 0.106",
        "",
    ]
    return "\n".join(lines)


def tabulate(table, with_table=True):
    found = stats.chi2_contingency(table, correction=False)
    likely = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    v = contingency.association(table, method="cramer")
    if table.shape == (2, 2):
        v *= np.sign(table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0])
    lines = [". tabulate religion affair, chi2 exact lrchi2 V", ""]
    if with_table:
        lines += [
            "           |        affair",
            "  religion |         0          1 |     Total",
            "-----------+----------------------+----------",
            *(f"{at + 1:10} |{row[0]:10} {row[1]:10} |{row.sum():10}" for at, row in enumerate(table)),
            "-----------+----------------------+----------",
            f"     Total |{table[:, 0].sum():10} {table[:, 1].sum():10} |{table.sum():10}",
            "",
        ]
    lines += [
        f"          Pearson chi2({found.dof}) = {found.statistic:8.4f}   Pr = {found.pvalue:.3f}",
        f" Likelihood-ratio chi2({found.dof}) = {likely.statistic:8.4f}   Pr = {likely.pvalue:.3f}",
        f"               Cramér's V = {v:8.4f}",
        f"           Fisher's exact =                 {exact(table):.3f}",
        *(["   1-sided Fisher's exact =                 0.500"] if table.shape == (2, 2) else []),
        "",
    ]
    return "\n".join(lines)


def exact(table):
    """By all tables with its margins (of four rows by two columns at most)."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    chances = {(): 1.0}
    for size in rows:
        more = {}
        for key, chance in chances.items():
            for count in range(size + 1):
                more[(*key, count)] = chance * stats.binom.pmf(count, size, 0.5)
        chances = {key: each for key, each in more.items() if sum(key) <= columns[0]}
    whole = {key: each for key, each in chances.items() if sum(key) == columns[0]}
    here = whole[tuple(int(count) for count in table[:, 0])]
    return sum(each for each in whole.values() if each <= here * (1 + 1e-7)) / sum(whole.values())


def tabodds(of, by):
    """Its scores are the numbers of the groups; the variance of both tests has n - 1."""
    n, r = len(of), stats.pearsonr(of, by).statistic
    homogeneity = stats.chi2_contingency(pd.crosstab(of, by), correction=False)
    lines = [
        ". tabodds affair religion",
        "",
        "    religion |      cases     controls       odds      [95% conf. interval]",
        "-------------+-------------------------------------------------------------",
        "           1 |          2            5    0.40000       0.07760     2.06175",
        "",
        f"Test of homogeneity (equal odds): chi2({homogeneity.dof})  = {homogeneity.statistic * (n - 1) / n:8.2f}",
        f"                                  Pr>chi2  = {homogeneity.pvalue:8.4f}",
        "",
        f"Score test for trend of odds:     chi2(1)  = {(n - 1) * r * r:8.2f}",
        f"                                  Pr>chi2  = {stats.chi2.sf((n - 1) * r * r, 1):8.4f}",
        "",
    ]
    return "\n".join(lines)


def kap(table, weights=None):
    """By statsmodels, which has the same error where there is no agreement."""
    found = inter_rater.cohens_kappa(table, wt=weights)
    k, n = len(table), table.sum()
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / (k - 1)
    same = {None: apart == 0, "linear": 1 - apart, "quadratic": 1 - apart**2}[weights]
    agreed = (same * table).sum() / n
    expected = (same * np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / n**2
    rows = [" ".join(f"{each:8.4f}" for each in row[: at + 1]) for at, row in enumerate(same)]
    lines = [
        f". kap age_band educ_band{ {None: '', 'linear': ', wgt(w)', 'quadratic': ', wgt(w2)'}[weights] }",
        "",
        *(["Ratings weighted by:", *rows, ""] if weights else []),
        "             Expected",
        "Agreement   agreement     Kappa   Std. err.         Z      Prob>Z",
        "-" * 65,
        f"{100 * agreed:7.2f}%{100 * expected:11.2f}%{found.kappa:11.4f}{found.std_kappa0:11.4f}"
        f"{found.z_value:11.2f}{stats.norm.sf(found.z_value):12.4f}",
        "",
    ]
    return "\n".join(lines)


def spearman(first, second, names):
    found = stats.spearmanr(first, second)
    lines = [
        f". spearman {' '.join(names)}",
        "",
        f" Number of obs = {len(first):7}",
        f"Spearman's rho = {found.statistic:13.4f}",
        "",
        f"Test of Ho: {names[0]} and {names[1]} are independent",
        f"    Prob > |t| = {found.pvalue:13.4f}",
        "",
    ]
    return "\n".join(lines)


def ktau(first, second, names):
    found = stats.kendalltau(first, second, method="asymptotic")
    lines = [
        f". ktau {' '.join(names)}",
        "",
        f"  Number of obs = {len(first):7}",
        f"Kendall's tau-a = {found.statistic * 0.9:13.4f}",
        f"Kendall's tau-b = {found.statistic:13.4f}",
        "Kendall's score =      79",
        "    SE of score =     190.826   (corrected for ties)",
        "",
        f"Test of H0: {names[0]} and {names[1]} are independent",
        f"     Prob > |z| = {found.pvalue:13.4f}  (continuity corrected)",
        "",
    ]
    return "\n".join(lines)


def spss_of_pairs(small, bands):
    """CORRELATIONS, NONPAR CORR and kappa of CROSSTABS, as SPSS prints them."""
    names, columns = ("Age in years", "educ"), [small["age"], small["educ"]]
    lines = [["Correlations"], ["", "", *names]]
    found = stats.pearsonr(*columns)
    for at, name in enumerate(names):
        other = [of_spss(found.statistic) + "*" * int(found.pvalue < 0.05), "1"][:: 1 if at else -1]
        lines.append([name, "Pearson Correlation", *other])
        lines.append(["", "Sig. (2-tailed)", *[of_spss(found.pvalue), ""][:: 1 if at else -1]])
        lines.append(["", "N", str(len(small)), str(len(small))])
    lines += [["Correlations"], ["", "", "", *names]]
    for title, of in (("Kendall's tau_b", stats.kendalltau), ("Spearman's rho", stats.spearmanr)):
        found = of(*columns)
        for at, name in enumerate(names):
            order = 1 if at else -1
            coefficients = [of_spss(found.statistic) + "**", "1.000"][::order]
            lines.append([title if not at else "", name, "Correlation Coefficient", *coefficients])
            lines.append(["", "", "Sig. (2-tailed)", *[of_spss(found.pvalue), "."][::order]])
            lines.append(["", "", "N", str(len(small)), str(len(small))])
    kappa = inter_rater.cohens_kappa(bands)
    lines += [
        ["age_band * educ_band Crosstabulation"],
        ["Count"],
        ["", "", "educ_band", "", "", "Total"],
        ["", "", "1", "2", "3", ""],
        *([["age_band", str(at), *map(str, row), str(row.sum())] for at, row in enumerate(bands, 1)]),
        ["Total", "", *map(str, bands.sum(axis=0)), str(bands.sum())],
        ["Symmetric Measures"],
        ["", "", "Value", "Asymptotic Standard Error(a)", "Approximate T(b)", "Approximate Significance"],
        [
            *("Measure of Agreement", "Kappa"),
            *map(of_spss, (kappa.kappa, kappa.std_kappa, kappa.z_value, kappa.pvalue_two_sided)),
        ],
        ["N of Valid Cases", "", str(bands.sum()), "", "", ""],
    ]
    titles = ("Correlations", "Symmetric Measures", "age_band * educ_band Crosstabulation")
    width = max(map(len, lines))
    filled = [",".join(row + [""] * (width - len(row))) for row in lines]
    return "".join(
        f"\nTable: {row[0]}\n" if row[0] in titles else f"{line}\n" for row, line in zip(lines, filled, strict=True)
    )


def main(folder):
    data = pd.read_csv(folder / "fair.csv")
    small = data.iloc[::97]

    def groups(frame, by):
        return {level: part["age"].to_numpy() for level, part in frame.groupby(by)}

    def write(name, text):
        (folder / name).write_text(text, encoding="utf-8")

    zero, one = groups(data, "affair").values()
    few, some = groups(small, "affair").values()
    write("stata_t.log", ttest(zero, one, "01"))
    write("stata_t_old.log", ttest(few, some, "01", old=True))
    write("stata_t_unequal.log", ttest(few, some, "01", True, " unequal"))
    write("stata_t_welch.log", ttest(few, some, "01", True, " unequal welch"))
    write("stata_t_turned.log", ttest(some, few, "10", True, " unequal"))
    write("stata_ranksum.log", ranksum(zero, one, "01"))
    write("stata_ranksum_turned.log", ranksum(some, few, "10", exact=True))
    write("stata_kwallis.log", kwallis(groups(data, "religion")))
    write("stata_kwallis_old.log", kwallis(groups(small, "religion"), old=True))
    write("stata_oneway.log", oneway(groups(small, "religion")))
    by_belief = pd.crosstab(small["religion"], small["affair"]).to_numpy()
    write("stata_tabulate.log", tabulate(by_belief))
    two = pd.crosstab(small["religion"] > 2, small["affair"]).to_numpy()
    write("stata_tabulate_two.log", tabulate(two, with_table=False).replace("religion affair", "religious affair"))
    write("stata_all.log", ttest(zero, one, "01") + oneway(groups(small, "religion")) + tabulate(by_belief))
    ages, years = (small[name].to_numpy() for name in ("age", "educ"))
    write("stata_paired.log", paired(data["age"].to_numpy(), data["educ"].to_numpy(), ("age", "educ")))
    write("stata_paired_turned.log", paired(years, ages, ("educ", "age"), old=True))
    write("stata_signrank.log", signrank(ages, years, ("age", "educ")))
    write("stata_signrank_zeros.log", signrank(ages, years, ("age", "educ"), zeros=3))
    write("stata_mcc.log", mcc(pd.crosstab(small["children"] > 0, small["religion"] > 2).to_numpy()))
    write("spss_tests.csv", spss(small))
    write("stata_tabodds.log", tabodds(small["affair"], small["religion"]))
    bands = pd.crosstab(pd.cut(small["age"], [0, 25, 35, 99]), pd.cut(small["educ"], [0, 12, 15, 99])).to_numpy()
    for weights in (None, "linear", "quadratic"):
        write(f"stata_kap{f'_{weights}' if weights else ''}.log", kap(bands, weights))
    write("stata_spearman.log", spearman(years, ages, ("educ", "age")))
    write("stata_ktau.log", ktau(ages, years, ("age", "educ")))
    write("spss_pairs.csv", spss_of_pairs(small, bands))
    write("scipy_pearson.txt", f"{stats.pearsonr(ages, years)!r}\n")
    write("scipy_spearman.txt", f"{stats.spearmanr(ages, years)!r}\n")
    write("scipy_paired.txt", f"{stats.ttest_rel(ages, years)!r}\n")
    write("scipy_signed.txt", f"{stats.wilcoxon(ages, years, correction=True, method='asymptotic')!r}\n")
    calls = ">>> stats.{}(d.age[d.affair == {}], d.age[d.affair == {}])\n{!r}\n"
    write("scipy_welch.txt", calls.format("ttest_ind", 1, 0, stats.ttest_ind(some, few, equal_var=False)))
    write("scipy_t.txt", calls.format("ttest_ind", 0, 1, stats.ttest_ind(few, some)))
    write("scipy_vectors.txt", f"{stats.ttest_ind(few, some, equal_var=False)!r}\n")
    write("scipy_mannwhitney.txt", calls.format("mannwhitneyu", 0, 1, stats.mannwhitneyu(few, some)))
    write("scipy_chi2.txt", f"{stats.chi2_contingency(by_belief)!r}\n")
    write("scipy_chi2_two.txt", f"{stats.chi2_contingency(two)!r}\n")
    write("scipy_fisher.txt", f"{stats.fisher_exact(two)!r}\n")
    write("scipy_kruskal.txt", f"{stats.kruskal(*groups(small, 'religion').values())!r}\n")
    write("scipy_oneway.txt", f"{stats.f_oneway(*groups(small, 'religion').values())!r}\n")


main(Path(sys.argv[1]))
