"""The disclosure suite once more, slowly and from the definitions: dictionaries of counts, one record at a time."""

import math
from collections import Counter, defaultdict

import pandas as pd

MISSING = "Missing"


def records(frame, keys, target):
    """(target level, tuple of key levels) of each record, as text."""

    def text(value):
        return MISSING if pd.isna(value) else str(value)

    return [(text(t), tuple(map(text, q))) for t, *q in frame[[target, *keys]].itertuples(index=False)]


class Twin:
    """Measures of one synthetic table against one table attacked."""

    def __init__(
        self,
        original,
        synthetic,
        keys,
        target,
        *,
        not_target_levels=(),
        use_target_na=True,
        use_keys_na=True,
        exclude=(),
        denom_lim=5,
        exclude_over_denom_lim=False,
        drop_target_na=None,
    ):
        self.keys = keys
        self.d_records, self.s_records = records(original, keys, target), records(synthetic, keys, target)
        self.d, self.s = Counter(self.d_records), Counter(self.s_records)
        self.dq, self.sq = Counter(q for _, q in self.d_records), Counter(q for _, q in self.s_records)
        self.n, self.m = len(self.d_records), len(self.s_records)
        has_na = any(t == MISSING for t, _ in self.d_records) if drop_target_na is None else drop_target_na
        use = use_keys_na if isinstance(use_keys_na, tuple) else (use_keys_na,) * len(keys)
        self.rules = {
            "excluded_target": lambda t, q, n: t in not_target_levels,
            "missing_target": lambda t, q, n: not use_target_na and has_na and t == MISSING,
            "missing_keys": lambda t, q, n: any(not u and v == MISSING for u, v in zip(use, q, strict=True)),
            "listed": lambda t, q, n: any(q[keys.index(k)] == level and t == tl for k, level, tl in exclude),
            "over_denom_lim": lambda t, q, n: exclude_over_denom_lim and n > denom_lim,
        }

    def cut(self, table):
        """A table after exclusions, and what each took."""
        left, taken = dict(table), {}
        for step, rule in self.rules.items():
            gone = {(t, q): n for (t, q), n in left.items() if rule(t, q, n)}
            taken[step] = sum(gone.values())
            left = {cell: n for cell, n in left.items() if cell not in gone}
        return left, {**taken, "remaining": sum(left.values())}

    def tables(self):
        """Each table of the measures before exclusions: cell -> records."""
        d, s, dq, sq = self.d, self.s, self.dq, self.sq
        levels = defaultdict(set)
        for t, q in s:
            levels[q].add(t)
        return {
            "original": d,
            "synthetic": s,
            "Dorig": {(t, q): n for (t, q), n in d.items() if n == dq[q]},
            "Dsyn": {(t, q): n for (t, q), n in s.items() if n == sq[q]},
            "iS": {(t, q): n for (t, q), n in d.items() if sq[q] > 0},
            "DiS": {(t, q): n for (t, q), n in d.items() if len(levels[q]) == 1},
            "DiSCO": {(t, q): n for (t, q), n in d.items() if levels[q] == {t}},
            "DiSDiO": {(t, q): n for (t, q), n in d.items() if levels[q] == {t} and n == dq[q]},
        }

    def measures(self):
        """Every measure by name."""
        d, s = self.cut(self.d)[0], self.cut(self.s)[0]
        dq, sq = sums(d), sums(s)
        cells = {name: self.cut(table)[0] for name, table in self.tables().items()}
        disco = list(cells["DiSCO"].values())
        unique = [q for q, n in dq.items() if n == 1]
        found = {
            "UiO": share_of(len(unique), self.n),
            "UiS": share_of(sum(n == 1 for n in sq.values()), self.m),
            "UiOiS": share_of(sum(self.sq[q] > 0 for q in unique), self.n),
            "repU": share_of(sum(sq.get(q) == 1 for q in unique), self.n),
            **{name: share_of(sum(cells[name].values()), self.n) for name in ("Dorig", "iS", "DiS", "DiSCO", "DiSDiO")},
            "Dsyn": share_of(sum(cells["Dsyn"].values()), self.m),
            "max_denom": max(disco, default=0),
            "mean_denom": sum(disco) / len(disco) if disco else math.nan,
            "baseCAPd": sum((n / self.n) ** 2 for n in Counter(t for t, _ in self.d_records).values()),
            "CAPd": share_of(sum(n * n / dq[q] for (_, q), n in d.items()), self.n),
            "CAPs": share_of(sum(n * n / sq[q] for (_, q), n in s.items()), self.m),
            "DCAP": share_of(sum(n * s.get((t, q), 0) / sq[q] for (t, q), n in d.items() if q in sq), self.n),
            "TCAP": share_of(sum(disco), sum(n for q, n in dq.items() if q in sq)),
        }
        return found

    def check_1way(self, first, second, order):
        """The flagged level, or None."""
        by_level = Counter()
        for (t, _), n in self.cut(self.tables()["DiSCO"])[0].items():
            by_level[t] += n
        if not by_level:
            return None
        level = min(by_level, key=lambda t: (-by_level[t], order(t)))
        share = percent(by_level[level], sum(by_level.values()))
        return level if by_level[level] > first and share > second else None

    def check_2way(self, first, second):
        """Rows (target level, key, key level, npairs, percent) in synthpop's order."""
        cells = {cell: n for cell, n in self.cut(self.tables()["DiSCO"])[0].items() if n > first}
        rows = []
        for at, key in enumerate(self.keys):
            pairs = Counter()
            for (t, q), n in cells.items():
                pairs[t, q[at]] += n
            for (t, level), n in pairs.items():
                of_level = [r for r in self.d_records if r[1][at] == level]
                share = percent(sum(r[0] == t for r in of_level), len(of_level))
                if share > second:
                    rows.append((t, key, level, n, share))
        return sorted(rows, key=lambda row: (-row[3], self.keys.index(row[1]), f"{row[0]}|{row[2]}"))

    def expected_disco(self):
        """DiSCO, were the target independent of the keys in the original; without the limit on denominators."""
        total = 0.0
        shares = Counter(t for t, _ in self.d_records)
        for q, n in self.dq.items():
            claims = {t for t, other in self.s if other == q}
            if len(claims) == 1:
                (t,) = claims
                if not any(self.rules[step](t, q, 0) for step in self.rules):
                    total += n * shares[t] / self.n
        return share_of(total, self.n)


def sums(table):
    """Class sizes of a table."""
    found = Counter()
    for (_, q), n in table.items():
        found[q] += n
    return found


def share_of(part, whole):
    """A share, NaN of nothing."""
    return part / whole if whole else math.nan


def percent(part, whole):
    """A percentage, NaN of nothing."""
    return 100 * share_of(part, whole)
