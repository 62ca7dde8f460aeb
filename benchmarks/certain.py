"""Whose value do tables prove, to an intruder who knows everybody's keys? On a census excerpt beside the checkout.

    python benchmarks/certain.py [--people 1000 2000 5000] [--ways 4] [--protection threshold]

Released are all tables of the target (tenure) by every set of 1 to `ways` - 1 of six keys, ages in years.
`--protection`: none; threshold (cells of 1 to 9 records withheld, zeros shown); zeros (they are withheld too); round
(counts to the nearest multiple of 5).
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import from_frame
from outrisk.outputs import Frequencies, release
from outrisk.outputs.tables.protection import UNPROTECTED, Protection
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.programme import programme

PLACE = Path(__file__).resolve().parents[2] / "shared" / "data" / "census" / "acs_us" / "acs7.csv"
TARGET = "TENURE"
PROTECTIONS = {
    "none": UNPROTECTED,
    "threshold": Protection(threshold=10),
    "zeros": Protection(threshold=10, withhold_zeros=True),
    "round": Protection(round_to=5),
}


def main() -> None:
    """Print a row for each number of people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[1000, 2000, 5000])
    parser.add_argument("--ways", type=int, default=4, help="most variables of a table, the target among them")
    parser.add_argument("--protection", choices=list(PROTECTIONS), default="none")
    arguments = parser.parse_args()
    frame = pd.read_csv(PLACE, dtype=str)
    frame = frame[frame.YEAR == "2019"].drop(columns="YEAR")
    keys = [name for name in frame if name != TARGET]
    protection = PROTECTIONS[arguments.protection]
    print("| people | tables | columns, constraints | proved | wrong | seconds to build, to prove | |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n in arguments.people:
        some = frame.sample(n, random_state=1).reset_index(drop=True)
        variables = (Variable(name, "categorical", tuple(sorted(some[name].unique()))) for name in some)
        data = from_frame(some, Codebook(tuple(variables)))
        book = data.codebook
        names = [by for ways in range(1, arguments.ways) for by in combinations(keys, ways)]
        tables = [Frequencies(book, " x ".join(by), (*by, TARGET), protection=protection) for by in names]
        released = [release(table, data) for table in tables]
        known = {name: data.codes[:, book.index(name)].astype(np.int64) for name in keys}
        started = time.perf_counter()
        of = programme(book, released, n, known, [TARGET])
        built = time.perf_counter() - started
        claims = certain_values(of, TARGET)
        truth = data.codes[:, book.index(TARGET)]
        wrong = int(((claims.value >= 0) & (claims.value != truth)).sum())
        rows, columns = of.matrix.shape
        print(
            f"| {n:,} | {len(tables)} | {columns:,}, {rows:,} | {claims.proved / n:.3f} | {wrong} | {built:.1f}, "
            f"{claims.seconds:.1f} | {claims.state} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
