"""The loss surface: slices in one breakpoint, the Hessian, and the units that make it degenerate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats, Ints
from creases._validation import check_choice, check_column, check_index, check_numbers, check_samples
from creases.errors import InputError
from creases.splines._convert import to_spline
from creases.splines._spline import Shallow
from creases.splines.theory._motion import check_overflow, residuals, unit_values


@dataclass(frozen=True, eq=False)
class LossSlice:
    """The loss as a continuous piecewise quadratic function of one breakpoint; :func:`loss_slice` returns one.

    Interval p ends at knot p, and the last starts at the last knot; on it
    ``l = (c2 t + c1) t + c0`` with ``t = beta - center``.
    """

    knots: Floats  #: (K,) the distinct x, increasing
    coefficients: Floats  #: (K + 1, 3) c0, c1, c2 of every interval
    center: float
    beta: float  #: the current breakpoint

    def __call__(self, beta: ArrayLike) -> Floats:
        """Return the loss with the breakpoint at beta, in the shape of beta."""
        points = check_numbers(beta, "beta")
        c, t = self.coefficients[np.searchsorted(self.knots, points)], points - self.center
        return np.asarray((c[..., 2] * t + c[..., 1]) * t + c[..., 0])

    @property
    def curvatures(self) -> Floats:
        """Second derivative (K + 1,) on every interval: ``mu^2 |A|``, 0 where the unit is active on no sample."""
        return 2 * self.coefficients[:, 2]

    def derivatives(self) -> Floats:
        """Return the derivative (K, 2) left and right of every knot."""
        t = self.knots - self.center
        return np.stack([2 * c[:, 2] * t + c[:, 1] for c in (self.coefficients[:-1], self.coefficients[1:])], -1)

    def types(self) -> Ints:
        """Return the type (K,) of every knot, numbered as in the lecture.

        1: the loss increases or decreases through it. 2: a local maximum. 3: a local minimum on the sample, where
        breakpoints get stuck. 0: the loss is flat on one side, as beyond the last sample on which the unit is active.
        """
        left, right = np.sign(self.derivatives()).T
        kinds = np.where(left == right, 1, np.where(left > right, 2, 3))
        return np.where((left == 0) | (right == 0), 0, kinds)

    def minimum(self) -> tuple[float, float]:
        """Return the best position of the breakpoint and its loss; an end of the interval if it is not unique."""
        c, ends = self.coefficients, np.concatenate([[-np.inf], self.knots, [np.inf]])
        with np.errstate(divide="ignore", invalid="ignore"):
            vertices = self.center - c[:, 1] / (2 * c[:, 2])
        places = np.append(vertices[(c[:, 2] > 0) & (vertices > ends[:-1]) & (vertices < ends[1:])], self.knots)
        places = places if len(places) else np.array([self.beta])
        losses = self(places)
        best = int(losses.argmin())
        return float(places[best]), float(losses[best])


def loss_slice(net: Shallow, unit: int, x: Any, y: Any) -> LossSlice:
    """Return the loss ``1/2 sum e^2`` as an exact function of one unit's breakpoint (Theorem 3), in O(N log N).

    The unit adds ``mu (x - beta) [s (x - beta) > 0]``. With r the errors without it, and A the samples on which it is
    active, ``l(beta) = 1/2 sum_A (r_n + mu (x_n - beta))^2 + 1/2 sum_{not A} r_n^2``. Between samples A is constant, so
    the curvature is ``mu^2 |A|``; at ``x_n`` the loss is continuous and its derivative jumps by ``s mu r_n``.

    Parameters
    ----------
    net, unit
        The network, and the index of a unit that has a breakpoint; all else is fixed.
    x, y
        Samples (N,).

    Examples
    --------
    >>> import numpy as np
    >>> from creases.splines import Shallow, theory
    >>> x = np.linspace(-1, 1, 21)
    >>> loss = theory.loss_slice(Shallow([1.0], [0.3], [1.0]), 0, x, np.maximum(x, 0))
    >>> round(loss.minimum()[0], 12)
    0.0
    """
    x, y = check_samples(x, y)
    unit = check_index(unit, net.width, "unit")
    order = np.append(unit, np.delete(np.arange(net.width), unit))
    form = to_spline(Shallow(net.w[order], net.b[order], net.v[order], net.c0, net.c1, net.leak[order]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if not np.isfinite(net.b[unit] / net.w[unit]):
            raise InputError("unit", "have a breakpoint", f"unit {unit} with w = {net.w[unit]}", "choose another unit")
    beta, mu, s = float(form.beta[0]), float(form.mu[0]), float(form.s[0])
    knots, which = np.unique(x, return_inverse=True)
    center = float(knots.mean()) if len(knots) else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        offset, t = x - beta, x - center
        r = form(x) - np.where(s * offset > 0, mu * offset, 0.0) - y
        on = r + mu * t  # active: 1/2 (r + mu t - mu (beta - center))^2; else 1/2 r^2
        terms = np.stack([on**2 / 2, -mu * on, np.full(len(x), mu * mu / 2)], -1)
        rest = np.stack([r**2 / 2, np.zeros(len(x)), np.zeros(len(x))], -1)
        check_overflow("net", terms.sum(axis=0), rest.sum(axis=0))
    sums = np.zeros((2, len(knots), 3))
    np.add.at(sums[0], which, terms)
    np.add.at(sums[1], which, rest)
    right, left = sums if s > 0 else sums[::-1]  # of samples right and left of the breakpoint
    after = np.concatenate([np.cumsum(right[::-1], axis=0)[::-1], np.zeros((1, 3))])
    before = np.concatenate([np.zeros((1, 3)), np.cumsum(left, axis=0)])
    return LossSlice(knots, after + before, center, beta)


@dataclass(frozen=True, eq=False)
class Hessian:
    """The Hessian of the loss in two parts; at a breakpoint on a sample, that of its left side."""

    vectors: Floats  #: (N, p) Z, the gradients of the function at the samples: the lecture's generating vectors
    residual: Floats  #: (p, p) R, which at a critical point is 0 for units with v != 0

    @property
    def gram(self) -> Floats:
        """The part ``Z'Z`` (p, p), which is positive semidefinite."""
        return np.asarray(self.vectors.T @ self.vectors)

    @property
    def matrix(self) -> Floats:
        """The Hessian (p, p)."""
        return self.gram + self.residual


def hessian(net: Shallow, x: Any, y: Any, coordinates: Literal["weights", "spline"] = "weights") -> Hessian:
    """Return the Hessian of the loss ``1/2 sum e^2`` ("Hessian of the Loss and Degenerate Directions").

    At every critical point H eigenvalues of the network's are 0, because scaling w and b up and v down does not change
    the loss. That of the spline can be positive definite.

    Parameters
    ----------
    net, x, y
        The network and samples (N,).
    coordinates
        ``"weights"``: w (H), b (H), v (H), c0 and, if there is a skip, c1; the generating vectors are ``v x a``,
        ``v a``, ``phi``, 1, x; w and v of a unit are coupled by ``rx``, b and v by ``r1``. ``"spline"``: beta (H),
        m = w v (H), c0 and c1; the vectors are ``-m a``, ``(x - beta) a``, 1, x; beta and m are coupled by ``-r1``.

    Examples
    --------
    >>> from creases.splines import Shallow, theory
    >>> H = theory.hessian(Shallow([1.0], [0.0], [1.0]), [1.0, 2.0], [1.0, 2.0])  # a perfect fit
    >>> H.residual.any(), H.gram[0].tolist()
    (np.False_, [5.0, 3.0, 5.0, 3.0])
    """
    check_choice(coordinates, ("weights", "spline"), "coordinates")
    errors = residuals(net, x, y)
    a, H = errors.a, net.width
    i = np.arange(H)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if coordinates == "weights":
            rows = [net.v[:, None] * a * errors.x, net.v[:, None] * a, errors.phi]
            couplings = [(i, 2 * H + i, errors.rx), (H + i, 2 * H + i, errors.r1)]
        else:
            if (net.w == 0).any():
                got = f"w = 0 for unit {int(np.argmax(net.w == 0))}"
                raise InputError("net", "have a breakpoint for every unit", got, "remove it")
            beta = -net.b / net.w
            rows = [-(net.w * net.v)[:, None] * a, (errors.x - beta[:, None]) * a]
            couplings = [(i, H + i, -errors.r1)]
        tail = [np.ones_like(errors.x), errors.x] if net.c1 != 0 else [np.ones_like(errors.x)]
        Z = np.concatenate([*rows, tail]).T
        check_overflow("net", Z, (Z**2).sum(axis=0))
    R = np.zeros((Z.shape[1], Z.shape[1]))
    for first, second, value in couplings:
        R[first, second] = R[second, first] = value
    return Hessian(Z, R)


Kind = Literal[
    "no input weight",  # w = 0: a constant, or zero
    "none active",  # active on no sample
    "no output weight",  # v = 0: its breakpoint does not matter
    "shared pattern",  # active on the same samples as another
    "complementary patterns",  # active where another is not
    "all active",  # active on all samples: its bias is the output's
    "single sample",  # one of its pieces has a single sample, about which the line can turn
]


@dataclass(frozen=True)
class Degeneracy:
    """Zero eigenvalues of the Gram matrix beyond the gauge that have a common cause."""

    kind: Kind
    units: tuple[int, ...]  #: the unit that adds less than two dimensions, preceded by the units that already span them
    extra: int  #: number of zero eigenvalues


def degenerate_units(net: Shallow, x: Any) -> tuple[Degeneracy, ...]:
    """Return which units make the Gram part of the Hessian degenerate at inputs x (N,), and why.

    The gradients of a unit with ``v != 0`` span ``{a, x a}``: two dimensions, so the rank is at most ``2 H + 1`` (one
    more with a skip), and H other eigenvalues are zeros of the gauge. If the breakpoints lie in k gaps between samples,
    all functions constant on the k + 1 pieces are spanned; modulo these, ``x a`` is the row of the values of a on the
    pieces with two different samples or more. So the rank is ``(k + 1) + rank(M)`` with these rows M, and a row of ones
    for a skip. Units are taken in turn, those with ``v != 0`` first; each adds two new dimensions or is reported, so
    that the ``extra`` add up to the deficiency of the rank. It corrects "Critical Points fall into 6 types", whose list
    has b = 0 (which adds nothing) and lacks complementary patterns and inner pieces with a single sample.

    Examples
    --------
    >>> from creases.splines import Shallow, theory
    >>> net = Shallow([1.0, 1.0, -1.0], [0.0, 0.1, 9.0], [1.0, 1.0, 1.0])
    >>> [(each.kind, each.units, each.extra) for each in theory.degenerate_units(net, [-2.0, -1.0, 1.0, 2.0])]
    [('shared pattern', (0, 1), 2), ('all active', (2,), 1)]
    """
    x = np.unique(check_column(x, "x"))
    n = len(x)
    if not n:
        raise InputError("x", "have at least one sample", "none")
    with np.errstate(over="ignore"):
        on = net.w[:, None] * x + net.b[:, None] > 0  # (H, n)
    count = on.sum(axis=1)
    bends = (count > 0) & (count < n) & (net.leak != 1)
    gap = np.where(bends, np.where(on[:, -1], n - count, count), 0)  # samples left of its breakpoint; 0: none
    cuts = np.unique(np.concatenate([[0], gap[net.v != 0], [n]]))
    starts = cuts[:-1][np.diff(cuts) > 1]  # of the pieces with two samples or more
    column = np.searchsorted(starts, gap)  # how many of them are left of the gap
    a = np.where(on, 1.0, net.leak[:, None])
    basis, causes = np.zeros((0, len(starts))), list[Degeneracy]()
    slopes: list[Floats] = []  # at the samples, of the new rows of M, whose span has this basis
    if net.c1 != 0:
        basis, is_new = _add_direction(basis, np.ones(len(starts)))
        slopes += [np.ones(n)] * is_new
        causes += [Degeneracy("single sample", (), 1)] * (not is_new)  # one sample has no slope
    before: list[int] = []
    for i in np.flatnonzero(net.v != 0).tolist():
        basis, is_new = _add_direction(basis, a[i, starts])
        slopes += [a[i]] * is_new
        same_gap = [j for j in before if gap[j] == gap[i] and (gap[i] > 0 or count[i] == count[j] == n)]
        twins = [j for j in same_gap if (on[j] == on[i]).all()]
        is_inner = gap[i] > 0 and 0 < column[i] < len(starts)
        rivals = [j for j in before if is_inner and gap[j] > 0 and column[j] == column[i]]
        kind: Kind
        others: list[int]
        if net.w[i] == 0:
            kind, others = "no input weight", []
        elif count[i] == 0:
            kind, others = "none active", []
        elif twins:
            kind, others = "shared pattern", twins[:1]
        elif same_gap:
            kind, others = "complementary patterns", same_gap[:1]
        else:
            kind, others = ("single sample", rivals) if gap[i] > 0 else ("all active", [])
        adds_level = gap[i] > 0 and not same_gap
        causes.append(Degeneracy(kind, (*others, i), 2 - int(adds_level) - is_new))
        before.append(i)
    silent = np.flatnonzero(net.v == 0).tolist()
    if silent:  # each adds its phi, if that is new, and no second dimension
        piece = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        levels = (piece == np.arange(len(cuts) - 1)[:, None]) / np.sqrt(np.diff(cuts))[:, None]
        inner = x - (levels.T @ (levels @ x))
        for slope in slopes:  # on each piece the span is constants, and x about its middle by the new rows of M
            levels, _ = _add_direction(levels, slope * inner)
        phi = unit_values(net, x)[1]
        check_overflow("net", phi[silent])
        for i in silent:
            levels, is_new = _add_direction(levels, phi[i])
            off: Kind = "none active" if count[i] == 0 else "no output weight"
            causes.append(Degeneracy("no input weight" if net.w[i] == 0 else off, (i,), 2 - is_new))
    return tuple(cause for cause in causes if cause.extra)


def _add_direction(basis: Floats, vector: Floats) -> tuple[Floats, bool]:
    """Return orthonormal rows (r, n) with what is new in a vector (n,), and whether anything is."""
    rest = vector / (np.linalg.norm(vector) or 1.0)
    for _ in range(2):  # the second time for what rounding left
        rest = rest - (basis @ rest) @ basis
    size = float(np.linalg.norm(rest))
    return (np.vstack([basis, rest / size]), True) if size > 1e-10 else (basis, False)
