"""Where the units of one bend change side on a line, interval by interval.

Between two neighboring knots of the line every pre-activation is affine in t, and known at both knots; beyond the last
knot it is known by its value there and its derivative. So crossings are found by interpolation, for all intervals and
units at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.regions._tolerance import SIGN_TOLERANCE

Sides = NDArray[np.signedinteger[Any]]  # int8, int16 for choices among many


class Ends(NamedTuple):
    """Pre-activations at the ends of all intervals.

    Their terms at knot i are at most ``weight[i] * size``. Rays: derivatives going outwards and the size of their
    terms, or None where the line ends at the knot.
    """

    t: Floats  #: (n,) knots, increasing
    z: Floats  #: (n, U), for a choice (n, U, K)
    weight: Floats  #: (n,)
    size: Floats  #: (U,) or (U, K)
    before: tuple[Floats, Floats] | None  #: from the first knot, (U, ...) each
    after: tuple[Floats, Floats] | None  #: from the last knot


class Cuts(NamedTuple):
    """Sides of units on intervals: I intervals, E changes strictly inside them, in order of t for each unit."""

    first: Sides  #: (I, U) the side at the left of every interval
    interval: Ints  #: (E,)
    unit: Ints  #: (E,)
    t: Floats  #: (E,)
    slack: Floats  #: (E,) uncertainty of t by the tolerance
    old: Ints  #: (E,) the side before
    new: Ints  #: (E,) the side after


def relu_cuts(ends: Ends) -> Cuts:
    """Return the sides of relu units: 1 where positive; 0 for a unit that is zero on a whole interval."""
    knots = _signs(ends.z, ends.weight[:, None] * ends.size)
    rows = [knots]
    if ends.before is not None:
        outer = _signs(*ends.before)
        rows.insert(0, np.where(outer != 0, outer, knots[0])[None])
    if ends.after is not None:
        outer = _signs(*ends.after)
        rows.append(np.where(outer != 0, outer, knots[-1])[None])
    sign = np.concatenate(rows)
    left, right = sign[:-1], sign[1:]
    first = ((left > 0) | ((left == 0) & (right > 0))).astype(np.int8)
    interval, unit = np.nonzero(left * right < 0)
    t, slack = np.empty(len(unit)), np.empty(len(unit))
    lead = int(ends.before is not None)
    inner = (interval >= lead) & (interval < lead + len(ends.t) - 1)
    i, u = interval[inner] - lead, unit[inner]
    z0, z1, width = ends.z[i, u], ends.z[i + 1, u], ends.t[i + 1] - ends.t[i]
    t[inner] = np.minimum(ends.t[i] + width * (z0 / (z0 - z1)), ends.t[i + 1])
    slack[inner] = (
        SIGN_TOLERANCE * ends.size[u] * np.maximum(ends.weight[i], ends.weight[i + 1]) * width / np.abs(z0 - z1)
    )
    final = len(ends.t) - 1
    rays = [(ends.before, 0, -1.0, 0), (ends.after, final, 1.0, final + (ends.before is not None))]
    for ray, knot, sense, stretch in rays:
        if ray is None:
            continue
        on_ray = interval == stretch
        u = unit[on_ray]
        dz, size = ray[0][u], ray[1][u]
        way = -ends.z[knot, u] / dz
        t[on_ray] = ends.t[knot] + sense * way
        slack[on_ray] = SIGN_TOLERANCE * (ends.weight[knot] * ends.size[u] + way * size) / np.abs(dz)
    new = (right[interval, unit] > 0).astype(np.int64)
    return Cuts(first, interval, unit, t, slack, 1 - new, new)


def choice_cuts(ends: Ends) -> Cuts:
    """Return the sides of choices: the upper envelope of K lines on every interval; of equal lines the first."""
    best, clear = _largest_candidates(ends)
    lead = int(ends.before is not None)
    first = best[:-1]
    i, u = np.nonzero((best[1:] != first) | ~(clear[1:] & clear[:-1]))  # elsewhere one line is largest at both ends
    width, (w0, w1) = (ends.t[i + 1] - ends.t[i])[:, None], (ends.weight[i, None], ends.weight[i + 1, None])
    v0, v1, size = ends.z[i, u], ends.z[i + 1, u], ends.size[u]
    part = _follow_envelope(v0, v1 - v0, v1, w0 * size, w1 * size, limit=1.0)
    first[i, u] = part.first
    e, at = part, part.pair
    t = np.minimum(ends.t[i[at]] + width[at, 0] * e.s, ends.t[i[at] + 1])
    firsts, events = [first], [(i[at] + lead, u[at], t, width[at, 0] * e.slack, e.old, e.new)]
    for ray, knot, sense in ((ends.before, 0, -1.0), (ends.after, -1, 1.0)):
        if ray is None:
            continue
        e = _follow_envelope(ends.z[knot], ray[0], ray[0], ends.weight[knot] * ends.size, ray[1], limit=np.inf)
        t = ends.t[knot] + sense * e.s
        interval = np.full(len(t), 0 if sense < 0 else len(first) + lead)
        if sense < 0:  # traversed outwards, stored from left to right
            back = slice(None, None, -1)
            firsts.insert(0, e.last[None].astype(best.dtype))
            events.insert(0, (interval, e.pair[back], t[back], e.slack[back], e.new[back], e.old[back]))
        else:
            firsts.append(e.first[None].astype(best.dtype))
            events.append((interval, e.pair, t, e.slack, e.old, e.new))
    columns = (np.concatenate(column) for column in zip(*events, strict=True))
    return Cuts(np.concatenate(firsts), *columns)


def _largest_candidates(ends: Ends) -> tuple[Sides, NDArray[np.bool_]]:
    """Return the first largest candidate (n, U) at every knot, and whether it leads clearly or is equal."""
    K = ends.z.shape[-1]
    top = ends.z[..., 0].copy()
    second = np.full_like(top, -np.inf)
    best = np.zeros(top.shape, np.int8 if K < 128 else np.int16)
    for k in range(1, K):
        z = ends.z[..., k]
        better = z > top
        np.maximum(second, np.where(better, top, z), out=second)
        best[better] = k
        np.maximum(top, z, out=top)
    gap = top - second
    return best, (gap == 0) | (gap > 2 * SIGN_TOLERANCE * ends.weight[:, None] * ends.size.max(axis=-1))


def _signs(z: Floats, size: Floats) -> NDArray[np.int8]:
    return np.where(np.abs(z) <= SIGN_TOLERANCE * size, 0, np.sign(z)).astype(np.int8)


class _Envelope(NamedTuple):
    """Upper envelopes of P sets of lines: the largest line at both ends, and the changes between, in order for each."""

    first: Ints  #: (P,)
    last: Ints  #: (P,)
    pair: Ints  #: (E,) which of the P
    s: Floats
    slack: Floats
    old: Ints
    new: Ints


def _follow_envelope(v: Floats, dv: Floats, end: Floats, size: Floats, end_size: Floats, *, limit: float) -> _Envelope:
    """Follow the upper envelopes of lines ``v + s dv``, s from 0 to ``limit``; all arrays (P, K).

    ``end`` ranks the lines at the far end: their values at s = 1, or their slopes on a ray.
    """
    top = _among_largest(v, size, np.ones(v.shape, bool))
    first = _among_largest(end, end_size, top).argmax(axis=-1)  # the first of those that tie at both ends
    at, s = first.copy(), np.zeros(len(first))
    active, changes = np.flatnonzero(_exceeds(end, end_size, at[:, None]).any(axis=-1)), []
    while len(active):
        current = at[active, None]
        gap = np.take_along_axis(v[active], current, 1) - v[active]
        speed = dv[active] - np.take_along_axis(dv[active], current, 1)
        ahead = _exceeds(end[active], end_size[active], current) & (speed > 0)
        on = ahead.any(axis=1)
        active, current, gap, speed, ahead = active[on], current[on], gap[on], speed[on], ahead[on]
        if not len(active):
            break
        way = np.where(ahead, gap / np.where(ahead, speed, 1.0), np.inf)
        way = np.minimum(np.maximum(way, s[active, None]), limit)
        way[~ahead] = np.inf
        nearest = way.argmin(axis=1)[:, None]
        nearest_s = np.take_along_axis(way, nearest, 1)
        far = nearest_s if np.isinf(limit) else np.ones_like(nearest_s)
        terms = size[active] + far * end_size[active]
        terms = np.take_along_axis(terms, nearest, 1) + np.take_along_axis(terms, current, 1)
        slack = SIGN_TOLERANCE * terms / np.take_along_axis(speed, nearest, 1)
        # Of lines that cross at the same point the steepest continues.
        steepest = np.where(way <= nearest_s + slack, end[active], -np.inf).argmax(axis=1)
        changes.append((active, nearest_s[:, 0], slack[:, 0], at[active], steepest))
        at[active], s[active] = steepest, nearest_s[:, 0]
    return _Envelope(first, at, *_columns(changes))


def _columns(changes: list[tuple[Any, ...]]) -> tuple[NDArray[Any], ...]:
    if not changes:
        return (np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    return tuple(np.concatenate(column) for column in zip(*changes, strict=True))


def _among_largest(values: Floats, size: Floats, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the selected candidates tie for the largest, within the tolerance."""
    values = np.where(which, values, -np.inf)
    best = values.argmax(axis=-1)[..., None]
    gap = np.take_along_axis(values, best, -1) - values
    return gap <= SIGN_TOLERANCE * (size + np.take_along_axis(size, best, -1))


def _exceeds(values: Floats, size: Floats, current: Ints) -> NDArray[np.bool_]:
    """Return which candidates exceed the current one by more than the tolerance."""
    gap = values - np.take_along_axis(values, current, -1)
    return gap > SIGN_TOLERANCE * (size + np.take_along_axis(size, current, -1))
