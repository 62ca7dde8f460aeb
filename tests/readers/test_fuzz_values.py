"""Mutated tables of released numbers: a clear error or numbers, never a traceback (OUTRISK_FUZZ=n for more)."""

import os
import random

import numpy as np
import pytest
from fair import PRINTED, codebook, study
from test_written_by_programs import BY_R, OF_MODELS, RATES, RATES_BY_R

from outrisk.errors import OutRiskError

BITS = [
    "", '"', ",", ";", "\n", "(", ")", "[", "#", "*", "-", "nan", "inf", "1e999", "9" * 40, "<b>", "\x00", "=cmd|x",
    "__import__('os')", "C(", "I(", "[T.", "::", "|", "%", "é", "..", "../x", "{{7*7}}", "\t", "<10", "All", "Total",
]  # fmt: skip
FORMULA = "affair ~ age + C(religion) + C(occ)"
OTHERS = {
    **{case[0]: case[1] for case in BY_R.values() if case[1]["kind"] not in ("logit", "mnlogit")},
    **{case[0]: case[1] for case in (*RATES_BY_R.values(), *OF_MODELS.values())},
    "pois_numbered.txt": RATES,
    "pyears_wide.txt": RATES,
    "pspp.csv": {"kind": "frequencies", "by": ["occ", "religion"]},
}
OUTCOMES = "religion ~ age + C(occ) + children"
COUNTS = "occ,1,2,3,4,All\nmanagerial,124,256,277,83,740\nstudent,10,18,7,6,41\nAll,134,274,284,89,781\n"
CURVES = "time,n.risk,n.event,estimate,std.error,strata\n" + "".join(
    f"{time},{90 - 20 * at},{4 + at},{0.9 - 0.2 * at:.4f},{0.02 + 0.01 * at:.4f},religion={level}\n"
    for level in (1, 2, 3, 4)
    for at, time in enumerate((0.5, 2.5, 6, 9))
)
STRATE = """
Estimated failure rates (per 1000) and lower/upper bounds of 95% confidence intervals

  +----------------------------------------------------+
  |  religion    D        Y     Rate    Lower    Upper |
  |----------------------------------------------------|
  |         1  408   7.5960  53.7125  48.7455  59.1856 |
  |         2  819  19.6110  41.7623  38.9979  44.7227 |
  |         3  707  22.8550  30.9342  28.7359  33.3005 |
  |         4  119   7.2920  16.3193  13.6355  19.5312 |
  +----------------------------------------------------+
"""
STPTIME = """
religion | Person-time   Failures        Rate   [95% conf. interval]
---------+------------------------------------------------------------
       1 |        7596        408    53.71248    48.74549    59.18559
       2 |       19611        819    41.76228    38.99786    44.72265
       3 |       22855        707    30.93415    28.73594    33.30051
       4 |        7292        119    16.31925    13.63549    19.53124
---------+------------------------------------------------------------
   Total |       57354       2053    35.79524    34.27986     37.3776
"""
WIDE = "religion,events,person-years,Rate per 1000 (95% CI)\n1,408,7596,53.7 (48.6-59.2)\n2,<5,19611,*\n4,,7292,16.3\n"
BY_RELIGION = RATES | {"by": ["religion"]}
SUMS = "occ,1,2,3,4\nmanagerial,125,255,<10,85\nstudent,10,20,5,5\nunskilled,*,35,40,\n"
TABLES = {  # by the last digit of the seed
    0: (COUNTS, {"kind": "frequencies", "by": ["occ", "religion"]}),
    3: (CURVES, {"kind": "survival", "time": "yrs_married", "event": "affair", "by": ["religion"]}),
    5: (STRATE, BY_RELIGION),
    6: (STPTIME, BY_RELIGION),
    8: (WIDE, BY_RELIGION),
    7: (
        SUMS,
        {"kind": "magnitudes", "value": "affairs", "by": ["occ", "religion"], "statistics": ["sum"]}
        | {"protection": {"round_to": 5, "threshold": 10}},
    ),
}


def mutated(text, rng):
    for _ in range(rng.choice((1, 1, 2, 5))):
        lines = text.split("\n")
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((0, 1, 2, 20)))
        text = rng.choice(
            (
                text[:at] + rng.choice(BITS) + text[end:],
                text[:at] + text[end:],
                "\n".join([*lines, lines[rng.randrange(len(lines))]]),
                "\n".join(line for number, line in enumerate(lines) if number != at % len(lines)),
            )
        )
        text = text or " "
    return text


@pytest.mark.parametrize("seed", range(int(os.environ.get("OUTRISK_FUZZ", "20"))))
def test_a_clear_error_or_numbers(tmp_path, seed):
    rng = random.Random(seed)
    files = sorted(PRINTED.iterdir())
    file = files[seed % len(files)]
    several = any(word in file.name for word in ("mlogit", "mnlogit", "multinom", "nomreg"))
    model = {"kind": "mnlogit", "formula": OUTCOMES} if several else {"kind": "logit", "formula": FORMULA}
    number = "#1" if f"{file.name}#1" in OTHERS else ""
    model = OTHERS.get(f"{file.name}{number}", model)
    number = "" if seed % 10 in TABLES else number
    text, entry = TABLES.get(seed % 10, (file.read_text(encoding="utf-8"), model))
    path = tmp_path / ("table.csv" if seed % 10 in TABLES else file.name)
    path.write_text(mutated(text, rng), encoding="utf-8", newline="")
    message, given = "", {}
    try:
        given = study({**entry, "values": f"{path}{number}"}).given(codebook(True))
    except OutRiskError as error:
        message = str(error)
    assert (message or given) and "\n" not in message and len(message) < 2_000
    for released in given.values():
        assert len(released.low) and not np.isnan(released.low).any() and (released.low <= released.high).all()
