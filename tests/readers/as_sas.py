"""Tables of our own records laid out as SAS lists them, by published listings; SAS itself was not here."""

# ruff: noqa: E501 - lines of listings are as wide as SAS prints them

import math

import numpy as np
import statsmodels.formula.api as smf
from scipy import stats

WIDE = 96


def page(number, *, titles=("The SAS System",), feed=True):
    """The head of a page: titles, the time and its number."""
    first = f"{titles[0]:^70}{'14:02 Monday, March 3, 2025':>26}{number:>4}"
    return ("\f" if feed else "") + "\n".join([first, *(each.center(WIDE) for each in titles[1:]), "", ""])


def procedure(name):
    return f"{f'The {name} Procedure'.center(WIDE)}\n\n"


def best(value, digits=10):
    """A number as PROC MEANS prints it: seven decimals, fewer of large ones."""
    if value == 0:
        return "0"
    whole = len(str(int(abs(value))))
    return f"{value:.{7 if whole <= 4 else 2}f}"


def p_value(p):
    return "<.0001" if p < 0.0001 else f"{p:.4f}"


def d4(value):
    """A standard error of PROC LOGISTIC: four decimals, of small ones three significant digits."""
    return f"{value:.4f}" if abs(value) >= 0.1 else f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"


def crossed(
    frame, row, column, *, width=8, legend=("Frequency", "Percent", "Row Pct", "Col Pct"), split=None, label=""
):
    """A cross table of PROC FREQ; split: columns of a panel, where they do not fit beside each other."""
    rows, columns = (sorted(frame[each].dropna().unique()) for each in (row, column))
    some = frame[[row, column]].dropna()
    n = len(some)
    stub = max(len("Frequency"), *(len(str(each)) for each in rows))
    panels = [columns[at : at + (split or len(columns))] for at in range(0, len(columns), split or len(columns))]
    out = [f"Table of {row} by {column}".center(WIDE).rstrip(), ""]
    for panel in panels:
        last = panel is panels[-1]
        rule = "-" * stub + "+" + ("-" * width + "+") * len(panel)
        out += [f"          {row}      {column}{label}", ""]
        out += [f"          {each:<{stub}}|" for each in legend[:-1]]
        heads = "|".join(f"{each!s:<{width}}" if isinstance(each, str) else f"{each!s:>{width}}" for each in panel)
        out += [f"          {legend[-1]:<{stub}}|{heads}|{'  Total' if last else ''}", f"          {rule}"]
        for each in rows:
            mine = some[some[row] == each]
            for number, what in enumerate(legend):
                cells = []
                for level in panel:
                    k = int((mine[column] == level).sum())
                    whole = {"Percent": n, "Row Pct": len(mine), "Col Pct": int((some[column] == level).sum())}
                    cells.append(f"{k:6d} " if what == "Frequency" else f"{100 * k / whole[what]:6.2f} ")
                total = {"Frequency": f"{len(mine):6d}", "Percent": f"{100 * len(mine) / n:6.2f}"}.get(what, "")
                inner = "|".join(f"{cell:>{width}}" for cell in cells)
                out.append(
                    f"          {str(each) if number == 0 else '':<{stub}}|{inner}|{f' {total}' if last else ''}"
                )
            out.append(f"          {rule}")
        totals = [int((some[column] == level).sum()) for level in panel] + ([n] if last else [])
        out.append(f"          {'Total':<{stub}} " + " ".join(f"{each:>{width}d}" for each in totals))
        if "Percent" in legend:
            out.append(f"          {'':<{stub}} " + " ".join(f"{100 * each / n:>{width}.2f}" for each in totals))
        out.append("")
    if len(some) < len(frame):
        out += [f"Frequency Missing = {len(frame) - len(some)}".center(WIDE).rstrip(), ""]
    return "\n".join(out) + "\n"


def one_way(frame, name, *, cumulative=True):
    """A table of one variable of PROC FREQ."""
    some = frame[name].dropna()
    counts = some.value_counts().sort_index()
    width = max(len(name), *(len(str(each)) for each in counts.index)) + 4
    if cumulative:
        head = f"{'':<{width}}                             Cumulative    Cumulative\n"
        head += f"{name:<{width}}    Frequency     Percent     Frequency      Percent\n"
    else:
        head = f"{name:<{width}}    Frequency     Percent\n"
    lines, up = [head + "-" * (width + (56 if cumulative else 26))], 0
    for level, k in counts.items():
        up += k
        row = f"{level!s:<{width}}    {k:9d}    {100 * k / len(some):8.2f}"
        lines.append(row + (f"    {up:10d}    {100 * up / len(some):9.2f}" if cumulative else ""))
    if len(some) < len(frame):
        lines += ["", f"Frequency Missing = {len(frame) - len(some)}".center(70).rstrip()]
    return "\n".join(lines) + "\n\n"


def logistic(frame, response, numbers, classes, event, *, coding="reference", ratios=True, head=True, weight=""):
    """PROC LOGISTIC of a response with two values; classes: categories with their reference level."""
    data = frame[[response, *numbers, *classes]].dropna().copy()
    data["_y"] = (data[response].astype(str) == str(event)).astype(int)
    levels = {name: sorted(data[name].unique()) for name in classes}
    parts = [*numbers]
    for name, base in classes.items():
        order = [each for each in levels[name] if each != base] + [base]
        data[name] = data[name].astype("category").cat.set_categories(order)
        parts.append(f"C({name}, Treatment(reference={base!r}))" if coding == "reference" else f"C({name}, Sum)")
    fit = smf.logit("_y ~ " + " + ".join(parts), data).fit(disp=0)
    null = smf.logit("_y ~ 1", data).fit(disp=0)
    out = [
        "Model Information".center(WIDE), "",
        "                      Data Set                      WORK.PEOPLE",
        f"                      Response Variable             {response}",
        "                      Number of Response Levels     2",
        *([f"                      Weight Variable               {weight}"] if weight else []),
        "                      Model                         binary logit",
        "                      Optimization Technique        Fisher's scoring", "", "",
        f"                         Number of Observations Read        {len(frame):4d}",
        f"                         Number of Observations Used        {len(data):4d}", "", "",
        "Response Profile".center(WIDE), "",
        "                               Ordered                      Total",
        f"                                 Value     {response}     Frequency", "",
        *(f"                                     {at}     {value!s:>8}      {k:6d}"
          for at, (value, k) in enumerate(data[response].value_counts().sort_index().items(), 1)), "",
        f"Probability modeled is {response}={repr(event) if isinstance(event, str) else event}.".center(WIDE), "", "",
    ] if head else []  # fmt: skip
    if classes and head:
        out += ["Class Level Information".center(WIDE), "", "                                              Design",
                "                Class        Value          Variables", ""]  # fmt: skip
        for name, base in classes.items():
            others = [each for each in levels[name] if each != base]
            for number, level in enumerate(levels[name]):
                last = -1 if coding == "effect" else 0
                row = [last if level == base else int(level == other) for other in others]
                cells = "".join(f"{each:>7d}" for each in row)
                out.append(f"                {name if number == 0 else '':<12} {level!s:<10}{cells}")
            out.append("")
    if head:
        out += ["Model Convergence Status".center(WIDE), "",
                "Convergence criterion (GCONV=1E-8) satisfied.".center(WIDE), "", "",
                "Model Fit Statistics".center(WIDE), "",
                "                                                  Intercept",
                "                                   Intercept            and",
                "                     Criterion          Only     Covariates", ""]  # fmt: skip
        k = len(fit.params)
        for name, one, two in (
            ("AIC", -2 * null.llf + 2, -2 * fit.llf + 2 * k),
            ("SC", -2 * null.llf + math.log(len(data)), -2 * fit.llf + k * math.log(len(data))),
            ("-2 Log L", -2 * null.llf, -2 * fit.llf),
        ):
            out.append(f"                     {name:<12}{one:>11.3f}{two:>15.3f}")
        out += ["", "", "Testing Global Null Hypothesis: BETA=0".center(WIDE), "",
                "          Test                 Chi-Square       DF     Pr > ChiSq", "",
                f"       Likelihood Ratio  {2 * (fit.llf - null.llf):10.4f}{k - 1:9d}         0.5000", "", ""]  # fmt: skip
    out += ["Analysis of Maximum Likelihood Estimates".center(WIDE), "",
            "                                                Standard          Wald",
            "            Parameter         DF    Estimate       Error    Chi-Square    Pr > ChiSq", ""]  # fmt: skip
    rows = []
    for label, b, error in zip(fit.params.index, fit.params, fit.bse, strict=True):
        level = label[label.index("[") + 1 : -1].removeprefix("T.").removeprefix("S.") if "[" in label else ""
        name = next((each for each in classes if f"C({each}" in label), label)
        z = b / error
        rows.append((name, level, b, error, z * z, 2 * stats.norm.sf(abs(z))))
    for name, level, b, error, chi, p in rows:
        stub = f"{name:<10} {level:<6}"
        out.append(f"            {stub}{1:>3d}{b:>12.4f}{d4(error):>12}{chi:>14.4f}{p_value(p):>14}")
    if ratios:
        out += ["", "", "Odds Ratio Estimates".center(WIDE), "",
                "                                      Point          95% Wald",
                "                 Effect            Estimate      Confidence Limits", ""]  # fmt: skip
        for name, level, b, error, _, _ in rows[1:]:
            shown = f"{name} {level} vs {classes[name]}" if level else name
            real = b
            if level and coding == "effect":
                real = b + sum(each[2] for each in rows if each[0] == name and each[1])
            low, high = real - 1.96 * error, real + 1.96 * error
            out.append(
                f"                 {shown:<20}{math.exp(real):>8.3f}{math.exp(low):>12.3f}{math.exp(high):>9.3f}"
            )
    return "\n".join(line.rstrip() for line in out) + "\n\n", fit


STATISTICS = {
    "N": lambda x: f"{len(x):d}",
    "Mean": lambda x: best(x.mean()),
    "Std Dev": lambda x: best(x.std()) if len(x) > 1 else ".",
    "Std Error": lambda x: best(x.std() / math.sqrt(len(x))),
    "Minimum": lambda x: best(x.min()),
    "Maximum": lambda x: best(x.max()),
    "Sum": lambda x: best(x.sum()),
    "Lower Quartile": lambda x: best(quantile(x, 0.25)),
    "Median": lambda x: best(quantile(x, 0.5)),
    "Upper Quartile": lambda x: best(quantile(x, 0.75)),
    "90th Pctl": lambda x: best(quantile(x, 0.9)),
    "Lower 95% CL for Mean": lambda x: best(x.mean() - stats.t.ppf(0.975, len(x) - 1) * x.std() / math.sqrt(len(x))),
    "Upper 95% CL for Mean": lambda x: best(x.mean() + stats.t.ppf(0.975, len(x) - 1) * x.std() / math.sqrt(len(x))),
}


def quantile(x, share):
    """Definition 5 of SAS: the mean of two records where n times the share is whole, else the one after it."""
    ordered = np.sort(np.asarray(x, dtype=float))
    at = len(ordered) * share
    whole = round(at)
    if abs(at - whole) < 1e-9:
        return (ordered[max(whole - 1, 0)] + ordered[min(whole, len(ordered) - 1)]) / 2
    return ordered[math.ceil(at) - 1]


def means(frame, values, names, classes=(), label=""):
    """PROC MEANS of one variable or several, by CLASS variables, in one panel."""
    wide = {name: max(12, len(name.split()[0]) + 2) for name in names}
    split = {name: name.split(" ", 2) if "%" in name else name.split(" ", 1) for name in names}
    first = {name: (" ".join(part[:2]) if "%" in name else part[0]) for name, part in split.items()}
    second = {name: (part[2] if "%" in name else part[1] if len(part) > 1 else "") for name, part in split.items()}
    short = {name for name in names if name in ("Std Dev", "Std Error", "90th Pctl", "Mean", "N")}
    above = "".join(f"{'' if name in short or not second[name] else first[name]:>{wide[name] + 4}}" for name in names)
    below = "".join(
        f"{name if name in short or not second[name] else second[name]:>{wide[name] + 4}}" for name in names
    )
    stubs = "".join(f"{name:<14}" for name in classes)
    obs = 6 if classes else 0
    variable = len(values) > 1
    width = len(stubs) + obs + (14 if variable else 0)
    out = []
    if not variable:
        out += [f"Analysis Variable : {values[0]} {label}".center(WIDE).rstrip(), ""]
    heads = [f"{'':<{len(stubs)}}{'N' if obs else '':>{obs}}{'':<{14 if variable else 0}}{above}".rstrip()]
    heads.append(
        f"{stubs}{'Obs' if obs else '':>{obs}}{'    Variable' if variable and obs else 'Variable' if variable else '':<{14 if variable else 0}}{below}"
    )
    rule = "-" * (width + len(below) - len(stubs) + len(stubs))
    out += [*[head for head in heads if head.strip()], rule]
    some = frame.dropna(subset=list(classes))
    groups = (
        [((), some)]
        if not classes
        else [(key if isinstance(key, tuple) else (key,), mine) for key, mine in some.groupby(list(classes), sort=True)]
    )
    before = ()
    for key, mine in groups:
        for number, value in enumerate(values):
            x = mine[value].dropna()
            texts = "".join(f"{STATISTICS[name](x):>{wide[name] + 4}}" for name in names)
            shown = ["" if before[: at + 1] == key[: at + 1] else str(level) for at, level in enumerate(key)]
            left = "".join(f"{each:<14}" for each in shown) + (f"{len(mine):>{obs}d}" if obs else "")
            left = left if number == 0 else " " * (len(stubs) + obs)
            called = (f"    {value}" if obs else value) if variable else ""
            out.append(f"{left}{called:<{14 if variable else 0}}{texts}")
        before = key
        out += [""] if variable and classes else []
    while out[-1] == "":
        out.pop()
    return "\n".join([*out, rule]) + "\n\n"


def univariate(frame, value, label=""):
    """PROC UNIVARIATE of one variable."""
    x = frame[value].dropna()
    n = len(x)
    pairs = [
        ("N", f"{n}", "Sum Weights", f"{n}"),
        ("Mean", f"{x.mean():.7g}", "Sum Observations", f"{x.sum():.8g}"),
        ("Std Deviation", f"{x.std():.8g}", "Variance", f"{x.var():.8g}"),
        ("Skewness", f"{x.skew():.8f}", "Kurtosis", f"{x.kurt():.8f}"),
        ("Uncorrected SS", f"{(x**2).sum():.8g}", "Corrected SS", f"{x.var() * (n - 1):.8g}"),
        ("Coeff Variation", f"{100 * x.std() / x.mean():.8g}", "Std Error Mean", f"{x.std() / math.sqrt(n):.8g}"),
    ]
    out = [
        f"Variable:  {value}{f'  ({label})' if label else ''}".center(80).rstrip(),
        "",
        "Moments".center(80).rstrip(),
        "",
    ]
    out += [f"          {a:<20}{b:>12}    {c:<20}{d:>12}" for a, b, c, d in pairs]
    out += ["", "", "Basic Statistical Measures".center(80).rstrip(), "",
            "              Location                    Variability", "",
            f"          Mean     {x.mean():.5f}     Std Deviation   {x.std():.5f}", "", "",
            "           Tests for Location: Mu0=0", "", "Test           -Statistic-    -----p Value------", "",
            "Student's t    t  78.74077    Pr > |t|    <.0001", "", "Quantiles (Definition 5)".center(80).rstrip(), "",
            "                  Quantile       Estimate", ""]  # fmt: skip
    for share, name in ((1, "100% Max"), (0.99, "99%"), (0.95, "95%"), (0.9, "90%"), (0.75, "75% Q3"), (0.5, "50% Median"),
                        (0.25, "25% Q1"), (0.1, "10%"), (0.05, "5%"), (0.01, "1%"), (0, "0% Min")):  # fmt: skip
        out.append(
            f"                  {name:<12}{quantile(x, share) if 0 < share < 1 else np.quantile(x, share):>10.3f}"
        )
    out += ["", "Extreme Observations".center(80).rstrip(), "", "          ----Lowest----        ----Highest---", "",
            "           Value      Obs        Value      Obs", ""]  # fmt: skip
    for low, high in zip(np.sort(x)[:5], np.sort(x)[-5:], strict=True):
        out.append(f"          {low:>6.2f}{12:>9d}{high:>13.2f}{7:>9d}")
    return "\n".join(out) + "\n\n"


def reg(frame, response, terms, *, label="", limits=False):
    """PROC REG of numbers."""
    data = frame[[response, *terms]].dropna()
    fit = smf.ols(f"{response} ~ {' + '.join(terms)}", data).fit()
    k = len(terms)
    out = ["Model: MODEL1".center(80).rstrip(), f"Dependent Variable: {response} {label}".rstrip().center(80).rstrip(), "",
           f"               Number of Observations Read        {len(frame):6d}",
           f"               Number of Observations Used        {len(data):6d}", "", "",
           "Analysis of Variance".center(80).rstrip(), "",
           "                                    Sum of           Mean",
           "Source                   DF        Squares         Square    F Value    Pr > F", "",
           f"Model                {k:6d}{fit.ess:15.5f}{fit.mse_model:15.5f}{fit.fvalue:11.2f}    {p_value(fit.f_pvalue)}",
           f"Error                {int(fit.df_resid):6d}{fit.ssr:15.5f}{fit.mse_resid:15.5f}",
           f"Corrected Total      {len(data) - 1:6d}{fit.centered_tss:15.5f}", "", "",
           f"Root MSE            {math.sqrt(fit.mse_resid):12.5f}    R-Square     {fit.rsquared:.4f}",
           f"Dependent Mean      {data[response].mean():12.5f}    Adj R-Sq     {fit.rsquared_adj:.4f}",
           f"Coeff Var           {100 * math.sqrt(fit.mse_resid) / data[response].mean():12.5f}", "", "",
           "Parameter Estimates".center(80).rstrip(), "",
           "                     Parameter       Standard",
           "Variable     DF       Estimate          Error    t Value    Pr > |t|"
           + ("       95% Confidence Limits" if limits else ""), ""]  # fmt: skip
    for name in fit.params.index:
        ends = fit.conf_int().loc[name]
        out.append(
            f"{name:<12}{1:>3d}{fit.params[name]:>15.5f}{fit.bse[name]:>15.5f}{fit.tvalues[name]:>11.2f}"
            f"{p_value(fit.pvalues[name]):>12}" + (f"{ends[0]:>15.5f}{ends[1]:>13.5f}" if limits else "")
        )
    return "\n".join(out) + "\n\n"


def glm(frame, response, numbers, classes):
    """PROC GLM with / SOLUTION: the last level is the reference, and estimates have the mark B."""
    data = frame[[response, *numbers, *classes]].dropna()
    levels = {name: sorted(data[name].unique()) for name in classes}
    parts = [f"C({name}, Treatment(reference={levels[name][-1]!r}))" for name in classes]
    fit = smf.ols(f"{response} ~ {' + '.join([*parts, *numbers])}", data).fit()
    out = ["Class Level Information".center(80).rstrip(), "", "                Class         Levels    Values", ""]
    out += [f"                {name:<10}{len(of):>10d}    {' '.join(map(str, of))}" for name, of in levels.items()]
    out += ["", "", f"                     Number of Observations Read        {len(frame):6d}",
            f"                     Number of Observations Used        {len(data):6d}",
            page(4, feed=True) + procedure("GLM"), f"Dependent Variable: {response}", "",
            "                                        Sum of",
            "Source                      DF         Squares     Mean Square    F Value    Pr > F", "",
            f"Model                   {int(fit.df_model):6d}{fit.ess:16.6f}{fit.mse_model:16.6f}{fit.fvalue:11.2f}    0.1000", "",
            f"Error                   {int(fit.df_resid):6d}{fit.ssr:16.6f}{fit.mse_resid:16.6f}", "", "",
            f"R-Square     Coeff Var      Root MSE    {response} Mean", "",
            f"{fit.rsquared:.6f}      {100 * math.sqrt(fit.mse_resid) / data[response].mean():.5f}      "
            f"{math.sqrt(fit.mse_resid):.6f}     {data[response].mean():.6f}", "", "",
            "Source                      DF       Type I SS     Mean Square    F Value    Pr > F", "",
            f"{classes[0]:<12}             2      1.00000000      0.50000000       0.10    0.9000", "",
            "                                         Standard",
            "Parameter             Estimate              Error    t Value    Pr > |t|", ""]  # fmt: skip
    mark = "B" if classes else " "

    def row(stub, key):
        return (f"{stub:<18}{fit.params[key]:>14.8f} {mark}{fit.bse[key]:>17.8f}{fit.tvalues[key]:>11.2f}"
                f"{p_value(fit.pvalues[key]):>12}")  # fmt: skip

    out.append(row("Intercept", "Intercept"))
    for name, part in zip(classes, parts, strict=True):
        out += [row(f"{name:<10}{level}", f"{part}[T.{level}]") for level in levels[name][:-1]]
        out.append(f"{f'{name:<10}{levels[name][-1]}':<18}{0:>14.8f} B{'.':>17}{'.':>11}{'.':>12}")
    for name in numbers:
        text = row(name, name)
        out.append(text.replace(" B ", "   ") if mark == "B" else text)
    out += ["", "NOTE: The X'X matrix has been found to be singular, and a generalized inverse was used to solve"]
    return "\n".join(out) + "\n\n"


def genmod(frame, response, numbers, classes, *, family="Poisson"):
    """PROC GENMOD of counts, whose classes are coded as those of GLM."""
    data = frame[[response, *numbers, *classes]].dropna()
    levels = {name: sorted(data[name].unique()) for name in classes}
    parts = [f"C({name}, Treatment(reference={levels[name][-1]!r}))" for name in classes]
    formula = f"{response} ~ {' + '.join([*parts, *numbers])}"
    fit = (
        smf.poisson(formula, data).fit(disp=0)
        if family == "Poisson"
        else smf.negativebinomial(formula, data).fit(disp=0)
    )
    out = ["Model Information".center(80).rstrip(), "", "              Data Set              WORK.PEOPLE",
           f"              Distribution          {family}", "              Link Function         Log",
           f"              Dependent Variable    {response}", "", "",
           f"              Number of Observations Read    {len(frame):6d}",
           f"              Number of Observations Used    {len(data):6d}", "", "",
           "Class Level Information".center(80).rstrip(), "", "              Class      Levels    Values", ""]  # fmt: skip
    out += [f"              {name:<10}{len(of):>7d}    {' '.join(map(str, of))}" for name, of in levels.items()]
    out += ["", "", "Criteria For Assessing Goodness Of Fit".center(80).rstrip(), "",
            "     Criterion                     DF           Value        Value/DF", "",
            "     Deviance                      55         40.1234          0.7295",
            f"     Log Likelihood                         {fit.llf + 50:15.4f}",
            f"     Full Log Likelihood                    {fit.llf:15.4f}", "", "Algorithm converged.", "",
            "Analysis Of Maximum Likelihood Parameter Estimates".center(80).rstrip(), "",
            "                                Standard     Wald 95% Confidence          Wald",
            "Parameter          DF  Estimate    Error           Limits           Chi-Square    Pr > ChiSq", ""]  # fmt: skip

    def row(stub, key):
        b, error = fit.params[key], fit.bse[key]
        test = f"{(b / error) ** 2:>13.2f}{p_value(2 * stats.norm.sf(abs(b / error))):>14}" if key != "alpha" else ""
        return (
            f"{stub:<18}{1:>3d}{b:>10.4f}{error:>9.4f}{b - 1.959964 * error:>12.4f}{b + 1.959964 * error:>10.4f}{test}"
        )

    out.append(row("Intercept", "Intercept"))
    for name, part in zip(classes, parts, strict=True):
        out += [row(f"{name:<10}{level}", f"{part}[T.{level}]") for level in levels[name][:-1]]
        stub = f"{name:<10}{levels[name][-1]}"
        out.append(f"{stub:<18}{0:>3d}{0:>10.4f}{0:>9.4f}{0:>12.4f}{0:>10.4f}{'.':>13}{'.':>14}")
    out += [row(name, name) for name in numbers]
    if family == "Poisson":
        out += [
            f"{'Scale':<18}{0:>3d}{1:>10.4f}{0:>9.4f}{1:>12.4f}{1:>10.4f}",
            "",
            "NOTE: The scale parameter was held fixed.",
        ]
    else:
        out += [
            row("Dispersion", "alpha"),
            "",
            "NOTE: The negative binomial dispersion parameter was estimated by maximum likelihood.",
        ]
    return "\n".join(out) + "\n\n"


def phreg(frame, time, status, numbers, classes, *, censored=0, ties="BRESLOW", strata=""):
    """PROC PHREG with reference coding, its default."""
    data = frame[[time, status, *numbers, *classes, *([strata] if strata else [])]].dropna()
    parts = [f"C({name}, Treatment(reference={base!r}))" for name, base in classes.items()]
    model = smf.phreg(f"{time} ~ {' + '.join([*parts, *numbers])}", data, status=(data[status] != censored).astype(int),
                      ties=ties.lower(), strata=data[strata] if strata else None)  # fmt: skip
    fit = model.fit()
    events = int((data[status] != censored).sum())
    out = ["Model Information".center(80).rstrip(), "", "           Data Set                 WORK.PEOPLE",
           f"           Dependent Variable       {time}", f"           Censoring Variable       {status}",
           f"           Censoring Value(s)       {censored}", f"           Ties Handling            {ties}", "", "",
           f"           Number of Observations Read    {len(frame):6d}",
           f"           Number of Observations Used    {len(data):6d}", "", ""]  # fmt: skip
    if classes:
        out += ["Class Level Information".center(80).rstrip(), "", "                                     Design",
                "           Class      Value         Variables", ""]  # fmt: skip
        for name, base in classes.items():
            levels = sorted(data[name].unique())
            others = [each for each in levels if each != base]
            for number, level in enumerate(levels):
                cells = "".join(f"{int(level == other):>7d}" for other in others)
                out.append(f"           {name if number == 0 else '':<10} {level!s:<10}{cells}")
        out += ["", ""]
    out += ["Summary of the Number of Event and Censored Values".center(80).rstrip(), "",
            "                                                Percent", "              Total       Event    Censored    Censored", "",
            f"           {len(data):8d}{events:12d}{len(data) - events:12d}{100 * (1 - events / len(data)):12.2f}", "", "",
            "Model Fit Statistics".center(80).rstrip(), "",
            "                                 Without           With", "                Criterion     Covariates     Covariates", "",
            f"                -2 LOG L  {-2 * fit.llf + 3:15.3f}{-2 * fit.llf:15.3f}", "", "",
            "Analysis of Maximum Likelihood Estimates".center(80).rstrip(), "",
            "                               Parameter      Standard                                  Hazard",
            "Parameter               DF      Estimate         Error    Chi-Square    Pr > ChiSq       Ratio    Label", ""]  # fmt: skip
    names = [(name, level) for name, base in classes.items() for level in sorted(data[name].unique()) if level != base]
    for (name, level), b, error in zip([*names, *((each, "") for each in numbers)], fit.params, fit.bse, strict=True):
        z = b / error
        out.append(f"{name:<12} {level:<8}{1:>5d}{b:>14.5f}{error:>14.5f}{z * z:>14.4f}{p_value(2 * stats.norm.sf(abs(z))):>14}"
                   f"{math.exp(b):>12.3f}    {f'{name} {level}' if level else 'Age in years'}")  # fmt: skip
    return "\n".join(out) + "\n\n"


def chisq(frame, row, column):
    """TABLES row*column / CHISQ, without the table itself."""
    table = np.array([[int(((frame[row] == a) & (frame[column] == b)).sum()) for b in sorted(frame[column].unique())]
                      for a in sorted(frame[row].unique())])  # fmt: skip
    n, k = table.sum(), (table.shape[0] - 1) * (table.shape[1] - 1)
    plain, adjusted = (stats.chi2_contingency(table, correction=each) for each in (False, True))
    phi = math.sqrt(plain[0] / n)
    if table.shape == (2, 2):
        phi *= np.sign(table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0])
    codes = [frame[each].astype("category").cat.codes for each in (row, column)]
    trend = (n - 1) * np.corrcoef(*codes)[0, 1] ** 2
    out = [f"Statistics for Table of {row} by {column}".center(80).rstrip(), "",
           "               Statistic                     DF       Value      Prob", "               " + "-" * 54,
           f"               Chi-Square                {k:6d}{plain[0]:12.4f}{p_value(plain[1]):>10}",
           f"               Likelihood Ratio Chi-Square{k:5d}{plain[0] + 0.01:12.4f}{p_value(plain[1]):>10}"]  # fmt: skip
    if table.shape == (2, 2):
        out.append(f"               Continuity Adj. Chi-Square{k:6d}{adjusted[0]:12.4f}{p_value(adjusted[1]):>10}")
    out += [f"               Mantel-Haenszel Chi-Square{1:6d}{trend:12.4f}{p_value(stats.chi2.sf(trend, 1)):>10}",
            f"               Phi Coefficient                {phi:13.4f}", f"               Cramer's V                     {phi / math.sqrt(min(table.shape) - 1):13.4f}", ""]  # fmt: skip
    if table.shape == (2, 2):
        out += ["Fisher's Exact Test".center(80).rstrip(), "                     " + "-" * 34,
                f"                     Cell (1,1) Frequency (F)  {table[0, 0]:8d}",
                f"                     Two-sided Pr <= P         {stats.fisher_exact(table)[1]:8.4f}", ""]  # fmt: skip
    return "\n".join([*out, f"Sample Size = {n}".center(80).rstrip()]) + "\n\n"


def ttest(frame, value, by):
    """PROC TTEST of two groups."""
    (first, one), (second, two) = [(level, mine[value]) for level, mine in frame.groupby(by)]
    equal, unequal = (stats.ttest_ind(one, two, equal_var=each) for each in (True, False))
    n = len(one) + len(two)
    sd = math.sqrt(((len(one) - 1) * one.var() + (len(two) - 1) * two.var()) / (n - 2))
    error, difference = sd * math.sqrt(1 / len(one) + 1 / len(two)), one.mean() - two.mean()
    out = [f"Variable:  {value}".center(80).rstrip(), "",
           f"  {by:<14}  N        Mean     Std Dev     Std Err     Minimum     Maximum", ""]  # fmt: skip
    for level, x in ((first, one), (second, two)):
        out.append(f"  {level!s:<12}{len(x):5d}{x.mean():12.4f}{x.std():12.4f}{x.std() / math.sqrt(len(x)):12.4f}"
                   f"{x.min():12.4f}{x.max():12.4f}")  # fmt: skip
    out += [f"  {'Diff (1-2)':<17}{difference:12.4f}{sd:12.4f}{error:12.4f}", "",
            f"{by:<12}  Method               Mean       95% CL Mean        Std Dev      95% CL Std Dev", "",
            f"{first!s:<14}                  {one.mean():.4f}     1.0000  2.0000     {one.std():.4f}     1.0000  2.0000",
            f"Diff (1-2)    Pooled        {difference:12.4f}     -1.0000  1.0000  {sd:.4f}  1.0000  2.0000", "",
            "Method           Variances        DF    t Value    Pr > |t|", "",
            f"Pooled           Equal      {n - 2:8d}{equal.statistic:11.2f}{p_value(equal.pvalue):>12}",
            f"Satterthwaite    Unequal    {unequal.df:8.5g}{unequal.statistic:11.2f}{p_value(unequal.pvalue):>12}", "",
            "                    Equality of Variances", "", "Method      Num DF    Den DF    F Value    Pr > F",
            "Folded F        28        29       1.45    0.2545"]  # fmt: skip
    return "\n".join(out) + "\n\n"


def npar1way(frame, value, by, *, correct=True):
    """PROC NPAR1WAY WILCOXON."""
    some = frame[[value, by]].dropna()
    ranks = some[value].rank()
    groups = [(level, ranks[some[by] == level]) for level in sorted(some[by].unique())]
    n = len(some)
    ties = some[value].value_counts().to_numpy(dtype=float)
    out = [f"Wilcoxon Scores (Rank Sums) for Variable {value}".center(80).rstrip(),
           f"Classified by Variable {by}".center(80).rstrip(), "",
           "                     Sum of      Expected       Std Dev          Mean",
           f"{by:<8}    N        Scores      Under H0      Under H0         Score", "-" * 65]  # fmt: skip
    rows = {}
    for level, mine in groups:
        k = len(mine)
        sd = math.sqrt(k * (n - k) / 12 * (n + 1 - (ties**3 - ties).sum() / (n * (n - 1))))
        rows[level] = (mine.sum(), k * (n + 1) / 2, sd, k)
        out.append(f"{level!s:<8}{k:5d}{mine.sum():14.1f}{k * (n + 1) / 2:14.1f}{sd:14.6f}{mine.mean():14.6f}")
    out += ["", "Average scores were used for ties.".center(70), ""]
    if len(groups) == 2:
        s, expected, sd, _ = min(rows.values(), key=lambda row: row[3])
        z = (s - expected - (np.sign(s - expected) * 0.5 if correct else 0)) / sd
        out += ["Wilcoxon Two-Sample Test".center(60).rstrip(), "", f"              Statistic         {s:15.4f}", "",
                "              Normal Approximation", f"              Z                 {z:15.4f}",
                f"              One-Sided Pr {'>' if z > 0 else '<'}  Z     {stats.norm.sf(abs(z)):10.4f}",
                f"              Two-Sided Pr > |Z|    {p_value(2 * stats.norm.sf(abs(z))):>10}", "",
                *(["         Z includes a continuity correction of 0.5."] if correct else []), ""]  # fmt: skip
    h = stats.kruskal(*(some[value][some[by] == level] for level, _ in groups))
    out += ["Kruskal-Wallis Test".center(60).rstrip(), "", f"              Chi-Square        {h.statistic:15.4f}",
            f"              DF                {len(groups) - 1:15d}", f"              Pr > Chi-Square   {h.pvalue:15.4f}"]  # fmt: skip
    return "\n".join(out) + "\n\n"


def corr(frame, names, *, label=""):
    """PROC CORR, NOMISS."""
    some = frame[list(names)].dropna()
    out = [f"{len(names)}  Variables:    {'    '.join(names)}".center(80).rstrip(), "",
           "Simple Statistics".center(80).rstrip(), "",
           "Variable           N          Mean       Std Dev           Sum       Minimum       Maximum", ""]  # fmt: skip
    out += [f"{name:<12}{len(some):8d}{some[name].mean():14.5f}{some[name].std():14.5f}{some[name].sum():14.5g}"
            f"{some[name].min():14.5f}{some[name].max():14.5f}" for name in names]  # fmt: skip
    out += ["", f"Pearson Correlation Coefficients, N = {len(some)}".center(80).rstrip(),
            "Prob > |r| under H0: Rho=0".center(80).rstrip(), "",
            f"{'':<20}" + "".join(f"{name:>14}" for name in names), ""]  # fmt: skip
    for one in names:
        found = [stats.pearsonr(some[one], some[other]) for other in names]
        out.append(
            f"{one:<20}" + "".join(f"{1 if one == b else each[0]:>14.5f}" for b, each in zip(names, found, strict=True))
        )
        out.append(
            f"{label:<20}"
            + "".join(f"{'' if one == b else p_value(each[1]):>14}" for b, each in zip(names, found, strict=True))
        )
        out.append("")
    return "\n".join(out) + "\n\n"
