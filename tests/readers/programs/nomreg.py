"""Estimates as SPSS's NOMREG prints them, of the fair data, by statsmodels: `python nomreg.py > nomreg.csv`."""

import sys
from math import exp
from pathlib import Path

import statsmodels.formula.api as smf
from scipy.stats import chi2

sys.path.insert(0, str(Path(__file__).parents[1]))
from fair import OCCUPATIONS, frame

REFERENCE = 4
LAST = "white_collar"
Z = chi2.ppf(0.95, 1) ** 0.5


def printed(value):
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def significance(p):
    return printed(p) if p >= 0.0005 else "<.001"  # SPSS 27 and later; before, .000


def rows():
    data = frame().assign(outcome=(frame()["religion"] % REFERENCE))  # MNLogit compares with the least
    fit = smf.mnlogit(f"outcome ~ age + children + C(occ, Treatment('{LAST}'))", data).fit(disp=0, tol=1e-12)
    yield "religiona,,B,Std. Error,Wald,df,Sig.,Exp(B),95% Confidence Interval for Exp(B),"
    yield ",,,,,,,,Lower Bound,Upper Bound"
    for at, outcome in enumerate((1, 2, 3)):
        for name in ["Intercept", "age", "children", *sorted(OCCUPATIONS.values())]:
            term = f"[occ={name}]" if name in OCCUPATIONS.values() else name
            head = f"{outcome if name == 'Intercept' else ''},{term}"
            if name == LAST:
                yield f"{head},0b,.,.,0,.,.,.,."
                continue
            row = name if name in fit.params.index else f"C(occ, Treatment('{LAST}'))[T.{name}]"
            b, error = fit.params.loc[row].iloc[at], fit.bse.loc[row].iloc[at]
            wald = (b / error) ** 2
            sides = [0.0, -Z, Z] if name != "Intercept" else []
            ratios = [printed(exp(b + z * error)) for z in sides] or ["", "", ""]
            yield ",".join([head, *map(printed, (b, error, wald)), "1", significance(chi2.sf(wald, 1)), *ratios])
    yield f"a. The reference category is: {REFERENCE}.,,,,,,,,,"
    yield "b. This parameter is set to zero because it is redundant.,,,,,,,,,"


if __name__ == "__main__":
    print("\n".join(rows()))
