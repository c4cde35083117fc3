"""The loss as a function of one breakpoint, all else held: quadratic between data, with a kink at each.

In the spline's form unit i adds ``mu (x - beta) [s (x - beta) > 0]``. With r the errors that the rest makes, and A the
data the unit sees, ``l(beta) = 1/2 sum_A (r_n + mu (x_n - beta))^2 + 1/2 sum_{not A} r_n^2`` (Theorem 3 of the lecture,
whose loss is twice this). Between data A is the same, so the curvature is ``mu^2 |A|``; at ``x_n`` the loss is
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
from creases.splines._convert import to_spline
from creases.splines._residuals import check_overflow
from creases.splines._spline import Shallow, Spline


@dataclass(frozen=True, eq=False)
class LossSlice:
    """A continuous piecewise quadratic in one breakpoint; :func:`loss_slice` makes one.

    Interval p lies before knot p, the last after all of them; there ``l = (c2 t + c1) t + c0``, ``t = beta - centre``.
    """

    knots: Floats  #: (K,) the different x, increasing
    coefficients: Floats  #: (K + 1, 3) c0, c1, c2 of every interval
    centre: float
    beta: float  #: where the breakpoint is now

    def __call__(self, beta: ArrayLike) -> Floats:
        """The loss with the breakpoint at beta, of beta's shape."""
        places = check_numbers(beta, "beta")
        return self._at(places, np.searchsorted(self.knots, places))

    @property
    def curvatures(self) -> Floats:
        """(K + 1,) second derivative on every interval: ``mu^2 |A|``, 0 where the unit sees no datum."""
        return 2 * self.coefficients[:, 2]

    def derivatives(self) -> Floats:
        """(K, 2) derivative left and right of every knot."""
        t = self.knots - self.centre
        return np.stack([2 * c[:, 2] * t + c[:, 1] for c in (self.coefficients[:-1], self.coefficients[1:])], -1)

    def types(self) -> Ints:
        """(K,) the lecture's type of every knot.

        1: the loss goes on rising or falling through it. 2: a local maximum. 3: a local minimum on the datum, where
        breakpoints get stuck. 0: the loss is flat on a side, as beyond the last datum that the unit sees.
        """
        left, right = np.sign(self.derivatives()).T
        kinds = np.where(left == right, 1, np.where(left > right, 2, 3))
        return np.where((left == 0) | (right == 0), 0, kinds)

    def minima(self) -> Floats:
        """(L,) every strict local minimum, increasing: bottoms of parabolas, and knots of type 3."""
        c, ends = self.coefficients, np.concatenate([[-np.inf], self.knots, [np.inf]])
        with np.errstate(divide="ignore", invalid="ignore"):
            bottoms = self.centre - c[:, 1] / (2 * c[:, 2])
        inside = (c[:, 2] > 0) & (bottoms > ends[:-1]) & (bottoms < ends[1:])
        left, right = self.derivatives().T
        bent = c[:, 2] > 0  # where it rises from a bottom that lies on a knot
        low = ((left < 0) | ((left == 0) & bent[:-1])) & ((right > 0) | ((right == 0) & bent[1:]))
        return np.sort(np.concatenate([bottoms[inside], self.knots[low]]))

    def minimum(self) -> tuple[float, float]:
        """The best place for the breakpoint, and the loss there; where that is all along an interval, its end."""
        places = np.concatenate([self.minima(), self.knots])
        if not len(places):
            return self.beta, float(self(self.beta))
        losses = self(places)
        best = int(losses.argmin())
        return float(places[best]), float(losses[best])

    def _at(self, beta: Floats, interval: Ints) -> Floats:
        c, t = self.coefficients[interval], beta - self.centre
        with np.errstate(invalid="ignore"):  # 0 curvature at infinity
            return np.asarray((c[..., 2] * t + c[..., 1]) * t + c[..., 0])


def loss_slice(spline: Spline | Shallow, unit: int, x: Any, y: Any) -> LossSlice:
    """The loss ``1/2 sum e^2`` on data x (N,), y (N,) as one unit's breakpoint moves, exactly, in O(N) after sorting.

    Parameters
    ----------
    spline
        A function by breakpoints and delta-slopes. Of a network the same is taken, its other units and linear part
        held (so that a leak's part stays where it is); its unit must have a breakpoint.
    unit
        Which breakpoint.

    Examples
    --------
    >>> found = loss_slice(Spline(0, 0, [0.5], [1.0], [1.0]), 0, [0.0, 1.0, 2.0, 3.0], [2.0, -2.0, 3.0, 0.5])
    >>> found.types().tolist(), found.minima().tolist(), found.minimum()
    ([1, 3, 2, 0], [1.0, 2.5], (1.0, 7.125))
    """
    form = _spline(spline, unit) if isinstance(spline, Shallow) else spline
    unit = check_index(unit if form is spline else 0, form.width, "unit")
    x, y = check_samples(x, y)
    mu, s, beta = float(form.mu[unit]), float(form.s[unit]), float(form.beta[unit])
    knots, which = np.unique(x, return_inverse=True)
    centre = float(knots.mean()) if len(knots) else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        way, t = x - beta, x - centre
        r = form(x) - np.where(s * way > 0, mu * way, 0.0) - y
        # With the unit on: 1/2 (r + mu t - mu tau)^2, tau = beta - centre; off: 1/2 r^2.
        on, off = r + mu * t, r**2 / 2
        terms = np.stack([on**2 / 2, -mu * on, np.full(len(x), mu * mu / 2)], -1)
        check_overflow("spline", terms.sum(axis=0), off.sum())
    extra = np.stack([off, np.zeros(len(x)), np.zeros(len(x))], -1)
    sums_on, sums_off = (_by_knot(part, which, len(knots)) for part in (terms, extra))
    right, left = (sums_on, sums_off) if s > 0 else (sums_off, sums_on)  # of data right and left of the breakpoint
    zero = np.zeros((1, 3))
    after = np.concatenate([np.cumsum(right[::-1], axis=0)[::-1], zero])
    before = np.concatenate([zero, np.cumsum(left, axis=0)])
    return LossSlice(knots, after + before, centre, beta)


def _by_knot(values: Floats, which: Ints, count: int) -> Floats:
    """Sums (K, 3) of values (N, 3) over the data of each knot."""
    return np.stack([np.bincount(which, weights=column, minlength=count) for column in values.T], -1)


def _spline(net: Shallow, unit: int) -> Spline:
    """The spline of a network with one unit first, the others behind it as units or in the linear part."""
    unit = check_index(unit, net.width, "unit")
    order = np.concatenate([[unit], np.delete(np.arange(net.width), unit)])
    form = to_spline(Shallow(net.w[order], net.b[order], net.v[order], net.c0, net.c1, net.leak[order]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if not np.isfinite(net.b[unit] / net.w[unit]):
            raise InputError(f"unit: unit {unit} has no breakpoint (w = {net.w[unit]}); choose another")
    return form
