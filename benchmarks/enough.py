"""What a verdict says after a fixed number of runs, and after as many as are enough: python benchmarks/enough.py
[--draws N] [--sizes N ...]

Women drawn from statsmodels' data set `fair` release two cross tables and a logit with standard errors; halves are each
other's holdout. By draw: the verdict, its highest limit, runs a half and processor seconds.
"""

from __future__ import annotations

import argparse
import time

import statsmodels.api as sm

import outrisk

RUNS = (2, 5, "enough")
NAMES = {"rate_marriage": "rate", "yrs_married": "married"}


def main() -> None:
    """Print a line for every draw, and how many verdicts were open for each number of runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 800, 3000])
    arguments = parser.parse_args()
    women = sm.datasets.fair.load_pandas().data.rename(columns=NAMES)
    women["affair"] = (women.pop("affairs") > 0).map({True: "yes", False: "no"})
    outputs = [
        {"kind": "frequencies", "by": ["religious", "affair"]},
        {"kind": "frequencies", "by": ["occupation", "affair"]},
        {"kind": "logit", "formula": "affair ~ age + religious", "release": ["coefficients", "standard_errors"]},
    ]
    keys = ["age", "married", "children", "religious", "educ", "occupation"]
    for size in arguments.sizes:
        opened = dict.fromkeys(RUNS, 0)
        for draw in range(1, arguments.draws + 1):
            said = []
            for runs in RUNS:
                begun = time.process_time()
                found = outrisk.assess(
                    women.sample(size, random_state=draw), outputs, keys=keys, target="affair", runs=runs,
                    privacy=False, workers=1, quiet=True,
                ).decision  # fmt: skip
                took = time.process_time() - begun
                opened[runs] += found.verdict == "cannot tell"
                high = max(limit.high for limit in found.limits)
                said.append(f"{found.basis.runs:2} runs {found.verdict}, at most {high:.3f}, {took:.0f} s")
            print(f"{size:,} women, draw {draw}: " + "; ".join(said), flush=True)
        print(f"{size:,} women: cannot tell " + ", ".join(f"{n} of {arguments.draws} ({r})" for r, n in opened.items()))


if __name__ == "__main__":
    main()
