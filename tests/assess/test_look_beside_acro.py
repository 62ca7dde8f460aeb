"""What acro itself flags in random data, the direct look flags, cell by cell (OUTRISK_ACRO_PYTHON).

Threshold, zeros, the (n, k) and the p % rule of tables, degrees of freedom of regressions, with acro's defaults. Tried
with acro 1.0.2.
"""

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest

from outrisk.assess.look import Appetite, look
from outrisk.assess.look.contributions import broken_rules, cells_of
from outrisk.assess.look.told import told_by
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import from_frame
from outrisk.outputs import Frequencies, Magnitudes, Regression

PYTHON = os.environ.get("OUTRISK_ACRO_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="OUTRISK_ACRO_PYTHON names no Python with acro")
RULES = Appetite()
TABLES = {"two": ("area", "job"), "three": ("area", "sex", "job"), "one": ("job", "sex")}
MODELS = {f"{kind} {n}": (kind, n) for kind in ("ols", "logit") for n in (12, 14, 40)}
SESSION = """
import warnings
warnings.simplefilter("ignore")
import pandas as pd
from acro import ACRO
df = pd.read_csv("data.csv")
session = ACRO(suppress=False)
two = session.crosstab(df.area, df.job)
three = session.crosstab([df.area, df.sex], df.job)
one = session.crosstab(df.job, df.sex)
total = session.crosstab(df.area, df.job, values=df.pay, aggfunc="sum")
mean = session.crosstab([df.area, df.sex], df.job, values=df.pay, aggfunc="mean")
for n in (12, 14, 40):
    session.olsr("pay ~ age + sex", data=df.head(n))
for n in (12, 14, 40):
    session.logitr("ill ~ age + sex", data=df.head(n))
for key in list(session.results.results):
    session.add_exception(key, "tried")
session.finalise("session", "json")
"""
NAMES = ("two", "three", "one", "sum", "mean", *MODELS)


def records(seed):
    """Areas and jobs of uneven size, pay with few large values; ill of the first people has no rule by age and sex."""
    rng = np.random.default_rng(seed)
    n = 300
    frame = pd.DataFrame(
        {
            "area": rng.choice(5, n, p=[0.5, 0.3, 0.12, 0.06, 0.02]) + 1,
            "job": rng.choice(4, n, p=[0.6, 0.25, 0.1, 0.05]) + 1,
            "sex": rng.integers(1, 3, n),
            "age": rng.integers(2, 7, n) * 10,
            "ill": np.arange(n) % 2,
            "pay": np.round(rng.lognormal(2, 1.3, n)) + 1,
        }
    )
    return frame.astype(float)


@pytest.fixture(scope="module", params=range(3))
def beside(request, tmp_path_factory):
    """Records, and what acro says of its outputs on them, by the names of NAMES."""
    place, frame = tmp_path_factory.mktemp("acro"), records(request.param)
    frame.to_csv(place / "data.csv", index=False)
    (place / "script.py").write_text(SESSION)
    done = subprocess.run([PYTHON, "script.py"], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads((place / "session" / "results.json").read_text())["results"]
    found = dict(zip(NAMES, list(results.values())[: len(NAMES)], strict=True))
    book = Codebook(tuple(Variable(name, "numeric", tuple(sorted(column.unique()))) for name, column in frame.items()))
    return from_frame(frame, book), found


def flagged(output, check):
    return {tuple(cell) for file in output["files"] for cell in file["sdc"].get("cells", {}).get(check, [])}


@pytest.mark.parametrize("name", list(TABLES))
def test_threshold_and_zeros(beside, name):
    data, acro = beside
    table = Frequencies(data.codebook, name, TABLES[name])
    counts = told_by(table, data).counts
    counts = counts.reshape(-1, counts.shape[-1])
    small, empty = ({tuple(at) for at in np.argwhere(cells).tolist()} for cells in (counts < 10, counts == 0))
    assert flagged(acro[name], "MinimumThresholdCheck") == small
    assert flagged(acro[name], "PresenceOfZeroCheck") == empty
    found = {finding.rule: finding for finding in look([table], data, RULES)}
    assert found["small cells"].cells == len(small - empty) > 0


@pytest.mark.parametrize(("name", "by"), [("sum", ("area", "job")), ("mean", ("area", "sex", "job"))])
def test_dominance(beside, name, by):
    data, acro = beside
    table = Magnitudes(data.codebook, name, "pay", by, (name,))
    shape = [data.codebook[each].size for each in by]
    cells = {divmod(table.cells.labels.index(cell.label), shape[-1]): cell for cell in cells_of(table, data)}
    kept = {row: at for at, row in enumerate(sorted({row for row, _ in cells}))}  # acro's table has no row of nobody
    broken = {(kept[row], column): broken_rules(cell, RULES) for (row, column), cell in cells.items()}
    few = {(kept[row], column) for (row, column), cell in cells.items() if len(cell.values) < RULES.safe_threshold}
    mine = {rule: {at for at, rules in broken.items() if rule in rules} for rule in ("(n, k)", "p %")}
    assert mine["(n, k)"] == flagged(acro[name], "NKCheck") != set()
    assert mine["p %"] == flagged(acro[name], "PPercentCheck") != set()
    assert few == {at for at in flagged(acro[name], "MinimumThresholdCheck") if at in broken}
    found = [finding for finding in look([table], data, RULES) if finding.rule == "dominance"]
    assert sum(finding.cells for finding in found) == len(mine["(n, k)"] | mine["p %"])


@pytest.mark.parametrize("name", list(MODELS))
def test_degrees_of_freedom(beside, name):
    data, acro = beside
    kind, n = MODELS[name]
    formula = "pay ~ age + sex" if kind == "ols" else "ill ~ age + sex"
    model = Regression(data.codebook, name, kind, formula)
    found = {finding.rule: finding for finding in look([model], data.take(np.arange(n)), RULES)}
    assert acro[name]["properties"]["dof"] == n - 3
    assert ("degrees of freedom" in found) == (acro[name]["status"] == "fail") == (n - 3 < 10)
