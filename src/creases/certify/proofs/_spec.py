"""The rules by which bounds of units are computed, which a search and who checks its proof must follow alike.

A leaf of a proof may say that plain bounds show its claim: the checker computes them again, with these lines, and
bounds backwards the units that are nearly open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases.certify.proofs._rounding import LEAST, UNIT

Array = NDArray[Any]  #: float64, or objects: fractions, whole numbers, infinities


class Lines(NamedTuple):
    """Lines that enclose units: ``below z + below_at <= h <= above z + above_at``."""

    above: Array
    above_at: Array
    below: Array
    below_at: Array


def is_nearly_open(low: Array, high: Array) -> Array:
    """Return which units are bounded backwards: those that may change side, or whose bounds are not far from it.

    Children of a node start from its bounds, and ends of exactly 0 are common: rounding must not decide.
    """
    return np.asarray((100 * low < high) & (100 * high > low))


def is_steep(low: Any, high: Any) -> Any:
    """Return which open units have the line of their upper side below: those that are on it about as far or farther."""
    return 101 * high >= -100 * low


def relu_lines(low: Array, high: Array, leak: Array, on: Array, off: Array, steep: Array | bool | None = None) -> Lines:
    """Return lines around units over intervals, in floats rounded outwards, or in fractions.

    A convex function is below the line of any slope through whichever of its ends is higher: so the slope of a chord
    may be rounded.

    Parameters
    ----------
    low, high
        (..., units) bounds of what enters units; infinite where there is none.
    leak
        (units,)
    on, off
        (..., units) units that are known to be on a side; on both they are 0.
    steep
        Which open units have the free line of their upper side; :func:`is_steep` by default.
    """
    side = np.where(on, 1, leak) + np.zeros_like(low)
    bent = np.asarray(~(on | off) & (leak != 1), bool)
    lines = Lines(side, np.zeros_like(side), side.copy(), np.zeros_like(side))
    if not bent.any():
        return lines
    a = np.broadcast_to(leak, side.shape)[bent]
    least, most = low[bent], high[bent]
    free = is_steep(least, most) if steep is None else np.broadcast_to(steep, side.shape)[bent]
    with np.errstate(all="ignore"):  # of numbers beyond floats, which give no bound
        tangent, chord = np.where(free, 1, a), _chord_slopes(least, most, a)
        ends = _end_term(a - chord, least), _end_term(1 - chord, most)
    convex = np.asarray(a < 1, bool)
    at = np.where(convex, np.maximum(*ends), np.minimum(*ends))
    if side.dtype != object:
        error = 4 * UNIT * np.abs(at) + LEAST
        at = np.where(convex, at + error, at - error)
    lines.above[bent], lines.above_at[bent] = np.where(convex, chord, tangent), np.where(convex, at, 0)
    lines.below[bent], lines.below_at[bent] = np.where(convex, tangent, chord), np.where(convex, 0, at)
    return lines


def _chord_slopes(low: Array, high: Array, leak: Array) -> Array:
    """Return the slopes of chords; beside an infinite end that of the function there."""
    right, left = is_infinite(high), is_infinite(low)
    least, most = np.where(left | right, -1, low), np.where(left | right, 1, high)
    chord = (most - leak * least) / (most - least)
    return np.where(right, 1, np.where(left, leak, chord))


def _end_term(slope: Array, end: Array) -> Array:
    """Return ``slope * end``, 0 for a slope of 0 whatever the end."""
    return np.where(slope == 0, 0, slope * np.where(slope == 0, 0, end))


_is_infinite = np.frompyfunc(lambda value: isinstance(value, float) and not np.isfinite(value), 1, 1)


def is_infinite(values: Array) -> NDArray[np.bool_]:
    """Return which numbers are infinite; a fraction of any size is not."""
    return np.isinf(values) if values.dtype != object else np.asarray(_is_infinite(values), dtype=bool)
