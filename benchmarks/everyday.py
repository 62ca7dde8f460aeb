"""Releases as people make them, over five seeds: python benchmarks/everyday.py [--only NAME] [--seeds N] [--quick]

One run of preset `fast` on each release and seed, one core. Numbers are counted by refit: right at their printed
digits, and within 1 % of their sampling error (or at their digits); the worst kind of output at its digits; processor
seconds of the run, and those after which a refit first had all numbers that near; why it stopped. A release is made
from a census excerpt (acs7.csv, 2019), from adult, or from statsmodels' `fair`; --data is the folder of the first two,
beside that of an ACRO session on the third.
--quick: two seeds, and the three releases that take least. --unmet lists the numbers that are not met. --switch: with
an operator off, by its name in ablation.py.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.datasets
from ablation import SWITCHES, switched
from outputs import MIXED
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from outrisk.codebook import Codebook
from outrisk.config import OutputEntry, read_study
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.load import load_study_data
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import release
from outrisk.outputs.conditions.derived import derived_in
from outrisk.outputs.of_one_table.told_together import tables_told
from outrisk.records.provenance import peak_memory_mb

ROOT = Path(__file__).resolve().parents[1]
CENSUS = "census/acs_us/acs7.csv"
SURVEY = "census/acs_us/acs_full.csv.gz"
ADULT = "adult/adult.csv.gz"
WITH_ERRORS = ["coefficients", "standard_errors"]
LOGIT = "TENURE ~ AGE + C(AREA) + C(ETHGROUP) + C(LTILL) + C(MSTATUS) * C(SEX) + AGE:C(SEX) + I(AGE**2)"
EVERYDAY = [
    {"kind": "logit", "formula": LOGIT, "event": 1, "release": [*WITH_ERRORS, "log_likelihood"], "decimals": 6},
    {"kind": "probit", "formula": "TENURE ~ AGE + C(SEX) + C(MSTATUS)", "event": 1, "where": "AGE >= 25",
     "release": [*WITH_ERRORS, "p_values"]},
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(MSTATUS) + C(LTILL)", "release": WITH_ERRORS},
    {"kind": "frequencies", "by": ["AREA", "TENURE"]},
    {"kind": "frequencies", "by": ["ETHGROUP", "TENURE"], "protection": {"threshold": 10}},
    {"kind": "frequencies", "by": ["AREA", "MSTATUS"], "protection": {"round_to": 5}},
    {"kind": "magnitudes", "value": "AGE", "by": ["MSTATUS"], "statistics": ["mean", "sd"]},
]  # fmt: skip
AT_4_DECIMALS, AT_2_DECIMALS = ([EVERYDAY[0] | {"decimals": decimals}, *EVERYDAY[1:]] for decimals in (4, 2))
LARGE = [
    {"kind": "logit", "event": ">50K", "release": WITH_ERRORS,
     "formula": "income ~ age + hours + C(sex) + C(race) + C(marital) + C(workclass) + C(education)"},
    {"kind": "frequencies", "by": ["education", "income"]},
    {"kind": "frequencies", "by": ["marital", "race"], "where": "age >= 30"},
]  # fmt: skip
GROUPS = [
    {"kind": "logit", "event": ">50K", "release": WITH_ERRORS,
     "formula": "income ~ age + hours + C(sex) + C(marital) + C(workclass) + C(country)"},
    {"kind": "frequencies", "by": ["education", "income"]},
    {"kind": "frequencies", "by": ["marital", "workclass"]},
    {"kind": "frequencies", "by": ["education", "marital"]},
    {"kind": "frequencies", "by": ["education", "workclass"]},
]  # fmt: skip
PAPER = [
    {"kind": "univariate", "variables": ["ETHGROUP", "LTILL", "MSTATUS", "SEX", "TENURE"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["TENURE"], "statistics": ["mean", "sd", "count"], "decimals": 1},
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"]},
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX) + C(LTILL)", "event": 1, "decimals": 2,
     "release": [*WITH_ERRORS, "p_values"]},
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(LTILL) + TENURE", "release": [*WITH_ERRORS, "r2"], "decimals": 2},
]  # fmt: skip
TWO = [
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX) + C(MSTATUS)", "event": 1, "decimals": 3,
     "release": [*WITH_ERRORS, "p_values"]},
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(LTILL) + C(ETHGROUP)", "decimals": 3,
     "release": [*WITH_ERRORS, "r2", "n"]},
]  # fmt: skip

BESIDE = [*TWO, *EVERYDAY[3:]]
SHORT = [
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": 1, "decimals": 3,
     "release": [*WITH_ERRORS, "p_values"]},
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(LTILL)", "decimals": 3, "release": [*WITH_ERRORS, "r2", "n"]},
]  # fmt: skip

PERCENTAGES = [
    {"kind": "frequencies", "by": ["AREA", "MSTATUS"], "show": "row_percentages", "margins": True},
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"], "show": "column_percentages"},
    {"kind": "frequencies", "by": ["SEX", "TENURE"], "show": "column_percentages", "margins": True},
    {"kind": "frequencies", "by": ["ETHGROUP", "TENURE"], "show": "row_percentages"},
]  # fmt: skip
DESCRIPTIVE = [
    {"kind": "univariate", "variables": ["SEX", "MSTATUS", "TENURE", "ETHGROUP"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["MSTATUS"], "statistics": ["mean", "sd", "count"], "decimals": 1},
    {"kind": "quantiles", "value": "AGE", "by": ["TENURE", "SEX"], "quantiles": [0.25, 0.5, 0.75]},
    {"kind": "frequencies", "by": ["MSTATUS", "SEX"]},
]  # fmt: skip
TESTED = [
    {"kind": "univariate", "variables": ["SEX", "MSTATUS", "ETHGROUP", "TENURE"]},
    *(
        {"kind": "frequencies", "by": [name, "TENURE"], "show": "column_percentages"}
        for name in ("SEX", "MSTATUS", "ETHGROUP")
    ),
    {"kind": "magnitudes", "value": "AGE", "by": ["TENURE"], "statistics": ["mean", "sd"], "decimals": 1},
    {"kind": "quantiles", "value": "AGE", "by": ["TENURE"], "quantiles": [0.25, 0.5, 0.75]},
    *(
        {"kind": "test", "test": "chi-square", "variable": name, "by": ["TENURE"], "statistics": ["p"]}
        for name in ("SEX", "MSTATUS", "ETHGROUP")
    ),
    {"kind": "test", "test": "t", "variable": "AGE", "by": ["TENURE"], "statistics": ["p"]},
    {"kind": "test", "test": "rank-sum", "variable": "AGE", "by": ["TENURE"], "statistics": ["p"]},
]  # fmt: skip
TABLE_ONE = [  # as R's and Python's tableone print it: p at three digits, means and standard deviations at one
    *(
        {"kind": "magnitudes", "value": name, "by": ["affair"], "statistics": ["mean", "sd"], "decimals": 1}
        for name in ("age", "educ", "children")
    ),
    *(
        {"kind": "test", "test": "welch", "variable": name, "by": ["affair"], "statistics": ["p"], "decimals": 3}
        for name in ("age", "educ", "children")
    ),
    *({"kind": "frequencies", "by": [name, "affair"]} for name in ("religious", "occupation", "rate_marriage")),
    *(
        {"kind": "test", "test": "chi-square", "variable": name, "by": ["affair"], "statistics": ["p"], "decimals": 3}
        for name in ("religious", "occupation", "rate_marriage")
    ),
]  # fmt: skip
STATISTICS = [
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"], "protection": {"round_to": 5}},
    {"kind": "frequencies", "by": ["SEX", "LTILL"], "protection": {"threshold": 10}},
    {"kind": "magnitudes", "value": "AGE", "by": ["MSTATUS"], "statistics": ["mean", "sd", "count"], "decimals": 1},
    {"kind": "test", "test": "chi-square", "variable": "MSTATUS", "by": ["TENURE"],
     "statistics": ["statistic", "df", "p", "cramers v"]},
    {"kind": "test", "test": "chi-square", "variable": "LTILL", "by": ["SEX"], "continuity": True},
    {"kind": "test", "test": "welch", "variable": "AGE", "by": ["LTILL"], "decimals": 2,
     "statistics": ["difference", "standard error", "statistic", "df", "p", "n"]},
    {"kind": "test", "test": "anova", "variable": "AGE", "by": ["MSTATUS"],
     "statistics": ["statistic", "df", "df within", "p"]},
    {"kind": "test", "test": "rank-sum", "variable": "AGE", "by": ["SEX"], "statistics": ["statistic", "z", "p"]},
    {"kind": "test", "test": "kruskal-wallis", "variable": "AGE", "by": ["ETHGROUP"]},
]  # fmt: skip
OF_SUBSETS = [
    {"kind": "univariate", "variables": ["TENURE", "MSTATUS", "SEX", "LTILL"]},
    *(
        {"kind": "frequencies", "name": f"illness where {where}", "by": ["MSTATUS", "LTILL"], "where": where,
         "show": "row_percentages"}
        for where in ("SEX == 1", "SEX == 2", "TENURE == 0", "AGE >= 65")
    ),
    {"kind": "frequencies", "by": ["TENURE", "LTILL"]},
    {"kind": "histogram", "value": "AGE", "breaks": [0, 20, 40, 60, 80, 100], "by": ["LTILL"]},
]  # fmt: skip
OF_CROSSING_SUBSETS = [
    {"kind": "univariate", "variables": ["AREA", "ETHGROUP", "MSTATUS", "SEX", "TENURE"]},
    {"kind": "frequencies", "by": ["MSTATUS", "LTILL"], "show": "row_percentages"},
    *(
        {"kind": "frequencies", "name": f"illness by {by} where {where}", "by": [by, "LTILL"], "where": where,
         "show": "row_percentages"}
        for by, where in (("ETHGROUP", "SEX == 1"), ("AREA", "TENURE == 0"), ("TENURE", "AGE >= 65"),
                          ("SEX", "MSTATUS == 1"))
    ),
]  # fmt: skip
BESIDE_PERCENTAGES = [
    TWO[0],
    {"kind": "frequencies", "by": ["AREA", "MSTATUS"], "show": "row_percentages"},
    {"kind": "magnitudes", "value": "AGE", "by": ["ETHGROUP", "SEX"], "statistics": ["mean"]},
]  # fmt: skip
SURVIVAL = [
    {"kind": "survival", "time": "AGE", "event": "LTILL", "event_value": 1, "by": "SEX",
     "times": list(range(10, 91, 10)), "statistics": ["survival", "at risk", "log-rank"]},
    {"kind": "frequencies", "by": ["LTILL", "SEX"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["AREA"], "statistics": ["mean", "sd"]},
]  # fmt: skip
ARMS = [
    {"kind": "frequencies", "by": ["ARM", "SEX"]},
    *({"kind": "frequencies", "by": [name, "ARM"], "show": "column_percentages"} for name in ("MSTATUS", "TENURE")),
    {"kind": "magnitudes", "value": "AGE", "by": ["ARM"], "statistics": ["mean", "sd"], "decimals": 1},
]  # fmt: skip
OF_ARMS = {"kind": "survival", "time": "MONTHS", "event": "DIED", "by": "ARM"}
TRIAL = [*ARMS, {**OF_ARMS, "times": [12, 24, 36, 48, 60],
                 "statistics": ["survival", "standard error", "at risk", "events", "log-rank"]}]  # fmt: skip
OF_ARM = [{"where": f"ARM == {arm}", "name": f"{{}} in arm {arm}"} for arm in (0, 1)]
MEANS = [  # means with limits, or standard errors, as Stata, SPSS and papers have them; two tables, one of their groups
    {"kind": "magnitudes", "value": "PRESSURE", "by": ["ARM", "SEX"], "statistics": ["mean", "limits"], "decimals": 1},
    {"kind": "magnitudes", "value": "SCORE", "by": ["ARM"], "statistics": ["mean", "standard error", "count"]},
    {"kind": "magnitudes", "value": "PRESSURE_AFTER", "statistics": ["mean", "sd", "standard error", "limits"],
     "by": ["ARM"]},
    {"kind": "magnitudes", "value": "SCORE_AFTER", "by": ["PAIN"], "statistics": ["mean", "limits", "count"]},
    {"kind": "frequencies", "by": ["ARM", "SEX"]},
    {"kind": "frequencies", "by": ["PAIN", "PAIN_AFTER"]},
]  # fmt: skip
BEFORE_AND_AFTER = [  # a small trial's two tables: who they are, and how both arms changed
    *[{"kind": "frequencies", "by": ["ARM", each]} for each in ("SEX", "PAIN", "PAIN_AFTER")],
    *[{"kind": "magnitudes", "value": each, "by": ["ARM"], "statistics": ["mean", "sd"], "decimals": 1}
      for each in ("PRESSURE", "PRESSURE_AFTER", "SCORE", "SCORE_AFTER")],
    *[{"kind": "test", "where": where["where"], "name": where["name"].format(test), "test": test, "variable": after,
       "paired": before, "statistics": statistics}
      for test, before, after, statistics in [
          ("paired t", "PRESSURE", "PRESSURE_AFTER", ["statistic", "df", "p", "difference", "cohens d"]),
          ("signed-rank", "SCORE", "SCORE_AFTER", ["statistic", "p"]),
          ("mcnemar", "PAIN", "PAIN_AFTER", ["statistic", "df", "p", "n"])]
      for where in OF_ARM],
    {"kind": "test", "test": "welch", "variable": "PRESSURE_AFTER", "by": ["ARM"],
     "statistics": ["statistic", "df", "p", "cohens d"]},
    {"kind": "test", "test": "rank-sum", "variable": "SCORE_AFTER", "by": ["ARM"], "statistics": ["p", "auc"]},
]  # fmt: skip
TREND_AND_RANKS = [  # answers in steps: a trend, ranks, and how the same women answered twice
    {"kind": "frequencies", "by": ["rate_marriage", "affair"]},
    {"kind": "univariate", "variables": ["religious", "again"]},
    {"kind": "magnitudes", "value": "age", "by": ["religious"], "statistics": ["mean", "sd"], "decimals": 1},
    {"kind": "test", "test": "trend", "variable": "affair", "by": ["religious"], "statistics": ["statistic", "p"]},
    {"kind": "test", "test": "linear-by-linear", "variable": "religious", "by": ["rate_marriage"],
     "statistics": ["statistic", "p"]},
    {"kind": "test", "test": "spearman", "variable": "rate_marriage", "paired": "age", "statistics": ["r", "p"]},
    {"kind": "test", "test": "pearson", "variable": "children", "paired": "age",
     "statistics": ["r", "p", "lower limit", "upper limit"]},
    {"kind": "test", "test": "kappa", "variable": "again", "paired": "rate_marriage", "weights": "linear",
     "statistics": ["kappa", "lower limit", "upper limit", "agreement"]},
]  # fmt: skip
HAZARDS = {"kind": "cox", "status": "DIED", "formula": "MONTHS ~ C(ARM) + AGE + C(SEX) + C(TENURE)"}
RATIOS = {"release": ["coefficients", "confidence_limits", "p_values", "n", "events"], "exponentiate": True,
          "decimals": {"coefficients": 2, "confidence_limits": 2, "p_values": 3}}  # fmt: skip
COX = [*TRIAL, {**HAZARDS, **RATIOS, "name": "crude", "formula": "MONTHS ~ C(ARM)"}, {**HAZARDS, **RATIOS}]
RATES = [  # of deaths per 1,000 person-months: one table with the deaths, one with limits alone, as papers print them
    {"kind": "univariate", "variables": ["ARM", "SEX", "TENURE"]},
    {
        "kind": "rates",
        "numerator": "DIED",
        "denominator": "MONTHS",
        "by": ["ARM"],
        "statistics": ["numerator", "denominator", "rate", "limits"],
        "per": 1000,
    },
    {
        "kind": "rates",
        "numerator": "DIED",
        "denominator": "MONTHS",
        "by": ["SEX", "TENURE"],
        "statistics": ["rate", "limits"],
        "per": 1000,
        "decimals": 1,
    },
    {"kind": "magnitudes", "value": "AGE", "by": ["ARM"], "statistics": ["mean", "sd"], "decimals": 1},
]
EUROPE = {
    "00-14": 16_000,
    "15-29": 16_500,
    "30-44": 20_000,
    "45-59": 20_500,
    "60 on": 27_000,
}  # near the European standard population of 2013
OF_EUROPE = {
    "kind": "standardised",
    "event": "DIED",
    "over": ["BAND"],
    "standard": EUROPE,
    "time": "MONTHS",
    "per": 1000,
    "decimals": 1,
}
STANDARDISED = [  # of deaths per 1,000 person-months, by sex, by region, and beside those expected
    {"kind": "univariate", "variables": ["REGION", "SEX", "TENURE"]},
    {"kind": "frequencies", "by": ["BAND", "SEX"]},
    {**OF_EUROPE, "by": ["SEX"], "statistics": ["events", "person-time", "crude rate", "rate", "limits"]},
    {**OF_EUROPE, "by": ["REGION"], "statistics": ["rate", "limits"], "interval": "dobson-byar"},
    {
        "kind": "standardised",
        "event": "DIED",
        "over": ["BAND", "SEX"],
        "by": ["REGION"],
        "time": "MONTHS",
        "method": "indirect",
        "per": 1000,
        "reference": {f"{band}, {sex}": 8 + 3 * at for at, band in enumerate(EUROPE) for sex in (1, 2)},
        "statistics": ["events", "expected", "ratio", "limits"],
        "decimals": {"expected": 1},
    },
]
PREVALENCES = [  # percentages of a state, standardised as health surveys print them
    {"kind": "univariate", "variables": ["REGION", "SEX", "TENURE"]},
    {"kind": "frequencies", "by": ["BAND", "SEX"]},
    *(
        {
            **{"kind": "standardised", "event": "TENURE", "over": ["BAND"], "standard": EUROPE, "by": [by]},
            **{"statistics": ["n", "crude rate", "rate", "limits"], "per": 100, "decimals": 1},
        }
        for by in ("SEX", "REGION")
    ),
]
PROPORTIONS = [  # percentages of a state with exact limits, and of each of several with Wilson's, as surveys print them
    {"kind": "frequencies", "by": ["BAND", "SEX"]},
    {"kind": "magnitudes", "value": "MONTHS", "by": ["REGION"], "statistics": ["mean", "sd"], "decimals": 1},
    {
        **{"kind": "proportions", "event": "TENURE", "by": ["REGION", "SEX"], "per": 100},
        "statistics": ["proportion", "limits"],
    },
    {
        **{"kind": "proportions", "event": "MSTATUS", "by": ["BAND"], "per": 100, "interval": "wilson"},
        "statistics": ["proportion", "standard error", "limits"],
    },
]
DESIGN = {"weights": "WEIGHT", "strata": "STRATUM", "psu": "PSU"}
BY_DESIGN = [  # what a report of a survey has: means and percentages with limits, one logit, how many were asked
    {"kind": "frequencies", "by": ["SEX", "TENURE"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["SEX"], "statistics": ["mean", "standard error", "limits"],
     "decimals": 1, "design": DESIGN},
    {"kind": "proportions", "event": "TENURE", "by": ["MSTATUS"], "per": 100, "statistics": ["proportion", "limits"],
     "design": DESIGN},
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": 1, "release": WITH_ERRORS, "decimals": 3,
     "design": DESIGN},
]  # fmt: skip
ASSOCIATIONS = [  # of deaths with a treatment, over age, of deaths by region, and of a tenure with sex, over regions
    {"kind": "univariate", "variables": ["REGION", "SEX", "TENURE"]},
    {"kind": "frequencies", "by": ["BAND", "ARM"]},
    {
        "kind": "association",
        "event": "DIED",
        "exposure": "ARM",
        "over": ["BAND"],
        "show": ["strata", "crude", "pooled"],
        "statistics": ["risk ratio", "risk difference", "limits"],
        "decimals": {"risk difference": 3},
    },
    {
        "kind": "association",
        "event": "DIED",
        "exposure": "REGION",
        "statistics": ["n", "cases", "risk", "odds ratio", "limits"],
        "per": 100,
        "decimals": {"risk": 1},
    },
    {
        "kind": "association",
        "event": "TENURE",
        "exposure": "SEX",
        "over": ["REGION"],
        "statistics": ["odds ratio", "limits", "chi-square", "p"],
        "decimals": {"p": 3},
    },
]
LOG_HAZARDS = [*ARMS, {**HAZARDS, "release": ["coefficients", "standard_errors", "log_likelihood"], "decimals": 4}]
EVERY_MONTH = [*ARMS, {**OF_ARMS, "statistics": ["survival", "at risk", "events"]}]
QUARTILES = [
    *TWO,
    {"kind": "quantiles", "value": "AGE", "by": ["SEX"], "quantiles": [0.25, 0.5, 0.75]},
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"]},
]  # fmt: skip
BESIDE_QUARTILES = [TWO[0], QUARTILES[2] | {"by": ["MSTATUS"]}]
ODDS = [
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": 1, "decimals": 2, "exponentiate": True,
     "release": ["coefficients", "confidence_limits", "p_values"]},
]  # fmt: skip
WEIGHTED = [
    {"kind": "univariate", "variables": ["AGE", "SEX", "OWN_RENT"]},
    *(
        {"kind": "frequencies", "by": [by, "DPHY"], "show": "row_percentages", "weight": "PWGTP"}
        for by in ("AGE", "SEX")
    ),
    {"kind": "magnitudes", "value": "POVPIP", "by": ["DPHY"], "weight": "PWGTP", "decimals": 1},
]  # fmt: skip
ODDS_BESIDE = [
    {"kind": "univariate", "variables": ["SEX", "MSTATUS", "ETHGROUP"]},
    *({"kind": "frequencies", "by": [by, "LTILL"], "show": "row_percentages"} for by in ("MSTATUS", "ETHGROUP")),
    {"kind": "logit", "formula": "LTILL ~ AGE + C(SEX) + C(MSTATUS) + C(ETHGROUP)", "event": 1, "exponentiate": True,
     "decimals": {"coefficients": 2, "confidence_limits": 2, "p_values": 3},
     "release": ["coefficients", "confidence_limits", "p_values", "n"]},
]  # fmt: skip
_ILL = [
    {"kind": "ols", "formula": "LTILL ~ AGE + C(SEX)", "release": [*WITH_ERRORS, "r2", "n"]},
    {"kind": "ols", "formula": "LTILL ~ AGE + I(AGE**2) + C(SEX) + C(MSTATUS) + C(ETHGROUP)",
     "release": [*WITH_ERRORS, "r2", "n"]},
    {"kind": "logit", "formula": "LTILL ~ AGE + C(SEX) + C(MSTATUS)", "event": 1,
     "release": [*WITH_ERRORS, "p_values", "n"], "decimals": 3},
]  # fmt: skip
_BEFORE = [
    {"kind": "univariate", "variables": ["SEX", "MSTATUS", "ETHGROUP", "TENURE"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["LTILL"], "statistics": ["mean", "sd", "count"], "decimals": 1},
]  # fmt: skip
ROBUST = [*_BEFORE, *({**each, "covariance": "robust"} for each in _ILL)]
CLUSTERED = [*_BEFORE, *({**each, "cluster": "AREA"} for each in _ILL)]
PROBABILITIES = [
    *_BEFORE,
    *({**each, "release": [*WITH_ERRORS, "p_values", "r2", "n"]} for each in _ILL[:2]),
    {"kind": "logit", "formula": "LTILL ~ AGE + C(SEX) + C(MSTATUS)", "event": 1, "exponentiate": True, "decimals": 2,
     "release": ["coefficients", "confidence_limits", "p_values", "n"]},
]  # fmt: skip
BANDS = [
    {"kind": "univariate", "variables": ["BAND", "SEX", "MSTATUS"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["LTILL"], "statistics": ["mean", "sd", "count"], "decimals": 1},
    {"kind": "frequencies", "by": ["BAND", "LTILL"], "show": "row_percentages"},
    {"kind": "frequencies", "by": ["BAND", "TENURE"], "show": "row_percentages", "where": "SEX == 2"},
    {"kind": "frequencies", "by": ["BAND", "ETHGROUP"]},
    {"kind": "logit", "formula": "LTILL ~ AGE + C(SEX)", "event": 1, "release": [*WITH_ERRORS, "n"], "decimals": 3},
    {"kind": "logit", "formula": "TENURE ~ C(BAND) + C(SEX)", "event": 1, "decimals": 2,
     "exponentiate": True, "release": ["coefficients", "confidence_limits", "p_values", "n"]},
]  # fmt: skip
AS_RATIOS = {
    "exponentiate": True, "release": ["coefficients", "confidence_limits", "p_values", "n"],
    "decimals": {"coefficients": 2, "confidence_limits": 2, "p_values": 3},
}  # fmt: skip
ON_ALL = "C(AGE) + C(SEX) + C(DPHY) + C(OWN_RENT)"
RANKED = [
    {"kind": "univariate", "variables": ["AGE", "SEX", "DPHY", "OWN_RENT", "EDU"]},
    {"kind": "magnitudes", "value": "NOC", "by": ["AGE"], "statistics": ["mean", "sd"]},
    {"kind": "ologit", "formula": f"EDU ~ {ON_ALL}", **AS_RATIOS},
    {"kind": "negbin", "formula": f"NOC ~ {ON_ALL}", **AS_RATIOS},
]  # fmt: skip
BY_SURVEY = [
    *WEIGHTED,
    {"kind": "logit", "formula": "DPHY ~ C(AGE) + C(SEX) + C(OWN_RENT)", "event": 1, "weight": "PWGTP",
     "covariance": "robust", "release": [*WITH_ERRORS, "confidence_limits"], "decimals": 3},
]  # fmt: skip
ONE = [
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(LTILL) + TENURE", "decimals": 2, "release": [*WITH_ERRORS, "r2"]},
]
WAGES = [
    {"kind": "magnitudes", "value": "wage", "by": ["sex"], "statistics": ["mean", "sd"], "decimals": 0},
    {"kind": "magnitudes", "value": "wage", "by": ["education"], "statistics": ["mean"], "decimals": 0},
    {"kind": "quantiles", "value": "wage", "by": ["sex"], "quantiles": [0.25, 0.5, 0.75]},
    {"kind": "frequencies", "by": ["education", "sex"]},
]  # fmt: skip
ONE_OF_WAGES = [WAGES[1] | {"by": ["education", "sex"], "statistics": ["mean", "sd", "count"]}]
CROSSED = [
    *(
        {"kind": "magnitudes", "value": value, "by": by, "statistics": ["mean", "sd"], "decimals": 4}
        for value in ("wage", "age")
        for by in (["sex", "marital"], ["education"], ["income", "sex"])
    ),
    WAGES[3],
    {"kind": "frequencies", "by": ["sex", "marital", "income"]},
]  # fmt: skip
MEDIANS = [WAGES[2] | {"by": ["education"]}, WAGES[3]]
QUARTILES_OF_STATA = [each | {"program": "stata"} for each in (WAGES[2], WAGES[2] | {"by": ["education"]})] + [WAGES[3]]
OF_WAGES = [
    *WAGES,
    {"kind": "ols", "formula": "wage ~ age + C(sex) + hours", "decimals": 2, "release": [*WITH_ERRORS, "r2"]},
]
MEDIAN_FIT = [  # a median regression of wages beside what a paper prints of them
    {"kind": "quantreg", "formula": "wage ~ age + C(sex) + hours",
     "release": [*WITH_ERRORS, "p_values", "n", "deviations", "pseudo_r2"],
     "decimals": {"coefficients": 2, "standard_errors": 2, "p_values": 3, "deviations": 0, "pseudo_r2": 4}},
    {"kind": "magnitudes", "value": "wage", "by": ["sex"], "statistics": ["count", "mean", "sd"], "decimals": 0},
    {"kind": "frequencies", "by": ["education", "sex"]},
]  # fmt: skip
QUARTILE_FITS = [  # and both quartiles of hours, which most people have alike
    *MEDIAN_FIT,
    {"kind": "quantreg", "formula": "hours ~ age + C(sex) + C(income)", "tau": [0.25, 0.75]},
    {"kind": "frequencies", "by": ["income", "sex"]},
]
SHAPES = [  # an inequality table, a concentration table, and what `summarize, detail` prints, beside a table
    {"kind": "magnitudes", "value": "wage", "by": ["marital"], "statistics": ["count", "mean", "sd"], "decimals": 0},
    {"kind": "quantiles", "value": "wage", "by": ["marital"], "quantiles": [0.5]},
    {"kind": "shape", "value": "wage", "by": ["marital"], "statistics": ["gini", "cv"]},
    {"kind": "shape", "value": "wage", "by": ["sex"], "statistics": ["hhi", "cr4"], "decimals": 4},
    {"kind": "shape", "value": "wage", "by": ["sex"], "statistics": ["skewness", "kurtosis"], "decimals": 2},
    {"kind": "frequencies", "by": ["marital", "sex"]},
]  # fmt: skip
EFFECTS = {"kind": "margins", "formula": "TENURE ~ AGE + C(SEX) + C(MSTATUS) + C(LTILL)", "event": 1}
MARGINS = [  # a table of coefficients and marginal effects, predictive margins, and effects of a model not printed
    EFFECTS | {"kind": "logit", "release": [*WITH_ERRORS, "n"]},
    EFFECTS | {"release": ["margins", "standard_errors", "p_values", "n"]},
    EFFECTS | {"predictions": ["MSTATUS"], "release": ["margins", "confidence_limits"]},
    EFFECTS | {"model": "probit", "formula": "LTILL ~ AGE * C(SEX) + C(ETHGROUP)", "dydx": ["AGE", "SEX"],
               "covariance": "robust", "release": ["margins", "standard_errors"], "decimals": 3},
    {"kind": "frequencies", "by": ["TENURE", "SEX"]},
    {"kind": "frequencies", "by": ["MSTATUS", "LTILL"]},
]  # fmt: skip
GAINS = [
    {"kind": "magnitudes", "value": "capital_gain", "by": ["sex"], "statistics": ["mean", "sd"], "decimals": 1},
    {"kind": "magnitudes", "value": "capital_gain", "by": ["education"], "statistics": ["mean"], "decimals": 0},
    {"kind": "frequencies", "by": ["education", "income"]},
    {"kind": "frequencies", "by": ["sex", "marital"]},
]  # fmt: skip


OF_EXPOSURE = {
    "kind": "logit", "event": 1, "keep": "LTILL", "exponentiate": True,
    "release": ["coefficients", "confidence_limits", "p_values", "n"],
    "decimals": RATIOS["decimals"],
}  # fmt: skip
ADJUSTED = [
    *({"kind": "frequencies", "by": ["LTILL", each]} for each in ("SEX", "MSTATUS", "TENURE", "ETHGROUP")),
    {"kind": "magnitudes", "value": "AGE", "by": ["LTILL"], "statistics": ["mean", "sd"], "decimals": 1},
    OF_EXPOSURE | {"formula": "TENURE ~ C(LTILL)"},
    OF_EXPOSURE | {"formula": "TENURE ~ C(LTILL) + AGE + C(SEX)"},
    OF_EXPOSURE | {"formula": "TENURE ~ C(LTILL) + AGE + C(SEX) + C(MSTATUS) + C(ETHGROUP)"},
    OF_EXPOSURE | {"formula": "TENURE ~ C(LTILL) + AGE", "where": "SEX == 1"},
    OF_EXPOSURE | {"formula": "TENURE ~ C(LTILL) + AGE", "where": "SEX == 2"},
]
CRUDE = [
    {"kind": "univariate", "variables": ["LTILL", "SEX", "MSTATUS", "ETHGROUP"]},
    {"kind": "magnitudes", "value": "AGE", "statistics": ["mean", "sd"], "decimals": 1},
    *(
        OF_EXPOSURE | {"formula": f"TENURE ~ C({each})", "keep": each}
        for each in ("LTILL", "SEX", "MSTATUS", "ETHGROUP")
    ),
]


def many():
    """Twenty tables, twenty regressions and ten summaries of the census excerpt."""
    names = ["AREA", "ETHGROUP", "LTILL", "MSTATUS", "SEX", "TENURE"]
    pairs = [(one, two) for at, one in enumerate(names) for two in names[at + 1 :]]
    tables = [{"kind": "frequencies", "by": list(by)} for by in pairs]
    tables += [{"kind": "frequencies", "by": ["AGE", name]} for name in ("SEX", "TENURE", "LTILL")]
    tables += [{"kind": "frequencies", "by": by} for by in (["LTILL", "SEX", "TENURE"], ["MSTATUS", "SEX", "TENURE"])]
    designs = ["AGE + C(SEX)", "AGE + C(MSTATUS)", "C(ETHGROUP) + C(SEX)", "AGE + C(LTILL) + C(SEX)", "AGE + I(AGE**2)"]
    fits = [
        {"kind": kind, "formula": f"TENURE ~ {design}", "event": 1}
        for kind in ("logit", "probit")
        for design in designs
    ]
    fits += [
        {"kind": "logit", "formula": f"LTILL ~ {design}", "event": 1}
        for design in ("AGE + C(SEX)", "AGE + TENURE", "C(ETHGROUP) + AGE", "C(MSTATUS) + C(SEX)", "TENURE + C(SEX)")
    ]
    fits += [
        {"kind": "ols", "formula": f"AGE ~ {design}"}
        for design in ("C(SEX) + TENURE", "C(MSTATUS)", "C(LTILL) + C(SEX)", "C(ETHGROUP)", "TENURE + C(LTILL)")
    ]
    fits = [fit | {"release": WITH_ERRORS} for fit in fits]
    sums = [{"kind": "magnitudes", "value": "AGE", "by": [name], "statistics": ["mean", "sd"]} for name in names]
    sums += [
        {"kind": "quantiles", "value": "AGE", "by": [name], "quantiles": [0.25, 0.5, 0.75]}
        for name in ("SEX", "TENURE", "MSTATUS")
    ]
    sums.append({"kind": "correlations", "variables": ["AGE", "LTILL", "SEX", "TENURE"]})
    return [*tables, *fits, *sums]


def asked(codebook, n, released, rules=()):
    """What is asked, as a study asks it."""
    return Problem(codebook, n, tuple(released), rules, told=tables_told(codebook, released))


def problem_of(frame, entries, codebook=None, derive=None):
    """What is asked: the released outputs of these records, and their codebook, by default as they are; and what is
    derived in them.
    """
    codebook = codebook or infer_codebook(frame.reset_index(drop=True))[0]
    data = from_frame(frame.reset_index(drop=True), codebook)
    adapter = TypeAdapter(OutputEntry)
    outputs = [o for at, entry in enumerate(entries, 1) for o in adapter.validate_python(entry).build(codebook, at)]
    rules = tuple(rule.mask for rule in derived_in(codebook, derive or {}).values())
    return asked(codebook, len(data), [release(output, data) for output in outputs], rules)


def of_2019(folder, n):
    """People of the census excerpt, all of them if n is None; drawn again where there are fewer."""
    frame = pd.read_csv(folder / CENSUS)
    frame = frame[frame["YEAR"] == 2019].drop(columns="YEAR")
    frame["ETHGROUP"] = frame["ETHGROUP"].replace({5: 4, 6: 5, 7: 6})  # 32 people had 5
    return frame if n is None else frame.sample(n, replace=n > len(frame), random_state=1)


def census(folder, n, entries):
    return problem_of(of_2019(folder, n), entries)


def banded(folder, n, entries):
    """People of the census with an age band beside their age, which follows from it."""
    frame = of_2019(folder, n)
    return problem_of(frame.assign(BAND=frame["AGE"] // 20), entries, derive={"BAND": "AGE // 20"})


def women(folder, n, entries):
    """Women of Fair's survey (statsmodels), drawn again where there are fewer."""
    frame = statsmodels.datasets.fair.load_pandas().data
    whole = ["rate_marriage", "religious", "educ", "occupation"]
    frame = frame.assign(affair=(frame["affairs"] > 0).astype(int)).astype(dict.fromkeys(whole, int))
    names = ["affair", "age", "children", *whole]
    return problem_of(frame[names].sample(n, replace=n > len(frame), random_state=1), entries)


def women_twice(folder, n, entries):
    """The same, with a second answer on their marriage, drawn: three in five give the same, others one next to it."""
    frame = statsmodels.datasets.fair.load_pandas().data
    frame = frame.assign(affair=(frame["affairs"] > 0).astype(int))
    frame = frame.sample(n, replace=n > len(frame), random_state=1)
    step = np.random.default_rng(1).choice([-1, 0, 1], n, p=[0.2, 0.6, 0.2])
    frame["again"] = np.clip(frame["rate_marriage"] + step, 1, 5)
    whole = ["rate_marriage", "again", "religious"]
    return problem_of(frame.astype(dict.fromkeys(whole, int))[["affair", "age", "children", *whole]], entries)


def adults(folder, n, names):
    """People of adult, resampled; rare levels are merged, which a logit of income has no coefficient for."""
    frame = pd.read_csv(folder / ADULT).rename(columns=SHORT_NAMES)
    rare = {"Married-AF-spouse": "Married-civ-spouse", "Never-worked": "?", "Without-pay": "?", "Preschool": "1st-4th"}
    frame = frame.replace({"marital": rare, "workclass": rare, "education": rare})
    most = frame["country"].value_counts().index[:9]
    frame["country"] = frame["country"].where(frame["country"].isin(most), "Elsewhere")
    return frame.replace("?", "Unknown")[names].sample(n, replace=True, random_state=1)


def survey(folder, n, entries):
    """Adults of the census excerpt with their survey weights, in steps of 10; drawn again where there are fewer."""
    frame = pd.read_csv(folder / SURVEY)
    frame = frame[(frame["YEAR"] == 2019) & (frame["HOUSING_TYPE"] == 1) & (frame["AGEP"] >= 18)]
    bands = pd.cut(frame["AGEP"], [17, 34, 49, 64, 99], labels=["18-34", "35-49", "50-64", "65+"]).astype(str)
    frame = frame.assign(AGE=bands, PWGTP=frame["PWGTP"] // 10 * 10 + 5, POVPIP=frame["POVPIP"].astype(int))
    names = ["AGE", "SEX", "DPHY", "OWN_RENT", "POVPIP", "PWGTP"]
    return problem_of(frame[names].sample(n, replace=n > len(frame), random_state=1), entries)


def ranked(folder, n, entries):
    """Adults of the census excerpt with their education in five steps and their number of children; drawn again where
    there are fewer.
    """
    frame = pd.read_csv(folder / SURVEY)
    frame = frame[(frame["YEAR"] == 2019) & (frame["HOUSING_TYPE"] == 1) & (frame["AGEP"] >= 18)]
    frame = frame[(frame["NOC"] != "N") & (frame["EDU"] != "N")]
    bands = pd.cut(frame["AGEP"], [17, 34, 49, 64, 99], labels=["18-34", "35-49", "50-64", "65+"]).astype(str)
    steps = pd.cut(frame["EDU"].astype(int), [0, 4, 5, 8, 9, 12], labels=[1, 2, 3, 4, 5]).astype(int)
    frame = frame.assign(AGE=bands, EDU=steps, NOC=frame["NOC"].astype(int))
    names = ["AGE", "SEX", "DPHY", "OWN_RENT", "EDU", "NOC"]
    return problem_of(frame[names].sample(n, replace=n > len(frame), random_state=1), entries)


def incomes(folder, n, entries):
    """People of adult, with a wage that is drawn: nothing at hand has wages. To 50, of 0 to 500,000; capital gains to
    100, most of which are 0.
    """
    frame = adults(folder, n, ["age", "sex", "education", "income", "hours", "marital", "capital_gain"])
    level = frame["education"].astype("category").cat.codes
    log = 9.6 + 0.012 * frame["age"] - 0.25 * (frame["sex"] == "Female") + 0.05 * level
    wage = np.exp(np.random.default_rng(5).normal(log, 0.75))
    frame["wage"] = (50 * (wage / 50).round()).clip(0, 500_000).astype(int)
    frame["capital_gain"] = (100 * (frame["capital_gain"] / 100).round()).astype(int)
    codebook, _ = infer_codebook(frame.reset_index(drop=True))
    wide = {"wage": tuple(range(0, 500_001, 50)), "capital_gain": tuple(range(0, 100_001, 100))}
    found = [replace(v, kind="integer", values=wide[v.name]) if v.name in wide else v for v in codebook.variables]
    return problem_of(frame, entries, Codebook(tuple(found)))


def followed(folder, n, entries, least=1, more=()):
    """People of the census in two arms, whose months until they died are drawn: nothing at hand has follow-up. Up to
    60; hazards grow with age and are less by a third in one arm; some leave at any time from the `least` month on.
    more: columns beside; BAND is of fifteen years of age, the last from 60 on, REGION one of four sets of areas.
    """
    frame = pd.read_csv(folder / CENSUS)
    band = pd.cut(frame["AGE"], [0, 15, 30, 45, 60, np.inf], right=False, labels=list(EUROPE)).astype(str)
    frame = frame.assign(BAND=band, REGION=frame["AREA"].str[:2].astype(int) // 15)
    frame = frame[frame["YEAR"] == 2019][["SEX", "AGE", "MSTATUS", "TENURE", *more]]
    frame = frame.sample(n, replace=n > len(frame), random_state=1)
    rng = np.random.default_rng(1)
    frame["ARM"] = rng.integers(0, 2, n)
    hazards = np.exp(-4.2 + 0.02 * (frame["AGE"] - 40) - 0.4 * frame["ARM"])
    until, left = rng.exponential(1 / hazards), rng.uniform(least, 90, n)
    frame["MONTHS"] = np.clip(np.ceil(np.minimum(until, left)), 1, 60).astype(int)
    frame["DIED"] = ((until <= left) & (until <= 60)).astype(int)
    return problem_of(frame, entries)


def sampled(folder, n):
    """People of the census as a survey of 4 strata and 40 PSUs would have them: two PSUs an area, five areas a stratum,
    and weights of a stratum, times 1, 1.25 or 1.5.
    """
    frame = pd.read_csv(folder / CENSUS)
    frame = frame[frame["YEAR"] == 2019].sample(n, replace=n > 20_000, random_state=1)
    rng = np.random.default_rng(1)
    psu = 2 * pd.factorize(frame["AREA"], sort=True)[0] % 40 + rng.integers(0, 2, n)
    weight = np.array([40, 80, 120, 200])[psu // 10] * rng.choice([1.0, 1.25, 1.5], n)
    frame = frame[["SEX", "AGE", "MSTATUS", "TENURE"]].assign(PSU=psu, STRATUM=psu // 10, WEIGHT=weight)
    return problem_of(frame, BY_DESIGN, derive={"STRATUM": "PSU // 10"})


def treated(folder, n, entries):
    """A trial of two arms, drawn: blood pressure, a score from 0 to 10 and pain, before and after; less of all of them
    in one arm, and few have changed their pain.
    """
    rng = np.random.default_rng(1)
    arm, sex, severity = rng.integers(0, 2, n), rng.choice(["f", "m"], n), rng.normal(0, 1, n)
    pressure = 140 + 12 * severity + rng.normal(0, 6, n)
    score, pain = 5 + 1.5 * severity + rng.normal(0, 1, n), severity + rng.normal(0, 1, n) > 0
    changed = rng.random(n)
    after = np.where(pain, changed > 0.15 + 0.15 * arm, changed < 0.08)
    frame = pd.DataFrame({"ARM": arm, "SEX": sex, "PAIN": pain, "PAIN_AFTER": after}).replace(
        {False: "no", True: "yes"}
    )
    for name, before, less, most in (("PRESSURE", pressure, 4 + 5 * arm, 200), ("SCORE", score, 0.5 + arm, 10)):
        for ending, values in (("", before), ("_AFTER", before - less + rng.normal(0, before.std() / 2, n))):
            frame[name + ending] = np.clip(np.round(values), 0, most).astype(int)
    return problem_of(frame, entries)


def adult(folder, n, names, entries):
    return problem_of(adults(folder, n, names), entries)


def fair(folder, half=None):
    """`half`: one of the women drawn with this seed, as the runs have that are compared with a holdout."""
    study = read_study(ROOT / "configs" / "fair-regressions.yaml")
    data = load_study_data(study).original
    if half is not None:
        data = data.take(np.random.default_rng(half).permutation(len(data))[: len(data) // 2])
    return asked(data.codebook, len(data), [release(output, data) for output in study.outputs(data.codebook)])


def session(folder):
    """All that can be assessed of an ACRO session on `fair`, as `outrisk init --acro` reads it."""
    raw = statsmodels.datasets.fair.load_pandas().data
    jobs = ("student", "unskilled", "white_collar", "teacher_nurse", "managerial", "professional")
    names = {"rate_marriage": "marriage", "religious": "religion", "occupation": "occ"}
    frame = raw.rename(columns=names).assign(affair=(raw.affairs > 0).astype(int))
    frame = frame.astype({"marriage": int, "religion": int, "educ": int, "occ": int})
    frame["occ"] = frame.occ.map(dict(enumerate(jobs, 1)))
    with tempfile.TemporaryDirectory() as made:
        acro, data, file = folder.parent / "fixtures" / "acro_fair", Path(made, "data.csv"), Path(made, "session.yaml")
        frame.to_csv(data, index=False)
        command = [sys.executable, "-m", "outrisk", "init", "--acro", acro, "--data", data, "--out", file]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        study = read_study(file)
        original = load_study_data(study).original
        given = study.given(original.codebook)
        outputs = study.outputs(original.codebook)
        released = [given.get(output.name) or release(output, original) for output in outputs]
    return asked(original.codebook, len(original), released)


def effects(folder, n, firms, by, cluster=""):
    """Wages of people of so many made firms in six years, of normal effects; a regression with fixed effects of `by`,
    beside counts by firm and means.
    """
    rng = np.random.default_rng(1)
    firm, year, own = rng.integers(0, firms, n), rng.integers(2015, 2021, n), 2.0 * rng.normal(size=firms)
    exper = np.clip(np.round(rng.gamma(3.0, 5.0, n) + own[firm]), 0, 45).astype(int)
    train = rng.random(n) < 0.25 + 0.02 * (exper > 15)
    wage = 12 + 0.18 * exper + 1.4 * train + own[firm] + 0.3 * (year - 2015) + 3.0 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "firm": [f"f{each:04d}" for each in firm],
            "year": [f"y{each}" for each in year],
            "exper": exper,
            "train": np.where(train, "yes", "no"),
            "wage": np.round(np.clip(wage, 4.0, 60.0), 1),
        }
    )
    entries = [
        {"kind": "ols", "formula": "wage ~ exper + train", "absorb": by, "decimals": {"f": 2}, "release": OF_EFFECTS},
        {"kind": "frequencies", "by": ["firm"]},
        {"kind": "frequencies", "by": ["year", "train"]},
        {"kind": "magnitudes", "value": "wage", "by": ["train"], "statistics": ["mean", "sd", "count"]},
        {"kind": "magnitudes", "value": "exper", "by": ["year"], "statistics": ["mean", "sd"]},
    ]
    return problem_of(frame, [entries[0] | ({"cluster": cluster} if cluster else {}), *entries[1:]])


def pupils(folder, n, schools, how):
    """Scores of pupils of so many made schools, of normal effects; a model with a random intercept beside counts by
    school and means. how: its method and program, and what is released of it.
    """
    rng = np.random.default_rng(1)
    school, own, size = rng.integers(0, schools, n), 4.0 * rng.normal(size=schools), rng.integers(1, 6, schools)
    hours = np.clip(np.round(rng.gamma(3.0, 3.0, n) + 0.5 * own[school]), 0, 25).astype(int)
    sex = np.where(rng.random(n) < 0.5, "girl", "boy")
    score = 50 + 1.2 * hours + 2.0 * (sex == "girl") + size[school] + own[school] + 8.0 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "school": [f"s{each:04d}" for each in school],
            "size": size[school],
            "hours": hours,
            "sex": sex,
            "score": np.round(np.clip(score, 0, 120)).astype(int),
        }
    )
    entries = [
        {"kind": "mixed", "formula": "score ~ hours + sex", "groups": "school"} | how,
        {"kind": "frequencies", "by": ["school"]},
        {"kind": "frequencies", "by": ["size", "sex"]},
        {"kind": "magnitudes", "value": "score", "by": ["sex"], "statistics": ["mean", "sd", "count"]},
        {"kind": "magnitudes", "value": "hours", "by": ["size"], "statistics": ["mean", "sd"]},
    ]
    return problem_of(frame, entries)


def schooling(folder, n, how):
    """Wages of made people whose schooling follows what also moves their wages, and the distance to a college, the
    quarter of birth and the region; a regression with these as instruments beside counts and means. how: by which
    program, and what is released of it.
    """
    rng = np.random.default_rng(1)
    hidden, far, quarter = rng.normal(size=n), rng.integers(0, 10, n), rng.integers(1, 5, n)
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    school = np.clip(np.round(13 - 0.25 * far + 0.2 * quarter + 1.5 * hidden + rng.normal(size=n)), 6, 20).astype(int)
    exper = np.clip(np.round(rng.gamma(3.0, 5.0, n)), 0, 45).astype(int)
    wage = 2 + 0.9 * school + 0.2 * exper + 1.0 * (region == "north") + 3.0 * hidden + 2.0 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "region": region,
            "far": far,
            "quarter": [f"q{each}" for each in quarter],
            "area": [f"a{each:02d}" for each in rng.integers(0, 40, n)],
            "school": school,
            "exper": exper,
            "wage": np.round(np.clip(wage, 3, 60)).astype(int),
        }
    )
    entries = [
        {"kind": "iv", "formula": "wage ~ school + exper + region", "endogenous": "school",
         "instruments": "far + quarter"} | how,
        {"kind": "frequencies", "by": ["region", "quarter"]},
        {"kind": "frequencies", "by": ["far", "region"]},
        {"kind": "magnitudes", "value": "wage", "by": ["region"], "statistics": ["mean", "sd", "count"]},
        {"kind": "magnitudes", "value": "school", "by": ["far"], "statistics": ["mean", "sd"]},
        {"kind": "ols", "formula": "wage ~ school + exper + region", "release": [*WITH_ERRORS, "r2", "n"]},
    ]  # fmt: skip
    return problem_of(frame, entries)


OF_IV = [*WITH_ERRORS, "p_values", "n", "r2", "residual_sd"]
BY_INSTRUMENTS = {
    "as ivreg has them": {"release": [*OF_IV, "f", "first_stage_f", "wu_hausman", "sargan"]},
    "as ivregress has them": {"program": "ivregress", "release": [*OF_IV, "wald", "confidence_limits"]},
    "just identified": {"instruments": "far", "release": [*OF_IV, "first_stage_f"]},
    "with robust errors": {"covariance": "robust", "release": OF_IV},
    "by clusters": {"cluster": "area", "program": "ivregress", "release": OF_IV},
}
OF_MIXED = [*WITH_ERRORS, "p_values", "n", "residual_sd", "sigma_u", "rho", "levels"]
AS_FITTED = {
    "REML": {"program": "lmerTest", "release": [*OF_MIXED, "log_likelihood", "aic", "bic"]},
    "ML": {"program": "mixed", "release": [*OF_MIXED, "log_likelihood", "confidence_limits"]},
    "GLS": {"program": "xtreg", "release": OF_MIXED},
}
OF_EFFECTS = [*WITH_ERRORS, "p_values", "n", "r2", "r2_within", "f", "levels"]
PAGE = [
    {"kind": "univariate", "variables": ["sex", "race", "marital", "education", "income"]},
    {"kind": "magnitudes", "value": "age", "by": ["income"], "statistics": ["mean", "sd", "count"], "decimals": 1},
    {"kind": "magnitudes", "value": "hours", "by": ["sex", "income"], "statistics": ["mean", "sd", "count"],
     "decimals": 1},
    {"kind": "frequencies", "by": ["education", "income"], "show": "row_percentages"},
    {"kind": "logit", "formula": "income ~ age + C(sex) + hours", "event": ">50K", "decimals": 3,
     "release": [*WITH_ERRORS, "p_values"]},
    {"kind": "logit", "formula": "income ~ age + years + hours", "event": ">50K", "decimals": 3,
     "where": "sex == 'Female'", "release": [*WITH_ERRORS, "p_values"]},
    {"kind": "ols", "formula": "hours ~ age + C(sex) + C(race)", "decimals": 3,
     "release": [*WITH_ERRORS, "r2", "n"]},
]  # fmt: skip
UNTABLED = [  # hours, of which there is no table, in two regressions
    {"kind": "magnitudes", "value": "age", "by": ["sex"], "statistics": ["mean", "sd", "count"]},
    {"kind": "frequencies", "by": ["education"]},
    {"kind": "frequencies", "by": ["marital", "income"]},
    {"kind": "logit", "formula": "income ~ age + C(sex) + hours", "event": ">50K", "decimals": 3,
     "release": WITH_ERRORS},
    {"kind": "ols", "formula": "hours ~ age + C(sex) + C(race)", "decimals": 3, "release": [*WITH_ERRORS, "n", "r2"]},
    {"kind": "frequencies", "by": ["sex", "income"], "where": "age >= 50"},
]  # fmt: skip

ADULTS = ["age", "hours", "sex", "race", "marital", "workclass", "education", "income"]
SHORT_NAMES = {
    **{"hours_per_week": "hours", "marital_status": "marital", "native_country": "country"},
    "education_num": "years",
}
OF_PAGE = ["age", "hours", "sex", "race", "marital", "education", "years", "income"]
BY_GROUP = ["age", "hours", "sex", "marital", "workclass", "education", "country", "income"]
RELEASES = {
    "paper 300": partial(census, n=300, entries=PAPER),
    "paper of 50": partial(census, n=50, entries=PAPER),
    "paper of 100": partial(census, n=100, entries=PAPER),
    "paper of 190": partial(census, n=190, entries=PAPER),
    "one ols of 40": partial(census, n=40, entries=ONE),
    "odds ratios of 120": partial(census, n=120, entries=ODDS),
    "short regressions of 100": partial(census, n=100, entries=SHORT),
    "two regressions of 250": partial(census, n=250, entries=TWO),
    "two regressions of 1,000": partial(census, n=1_000, entries=TWO),
    "two regressions of 2,000": partial(census, n=2_000, entries=TWO),
    "two regressions of 8,000": partial(census, n=8_000, entries=TWO),
    "regressions and tables of 300": partial(census, n=300, entries=BESIDE),
    "regressions and tables of 500": partial(census, n=500, entries=BESIDE),
    "regressions and tables of 1,000": partial(census, n=1_000, entries=BESIDE),
    "regressions and tables of 2,000": partial(census, n=2_000, entries=BESIDE),
    **{f"a descriptive table of {n:,}": partial(census, n=n, entries=DESCRIPTIVE) for n in (100, 300, 3_000)},
    **{f"p-values of {n:,}": partial(census, n=n, entries=TESTED) for n in (300, 1_500, 8_000, 200_000)},
    **{f"a table one of {n:,}": partial(women, n=n, entries=TABLE_ONE) for n in (60, 150, 300, 1_500, 8_000)},
    **{
        f"before and after of {n:,}": partial(treated, n=n, entries=BEFORE_AND_AFTER) for n in (40, 300, 8_000, 200_000)
    },
    **{f"means with limits of {n:,}": partial(treated, n=n, entries=MEANS) for n in (40, 300, 8_000, 200_000)},
    **{
        f"trend and ranks of {n:,}": partial(women_twice, n=n, entries=TREND_AND_RANKS)
        for n in (300, 1_500, 8_000, 200_000)
    },
    **{f"test statistics of {n:,}": partial(census, n=n, entries=STATISTICS) for n in (300, 1_500, 8_000, 200_000)},
    **{f"ordered and counts of {n:,}": partial(ranked, n=n, entries=RANKED) for n in (300, 1_500, 8_000, 200_000)},
    **{f"percentages of {n:,}": partial(census, n=n, entries=PERCENTAGES) for n in (400, 1_500, 8_000, 25_000)},
    **{f"percentages of subsets of {n:,}": partial(census, n=n, entries=OF_SUBSETS) for n in (300, 8_000, 25_000)},
    **{
        f"percentages of crossing subsets of {n:,}": partial(census, n=n, entries=OF_CROSSING_SUBSETS)
        for n in (300, 8_000, 25_000)
    },
    **{
        f"a logit beside percentages of {n:,}": partial(census, n=n, entries=BESIDE_PERCENTAGES)
        for n in (400, 1_500, 8_000)
    },
    **{
        f"odds ratios beside percentages of {n:,}": partial(census, n=n, entries=ODDS_BESIDE)
        for n in (400, 1_500, 8_000, 25_000)
    },
    **{f"survival curves of {n:,}": partial(census, n=n, entries=SURVIVAL) for n in (400, 1_500, 8_000)},
    **{f"two arms of {n:,}": partial(followed, n=n, entries=TRIAL) for n in (300, 1_500, 8_000, 100_000)},
    **{f"two years at least of {n:,}": partial(followed, n=n, entries=TRIAL, least=24) for n in (300, 8_000, 100_000)},
    **{f"hazard ratios of {n:,}": partial(followed, n=n, entries=COX) for n in (300, 1_500, 8_000, 100_000)},
    **{f"adjusted odds ratios of {n:,}": partial(census, n=n, entries=ADJUSTED) for n in (300, 1_500, 8_000, 200_000)},
    **{f"crude odds ratios of {n:,}": partial(census, n=n, entries=CRUDE) for n in (300, 1_500, 8_000, 200_000)},
    **{f"death rates of {n:,}": partial(followed, n=n, entries=RATES) for n in (300, 1_500, 8_000, 200_000)},
    **{
        f"standardised rates of {n:,}": partial(followed, n=n, entries=STANDARDISED, more=("REGION", "BAND"))
        for n in (300, 1_500, 8_000, 200_000)
    },
    **{
        f"standardised prevalences of {n:,}": partial(followed, n=n, entries=PREVALENCES, more=("REGION", "BAND"))
        for n in (300, 1_500, 8_000, 200_000)
    },
    **{f"a survey by its design of {n:,}": partial(sampled, n=n) for n in (300, 1_500, 8_000, 200_000)},
    **{
        f"proportions with limits of {n:,}": partial(followed, n=n, entries=PROPORTIONS, more=("REGION", "BAND"))
        for n in (60, 300, 1_500, 8_000, 200_000)
    },
    **{
        f"associations of {n:,}": partial(followed, n=n, entries=ASSOCIATIONS, more=("REGION", "BAND"))
        for n in (300, 1_500, 8_000, 200_000)
    },
    **{
        f"rates beside hazards of {n:,}": partial(followed, n=n, entries=[*RATES, {**HAZARDS, **RATIOS}])
        for n in (300, 1_500, 8_000)
    },
    **{f"log hazards of {n:,}": partial(followed, n=n, entries=LOG_HAZARDS) for n in (300, 8_000, 100_000)},
    **{f"every month of {n:,}": partial(followed, n=n, entries=EVERY_MONTH) for n in (300, 8_000, 100_000)},
    **{
        f"a logit beside quartiles of {n:,}": partial(census, n=n, entries=BESIDE_QUARTILES)
        for n in (400, 1_500, 8_000)
    },
    **{
        f"regressions beside quartiles of {n:,}": partial(census, n=n, entries=QUARTILES)
        for n in (400, 1_500, 3_000, 8_000)
    },
    **{f"wages of {n:,}": partial(incomes, n=n, entries=WAGES) for n in (400, 3_000, 25_000)},
    **{f"means of wages of {n:,}": partial(incomes, n=n, entries=ONE_OF_WAGES) for n in (400, 3_000)},
    **{f"crossed means of {n:,}": partial(incomes, n=n, entries=CROSSED) for n in (400, 3_000, 25_000)},
    **{f"medians of wages of {n:,}": partial(incomes, n=n, entries=MEDIANS) for n in (400, 3_000)},
    **{
        f"quartiles as Stata has them of {n:,}": partial(incomes, n=n, entries=QUARTILES_OF_STATA)
        for n in (40, 400, 3_000, 200_000)
    },
    **{
        f"shape and concentration of {n:,}": partial(incomes, n=n, entries=SHAPES)
        for n in (40, 300, 1_500, 8_000, 200_000)
    },
    **{f"margins of {n:,}": partial(census, n=n, entries=MARGINS) for n in (300, 1_500, 8_000, 200_000)},
    **{f"marginal effects alone of {n:,}": partial(census, n=n, entries=MARGINS[1:2]) for n in (300, 1_500, 8_000)},
    **{
        f"{name} of {n:,}": partial(incomes, n=n, entries=entries)
        for name, entries in (("a median regression", MEDIAN_FIT), ("three quantile regressions", QUARTILE_FITS))
        for n in (300, 1_500, 8_000, 200_000)
    },
    **{f"a regression beside wages of {n:,}": partial(incomes, n=n, entries=OF_WAGES) for n in (400, 3_000)},
    **{f"capital gains of {n:,}": partial(incomes, n=n, entries=GAINS) for n in (400, 3_000)},
    **{f"a page of {n:,}": partial(adult, n=n, names=OF_PAGE, entries=PAGE) for n in (150, 400, 4_000, 8_000, 100_000)},
    **{
        f"hours in no table of {n:,}": partial(adult, n=n, names=OF_PAGE, entries=UNTABLED)
        for n in (150, 300, 1_500, 8_000, 200_000)
    },
    **{f"weighted percentages of {n:,}": partial(survey, n=n, entries=WEIGHTED) for n in (400, 3_000, 8_000, 100_000)},
    **{f"robust errors of {n:,}": partial(census, n=n, entries=ROBUST) for n in (300, 1_500, 8_000, 25_000)},
    **{f"clustered errors of {n:,}": partial(census, n=n, entries=CLUSTERED) for n in (300, 1_500, 8_000, 25_000)},
    **{
        f"probabilities and odds of {n:,}": partial(census, n=n, entries=PROBABILITIES)
        for n in (300, 1_500, 8_000, 25_000)
    },
    **{f"age bands of {n:,}": partial(banded, n=n, entries=BANDS) for n in (300, 1_500, 8_000, 25_000, 200_000)},
    **{f"a survey's logit of {n:,}": partial(survey, n=n, entries=BY_SURVEY) for n in (400, 3_000, 8_000, 100_000)},
    **{
        f"fixed effects of {firms:,} firms of {n:,}": partial(effects, n=n, firms=firms, by=["firm"])
        for n, firms in ((300, 10), (300, 100), (8_000, 100), (8_000, 1_000), (200_000, 10), (200_000, 1_000))
    },
    **{
        f"fixed effects of {firms:,} firms and years of {n:,}": partial(effects, n=n, firms=firms, by=["firm", "year"])
        for n, firms in ((300, 10), (300, 100), (8_000, 100), (8_000, 1_000), (200_000, 1_000))
    },
    **{
        f"fixed effects by clusters of {firms:,} firms of {n:,}": partial(
            effects, n=n, firms=firms, by=["firm"], cluster="firm"
        )
        for n, firms in ((300, 10), (300, 100), (8_000, 100), (8_000, 1_000), (200_000, 1_000))
    },
    **{
        f"random intercepts of {schools:,} schools of {n:,} by {name}": partial(pupils, n=n, schools=schools, how=how)
        for n, schools in ((300, 10), (300, 100), (1_500, 100), (8_000, 100), (8_000, 1_000), (200_000, 1_000))
        for name, how in AS_FITTED.items()
    },
    **{  # a term that does not vary within schools, which no total says
        f"a random intercept beside a term of {schools:,} schools of {n:,}": partial(
            pupils, n=n, schools=schools, how=AS_FITTED["REML"] | {"formula": "score ~ hours + sex + size"}
        )
        for n, schools in ((300, 10), (8_000, 100))
    },
    **{
        f"instrumental variables of {n:,} {name}": partial(schooling, n=n, how=how)
        for n in (300, 1_500, 8_000, 200_000)
        for name, how in BY_INSTRUMENTS.items()
    },
    "census 2,000": partial(census, n=2_000, entries=EVERYDAY),
    "census 3,000": partial(census, n=3_000, entries=EVERYDAY),
    "fair regressions": fair,
    "half of fair regressions": partial(fair, half=1),
    "another half of fair regressions": partial(fair, half=3),  # of five, that which most was missing of
    "census 8,000": partial(census, n=8_000, entries=EVERYDAY),
    "census at 4 decimals": partial(census, n=8_000, entries=AT_4_DECIMALS),
    "census at 2 decimals": partial(census, n=8_000, entries=AT_2_DECIMALS),
    "mixed 25,435": partial(census, n=None, entries=MIXED),
    "many 25,435": partial(census, n=None, entries=many()),
    "ACRO session 6,366": session,
    "groups 100,000": partial(adult, n=100_000, names=BY_GROUP, entries=GROUPS),
    "adult 200,000": partial(adult, n=200_000, names=ADULTS, entries=LARGE),
}
QUICK = ("paper 300", "fair regressions", "census 8,000")


def run(problem, settings, seed, seconds):
    """The last generation of a run, its processor seconds, and when a refit first had all numbers near."""
    started, last, near = time.thread_time(), None, np.nan
    for generation in evolve(problem, settings, np.random.default_rng(seed)):
        if generation.near and np.isnan(near):
            near = time.thread_time() - started
        last = generation
        if seconds and time.thread_time() - started > seconds:
            break
    return last, time.thread_time() - started, near


def row(problem, settings, seed, seconds, unmet):
    """Shares of the numbers at their digits, and within 1 % of sampling errors; processor seconds."""
    generation, used, first = run(problem, settings, seed, seconds)
    synthetic = Microdata(problem.codebook, generation.codes)
    refits = [released.recompute(synthetic) for released in problem.released]
    matched, near = (np.concatenate([getattr(refit, what) for refit in refits]) for what in ("matched", "near"))
    kinds = pd.DataFrame([(r.released.kind, r.matched.sum(), len(r.matched)) for r in refits]).groupby(0).sum()
    worst = (kinds[1] / kinds[2]).idxmin()
    print(
        f"  seed {seed}: {matched.sum():,} of {len(matched):,} at their digits ({matched.mean():.3f}), "
        f"{near.sum():,} within 1 %; least {worst} {kinds[1][worst] / kinds[2][worst]:.2f}; "
        f"{used:.1f} s ({f'near after {first:.1f}' if generation.near else 'never near'}), "
        f"generation {generation.number}, {generation.stop or 'cut off'}",
        flush=True,
    )
    for one in (one for refit in refits for one in refit.rows(generation.stop) if unmet and not one.matched):
        print(
            f"      {one.output[:24]:24} {one.label[:40]:40} {one.released:12.6g} {one.refit:12.6g} "
            f"{abs(one.difference) / one.sampling_error:8.3f} {one.reason} {one.detail}"
        )
    return matched.mean(), near.mean(), used


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="a release, by the start of its name (repeatable)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.0, help="cut runs off after so many processor seconds")
    parser.add_argument("--unmet", action="store_true", help="list the numbers that are not met")
    parser.add_argument("--switch", choices=list(SWITCHES), default="as is", help="an operator that is off")
    parser.add_argument("--untold", action="store_true", help="without what crude ratios and curves tell of tables")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    names = [n for n in RELEASES if not given.only or any(n.startswith(each) for each in given.only)]
    for name in names:
        if given.quick and name not in QUICK:
            continue
        problem = RELEASES[name](given.data)
        problem = replace(problem, told=()) if given.untold else problem
        first = evolve(problem, preset("fast"), np.random.default_rng(0))
        for _ in zip(range(8), first, strict=False):  # compiled code and plan are there
            pass
        print(f"{name}: {len(problem.released)} outputs, {int(problem.known.sum()):,} numbers")
        with switched(given.switch) as settings:
            seeds = range(1, (2 if given.quick else given.seeds) + 1)
            found = [row(problem, settings, seed, given.seconds, given.unmet) for seed in seeds]
        shares, near, seconds = zip(*found, strict=True)
        print(
            f"  median {statistics.median(shares):.3f}, least {min(shares):.3f} at their digits; within 1 % "
            f"{statistics.median(near):.3f}, least {min(near):.3f}; "
            f"{statistics.median(seconds):.1f} s, most {max(seconds):.1f}; peak {peak_memory_mb():,.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
