"""Samples of one input prepared for fits: sorted, merged where x repeats, scaled to order 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_vector
from creases.errors import InputError
from creases.splines._spline import Pieces

#: Smallest gap of x, and smallest weight, in parts of the largest: products of their squares do not underflow.
SMALLEST = 1e-70


@dataclass(frozen=True, eq=False)
class Samples:
    """The n distinct inputs with a mean target and a weight each, and their scaling to order 1.

    ``t = (x - x_0) / width`` runs from 0 to 1; ``u = (y - mean) / height``. Squared errors in u, with the scaled
    weights, times ``size`` and plus ``within`` are those of the original samples.
    """

    x: Floats  #: (n,) increasing
    y: Floats  #: (n,) weighted means of the y at each x
    w: Floats  #: (n,) sums of the weights at each x, divided by the largest weight
    t: Floats  #: (n,)
    u: Floats  #: (n,)
    mean: float
    height: float
    top: float  #: the largest weight
    within: float  #: squared error that no function of x avoids: that of y about its mean at each x

    @property
    def width(self) -> float:
        """Range of x."""
        return float(self.x[-1] - self.x[0])

    @property
    def size(self) -> float:
        """Factor from scaled squared errors to those of the samples."""
        return self.top * self.height**2

    @property
    def total(self) -> float:
        """Weighted sum of squares of u."""
        return float(self.w @ self.u**2)

    def cumulative_sums(self) -> Floats:
        """Return the sums (n + 1, 6) of w times 1, t, t^2, u, t u, u^2 over the first samples, t about its middle."""
        t, u, w = self.t - 0.5, self.u, self.w
        terms = np.column_stack([w, w * t, w * t * t, w * u, w * t * u, w * u * u])
        return np.concatenate([np.zeros((1, 6)), np.cumsum(terms, axis=0)])

    def unscale(self, t: Floats) -> Floats:
        """Return scaled inputs t in the units of x; those of samples exactly."""
        sample = np.minimum(np.searchsorted(self.t, t), len(self.t) - 1)
        return np.where(self.t[sample] == t, self.x[sample], self.x[0] + t * self.width)

    def error(self, function: Pieces) -> float:
        """Return the weighted sum of squared errors of a function on the samples."""
        return self.top * float(self.w @ (function(self.x) - self.y) ** 2) + self.within

    def fit(self, knots: Floats) -> Pieces | None:
        """Return the least-squares function with knots t, from 0 to 1; None if two of them are equal as x."""
        places = self._places(knots)
        if places is None:
            return None
        scaled = (places - self.x[0]) / self.width  # of the knots as rounded
        root = np.sqrt(self.w)
        hats = np.column_stack([np.interp(self.t, scaled, row) for row in np.eye(len(scaled))])
        values = np.linalg.lstsq(hats * root[:, None], self.u * root, rcond=None)[0]
        return self._join(places, np.asarray(values, np.float64))

    def join(self, knots: Floats, values: Floats) -> Pieces | None:
        """Return the function with scaled values at knots t, from 0 to 1; None if two of them are equal as x."""
        places = self._places(knots)
        return None if places is None else self._join(places, values)

    def _places(self, knots: Floats) -> Floats | None:
        places = np.concatenate([self.x[:1], self.unscale(knots[1:-1]), self.x[-1:]])
        return places if (np.diff(places) > 0).all() else None

    def _join(self, places: Floats, scaled_values: Floats) -> Pieces:
        values = self.mean + self.height * scaled_values
        with np.errstate(over="ignore"):
            slopes = np.diff(values) / np.diff(places)
        if not np.isfinite(slopes).all():
            raise InputError("x", "have a range wide enough that slopes fit into float64", hint="scale x up or y down")
        if len(places) == 2:
            return Pieces(places[1:-1], slopes, values[:1] - slopes * self.x[0])
        return Pieces.through(places[1:-1], values[1:-1], float(slopes[0]), float(slopes[-1]))


def merge_samples(x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> Samples:
    """Return samples (N,) with weights, in any order and with repeated x, sorted, merged and scaled.

    Samples are merged where their x differ by no more than rounding within the range of x.
    """
    places = check_vector(x, "x")
    values = check_vector(y, "y", len(places))
    if not len(places):
        raise InputError("x", "have at least one sample", "none")
    w = np.ones(len(places)) if weights is None else check_vector(weights, "weights", len(places))
    if (w < 0).any() or not w.any():
        raise InputError("weights", "be non-negative with at least one positive entry", f"a minimum of {w.min()}")
    positive = w > 0
    places, values, top = places[positive], values[positive], float(w.max())
    low, high = places.min(), places.max()
    with np.errstate(over="ignore"):
        width = high - low
    if not np.isfinite(width):
        raise InputError("x", "have a range that fits into float64", hint="scale x down")
    t, first, which = np.unique((places - low) / (width or 1.0), return_index=True, return_inverse=True)
    distinct = places[first]
    distinct[0], distinct[-1] = low, high
    w = w[positive] / top
    if (gap := np.diff(t).min(initial=1.0)) < SMALLEST:
        expected = f"have different values at least {SMALLEST:g} of their range apart"
        raise InputError("x", expected, f"{gap:.3g} of it", "merge samples, or remove those far away")
    if w.min() < SMALLEST:
        expected = f"be 0 or at least {SMALLEST:g} of the largest one"
        raise InputError("weights", expected, f"{w.min():.3g} of it", "set negligible weights to 0")
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.bincount(which, weights=w).astype(np.float64)
        means = np.bincount(which, weights=w * values) / sums
        mean = float(w @ values / w.sum())
        height = float(np.abs(means - mean).max()) or 1.0
        within = top * float(w @ (values - means[which]) ** 2)
        squares = top * (height * height) * w.sum() + within
    if not np.isfinite(squares):
        raise InputError("y", "have squared errors that fit into float64", hint="scale y or weights down")
    return Samples(distinct, means, sums, t, (means - mean) / height, mean, height, top, within)
