"""Scaling of a table's columns, with weights, from all rows at once or batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from creases._typing import Floats
from creases.growth import Scaling


class IncrementalScaler:
    """scikit-learn's StandardScaler for inputs and targets, for numbers of any size that a float64 can hold."""

    def __init__(self) -> None:
        self.inputs, self.targets = _Columns(), _Columns()

    def learn(self, X: Floats, y: Floats | None, weight: Floats) -> Scaling:
        """Return the scaling of all rows so far: X (n, d), and for a regression y (n, m), with weights (n,)."""
        center, spread = self.inputs.learn(X, weight)
        constant = self.inputs.constant
        if y is None:
            return Scaling(center, spread, constant=constant)
        target_center, target_spread = self.targets.learn(y, weight)
        if y.shape[1] == 1:
            return Scaling(center, spread, float(target_center[0]), float(target_spread[0]), constant)
        return Scaling(center, spread, target_center, target_spread, constant)


class _Columns:
    """Means and standard deviations of columns."""

    def __init__(self) -> None:
        self.scaler = StandardScaler()
        self.size: Any = None  #: (d,) powers of 2 by which columns are divided first, so that no square is too large

    def learn(self, values: Floats, weight: Floats) -> tuple[Floats, Floats]:
        if self.size is None:
            self.size = np.exp2(np.clip(np.frexp(np.abs(values).max(axis=0))[1], -1000, 1000))
        self.scaler.partial_fit(values / self.size, sample_weight=weight)
        return self.scaler.mean_ * self.size, self.scaler.scale_ * self.size

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Columns (d,) whose values were all the same so far, up to rounding."""
        return np.asarray((self.scaler.scale_ == 1.0) & (self.scaler.var_ != 1.0))
