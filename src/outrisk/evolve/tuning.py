"""What tunes the local search of preset `fast`, in one place (settings.py has what a study or a preset may change).

Each constant says what it is for and what measured it: "ablation" is benchmarks/ablation.py, with the operator that is
switched off there; "outputs" means that it was set by hand on the runs of benchmarks/outputs.py, of which no single
experiment is on record; "by hand" that it was chosen without one, being hardly felt.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """The constants of the search. Errors are in half last digits, the fitness (`left`) is per released number."""

    # How long a phase lasts (schedule.py)
    gain: float = 1e-3  # relative fall of the error below which a generation is without gain (by hand)
    stuck: int = 5  # such generations that end the approach or the counts; twice as many turn the phase (one finish)
    counting: float = 0.25  # share of the generations in which counts may come first (ablation: no counts first)
    # How much is looked at in a generation (local_search.py)
    shares: tuple[float, ...] = (1.0, 2.0, 0.5, 0.15)  # of `polish`: tables, with models, models, one model (outputs)
    beside: float = 44_000  # mean visits beside swaps (ablation: no local search beside swaps)
    few: float = 0.02  # swaps a record below which local search does all of it (by hand)
    least_visits: int = 5_000  # however few the records (benchmarks/small.py: 20,000 reach no more)
    most_visits: int = 400_000  # however many the records: weights are looked at in between (by hand)
    # How the weights close in (schedule.py, weights.py)
    settled: float = 0.5  # `left` above which numbers have not settled (outputs)
    slowly: float = 0.4  # share of a step that they tighten then (outputs)
    far: float = 10.0  # `left` above which they wait and are searched in full, as long as it falls (outputs)
    falling: float = 0.9  # to this share in a generation (by hand)
    again: float = 0.8  # tightness with which they begin the next time (by hand)
    narrowest: float = 3e-4  # what all sampling errors have shrunk to at tightness 1 (outputs)
    aim: float = 0.6  # share of half a last digit within which a tally is no longer drawn to its value (by hand)
    closest: float = 4.0  # weight of a squared error of a model, tightened (outputs)
    pinned: float = 16.0  # weight of a squared error of a count, so that tables hold still (outputs)
    gentle: float = 0.2  # of a model's numbers one by one against its numbers together (outputs)
    emphasis: float = 1.1  # growth of the weight of a number that is off (ablation: no penalty weights)
    within: float = 1.0  # standard errors within which a model's third derivatives are used (ablation: no bends)
    # Annealing of a batch of swaps (moves.py)
    batch: int = 12_000  # swaps (outputs; ablation: no batches of swaps)
    sweeps: int = 60  # tries of each (outputs)
    heats: tuple[float, float] = (2.5, 0.25)  # first and last, in temperatures (ablation: no temperature)
    cooling: float = 0.9  # of the temperature in a generation, once numbers are at their digits (by hand)
    coldest: float = 0.02  # share of it below which it no longer falls (by hand)


TUNING = Tuning()


@dataclass(frozen=True)
class SmallTuning:
    """The constants of annealing few records (small.py); all measured by benchmarks/small.py, on 7 and 20 people."""

    chains: tuple[int, int] = (12, 5)  # chains, each from its own start, before it gives up: tables, with models
    steps: tuple[int, int] = (2_500, 5_000)  # moves a record in a chain: tables, with models
    least_steps: int = 26_000  # moves in a chain, however few the records
    every: int = 300  # moves after which models are linearised anew; and that tell how much one changes a number
    by_digits: tuple[float, float] = (2.0, 0.7)  # first and last temperature, distances in half last digits
    by_changes: tuple[float, float] = (0.3, 0.003)  # the same, distances in typical changes by one move


SMALL = SmallTuning()


@dataclass(frozen=True)
class CalibrationTuning:
    """The constants of a calibrated start (calibrated.py); "everyday" is benchmarks/everyday.py."""

    records: tuple[int, int] = (200, 1_000_000)  # at least, at most: where it gained (everyday)
    numbers: int = 2_000  # at most (everyday)
    of_models: int = 250  # of regressions, at most: its cost grows with their square (everyday)
    twice: int = 500  # at most, for it to be tried in two ways (everyday)
    pool: tuple[int, int, int] = (6_000, 20_000, 30_000)  # records: least; 20 for each, up to this; most (everyday)
    steps: tuple[int, int] = (12, 40)  # at most: what is linear in the weights; all numbers (everyday)
    slack: float = 3e-3  # of a standard deviation over samples of the pool: as near is near enough (by hand)
    stride: float = 0.05  # relative entropy of new weights to old ones in a step; 0.2 diverges (everyday)
    felt: float = 0.002  # half digits that a sampling error must be for its number to be aimed at (by hand)
    within: float = 0.5  # half digits that a standard error which prints as 0 is taken to be (by hand)
    gain: float = 1.0  # of the convex function, below which a step ends what is linear (by hand)
    stuck: float = 0.05  # share of a step below which it ends too: numbers that are far contradict each other (by hand)
    falling: float = 0.95  # to this share of what is missed, or a step is without gain (by hand)
    wait: tuple[int, int] = (6, 15)  # such steps that end the calibration: as a rule, with digits held (everyday)
    leap: float = 5.0  # of a log weight, at most, in a step (by hand)


CALIBRATION = CalibrationTuning()


@dataclass(frozen=True)
class BalanceTuning:
    """The constants of balancing (balance.py)."""

    steps: int = 40  # of Newton's method, at most (by hand)
    still: float = 1e-6  # fall of the convex function below which nothing more is gained (by hand)
    sweeps: int = 300  # of annealing over the last items (by hand)


BALANCE = BalanceTuning()


@dataclass(frozen=True)
class SwapTuning:
    """The constants of batches of swaps (swaps.py), in a round of closing in."""

    batch: int = 6_000  # swaps drawn in a round (everyday)
    kept: int = 1_500  # of those drawn, which change least, are kept for the next round (everyday)
    records: int = 8  # but only one of so many records (by hand)
    draws: int = 10  # choices of what is exchanged, and of what records have to agree in, in a round (by hand)
    double: float = 0.3  # of them exchange two variables (by hand)
    alike: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)  # chances of a variable that records agree in it too (by hand)
    close: float = 0.5  # of them, in which records that are near in a numeric variable are paired (by hand)
    numeric: int = 8  # values from which on records may be near in a numeric variable without being equal (by hand)
    nearby: float = 0.5  # of rounds, in which they are drawn by trades.py (everyday)
    focused: float = 0.5  # of rounds, in which they are drawn among few records (everyday)
    few: int = 2_000  # those that bear on a number that is off (everyday)
    seen: int = 40_000  # of so many records (by hand)


SWAPS = SwapTuning()


@dataclass(frozen=True)
class MendingTuning:
    """The constants of mending tables of counts (mending.py)."""

    gently: int = 6  # generations in which they are mended with all other numbers in view, before alone (everyday)
    most: int = 12  # generations in all, and so many more as often as sampling errors are looked at again (everyday)
    records: int = 200  # records among which tables alone are mended (everyday)
    turns: int = 8  # in a generation, of mending tables alone (by hand)
    visits: int = 20  # of a record in each (by hand)
    over: int = 20  # records of a cell that holds too many that are among them (by hand)


MENDING = MendingTuning()


@dataclass(frozen=True)
class ClosingTuning:
    """The constants of closing in (closing.py); "everyday" is benchmarks/everyday.py."""

    tightness: float = 0.25  # of the numbers, while tables of counts are mended (everyday)
    near: tuple[float, float] = (0.05, 5e-4)  # sampling errors to bring numbers to, at first and at last (everyday)
    hold: float = 5e-3  # the same, while a number is beyond 1 % of its sampling error (everyday)
    many: float = 0.05  # of the numbers, beyond it: from there on they do not tell which data set is nearest (everyday)
    half: float = 0.4  # or this share of half a last digit, if it is more (everyday)
    inside: float = 0.8  # share of half a last digit within which a number is left as it is (everyday)
    settled: float = 0.4  # mean square of what is missed, of that, from which on they are brought nearer (everyday)
    nearer: float = 0.8  # by this factor (by hand)
    reach: tuple[float, float] = (0.5, 2.0)  # longest swap, of what is missed in all: far, and nearer (everyday)
    least: int = 4  # but at least so many swaps a number (by hand)
    share: float = 0.005  # of the swaps made, before it is tilted (everyday)
    slack: tuple[float, float] = (1e-3, 0.1)  # see shares_to: drawn between these, logarithmically (everyday)
    less: float = 0.6  # of it after a gain (by hand)
    polish: int = 100  # sweeps of annealing over all swaps (everyday)
    again: int = 10  # rounds after which sampling errors are looked at again (by hand)
    idle: int = 10  # rounds without gain that end it (everyday)
    loosen: float = 2.5  # by which numbers are let go then (everyday)
    loosenings: int = 1  # so many times (everyday)
    starts: int = 3  # at most (everyday)
    small: int = 500  # records, up to which there are as many as there are generations for (everyday)
    after: float = 0.1  # tightness of the numbers afterwards, in the search by single swaps (everyday)


CLOSING = ClosingTuning()
