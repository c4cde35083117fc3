"""Linear bounds carried backwards, as in CROWN [1]_, for many nodes of a search at a time.

A node is a box, a ball or what a plane leaves of them, with known sides of some units. Each unit that may be on either
side is enclosed between two lines, so that what is bounded becomes an affine function of the input. A unit whose side
is known is linear; with a side for every unit the bounds are exact up to rounding.

Bounds hold in real arithmetic: coefficients are rounded as they are computed, and sums of magnitudes bound by how much
that changes the result.

References
----------
.. [1] Zhang, Weng, Chen, Hsieh, Daniel, "Efficient Neural Network Robustness Certification with General Activation
   Functions", NeurIPS 2018, arXiv:1811.00866.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bools, Floats, Ints
from creases.certify._form import Form, Layer
from creases.certify.proofs._checker.claims import MULTIPLES
from creases.certify.proofs._format import Leaf, Lemma
from creases.certify.proofs._rounding import LEAST, TINY, UNIT, gamma
from creases.certify.proofs._spec import Lines, is_nearly_open, relu_lines

#: What is known of the side of a unit.
FREE, OFF, ON = -1, 0, 1

Sides = NDArray[np.int8]  #: of each unit

#: Largest matrix of a layer for which all units are bounded backwards, not by intervals alone.
BACKWARDS = 2**22

#: Sums of squares below it may have lost some.
SQUARES = 1e-280

#: Numbers of the rows that are bounded at once.
BLOCK = 2**18


class OutOfTimeError(Exception):
    """Bounds of a large network take longer than what is left of the budget."""


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
    def boxes(cls, low: Floats, high: Floats) -> Balls:
        """Return boxes (b, n) each."""
        return cls(np.inf, "linf", low, high, np.zeros_like(low), np.zeros(len(low)))

    @cached_property
    def is_box(self) -> bool:
        """Whether only limits bound the inputs."""
        return self.norm == "linf" and not (self.beyond > 0).any()

    @cached_property
    def size(self) -> Floats:
        """Largest magnitudes (b, n) of inputs."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

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
            return np.asarray(self.radius * _lengths(A) + error)
        ends = np.maximum(np.abs(low), np.abs(high))
        error = gamma(A.shape[1] + 16) * ((size * ends).sum(axis=1) + constant)
        in_box = np.maximum(A * low, A * high).sum(axis=1)
        if self.norm == "linf":
            return np.asarray(in_box + error)
        useful = np.where(A > 0, high > 0, low < 0) * size  # in directions that limits allow
        length = useful.max(axis=1, initial=0.0) if self.norm == "l1" else _lengths(useful)
        is_off = (low > 0).any(axis=1) | (high < 0).any(axis=1)
        return np.asarray(np.where(is_off, in_box, np.minimum(in_box, self.radius * length)) + error)


def _lengths(A: Floats) -> Floats:
    """Return the Euclidean lengths of rows (rows,), or more where squares are too small for floats."""
    squares = (A * A).sum(axis=1)
    return np.asarray(np.where(squares < SQUARES, np.abs(A).sum(axis=1), np.sqrt(squares)))


class Upper(NamedTuple):
    """Affine functions ``A u + b`` of the input above what was asked for, and how they depend on the units."""

    A: Floats  #: (rows, n)
    b: Floats  #: (rows,)
    error: Floats  #: (rows,) to be added for all rounding
    depends: Floats  #: (rows, units) coefficient of what leaves each unit on the way


#: Returns for units and the coefficients (rows, m) of what leaves them the slopes of lines above and below, and
#: multiples of what enters the units that are added.
Choose = Callable[[slice, Floats], tuple[Floats, Floats, Floats]]


class Nodes:
    """Bounds of what enters each unit in b nodes, and of rows of the output.

    Parameters
    ----------
    inputs
        In the variables of the form.
    sides
        (b, units): FREE, OFF or ON.
    known
        (b, units) twice: bounds that hold already, such as those of parents.
    is_bounded
        Whether the known bounds are not to be tightened.
    deadline
        As of ``time.perf_counter()``; after it :class:`OutOfTimeError` is raised.
    """

    def __init__(
        self,
        form: Form,
        inputs: Balls,
        sides: Ints,
        known: tuple[Floats, Floats] | None = None,
        *,
        is_bounded: bool = False,
        deadline: float = np.inf,
    ) -> None:
        self.form, self.inputs, self.sides = form, inputs, sides
        b, units = sides.shape
        known = (np.full(sides.shape, -np.inf), np.full(sides.shape, np.inf)) if known is None else known
        self.low, self.high = (end.copy() for end in known)  #: (b, units) of what enters each unit
        self.clash: Ints = np.full(b, -1)  #: (b,) a unit whose bounds contradict each other or its side
        self.is_empty: Bools = np.asarray((inputs.low > inputs.high).any(axis=1))  #: (b,) as such a unit or limits show
        self.lines = Lines(*(np.zeros((b, units)) for _ in Lines._fields))
        self.slack = np.zeros((b, units))  #: errors for each unit of a coefficient of what enters units
        self.gamma = 2 * gamma(form.n_terms)  # so that who checks a proof, in another order, has room
        self._least, self._most = (np.hstack([end, np.zeros((b, units))]) for end in (inputs.low, inputs.high))
        self._size = np.hstack([inputs.size, np.zeros((b, units))])  # of all variables, or of what enters units
        # What coefficients lose by underflow counts as much as the value that each belongs to is large.
        self.lost = [LEAST * form.n_terms * inputs.size.sum(axis=1)]  #: (b,) before each layer, and before the output
        for k, layer in enumerate(form.layers):
            if time.perf_counter() > deadline:
                raise OutOfTimeError
            self.slack[:, form.units(k)] = self._slack_of(layer)
            if not is_bounded:
                self._bound_layer(k, deadline)
            self._close_layer(k)
        self.out_slack = self._slack_of(form.output)  #: (b, n_out)

    def _slack_of(self, layer: Layer) -> Floats:
        """Bound (b, m) the errors of a layer for rounding of its coefficients and of sums with them."""
        plus, minus = layer.signed
        reach = self._size[:, : layer.first]
        size = np.abs(layer.c) + reach @ (plus - minus).T
        error = layer.c_error if layer.W_error is None else layer.c_error + reach @ layer.W_error.T
        return np.asarray(self.gamma * size + 1.01 * error + TINY * (1.0 + size.max(initial=0.0)))

    def _bound_layer(self, k: int, deadline: float) -> None:
        """Bound what enters a layer: each term at its worst, then backwards where units are nearly open."""
        layer, units = self.form.layers[k], self.form.units(k)
        plus, minus = layer.signed
        side, slack = self.sides[:, units], self.slack[:, units]
        least, most = self._least[:, : layer.first], self._most[:, : layer.first]
        low, high = (
            layer.c + (least @ plus.T + most @ minus.T) - slack,
            layer.c + (most @ plus.T + least @ minus.T) + slack,
        )
        low = np.where(np.isfinite(low), np.maximum(self.low[:, units], low), self.low[:, units])  # not of overflow
        high = np.where(np.isfinite(high), np.minimum(self.high[:, units], high), self.high[:, units])
        low = np.where(side == ON, np.maximum(low, 0.0), low)
        high = np.where(side == OFF, np.minimum(high, 0.0), high)
        if layer.W.size <= BACKWARDS if k else not self.inputs.is_box:
            of, rows = np.nonzero(is_nearly_open(low, high) & ~self.is_empty[:, None])
            step = max(1, BLOCK // layer.first)
            for part in (slice(first, first + step) for first in range(0, len(rows), step)):
                if time.perf_counter() > deadline:
                    raise OutOfTimeError
                i, j = of[part], rows[part]
                W, c, error = layer.W[j], layer.c[j], slack[i, j]
                high[i, j] = np.minimum(high[i, j], self.maxima(self.carry_back(W, c, error, i), i))
                low[i, j] = np.maximum(low[i, j], -self.maxima(self.carry_back(-W, -c, error, i), i))
        wrong = low > high
        clash = wrong.any(axis=1) & ~self.is_empty
        self.clash[clash] = units.start + wrong[clash].argmax(axis=1)
        self.is_empty |= clash
        self.low[:, units], self.high[:, units] = low, np.maximum(low, high)

    def _close_layer(self, k: int) -> None:
        """Enclose the units of a layer."""
        units, leak = self.form.units(k), self.form.layers[k].leak
        low, high = self.low[:, units], self.high[:, units]
        for part, line in zip(self.lines, node_lines(low, high, leak, self.sides[:, units]), strict=True):
            part[:, units] = line
        variables = slice(self.form.n_in + units.start, self.form.n_in + units.stop)
        ends = [np.where(end > 0, end, leak * end) for end in (low, high)]
        bent = (low < 0) & (high > 0)
        least, most = np.minimum(*ends), np.maximum(*ends)
        least, most = np.where(bent, np.minimum(least, 0.0), least), np.where(bent, np.maximum(most, 0.0), most)
        self._least[:, variables] = least - 2 * UNIT * np.abs(least)
        self._most[:, variables] = most + 2 * UNIT * np.abs(most)
        size = np.maximum(np.abs(low), np.abs(high))
        self._size[:, variables] = size * np.maximum(np.abs(leak), 1.0)
        self.lost.append(
            self.lost[-1] + LEAST * self.form.n_terms * size.sum(axis=1) * (1 + np.abs(leak).max(initial=1))
        )

    def carry_back(
        self, W: Floats, c: Floats, error: Floats, of: Ints, lines: Lines | None = None, choose: Choose | None = None
    ) -> Upper:
        """Bound ``W v + c`` from above, v the variables of the first layers, by affine functions of the input.

        Parameters
        ----------
        W, c, error
            (rows, variables) and (rows,) twice: what the rounding of the rows themselves may change.
        of
            (rows,) the node of each row.
        lines, choose
            Other lines than those of the nodes.
        """
        form, n, back, lines = self.form, self.form.n_in, W, self.lines if lines is None else lines
        depth = next((k for k, layer in enumerate(form.layers) if layer.first >= W.shape[1]), len(form.layers))
        error, depends = error + self.lost[depth][of], np.zeros((len(W), form.n_units))
        b = c.astype(np.float64)
        for k in reversed(range(depth)):
            layer, units = form.layers[k], form.units(k)
            h = back[:, layer.first :]
            up, down = np.maximum(h, 0.0), np.minimum(h, 0.0)
            above_at, below_at = lines.above_at[of, units], lines.below_at[of, units]
            if choose is None:
                z = up * lines.above[of, units] + down * lines.below[of, units]
            else:
                above, below, more = choose(units, h)
                z = up * above + down * below + more
            b = b + (up * above_at).sum(axis=1) + (down * below_at).sum(axis=1) + z @ layer.c
            error = error + self.gamma * ((up * np.abs(above_at)).sum(axis=1) - (down * np.abs(below_at)).sum(axis=1))
            error = error + (np.abs(z) * self.slack[of, units]).sum(axis=1)
            back = back[:, : layer.first] + z @ layer.W
            depends[:, units] = h
        return Upper(back[:, :n], b, error, depends)

    def maxima(self, above: Upper, of: Ints) -> Floats:
        """Return the largest values (rows,) of affine functions in the inputs of nodes (rows,), rounded upwards."""
        return self.inputs.maxima(above.A, above.b + above.error, of)

    def upper(self, rows: Floats) -> tuple[Floats, Floats]:
        """Bound rows (k, n_out) of the output from above: (b, k), and the slopes (b, k, n) of the bounds."""
        (b, k), output = (len(self.sides), len(rows)), self.form.output
        of, W, c = np.repeat(np.arange(b), k), np.tile(rows @ output.W, (b, 1)), np.tile(rows @ output.c, b)
        above = self.carry_back(W, c, (self.out_slack @ np.abs(rows).T).ravel(), of)
        return self.maxima(above, of).reshape(b, k), above.A.reshape(b, k, -1)

    def contradiction(self, i: int) -> Leaf:
        """Return a proof that the i-th node, whose bounds contradict each other, is empty."""
        unit = int(self.clash[i])
        return Leaf("empty", lemmas=(Lemma(unit, "low"), Lemma(unit, "high")))

    def open_units(self) -> Bools:
        """Return which units (b, units) may be on either side."""
        return np.asarray((self.low < 0) & (self.high > 0) & (self.sides == FREE) & (self.form.leak != 1.0))


def node_lines(low: Floats, high: Floats, leak: Floats, sides: Ints, steep: bool | None = None) -> Lines:
    """Return lines around units with bounds and sides (b, units), and leaks (units,)."""
    on = (sides == ON) | ((low >= 0) & (sides != OFF))
    return relu_lines(low, high, leak, on, ~on & ((sides == OFF) | (high <= 0)), steep)


def root_node(form: Form, low: Floats, high: Floats) -> Nodes:
    """Return the one node of a box (1, n) without known sides."""
    return Nodes(form, Balls.boxes(low, high), np.full((1, form.n_units), FREE, np.int8))
