"""Which steady state a trained network has come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from creases._typing import Floats, Ints
from creases.boolean.xor._steady_states import COUNTS, LOSSES, POINTS, REGIONS, SIDES, TARGETS
from creases.errors import InputError
from creases.lab import Batch


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Where B networks are."""

    region: Ints  #: (B,) number in ``REGIONS``
    values: Floats  #: (B, 3) outputs at -1, 0, 1
    loss: Floats  #: (B,) sum of squared errors, that at 0 twice
    distance: Floats  #: (B,) largest difference of the values from those of the region's family; inf where it has none

    @property
    def level(self) -> Ints:
        """(B,) number in ``LOSSES`` of the nearest loss of a steady state, whichever region the network is in."""
        return np.asarray(np.abs(self.loss[:, None] - np.array(LOSSES, np.float64)).argmin(axis=1))

    def settled(self, tolerance: float = 0.05) -> NDArray[np.bool_]:
        """(B,) whether the network is in the family of its region, up to so much in its values."""
        return self.distance <= tolerance


def classify(networks: Batch | nn.Sequential) -> Outcomes:
    """Sign region, values, loss and distance to the region's steady states, of one network or of many.

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
        raise InputError(f"networks: expected a lab.Batch or an nn.Sequential, got {type(networks).__name__}")
    batch = networks if isinstance(networks, Batch) else Batch.from_modules([networks], dtype=np.float64)
    if batch.widths != (1, 2, 1) or batch.leak:
        raise InputError(
            f"networks: expected widths (1, 2, 1) with ReLUs, got {batch.widths} with leak {batch.leak}; steady states "
            "are known for these only"
        )
    x = np.array(POINTS, np.float64)
    W, b = batch.weights[0].astype(np.float64), batch.biases[0].astype(np.float64)
    active = W * x + b[:, :, None] > 0  # (B, 2, 3)
    values = batch.outputs(x[:, None])[:, :, 0]
    loss = (values - TARGETS) ** 2 @ np.array(COUNTS, np.float64)
    region = _numbers(active[:, 0]) * len(SIDES) + _numbers(active[:, 1])
    goals = np.array([(np.inf,) * 3 if one.values is None else one.values for one in REGIONS], np.float64)
    return Outcomes(region, values, loss, np.abs(values - goals[region]).max(axis=1, initial=0))


def _numbers(active: NDArray[Any]) -> Ints:
    """Numbers in ``SIDES`` (B,) of sides (B, 3)."""
    codes = np.array([1, 2, 4])
    number = np.full(8, -1)
    number[np.array(SIDES) @ codes] = np.arange(len(SIDES))
    return np.asarray(number[active @ codes])
