"""Compiled: what one record contributes to the totals of a block (layout: see layout.py; definitions: blocks.py); many
records at once: sums.py."""

from __future__ import annotations

import math

import numpy as np

from outrisk.evolve.compiled.kept_code import entry as entry
from outrisk.evolve.compiled.layout import (
    CELL,
    CLOCK,
    CLUSTERS,
    COLUMNS,
    EQUATIONS,
    EXTRA,
    EXTRA_AT,
    EXTRAS,
    FAMILIES,
    FAMILY,
    FIRST,
    INFORMATION,
    LIKELIHOOD,
    MASK_AT,
    MASKS,
    MEAT,
    PLACE,
    RESPONSE,
    TERM,
    TERM_AT,
    TERMS,
    VALUE,
    WEIGHT,
    WEIGHT_AT,
)
from outrisk.inner_code import inner

# Compiling takes longer than most studies: the few functions that Python calls are kept on disk with all they need.
jit = inner(error_model="numpy")
sums = inner(error_model="numpy", fastmath={"reassoc", "contract"})  # in any order: far faster
inline = inner(error_model="numpy", forceinline=True)  # a call for each record costs more than the record
# A plain False or 1 as an argument is a type of its own, for which a function is compiled again.
NO, ONE = np.bool_(False), np.int64(1)

NONE, OLS, LOGIT, PROBIT, POISSON, COX, SIGN, OLOGIT, OPROBIT, NEGBIN = (
    FAMILIES[name]
    for name in ("none", "ols", "logit", "probit", "poisson", "cox", "sign", "ologit", "oprobit", "negbin")
)
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # an odd multiplier that carries every bit to the highest ones
_FAR = -30.0  # a normal tail beyond this is taken by its asymptote
_LARGEST = 50.0  # of the exponent of a Poisson mean, or of a hazard
_APART, _LEAST = 1e-6, 1e-290  # least distance of two thresholds, least chance of an outcome between them
_SQRT2, _LOG_SQRT_2PI = math.sqrt(2.0), 0.5 * math.log(2.0 * math.pi)


# fmt: off
@jit
def shuffle(order, n, rng):
    """Draw the first n of an order at random, in place (Durstenfeld 1964: Fisher and Yates)."""
    for i in range(n):
        k = i + int(rng.random() * (len(order) - i))
        order[i], order[k] = order[k], order[i]


@inline
def level_of(code, joint, codes, i):
    """Position of record i in the product of a joint's supports."""
    level = 0
    for e in range(code[joint]):
        level += codes[i, code[joint + 1 + 2 * e]] * code[joint + 2 + 2 * e]
    return level


@inline
def stride_of(code, joint, j):
    """Stride of variable j in a joint; 0 where it is not part of it."""
    for e in range(joint + 1, joint + 1 + 2 * code[joint], 2):
        if code[e] == j:
            return code[e + 1]
    return 0


@inline
def key_of(codes, i, which, key):
    """A hash of what record i has in the variables `which`, on top of another one."""
    for u in range(codes.shape[1]):
        if which[u]:
            key = joined(key, np.uint64(codes[i, u]))
    return key


@inline
def joined(key, code):
    """A hash of one more code, on top of another one."""
    return (key + code + np.uint64(1)) * SPREAD


@inline
def slot_of(key, bits):
    """Where in a table of 2^bits places a key belongs."""
    return np.int64(key >> np.uint64(64 - bits))


@jit
def allowed(plan, j, codes, i):
    """Whether record i keeps all rules on variable j."""
    code, flags = plan.code, plan.flags
    for e in range(plan.rule_ptr[j], plan.rule_ptr[j + 1]):
        rule = plan.rules[e]
        if flags[code[rule + 1] + level_of(code, code[rule], codes, i)] == 0:
            return False
    return True


@inline
def share_of(code, floats, flags, b, codes, i):
    """How often record i counts in block b: its weight, 0 outside the subset."""
    share = 1.0 if code[b + WEIGHT] < 0 else floats[code[b + WEIGHT_AT] + codes[i, code[b + WEIGHT]]]
    for m in range(code[b + MASKS]):
        e = code[b + MASK_AT] + 2 * m
        if flags[code[e + 1] + level_of(code, code[e], codes, i)] == 0:
            share = 0.0
    return share


@jit
def spot_of(code, floats, flags, cells, b, codes, i):
    """The cell of record i in TALLY b (-1: none) and what it adds there."""
    share = share_of(code, floats, flags, b, codes, i)
    if share == 0.0:
        return -1, 0.0
    cell = level_of(code, code[b + PLACE], codes, i)
    if code[b + VALUE] >= 0:
        share *= floats[code[b + VALUE] + cell]
    if code[b + CELL] >= 0:
        cell = cells[code[b + CELL] + cell]
    return cell, share


@inline
def _normal(x):
    """Hazard pdf(x) / cdf(x) of the standard normal, and log cdf(x)."""
    density = -0.5 * x * x - _LOG_SQRT_2PI
    if x < _FAR:
        return -x - 1.0 / x, density - math.log(-x)
    below = 0.5 * math.erfc(-x / _SQRT2)
    return math.exp(density) / below, math.log(below)


@jit
def _ordered(family, y, eta, residual, curvature, equations):
    """The same as `derivatives` of an ordered logit or probit: the outcome y is that of a latent variable between the
    thresholds eta[y] and eta[y + 1], less the predictor eta[0]; thresholds are numbered from 1.
    """
    for e in range(equations):
        residual[e] = 0.0
        for f in range(e + 1):
            curvature[e, f] = 0.0
    at = int(y)
    below, above = at > 0, at < equations - 1
    low = eta[at] - eta[0] if below else 0.0
    high = eta[at + 1] - eta[0] if above else 0.0
    if below and above:
        high = max(high, low + _APART)
    of_low = of_high = low_low = high_high = both = value = 0.0  # derivatives in the two ends
    if family == OLOGIT:
        if below:
            share = 1.0 / (1.0 + math.exp(-low))
            of_low, low_low = -share, share * (1.0 - share)
            value -= max(low, 0.0) + math.log1p(math.exp(-abs(low)))
        if above:
            share = 1.0 / (1.0 + math.exp(-high))
            of_high, high_high = 1.0 - share, share * (1.0 - share)
            value -= max(-high, 0.0) + math.log1p(math.exp(-abs(high)))
        if below and above:
            near = 1.0 / math.expm1(high - low)
            value += math.log(-math.expm1(low - high))
            both = -near * (1.0 + near)
            of_low, of_high = of_low - near, of_high + near
            low_low, high_high = low_low - both, high_high - both
    elif below and above:
        sign = -1.0 if low + high > 0.0 else 1.0  # in the lower tail, where no digits are lost
        chance = 0.5 * abs(math.erfc(-sign * high / _SQRT2) - math.erfc(-sign * low / _SQRT2))
        chance, value = max(chance, _LEAST), math.log(max(chance, _LEAST))
        of_low = -math.exp(-0.5 * low * low - _LOG_SQRT_2PI) / chance
        of_high = math.exp(-0.5 * high * high - _LOG_SQRT_2PI) / chance
        low_low, high_high, both = of_low * (of_low + low), of_high * (of_high + high), of_low * of_high
    elif above:
        of_high, value = _normal(high)
        high_high = of_high * (of_high + high)
    else:
        hazard, value = _normal(-low)
        of_low, low_low = -hazard, hazard * (hazard - low)
    residual[0] = -of_low - of_high
    curvature[0, 0] = low_low + high_high + 2.0 * both
    if below:
        residual[at], curvature[at, at], curvature[at, 0] = of_low, low_low, -low_low - both
    if above:
        residual[at + 1], curvature[at + 1, at + 1], curvature[at + 1, 0] = of_high, high_high, -high_high - both
    if below and above:
        curvature[at + 1, at] = both
    return value


@jit
def _dispersed(y, eta, residual, curvature):
    """The same as `derivatives` of a negative binomial count with the mean exp(eta[0]) and the dispersion eta[1]."""
    mean, alpha = math.exp(min(eta[0], _LARGEST)), eta[1]
    more = 1.0 + alpha * mean
    value = first = second = 0.0
    for i in range(int(y)):
        step = i / (1.0 + alpha * i)
        value += math.log1p(alpha * i)
        first += step
        second += step * step
    logs = math.log1p(alpha * mean)
    residual[0] = (y - mean) / more
    residual[1] = first + logs / alpha**2 - (y + 1.0 / alpha) * mean / more
    curvature[0, 0] = mean * (1.0 + alpha * y) / more**2
    curvature[1, 0] = (y - mean) * mean / more**2
    curvature[1, 1] = (
        second + 2.0 * logs / alpha**3 - 2.0 * mean / (alpha**2 * more) - (y + 1.0 / alpha) * (mean / more) ** 2
    )
    return value - math.lgamma(y + 1.0) + y * eta[0] - (y + 1.0 / alpha) * logs


@inline
def derivatives(family, y, eta, residual, curvature, equations, likelihood):
    """Derivatives of a record's log-likelihood in eta: first into residual[e], minus the second into curvature[e, f];
    returns its value ('ols': the squared residual; 'sign': see `Model`).
    """
    if family == LOGIT:
        mean = 1.0 / (1.0 + math.exp(-eta[0]))
        residual[0] = y - mean
        curvature[0, 0] = mean * (1.0 - mean)
        if not likelihood:
            return 0.0
        x = eta[0] if y < 0.5 else -eta[0]
        return -(max(x, 0.0) + math.log1p(math.exp(-abs(x))))
    if family == OLS:
        residual[0] = y - eta[0]
        curvature[0, 0] = 1.0
        return residual[0] * residual[0]
    if family == SIGN:
        far = y - eta[0]
        near = abs(far) <= 1.0
        residual[0] = 0.0 if near else math.copysign(1.0, far)
        curvature[0, 0] = 1.0 if near else 0.0
        return abs(far)
    if family == PROBIT:
        sign = 1.0 if y > 0.5 else -1.0
        hazard, value = _normal(sign * eta[0])
        residual[0] = sign * hazard
        curvature[0, 0] = residual[0] * (residual[0] + eta[0])
        return value
    if family == POISSON:
        mean = math.exp(min(eta[0], _LARGEST))
        residual[0] = y - mean
        curvature[0, 0] = mean
        return y * eta[0] - mean - math.lgamma(y + 1.0)
    if family == NEGBIN:
        return _dispersed(y, eta, residual, curvature)
    if family >= OLOGIT:
        return _ordered(family, y, eta, residual, curvature, equations)
    most = 0.0
    for e in range(equations):
        most = max(most, eta[e])
    total = math.exp(-most)
    for e in range(equations):
        total += math.exp(eta[e] - most)
    for e in range(equations):
        residual[e] = math.exp(eta[e] - most) / total
    for e in range(equations):
        for f in range(e + 1):
            curvature[e, f] = residual[e] * ((1.0 if e == f else 0.0) - residual[f])
    at = int(y) - 1
    value = -most - math.log(total) if at < 0 else eta[at] - most - math.log(total)
    for e in range(equations):
        residual[e] = (1.0 if e == at else 0.0) - residual[e]
    return value


@inline
def design_of(code, floats, design_cols, design_vals, b, codes, i, eta, x_cols, x_vals):
    """Design row of record i in MODEL b as (columns, values), and its linear predictors; returns the row's length.
    After it stands a constant, the row of the equations of a shape (see `row_of`).
    """
    equations = code[b + EQUATIONS]
    for e in range(equations):
        eta[e] = 0.0
    filled = 0
    for m in range(code[b + TERMS]):
        t = code[b + TERM_AT] + TERM * m
        level = level_of(code, code[t], codes, i)
        for e in range(equations):
            eta[e] += floats[code[t + 1] + level * equations + e]
        entry = code[t + 2] + code[t + 3] * level
        for f in range(code[t + 3]):
            x_cols[filled] = design_cols[entry + f]
            x_vals[filled] = design_vals[entry + f]
            filled += 1
    x_cols[filled], x_vals[filled] = 0, 1.0
    return filled


@inline
def row_of(e, k, length, shaped):
    """Where the design row of equation e begins and ends, and which score is that of its first column: that of all k
    columns, or of the constant alone after it where all equations but the first are of a shape.
    """
    if shaped and e > 0:
        return length, length + 1, k + e - 1
    return 0, length, e * k


@inline
def only_score(code, b):
    """Whether MODEL b has one equation and no other totals than its score: then score_of does, and much faster."""
    alone = code[b + INFORMATION] < 0 and code[b + LIKELIHOOD] < 0 and code[b + EXTRAS] == 0 and code[b + CLOCK] < 0
    return alone and code[b + EQUATIONS] == 1


@inline
def score_of(code, floats, flags, design_cols, design_vals, b, codes, i, eta, residual, curvature, along):
    """The residual of record i in MODEL b of one equation, times its weight (0 outside the subset), and the sum of
    `along` over the columns of its design row.
    """
    share = share_of(code, floats, flags, b, codes, i)
    if share == 0.0:
        return 0.0, 0.0
    predictor = 0.0
    total = 0.0
    first = code[b + FIRST]
    for m in range(code[b + TERMS]):
        t = code[b + TERM_AT] + TERM * m
        level = level_of(code, code[t], codes, i)
        predictor += floats[code[t + 1] + level]
        entry = code[t + 2] + code[t + 3] * level
        for f in range(code[t + 3]):
            total += along[first + design_cols[entry + f]] * design_vals[entry + f]
    eta[0] = predictor
    y = floats[code[b + RESPONSE] + level_of(code, code[b + PLACE], codes, i)]
    derivatives(code[b + FAMILY], y, eta, residual, curvature, ONE, NO)
    return share * residual[0], total


@inline
def moments_of(first, k, length, weight, x_cols, x_vals, cols, vals, filled):
    """`weight` times 1, x and x x' of a design row with k columns, to totals from `first` on (see entries_of)."""
    cols[filled], vals[filled] = first, weight
    filled += 1
    for a in range(length):
        product = weight * x_vals[a]
        cols[filled], vals[filled] = first + 1 + x_cols[a], product
        filled += 1
        for c in range(a + 1):
            high = max(x_cols[a], x_cols[c])
            cols[filled] = first + 1 + k + high * (high + 1) // 2 + min(x_cols[a], x_cols[c])
            vals[filled] = product * x_vals[c]
            filled += 1
    return filled


@jit
def leaving_of(
    code, floats, design_cols, design_vals, b, codes, i, share, eta, x_cols, x_vals, cols, vals, filled
):
    """What record i adds to the totals of Cox MODEL b, times `share` (see entries_of)."""
    length = design_of(code, floats, design_cols, design_vals, b, codes, i, eta, x_cols, x_vals)
    k, clock = code[b + COLUMNS], code[b + CLOCK]
    event = share * floats[code[b + RESPONSE] + level_of(code, code[b + PLACE], codes, i)]
    cell, cells = int(floats[code[clock + 1] + level_of(code, code[clock], codes, i)]), code[clock + 2]
    for a in range(length):
        cols[filled], vals[filled] = x_cols[a], event * x_vals[a]
        filled += 1
    cols[filled], vals[filled] = k + cell, event
    filled += 1
    weight, moments = math.exp(min(eta[0], _LARGEST)), 1 + k + k * (k + 1) // 2
    first = k + cells + moments * cell
    filled = moments_of(first, k, length, share * weight, x_cols, x_vals, cols, vals, filled)
    if code[clock + 3]:
        first += moments * cells
        filled = moments_of(first, k, length, event * weight, x_cols, x_vals, cols, vals, filled)
    return filled


@jit
def products_of(first, equations, shaped, k, length, share, curvature, x_cols, x_vals, cols, vals, filled):
    """`share` times x x' of a design row with k columns, and times the curvature of each two equations, to totals from
    `first` on (see entries_of).
    """
    for e in range(equations):
        begin, end, own = row_of(e, k, length, shaped)
        for f in range(e + 1):
            start, stop, other = row_of(f, k, length, shaped)
            for a in range(begin, end):
                row = own + x_cols[a]
                product = share * curvature[e, f] * x_vals[a]
                for c in range(start, a + 1 if e == f else stop):
                    column = other + x_cols[c]
                    high = max(row, column)
                    cols[filled] = first + high * (high + 1) // 2 + min(row, column)
                    vals[filled] = product * x_vals[c]
                    filled += 1
    return filled


@jit
def scores_of(first, equations, shaped, k, length, share, residual, x_cols, x_vals, cols, vals, filled):
    """The score of a record, times `share`, to totals from `first` on (see entries_of)."""
    for e in range(equations):
        begin, end, own = row_of(e, k, length, shaped)
        for a in range(begin, end):
            cols[filled] = first + own + x_cols[a]
            vals[filled] = share * residual[e] * x_vals[a]
            filled += 1
    return filled


@jit
def entries_of(
    code, floats, flags, design_cols, design_vals, b, codes, i, sign, eta, residual, curvature, x_cols, x_vals, cols,
    vals, filled,
):
    """Contribution of record i to MODEL b, times sign, as (position among its totals, value) from `filled` on; returns
    the new length. A record outside the subset adds nothing; any other the same number of entries, in the same order.
    """
    share = sign * share_of(code, floats, flags, b, codes, i)
    if share == 0.0:
        return filled
    if code[b + FAMILY] == COX:
        filled = leaving_of(
            code, floats, design_cols, design_vals, b, codes, i, share, eta, x_cols, x_vals, cols, vals, filled,
        )
    elif code[b + FAMILY] != NONE:
        equations, k, shaped = code[b + EQUATIONS], code[b + COLUMNS], code[b + FAMILY] >= OLOGIT
        length = design_of(code, floats, design_cols, design_vals, b, codes, i, eta, x_cols, x_vals)
        y = floats[code[b + RESPONSE] + level_of(code, code[b + PLACE], codes, i)]
        value = derivatives(code[b + FAMILY], y, eta, residual, curvature, equations, code[b + LIKELIHOOD] >= 0)
        filled = scores_of(
            np.int64(0), equations, shaped, k, length, share, residual, x_cols, x_vals, cols, vals, filled,
        )
        if code[b + INFORMATION] >= 0:
            filled = products_of(
                code[b + INFORMATION], equations, shaped, k, length, share, curvature, x_cols, x_vals, cols, vals,
                filled,
            )
        if code[b + CLUSTERS] >= 0:
            scores = k + equations - 1 if shaped else equations * k
            first = code[b + MEAT] + scores * level_of(code, code[b + CLUSTERS], codes, i)
            filled = scores_of(first, equations, shaped, k, length, share, residual, x_cols, x_vals, cols, vals, filled)
        elif code[b + MEAT] >= 0:
            for e in range(equations):
                for f in range(e + 1):
                    curvature[e, f] = abs(share) * residual[e] * residual[f]
            filled = products_of(
                code[b + MEAT], equations, shaped, k, length, share, curvature, x_cols, x_vals, cols, vals, filled,
            )
        if code[b + LIKELIHOOD] >= 0:
            cols[filled] = code[b + LIKELIHOOD]
            vals[filled] = share * value
            filled += 1
    for m in range(code[b + EXTRAS]):
        t = code[b + EXTRA_AT] + TERM * m
        entry = code[t + 2] + code[t + 3] * level_of(code, code[t], codes, i)
        for f in range(code[t + 3]):
            cols[filled] = code[b + EXTRA] + design_cols[entry + f]
            vals[filled] = share * design_vals[entry + f]
            filled += 1
    return filled
