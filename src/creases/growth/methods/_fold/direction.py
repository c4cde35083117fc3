"""The direction of a crease through a given point: the one whose unit lowers the loss most."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.growth.methods._fold.efficient_score import EfficientScore

#: Directions tried in the plane.
ANGLES = 72

#: Iterations of the fixed point in more dimensions.
ROUNDS = 12

#: Directions on each circle through the anchor, and how many of the best the iteration starts from.
CIRCLE, STARTS = 8, 6


def unit_values(D: Floats, directions: Floats, leak: float) -> Floats:
    """Return values (n, k) of units with creases through the origin of D (n, d), for directions (k, d)."""
    t = D @ directions.T
    return np.where(t > 0, t, leak * t)


def best_direction(
    score: EfficientScore, D: Floats, anchor: Floats, leak: float, starts: int = STARTS, rounds: int = ROUNDS
) -> Floats:
    """Return the direction u (d,) of length 1 with the largest score among those tried.

    In the plane ``ANGLES`` directions, the first along the anchor. In more dimensions the closed form for a frozen
    active set A = {u . d > 0}: ``u <- +-S_A^-1 m_A / |.|``, iterated to a fixed point from starts on circles through
    the anchor. All directions rotate with the data.

    Parameters
    ----------
    D
        (n, d) samples relative to the fold point.
    anchor
        (d,) of length 1, such as the boundary's normal.
    leak
        Slope of the bend on its negative side.
    starts, rounds
        Of the iteration in more than two dimensions.
    """
    d = D.shape[1]
    if d == 1:
        tried = np.array([[1.0], [-1.0]])
    elif d == 2:
        angle = 2 * np.pi * np.arange(ANGLES)[:, None] / ANGLES
        tried = np.cos(angle) * anchor + np.sin(angle) * np.array([-anchor[1], anchor[0]])
    else:
        begin = _starts(score, D, anchor, leak)[:starts]
        tried = np.concatenate([_fixed_points(score, D, start, leak, rounds) for start in begin])
    gain = score.evaluate(unit_values(D, tried, leak)).gain
    return np.asarray(tried[int(gain.argmax())])


def _starts(score: EfficientScore, D: Floats, anchor: Floats, leak: float) -> Floats:
    """Return the best directions on the circles through the anchor and the closed forms for its two half spaces."""
    angle = 2 * np.pi * np.arange(CIRCLE)[:, None] / CIRCLE
    out = [anchor[None], -anchor[None]]
    for sign in (1.0, -1.0):
        other = score.best_combination(_slopes(D, sign * anchor, leak)[:, None] * D)
        other -= (other @ anchor) * anchor
        length = np.linalg.norm(other)
        if length > 0:
            out.append(np.cos(angle) * anchor + np.sin(angle) * other / length)
    tried = np.concatenate(out)
    gain = score.evaluate(unit_values(D, tried, leak)).gain
    return np.asarray(tried[np.argsort(-gain, kind="stable")[:STARTS]])


def _fixed_points(score: EfficientScore, D: Floats, start: Floats, leak: float, rounds: int) -> Floats:
    """Return a start and the iterates of the closed form from it, with either sign: (k, d)."""
    out = [start]
    for sign in (1.0, -1.0):
        u = start
        for _ in range(rounds):
            new = sign * score.best_combination(_slopes(D, u, leak)[:, None] * D)
            length = np.linalg.norm(new)
            if length == 0:
                break
            out.append(new / length)
            if u @ out[-1] > 1 - 1e-12:
                break
            u = out[-1]
    return np.array(out)


def _slopes(D: Floats, u: Floats, leak: float) -> Floats:
    """Return the slope (n,) of the bend at each sample."""
    return np.where(D @ u > 0, 1.0, leak)
