"""What crude odds ratios give away: python benchmarks/crude.py [--seeds 5]

The women of statsmodels' data set `fair`, drawn with replacement. Released: one-way tables, or the cross table rounded
to 5, and the odds ratios of an affair by one of eight characteristics (two of them of two levels, the others of four to
six), with 95 % limits, without the constant. Printed, over characteristics and draws: of how many cross tables one
alone fits all that is printed; how many cells of fewer than ten women that do not stand there follow exactly, of how
many; of how many tables too many fit to try; of how many the true table is not among those that fit (there must be
none); and the seconds of the slowest. Ratios of a characteristic with a level of one answer do not exist; such draws
are left out.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np
import pandas as pd
from statsmodels.datasets import fair

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, release
from outrisk.outputs.of_one_table.described import described_tables

PEOPLE = (300, 1_500, 8_000, 200_000)
SMALL = 10
EXPOSURES = ["older", "devout", "religious", "age", "children", "educ", "occupation", "rate_marriage"]


def women() -> pd.DataFrame:
    """All of them, values numbered from 0."""
    frame = fair.load_pandas().data
    frame = frame.assign(affair=frame["affairs"] > 0, older=frame["age"] >= 32, devout=frame["religious"] >= 3)
    return frame[["affair", *EXPOSURES]].apply(lambda column: pd.factorize(column, sort=True)[0])


def released(exposure: str, beside: str, decimals: int) -> list[dict[str, object]]:
    """Outputs as a study has them."""
    tables = {
        "the characteristic": {"kind": "univariate", "variables": [exposure]},
        "both one-way tables": {"kind": "univariate", "variables": [exposure, "affair"]},
        "the cross table, rounded": {
            "kind": "frequencies", "by": [exposure, "affair"], "margins": True, "protection": {"round_to": 5}
        },
    }  # fmt: skip
    odds = {
        "kind": "logit", "formula": f"affair ~ C({exposure})", "keep": [exposure], "exponentiate": True,
        "release": ["coefficients", "confidence_limits"], "decimals": decimals,
    }  # fmt: skip
    return [tables[beside], odds]


def tried(frame: pd.DataFrame, exposure: str, beside: str, decimals: int) -> Counter[str] | None:
    """What one release gives away; None where there are no such odds ratios."""
    codebook = Codebook(
        tuple(Variable(name, "integer", tuple(range(frame[name].max() + 1))) for name in (exposure, "affair"))
    )
    data = Microdata(codebook, frame[[exposure, "affair"]].to_numpy(np.uint16))
    try:
        outputs = [
            release(one, data)
            for at, entry in enumerate(released(exposure, beside, decimals), 1)
            for one in REGISTRY[str(entry["kind"])](**entry).build(codebook, at)
        ]
    except OutputError:
        return None
    begun = time.perf_counter()
    (found,) = described_tables(codebook, outputs)
    seconds = time.perf_counter() - begun
    truth = pd.crosstab(frame[exposure], frame["affair"]).to_numpy()
    small = (truth > 0) & (truth < SMALL) & (found.low < found.high)
    number = len(found.fitting)
    one = (found.fitting == truth).all(axis=0) if number else np.zeros(truth.shape, dtype=bool)
    there = (found.fitting == truth).all(axis=(1, 2)).any()
    return Counter(
        tables=1, one=int(number == 1), cells=int(small.sum()), follow=int((small & one).sum()), many=int(found.many),
        wrong=int(not found.many and not there), microseconds=int(1e6 * seconds),
    )  # fmt: skip


def main() -> None:
    """Print a row for each number of women, of what stands beside, and of digits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    everybody = women()
    print(
        f"{'women':>8} {'beside':<25} {'digits':>6} {'tables':>7} {'one fits':>9} {'small cells':>12} {'follow':>7} "
        f"{'too many':>9} {'wrong':>6} {'s':>6}"
    )
    for people in PEOPLE:
        draws = [everybody.sample(people, replace=True, random_state=seed) for seed in range(1, arguments.seeds + 1)]
        for beside in ("the characteristic", "both one-way tables", "the cross table, rounded"):
            for decimals in (2, 1):
                found = [tried(draw, exposure, beside, decimals) for draw in draws for exposure in EXPOSURES]
                some = [each for each in found if each is not None]
                total = sum(some, Counter())
                slowest = max(each["microseconds"] for each in some) / 1e6
                print(
                    f"{people:>8,} {beside:<25} {decimals:>6} {total['tables']:>7} {total['one']:>9} "
                    f"{total['cells']:>12} {total['follow']:>7} {total['many']:>9} {total['wrong']:>6} {slowest:>6.2f}"
                )


if __name__ == "__main__":
    main()
