"""The privacy metrics from their definitions: all pairs, plain loops over columns. Slow."""

import math

import numpy as np

TIE, SLACK = 1e-9, 1e-12


def complete(frames):
    """Missing numbers: the original's median and a column that says so; missing text: a level."""
    original = frames["original"]
    done = {table: frame.copy() for table, frame in frames.items()}
    for name in original:
        if original[name].dtype.kind in "if":
            middle = original[name].median()
            if any(frame[name].isna().any() for frame in frames.values()):
                for table, frame in frames.items():
                    done[table][name] = frame[name].fillna(0.0 if math.isnan(middle) else middle)
                    done[table][f"{name}?"] = frame[name].isna().map({True: "yes", False: "no"})
        else:
            for table, frame in frames.items():
                done[table][name] = frame[name].fillna("Missing")
    return done


def distances(frames, one, other, gower=False):
    """Between all pairs: z-scored numbers, a mismatch counting 1 (Gower: mean of |a - b| / range and mismatches)."""
    done = complete(frames)
    a, b, original = done[one], done[other], done["original"]
    both = {name: np.concatenate([original[name], done["synthetic"][name]]) for name in original}
    total = np.zeros((len(a), len(b)))
    for name in original:
        x, y = a[name].to_numpy()[:, None], b[name].to_numpy()[None, :]
        if original[name].dtype.kind not in "if":
            total += x != y
        elif gower:
            total += np.abs(x - y) / (np.ptp(both[name]) or np.inf)
        else:
            total += ((x - y) / (original[name].std(ddof=0) or 1.0)) ** 2
    return total / len(original.columns) if gower else np.sqrt(total)


def nearest(frames, one, other, gower=False, k=1):
    matrix = distances(frames, one, other, gower)
    if one == other:
        np.fill_diagonal(matrix, np.inf)
    return np.sort(matrix, axis=1)[:, k - 1]


def scaled(frames):
    matrix = distances(frames, "original", "synthetic")
    low, high = matrix.min(), matrix.max()
    return np.zeros(len(matrix)) if high - low <= TIE else (matrix.min(axis=1) - low) / (high - low)


def cvp(frames):
    return np.mean(scaled(frames) <= 0.2 + SLACK)


def dvp(frames):
    return 1 - np.mean(scaled(frames) >= 0.8 - SLACK)


def nsnd(frames):
    return 1 - np.mean(scaled(frames))


def auth(frames):
    own, other = nearest(frames, "original", "original"), nearest(frames, "original", "synthetic")
    return 1 - np.mean(own < other - TIE)


def identifiable(frames):
    own, other = nearest(frames, "original", "original"), nearest(frames, "original", "synthetic")
    return np.mean(other < own - TIE)


def nndr(frames):
    matrix = np.sort(distances(frames, "synthetic", "original"), axis=1)
    return 1 - np.mean([one / two if two > TIE else 1.0 for one, two in matrix[:, :2]])


def dcr(frames):
    return 1 / (1 + nearest(frames, "original", "synthetic").mean())


def mdcr(frames):
    below = np.median(nearest(frames, "original", "original"))
    ratio = np.median(nearest(frames, "original", "synthetic")) / below if below > TIE else math.nan
    return 1 / (1 + ratio)


def nnaa(frames):
    left = nearest(frames, "original", "synthetic", True) > nearest(frames, "original", "original", True) + TIE
    right = nearest(frames, "synthetic", "original", True) > nearest(frames, "synthetic", "synthetic", True) + TIE
    return 1 - (left.mean() + right.mean()) / 2


def rows(frame, names=None):
    """Records as tuples; a missing value, however it is written, equals itself."""
    known = frame[names or list(frame)]
    return [tuple(row) for row in known.astype(object).where(known.notna(), "Missing").to_numpy().tolist()]


def crp(frames):
    released = set(rows(frames["synthetic"]))
    return np.mean([row in released for row in rows(frames["original"])])


def cap(frames, keys, target, generalised):
    total = 0.0
    z = list(zip(rows(frames["synthetic"], keys), rows(frames["synthetic"], [target]), strict=True))
    for key, truth in zip(rows(frames["original"], keys), rows(frames["original"], [target]), strict=True):
        apart = [sum(a != b for a, b in zip(key, other, strict=True)) for other, _ in z]
        least = min(apart) if generalised else 0
        found = [value == truth for (_, value), steps in zip(z, apart, strict=True) if steps == least]
        total += np.mean(found) if found else 0.0
    return total / len(frames["original"])


def air(frames, keys, target):
    known = {table: frame[keys] for table, frame in frames.items()}
    matrix = distances(known, "original", "synthetic")
    original, synthetic = (rows(frames[table], [target]) for table in ("original", "synthetic"))
    counts = [rows(frames["original"]).count(row) for row in rows(frames["original"])]
    p = np.array(counts) / len(counts)
    weight = -p * np.log(p) / counts if p[0] < 1 else np.ones(len(p))
    hits = []
    for i, row in enumerate(matrix):
        near = np.flatnonzero(row <= row.min() + TIE)
        hits.append(np.mean([synthetic[j] == original[i] for j in near]))
    return weight @ hits / weight.sum()


def hitr(frames):
    done = complete(frames)
    reach = {name: np.ptp(x.to_numpy()) / 30 for name, x in done["original"].items() if x.dtype.kind in "if"}

    def close(y, z):
        return all(
            abs(y[name] - z[name]) <= reach[name] + SLACK if name in reach else y[name] == z[name] for name in y.index
        )

    released = [z for _, z in done["synthetic"].iterrows()]
    return np.mean([any(close(y, z) for z in released) for _, y in done["original"].iterrows()])
