"""The loss as a function of one breakpoint, everything else fixed: quadratic between samples, with a kink at each.

In a spline, unit i adds ``mu (x - beta) [s (x - beta) > 0]``. With r the errors without the unit, and A the samples on
which it is active, ``l(beta) = 1/2 sum_A (r_n + mu (x_n - beta))^2 + 1/2 sum_{not A} r_n^2`` (Theorem 3 of the lecture,
whose loss is twice this). Between samples A is constant, so the curvature is ``mu^2 |A|``; at ``x_n`` the loss is
continuous and its derivative jumps by ``s mu r_n``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats, Ints
from creases._validation import check_index, check_numbers, check_samples
from creases.errors import InputError
from creases.splines import Shallow, Spline, to_spline
from creases_reproduction.splines.theory.residuals import check_overflow


@dataclass(frozen=True, eq=False)
class LossSlice:
    """The loss as a continuous piecewise quadratic function of one breakpoint; :func:`loss_slice` returns one.

    Interval p ends at knot p, and the last starts at the last knot; on it
    ``l = (c2 t + c1) t + c0`` with ``t = beta - centre``.
    """

    knots: Floats  #: (K,) the distinct x, increasing
    coefficients: Floats  #: (K + 1, 3) c0, c1, c2 of every interval
    centre: float
    beta: float  #: the current breakpoint

    def __call__(self, beta: ArrayLike) -> Floats:
        """Return the loss with the breakpoint at beta, in the shape of beta."""
        points = check_numbers(beta, "beta")
        return self._evaluate(points, np.searchsorted(self.knots, points))

    @property
    def curvatures(self) -> Floats:
        """Second derivative (K + 1,) on every interval: ``mu^2 |A|``, 0 where the unit is active on no sample."""
        return 2 * self.coefficients[:, 2]

    def derivatives(self) -> Floats:
        """Return the derivative (K, 2) left and right of every knot."""
        t = self.knots - self.centre
        return np.stack([2 * c[:, 2] * t + c[:, 1] for c in (self.coefficients[:-1], self.coefficients[1:])], -1)

    def types(self) -> Ints:
        """Return the type (K,) of every knot, numbered as in the lecture.

        1: the loss increases or decreases through it. 2: a local maximum. 3: a local minimum on the sample, where
        breakpoints get stuck. 0: the loss is flat on one side, as beyond the last sample on which the unit is active.
        """
        left, right = np.sign(self.derivatives()).T
        kinds = np.where(left == right, 1, np.where(left > right, 2, 3))
        return np.where((left == 0) | (right == 0), 0, kinds)

    def minima(self) -> Floats:
        """Return all strict local minima (L,), increasing: vertices of parabolas, and knots of type 3."""
        c, ends = self.coefficients, np.concatenate([[-np.inf], self.knots, [np.inf]])
        with np.errstate(divide="ignore", invalid="ignore"):
            vertices = self.centre - c[:, 1] / (2 * c[:, 2])
        inside = (c[:, 2] > 0) & (vertices > ends[:-1]) & (vertices < ends[1:])
        left, right = self.derivatives().T
        bent = c[:, 2] > 0  # where it increases from a vertex on a knot
        low = ((left < 0) | ((left == 0) & bent[:-1])) & ((right > 0) | ((right == 0) & bent[1:]))
        return np.sort(np.concatenate([vertices[inside], self.knots[low]]))

    def minimum(self) -> tuple[float, float]:
        """Return the best position of the breakpoint and its loss; an end of the interval if it is not unique."""
        candidates = np.concatenate([self.minima(), self.knots])
        if not len(candidates):
            return self.beta, float(self(self.beta))
        losses = self(candidates)
        best = int(losses.argmin())
        return float(candidates[best]), float(losses[best])

    def _evaluate(self, beta: Floats, interval: Ints) -> Floats:
        c, t = self.coefficients[interval], beta - self.centre
        with np.errstate(invalid="ignore"):  # 0 curvature at infinity
            return np.asarray((c[..., 2] * t + c[..., 1]) * t + c[..., 0])


def loss_slice(spline: Spline | Shallow, unit: int, x: Any, y: Any) -> LossSlice:
    """Return the loss ``1/2 sum e^2`` as an exact function of one unit's breakpoint (Theorem 3 of the lecture).

    It takes O(N) operations after sorting.

    Parameters
    ----------
    spline
        A spline, or a network, whose other units and linear part are fixed; the unit must have a breakpoint.
    unit
        Index of the breakpoint, or of the network's unit.
    x, y
        Samples (N,).

    Examples
    --------
    >>> loss = loss_slice(Spline(0, 0, [0.5], [1.0], [1.0]), 0, [0.0, 1.0, 2.0, 3.0], [2.0, -2.0, 3.0, 0.5])
    >>> loss.types().tolist(), loss.minima().tolist(), loss.minimum()
    ([1, 3, 2, 0], [1.0, 2.5], (1.0, 7.125))
    """
    form = _unit_first(spline, unit) if isinstance(spline, Shallow) else spline
    unit = check_index(unit if form is spline else 0, form.width, "unit")
    x, y = check_samples(x, y)
    mu, s, beta = float(form.mu[unit]), float(form.s[unit]), float(form.beta[unit])
    knots, which = np.unique(x, return_inverse=True)
    centre = float(knots.mean()) if len(knots) else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        offset, t = x - beta, x - centre
        r = form(x) - np.where(s * offset > 0, mu * offset, 0.0) - y
        # With the unit on: 1/2 (r + mu t - mu tau)^2, tau = beta - centre; off: 1/2 r^2.
        on, off = r + mu * t, r**2 / 2
        terms = np.stack([on**2 / 2, -mu * on, np.full(len(x), mu * mu / 2)], -1)
        check_overflow("spline", terms.sum(axis=0), off.sum())
    extra = np.stack([off, np.zeros(len(x)), np.zeros(len(x))], -1)
    sums_on, sums_off = (_sum_by_knot(part, which, len(knots)) for part in (terms, extra))
    right, left = (sums_on, sums_off) if s > 0 else (sums_off, sums_on)  # of samples right and left of the breakpoint
    zero = np.zeros((1, 3))
    after = np.concatenate([np.cumsum(right[::-1], axis=0)[::-1], zero])
    before = np.concatenate([zero, np.cumsum(left, axis=0)])
    return LossSlice(knots, after + before, centre, beta)


def _sum_by_knot(values: Floats, which: Ints, count: int) -> Floats:
    """Return the sums (K, 3) of values (N, 3) over the samples of each knot."""
    return np.stack([np.bincount(which, weights=column, minlength=count) for column in values.T], -1)


def _unit_first(net: Shallow, unit: int) -> Spline:
    """Return the spline of a network with one unit first, followed by the others."""
    unit = check_index(unit, net.width, "unit")
    order = np.concatenate([[unit], np.delete(np.arange(net.width), unit)])
    form = to_spline(Shallow(net.w[order], net.b[order], net.v[order], net.c0, net.c1, net.leak[order]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if not np.isfinite(net.b[unit] / net.w[unit]):
            raise InputError("unit", "have a breakpoint", f"unit {unit} with w = {net.w[unit]}", "choose another unit")
    return form
