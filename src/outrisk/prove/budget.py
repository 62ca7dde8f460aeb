"""How much work proofs may take: counted, so that two runs end alike; a clock besides is the user's own."""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import OptimizeResult

WORK = 3e7  # a minute or a few
_NODES = 3_000  # branches of one programme


class Budget:
    """Work that is left: that of a programme (`Solver.work`), once for each and each branch of it; and seconds.

    One budget may serve several solvers; `seconds` is infinite unless a user set a clock.
    """

    def __init__(self, work: float = WORK, seconds: float = np.inf) -> None:
        self.work = work
        self.started = time.perf_counter()
        self.until = self.started + seconds

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.work <= 0 or time.perf_counter() >= self.until

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def part(self, share: float) -> Budget:
        """A budget of its own with a share of what is left."""
        return Budget(share * max(self.work, 0.0), share * max(self.until - time.perf_counter(), 0.0))

    def options(self, work: int) -> dict[str, float]:
        """What HiGHS is told for a programme that takes so much."""
        return {"node_limit": self._nodes(work)} | self.clock

    def _nodes(self, work: int) -> int:
        """Branches of a programme that takes so much: at most half of what is left goes into them."""
        return int(np.clip(0.5 * self.work / max(work, 1), 1, _NODES))

    @property
    def clock(self) -> dict[str, float]:
        """What HiGHS is told of the time that is left; nothing where no clock is looked at."""
        left = self.until - time.perf_counter()
        return {"time_limit": max(left, 0.1)} if np.isfinite(left) else {}

    def charge(self, work: int, found: OptimizeResult, exhausted: bool = False) -> None:
        """Take off what a programme took: all its branches, if it is `exhausted` and says nothing of them."""
        nodes = self._nodes(work) if exhausted else float(found.get("mip_node_count") or 0.0)
        self.work -= max(work, 1) * (1.0 + nodes)
