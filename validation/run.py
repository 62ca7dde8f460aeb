"""Does the verdict work? Measured, and written to docs/validation.md with its figure.

    python validation/run.py [--size full|middle|quick] [--out docs]

null: the release comes from people who are on neither side; how often a marginal risk is found, and what the intervals
cover. dose: releases from one-way tables to the full table, crossed over two samples. planted: few people hidden among
ordinary outputs (benchmarks/planted.py), by the verdict. starts: the same release reproduced from other first values.
followed: whom the release is found to follow. Needs the census excerpt in `shared` beside the checkout. Times are
processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from pool import DOSES, KEYS, TARGET, Made, census, make, outputs, samples

from outrisk.appetite import Appetite
from outrisk.assess.following import Question, follow
from outrisk.assess.look import look
from outrisk.assess.verdict.decide import Evidence, is_told
from outrisk.evolve.settings import preset
from outrisk.outputs import Frequencies
from outrisk.risk.attribution.definitions import key_sets
from outrisk.risk.by_person.crossed import Contrasts, Pairing, contrasts, simultaneous
from outrisk.risk.by_person.record_scores import MEASURES

SETS = key_sets(KEYS, range(1, 7))
JUDGED = ("attribution", "existence")
MARGINS = (0.02, 0.05)
AT = [MEASURES.index(measure) for measure in JUDGED]


@dataclass(frozen=True)
class Size:
    """How much is run. draws: of the null; seconds: of a run of evolution at most."""

    samples: dict[int, int]  # number of people -> samples of so many
    null: tuple[str, ...]
    draws: int
    doses: tuple[str, ...]
    runs: int
    seconds: float
    permutations: int
    planted: int  # draws of each
    followed: int  # draws of each


FULL = Size({1000: 12, 5000: 4}, ("logit", "two-way", "three-way"), 60, DOSES, 3, 2.0, 499, 40, 40)
MIDDLE = Size({1000: 4, 5000: 2}, ("logit", "two-way", "three-way"), 12, DOSES, 3, 1.0, 199, 40, 5)
QUICK = Size({1000: 4}, ("logit", "two-way"), 6, ("one-way", "logit", "two-way", "three-way"), 2, 1.0, 99, 5, 2)
SIZES = {"full": FULL, "middle": MIDDLE, "quick": QUICK}


def says(found: Contrasts, margin: float) -> str:
    """What a verdict says of a marginal risk: at every key set, all keys, and the mean over key sets."""
    limits = simultaneous(found, JUDGED)
    return "found" if limits.low.max() > margin else "none" if limits.high.max() < margin else "open"


def crossed(of: tuple[Made, Made], people: tuple[Made, Made], permutations: int, seed: int) -> Contrasts:
    """Two samples' synthetic data scored on two samples of people, the same or others."""
    pairing = Pairing(people[0].people, people[1].people, of[0].synthetic, of[1].synthetic)
    return contrasts(pairing, SETS, TARGET, permutations=permutations, seed=seed)


def null(pools: dict[tuple[int, str], list[Made]], size: Size) -> Iterator[str]:
    """Rows of the table of null releases."""
    for (n, dose), pool in pools.items():
        if dose not in size.null or len(pool) < 4:
            continue
        rng, found = np.random.default_rng(n), []
        while len(found) < size.draws:
            order = rng.permutation(len(pool))
            quadruples = [order[start : start + 4] for start in range(0, len(pool) - 3, 4)]
            for a, b, c, d in quadruples[: size.draws - len(found)]:
                drawn = crossed((pool[a], pool[b]), (pool[c], pool[d]), size.permutations, len(found))
                found.append(drawn)
        chance = np.mean([simultaneous(each, JUDGED).chance.min() <= 0.05 for each in found])
        verdicts = [f"{np.mean([says(each, margin) == word for each in found]):.2f}"
                    for margin in MARGINS for word in ("found", "none")]  # fmt: skip
        low, high = (np.array([each.interval()[side][AT] for each in found]) for side in (0, 1))
        covered = ((low <= 0) & (high >= 0)).mean(axis=0)  # (measures, sets + 1)
        at_once = np.mean([_covers(each) for each in found])
        yield (
            f"| {n:,} | {dose} | {len(found)} | {chance:.2f} | {' | '.join(verdicts)} | {covered[0, -1]:.2f} | "
            f"{covered[1, -1]:.2f} | {covered.min():.2f} | {at_once:.2f} |"
        )


def _covers(found: Contrasts) -> bool:
    limits = simultaneous(found, JUDGED)
    return bool((limits.low <= 0).all() and (limits.high >= 0).all())


def dose(pools: dict[tuple[int, str], list[Made]], size: Size) -> Iterator[tuple[int, str, np.ndarray, list[str], str]]:
    """For each size and dose: marginal risks (pairs, 2 measures, [all keys, worst, mean]), verdicts, reproduced."""
    for (n, name), pool in pools.items():
        pairs = [(pool[k], pool[k + 1]) for k in range(0, len(pool) - 1, 2)]
        found = [crossed(pair, pair, size.permutations, k) for k, pair in enumerate(pairs)]
        risks = np.array(
            [
                [
                    [each.difference[m, len(SETS) - 1], each.difference[m, : len(SETS)].max(), each.difference[m, -1]]
                    for m in AT
                ]
                for each in found
            ]
        )
        made = sum(each.reproduced for each in pool), sum(len(each.synthetic) for each in pool)
        yield n, name, risks, [says(each, 0.05) for each in found], f"{made[0]} of {made[1]}"


def planted_rows(draws: int, people: int = 2000) -> Iterator[str]:
    """How often the verdict is 'disclosive' from what is planted, or a rule is broken and named."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
    import planted

    cases: list[Callable[[np.random.Generator, int], planted.Case]] = [
        planted.three_alike, planted.difference, planted.dummy, planted.ten_ones, planted.dominated, planted.listing,
    ]  # fmt: skip
    for case in cases:
        certain = named = 0
        for seed in range(draws):
            released, records, rule, output, number = case(np.random.default_rng(seed), people)
            target = "diagnosis" if "diagnosis" in records.codebook else "ill"
            keys = tuple(name for name in records.codebook.names if name not in (target, "pay"))
            found = look(released, records, Appetite(), target)
            held = Evidence("", target, keys, Appetite(), {}, found, [], [], (), 0)
            certain += any(is_told(each, held) for each in found)
            named += any((each.rule, each.output, each.people) == (rule, output, number) for each in found)
        words = (case.__doc__ or "").rstrip(".")
        yield f"| {words} | {rule} | {named} of {draws} | {certain} of {draws} |"
    alarms = sum(bool(planted.nothing(np.random.default_rng(seed), people)) for seed in range(100))
    yield f"| nothing: all cells hold 50 people or more | | {alarms} of 100 findings | 0 of 100 |"


def followed_rows(draws: int, people: int = 1000) -> Iterator[str]:
    """How often the release is found to follow the people who are planted, beside all two-way tables; and others."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
    import planted

    names = ("area", "group", "sex", "age", "ill")
    ordinary = [Frequencies(planted.BOOK, " x ".join(by), by) for by in combinations(names, 2)]

    def nobody(rng: np.random.Generator, n: int) -> planted.Case:
        """Nobody is planted."""
        return planted.ordinary(), planted.data(planted.people(rng, n)), "", "", 0

    for case in (nobody, planted.three_alike, planted.difference, planted.ten_ones):
        found, all_found, tried, hit = 0, 0, 0, 0
        for seed in range(draws):
            released, records, _, _, number = case(np.random.default_rng(seed), people)
            own = released[len(planted.ordinary()) :]
            asked = Question(records, (*ordinary, *own), names[:-1], names[-1], preset("fast"), seed=seed)
            answer = follow(asked)
            tried, hit = tried + answer.tried, hit + answer.followed
            found += answer.followed > 0
            all_found += answer.followed >= number > 0
        words = (case.__doc__ or "").rstrip(".")
        yield f"| {words} | {found} of {draws} | {all_found} of {draws} | {hit:,} of {tried:,} |"


def starts(size: Size) -> Iterator[str]:
    """The same two-way tables of the same two samples, reproduced from two starts."""
    codebook, frame = census(2019)
    n = 1000
    halves = samples(codebook, frame, n, 2)
    for start in ("released", "uniform"):
        made = [
            make(half, outputs(codebook, "two-way"), size.runs, size.seconds, 5 + k, preset("fast", start=start))
            for k, half in enumerate(halves)
        ]
        found = crossed((made[0], made[1]), (made[0], made[1]), size.permutations, 1)
        low, high = found.interval()
        cells = [
            f"{found.difference[m, k]:.3f} ({low[m, k]:.3f} to {high[m, k]:.3f})"
            for m in AT
            for k in (len(SETS) - 1, -1)
        ]
        yield f"| {start} | {' | '.join(cells)} |"


def figure(rows: Sequence[tuple[int, str, np.ndarray, list[str], str]], path: Path) -> None:
    """Marginal risk by dose and number of people."""
    drawing = Figure(figsize=(7, 3.6))
    axes = drawing.subplots()
    for n in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == n]
        names = [row[1] for row in mine]
        for m, line in enumerate(("-", "--")):
            values = [row[2][:, m, 0].mean() for row in mine]
            axes.plot(names, values, line, marker="o", label=f"{JUDGED[m]}, {n:,} people")
    axes.axhline(0.05, color="grey", linewidth=1)
    axes.annotate("margin", (0, 0.055), color="grey")
    axes.set_ylabel("marginal risk, all six keys")
    axes.legend(frameon=False)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})


def pooled(size: Size) -> dict[tuple[int, str], list[Made]]:
    """Every sample's synthetic data, by number of people and release."""
    codebook, frame = census(2019)
    found = {}
    for n, number in size.samples.items():
        people = samples(codebook, frame, n, number)
        for name in dict.fromkeys((*size.doses, *(size.null if n == min(size.samples) else ()))):
            began = time.process_time()
            found[n, name] = [
                make(each, outputs(codebook, name), size.runs, size.seconds, 100 * k) for k, each in enumerate(people)
            ]
            print(f"{n:,} {name}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def page(size: Size, out: Path, command: str) -> str:
    """The page, from everything measured."""
    began = time.process_time()
    pools = pooled(size)
    nulls, doses = list(null(pools, size)), list(dose(pools, size))
    figure(doses, out / "validation.svg")
    rows = [
        f"| {n:,} | {name} | {len(risks)} | "
        + " | ".join(f"{risks[:, m, k].mean():.3f}" for m in (0, 1) for k in (0, 1, 2))
        + f" | {', '.join(f'{word} {verdicts.count(word)}' for word in dict.fromkeys(verdicts))} | {reproduced} |"
        for n, name, risks, verdicts, reproduced in doses
    ]
    text = (Path(__file__).parent / "page.md").read_text(encoding="utf-8")
    parts = {
        "command": command,
        "conditions": f"{size.runs} runs a release, each of at most {size.seconds:g} processor seconds; "
        f"{size.permutations} permutations; samples: "
        + ", ".join(f"{number} of {n:,}" for n, number in size.samples.items()),
        "null": "\n".join(nulls),
        "dose": "\n".join(rows),
        "planted": "\n".join(planted_rows(size.planted)),
        "starts": "\n".join(starts(size)),
        "followed": "\n".join(followed_rows(size.followed)),
    }
    parts["seconds"] = f"{time.process_time() - began:.0f}"
    for name, value in parts.items():
        text = text.replace("{" + name + "}", value)
    return text


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(SIZES), default="full", help="how many draws of each")
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", help="the same as --size quick")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs")
    arguments = parser.parse_args()
    command = "python validation/run.py" + ("" if arguments.size == "full" else f" --size {arguments.size}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = page(SIZES[arguments.size], arguments.out, command)
    (arguments.out / "validation.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
