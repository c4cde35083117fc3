"""What each unit adds to an output: its value times the slope behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases.network._network import Network, PointsLike


def unit_contributions(net: Network, x: PointsLike, weights: NDArray[Any]) -> NDArray[np.float64]:
    """Contribution of every unit to ``weights . f(x)`` within the piece that holds at ``x``: (n_units,).

    On its region the network behind a bend is affine in the bend's output h, ``weights . f = g . h + c``; a unit's
    contribution is ``g_u h_u``. Those of one bend and its c add up to ``weights . f(x)``, where nothing passes around
    the bend; the contributions of two bends in a row are two accounts of the same sum.

    Parameters
    ----------
    x
        One point.
    weights
        (n_out,) what of the output is asked about: a class against another is 1 and -1 at their places.
    """
    net = net.to(torch.float64)
    batch, _ = net.points(x)
    with torch.enable_grad():
        values = [batch.detach().requires_grad_()]
        for step in net.steps:
            values.append(step.apply([values[i] for i in step.inputs]))
        bent = [values[i + 1] for i in net.bends]
        asked = values[-1].flatten() @ torch.as_tensor(weights, dtype=torch.float64, device=net.device)
        slopes = torch.autograd.grad(asked, bent, allow_unused=True) if bent else ()
    parts = [
        np.zeros(h.numel()) if slope is None else (slope * h).detach().flatten().cpu().numpy()
        for slope, h in zip(slopes, bent, strict=True)
    ]
    return np.concatenate([np.zeros(0), *parts])
