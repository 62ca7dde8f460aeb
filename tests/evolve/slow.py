"""Totals of blocks from their definitions, record by record and in plain Python: the twin of the compiled loops."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import block_diag
from scipy.special import erfc, loggamma
from scipy.stats import norm

from outrisk.problem.blocks import Model, Tally


def level(joint, row):
    return sum(int(row[j]) * stride for j, stride in zip(joint.variables, joint.strides, strict=True))


def weight_of(block, row):
    """How often a record counts in a block: 0 outside its masks."""
    if not all(mask.include[level(mask.joint, row)] for mask in block.masks):
        return 0.0
    return float(block.weight.by_code[row[block.weight.variable]]) if block.weight else 1.0


def score_information_likelihood(family, eta, y):
    """Derivative of the log-likelihood in eta (E,), minus the second (E, E), and its value, of one record."""
    if family == "ols":
        return [y - eta[0]], [[1.0]], (y - eta[0]) ** 2
    if family == "logit":
        p = 1 / (1 + math.exp(-eta[0]))
        return [y - p], [[p * (1 - p)]], math.log(p if y else 1 - p)
    if family == "probit":
        sign = 2 * y - 1
        hazard = sign * norm.pdf(eta[0]) / norm.cdf(sign * eta[0])
        return [hazard], [[hazard * (hazard + eta[0])]], norm.logcdf(sign * eta[0])
    if family == "poisson":
        mean = math.exp(eta[0])
        return [y - mean], [[mean]], y * eta[0] - mean - math.lgamma(y + 1)
    if family in ("ologit", "oprobit", "negbin"):
        return _numerically(family, np.array(eta, dtype=complex), int(y))
    odds = np.exp(np.concatenate([[0.0], eta]))
    p = (odds / odds.sum())[1:]
    hit = np.array([float(y == e + 1) for e in range(len(p))])
    return list(hit - p), (np.diag(p) - np.outer(p, p)).tolist(), math.log((odds / odds.sum())[int(y)])


def _log_likelihood(family, eta, y):
    """That of an ordered response, or a negative binomial count, at the predictor and the shape: also complex ones."""
    if family == "negbin":
        size, mean = 1 / eta[1], np.exp(eta[0])
        chance = size / (size + mean)
        ways = loggamma(y + size) - loggamma(size) - loggamma(y + 1.0)
        return ways + size * np.log(chance) + y * np.log(1 - chance)
    below = {"ologit": lambda z: 1 / (1 + np.exp(-z)), "oprobit": lambda z: erfc(-z / np.sqrt(2)) / 2}[family]
    ends = [0.0, *(below(end - eta[0]) for end in eta[1:]), 1.0]
    return np.log(ends[y + 1] - ends[y])


def _numerically(family, eta, y):
    """The same by complex steps, and differences of these."""

    def slopes(at):
        step = 1e-30j * np.eye(len(at))
        return np.array([_log_likelihood(family, at + each, y).imag / 1e-30 for each in step])

    h = 1e-4
    bends = [
        (8 * (slopes(eta - step) - slopes(eta + step)) - (slopes(eta - 2 * step) - slopes(eta + 2 * step))) / (12 * h)
        for step in h * np.eye(len(eta))
    ]
    return list(slopes(eta)), np.array(bends), _log_likelihood(family, eta, y).real


def block_totals(block, codes):
    """Totals (block.size,) of a data set (n, p)."""
    totals = np.zeros(block.size)
    for row in codes:
        weight = weight_of(block, row)
        if weight == 0.0:
            continue
        place = level(block.place, row)
        if isinstance(block, Tally):
            cell = place if block.cell is None else int(block.cell[place])
            if cell >= 0:
                totals[cell] += weight * (1.0 if block.value is None else block.value[place])
            continue
        own = leaving(block, row, place) if block.clock else np.zeros(0)
        rest = model_contribution(block, row, block.response[place] if block.n_score else 0.0, weight)
        totals += weight * np.concatenate([own, rest])
    return totals


def leaving(block: Model, row, place):
    """What a record adds to the totals of a Cox model but for its extra columns."""
    x = np.zeros(block.coefficients.shape[1])
    for term in block.terms:
        x[term.columns] += term.rows[level(term.joint, row)]
    event = float(block.response[place])
    cell = np.arange(block.clock.cells) == block.clock.cell[level(block.clock.joint, row)]
    moments = math.exp(block.coefficients[0] @ x) * np.array(
        [1.0, *x, *(x[i] * x[j] for i in range(len(x)) for j in range(i + 1))]
    )
    found = [event * x, event * cell, np.outer(cell, moments).ravel()]
    return np.concatenate([*found, event * found[2]] if block.clock.efron else found)


def model_contribution(block: Model, row, y, weight=1.0):
    """What a record adds to the totals of a model, for each time that it counts."""
    parts = []
    if block.n_score:
        x = np.zeros(block.coefficients.shape[1])
        for term in block.terms:
            x[term.columns] += term.rows[level(term.joint, row)]
        offset = block.offset[1][level(block.offset[0], row)] if block.offset else 0.0
        residual, curvature, likelihood = score_information_likelihood(
            block.family, [*(block.coefficients @ x + offset), *block.shape], y
        )
        # of the derivatives in all predictors (rows) the score in each parameter: x of an equation, 1 of a shape
        designs = [*(x for _ in block.coefficients), *([1.0] for _ in block.shape)]
        matrix = block_diag(*designs)
        score = np.array(residual) @ matrix
        parts.append(score)
        if block.information:
            parts.append((matrix.T @ np.array(curvature) @ matrix)[np.tril_indices(block.n_score)])
        if block.clusters:
            mine = np.arange(block.clusters.size) == level(block.clusters, row)
            parts.append(np.kron(mine, score))
        elif block.robust:
            parts.append(weight * np.outer(score, score)[np.tril_indices(block.n_score)])
        if block.likelihood:
            parts.append([likelihood])
    extra = np.zeros(block.n_extra)
    for term in block.extra:
        extra[term.columns] += term.rows[level(term.joint, row)]
    return np.concatenate([*parts, extra])
