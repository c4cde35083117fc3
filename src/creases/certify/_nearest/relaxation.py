"""Linear bounds of a network in a ball, for units of which some have a known side.

As in CROWN [1]_: each unit that may be on either side is enclosed between two lines, and what is bounded becomes an
affine function of the input. A unit whose side is known is linear, and that it *is* on this side is one more linear
condition on the input. With a side for every unit the bounds are exact.

References
----------
.. [1] Zhang, Weng, Chen, Hsieh, Daniel, "Efficient Neural Network Robustness Certification with General Activation
   Functions", NeurIPS 2018.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.certify._nearest.layers import ROUNDOFF, Layers, gamma

Sides = NDArray[np.int8]  #: of each unit: 1 above zero, 0 below, -1 not known

#: Largest matrix of a layer for which all units are bounded backwards, not by intervals alone.
BACKWARDS = 2**22

#: Multipliers of a cap that are tried, relative to the sizes of the rows.
MULTIPLIERS = (0.125, 0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Ball:
    """Inputs u within a radius and within limits."""

    radius: float
    low: Floats  #: (n,) at least -radius
    high: Floats  #: (n,) at most radius
    norm: str
    cap: tuple[Floats, float] | None = None  #: q (n,) and t: only inputs with ``q u >= t`` count

    @classmethod
    def around(
        cls, radius: float, low: Floats, high: Floats, norm: str, cap: tuple[Floats, float] | None = None
    ) -> Ball:
        """Return the ball within limits (n,) each, and beyond a plane."""
        return cls(radius, np.maximum(low, -radius), np.minimum(high, radius), norm, cap)

    @property
    def is_empty(self) -> bool:
        """Whether the limits leave nothing of the ball."""
        return bool((self.low > self.high).any())

    def maxima(self, A: Floats, b: Floats) -> Floats:
        """Return the largest values of ``A u + b`` in the ball, or a little more: (rows,)."""
        top = self._maxima(A)
        if self.cap is not None and self.cap[1] > 0:
            q, t = self.cap
            if self.norm == "l2":
                weights = [self._best_multiplier(A, q, t)]
            else:
                size = np.abs(A).max(axis=1, initial=0.0) / max(float(np.abs(q).max(initial=0.0)), 1e-300)
                weights = [share * size for share in MULTIPLIERS]  # any multiplier of q u >= t gives a bound
            for weight in weights:
                top = np.minimum(top, self._maxima(A + weight[:, None] * q, weight * t) - weight * t)
        return top + b

    def _best_multiplier(self, A: Floats, q: Floats, t: float) -> Floats:
        """Return the multipliers of ``q u >= t`` that give the least bounds of ``A u`` in a Euclidean ball."""
        along, size = A @ q, (A * A).sum(axis=1)
        across = np.sqrt(np.maximum(size - along**2, 0.0))
        half_width = np.sqrt(max(self.radius**2 - t**2, 1e-24 * self.radius**2))
        return np.asarray(np.maximum(t / half_width * across - along, 0.0))

    def _maxima(self, A: Floats, constant: Floats | float = 0.0) -> Floats:
        """Return the largest values of ``A u`` in the ball, without its cap, with errors of sums and of a constant."""
        ends = np.maximum(np.abs(self.low), np.abs(self.high))
        size = np.abs(A)
        error = gamma(A.shape[1] + 16) * (size @ ends + constant)
        in_box = np.maximum(A * self.low, A * self.high).sum(axis=1)
        if self.norm == "linf" or (self.low > 0).any() or (self.high < 0).any():
            return np.asarray(in_box + error)
        useful = np.where(A > 0, self.high > 0, self.low < 0) * size  # in directions that limits allow
        length = useful.max(axis=1, initial=0.0) if self.norm == "l1" else np.sqrt((useful * useful).sum(axis=1))
        return np.asarray(np.minimum(in_box, self.radius * length) + error)


class Bounds(NamedTuple):
    """Bounds of every unit's pre-activation in a ball: (units,) each."""

    low: Floats
    high: Floats


class Lines(NamedTuple):
    """Lines that enclose each unit: ``below z + below_at <= h <= above z + above_at``, (units,) each."""

    above: Floats
    above_at: Floats
    below: Floats
    below_at: Floats


def lines(low: Floats, high: Floats, leak: Floats, sides: Sides, slope: float | None = None) -> Lines:
    """Return lines around units with bounds, leaks and sides (units,) each.

    ``slope`` from 0 to 1 is that of the free line of every unit that may be on both sides: 0 its lower side's, 1 its
    upper side's. By default the side that more of the interval is on.
    """
    on, off = (sides == 1) | (low >= 0), (sides == 0) | (high <= 0)
    bent = ~(on | off)
    only = np.where(on, 1.0, leak)
    chord = np.where(bent, (high - leak * low) / np.where(bent, high - low, 1.0), only)
    convex, zero = leak <= 1, np.zeros(len(low))
    # The chord is beyond the unit at both ends, whatever its slope was rounded to.
    room = 8 * ROUNDOFF * ((np.abs(leak) + np.abs(chord)) * np.abs(low) + (1 + np.abs(chord)) * np.abs(high))
    at_low, at_high = (leak - chord) * low, (1 - chord) * high
    chord_at = np.where(convex, np.maximum(at_low, at_high) + room, np.minimum(at_low, at_high) - room)
    chord_at = np.where(bent, chord_at, 0.0)
    upper = (101 * high >= -100 * low) if slope is None else np.full(len(low), slope >= 0.5)
    free = np.where(bent, np.where(upper, 1.0, leak), only)
    return Lines(
        np.where(convex, chord, free),
        np.where(convex, chord_at, zero),
        np.where(convex, free, chord),
        np.where(convex, zero, chord_at),
    )


class Upper(NamedTuple):
    """Affine functions ``A u + b`` of the input above what was asked for, and how they depend on the units."""

    A: Floats  #: (rows, n)
    b: Floats  #: (rows,)
    depends: Floats  #: (rows, units) coefficient of each unit's output on the way, if asked for


def upper_bounds(net: Layers, W: Floats, c: Floats, around: Lines, *, depends: bool = False) -> Upper:
    """Bound ``W v + c`` from above, v the input and the units of the first layers, by affine functions of the input."""
    n, back, b = net.n_in, W, c.astype(np.float64)
    parts: list[Floats] = []
    for k in reversed(range(len(net.layers))):
        layer, units = net.layers[k], net.units(k)
        if back.shape[1] <= layer.first:
            continue
        G = back[:, layer.first :]
        up, down = np.maximum(G, 0.0), np.minimum(G, 0.0)
        constant = up * around.above_at[units] + down * around.below_at[units]
        z = up * around.above[units] + down * around.below[units]
        b = b + constant.sum(axis=1) + z @ layer.c
        back = back[:, : layer.first] + z @ layer.W
        if depends:
            parts.insert(0, G)
    total = np.concatenate(parts, axis=1) if parts else np.zeros((len(W), 0))
    if depends and total.shape[1] < net.n_units:
        total = np.pad(total, ((0, 0), (0, net.n_units - total.shape[1])))
    return Upper(back[:, :n], b, total)


class OutOfTimeError(Exception):
    """Bounds of a large network take longer than what is left of the budget."""


def bound_units(
    net: Layers,
    ball: Ball,
    sides: Sides,
    errors: Floats,
    known: Bounds | None = None,
    deadline: float = np.inf,
) -> Bounds | None:
    """Bound all pre-activations in a ball where units have the known sides; None where that is impossible.

    ``errors`` (units,) are those of :class:`Rounding`; ``known`` bounds are tightened. After the deadline, which is
    looked at before each layer, :class:`OutOfTimeError` is raised.
    """
    n_units = net.n_units
    low = np.full(n_units, -np.inf) if known is None else known.low.copy()
    high = np.full(n_units, np.inf) if known is None else known.high.copy()
    for k in range(len(net.layers)):
        if time.perf_counter() > deadline:
            raise OutOfTimeError
        layer, units = net.layers[k], net.units(k)
        side = sides[units]
        if k:
            new_low, new_high = _interval(net, ball, low, high, k)
            low[units] = np.maximum(low[units], new_low - errors[units])
            high[units] = np.minimum(high[units], new_high + errors[units])
        low[units] = np.where(side == 1, np.maximum(low[units], 0.0), low[units])
        high[units] = np.where(side == 0, np.minimum(high[units], 0.0), high[units])
        # As the checker of proofs does, those that are far from their bend are not bounded backwards.
        rows = np.flatnonzero((100 * low[units] < high[units]) & (100 * high[units] > low[units]))
        if len(rows) and (not k or layer.W.size <= BACKWARDS):
            leak = np.concatenate([part.leak for part in net.layers[:k]]) if k else np.zeros(0)
            done, at = slice(0, units.start), units.start + rows
            around = lines(low[done], high[done], leak, sides[done])
            W, c = layer.W[rows], layer.c[rows]
            both = upper_bounds(net, np.vstack([W, -W]), np.append(c, -c), around)
            top = ball.maxima(both.A, both.b)
            high[at] = np.minimum(high[at], top[: len(rows)] + errors[at])
            low[at] = np.maximum(low[at], -top[len(rows) :] - errors[at])
        if (low[units] > high[units]).any():
            return None
    return Bounds(low, high)


def _interval(net: Layers, ball: Ball, low: Floats, high: Floats, k: int) -> tuple[Floats, Floats]:
    """Bound the pre-activations of a layer by intervals of the variables before it."""
    leak = np.concatenate([part.leak for part in net.layers[:k]])
    count = net.units(k).start
    ends = [np.where(end > 0, end, leak * end) for end in (low[:count], high[:count])]
    inner = np.where((low[:count] < 0) & (high[:count] > 0), 0.0, ends[0])
    least = np.concatenate([ball.low, np.minimum(np.minimum(*ends), inner)])
    most = np.concatenate([ball.high, np.maximum(np.maximum(*ends), inner)])
    layer = net.layers[k]
    plus, minus = np.maximum(layer.W, 0.0), np.minimum(layer.W, 0.0)
    return plus @ least + minus @ most + layer.c, plus @ most + minus @ least + layer.c
