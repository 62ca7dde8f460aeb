"""Tests of hypotheses in a log of Stata: ttest, ranksum, signrank, kwallis, oneway, and what tabulate and mcc print
below their tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from outrisk.errors import OutputError
from outrisk.outputs.smooth.agreement import Weights, credit
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.found_tests import EXACT_P, FoundTest, Number, or_refused
from outrisk.readers.printed_number import Printed, read_printed
from outrisk.readers.source import Source
from outrisk.readers.stata_session import Command, begins_of, commands_of

_BEGINNINGS = (
    (re.compile(r"\s*Two-sample t test with (?:un)?equal variances\s*"), "t"),
    (re.compile(r"\s*Paired t test\s*"), "paired t"),
    (re.compile(r"\s*Wilcoxon signed-rank test\s*"), "signed-rank"),
    (re.compile(r"\s*McNemar's chi2\(1\)\s*=.*"), "mcnemar"),
    (re.compile(r"\s*One-sample t test\s*"), "not two"),
    (re.compile(r"\s*Score test for trend of odds:.*"), "trend"),
    (re.compile(r"\s*Agreement\s+[Aa]greement\s+Kappa\s+Std\. [Ee]rr\..*"), "kappa"),
    (re.compile(r"\s*Spearman's rho\s*=.*"), "spearman"),
    (re.compile(r"\s*Kendall's tau-b\s*=.*"), "kendall"),
    (re.compile(r"\s*Two-sample Wilcoxon rank-sum \(Mann.Whitney\) test\s*"), "rank-sum"),
    (re.compile(r"\s*Kruskal.Wallis equality-of-populations rank test\s*"), "kruskal-wallis"),
    (re.compile(r"\s*Source\s+SS\s+df\s+MS\s+F\s+Prob > F\s*"), "anova"),
    (
        re.compile(r"\s*(?:Pearson chi2\(\d+\)|[Ll]ikelihood-ratio chi2\(\d+\)|Fisher's exact|Cram.r's V)\s*=.*"),
        "table",
    ),
)
_NUMBER = r"(-?[\d,]{0,20}\.?\d{1,20}(?:e[+-]?\d{1,3})?|\.)"
_OF_MCC = ("the table above, and proportions and odds ratio below, are left out; give the table (kind: frequencies)",)
_ABOVE = 12  # lines above a coefficient that may say of how many records it is, or by which weights
_MOST_EXACT = 1e6  # rank sums below this have all their digits


def tests_of_stata(source: Source) -> list[FoundTest]:
    """All tests of a log, in their order; none of another text."""
    lines = source.lines
    starts = [(at, kind) for at, line in enumerate(lines) if (kind := _begins(line))]
    starts = [each for each, before in zip(starts, [None, *starts], strict=False) if not _goes_on(before, each, lines)]
    found: list[FoundTest] = []
    above = begins_of(lines)
    for (at, kind), (end, _) in pairwise([*starts, (len(lines), "")]):
        page = lines[at:end]
        stop = next((k for k, line in enumerate(page) if k and re.match(r"\.\s+\w", line)), len(page))
        command = commands_of("\n".join(lines[above[at] : at]))[-1:]
        found += [
            replace(each, at=at) for each in _tests(kind, page[:stop], command, lines[max(above[at], at - _ABOVE) : at])
        ]
    return found


def _tests(kind: str, page: Sequence[str], commands: Sequence[Command], above: Sequence[str]) -> list[FoundTest]:
    """The tests of a page; `above`: lines between its command and it."""
    command = _command(commands[0]) if commands else ("", "")
    if kind in ("kappa", "spearman", "kendall"):
        page = [*above, *page]
    if kind == "table":
        return _of_table(page, command, above[-4:])
    if kind == "mcnemar":
        read = (_of_mcnemar, _of_exact) if _is_exact(page) else (_of_mcnemar,)
        return [or_refused(each, page, command) for each in read]
    return [or_refused(_READ[kind], page, command)]


def _begins(line: str) -> str:
    return next((kind for pattern, kind in _BEGINNINGS if pattern.fullmatch(line)), "")


def _goes_on(before: tuple[int, str] | None, here: tuple[int, str], lines: Sequence[str]) -> bool:
    """Whether a line below a table belongs to the one above it."""
    if before is None or {before[1], here[1]} != {"table"}:
        return False
    return all("=" in line or not line.strip() for line in lines[before[0] : here[0]])


def _command(command: Command) -> tuple[str, str]:
    """The variable and the groups of a command; '' where there is none, or it is in a loop."""
    names = [each for each in re.split(r"[\s=]+", " ".join(command.arguments)) if each]
    option = re.search(r"\bby\((\w+)\)", command.options)
    by = option[1] if option else names[1] if len(names) > 1 else ""
    return (names[0], by) if names else ("", "")


def _said(page: Sequence[str], pattern: str, what: str) -> str:
    """The first number behind what a page says; OutputError where it does not say it."""
    found = next((each[1] for line in page if (each := re.search(pattern + r"\s*" + _NUMBER, line))), None)
    if found is None or found == ".":
        raise OutputError(f"a test of Stata without its {what}; give the page as Stata prints it")
    return found


def _number(text: str) -> Number:
    number = read_printed(text)
    if number is None:
        raise OutputError(f"{text[:40]!r} in a test of Stata is not a number; give the page as Stata prints it")
    return Number.of(number)


def _rows(page: Sequence[str]) -> list[list[str]]:
    """Rows of a table with bars: what stands before the first bar, then the numbers."""
    rows = []
    for line in page:
        label, bar, rest = line.strip().strip("|").partition("|")
        cells = rest.replace("|", " ").split()
        if bar and cells and read_printed(cells[0]) is not None:
            rows.append([label.strip(), *cells])
    return rows


def _whole(text: str) -> int:
    number = read_printed(text)
    if number is None or number.value != int(number.value):
        raise OutputError(f"{text[:40]!r} in a test of Stata is no number of records; give the page as it is printed")
    return int(number.value)


def _of_t(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """ttest, by(): t, its degrees of freedom and p; the difference and its standard error."""
    rows = _rows(page)
    of_difference = next((row for row in rows if row[0] == "diff" and len(row) > 2), None)
    all_records = next((row for row in rows if row[0].casefold() == "combined"), None)
    order = next((each for line in page if (each := re.search(r"diff = mean\((.+?)\) - mean\((.+?)\)", line))), None)
    if of_difference is None or all_records is None or order is None or len(rows) < 4:
        raise OutputError("a t test of Stata is cut off; give it from its title to its p-values")
    groups = (order[1].strip(), order[2].strip())
    null = next((each[1] for line in page if (each := re.search(r"H[o0]: diff = (\S+)", line))), "")
    if null != "0":
        raise OutputError(f"a t test of Stata against {null or 'what it does not say'}; print it against 0")
    welch = any("Welch's degrees" in line for line in page)
    unequal = "unequal" in page[0]
    numbers: dict[Statistic, Number] = {
        "statistic": _number(_said(page, r"\bt =", "t")),
        "df": _number(_said(page, r"[dD]egrees of freedom =", "degrees of freedom")),
        "p": _number(_said(page, r"Pr\(\|T\| > \|t\|\) =", "Pr(|T| > |t|)")),
        "difference": _number(of_difference[1]),
        "standard error": _number(of_difference[2]),
        "n": _number(all_records[1]),
    }
    notes = list[str]()
    if welch:
        del numbers["df"], numbers["p"]
        notes.append("degrees of freedom by Welch's formula, and p by them, are not the output's; they are left out")
    sizes = (_whole(rows[0][1]), _whole(rows[1][1]))
    described = {row[0]: dict(zip(("count", "mean", "sd"), (row[1], row[2], row[4]), strict=True)) for row in rows[:2]}
    return FoundTest(
        ("welch",) if unequal else ("t",),
        numbers,
        groups=groups,
        sizes=sizes,
        variable=command[0],
        by=command[1],
        notes=tuple(notes),
        described=described,
    )


def _of_paired_t(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """ttest of two variables: t, its degrees of freedom and p; the mean difference and its standard error."""
    rows = _rows(page)
    order = next(
        (each for line in page if (each := re.search(r"mean\(diff\) = mean\(([\w~]+) - ([\w~]+)\)", line))), None
    )
    if order is None or len(rows) < 3 or rows[2][0] != "diff" or min(map(len, rows[:3])) < 5:
        raise OutputError("a paired t test of Stata is cut off; give it from its title to its p-values")
    null = next((each[1] for line in page if (each := re.search(r"H[o0]: mean\(diff\) = (\S+)", line))), "")
    if null != "0":
        raise OutputError(f"a paired t test of Stata against {null or 'what it does not say'}; print it against 0")
    numbers: dict[Statistic, Number] = {
        "statistic": _number(_said(page, r"\bt =", "t")),
        "df": _number(_said(page, r"[dD]egrees of freedom =", "degrees of freedom")),
        "p": _number(_said(page, r"Pr\(\|T\| > \|t\|\) =", "Pr(|T| > |t|)")),
        "difference": _number(rows[2][2]),
        "standard error": _number(rows[2][3]),
        "n": _number(rows[2][1]),
    }
    described = {row[0]: dict(zip(("count", "mean", "sd"), (row[1], row[2], row[4]), strict=True)) for row in rows[:2]}
    return FoundTest(("paired t",), numbers, described=described, pair=(order[1], order[2]))


def _of_signed_ranks(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """signrank: the positive ranks, z without continuity correction, p."""
    rows = {row[0].casefold(): row for row in _rows(page) if len(row) == 4}
    pair = next((each for line in page if (each := re.search(r"H[o0]: (\w+) = (\w+)\s*$", line))), None)
    if not {"positive", "zero", "all"} <= set(rows) or pair is None:
        raise OutputError("a signed-rank test of Stata is cut off; give it from its title to its p-value")
    if re.fullmatch(r"[\d.]+", pair[2]):
        raise OutputError(f"a signed-rank test of Stata against {pair[2]} is of one sample; it needs kind: custom")
    if _whole(rows["zero"][1]):
        raise OutputError(
            "a signed-rank test of Stata ranks differences of 0, which the output's leaves out; it needs kind: custom"
        )
    numbers: dict[Statistic, Number] = {
        "statistic": _number(rows["positive"][2]),
        "z": _number(_said(page, r"\bz =", "z")),
        "p": _number(_said(page, r"Prob > \|z\| =", "Prob > |z|")),
        "n": _number(rows["all"][1]),
    }
    notes = ["numbers of differences above and below 0 are no number of a test; they are left out"]
    if any(re.search(r"Exact [Pp]rob", line) for line in page):
        notes.append(EXACT_P)
    return FoundTest(("signed-rank",), numbers, False, notes=tuple(notes), pair=(pair[1], pair[2]))


def _is_exact(page: Sequence[str]) -> bool:
    return any("Exact McNemar" in line for line in page)


def _of_mcnemar(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """mcc: the chi-squared statistic, without continuity correction, and p."""
    said = re.search(r"chi2\(1\)\s*=\s*" + _NUMBER + r"\s+Prob > chi2\s*=\s*(\S+)", page[0])
    if said is None:
        raise OutputError("a line of McNemar's chi2 of Stata is cut off; give it to its p-value")
    numbers: dict[Statistic, Number] = {"statistic": _number(said[1]), "df": _number("1"), "p": _number(said[2])}
    return FoundTest(("mcnemar",), numbers, False, notes=_OF_MCC, pair=command if all(command) else ())


def _of_exact(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """The exact p below it."""
    numbers: dict[Statistic, Number] = {"p": _number(_said(page, r"Exact McNemar significance probability\s*=", "p"))}
    return FoundTest(("exact mcnemar",), numbers, notes=_OF_MCC, pair=command if all(command) else ())


def _of_others(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    raise OutputError(f"'{page[0].strip()}' compares no groups of records; it needs kind: custom")


def _of_odds(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """tabodds: the score test for trend, whose variance has n - 1 as that of the linear-by-linear association."""
    numbers: dict[Statistic, Number] = {
        "statistic": _number(_said(page, r"trend of odds:\s*chi2\(1\)\s*=", "chi2")),
        "df": _number("1"),
        "p": _number(_said(page, r"Pr>chi2\s*=", "Pr>chi2")),
    }
    notes = ("odds, and the test of homogeneity (Pearson's chi-square times (n - 1) / n), are left out",)
    return FoundTest(("linear-by-linear",), numbers, variable=command[0], by=command[1], notes=notes)


def _of_kappa(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """kap of two raters: agreement, kappa, the error by which z is, and p, which is one-sided there."""
    row = next((line.split() for line in page if re.match(r"\s*[\d.]+%\s+[\d.]+%\s", line)), [])
    if len(row) != 6:
        raise OutputError("kappa of Stata without its line of six numbers; give it as kap prints it of two raters")
    shares = [read_printed(each.rstrip("%")) for each in row[:2]]
    of_agreement: tuple[Statistic, ...] = ("agreement", "expected agreement")
    names: tuple[Statistic, ...] = ("kappa", "null error", "z")
    numbers = {name: _number(text) for name, text in zip(names, row[2:5], strict=True)}
    for name, share in zip(of_agreement, shares, strict=True):
        if share is not None:
            numbers[name] = Number.of(Printed(share.value / 100.0, share.decimals + 2))
    above, z = _number(row[5]), numbers["z"]
    half = 0.5 * 10.0**-above.decimals
    ends = (above.low - half, above.high + half) if z.low >= 0.0 else (1 - above.high - half, 1 - above.low + half)
    numbers["p"] = Number(max(2.0 * ends[0], 0.0), min(2.0 * ends[1], 1.0), above.decimals + 1)
    notes = ("p, which kap prints on one side, is doubled, as far as its digits go",)
    pair = command if all(command) else ()
    return FoundTest(("kappa",), numbers, notes=notes, pair=pair, weights=_weights(page))


def _weights(page: Sequence[str]) -> Weights:
    """The weights of kap, by its command or the first line of them that it prints."""
    said = next((found[1] for line in page if (found := re.search(r"wgt\((\w+)\)", line))), "")
    if said in ("w", "w2"):
        return "linear" if said == "w" else "quadratic"
    at = next((at for at, line in enumerate(page) if "weighted by" in line), None)
    if said or at is not None:
        first = page[at + 1].split() if at is not None and at + 1 < len(page) else []
        given = [number.value for text in first if (number := read_printed(text)) is not None]
        for weights in ("linear", "quadratic"):
            own = credit(len(given), weights)[0] if len(given) > 2 else []
            if len(own) and max(abs(a - b) for a, b in zip(own, given, strict=True)) < 1e-4:
                return weights
        raise OutputError("kappa of Stata with weights of its own, or not known, is no output; print it with wgt(w)")
    return "none"


def _of_rho(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """spearman of two variables: rho, the number of records and p by Student's t."""
    numbers: dict[Statistic, Number] = {
        "r": _number(_said(page, r"Spearman's rho\s*=", "rho")),
        "p": _number(_said(page, r"Prob > \|t\|\s*=", "Prob > |t|")),
        "n": _number(_said(page, r"Number of obs(?:ervations)?\s*=", "number of observations")),
    }
    return FoundTest(("spearman",), numbers, pair=_independent(page))


def _of_tau(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """ktau of two variables: tau-b and the number of records; p there is corrected for continuity."""
    numbers: dict[Statistic, Number] = {
        "r": _number(_said(page, r"Kendall's tau-b\s*=", "tau-b")),
        "n": _number(_said(page, r"Number of obs(?:ervations)?\s*=", "number of observations")),
    }
    notes = ("tau-a, the score with its error, and p, which is corrected for continuity, are left out",)
    return FoundTest(("kendall",), numbers, notes=notes, pair=_independent(page))


def _independent(page: Sequence[str]) -> tuple[str, ...]:
    said = next((each for line in page if (each := re.search(r"H[o0]: ([\w~]+) and ([\w~]+) are indep", line))), None)
    return (said[1], said[2]) if said else ()


def _of_ranks(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """ranksum: U of the first group by its rank sum, z without continuity correction, p."""
    rows = [row for row in _rows(page) if len(row) == 4]
    if len(rows) != 3 or rows[2][0].casefold() != "combined":
        raise OutputError("a rank-sum test of Stata is cut off; give it from its title to its p-value")
    sizes, ranks = (_whole(rows[0][1]), _whole(rows[1][1])), read_printed(rows[0][2])
    if ranks is None:
        raise OutputError(f"rank sum {rows[0][2][:40]!r} of a test of Stata is not a number")
    half = ranks.half if ranks.decimals < 0 or ranks.value >= _MOST_EXACT else 0.0
    u = ranks.value - sizes[0] * (sizes[0] + 1) / 2.0
    numbers: dict[Statistic, Number] = {
        "statistic": Number(u - half, u + half, 1),
        "z": _number(_said(page, r"\bz =", "z")),
        "p": _number(_said(page, r"Prob > \|z\| =", "Prob > |z|")),
        "n": _number(rows[2][1]),
    }
    notes = ["records of each group are no number of a test; give them as a table of counts (kind: frequencies)"]
    if any(re.search(r"Exact [Pp]rob", line) for line in page):
        notes.append(EXACT_P)
    return FoundTest(
        ("rank-sum",),
        numbers,
        False,
        (rows[0][0], rows[1][0]),
        sizes=sizes,
        variable=command[0],
        by=command[1],
        notes=tuple(notes),
    )


def _of_kruskal(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """kwallis: chi2 with ties, and p."""
    tied = [at for at, line in enumerate(page) if "with ties" in line]
    if not tied:
        raise OutputError("a Kruskal-Wallis test of Stata without its line 'with ties'; give it to its end")
    text = page[tied[0]]
    df = re.search(r"chi2\((\d+)\)|with (\d+) d\.f\.", text)
    if df is None:
        raise OutputError("a Kruskal-Wallis test of Stata without its degrees of freedom; give it as it is printed")
    numbers: dict[Statistic, Number] = {
        "statistic": _number(_said([text], r"with ties =", "chi2 with ties")),
        "df": _number(df[1] or df[2]),
        "p": _number(_said(page[tied[0] + 1 :], r"(?:Prob|probability) =", "p")),
    }
    rows = [row for row in _rows(page) if len(row) == 3]
    if rows:
        numbers["n"] = Number.of(Printed(float(sum(_whole(row[1]) for row in rows))))
    notes = (
        "records and rank sums of the groups, and the test without ties, are no numbers of the output; give the "
        "records as a table of counts (kind: frequencies)",
    )
    return FoundTest(("kruskal-wallis",), numbers, variable=command[0], by=command[1], notes=notes)


def _of_oneway(page: Sequence[str], command: tuple[str, str]) -> FoundTest:
    """oneway: F, its degrees of freedom, p."""
    rows = [line.split() for line in page]
    between = next((cells for cells in rows if cells[:2] == ["Between", "groups"] and len(cells) == 7), None)
    within = next((cells for cells in rows if cells[:2] == ["Within", "groups"] and len(cells) == 5), None)
    if between is None or within is None:
        raise OutputError("an analysis of variance of Stata is none of oneway, or is cut off; give that of oneway")
    numbers: dict[Statistic, Number] = {
        "statistic": _number(between[5]),
        "df": _number(between[3]),
        "df within": _number(within[3]),
        "p": _number(between[6]),
    }
    notes = ("sums and means of squares and Bartlett's test are no number of the output; they are left out",)
    return FoundTest(("anova",), numbers, variable=command[0], by=command[1], notes=notes)


def _of_table(page: Sequence[str], command: tuple[str, str], above: Sequence[str]) -> list[FoundTest]:
    """What tabulate prints below its table: Pearson's test with Cramer's V, and Fisher's."""
    notes = []
    if any(re.search(r"\d", line) and "|" in line for line in above):
        notes.append("the table above the test is left out; give it as a table (kind: frequencies)")
    text = "\n".join(page)
    if re.search(r"[Ll]ikelihood-ratio|gamma|tau-b|1-sided", text):
        notes.append("the likelihood ratio, gamma, tau-b and one-sided tests are no output; they are left out")
    found = []
    pearson = re.search(r"Pearson chi2\((\d+)\)\s*=\s*" + _NUMBER + r"\s+Pr = (\S+)", text)
    if pearson:
        found.append(or_refused(_of_pearson, pearson.groups(), text, command, tuple(notes)))
    exact = re.search(r"^\s*Fisher's exact\s*=\s*(\S+)", text, re.M)
    if exact:
        found.append(or_refused(_of_fisher, exact[1], command, tuple(notes)))
    return found


def _of_pearson(said: tuple[str, str, str], text: str, command: tuple[str, str], notes: tuple[str, ...]) -> FoundTest:
    numbers: dict[Statistic, Number] = {"statistic": _number(said[1]), "df": _number(said[0]), "p": _number(said[2])}
    v = re.search(r"Cram.r's V\s*=\s*" + _NUMBER, text)
    if v and v[1] != ".":
        size = _number(v[1])  # of 2 x 2 Stata gives it a sign
        numbers["cramers v"] = size if size.low >= 0.0 else size.negative
    return FoundTest(("chi-square",), numbers, False, variable=command[0], by=command[1], notes=notes)


def _of_fisher(text: str, command: tuple[str, str], notes: tuple[str, ...]) -> FoundTest:
    return FoundTest(("fisher",), {"p": _number(text)}, variable=command[0], by=command[1], notes=notes)


_READ = {
    "t": _of_t,
    "paired t": _of_paired_t,
    "signed-rank": _of_signed_ranks,
    "not two": _of_others,
    "rank-sum": _of_ranks,
    "kruskal-wallis": _of_kruskal,
    "anova": _of_oneway,
    "trend": _of_odds,
    "kappa": _of_kappa,
    "spearman": _of_rho,
    "kendall": _of_tau,
}
