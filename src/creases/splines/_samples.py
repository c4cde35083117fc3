"""Data of one input made ready for fits: sorted, merged where x repeats, on scales of order 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_vector
from creases.errors import InputError
from creases.splines._spline import Pieces


@dataclass(frozen=True, eq=False)
class Samples:
    """n distinct places with a mean value and a weight each, and how they are scaled to order 1.

    ``t = (x - x_0) / width`` runs from 0 to 1; ``u = (y - mean) / height``. Squared errors in u, with the scaled
    weights, times ``size`` and plus ``within`` are those of the given data.
    """

    x: Floats  #: (n,) increasing
    y: Floats  #: (n,) weighted means of the y at each x
    w: Floats  #: (n,) sums of the weights at each x, over the largest of all data
    t: Floats  #: (n,)
    u: Floats  #: (n,)
    mean: float
    height: float
    top: float  #: the largest weight
    within: float  #: squared error that no function of x avoids: that of y about its mean at each x

    @property
    def width(self) -> float:
        return float(self.x[-1] - self.x[0])

    @property
    def size(self) -> float:
        return self.top * self.height**2

    @property
    def total(self) -> float:
        """Weighted sum of squares of u."""
        return float(self.w @ self.u**2)

    def at(self, places: Floats) -> Floats:
        """Places t in terms of x; those of data exactly."""
        datum = np.minimum(np.searchsorted(self.t, places), len(self.t) - 1)
        return np.where(self.t[datum] == places, self.x[datum], self.x[0] + places * self.width)

    def error(self, function: Pieces) -> float:
        """Weighted sum of squared errors of a function on the given data."""
        return self.top * float(self.w @ (function(self.x) - self.y) ** 2) + self.within

    def fitted(self, knots: Floats) -> Pieces | None:
        """The least-squares function with inner knots at places t (the ends are 0 and 1); None where x cannot tell
        two of them apart."""
        inner = self.at(knots[1:-1])
        all_x = np.concatenate([self.x[:1], inner, self.x[-1:]])
        if not (np.diff(all_x) > 0).all():
            return None
        places = (all_x - self.x[0]) / self.width  # of the knots as rounded
        root = np.sqrt(self.w)
        hats = np.column_stack([np.interp(self.t, places, row) for row in np.eye(len(places))])
        values = np.linalg.lstsq(hats * root[:, None], self.u * root, rcond=None)[0]
        values = self.mean + self.height * values
        with np.errstate(over="ignore"):
            slopes = np.diff(values) / np.diff(all_x)
        if not np.isfinite(slopes).all():
            raise InputError("x: its range is so small that slopes overflow float64; scale x up or y down")
        if not len(inner):
            return Pieces(inner, slopes, values[:1] - slopes * self.x[0])
        return Pieces.through(inner, values[1:-1], float(slopes[0]), float(slopes[-1]))


def merge_samples(x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> Samples:
    """Data (N,) and weights, in any order, with repeated x, made ready."""
    places = check_vector(x, "x")
    values = check_vector(y, "y", len(places))
    if not len(places):
        raise InputError("x: expected at least one datum, got none")
    w = np.ones(len(places)) if weights is None else check_vector(weights, "weights", len(places))
    if (w < 0).any() or not w.any():
        raise InputError(f"weights: expected numbers >= 0, one of them positive, got {w.min()}")
    kept = w > 0
    distinct, which = np.unique(places[kept], return_inverse=True)
    values, top = values[kept], float(w.max())
    w = w[kept] / top
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.bincount(which, weights=w).astype(np.float64)
        means = np.bincount(which, weights=w * values) / sums
        mean = float(w @ values / w.sum())
        height = float(np.abs(means - mean).max()) or 1.0
        within = top * float(w @ (values - means[which]) ** 2)
        squares, width = top * (height * height) * w.sum() + within, distinct[-1] - distinct[0]
    if not np.isfinite(squares):
        raise InputError("y: its squared errors overflow float64; scale y or weights down")
    if not np.isfinite(width):
        raise InputError("x: its range overflows float64; scale x down")
    t = (distinct - distinct[0]) / (width or 1.0)
    return Samples(distinct, means, sums, t, (means - mean) / height, mean, height, top, within)
