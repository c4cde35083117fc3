"""Which region one enters on leaving a point of a crease in a direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.network.network import Network
from creases.network.patterns import bend_sides
from creases.regions.signed import Ray, is_zero
from creases.regions.tolerance import SIGN


def leave(
    net: Network, sides: NDArray[np.integer], tied: Sequence[Tensor], direction: NDArray[np.float64]
) -> NDArray[np.int16]:
    """Sides just beyond a point in a direction: exact, no step is taken.

    A unit that is not tied keeps its side. A tied one takes the side of its derivative along the direction, which
    depends on the new sides of the units before it; a derivative of zero (by the tolerance policy) is side 0, or the
    first of the candidates that rise the most.

    Parameters
    ----------
    sides
        (n_units,) at the point.
    tied
        For each bend what ties at the point, as :func:`creases.regions.signed.ties` gives it.
    direction
        (n_in,)
    """
    ray = Ray(net, torch.as_tensor(direction, dtype=net.dtype, device=net.device))
    old = bend_sides(net, sides)
    new: list[Tensor] = []
    while (pair := ray.advance()) is not None:
        i = len(new)
        decide = _relu if net.steps[net.bends[i]].op == "relu" else _choice
        new.append(decide(*pair, old[i], tied[i]))
        ray.take(new[i])
    return np.concatenate([np.zeros(0, np.int16), *(side.flatten().to(torch.int16).cpu().numpy() for side in new)])


def _relu(dz: Tensor, size: Tensor, old: Tensor, tied: Tensor) -> Tensor:
    return torch.where(tied, (dz > 0) & ~is_zero(dz, size), old)


def _choice(dz: Tensor, size: Tensor, old: Tensor, tied: Tensor) -> Tensor:
    rise = torch.where(tied, dz, -torch.inf)
    best, where = rise.max(dim=-1, keepdim=True)
    steepest = tied & (best - rise <= SIGN * (size + size.gather(-1, where)))
    first = steepest.int().argmax(dim=-1)
    return torch.where(tied.sum(dim=-1) > 1, first, old)
