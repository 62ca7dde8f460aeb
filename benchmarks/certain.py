"""Whose value do tables prove, to an intruder who knows everybody's keys? On a census excerpt beside the checkout.

    python benchmarks/certain.py [people] [--people 1000 2000 20000] [--ways 3 4]
    python benchmarks/certain.py protected --people 500 --ways 3      # the same tables, protected in several ways
    python benchmarks/certain.py protected --people 1000 --ways 3 --bounds
    python benchmarks/certain.py null --draws 20 --people 1000        # tables of other people
    python benchmarks/certain.py few --people 8000 48842 200000 [--whole] [--crossed]   # few outputs of many people

Released are all tables of the target (tenure) by every set of 1 to `ways` - 1 of six keys, ages in years. Seconds are
of the processor. `--bounds`: counts are not whole numbers in the programmes, whose bounds are rounded: quicker, and
perhaps some claims are missed. `null`: the tables are those of a third sample, the register is that of the original.
`few`: tables of income, of adult, and a regression; keys are age, sex, race and education of all people, or of half.
`--whole`: by programmes of all groups of people and all columns. `--crossed`: all unknown variables in one table.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import product

import numpy as np
from census import PLACE, PROTECTIONS, TARGET, Census
from everyday import adults

import outrisk
from outrisk.assess.certain_people import gigabytes
from outrisk.errors import ProveError
from outrisk.microdata import Microdata
from outrisk.problem.released import Released
from outrisk.prove import certain_claims, solver
from outrisk.prove.arranged import Arranger
from outrisk.prove.certain_claims import certain_values
from outrisk.records.provenance import peak_memory_mb

HEAD = (
    "| people | released | unknowns, constraints, entries | proved | narrowed | wrong | seconds: set up, prove "
    "| most GB, forecast | |"
)


def row(census: Census, data: Microdata, released: list[Released], what: str, arguments: argparse.Namespace) -> str:
    """What is proved of everybody asked about."""
    started = time.process_time()
    of = census.programme(data, released)
    of = replace(of, integer=0) if arguments.bounds else of
    built = time.process_time() - started
    asked = np.zeros(len(data), dtype=np.bool_)
    asked[np.random.default_rng(1).permutation(len(data))[: arguments.sample]] = True
    claims = certain_values(of, TARGET, asked=asked, fitting=data.codes)
    wrong = int(((claims.value >= 0) & (claims.value != census.truth(data))).sum())
    took = time.process_time() - started - built
    rows, columns = of.matrix.shape
    peak = peak_memory_mb() / 1e3
    return (
        f"| {len(data):,} | {what} | {columns:,}, {rows:,}, {of.matrix.nnz:,} | {claims.proved / asked.sum():.3f} | "
        f"{claims.narrowed / asked.sum():.3f} | {wrong} | {built:.1f}, {took:.1f} | "
        f"{peak:.2f}, {gigabytes(of.matrix.nnz):.2f} | {claims.state}{', sharp' * claims.sharp} |"
    )


def people(census: Census, arguments: argparse.Namespace) -> None:
    """A row for each number of people and ways."""
    print(f"{HEAD}\n{'| --- ' * 9}|")
    for n in arguments.people:
        for ways in arguments.ways:
            data = census.some("2019", n, 1)
            print(row(census, data, census.tables(data, ways), f"{ways}-way", arguments), flush=True)


def protected(census: Census, arguments: argparse.Namespace) -> None:
    """A row for each protection."""
    data, ways = census.some("2019", arguments.people[0], 1), arguments.ways[0]
    print(f"{HEAD}\n{'| --- ' * 9}|")
    for name, protection in PROTECTIONS.items():
        print(row(census, data, census.tables(data, ways, protection), f"{ways}-way, {name}", arguments), flush=True)


def few(_: Census, arguments: argparse.Namespace) -> None:
    """A row for each number of people, and share of them in the register."""
    if arguments.whole:
        certain_claims.ENTRIES = solver.WIDE = 10**12
    if arguments.crossed:
        Arranger.apart = Arranger.crossed  # type: ignore[method-assign]
    keys = ["age", "sex", "race", "education"]
    tables = [
        {"kind": "frequencies", "by": [*by, "income"]} for by in (["education"], ["race", "education"], ["marital"])
    ]
    logit = {"kind": "logit", "formula": "income ~ age + C(sex) + C(race)", "event": ">50K", "decimals": 4}
    releases = {
        "four tables": [*tables, {"kind": "frequencies", "by": ["occupation", "sex", "income"]}],
        "three tables, a logit": [*tables, logit | {"release": ["coefficients", "standard_errors"]}],
        "six tables, an ols": [
            *({"kind": "frequencies", "by": [*by, "income"]} for by in product(("education", "occupation"), ["age"])),
            {"kind": "frequencies", "by": ["race", "sex", "age", "income"]},
            {"kind": "frequencies", "by": ["marital", "education", "income"]},
            {"kind": "frequencies", "by": ["workclass", "race", "income"]},
            {"kind": "frequencies", "by": ["marital", "occupation", "income"]},
            {"kind": "ols", "formula": "hours ~ age + C(sex) + C(income)", "decimals": 4},
        ],
    }
    print("| people | released | in the register | seconds | left out | what is said |")
    print("| --- | --- | --- | --- | --- | --- |")
    for n in arguments.people:
        data = adults(PLACE.parents[2], n, [*keys, "occupation", "marital", "workclass", "hours", "income"])
        for (what, outputs), share in product(releases.items(), (1.0, 0.5)):
            started = time.process_time()
            proof = outrisk.prove(data, outputs, keys=keys, target="income", known_for=share, sample=arguments.sample)
            took = time.process_time() - started
            said = proof.sentence.partition("the outputs prove ")[2]
            left_out = sum("too many" in why for why in proof.left_out.values())
            print(f"| {n:,} | {what} | {share:.0%} | {took:.1f} | {left_out} | {said} |", flush=True)


def null(census: Census, arguments: argparse.Namespace) -> None:
    """How often tables of other people are found to contradict the register, and by how many numbers it is said."""
    n, ways, found, seconds = arguments.people[0], arguments.ways[0], 0, 0.0
    said = ""
    for draw in range(arguments.draws):
        both = census.some("2019", 2 * n, draw)
        original, third = (both.take(np.arange(at * n, (at + 1) * n)) for at in range(2))
        started = time.process_time()
        try:
            certain_values(census.programme(original, census.tables(third, ways)), TARGET)
        except ProveError as error:
            found, said = found + 1, str(error)
        seconds += time.process_time() - started
    print(
        f"{n:,} people, {ways}-way tables of other people: found to be impossible in {found} of {arguments.draws} "
        f"draws, {seconds / arguments.draws:.1f} processor seconds each. The last: {said}"
    )


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = {each.__name__: each for each in (people, protected, few, null)}
    parser.add_argument("what", choices=list(kinds), nargs="?", default="people")
    parser.add_argument("--people", type=int, nargs="+", default=[1000, 2000, 5000])
    parser.add_argument("--ways", type=int, nargs="+", default=[3, 4], help="most variables of a table")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--bounds", action="store_true", help="bounds of linear programmes in place of whole numbers")
    parser.add_argument("--crossed", action="store_true", help="of `few`: all unknown variables in one table")
    parser.add_argument("--whole", action="store_true", help="of `few`: programmes of all groups alone")
    parser.add_argument("--sample", type=int, help="ask about so many people only (default: all)")
    arguments = parser.parse_args()
    kinds[arguments.what](Census(), arguments)


if __name__ == "__main__":
    main()
