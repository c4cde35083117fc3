"""Scaling of a table's columns, with weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from creases._typing import Floats
from creases.growth import Scaling


def learn_scaling(X: Floats, y: Floats | None, weight: Floats) -> Scaling:
    """Return the scaling of rows X (n, d), and for a regression of targets y (n, m), with weights (n,).

    It is scikit-learn's StandardScaler, for numbers of any size that a float64 can hold.
    """
    center, spread, constant = _moments(X, weight)
    if y is None:
        return Scaling(center, spread, constant=constant)
    target_center, target_spread, _ = _moments(y, weight)
    if y.shape[1] == 1:
        return Scaling(center, spread, float(target_center[0]), float(target_spread[0]), constant)
    return Scaling(center, spread, target_center, target_spread, constant)


def _moments(values: Floats, weight: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return means and standard deviations (d,), and which columns are all the same, up to rounding."""
    size = np.exp2(np.clip(np.frexp(np.abs(values).max(axis=0))[1], -1000, 1000))  # so that no square is too large
    scaler = StandardScaler().fit(values / size, sample_weight=weight)
    return scaler.mean_ * size, scaler.scale_ * size, np.asarray((scaler.scale_ == 1.0) & (scaler.var_ != 1.0))
