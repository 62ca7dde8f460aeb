"""Tables of our own records laid out as Stata's commands print them, by its manuals and public logs."""

import math

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook, Variable
from outrisk.config import study_of
from outrisk.microdata import from_frame

AREAS, WAVES = ("north", "south", "west"), (1, 2)
HEAD = ("Obs", "Mean", "Std. dev.", "Min", "Max")


def people(n=60, seed=5):
    rng = np.random.default_rng(seed)
    area = rng.choice(AREAS, n, p=[0.5, 0.35, 0.15])
    return pd.DataFrame(
        {
            "area": area,
            "wave": rng.choice(WAVES, n),
            "ill": rng.integers(0, 2, n),
            "wage": np.round(rng.gamma(4, 700, n) + 300 * (area == "west")).clip(0, 9000) / 4,
            "age": rng.integers(18, 66, n),
        }
    )


def codebook(frame, missing=()):
    wage = tuple(np.arange(0, 9001) / 4)
    return Codebook(
        (
            Variable("area", "categorical", AREAS, missing="area" in missing),
            Variable("wave", "numeric", WAVES, descriptions=("first wave", "second wave of the panel")),
            Variable("ill", "categorical", ("0", "1")),
            Variable("wage", "numeric", wage, missing="wage" in missing),
            Variable("age", "numeric", tuple(range(18, 66))),
        )
    )


def given(text, entry, tmp_path, frame=None, name="out.log", suffix=""):
    """The outputs of an entry whose values are in a log, each beside what the records give."""
    frame = people() if frame is None else frame
    (tmp_path / name).write_text(text)
    document = {
        "name": "of-stata",
        "data": {"path": "people.csv"},
        "outputs": [entry | {"values": name + suffix}],
        "keys": ["age"],
        "target": "ill",
    }
    book = codebook(frame, [column for column in frame if frame[column].isna().any()])
    found = study_of(document, tmp_path / "study.yaml").given(book)
    return [(each, each.recompute(from_frame(frame, book))) for each in found.values()]


def g(value, width=9):
    """A number in Stata's general format, %9.0g unless said otherwise."""
    if value is None or not math.isfinite(value):
        return "."
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole > width - 1 or abs(value) < 10 ** (3 - width):
        return f"{value:.2e}"
    text = f"{value:.{max(0, width - 2 - whole)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def summarize(frame, names, title=HEAD):
    head = "    Variable |" + "".join(
        f"{each:>{width}}" for each, width in zip(title, (11, 12, 13, 11, 11), strict=True)
    )
    lines = ["", head, "-" * 13 + "+" + "-" * 57]
    for name in names:
        x = frame[name].dropna()
        cells = [f"{len(x):,}", g(x.mean()), g(x.std()), g(x.min()), g(x.max())]
        lines.append(f"{name:>12} |" + "".join(f"{c:>{w}}" for c, w in zip(cells, (11, 12, 12, 11, 11), strict=True)))
    return "\n".join(lines) + "\n"


def moments(x):
    apart = x - x.mean()
    m = [(apart**k).mean() for k in (2, 3, 4)]
    return m[1] / m[0] ** 1.5, m[2] / m[0] ** 2


def percentile(x, p):
    """Stata's percentile: the mean of two neighbours where n p is whole."""
    x = np.sort(np.asarray(x, dtype=float))
    at = len(x) * p / 100
    low = math.floor(at + 1e-9)
    return (x[low - 1] + x[low]) / 2 if abs(at - low) < 1e-9 else x[math.ceil(at) - 1]


def detail(frame, name, label=""):
    x = np.sort(frame[name].dropna().to_numpy(float))
    skew, kurt = moments(x)
    p = {each: g(percentile(x, each)) for each in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
    small, large = [g(each) for each in x[:4]], [g(each) for each in x[-4:]]
    right = {
        10: ("Obs", f"{len(x):,}"), 25: ("Sum of wgt.", f"{len(x):,}"), 90: ("Variance", g(x.var(ddof=1))),
        95: ("Skewness", g(skew)), 99: ("Kurtosis", g(kurt)),
    }  # fmt: skip
    lines = ["", (label or name).center(61).rstrip(), "-" * 61, "      Percentiles      Smallest"]
    for at, value in zip((1, 5, 10, 25), small, strict=True):
        said = right.get(at)
        lines.append(f"{at:2d}% {p[at]:>12}{value:>15}" + (f"       {said[0]:<12}{said[1]:>11}" if said else ""))
    lines += ["", f"50% {p[50]:>12}{'':15}       {'Mean':<12}{g(x.mean()):>11}",
              f"{'':24}Largest       {'Std. dev.':<12}{g(x.std(ddof=1)):>11}"]  # fmt: skip
    for at, value in zip((75, 90, 95, 99), large, strict=True):
        said = right.get(at)
        lines.append(f"{at:2d}% {p[at]:>12}{value:>15}" + (f"       {said[0]:<12}{said[1]:>11}" if said else ""))
    return "\n".join(lines) + "\n"


STATISTICS = {
    "N": len, "Mean": np.mean, "SD": lambda x: np.std(x, ddof=1) if len(x) > 1 else np.nan, "Min": np.min,
    "Max": np.max, "p50": lambda x: percentile(x, 50), "p25": lambda x: percentile(x, 25),
    "p75": lambda x: percentile(x, 75), "Sum": np.sum, "SE(mean)": lambda x: np.std(x, ddof=1) / math.sqrt(len(x)),
    "Skewness": lambda x: moments(x)[0], "Kurtosis": lambda x: moments(x)[1],
    "CV": lambda x: np.std(x, ddof=1) / np.mean(x),
}  # fmt: skip


def _of(frame, name, statistic, form=g):
    return form(STATISTICS[statistic](frame[name].dropna().to_numpy(float)))


def tabstat(frame, names, statistics, by="", columns="variables", long=False, total=True, form=g, old=False):
    """tabstat; `columns`: statistics beside each other, or variables."""
    said = [each.lower() if each != "N" and old else each for each in statistics]
    groups = [(str(key), part) for key, part in frame.groupby(by)] if by else [("", frame)]
    groups += [("Total", frame)] if by and total else []
    lines = [""]
    if by:
        one = len(names) == 1 or columns == "statistics"
        lines += [f"Summary for variables: {' '.join(names)}" if one else f"Summary statistics: {', '.join(said)}"]
        lines += [f"     by categories of: {by} (Of it)" if old else f"Group variable: {by} (Of it)", ""]
    across = columns == "statistics" or (len(names) == 1 and bool(by))
    heads = said if across else list(names)
    downs = list(names) if across else said
    width = max(8, len(by), *(len(key) for key, _ in groups)) if by else 12 if across else 8
    stub = (
        f"{by:>{width}}"
        if by
        else f"{('variable' if old else 'Variable') if across else ('stats' if old else 'Stats'):>{width}}"
    )
    if by and long:
        stub += f" {('variable' if old else 'Variable') if across else ('stats' if old else 'Stats'):>10}"
    rule = "-" * (len(stub) + 1) + "+" + "-" * (10 * len(heads))
    lines += [f"{stub} |" + "".join(f"{each:>10}" for each in heads), rule]
    for number, (key, part) in enumerate(groups):
        if by and number and (key == "Total" or len(downs) > 1):
            lines.append(rule)
        for at, down in enumerate(downs):
            cells = [_of(part, down, STAT, form) for STAT in statistics] if across else [
                _of(part, name, statistics[at], form) for name in names]  # fmt: skip
            left = f"{key if not at else '':>{width}}" + (f" {down:>10}" if long else "") if by else f"{down:>{width}}"
            lines.append(f"{left} |" + "".join(f"{cell:>10}" for cell in cells))
    lines.append("-" * len(rule))
    return "\n".join(lines) + "\n"


def tabulate(frame, row, column="", show=(), label="", levels=None):
    """One-way or two-way counts, and percentages of `show` (row, column, cell) below them."""
    stub = label or row
    if not column:
        counts = frame[row].value_counts().sort_index()
        lines = ["", f"{stub:>11} |      Freq.     Percent        Cum.", "-" * 12 + "+" + "-" * 35]
        share = 100 * counts / counts.sum()
        for level, n in counts.items():
            cum = share[: counts.index.get_loc(level) + 1].sum()
            lines.append(f"{level!s:>11} | {n:>10,} {share[level]:>11.2f} {cum:>11.2f}")
        lines += ["-" * 12 + "+" + "-" * 35, f"{'Total':>11} | {counts.sum():>10,}      100.00"]
        return "\n".join(lines) + "\n"
    table = pd.crosstab(frame[row], frame[column])
    wide = 11 * table.shape[1]
    rule = "-" * 11 + "+" + "-" * wide + "+" + "-" * 10
    lines = [""]
    if show:
        words = ["frequency", *(f"{each} percentage" for each in show)]
        box = max(map(len, words))
        lines += ["+" + "-" * (box + 2) + "+", f"| {'Key':<{box}} |", "|" + "-" * (box + 2) + "|"]
        lines += [f"| {each:^{box}} |" for each in words] + ["+" + "-" * (box + 2) + "+", ""]
    lines += [
        " " * 11 + f"|{column:^{wide}}".rstrip(),
        f"{stub[:10]:>10} |" + "".join(f"{str(each)[:9]:>10} " for each in table.columns)[:-1] + " |     Total",
        rule,
    ]
    n = table.to_numpy().sum()
    for level in [*table.index, "Total"]:
        counts = table.loc[level].to_numpy() if level != "Total" else table.to_numpy().sum(axis=0)
        block = [[*counts, counts.sum()]]
        below = np.array([*table.to_numpy().sum(axis=0), n])
        for each in show:
            divisor = {"row": counts.sum(), "column": below, "cell": n}[each]
            block.append(np.array(block[0]) / divisor * 100)
        for at, cells in enumerate(block):
            texts = [f"{each:,}" if not at else f"{each:.2f}" for each in cells]
            lines.append(f"{str(level)[:10] if not at else '':>10} |" + "".join(f"{each:>10} " for each in texts[:-1])
                         + f"|{texts[-1]:>10} ")  # fmt: skip
        lines += [rule] if level != "Total" and (show or level == table.index[-1]) else []
    return "\n".join(lines) + "\n"


def tabulate_summarize(frame, by, name, column=""):
    if not column:
        lines = [
            "",
            f"{'':>11} |{f'Summary of {name}':^36}".rstrip(),
            f"{by:>11} |        Mean   Std. dev.       Freq.",
        ]
        rule = "-" * 12 + "+" + "-" * 36
        lines.append(rule)
        groups = [*((str(key), part) for key, part in frame.groupby(by)), ("Total", frame)]
        for key, part in groups:
            x = part[name].dropna()
            lines += [rule] if key == "Total" else []
            lines.append(f"{key:>11} |{g(x.mean(), 10):>12}{g(x.std(), 10):>12}{len(x):>12,}")
        return "\n".join(lines) + "\n"
    columns = [*sorted(frame[column].unique()), "Total"]
    lines = ["", f"{'':13}Means, Standard Deviations and Frequencies of {name}", "", f"{'':11}|{column:^22}".rstrip(),
             f"{by:>10} |" + " ".join(f"{each!s:>10}" for each in columns[:-1]) + f" |{'Total':>10}"]  # fmt: skip
    rule = "-" * 11 + "+" + "-" * 22 + "+" + "-" * 10
    for key in [*sorted(frame[by].unique()), "Total"]:
        part = frame if key == "Total" else frame[frame[by] == key]
        cells = [part if each == "Total" else part[part[column] == each] for each in columns]
        rows = [[g(each[name].mean(), 10) for each in cells], [g(each[name].std(), 10) for each in cells],
                [f"{each[name].notna().sum():,}" for each in cells]]  # fmt: skip
        lines.append(rule)
        for at, row in enumerate(rows):
            left = str(key) if not at else ""
            lines.append(f"{left:>10} |" + " ".join(f"{each:>10}" for each in row[:-1]) + f" |{row[-1]:>10}")
    return "\n".join(lines) + "\n"


def _limits(x):
    from scipy import stats

    mean, error = x.mean(), x.std(ddof=1) / math.sqrt(len(x))
    return mean, error, *stats.t.interval(0.95, len(x) - 1, mean, error)


def mean(frame, names, over="", old=False):
    n = len(frame)
    title = (
        f"Mean estimation{'':19}Number of obs   ={n:>11,}" if old else f"Mean estimation{'':23}Number of obs = {n:,}"
    )
    head = (
        "       Mean   Std. Err.     [95% Conf. Interval]"
        if old
        else "       Mean   Std. err.     [95% conf. interval]"
    )
    wide = max(12, len(over) + 2 + max(map(len, names)))
    rule = "-" * (wide + 1) + "+" + "-" * 48
    lines = ["", title, ""]
    if over and old:
        lines += [f"{key!s:>13}: {over} = {key}" for key in sorted(frame[over].unique())] + [""]
    lines += ["-" * (wide + 50), f"{'Over' if over and old else '':>{wide}} |{head}", rule]
    for name in names:
        parts = [(str(k), p) for k, p in frame.groupby(over)] if over else [(name, frame)]
        if over:
            lines.append(f"{name:<{wide}} |" if old else f"{f'c.{name}@{over}':>{wide}} |")
        for key, part in parts:
            m, e, low, high = _limits(part[name].to_numpy(float))
            lines.append(f"{key:>{wide}} |{g(m):>11}{g(e):>12}{g(low):>14}{g(high):>12}")
    lines.append("-" * (wide + 50))
    return "\n".join(lines) + "\n"


def ci_means(frame, names):
    lines = [
        "",
        "    Variable |        Obs        Mean    Std. err.       [95% conf. interval]",
        "-" * 13 + "+" + "-" * 63,
    ]
    for name in names:
        x = frame[name].to_numpy(float)
        m, e, low, high = _limits(x)
        lines.append(f"{name:>12} |{len(x):>11,}{g(m):>12}{g(e):>13}{g(low):>15}{g(high):>12}")
    return "\n".join(lines) + "\n"


def log(*pairs, opened=True):
    """A whole log: commands, each with what it prints."""
    text = "-" * 80 + "\n      name:  <unnamed>\n       log:  C:\\work\\out.log\n  log type:  text\n" if opened else ""
    for command, print_ in pairs:
        lines = [command[at : at + 77] for at in range(0, len(command), 77)] or [""]
        text += "\n. " + "\n> ".join(lines) + "\n" + print_
    return text + ("\n. log close\n      name:  <unnamed>\n" if opened else "")


def correlations(frame, names, p=False, obs=False, star=None, listwise=True, columns=7):
    """correlate, or pwcorr with p-values and numbers of records; of more columns than fit in panels."""
    from scipy import stats

    x = frame[names].dropna() if listwise else frame[names]
    short = {name: name if len(name) <= 8 else f"{name[:6]}~{name[-1]}" for name in names}
    lines = [f"(obs={len(x)})"] if not (p or obs or star) else []
    for start in range(0, len(names), columns):
        head = names[start : start + columns]
        lines += [
            "",
            f"{'':12} |" + "".join(f"{short[each]:>9}" for each in head),
            "-" * 13 + "+" + "-" * 9 * len(head),
        ]
        for row in names[start:]:
            cells = head[: names.index(row) - start + 1]
            found = {each: stats.pearsonr(x[row], x[each]) for each in cells}
            marks = {each: "*" if star and each != row and found[each].pvalue < star else " " for each in cells}
            texts = [f"{found[each].statistic:.4f}{marks[each]}" for each in cells]
            lines.append(f"{row:>12} |" + "".join(f"{each:>9}" for each in texts))
            if p:
                lines.append(
                    f"{'':12} |" + "".join(f"{f'{found[each].pvalue:.4f} ':>9}" for each in cells if each != row)
                )
            if obs:
                lines.append(f"{'':12} |" + "".join(f"{f'{len(x)} ':>9}" for each in cells))
            if p or obs:
                lines.append(f"{'':12} |")
    return "\n".join(lines) + "\n"


def ci_proportions(frame, name, kind="Binomial exact", method="beta"):
    from statsmodels.stats.proportion import proportion_confint

    x = frame[name].dropna()
    n, events = len(x), int((x == 1).sum())
    p = events / n
    low, high = proportion_confint(events, n, method=method)
    cells = [g(p), g(math.sqrt(p * (1 - p) / n)), g(low), g(high)]
    row = "".join(f"{each:>{width}}" for each, width in zip(cells, (12, 13, 15, 12), strict=True))
    return f"""
{"":56}{kind}
    Variable |        Obs  Proportion    Std. err.       [95% conf. interval]
-------------+---------------------------------------------------------------
{name:>12} |{n:>11,}{row}
"""


def proportion(frame, name, divisor=0):
    n, counts = len(frame), frame[name].value_counts().sort_index()
    lines = ["", f"Proportion estimation{'':22}Number of obs = {n}", "", "-" * 62,
             f"{'':12} |                                    Logit",
             f"{'':12} | Proportion   Std. err.     [95% conf. interval]"]  # fmt: skip
    lines += ["-" * 13 + "+" + "-" * 48, f"{name:>12} |"]
    for level, events in counts.items():
        p = events / n
        error = math.sqrt(p * (1 - p) / (n - divisor))
        wide = 2 * error / (p * (1 - p))
        ends = [1 / (1 + math.exp(-(math.log(p / (1 - p)) + sign * wide))) for sign in (-1, 1)]
        lines.append(f"{level:>11}  |{g(p):>11}{g(error):>12}{g(ends[0]):>14}{g(ends[1]):>12}")
    return "\n".join([*lines, "-" * 62]) + "\n"


def sts_list(frame, time, event, by="", old=False):
    """Kaplan-Meier curves, a row for each time."""
    from statsmodels.duration.survfunc import SurvfuncRight

    net = ("Beg.", "Net", "Time    Total", "Function     Error     [95% Conf. Int.]") if old else (
        " At", "   ", "Time     risk", "function     error     [95% conf. int.]")  # fmt: skip
    lines = ["", f"        Failure _d: {event}", f"  Analysis time _t: {time}", "",
             f"           {net[0]}          {net[1]}            Survivor      Std.",
             f"  {net[2]}   Fail   Lost           {net[3]}", "-" * 79]  # fmt: skip
    for key, part in frame.groupby(by) if by else [("", frame)]:
        lines += [f"{by}={key} " if old else f"{key} "] if by else []
        curve = SurvfuncRight(part[time], part[event])
        for at in sorted(part[time].unique()):
            here = part[part[time] == at]
            k = np.searchsorted(curve.surv_times, at, side="right") - 1
            s, e = (curve.surv_prob[k], curve.surv_prob_se[k]) if k >= 0 else (1.0, np.nan)
            risk, fail = int((part[time] >= at).sum()), int(here[event].sum())
            ends = "     .          ." if not 0 < s < 1 else f"{max(s - e, 0):>10.4f}{min(s + e, 1):>10.4f}"
            error = "     ." if not 0 < s < 1 else f"{e:.4f}"
            lines.append(f"{at:>6} {risk:>8} {fail:>6} {len(here) - fail:>6} {s:>18.4f}{error:>10}{ends}")
    return "\n".join([*lines, "-" * 79]) + "\n"


def listing(frame, separator=5):
    """list: rows in a box, numbered."""
    texts = {
        name: [g(each) if isinstance(each, float) else str(each) for each in frame[name]] for name in frame.columns
    }
    wide = {name: max(len(name), *map(len, texts[name])) for name in texts}
    edge = "-" * (sum(wide.values()) + 3 * (len(wide) - 1) + 2)
    lines = [
        f"     +{edge}+",
        "     | " + "   ".join(f"{name:>{wide[name]}}" for name in wide) + " |",
        f"     |{edge}|",
    ]
    for at in range(len(frame)):
        if at and at % separator == 0:
            lines.append(f"     |{edge}|")
        lines.append(f"{at + 1:>3}. | " + "   ".join(f"{texts[name][at]:>{wide[name]}}" for name in wide) + " |")
    return "\n".join(["", *lines, f"     +{edge}+"]) + "\n"
