"""A small ACRO folder, as acro 1.x and 0.4.x write one, made from the fair data."""

import hashlib
import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pandas as pd

FIT = """Dep. Variable:,affair,No. Observations:,{n}
Model:,Logit,Df Residuals:,{df}
Covariance Type:,nonrobust,LL-Null:,-1.0
"""


def acro_of():
    """A Python that has acro, and its version: the one that OUTRISK_ACRO_PYTHON names, or this; else ('', '')."""
    named = os.environ.get("OUTRISK_ACRO_PYTHON", "")
    if named:
        asked = [named, "-c", "from importlib.metadata import version; print(version('acro'))"]
        return named, subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    try:
        return sys.executable, version("acro")
    except PackageNotFoundError:
        return "", ""


def entry(method, command, files, type_="table", old=False, **more):
    found = {
        "uid": "u",
        "status": "pass",
        "type": type_,
        "properties": {"method": method, **more.pop("properties", {})},
        "files": [{"name": name, "sdc": more.get("sdc", {}) if at == 0 else {}} for at, name in enumerate(files)],
        "outcome": {},
        "command": command,
        "summary": "s",
        "comments": ["a | comment <b>of</b> theirs"],
        "exception": "",
        "timestamp": "2026",
    }
    if not old:
        found["fair"] = {}
        found["properties"].setdefault("mitigation", "none")
    return found


def write_session(folder, frame, old=False):
    """Tables, a model and a picture of the fair data; returns the folder."""
    import statsmodels.formula.api as smf

    counts = pd.crosstab(frame["occ"], frame["marriage"])
    hidden = [[r, c] for r in range(6) for c in range(5) if counts.iloc[r, c] < 10]
    check = "threshold" if old else "MinimumThresholdCheck"
    flagged = {"summary": {check: len(hidden)}, "cells": {check: hidden}}
    files = {
        "one_0.csv": pd.crosstab(frame["religion"], frame["affair"]).to_csv(),
        "two_0.csv": pd.crosstab(frame[frame.occ != "student"]["religion"], frame["affair"]).to_csv(),
        "hidden_0.csv": counts.where(counts >= 10).to_csv(),
        "label_only_0.csv": counts.to_csv(),
        "plot_0.png": "not a picture",
    }
    fit = smf.logit("affair ~ age + C(religion)", frame[frame.age > 25]).fit(disp=0)
    files["model_0.csv"] = FIT.format(n=int(fit.nobs), df=int(fit.df_resid))
    table = pd.DataFrame({"coef": fit.params.round(4), "std err": fit.bse.round(3)})
    files["model_1.csv"] = table.to_csv()
    suppress = {"mitigation": "suppress"}
    results = {
        "one": entry("crosstab", "session.crosstab(df.religion, df.affair)", ["one_0.csv"], old=old),
        "two": entry("crosstab", "session.crosstab(some.religion, some.affair)", ["two_0.csv"], old=old),
        "hidden": entry(
            "crosstab",
            "session.crosstab(df.occ, df.marriage)",
            ["hidden_0.csv"],
            old=old,
            sdc=flagged,
            properties=suppress,
        ),
        "label_only": entry(
            "crosstab",
            "session.crosstab(df.occ, df.marriage)",
            ["label_only_0.csv"],
            old=old,
            sdc=flagged,
            properties=suppress,
        ),
        "model": entry(
            "logitr", "session.logitr(", ["model_0.csv", "model_1.csv"], "regression", old, properties={"dof": 4}
        ),
        "plot": entry("histogram", 'session.hist(df, "age")', ["plot_0.png"], "histogram", old),
    }
    return write_folder(folder, files, results, old)


def write_folder(folder, files, results, old=False):
    """A session of these files (name -> text) and results; returns the folder."""
    folder.mkdir()
    document = {"version": "0.4.12" if old else "1.0.2", "results": results}
    if not old:
        document["tool"] = {"name": "ACRO"}
    (folder / "checksums").mkdir()
    for name, text in {**files, "results.json": json.dumps(document)}.items():
        (folder / name).write_text(text, encoding="utf-8")
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        (folder / "checksums" / f"{name}.txt").write_text(digest)
    config = {"safe_threshold": 10, "safe_dof_threshold": 10, "zeros_are_disclosive": True}
    (folder / "config.json").write_text(json.dumps(config))
    return folder
