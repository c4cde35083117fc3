"""What a point of the loss is: critical or not, a minimum or a strict saddle, and how flat around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from creases._typing import Floats
from creases._validation import check_number
from creases.errors import InputError
from creases.splines._residuals import residuals
from creases.splines._spline import Shallow
from creases.splines.landscape._degeneracy import Degeneracy, degeneracies

Kind = Literal["not critical", "minimum", "strict saddle", "not smooth"]


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """A point of the loss ``1/2 sum e^2`` of a shallow network, and the loss around it."""

    kind: Kind
    loss: float
    gradient: Floats  #: (p,) in w, b, v, c0 and, where there is a skip, c1; 0 where it is rounding
    saddles: tuple[int, ...]  #: units with v = 0 that would be of use: rx or r1 is not 0
    on_data: tuple[int, ...]  #: units with a breakpoint on a datum, where the loss has a kink
    degeneracies: tuple[Degeneracy, ...]  #: causes of zero eigenvalues of the Gram matrix beyond the gauge
    gauge: int  #: zero eigenvalues that every network has, one for each unit

    @property
    def zeros(self) -> int:
        """Zero eigenvalues of the Gram matrix; at a minimum, of the Hessian."""
        return self.gauge + sum(one.extra for one in self.degeneracies)


def critical_point(net: Shallow, x: Any, y: Any, *, tol: float = 1e-8) -> CriticalPoint:
    """Look at the loss of a network on data x (N,), y (N,), at the network's own weights.

    A critical point is a ``"minimum"`` where every unit's ``rx`` and ``r1`` vanish: then the errors are orthogonal to
    all that the units can add without breaking elsewhere, and the loss falls nowhere near. A unit with v = 0 may have
    a vanishing gradient and yet rx or r1 that are not 0: a ``"strict saddle"``, the Hessian has a negative eigenvalue.
    With a breakpoint on a datum the loss is ``"not smooth"`` there, whatever its gradient on the left.

    Parameters
    ----------
    tol
        What counts as 0: sums of errors below ``tol`` times the sum of the absolute values of their terms, or below
        ``tol`` times what they would be for errors as large as the targets.

    Examples
    --------
    >>> x = [-2.0, -1.0, 1.0, 2.0]
    >>> found = critical_point(Shallow([1.0], [0.0], [1.0]), x, [0.0, 0.0, 1.0, 2.0])
    >>> found.kind, found.loss, found.zeros
    ('minimum', 0.0, 1)
    """
    tol = check_number(tol, "tol")
    if tol < 0:
        raise InputError(f"tol: expected 0 or more, got {tol}")
    found = residuals(net, x, y)
    e, x = found.e, found.x
    reach = np.maximum(np.abs(e), np.abs(net(x) - e))  # the larger of error and target
    line = np.stack([np.ones(len(x)), x]) if net.c1 != 0 else np.ones((1, len(x)))
    rx, r1, out, tail = (_cleared(rows, e, reach, tol) for rows in (found.a * x, found.a, found.phi, line))
    gradient = np.concatenate([net.v * rx, net.v * r1, out, tail])
    useful = (net.v == 0) & ((rx != 0) | (r1 != 0))
    saddles = () if gradient.any() else tuple(np.flatnonzero(useful).tolist())
    on_data = tuple(np.flatnonzero((net.w[:, None] * x + net.b[:, None] == 0).any(axis=1)).tolist())
    kind: Kind = "strict saddle" if saddles else "minimum"
    if gradient.any():
        kind = "not critical"
    if on_data:
        kind = "not smooth"
    return CriticalPoint(kind, found.loss, gradient, saddles, on_data, degeneracies(net, x), net.width)


def _cleared(rows: Floats, e: Floats, reach: Floats, tol: float) -> Floats:
    """``rows @ e``, 0 where it is small beside the sizes of what enters it."""
    sums = rows @ e
    return np.where(np.abs(sums) <= tol * (np.abs(rows) @ reach), 0.0, sums)
