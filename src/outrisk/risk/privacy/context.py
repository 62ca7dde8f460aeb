"""What metrics share: the tables, the intruder's keys, and each distance computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from outrisk.risk.coding.classes import ORIGINAL, SYNTHETIC
from outrisk.risk.coding.with_numbers import Tables
from outrisk.risk.neighbours.exact import UNHURRIED, Floats, Pace, Points, Positions, Space, farthest, nearest, points
from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.encodings import encode

TIE = 1e-9  # two distances that differ by no more are a tie; nearer means nearer by more than that
KEPT = 2  # geometries: all records as numbers, and their distances, take tens of megabytes each of 200,000 people
SLACK = 1e-12  # a value on a threshold is inside it, whatever the rounding


@dataclass(eq=False)
class Geometry:
    """Nearest and farthest distances between tables in one space, each computed once."""

    space: Space
    rows: Mapping[str, Positions]
    scored: Mapping[str, Positions]  # table -> records that are asked about, if not all
    _points: dict[str, Points] = field(default_factory=dict)
    _nearest: dict[tuple[str, str, int], Floats] = field(default_factory=dict)
    _farthest: dict[frozenset[str], float] = field(default_factory=dict)

    def points(self, table: str) -> Points:
        """The distinct records of a table."""
        if table not in self._points:
            self._points[table] = points(self.space.take(self.rows[table]))
        return self._points[table]

    def nearest(self, table: str, reference: str, pace: Pace, k: int = 1) -> Floats:
        """Distances of the records asked about to their k nearest of the reference, (n, k); in one table, of others."""
        if (table, reference, 2) in self._nearest:
            return self._nearest[table, reference, 2][:, :k]
        if (table, reference, k) not in self._nearest:
            self._nearest[table, reference, k] = nearest(
                self.points(table), self.points(reference), k, table == reference, self.scored.get(table), pace
            )
        return self._nearest[table, reference, k]

    def farthest(self, table: str, reference: str, pace: Pace) -> float:
        """Largest distance between a record of one table and one of the other."""
        pair = frozenset((table, reference))
        if pair not in self._farthest:
            self._farthest[pair] = farthest(self.points(table), self.points(reference), pace)
        return self._farthest[pair]


@dataclass(eq=False)
class Context:
    """Tables to compare, and what an intruder knows and wants to learn."""

    tables: Tables
    keys: tuple[str, ...] | None = None
    target: str | None = None
    links: Positions | None = None  # of each original record, the synthetic one made from it; -1: none
    seed: int = 0
    pace: Pace = UNHURRIED
    sampled: Mapping[str, Positions] = field(default_factory=dict)  # table -> records asked about, if not all
    memo: dict[Any, Any] = field(default_factory=dict)  # what a metric keeps for its next table
    others_of: set[str] = field(default_factory=set)  # tables whose records were told apart from others of their own
    _geometries: dict[tuple[Encoding, str, str], Geometry] = field(default_factory=dict)

    def scored(self, table: str) -> Positions:
        """The records of a table that are asked about: all, or the sample."""
        return self.sampled.get(table, np.arange(self.tables.n_records(table)))

    def geometry(self, encoding: Encoding, attacked: str = ORIGINAL, released: str = SYNTHETIC) -> Geometry:
        """Distances in an encoding; scales come from the original, except that gower_pair takes them from the pair."""
        pair = (attacked, released) if encoding.name == "gower_pair" else (ORIGINAL, SYNTHETIC)
        found = self._geometries.pop((encoding, *pair), None)
        if found is None:
            tables = self.tables
            scales = {**tables.rows, ORIGINAL: tables.rows[pair[0]], SYNTHETIC: tables.rows[pair[1]]}
            space = encode(replace(tables, rows=scales), encoding)
            found = Geometry(space, tables.rows, self.sampled)
        while len(self._geometries) >= KEPT:
            del self._geometries[next(iter(self._geometries))]  # the one that was asked for longest ago
        self._geometries[encoding, *pair] = found
        return found

    def nearest(self, encoding: Encoding, table: str, reference: str, k: int = 1) -> Floats:
        """Distances to the k nearest records, (n, k)."""
        if table == reference or k > 1:
            self.others_of.add(reference)
        return self.geometry(encoding, table, reference).nearest(table, reference, self.pace, k)

    def farthest(self, encoding: Encoding, table: str, reference: str) -> float:
        """Largest distance over all pairs."""
        return self.geometry(encoding, table, reference).farthest(table, reference, self.pace)
