"""Linear bounds of a network in balls, for units of which some have a known side; many nodes of a search at once.

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
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bools, Floats, Ints
from creases.certify._form import Layers
from creases.certify.proofs._checker.claims import MULTIPLES
from creases.certify.proofs._rounding import gamma
from creases.certify.proofs._spec import Lines, is_nearly_open, relu_lines

Sides = NDArray[np.int8]  #: of each unit: 1 above zero, 0 below, -1 not known

#: Largest matrix of a layer for which all units are bounded backwards, not by intervals alone.
BACKWARDS = 2**22

#: Numbers of the rows that are bounded at once.
BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Balls:
    """For each of b nodes the inputs u within a radius, limits and a plane."""

    radius: float
    norm: str
    low: Floats  #: (b, n) at least -radius
    high: Floats  #: (b, n) at most radius
    toward: Floats  #: (b, n) and ``beyond`` (b,): only inputs with ``toward u >= beyond`` count, where that is above 0
    beyond: Floats

    @classmethod
    def around(cls, radius: float, norm: str, low: Floats, high: Floats, toward: Floats, beyond: Floats) -> Balls:
        """Return the balls within limits (b, n) each, and beyond planes."""
        return cls(radius, norm, np.maximum(low, -radius), np.minimum(high, radius), toward, beyond)

    @cached_property
    def _is_whole(self) -> bool:
        return bool((self.low == -self.radius).all() and (self.high == self.radius).all())

    def maxima(self, A: Floats, b: Floats, of: Ints) -> Floats:
        """Return the largest values of ``A u + b`` (rows,) in the balls of nodes (rows,), or a little more."""
        low, high, t = self.low[of], self.high[of], self.beyond[of]
        top = self._maxima(A, low, high)
        rows = np.flatnonzero(t > 0)
        if len(rows):
            G, q, t, low, high = A[rows], self.toward[of[rows]], t[rows], low[rows], high[rows]
            for weight in self._weights(G, q, t, high / 2 - low / 2):  # any multiplier of q u >= t gives a bound
                shift = weight * t
                top[rows] = np.minimum(top[rows], self._maxima(G + weight[:, None] * q, low, high, shift) - shift)
        top = top + b
        return np.where(np.isfinite(top), top, np.inf)  # nan and minus infinity are of overflow

    def _weights(self, G: Floats, q: Floats, t: Floats, half: Floats) -> list[Floats]:
        """Return multipliers (rows,) of planes to try; those that are best in a Euclidean ball are known."""
        if self.norm != "l2":
            length = np.maximum(np.abs(q * half).max(axis=1, initial=0.0), 1e-300)
            size = np.abs(G * half).max(axis=1, initial=0.0) / length
            return [share * size for share in MULTIPLES]
        along, size = (G * q).sum(axis=1), (G * G).sum(axis=1)
        across = np.sqrt(np.maximum(size - along**2, 0.0))
        half_width = np.sqrt(np.maximum(self.radius**2 - t**2, 1e-24 * self.radius**2))
        return [np.maximum(t / half_width * across - along, 0.0)]

    def _maxima(self, A: Floats, low: Floats, high: Floats, constant: Floats | float = 0.0) -> Floats:
        """Return the largest values of ``A u`` without planes, with errors of sums and of a constant."""
        size = np.abs(A)
        if self.norm == "l2" and self._is_whole:  # then no limit is in the way, and no box is narrower
            error = gamma(A.shape[1] + 16) * (self.radius * size.sum(axis=1) + constant)
            return np.asarray(self.radius * np.sqrt((A * A).sum(axis=1)) + error)
        ends = np.maximum(np.abs(low), np.abs(high))
        error = gamma(A.shape[1] + 16) * ((size * ends).sum(axis=1) + constant)
        in_box = np.maximum(A * low, A * high).sum(axis=1)
        if self.norm == "linf":
            return np.asarray(in_box + error)
        useful = np.where(A > 0, high > 0, low < 0) * size  # in directions that limits allow
        length = useful.max(axis=1, initial=0.0) if self.norm == "l1" else np.sqrt((useful * useful).sum(axis=1))
        is_off = (low > 0).any(axis=1) | (high < 0).any(axis=1)
        return np.asarray(np.where(is_off, in_box, np.minimum(in_box, self.radius * length)) + error)


def lines(low: Floats, high: Floats, leak: Floats, sides: Sides, steep: bool | None = None) -> Lines:
    """Return lines around units with bounds and sides (b, units), and leaks (units,)."""
    on = (sides == 1) | ((low >= 0) & (sides != 0))
    return relu_lines(low, high, leak, on, ~on & ((sides == 0) | (high <= 0)), steep)


class Upper(NamedTuple):
    """Affine functions ``A u + b`` of the input above what was asked for, and how they depend on the units."""

    A: Floats  #: (rows, n)
    b: Floats  #: (rows,)
    depends: Floats  #: (rows, units) coefficient of each unit's output on the way, if asked for


def upper_bounds(
    net: Layers,
    W: Floats,
    c: Floats,
    around: Lines,
    of: Ints,
    *,
    depends: bool = False,
    entering: Floats | None = None,
) -> Upper:
    """Bound ``W v + c`` from above, v the input and the units of the first layers, by affine functions of the input.

    Each row has the lines of a node, ``of`` (rows,). ``entering`` (rows, units) times what enters units is added to it;
    W must then have columns for all units.
    """
    n, back, b = net.n_in, W, c.astype(np.float64)
    total = np.zeros((len(W), net.n_units if depends else 0))
    for k in reversed(range(len(net.layers))):
        layer, units = net.layers[k], net.units(k)
        if back.shape[1] <= layer.first:
            continue
        G = back[:, layer.first :]
        up, down = np.maximum(G, 0.0), np.minimum(G, 0.0)
        z = up * around.above[of, units] + down * around.below[of, units]
        z = z if entering is None else z + entering[:, units]
        b = b + (up * around.above_at[of, units]).sum(axis=1) + (down * around.below_at[of, units]).sum(axis=1)
        b = b + z @ layer.c
        back = back[:, : layer.first] + z @ layer.W
        if depends:
            total[:, units] = G
    return Upper(back[:, :n], b, total)


class OutOfTimeError(Exception):
    """Bounds of a large network take longer than what is left of the budget."""


class Bounds(NamedTuple):
    """Bounds of every unit's pre-activation, (b, units) each, and which nodes (b,) can have inputs at all."""

    low: Floats
    high: Floats
    some: Bools

    def crossed(self, i: int) -> int:
        """Return a unit whose bounds leave no inputs in a node; -1 if limits do."""
        wrong = np.flatnonzero(self.low[i] > self.high[i])
        return int(wrong[0]) if len(wrong) else -1


def bound_units(
    net: Layers, balls: Balls, sides: Sides, errors: Floats, low: Floats, high: Floats, deadline: float = np.inf
) -> Bounds:
    """Tighten bounds (b, units) of all pre-activations in balls where units have the known sides (b, units).

    ``errors`` (units,) are those of :class:`Rounding`. After the deadline, which is looked at before each layer,
    :class:`OutOfTimeError` is raised.
    """
    low, high = low.copy(), high.copy()
    some = np.asarray((balls.low <= balls.high).all(axis=1))
    leak = net.leak
    for k in range(len(net.layers)):
        if time.perf_counter() > deadline:
            raise OutOfTimeError
        layer, units = net.layers[k], net.units(k)
        side, least, most = sides[:, units], low[:, units], high[:, units]
        new_low, new_high = _interval(net, balls, low, high, k)
        least, most = np.fmax(least, new_low - errors[units]), np.fmin(most, new_high + errors[units])  # nan: overflow
        least = np.where(side == 1, np.maximum(least, 0.0), least)
        most = np.where(side == 0, np.minimum(most, 0.0), most)
        of, rows = np.nonzero(is_nearly_open(least, most) & some[:, None])
        if len(rows) and (not k or layer.W.size <= BACKWARDS):
            done = slice(0, units.start)
            around = lines(low[:, done], high[:, done], leak[done], sides[:, done])
            for part in _parts(len(rows), layer.W.shape[1]):
                if time.perf_counter() > deadline:
                    raise OutOfTimeError
                i, j = of[part], rows[part]
                W, c = layer.W[j], layer.c[j]
                up, down = upper_bounds(net, W, c, around, i), upper_bounds(net, -W, -c, around, i)
                most[i, j] = np.minimum(most[i, j], balls.maxima(up.A, up.b, i) + errors[units][j])
                least[i, j] = np.maximum(least[i, j], -balls.maxima(down.A, down.b, i) - errors[units][j])
        low[:, units], high[:, units] = least, most
        some &= (least <= most).all(axis=1)
    return Bounds(low, high, some)


def _parts(count: int, width: int) -> list[slice]:
    """Return parts of so many rows that are small enough to stay in the cache."""
    step = max(1, BLOCK // max(width, 1))
    return [slice(first, first + step) for first in range(0, count, step)]


def _interval(net: Layers, balls: Balls, low: Floats, high: Floats, k: int) -> tuple[Floats, Floats]:
    """Bound the pre-activations (b, m) of a layer by intervals of the variables before it."""
    count = net.units(k).start
    leak = net.leak[:count]
    ends = [np.where(end > 0, end, leak * end) for end in (low[:, :count], high[:, :count])]
    inner = np.where((low[:, :count] < 0) & (high[:, :count] > 0), 0.0, ends[0])
    least = np.hstack([balls.low, np.minimum(np.minimum(*ends), inner)])
    most = np.hstack([balls.high, np.maximum(np.maximum(*ends), inner)])
    layer = net.layers[k]
    plus, minus = layer.signed
    return least @ plus.T + most @ minus.T + layer.c, most @ plus.T + least @ minus.T + layer.c
