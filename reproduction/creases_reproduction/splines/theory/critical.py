"""Classify points of the loss: critical or not, minimum or strict saddle, and how degenerate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from creases._typing import Floats
from creases._validation import check_number
from creases.splines import Shallow
from creases.splines.theory import degenerate_units, velocities

Kind = Literal["not critical", "minimum", "strict saddle", "not smooth"]


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """A point of the loss ``1/2 sum e^2`` of a shallow network, and the loss around it."""

    kind: Kind
    loss: float
    gradient: Floats  #: (p,) in w, b, v, c0 and, if there is a skip, c1; 0 up to rounding
    saddles: tuple[int, ...]  #: units with v = 0 that could lower the loss: rx or r1 is not 0
    on_data: tuple[int, ...]  #: units with a breakpoint on a sample, where the loss has a kink
    degeneracies: tuple[Any, ...]  #: causes of zero eigenvalues of the Gram matrix beyond the gauge
    gauge: int  #: zero eigenvalues that every network has, one per unit

    @property
    def zeros(self) -> int:
        """Zero eigenvalues of the Gram matrix; at a minimum, of the Hessian."""
        return self.gauge + sum(int(degeneracy.extra) for degeneracy in self.degeneracies)


def critical_point(net: Shallow, x: Any, y: Any, *, tolerance: float = 1e-8) -> CriticalPoint:
    """Classify the loss of a network on samples x (N,), y (N,) at its weights.

    A critical point is a ``"minimum"`` if ``rx`` and ``r1`` of every unit vanish: then the errors are orthogonal to all
    that the units can add without moving past a sample, and the loss decreases in no direction. A unit with v = 0 may
    have a vanishing gradient although rx or r1 is not 0: a ``"strict saddle"``, where the Hessian has a negative
    eigenvalue. With a breakpoint on a sample the loss is ``"not smooth"`` there, whatever its gradient on the left.

    Parameters
    ----------
    net
        The network.
    x, y
        Samples (N,).
    tolerance
        Sums of errors count as 0 if they are below ``tolerance`` times the sum of the absolute values of their terms,
        or below ``tolerance`` times what they would be for errors as large as the targets.

    Examples
    --------
    >>> x = [-2.0, -1.0, 1.0, 2.0]
    >>> point = critical_point(Shallow([1.0], [0.0], [1.0]), x, [0.0, 0.0, 1.0, 2.0])
    >>> point.kind, point.loss, point.zeros
    ('minimum', 0.0, 1)
    """
    tolerance = check_number(tolerance, "tolerance", least=0)
    errors = velocities(net, x, y).sees
    e, x = errors.e, errors.x
    scale = np.maximum(np.abs(e), np.abs(net(x) - e))  # the larger of error and target
    line = np.stack([np.ones(len(x)), x]) if net.c1 != 0 else np.ones((1, len(x)))
    rx, r1, out, tail = (_significant(rows, e, scale, tolerance) for rows in (errors.a * x, errors.a, errors.phi, line))
    gradient = np.concatenate([net.v * rx, net.v * r1, out, tail])
    useful = (net.v == 0) & ((rx != 0) | (r1 != 0))
    saddles = () if gradient.any() else tuple(np.flatnonzero(useful).tolist())
    on_data = tuple(np.flatnonzero((net.w[:, None] * x + net.b[:, None] == 0).any(axis=1)).tolist())
    kind: Kind = "strict saddle" if saddles else "minimum"
    if gradient.any():
        kind = "not critical"
    if on_data:
        kind = "not smooth"
    return CriticalPoint(kind, float(e @ e) / 2, gradient, saddles, on_data, degenerate_units(net, x), net.width)


def _significant(rows: Floats, e: Floats, scale: Floats, tolerance: float) -> Floats:
    """Return ``rows @ e``, 0 where it is small compared with its terms."""
    sums = rows @ e
    return np.where(np.abs(sums) <= tolerance * (np.abs(rows) @ scale), 0.0, sums)


def gram_rank(net: Shallow, x: Any) -> int:
    """Return the rank of the Gram part of the Hessian, which is that of the tangent kernel, at x (N,)."""
    max_rank = 2 * net.width + (2 if net.c1 != 0 else 1)
    return max_rank - sum(cause.extra for cause in degenerate_units(net, x))
