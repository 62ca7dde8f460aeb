"""What tunes preset `fast`, in one place (settings.py has what a study or a preset may change).

Each constant says what it is for and what measured it: "ablation" is benchmarks/ablation.py, with the operator that is
switched off there; a name is that of a release of benchmarks/everyday.py; "small" is benchmarks/small.py; "outputs"
means that it was set by hand on the runs of benchmarks/outputs.py, of which no single experiment is on record; "by
hand" that it was chosen without one. Limits of what is worth its time, tolerances, and steps at most stand beside their
algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """The constants of the search: frozen, for all releases alike."""

    # How long is waited, how much is looked at (schedule.py, local_search.py)
    stuck: int = 5  # generations without gain that end a phase; twice as many of closing in (by hand)
    shares: tuple[float, ...] = (1.0, 2.0, 0.5, 0.15)  # of `polish`: tables, with models, models, one model (outputs)
    beside: float = 44_000  # mean visits in a generation beside batches of swaps (ablation: no local search beside)
    # How numbers are weighed (weights.py)
    narrowest: float = 3e-4  # what all sampling errors have shrunk to at tightness 1 (mixed: 1,438 of 1,455 without)
    closest: float = 4.0  # weight of a squared error of a model, tightened (outputs)
    pinned: float = 256.0  # of a count at once, so that tables hold still, and are mended (mixed: 16 is worse)
    half: float = 0.4  # of half a digit: free at either end of a sum, and what a model is brought to (mixed, census)
    emphasis: float = 1.1  # growth of the weight of a number that is off (ablation: no penalty weights)
    # Annealing of a batch of swaps (moves.py); of few people (small.py)
    heats: tuple[float, float] = (2.5, 0.25)  # first and last, in temperatures (ablation: no temperature)
    by_digits: tuple[float, float] = (2.0, 0.7)  # the same for few people, in half last digits (small)
    by_changes: tuple[float, float] = (0.3, 0.003)  # the same, in typical changes by one move (small)
    # A calibrated start (calibrated.py)
    calibrated: int = 100  # records from which on, beside tables (paper of 50: 53 of 54 at digits with, 54 without)
    pool: tuple[int, int, int] = (6_000, 20_000, 30_000)  # records: least; 20 for each, up to this; most (census)
    loose: float = 3e-3  # of a standard deviation over samples of the pool: as near is near enough (by hand)
    stride: float = 0.05  # relative entropy of new weights to old ones in a step (census: 0.2 diverges)
    # Closing in by balanced batches of swaps, after tables of counts are mended (closing.py, swaps.py, mending.py)
    swaps: int = 6_000  # drawn in a round; twice as many are annealed, a quarter is kept, a third looked for (census)
    mended: int = 200  # records among which tables are mended alone (census)
    tightness: tuple[float, float] = (0.25, 0.4)  # of all while tables are mended (census), and afterwards (mixed)
    near: tuple[float, float] = (0.05, 5e-4)  # sampling errors to bring numbers to, at first and at last (groups)
    settled: float = 0.4  # mean square of what is missed, in these, from which on they fall (census: 1 is worse)
    nearer: float = 0.6  # by this factor (census: no worse than 0.8)
    reach: tuple[float, float] = (0.5, 20.0)  # longest swap, of what is missed: while far; nearer, at most (census)
    share: float = 0.005  # of the swaps that are made, before this is tilted to what is missed (census)
    anew: int = 500  # records up to which it begins anew where it stands still (paper: 49 of 54 without)
    slack: tuple[float, float] = (1e-3, 0.1)  # what may be missed for few swaps: drawn in between, by its log (census)


TUNING = Tuning()
