"""Lines above and below bends over intervals."""

from __future__ import annotations

import numpy as np

from creases.certify.proofs._checker.parts import TINY, UNIT, Array, is_infinite


def relu_lines(low: Array, high: Array, leak: Array, on: Array, exact: bool) -> tuple[Array, Array, Array, Array]:
    """Return lines above and below units over intervals: slope and constant of each.

    A convex function is below the line of any slope through whichever of its ends is higher: so the slope of a chord
    may be rounded.
    """
    side = np.where(on, 1, leak)
    up, down = side.copy(), side.copy()
    up_constant, down_constant = np.zeros_like(side), np.zeros_like(side)
    bent = np.flatnonzero(np.asarray((low < 0) & (high > 0) & (leak != 1)))
    if not len(bent):
        return up, up_constant, down, down_constant
    least, most, slope = low[bent], high[bent], leak[bent]
    tangent = np.where(101 * most >= -100 * least, 1, slope)
    chord = _chord_slopes(least, most, slope)
    ends = _end_term(slope - chord, least), _end_term(1 - chord, most)
    convex = np.asarray(slope < 1)
    constant = np.where(convex, np.maximum(*ends), np.minimum(*ends))
    if not exact:
        error = 4 * UNIT * np.abs(constant) + TINY
        constant = np.where(convex, constant + error, constant - error)
    up[bent], up_constant[bent] = np.where(convex, chord, tangent), np.where(convex, constant, 0)
    down[bent], down_constant[bent] = np.where(convex, tangent, chord), np.where(convex, 0, constant)
    return up, up_constant, down, down_constant


def _chord_slopes(low: Array, high: Array, leak: Array) -> Array:
    """Return the slopes of chords; beside an infinite end that of the function there."""
    right, left = is_infinite(high), is_infinite(low)
    least, most = np.where(left | right, -1, low), np.where(left | right, 1, high)
    chord = (most - leak * least) / (most - least)
    return np.where(right, 1, np.where(left, leak, chord))


def _end_term(slope: Array, end: Array) -> Array:
    """Return ``slope * end``, 0 for a slope of 0 whatever the end."""
    return np.where(slope == 0, 0, slope * end)


def choice_lines(
    low: Array, high: Array, chosen: Array, lead: Array, K: int, exact: bool
) -> tuple[Array, Array, Array, Array]:
    """Return lines above and below choices, in the candidate s that is chosen: ``z_s <= max <= line(z_s)``.

    The others are at most a number t, so the largest is at most ``max(z_s, t)``, a convex function of z_s. None exceeds
    z_s by more than its lead (units,), so the largest is at most ``z_s + lead``: the line that is lower in the middle.
    """
    least, most = low[chosen], high[chosen]
    others = high.reshape(-1, K).copy()
    others[np.arange(len(chosen)), chosen % K] = -np.inf
    top = others.max(axis=1)
    up, up_constant = np.ones_like(least), np.zeros_like(least)
    down, down_constant = np.ones_like(least), np.zeros_like(least)
    endless = is_infinite(least) | is_infinite(most)
    for i in np.flatnonzero(np.asarray(top > least)):  # elsewhere the chosen one is the largest
        a, b, t = least[i], most[i], top[i]
        if t >= b or endless[i]:
            slope, constant = 0, max(b, t)
        else:
            slope = (b - t) / (b - a)
            constant = max(t - slope * a, b - slope * b)
            size = max(abs(t), abs(a), abs(b))
            constant = constant if exact else constant + 8 * UNIT * size + TINY
        is_lead = lead[i] != np.inf and (endless[i] or a + b + 2 * lead[i] < slope * (a + b) + 2 * constant)
        up[i], up_constant[i] = (1, lead[i]) if is_lead else (slope, constant)
    return up, up_constant, down, down_constant
