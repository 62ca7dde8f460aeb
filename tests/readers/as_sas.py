"""Tables of our own records laid out as SAS lists them, by published listings; SAS itself was not here."""

import math

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
