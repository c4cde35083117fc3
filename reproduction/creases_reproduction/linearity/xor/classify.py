"""Assign trained networks to steady states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.lab import Batch
from creases_reproduction.linearity.xor.steady_states import COUNTS, LOSSES, POINTS, REGIONS, SIDES, TARGETS


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The sign regions and values of B networks."""

    region: Ints  #: (B,) index in ``REGIONS``
    values: Floats  #: (B, 3) outputs at -1, 0, 1
    loss: Floats  #: (B,) sum of squared errors, where 0 counts twice
    distance: (
        Floats  #: (B,) largest difference of the values from those of the region's steady states; inf if it has none
    )

    @property
    def level(self) -> Ints:
        """Index (B,) in ``LOSSES`` of the closest loss of a steady state of any region."""
        return np.asarray(np.abs(self.loss[:, None] - np.array(LOSSES, np.float64)).argmin(axis=1))

    def is_steady(self, tolerance: float = 0.05) -> NDArray[np.bool_]:
        """Return whether each network (B,) is at a steady state of its region, up to a tolerance in its values."""
        return self.distance <= tolerance


def classify(networks: Batch | nn.Sequential) -> Outcomes:
    """Return sign region, values, loss and distance to the region's steady states, of one network or many.

    Parameters
    ----------
    networks
        A ``lab.Batch`` of widths (1, 2, 1) with ReLUs, or one such torch module: linear, ReLU, linear.

    Examples
    --------
    >>> batch = Batch.initial(3, [1, 2, 1], seed=0)
    >>> classify(batch).region.shape
    (3,)
    """
    if not isinstance(networks, Batch | nn.Sequential):
        raise InputError("networks", "be a lab.Batch or an nn.Sequential", type(networks).__name__)
    batch = networks if isinstance(networks, Batch) else Batch.from_modules([networks], dtype=np.float64)
    if batch.widths != (1, 2, 1) or batch.leak:
        raise InputError("networks", "have widths (1, 2, 1) and ReLUs", f"widths {batch.widths} with leak {batch.leak}")
    x = np.array(POINTS, np.float64)
    W, b = batch.weights[0].astype(np.float64), batch.biases[0].astype(np.float64)
    active = W * x + b[:, :, None] > 0  # (B, 2, 3)
    values = batch.outputs(x[:, None])[:, :, 0]
    loss = (values - TARGETS) ** 2 @ np.array(COUNTS, np.float64)
    region = _sides_index(active[:, 0]) * len(SIDES) + _sides_index(active[:, 1])
    goals = np.array([(np.inf,) * 3 if each.values is None else each.values for each in REGIONS], np.float64)
    return Outcomes(region, values, loss, np.abs(values - goals[region]).max(axis=1, initial=0))


def _sides_index(active: NDArray[Any]) -> Ints:
    """Return the indices (B,) in ``SIDES`` of sides (B, 3)."""
    codes = np.array([1, 2, 4])
    number = np.full(8, -1)
    number[np.array(SIDES) @ codes] = np.arange(len(SIDES))
    return np.asarray(number[active @ codes])
