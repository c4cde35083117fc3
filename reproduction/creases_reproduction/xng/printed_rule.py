"""Slide 29 of XNG as printed: a new unit without bias, its weights orthogonal to the fold point.

``b = 0`` and ``w . x_f = 0``, so that the crease passes through the origin and the fold point
(:func:`creases.growth.methods.folding.printed_unit`). ``fold(..., as_printed=True)`` is the whole rule of slides 27 to
29, which takes the instance nearest to the centroid; here it is the mis-predicted one nearest to it, so that every
network that makes a mistake gets a unit at one.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases.growth import Proposal
from creases.growth.methods.folding import dead_layer_reason, decisions, local_fold_point, printed_unit, subnetwork_at
from creases.network import Place
from creases_reproduction.xng.clusters import nearest_to_centroid

#: Length of the outgoing weights.
EPS = 0.05


def propose_as_printed(
    model: nn.Module, place: Place, X: NDArray[np.floating], y: NDArray[np.int64], seed: int = 0
) -> Proposal | None:
    """Return the unit of slides 27 to 29 for a network with one hidden layer; None where there is none.

    The typical instance is the mis-predicted one nearest to the centroid of the costliest of three clusters.
    """
    inputs = X.astype(np.float64)
    tail = subnetwork_at(model, place)
    state = decisions(tail.outputs(inputs), y)
    if dead_layer_reason(tail, inputs) or not state.wrong.any():
        return None
    t = nearest_to_centroid(inputs, state, k=3).mistake
    point = local_fold_point(tail.net, inputs[t], int(state.predicted[t]), int(state.true[t]))
    if isinstance(point, str):
        return None
    slopes = state.p - np.eye(state.p.shape[1])[state.true]
    unit = printed_unit(inputs, slopes, inputs[t], point.x, seed=seed)
    if unit is None:
        return None
    w, v = unit
    path = place.consumers[0].path
    return Proposal(
        method="slide 29",
        place=place,
        fan_in=torch.from_numpy(tail.row_norm * w[None]),
        bias=torch.zeros(1, dtype=torch.float64),
        fan_out={path: torch.from_numpy(EPS * v[:, None].copy())},
        gain=0.0,
        explanation={"method": "slide 29", "place": place.name, "reason": ""},
    )


def empty_proposal(place: Place) -> Proposal:
    """Return a proposal without units."""
    nothing = torch.zeros(0, dtype=torch.float64)
    return Proposal("slide 29", place, nothing.reshape(0, 2), nothing, {}, 0.0, {"reason": "no unit"})
