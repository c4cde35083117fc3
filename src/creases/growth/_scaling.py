"""Standardised data for training, and networks and points back in the data's units."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_finite, check_numbers, check_vector
from creases.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Scaling(OneLine):
    """The scaling of inputs to ``(x - center) / spread``, and of regression targets; see :meth:`from_data`.

    Examples
    --------
    >>> import numpy as np
    >>> scaling = Scaling.from_data(np.array([[1.0, 10.0], [3.0, 10.0]]))
    >>> scaling.inputs(np.array([[3.0, 10.0]]))
    array([[1., 0.]])
    >>> scaling.point([1.0, 0.0])
    array([ 3., 10.])
    """

    center: Floats  #: (d,)
    spread: Floats  #: (d,) 1 where a column is constant
    target_center: float | Floats = 0.0  #: (m,) where there are several targets
    target_spread: float | Floats = 1.0
    constant: NDArray[np.bool_] | None = None  #: (d,) columns that do not vary, which networks ignore

    @classmethod
    def from_data(cls, X: Floats, y: Floats | None = None) -> Scaling:
        """Return the scaling of inputs X (n, d) and, for a regression, of targets y (n,)."""
        from sklearn.preprocessing import StandardScaler  # slow to import

        rows = check_numbers(X, "X")
        if rows.ndim != 2 or not rows.size:
            raise InputError("X", "have shape (n, d) with at least one row and column", f"{rows.shape}")
        check_finite(rows, "X")
        inputs = StandardScaler().fit(rows)
        if y is None:
            return cls(inputs.mean_, inputs.scale_)
        targets = StandardScaler().fit(check_vector(y, "y", len(rows))[:, None])
        return cls(inputs.mean_, inputs.scale_, float(targets.mean_[0]), float(targets.scale_[0]))

    def inputs(self, X: Floats) -> Floats:
        """Return scaled inputs (n, d)."""
        return np.asarray((X - self.center) / self.spread)

    def targets(self, y: Floats) -> Floats:
        """Return scaled targets, (n,) or (n, m)."""
        return np.asarray((y - self.target_center) / self.target_spread)

    def point(self, x: Sequence[float] | Floats) -> Floats:
        """Return a scaled point (d,) in the data's units."""
        return np.asarray(x) * self.spread + self.center

    def fold_into(self, model: nn.Sequential) -> nn.Sequential:
        """Return a copy of the network, in float64, with the scaling in its first and last layer.

        It takes inputs and gives outputs in the data's units. The weights of constant columns, which training never
        changes, become 0. The model must be a Sequential that begins and ends with a linear layer with bias.
        """
        copy = deepcopy(model).double().cpu()
        first, last = (_linear(layer) for layer in (copy[0], copy[-1]))
        with torch.no_grad():
            if self.constant is not None:
                first.weight[:, torch.from_numpy(self.constant)] = 0.0
            first.weight.div_(torch.from_numpy(self.spread))
            first.bias.sub_(first.weight @ torch.from_numpy(self.center))
            spread = torch.as_tensor(self.target_spread, dtype=torch.float64)
            last.weight.mul_(spread.reshape(-1, 1))
            last.bias.mul_(spread).add_(torch.as_tensor(self.target_center, dtype=torch.float64))
        return copy

    def to_dict(self) -> dict[str, Any]:
        """Return the scaling as JSON-able data."""
        return {
            "center": self.center.tolist(),
            "spread": self.spread.tolist(),
            "target_center": np.asarray(self.target_center).tolist(),
            "target_spread": np.asarray(self.target_spread).tolist(),
        }


def _linear(layer: nn.Module) -> nn.Linear:
    if not isinstance(layer, nn.Linear) or layer.bias is None:
        raise InputError("model", "begin and end with a linear layer with bias", str(layer))
    return layer
