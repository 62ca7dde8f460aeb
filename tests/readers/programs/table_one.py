"""Table ones of fair.csv as Python's tableone writes them: python table_one.py, where fair.csv lies."""

import warnings

import numpy as np
import pandas as pd
from tableone import TableOne

warnings.simplefilter("ignore")
data = pd.read_csv("fair.csv")
gaps = data.copy()
gaps.loc[16::17, "educ"] = np.nan
gaps.loc[22::23, "religion"] = np.nan
columns, levels = ["age", "yrs_married", "religion", "educ", "occ"], ["religion", "occ"]
for name, frame in (("tableone", data), ("tableone_gaps", gaps)):
    made = TableOne(frame, columns, levels, groupby="affair", nonnormal=["yrs_married"], pval=True, htest_name=True)
    made.to_csv(f"{name}.csv")
    made.to_html(f"{name}.html")
TableOne(gaps, ["age", "religion"], ["religion"]).to_csv("tableone_all.csv")
two = TableOne(
    gaps, ["age", "affair"], ["affair"], groupby="religion", pval=True, htest_name=True, smd=True, decimals=3
)
two.to_csv("tableone_by_four.csv")
