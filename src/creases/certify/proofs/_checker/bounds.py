"""Bounds over a node of a tree: of what enters each bend, and of combinations of outputs, sides and rows of the domain.

Combinations are carried backwards from the outputs to the input, bends replaced by lines above or below them [1]_. In
float64 every coefficient on the way is taken as it is, and what its rounding can matter, at most the rounding times the
largest magnitude of the value it belongs to, is added to the bound. In fractions nothing is rounded.

References
----------
.. [1] Zhang, Weng, Chen, Hsieh, Daniel, "Efficient Neural Network Robustness Certification with General Activation
   Functions", NeurIPS 2018, arXiv:1811.00866.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from creases.certify.proofs._checker.claims import Node
from creases.certify.proofs._checker.parts import lift, to_fractions
from creases.certify.proofs._checker.program import Affine, Choice, Machine, Relu
from creases.certify.proofs._rounding import LEAST, UNIT, gamma
from creases.certify.proofs._spec import Array, is_infinite, is_nearly_open, relu_lines

#: The inputs of a bend are bounded backwards, not by intervals alone, where that takes at most this many numbers.
BACKWARDS = 2**26


_exact_or_infinite = np.frompyfunc(lambda value: value if isinstance(value, Fraction | int) else np.inf, 1, 1)


def exact_or_infinite(values: Array) -> Array:
    """Return upper bounds in fractions; a float among them has been rounded and is replaced by infinity."""
    return np.asarray(_exact_or_infinite(values), dtype=object)


@dataclass(eq=False)
class Bounds:
    """Bounds over a node of what enters each bend, by its step, and of every value."""

    machine: Machine
    node: Node
    exact: bool = False
    entering: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    values: list[tuple[Array, Array]] = field(default_factory=list)
    is_empty: bool = False  #: whether no input is in the node
    parent: Bounds | None = None  #: of the node above
    in_fractions: Bounds | None = None  #: the same in exact arithmetic, once it is known
    _lines: dict[int, tuple[Array, Array, Array, Array]] = field(default_factory=dict)
    _sizes: list[Array] = field(default_factory=list)

    @classmethod
    def over(cls, machine: Machine, node: Node, parent: Bounds | None = None, exact: bool = False) -> Bounds:
        """Compute bounds over a node, none of them wider than its parent's."""
        bounds = cls(machine, node, exact, parent=parent)
        low, high = node.box(exact)
        has_new_box = parent is None or node.low is not parent.node.low or node.high is not parent.node.high
        is_apart = has_new_box and node.ball is not None and node.ball.is_apart(node.low, node.high)
        bounds.is_empty = is_apart or bool((low > high).any()) or (parent is not None and parent.is_empty)
        bounds._add_value(low, high)
        for i, step in enumerate(machine.steps):
            if bounds.is_empty:
                return bounds
            if isinstance(step, Affine):
                bounds._add_affine(step)
            else:
                bounds._enter(i, step, None if parent is None else parent.entering.get(i))
                if not bounds.is_empty:
                    bounds._add_bend(i, step)
        return bounds

    # -- intervals ----------------------------------------------------------------------------------------------------

    def _add_value(self, low: Array, high: Array) -> None:
        if not self.exact:
            low, high = np.where(low < np.inf, low, -np.inf), np.where(high > -np.inf, high, np.inf)  # nan, overflow
            self._sizes.append(np.maximum(np.abs(low), np.abs(high)))
        self.values.append((low, high))

    def _add_affine(self, step: Affine) -> None:
        ends = [
            part.interval(*self.values[number], self.exact)
            for number, part in zip(step.inputs, step.parts, strict=True)
        ]
        if step.offset is not None:
            offset, error = step.offset.at(self.exact), 0 if self.exact else step.offset.error
            ends.append((offset, offset) if error is None else (offset - error, offset + error))
        low, high = ends[0]
        for least, most in ends[1:]:
            low, high = low + least, high + most
        if not self.exact and len(ends) > 1:
            low, high = low - 2 * gamma(len(ends)) * _size(ends, 0), high + 2 * gamma(len(ends)) * _size(ends, 1)
        self._add_value(low, high)

    def _enter(self, i: int, step: Relu | Choice, known: tuple[Array, Array] | None) -> None:
        """Bound what enters a bend: by intervals, the parent's bounds, fixed sides, and backwards if undecided."""
        low, high = self.values[step.inputs[0]]
        if known is not None:
            low, high = np.maximum(low, known[0]), np.minimum(high, known[1])
        low, high = self._fix(step, low, high)
        is_open = np.asarray(low < high) if isinstance(step, Choice) else is_nearly_open(low, high)
        rows = np.flatnonzero(is_open)
        cost = 2 * len(rows) * sum(self.machine.sizes()[: step.inputs[0] + 1])
        if len(rows) and cost <= BACKWARDS and i > 0:
            G = np.zeros((2 * len(rows), len(low)), dtype=object if self.exact else float)
            G[np.arange(len(rows)), rows], G[np.arange(len(rows), 2 * len(rows)), rows] = 1, -1
            best = self.maximum({step.inputs[0]: G})
            best = exact_or_infinite(best) if self.exact else np.where(np.isnan(best), np.inf, best)
            low, high = low.copy(), high.copy()
            high[rows], low[rows] = np.minimum(high[rows], best[: len(rows)]), np.maximum(low[rows], -best[len(rows) :])
        self.set_entering(i, low, high)

    def _fix(self, step: Relu | Choice, low: Array, high: Array) -> tuple[Array, Array]:
        if isinstance(step, Choice):
            return low, high
        on, off = ([u - step.first for u, side in self._sides(step) if side == sign] for sign in (1, -1))
        low, high = low.copy(), high.copy()
        low[on], high[off] = np.maximum(low[on], 0), np.minimum(high[off], 0)
        return low, high

    def _sides(self, step: Relu | Choice) -> list[tuple[int, int]]:
        last = step.first + step.size
        return [(u, side) for u, side in self.node.sides.items() if step.first <= u < last]

    def on(self, i: int) -> Array:
        """Return which units of a relu are on: not negative, and not fixed off (where both, they are 0)."""
        step = self.machine.steps[i]
        assert isinstance(step, Relu)
        on = np.asarray(self.entering[i][0] >= 0, dtype=bool)
        on[[u - step.first for u, side in self._sides(step) if side == -1]] = False
        return on

    def set_entering(self, i: int, low: Array, high: Array) -> None:
        """Set the bounds of what enters a bend."""
        self.entering[i] = low, high
        self.is_empty = self.is_empty or bool((low > high).any())
        self._lines.pop(i, None)
        if not self.exact:
            number = self.machine.steps[i].inputs[0]
            self._sizes[number] = np.minimum(self._sizes[number], np.maximum(np.abs(low), np.abs(high)))

    def _add_bend(self, i: int, step: Relu | Choice) -> None:
        low, high = self.entering[i]
        if isinstance(step, Choice):
            least, most = (end.reshape(step.size, step.K).max(axis=1) for end in (low, high))
            self._add_value(least, most)
            return
        leak = lift(step.leak, self.exact)
        flat = np.asarray(leak == 0)
        ends = [np.where(end > 0, end, np.where(flat, 0, leak * np.where(flat, 0, end))) for end in (low, high)]
        least, most = np.minimum(*ends), np.maximum(*ends)
        crosses = (low < 0) & (high > 0)
        least, most = np.where(crosses, np.minimum(least, 0), least), np.where(crosses, np.maximum(most, 0), most)
        if not self.exact:
            least, most = least - 4 * UNIT * np.abs(least) - LEAST, most + 4 * UNIT * np.abs(most) + LEAST
        self._add_value(least, most)

    # -- backwards ----------------------------------------------------------------------------------------------------

    def maximum(
        self,
        coefficients: dict[int, Array],
        constant: Any = 0,
        slopes: dict[int, Any] | None = None,
        box: dict[int, Any] | None = None,
    ) -> Array:
        """Bound combinations of values from above over the node: (k,).

        Parameters
        ----------
        coefficients
            (k, size) by value; in floats the nearest ones.
        constant
            A number, or (k,); in floats the nearest one.
        slopes
            Of lines below convex units and above concave ones, by unit; others follow the rule.
        box
            By input: the coefficient whose term is bounded by the box; the rest by the ball.
        """
        G, total = self._back(coefficients, constant, slopes)
        best = self._input_maximum(G, total.copy(), box)
        if box or self.node.plane is None:
            return best
        for moved, shifted in self._beyond_plane(G, total):
            other = self._input_maximum(moved, shifted, None)
            best = np.where(np.asarray(other < best, bool), other, best)
        return best

    def plane(
        self, coefficients: dict[int, Array], constant: Any, slopes: dict[int, Any], box: dict[int, Any]
    ) -> tuple[Array, float] | None:
        """Return g (n,) and c with ``g x + c`` above a combination (1, size) over the node, in floats."""
        G, total = self._back(coefficients, constant, slopes)
        part = np.where(np.equal(*self.node.box(False)), G, 0.0)  # a fixed column is a number
        for j, value in box.items():
            part[:, j] = float(value) if part[0, j] == 0 else part[0, j]
        rest = G - part
        total.widen(4 * UNIT * np.abs(rest) + LEAST, self._sizes[0])
        total.add(self._box_terms(part))
        c = float(total.above()[0])
        return (rest[0], c) if np.isfinite(rest).all() and np.isfinite(c) else None

    def _beyond_plane(self, G: Array, total: _Total) -> Iterator[tuple[Array, _Total]]:
        """Yield linear functions (k, n) and constants that are not below these where the plane lets inputs be."""
        assert self.node.plane is not None
        g, c = self.node.plane
        try:
            near = G.astype(float)
        except OverflowError:  # of a fraction beyond floats
            return
        for weight in self.node.plane_weights(near):
            w, shifted = lift(weight, self.exact), total.copy()
            add = w[:, None] * lift(g, self.exact)
            if not self.exact:
                shifted.widen(4 * UNIT * (np.abs(G) + np.abs(add)) + LEAST, self._sizes[0])
            shifted.put(w * lift(np.array([c]), self.exact))
            yield G + add, shifted

    def _back(self, coefficients: dict[int, Array], constant: Any, slopes: dict[int, Any] | None) -> tuple[Array, Any]:
        """Return coefficients (k, n) of the input, and constants with errors, of functions above combinations."""
        coefficients = dict(coefficients)
        k = len(next(iter(coefficients.values())))
        total = _Total(np.full(k, constant, dtype=object if self.exact else float), self.exact)
        for number, G in coefficients.items():
            if not self.exact:
                total.widen(4 * UNIT * np.abs(G) + LEAST, self._sizes[number])
        for i in reversed(range(len(self.machine.steps))):
            if i + 1 not in coefficients:
                continue
            G = coefficients.pop(i + 1)
            step = self.machine.steps[i]
            if isinstance(step, Affine):
                if step.offset is not None:
                    total.add(G * step.offset.at(self.exact))
                    if not self.exact and step.offset.error is not None:
                        total.widen(np.abs(G), step.offset.error)
                parts = [part.back(G, self.exact) for part in step.parts]
            else:
                parts = [self._bend_back(i, step, G, total, slopes)]
            for number, (back, error) in zip(step.inputs, parts, strict=True):
                if error is not None:
                    total.widen(error, self._sizes[number])
                if number in coefficients:
                    back = coefficients[number] + back
                    if not self.exact:
                        total.widen(4 * UNIT * np.abs(back) + LEAST, self._sizes[number])
                coefficients[number] = back
        zero = np.zeros((k, self.machine.n_in), dtype=object if self.exact else float)
        return coefficients.get(0, zero), total

    def interval_maximum(self, coefficients: dict[int, Array], constant: Any) -> Array:
        """Bound combinations of values as :meth:`maximum` does, by their intervals alone."""
        k = len(next(iter(coefficients.values())))
        total = _Total(np.full(k, constant, dtype=object if self.exact else float), self.exact)
        for number, G in coefficients.items():
            low, high = self.values[number]
            total.add(np.where(G == 0, 0, np.where(G > 0, G * high, G * low)))
            if not self.exact:
                total.widen(4 * UNIT * np.abs(G) + LEAST, self._sizes[number])
        return total.above()

    def _input_maximum(self, G: Array, total: _Total, box: dict[int, Any] | None) -> Array:
        ball = self.node.ball
        if ball is None:
            total.add(self._box_terms(G))
            return total.above()
        part = np.zeros_like(G)
        for j, value in (box or {}).items():
            part[:, j] = to_fractions([value])[0] if self.exact else float(value)
        rest = G - part
        by_ball = total.copy()
        if box and not self.exact:
            by_ball.widen(4 * UNIT * np.abs(rest) + LEAST, self._sizes[0])
        inward = np.where(ball.is_inward(rest, *self.node.box(self.exact)), rest, 0)
        by_ball.put(ball.maximum(rest - inward, self.exact))
        by_ball.add(self._box_terms(part))
        by_ball.add(self._box_terms(inward))
        if box:
            return by_ball.above()
        total.add(self._box_terms(G))
        return np.minimum(total.above(), by_ball.above())

    def _box_terms(self, G: Array) -> Array:
        low, high = self.node.box(self.exact)
        return np.where(G == 0, 0, np.where(G > 0, G * high, G * low))

    def _bend_back(
        self, i: int, step: Relu | Choice, G: Array, total: _Total, slopes: dict[int, Any] | None
    ) -> tuple[Array, Array | None]:
        up, up_constant, down, down_constant = self._bend_lines(i, step, slopes)
        terms = np.where(G > 0, G * up_constant, np.where(G < 0, G * down_constant, 0))
        total.add(terms)
        back = np.where(G > 0, G * up, np.where(G < 0, G * down, 0))
        error = None if self.exact else 4 * UNIT * np.abs(back) + LEAST
        if isinstance(step, Choice):
            chosen = self._reference(i, step)
            wide = np.zeros((len(G), step.size * step.K), dtype=G.dtype)
            wide[:, chosen] = back
            wide_error = None
            if error is not None:
                wide_error = np.zeros_like(wide)
                wide_error[:, chosen] = error
            return wide, wide_error
        return back, error

    def _reference(self, i: int, step: Choice) -> Array:
        """Return for each choice the candidate with the largest lower bound, among all candidates."""
        low = self.entering[i][0].reshape(step.size, step.K)
        first = np.array([max(range(step.K), key=row.__getitem__) for row in low], int)
        return np.asarray(np.arange(step.size) * step.K + first)

    def _leads(self, i: int, step: Choice) -> Array:
        """Bound by how much any candidate of each choice exceeds the reference one: (size,)."""
        K, number = step.K, step.inputs[0]
        rows, width = step.size * K, self.machine.sizes()[number]
        if 2 * rows * sum(self.machine.sizes()[: number + 1]) > BACKWARDS:
            return np.full(step.size, np.inf, dtype=object if self.exact else float)
        G = np.zeros((rows, width), dtype=object if self.exact else float)
        G[np.arange(rows), np.arange(rows)] += 1
        G[np.arange(rows), np.repeat(self._reference(i, step), K)] -= 1
        best = self.maximum({number: G})
        best = exact_or_infinite(best) if self.exact else np.where(np.isnan(best), np.inf, best)
        return np.asarray(np.maximum(best.reshape(step.size, K).max(axis=1), 0))

    def _bend_lines(self, i: int, step: Relu | Choice, slopes: dict[int, Any] | None) -> tuple[Array, ...]:
        """Return slopes and constants of the lines above and below each unit."""
        if i not in self._lines:
            low, high = self.entering[i]
            if isinstance(step, Choice):
                reference = self._reference(i, step)
                self._lines[i] = choice_lines(low, high, reference, self._leads(i, step), step.K, self.exact)
            else:
                on = self.on(i)
                off = np.asarray(high <= 0, bool) & ~on
                self._lines[i] = relu_lines(low, high, lift(step.leak, self.exact), on, off)
        lines = self._lines[i]
        units = range(step.first, step.first + step.size)
        mine = {u - step.first: slope for u, slope in (slopes or {}).items() if u in units}
        if not mine or isinstance(step, Choice):
            return lines
        up, up_constant, down, down_constant = (line.copy() for line in lines)
        low, high = self.entering[i]
        for unit, slope in mine.items():
            if low[unit] < 0 < high[unit]:
                leak = step.leak[unit]
                value = to_fractions([slope])[0] if self.exact else min(max(float(slope), min(leak, 1)), max(leak, 1))
                (down if leak <= 1 else up)[unit] = value
        return up, up_constant, down, down_constant


class _Total:
    """A sum of terms (k,), with a bound of its rounding."""

    def __init__(self, start: Array, exact: bool) -> None:
        self.sum, self.exact = start, exact
        self.size, self.error, self.terms = np.abs(start), np.zeros(len(start)), 1

    def copy(self) -> _Total:
        """Return a copy."""
        other = _Total(self.sum, self.exact)
        other.size, other.error, other.terms = self.size, self.error, self.terms
        return other

    def add(self, terms: Array) -> None:
        """Add terms (k, n)."""
        self.sum = self.sum + terms.sum(axis=1)
        if not self.exact:
            self.size, self.terms = self.size + np.abs(terms).sum(axis=1), self.terms + terms.shape[1]

    def put(self, values: Array) -> None:
        """Add one term (k,)."""
        self.add(values[:, None])

    def widen(self, error: Array, size: Array) -> None:
        """Add errors (k, n) of coefficients of a value of at most this size (n,)."""
        self.error, self.terms = self.error + error @ size, self.terms + error.shape[1]

    def above(self) -> Array:
        """Return a bound of the exact sum from above."""
        if self.exact:
            return self.sum
        return np.asarray(self.sum + (gamma(self.terms) * self.size + 2 * self.error + self.terms * LEAST))


def _size(ends: list[tuple[Array, Array]], which: int) -> Array:
    total = np.abs(ends[0][which])
    for pair in ends[1:]:
        total = total + np.abs(pair[which])
    return total


# -- lines around bends -----------------------------------------------------------------------------------------------


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
            constant = constant if exact else constant + 8 * UNIT * size + LEAST
        is_lead = lead[i] != np.inf and (endless[i] or a + b + 2 * lead[i] < slope * (a + b) + 2 * constant)
        up[i], up_constant[i] = (1, lead[i]) if is_lead else (slope, constant)
    return up, up_constant, down, down_constant


# -- gradients --------------------------------------------------------------------------------------------------------


def gradient_interval(bounds: Bounds, number: int, row: Array) -> tuple[Array, Array]:
    """Bound the gradient (n_in,) of ``row . value`` wherever it exists in a node.

    Where a unit is 0 in a neighbourhood its slope does not matter: any gives the right gradient.
    """
    exact, machine = bounds.exact, bounds.machine
    known: dict[int, tuple[Array, Array]] = {number: (row, row)}
    for i in reversed(range(number)):
        ends = known.pop(i + 1, None)
        if ends is None:
            continue
        step = machine.steps[i]
        if isinstance(step, Affine):
            parts = [part.back_interval(*ends, exact) for part in step.parts]
        elif isinstance(step, Relu):
            parts = [_relu_back(*ends, bounds.on(i), bounds.entering[i][1], lift(step.leak, exact), exact)]
        else:
            parts = [_choice_back(*ends, *bounds.entering[i], step)]
        for value, (low, high) in zip(step.inputs, parts, strict=True):
            if value in known:
                low, high = known[value][0] + low, known[value][1] + high
                if not exact:
                    low, high = low - 4 * UNIT * np.abs(low) - LEAST, high + 4 * UNIT * np.abs(high) + LEAST
            known[value] = low, high
    zero = np.zeros(machine.n_in, dtype=object if exact else float)
    return known.get(0, (zero, zero))


def _relu_back(low: Array, high: Array, on: Array, z_high: Array, leak: Array, exact: bool) -> tuple[Array, Array]:
    off = np.asarray(z_high <= 0)
    slopes = np.where(off & ~on, leak, 1), np.where(on, 1, leak)
    products = [end * slope for end in (low, high) for slope in slopes]
    least, most = products[0], products[0]
    for each in products[1:]:
        least, most = np.minimum(least, each), np.maximum(most, each)
    if exact:
        return least, most
    below, above = least - 4 * UNIT * np.abs(least) - LEAST, most + 4 * UNIT * np.abs(most) + LEAST
    return np.where(least >= 0, np.maximum(below, 0), below), np.where(most <= 0, np.minimum(above, 0), above)


def _choice_back(low: Array, high: Array, z_low: Array, z_high: Array, step: Choice) -> tuple[Array, Array]:
    lows, highs = z_low.reshape(step.size, step.K), z_high.reshape(step.size, step.K)
    possible = highs >= lows.max(axis=1)[:, None]
    alone = possible.sum(axis=1)[:, None] == 1
    low, high = (np.repeat(end[:, None], step.K, axis=1) for end in (low, high))
    least = np.where(possible, np.where(alone, low, np.minimum(low, 0)), 0)
    most = np.where(possible, np.where(alone, high, np.maximum(high, 0)), 0)
    return least.reshape(-1), most.reshape(-1)


def jacobian_interval(bounds: Bounds, rows: list[Array], columns: Sequence[int]) -> tuple[Array, Array]:
    """Bound the derivatives (k, c) of rows of the output in some columns, wherever they exist in a node."""
    ends = [gradient_interval(bounds, len(bounds.machine.steps), row) for row in rows]
    low, high = (np.array([pair[end][list(columns)] for pair in ends]) for end in (0, 1))
    return low, high
