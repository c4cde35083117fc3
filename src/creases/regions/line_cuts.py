"""Where the units of one bend change side on a line, interval by interval.

Between two neighbouring knots of the line every pre-activation is affine in t, and known at both knots; beyond the last
knot it is known by its value there and its derivative. So crossings are found by interpolation, for all intervals and
units at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases.regions.tolerance import SIGN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Ends(NamedTuple):
    """What is known of pre-activations at the ends of all intervals; sizes are sums of magnitudes of terms."""

    t: Floats  #: (n,) knots, increasing
    z: Floats  #: (n, U), for a choice (n, U, K)
    size: Floats  #: as z
    before: tuple[Floats, Floats] | None  #: derivatives (U, ...) going outwards from the first knot, None: no ray there
    after: tuple[Floats, Floats] | None  #: ... from the last knot


class Cuts(NamedTuple):
    """Sides of units on intervals: I intervals, E changes strictly inside them, in order of t for each unit."""

    first: NDArray[np.int16]  #: (I, U) the side at the left of every interval
    interval: Ints  #: (E,)
    unit: Ints  #: (E,)
    t: Floats  #: (E,)
    slack: Floats  #: (E,) how far t may be off by the tolerance policy
    old: Ints  #: (E,) the side before
    new: Ints  #: (E,) the side after


def relu_cuts(ends: Ends) -> Cuts:
    """Sides of relu units: 1 where positive. A unit that is zero all over an interval has side 0."""
    knots = _signs(ends.z, ends.size)
    rows = [knots]
    if ends.before is not None:
        outer = _signs(*ends.before)
        rows.insert(0, np.where(outer != 0, outer, knots[0])[None])
    if ends.after is not None:
        outer = _signs(*ends.after)
        rows.append(np.where(outer != 0, outer, knots[-1])[None])
    sign = np.concatenate(rows)
    left, right = sign[:-1], sign[1:]
    first = ((left > 0) | ((left == 0) & (right > 0))).astype(np.int16)
    interval, unit = np.nonzero(left * right < 0)
    t, slack = np.empty(len(unit)), np.empty(len(unit))
    lead = int(ends.before is not None)
    inner = (interval >= lead) & (interval < lead + len(ends.t) - 1)
    i, u = interval[inner] - lead, unit[inner]
    z0, z1, width = ends.z[i, u], ends.z[i + 1, u], ends.t[i + 1] - ends.t[i]
    t[inner] = np.minimum(ends.t[i] + width * (z0 / (z0 - z1)), ends.t[i + 1])
    slack[inner] = SIGN * np.maximum(ends.size[i, u], ends.size[i + 1, u]) * width / np.abs(z0 - z1)
    for ray, knot, sense, here in _rays(ends, interval):
        u = unit[here]
        dz, size = ray[0][u], ray[1][u]
        way = -ends.z[knot, u] / dz
        t[here] = ends.t[knot] + sense * way
        slack[here] = SIGN * (ends.size[knot, u] + way * size) / np.abs(dz)
    new = (right[interval, unit] > 0).astype(np.int64)
    return Cuts(first, interval, unit, t, slack, 1 - new, new)


def choice_cuts(ends: Ends) -> Cuts:
    """Sides of choices: the upper envelope of K lines on every interval; of lines equal all over it, the first."""
    width = np.diff(ends.t)
    z, size = ends.z, ends.size
    lead = int(ends.before is not None)
    parts = [_march(z[:-1], z[1:] - z[:-1], z[1:], size[:-1], size[1:], limit=1.0)]
    first, rest = [parts[0].first], parts[0].events
    i = rest.group
    t = np.minimum(ends.t[i] + width[i] * rest.s, ends.t[i + 1])
    events = [(i + lead, rest.unit, t, width[i] * rest.slack, rest.old, rest.new)]
    count = len(width) + lead
    for ray, knot, sense in ((ends.before, 0, -1.0), (ends.after, -1, 1.0)):
        if ray is None:
            continue
        dz, dsize = ray[0][None], ray[1][None]
        part = _march(z[knot][None], dz, dz, size[knot][None], dsize, limit=np.inf)
        e = part.events
        t = ends.t[knot] + sense * e.s
        if sense < 0:  # found outwards, wanted from left to right
            back = slice(None, None, -1)
            first.insert(0, part.last)
            events.insert(0, (e.group[back], e.unit[back], t[back], e.slack[back], e.new[back], e.old[back]))
        else:
            first.append(part.first)
            events.append((e.group + count, e.unit, t, e.slack, e.old, e.new))
    columns = (np.concatenate(column) for column in zip(*events, strict=True))
    return Cuts(np.concatenate(first), *columns)


def _signs(z: Floats, size: Floats) -> NDArray[np.int8]:
    return np.where(np.abs(z) <= SIGN * size, 0, np.sign(z)).astype(np.int8)


def _rays(ends: Ends, interval: Ints) -> list[tuple[tuple[Floats, Floats], int, float, NDArray[np.bool_]]]:
    """The rays there are: derivatives, their knot, the sense of t, and which crossings lie on them."""
    last = len(ends.t) - 1 + (ends.before is not None)
    out = []
    if ends.before is not None:
        out.append((ends.before, 0, -1.0, interval == 0))
    if ends.after is not None:
        out.append((ends.after, len(ends.t) - 1, 1.0, interval == last))
    return out


class _Events(NamedTuple):
    group: Ints
    unit: Ints
    s: Floats
    slack: Floats
    old: Ints
    new: Ints


class _Marched(NamedTuple):
    first: NDArray[np.int16]  #: (G, U)
    last: NDArray[np.int16]  #: (G, U)
    events: _Events  #: in order of s for each (group, unit)


def _march(v: Floats, dv: Floats, end: Floats, size: Floats, end_size: Floats, *, limit: float) -> _Marched:
    """Along the upper envelopes of lines ``v + s dv``, s from 0 to ``limit``; all arrays (G, U, K).

    ``end`` ranks the lines at the far end: their values at s = 1, or their slopes on a ray.
    """
    top = _among_largest(v, size, np.ones(v.shape, bool))
    at = _among_largest(end, end_size, top).argmax(axis=-1)  # the first of those that tie at both ends
    first = at.astype(np.int16)
    current = at[..., None]
    higher = _exceeds(end, end_size, current)
    group, unit = np.nonzero(higher.any(axis=-1))
    v, dv, end, size, end_size = (a[group, unit] for a in (v, dv, end, size, end_size))  # (P, K)
    at, s = at[group, unit], np.zeros(len(group))
    last, active, found = first.copy(), np.arange(len(group)), []
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
        here = np.take_along_axis(way, nearest, 1)
        far = here if np.isinf(limit) else np.ones_like(here)
        terms = size[active] + far * end_size[active]
        terms = np.take_along_axis(terms, nearest, 1) + np.take_along_axis(terms, current, 1)
        slack = SIGN * terms / np.take_along_axis(speed, nearest, 1)
        # Of lines that cross here together the steepest goes on.
        chosen = np.where(way <= here + slack, end[active], -np.inf).argmax(axis=1)
        found.append((active, here[:, 0], slack[:, 0], at[active], chosen))
        at[active], s[active] = chosen, here[:, 0]
    last[group, unit] = at
    pair, s, slack, old, new = _columns(found)
    return _Marched(first, last, _Events(group[pair], unit[pair], s, slack, old, new))


def _columns(found: list[tuple[Any, ...]]) -> tuple[NDArray[Any], ...]:
    if not found:
        return (np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def _among_largest(values: Floats, size: Floats, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the chosen candidates tie for the largest, by the tolerance policy."""
    values = np.where(which, values, -np.inf)
    best = values.argmax(axis=-1)[..., None]
    gap = np.take_along_axis(values, best, -1) - values
    return gap <= SIGN * (size + np.take_along_axis(size, best, -1))


def _exceeds(values: Floats, size: Floats, current: Ints) -> NDArray[np.bool_]:
    """Which candidates are larger than the current one, by more than the tolerance."""
    gap = values - np.take_along_axis(values, current, -1)
    return gap > SIGN * (size + np.take_along_axis(size, current, -1))
