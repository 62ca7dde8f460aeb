"""How often the direct look finds what was planted, and how often it finds something where nothing is.

    python benchmarks/planted.py [--draws 40] [--people 2000]

Each draw plants one thing into random records of six variables, releases it among ordinary outputs, and looks. Found:
a finding of the right rule names the right output. Right people: its number of people is the number planted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

from outrisk.assess.look import Appetite, Found, look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, Output, Regression

Case = tuple[Sequence[Output], Microdata, str, str, int]  # outputs, records, rule, output, people

BOOK = Codebook(
    (
        Variable("area", "integer", tuple(range(1, 7))),
        Variable("group", "integer", tuple(range(1, 6))),
        Variable("sex", "integer", (1, 2)),
        Variable("age", "integer", tuple(range(1, 6))),
        Variable("pay", "integer", tuple(range(0, 100_001, 10))),
        Variable("ill", "integer", (0, 1)),
    )
)
AREA, GROUP, SEX, AGE, PAY, ILL = range(6)
_DIAGNOSIS = ("diagnosis", "integer", (1, 2, 3, 4, 5))


def people(rng: np.random.Generator, n: int) -> np.ndarray:
    """Codes (n, 6) of random people; nobody of them is in area 6 and group 5."""
    codes = np.column_stack([rng.integers(0, variable.size, n) for variable in BOOK.variables])
    codes[:, AREA] = rng.integers(0, 5, n)
    codes[:, GROUP] = rng.integers(0, 4, n)
    codes[:, PAY] = rng.normal(3000, 400, n).round().astype(int)
    codes[:, ILL] = rng.random(n) < 0.3
    return codes


def data(codes: np.ndarray) -> Microdata:
    """Codes as records."""
    return Microdata(BOOK, codes.astype(np.uint16))


def ordinary() -> list[Output]:
    """What is released beside."""
    return [
        Frequencies(BOOK, "age and sex", ("age", "sex")),
        Regression(BOOK, "plain", "logit", "ill ~ age + sex"),
        Magnitudes(BOOK, "pay by age", "pay", ("age",), ("mean",)),
    ]


def three_alike(rng: np.random.Generator, n: int) -> Case:
    """Three people of one area and group, all ill, in a table of that area."""
    codes = people(rng, n)
    codes[:3, [AREA, GROUP, ILL]] = 5, 4, 1
    table = Frequencies(BOOK, "area 6", ("group", "ill"), "area == 6")
    return [*ordinary(), table], data(codes), "same answer", "area 6", 3


def difference(rng: np.random.Generator, n: int) -> Case:
    """Two tables that differ by two people, both ill."""
    codes = people(rng, n)
    codes[:2, [AREA, ILL]] = 5, 1
    tables = [Frequencies(BOOK, "all", ("sex", "ill")), Frequencies(BOOK, "most", ("sex", "ill"), "area < 6")]
    return [*ordinary(), *tables], data(codes), "difference of outputs", "all minus most", 2


def dummy(rng: np.random.Generator, n: int) -> Case:
    """A linear regression with a level that one person has."""
    codes = people(rng, n)
    codes[0, GROUP] = 4
    model = Regression(BOOK, "with groups", "ols", "pay ~ C(group) + sex")
    return [*ordinary(), model], data(codes), "leverage", "with groups", 1


def ten_ones(rng: np.random.Generator, n: int) -> Case:
    """Ten cells of one person each, in a table of one area."""
    codes = people(rng, n)
    codes[:10, AREA], codes[:10, GROUP] = 5, np.repeat(np.arange(5), 2)
    codes[:10, SEX], codes[:10, ILL] = np.tile([0, 1], 5), rng.integers(0, 2, 10)
    table = Frequencies(BOOK, "area 6", ("group", "sex", "ill"), "area == 6")
    return [*ordinary(), table], data(codes), "small cells", "area 6", 10


def dominated(rng: np.random.Generator, n: int) -> Case:
    """A table of sums in which one person has most of a cell."""
    codes = people(rng, n)
    codes[:12, [AREA, GROUP]] = 5, 4
    codes[:12, PAY] = 1
    codes[0, PAY] = 10_000
    table = Magnitudes(BOOK, "pay by area", "pay", ("area", "group"), ("sum",))
    return [*ordinary(), table], data(codes), "dominance", "pay by area", 1


def listing(rng: np.random.Generator, n: int) -> Case:
    """Patient by diagnosis: every cell is 0 or 1."""
    book = Codebook(
        (Variable("patient", "integer", tuple(range(n))), Variable("diagnosis", "integer", (1, 2, 3, 4, 5)))
    )
    codes = np.column_stack([np.arange(n), rng.integers(0, 5, n)]).astype(np.uint16)
    table = Frequencies(book, "listing", ("patient", "diagnosis"))
    return [table], Microdata(book, codes), "same answer", "listing", n


def nothing(rng: np.random.Generator, n: int) -> list[Found]:
    """Tables all of whose cells hold 50 people or more, and models on their variables."""
    codes = people(rng, n)
    full = data(codes[codes[:, AREA] < 2])
    book = [Frequencies(BOOK, "counts", ("sex", "ill")), Regression(BOOK, "model", "logit", "ill ~ sex + age")]
    book += [Frequencies(BOOK, "shares", ("sex", "ill"), show="row_percentages")]
    book += [Magnitudes(BOOK, "pay", "pay", ("sex",), ("mean", "sd"))]
    return look(book, full, Appetite(), "ill")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--people", type=int, default=2000)
    arguments = parser.parse_args()
    cases: list[Callable[[np.random.Generator, int], Case]] = [
        three_alike, difference, dummy, ten_ones, dominated, listing,
    ]  # fmt: skip
    print(f"{arguments.draws} draws of {arguments.people:,} people each\n")
    print("| planted | found | right people | processor seconds a look |\n| --- | --- | --- | --- |")
    for case in cases:
        found, right, started = 0, 0, time.process_time()
        for seed in range(arguments.draws):
            outputs, records, rule, output, number = case(np.random.default_rng(seed), arguments.people)
            target = "diagnosis" if "diagnosis" in records.codebook else "ill"
            hits = [
                each
                for each in look(outputs, records, Appetite(), target)
                if (each.rule, each.output) == (rule, output)
            ]
            found += bool(hits)
            right += any(each.people == number for each in hits)
        seconds = (time.process_time() - started) / arguments.draws
        words = (case.__doc__ or "").rstrip(".")
        print(f"| {words} | {found} of {arguments.draws} | {right} of {arguments.draws} | {seconds:.2f} |")
    alarms = sum(bool(nothing(np.random.default_rng(seed), arguments.people)) for seed in range(100))
    print(f"| nothing: all cells hold 50 people or more | {alarms} of 100 (false alarms) | | |")


if __name__ == "__main__":
    main()
