"""Scaling that is learnt from a table, with weights, at once or batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from torch import nn

from creases.grow.scaling import Scaling

Floats = NDArray[np.float64]


class Scaler:
    """scikit-learn's StandardScaler for inputs and targets, of any size that a float64 can have."""

    def __init__(self) -> None:
        self.inputs, self.targets = _Columns(), _Columns()

    def learn(self, X: Floats, y: Floats | None, weight: Floats) -> Scaling:
        """The scaling of all rows so far: X (n, d), and for a regression y (n, m), with weights (n,)."""
        center, spread = self.inputs.learn(X, weight)
        if y is None:
            return Scaling(center, spread)
        return Scaling(center, spread, *self.targets.learn(y, weight))


class _Columns:
    """Means and deviations of columns."""

    def __init__(self) -> None:
        self.scaler = StandardScaler()
        self.size: Any = None  #: (d,) powers of 2 by which columns are divided first, so that no square is too large

    def learn(self, values: Floats, weight: Floats) -> tuple[Floats, Floats]:
        if self.size is None:
            self.size = np.exp2(np.clip(np.frexp(np.abs(values).max(axis=0))[1], -1000, 1000))
        self.scaler.partial_fit(values / self.size, sample_weight=weight)
        return self.scaler.mean_ * self.size, self.scaler.scale_ * self.size


def rescale(model: nn.Sequential, old: Scaling, new: Scaling) -> None:
    """Change the first and last layer so that, under another scaling, the network is the same function of the data."""
    first, last = model[0], model[-1]
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        first.bias.add_(first.weight @ torch.from_numpy((new.center - old.center) / old.spread))
        first.weight.mul_(torch.from_numpy(new.spread / old.spread))
        factor = torch.as_tensor(old.target_spread / new.target_spread)
        shift = torch.as_tensor((old.target_center - new.target_center) / new.target_spread)
        last.bias.mul_(factor).add_(shift)
        last.weight.mul_(factor[:, None] if factor.ndim else factor)
