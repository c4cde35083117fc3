"""From points to probabilities, and the share of each term in a change of probability."""

from __future__ import annotations

from math import ceil

import numpy as np

from creases._typing import Floats
from creases.tables._words.terms import POINTS, Terms

#: Nodes of the quadrature in each piece of a path, and the change of a score in a piece at most.
NODES, PIECE = 12, 2.0


def probability(terms: Terms, points: Floats) -> Floats:
    """Return the probabilities (n, classes) of predictions (n, m) in points."""
    scores = points / POINTS
    if terms.is_binary:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def share_probability(terms: Terms, parts: Floats, k: int) -> Floats:
    """Return how much of a row's probability of class k is due to each of its terms (t, m) in points: (t,).

    All terms grow together from 0 to their values, and each change of the probability on the way is the sum of the
    terms' own (Aumann and Shapley 1974). So the shares add up to the probability minus that of the average row. Of two
    classes they are in proportion to the points.
    """
    start, step = terms.intercept / POINTS, parts.sum(axis=0) / POINTS
    if terms.is_binary:
        start, step = np.array([0.0, start[0]]), np.array([0.0, step[0]])
        parts = np.concatenate([np.zeros_like(parts), parts], axis=1)
    n = max(1, ceil(float(np.ptp(step)) / PIECE))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    t = ((np.arange(n)[:, None] + (nodes + 1) / 2) / n).reshape(-1)
    scores = start + t[:, None] * step
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = powers / powers.sum(axis=1, keepdims=True)
    slopes = p[:, k, None] * ((np.arange(p.shape[1]) == k) - p)  # of the probability by each score
    gradient = np.tile(weights, n) / (2 * n) @ slopes
    return np.asarray(parts @ gradient / POINTS)


def largest_change(terms: Terms, low: Floats, high: Floats) -> float:
    """Return the largest change of a probability where predictions in points change by low to high (m,).

    A class has the probability ``1 / (1 + exp(-t))`` with t its score minus the logarithm of the sum of the others'
    powers, which changes by no more than the others do. Where t changes by d, that is ``tanh(d / 4)`` at most.
    """
    if terms.is_binary:
        low, high = np.append(low, 0.0), np.append(high, 0.0)
    changes = [0.0]
    for k in range(len(low)):
        others = np.delete(low, k), np.delete(high, k)
        changes += [high[k] - others[0].min(), others[1].max() - low[k]]
    return float(np.tanh(max(changes) / POINTS / 4))
