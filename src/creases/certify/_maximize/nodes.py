"""Bounds of what enters each bend, and of rows of the output, where some units are known to be on a side.

Linear bounds carried backwards as in CROWN [1]_, for many nodes of a search at a time. They hold in real arithmetic:
coefficients are rounded as they are computed, and the sum of magnitudes bounds by how much that changes the result.

References
----------
.. [1] Zhang, Weng, Chen, Hsieh, Daniel, "Efficient Neural Network Robustness Certification with General Activation
   Functions", NeurIPS 2018, arXiv:1811.00866.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.certify._maximize.dense import Affine, Dense
from creases.certify.proofs._format import Leaf, Lemma
from creases.certify.proofs._rounding import LEAST, TINY, UNIT, gamma
from creases.certify.proofs._spec import Lines, is_nearly_open, relu_lines

FREE, OFF, ON = -1, 0, 1


class Pull(NamedTuple):
    """Affine functions of the input from a pass backwards: rows never exceed ``G v + constant + error`` in a node."""

    G: Floats  #: (b, k, n)
    constant: Floats  #: (b, k)
    error: Floats  #: (b, k)


Choose = Callable[[int, Floats], tuple[Floats, Floats, Floats]]


class Nodes:
    """Bounds for b nodes: a box of the input less the middle, and sides of units.

    Parameters
    ----------
    low, high
        (b, n) of v, rounded outwards.
    sides
        (b, units): FREE, OFF or ON.
    known
        (b, units) twice: bounds of what enters units that hold already, such as those of parents.
    """

    def __init__(
        self, dense: Dense, low: Floats, high: Floats, sides: Ints, known: tuple[Floats, Floats] | None = None
    ) -> None:
        self.dense, self.v_low, self.v_high, self.sides = dense, low, high, sides
        b, units = sides.shape
        self.v_size = np.maximum(np.abs(low), np.abs(high))
        self.low, self.high = np.zeros((b, units)), np.zeros((b, units))  #: (b, units) of what enters each unit
        self.is_empty: Bools = np.zeros(b, bool)  #: whether the bounds contradict each other or the sides
        self.clash: Ints = np.full(b, -1)  #: (b,) a unit whose bounds do
        self.lines: list[Lines] = []
        self.slack: list[Floats] = []  #: (b, m) of each bend: errors for each unit of a coefficient
        self._h: list[tuple[Floats, Floats]] = []
        self._gamma = 2 * gamma(dense.n_terms)  # so that who checks a proof, in another order, has room
        # What coefficients lose by underflow counts as much as the value that each belongs to is large.
        self.lost = [LEAST * dense.n_terms * self.v_size.sum(axis=1)]  #: (b,) before each bend, and before the output
        start = 0
        for function, leak in zip(dense.bends, dense.leaks, strict=True):
            part = slice(start, start + len(leak))
            self._bound_bend(function, leak, part, known)
            start = part.stop
        self.out_slack = self._slack_of(dense.output)

    def _bound_bend(self, function: Affine, leak: Floats, part: slice, known: tuple[Floats, Floats] | None) -> None:
        slack = self._slack_of(function)
        self.slack.append(slack)
        low, high = self._interval(function, slack)
        if known is not None:
            low, high = np.maximum(low, known[0][:, part]), np.minimum(high, known[1][:, part])
        sides = self.sides[:, part]
        low, high = (
            np.where(sides == ON, np.maximum(low, 0.0), low),
            np.where(sides == OFF, np.minimum(high, 0.0), high),
        )
        clash = low > high
        if self.lines:
            least, most = self._range_back(function, slack)
            clash |= (least > high) | (most < low)
            is_open = is_nearly_open(low, high)
            low, high = (
                np.where(is_open, np.maximum(low, least), low),
                np.where(is_open, np.minimum(high, most), high),
            )
            clash |= low > high
        first = clash.any(axis=1) & ~self.is_empty
        self.clash[first] = part.start + clash[first].argmax(axis=1)
        self.is_empty |= first
        high = np.maximum(low, high)
        self.low[:, part], self.high[:, part] = low, high
        on = (sides == ON) | ((low >= 0) & (sides != OFF))
        self.lines.append(relu_lines(low, high, leak, on, ~on & ((sides == OFF) | (high <= 0))))
        self._h.append(_relu_range(low, high, leak))
        size = np.maximum(np.abs(low), np.abs(high)).sum(axis=1) * (1 + np.abs(leak).max(initial=1.0))
        self.lost.append(self.lost[-1] + LEAST * self.dense.n_terms * size)

    def _range_back(self, function: Affine, slack: Floats) -> tuple[Floats, Floats]:
        """Return the range (b, m) of an affine function by a pass backwards."""
        m = len(function.c)
        rows = np.broadcast_to(np.eye(m), (len(slack), m, m))
        return -self.worst(self.pull(function, -rows, slack)), self.worst(self.pull(function, rows, slack))

    def _slack_of(self, function: Affine) -> Floats:
        """Bound (b, m) the errors of an affine function for rounding of its coefficients and of sums with them."""
        size = np.abs(function.c) + self.v_size @ np.abs(function.B).T
        error = function.c_error + self.v_size @ function.B_error.T
        for W, W_error, (low, high) in zip(function.W, function.W_error, self._h, strict=True):
            reach = np.maximum(np.abs(low), np.abs(high))
            size = size + reach @ np.abs(W).T
            error = error + reach @ W_error.T
        return np.asarray(self._gamma * size + 1.01 * error + TINY * (1.0 + size.max(initial=0.0)))

    def _interval(self, function: Affine, slack: Floats) -> tuple[Floats, Floats]:
        """Return the range (b, m) of an affine function, each term at its worst."""
        ends = [(self.v_low, self.v_high), *self._h]
        low, high = function.c - slack, function.c + slack
        for W, (least, most) in zip((function.B, *function.W), ends, strict=True):
            up, down = np.maximum(W, 0.0).T, np.minimum(W, 0.0).T
            low, high = low + least @ up + most @ down, high + most @ up + least @ down
        return np.where(np.isfinite(low), low, -np.inf), np.where(np.isfinite(high), high, np.inf)

    def pull(self, function: Affine, rows: Floats, slack: Floats, choose: Choose | None = None) -> Pull:
        """Carry rows (b, k, m) of an affine function back to the input.

        Parameters
        ----------
        slack
            (b, m) of the function.
        choose
            Returns for a bend and the coefficients (b, k, m) of its units the slopes of lines above and below, and
            multiples of what enters the units that are added; by default the slopes of the lines and nothing.
        """
        depth = len(function.W)
        G, constant = rows @ function.B, rows @ function.c
        error = _dot(np.abs(rows), slack) + self.lost[depth][:, None]
        coefficients = [rows @ W for W in function.W]
        for j in reversed(range(depth)):
            lines, h = self.lines[j], coefficients[j]
            up, down = np.maximum(h, 0.0), np.minimum(h, 0.0)
            if choose is None:
                z = up * lines.above[:, None] + down * lines.below[:, None]
            else:
                above, below, more = choose(j, h)
                z = up * above + down * below + more
            constant = constant + _dot(up, lines.above_at) + _dot(down, lines.below_at)
            error = error + self._gamma * (_dot(up, np.abs(lines.above_at)) + _dot(-down, np.abs(lines.below_at)))
            bend = self.dense.bends[j]
            G = G + z @ bend.B
            constant = constant + z @ bend.c
            error = error + _dot(np.abs(z), self.slack[j])
            for i, W in enumerate(bend.W):
                coefficients[i] = coefficients[i] + z @ W
        return Pull(G, constant, error)

    def worst(self, pull: Pull) -> Floats:
        """Return the largest value (b, k) of affine functions over each box, rounded upwards."""
        G, constant, error = pull
        reach = np.maximum(G * self.v_low[:, None], G * self.v_high[:, None]).sum(axis=2)
        upper = (constant + reach) + error
        return np.where(np.isfinite(upper), upper, np.inf)  # nan and minus infinity are of overflow

    def upper(self, rows: Floats) -> tuple[Floats, Floats]:
        """Bound rows (k, n_out) of the output from above: (b, k), and the slopes (b, k, n) of the bounds."""
        b = len(self.sides)
        pull = self.pull(self.dense.output, np.broadcast_to(rows, (b, *rows.shape)), self.out_slack)
        return self.worst(pull), pull.G

    def take(self, i: int) -> Nodes:
        """Return the i-th node alone."""
        one, part = copy(self), slice(i, i + 1)
        for name in ("v_low", "v_high", "sides", "low", "high", "out_slack"):
            setattr(one, name, getattr(self, name)[part])
        one.lines = [Lines(*(line[part] for line in lines)) for lines in self.lines]
        one.slack, one.lost = [each[part] for each in self.slack], [each[part] for each in self.lost]
        return one

    def contradiction(self, i: int) -> Leaf:
        """Return a proof that the i-th node, whose bounds contradict each other, is empty."""
        unit = int(self.clash[i])
        return Leaf("empty", lemmas=(Lemma(unit, "low"), Lemma(unit, "high")))

    def open_units(self) -> Bools:
        """Return which units (b, units) may be on either side."""
        leak = np.concatenate([*self.dense.leaks, np.zeros(0)])
        return np.asarray((self.low < 0) & (self.high > 0) & (self.sides == FREE) & (leak != 1.0))


def _dot(a: Floats, b: Floats) -> Floats:
    """Return the products (b, k) of (b, k, m) and (b, m)."""
    return np.asarray((a @ b[:, :, None])[:, :, 0])


def _relu_range(low: Floats, high: Floats, leak: Floats) -> tuple[Floats, Floats]:
    """Return bounds (b, m) of what leaves units."""
    ends = [np.where(end > 0, end, leak * end) for end in (low, high)]
    least, most = np.minimum(*ends), np.maximum(*ends)
    bent = (low < 0) & (high > 0)
    least, most = np.where(bent, np.minimum(least, 0.0), least), np.where(bent, np.maximum(most, 0.0), most)
    return least - 2 * UNIT * np.abs(least), most + 2 * UNIT * np.abs(most)
