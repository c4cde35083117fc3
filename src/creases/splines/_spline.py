"""The three forms of a continuous piecewise-linear function: network, breakpoints with delta-slopes, pieces.

``Shallow`` is the network ``c0 + c1 x + sum_i v_i phi(w_i x + b_i)``; ``Spline`` the same function by its breakpoints
``beta``, delta-slopes ``mu`` and orientations ``s`` (the lecture's BDSO form); ``Pieces`` the affine function of every
interval. :mod:`creases.splines._convert` converts between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_number, check_numbers, check_vector
from creases.errors import InputError

_BLOCK = 2**22  # entries (inputs times units) of one block of an evaluation


@dataclass(frozen=True, eq=False, repr=False)
class Shallow(OneLine):
    """A network of one input with one hidden layer: ``f(x) = c0 + c1 x + sum_i v_i phi(w_i x + b_i)``.

    ``phi(z)`` is z where z > 0 and ``leak z`` elsewhere. Fields may be any array-like; one leak applies to all units.

    Examples
    --------
    >>> from creases.splines import Shallow
    >>> Shallow([1, -1], [0, 0], [1, 1])([-2.0, 3.0])  # |x|
    array([2., 3.])
    """

    w: Floats  #: (H,) weights from the input
    b: Floats  #: (H,) biases
    v: Floats  #: (H,) weights to the output
    c0: float = 0.0  #: bias of the output
    c1: float = 0.0  #: weight of the linear skip; 0 for none
    leak: Floats = 0.0  # type: ignore[assignment]  #: (H,) slopes of the units on their negative side

    def __post_init__(self) -> None:
        w = check_vector(self.w, "w")
        _set(self, w=w, b=check_vector(self.b, "b", len(w)), v=check_vector(self.v, "v", len(w)))
        leak = check_numbers(self.leak, "leak")
        _set(self, leak=check_vector(np.full(len(w), leak) if leak.ndim == 0 else leak, "leak", len(w)))
        _set(self, c0=check_number(self.c0, "c0"), c1=check_number(self.c1, "c1"))

    @property
    def width(self) -> int:
        """Number of units H."""
        return len(self.w)

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values at x, in the shape of x."""

        def units(part: Floats) -> Floats:
            z = part[:, None] * self.w + self.b  # (n, H)
            return np.asarray(np.where(z > 0, z, self.leak * z) @ self.v)

        return _evaluate(x, self.c0, self.c1, units, self.width)


@dataclass(frozen=True, eq=False, repr=False)
class Spline(OneLine):
    """A spline by its breakpoints: ``f(x) = o0 + o1 x + sum_i mu_i (x - beta_i) [s_i (x - beta_i) > 0]``.

    Examples
    --------
    >>> from creases.splines import Spline
    >>> f = Spline(0, 0, beta=[0, 1], mu=[1, -2], s=[1, 1])  # relu(x) - 2 relu(x - 1)
    >>> f([0.5, 3.0]), f.pieces().slopes
    (array([ 0.5, -1. ]), array([ 0.,  1., -1.]))
    """

    o0: float  #: constant of the linear part
    o1: float  #: slope of the linear part
    beta: Floats  #: (H,) breakpoints, in any order
    mu: Floats  #: (H,) delta-slopes, ``(1 - leak) w v`` of the units
    s: Floats  #: (H,) orientations: +1 if active right of the breakpoint, -1 if left

    def __post_init__(self) -> None:
        beta = check_vector(self.beta, "beta")
        s = check_vector(self.s, "s", len(beta))
        if not np.isin(s, (-1.0, 1.0)).all():
            raise InputError("s", "be +1 or -1", f"{s[~np.isin(s, (-1.0, 1.0))][0]}")
        _set(self, beta=beta, mu=check_vector(self.mu, "mu", len(beta)), s=s)
        _set(self, o0=check_number(self.o0, "o0"), o1=check_number(self.o1, "o1"))

    @property
    def width(self) -> int:
        """Number of breakpoints H, including coinciding ones and those without a slope change."""
        return len(self.beta)

    @property
    def jumps(self) -> Floats:
        """Slope change (H,) at each breakpoint from left to right: ``s mu``, which is ``|w| v``."""
        return self.s * self.mu

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values at x, in the shape of x."""

        def units(part: Floats) -> Floats:
            offset = part[:, None] - self.beta  # (n, H)
            return np.asarray(np.where(self.s * offset > 0, offset, 0.0) @ self.mu)

        return _evaluate(x, self.o0, self.o1, units, self.width)

    def pieces(self) -> Pieces:
        """Return the affine function of every interval; equal breakpoints share one knot, whatever its slope change."""
        knots, which = np.unique(self.beta, return_inverse=True)
        jumps = np.bincount(which, weights=self.jumps, minlength=len(knots)).astype(np.float64)
        # Outwards from the piece at 0, so that it loses no digits to distant breakpoints with large slope changes.
        middle, left = self.o1 + self.mu[self.s * self.beta < 0].sum(), int(np.searchsorted(knots, 0.0))
        middle += self.mu[(self.beta == 0) & (self.s < 0)].sum()  # a knot at 0 is on its right
        before, after = np.cumsum(-jumps[:left][::-1])[::-1], np.cumsum(jumps[left:])
        return Pieces(knots, middle + np.concatenate([before, [0.0], after]), self(anchors(knots)))


@dataclass(frozen=True, eq=False)
class Pieces:
    """A continuous piecewise-linear function by its K knots and the slopes and values of its K + 1 pieces.

    Each piece is stored by its slope and its value at its *anchor*, the point of its interval nearest to 0 (a knot, or
    0 itself), and evaluated as ``value + slope (x - anchor)``: offsets at 0 would lose digits far from it.
    """

    knots: Floats  #: (K,) increasing
    slopes: Floats  #: (K + 1,) from left to right
    values: Floats  #: (K + 1,) of each piece at its anchor

    def __post_init__(self) -> None:
        knots = check_vector(self.knots, "knots")
        if not (np.diff(knots) > 0).all():
            raise InputError("knots", "be strictly increasing")
        slopes, values = (check_vector(getattr(self, name), name, len(knots) + 1) for name in ("slopes", "values"))
        _set(self, knots=knots, slopes=slopes, values=values)

    @classmethod
    def through(cls, knots: ArrayLike, values: ArrayLike, left: float, right: float) -> Pieces:
        """Return the function with values (K,) at K >= 1 knots, and slopes ``left`` before and ``right`` after them."""
        x = check_vector(knots, "knots")
        y = check_vector(values, "values", len(x))
        if not len(x) or not (np.diff(x) > 0).all():
            raise InputError("knots", "be strictly increasing and have at least one entry")
        inner = np.diff(y) / np.diff(x)
        slopes = np.concatenate([[check_number(left, "left")], inner, [check_number(right, "right")]])
        # The anchor of a piece that ends at 0 or before is its right knot; of others it is the left one, or 0.
        at = anchors(x)
        near = np.clip(np.arange(len(slopes)) - (at >= 0), 0, len(x) - 1)
        return cls(x, slopes, y[near] + slopes * (at - x[near]))

    @property
    def count(self) -> int:
        """Number of pieces, K + 1."""
        return len(self.slopes)

    @property
    def anchors(self) -> Floats:
        """The point (K + 1,) of each interval that is nearest to 0."""
        return anchors(self.knots)

    @property
    def offsets(self) -> Floats:
        """Value (K + 1,) that each piece would have at 0: piece p is ``slopes[p] x + offsets[p]``."""
        return self.values - self.slopes * self.anchors

    @property
    def jumps(self) -> Floats:
        """Slope change (K,) at each knot."""
        return np.diff(self.slopes)

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values at x, in the shape of x."""
        points = check_numbers(x, "x")
        p = np.searchsorted(self.knots, points)
        with np.errstate(invalid="ignore"):  # a slope of 0 at infinity
            return np.asarray(self.values[p] + self.slopes[p] * (points - self.anchors[p]))

    def spline(self) -> Spline:
        """Return the same function by breakpoints and delta-slopes, every unit active on the side away from 0.

        The linear part then is the piece at 0, which loses no digits to distant knots.
        """
        s = np.where(self.knots < 0, -1.0, 1.0)
        p = int(np.searchsorted(self.knots, 0.0))
        return Spline(float(self.offsets[p]), float(self.slopes[p]), self.knots, s * self.jumps, s)


def anchors(knots: Floats) -> Floats:
    """Return the point nearest to 0, (K + 1,), of each interval between K increasing knots."""
    return np.asarray(np.clip(0.0, np.append(-np.inf, knots), np.append(knots, np.inf)))


def _set(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass during initialization."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def _evaluate(x: ArrayLike, c0: float, c1: float, units: Callable[[Floats], Floats], width: int) -> Floats:
    """Return ``c0 + c1 x`` plus the sum of the units, one block of inputs at a time."""
    points = check_numbers(x, "x")
    flat = points.reshape(-1)
    rows = max(1, _BLOCK // max(1, width))
    with np.errstate(invalid="ignore"):  # a weight of 0 at infinity
        parts = [units(flat[i : i + rows]) for i in range(0, len(flat), rows)]
        return np.asarray(c0 + c1 * points + np.concatenate([np.zeros(0), *parts]).reshape(points.shape))
