"""Slide 29 of XNG as printed: a new unit without bias, its weights orthogonal to the fold point.

``b = 0`` and ``w . x_f = 0``, so that the crease passes through the origin and the fold point. Of such weights GradMax
takes those with the largest gradient, and the alignment sets its sign: gradient descent raises the unit at ``x_t``
where ``w . (x_t - x_f)`` is positive. With two inputs the condition leaves only two directions, ``w`` and ``-w``.
Outgoing weights are printed as 0, where there is no gradient at all (Lemma 5); they are small here, along GradMax's
singular vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._typing import Floats
from creases.growth import Proposal
from creases.growth.methods.folding import dead_layer_reason, decisions, local_fold_point, subnetwork_at
from creases.network import Place
from creases_reproduction.xng.clusters import nearest_to_centroid

#: Length of the outgoing weights.
EPS = 0.05

#: Directions that are tried where there are more than two inputs.
DRAWS = 200


class PrintedUnit(NamedTuple):
    """A unit by slide 29; its bias is 0."""

    w: Floats  #: (d,) of length 1
    v: Floats  #: (m,) of length 1: outgoing weights, up to their size
    gradient: float  #: squared length of the gradient of w, for these v


def broaden(X: Floats, slopes: Floats, x_t: Floats, x_f: Floats, seed: int = 0) -> PrintedUnit | None:
    """Return the unit of slide 29 for samples X (n, d) and the loss's slopes (n, m) at the outputs.

    None where no sample would activate it.
    """
    best = None
    for w in _orthogonal_directions(x_f, seed):
        active = X @ w > 0
        pairs = slopes[active].T @ X[active] / len(X)  # (m, d): the gradient of w is v' pairs
        left, values, _ = np.linalg.svd(pairs, full_matrices=False)
        if values[0] > 0 and (best is None or values[0] ** 2 > best.gradient):
            v = left[:, 0]
            step = -v @ pairs  # what gradient descent adds to w
            aligned = np.sign((step @ x_t) * (w @ (x_t - x_f)))
            best = PrintedUnit(w, v * (aligned or 1.0), float(values[0] ** 2))
    return best


def _orthogonal_directions(x_f: Floats, seed: int) -> Floats:
    """Return directions (k, d) of length 1 with w . x_f = 0: the two that there are in the plane, or random ones."""
    d = len(x_f)
    drawn = np.array([[-x_f[1], x_f[0]]]) if d == 2 else np.random.default_rng(seed).normal(size=(DRAWS, d))
    size = float(x_f @ x_f)
    W = drawn - np.outer(drawn @ x_f, x_f) / size if size > 0 else drawn
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    return np.concatenate([W, -W])


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
    unit = broaden(inputs, slopes, inputs[t], point.x, seed)
    if unit is None:
        return None
    path = place.consumers[0].path
    return Proposal(
        method="slide 29",
        place=place,
        fan_in=torch.from_numpy(tail.row_norm * unit.w[None]),
        bias=torch.zeros(1, dtype=torch.float64),
        fan_out={path: torch.from_numpy(EPS * unit.v[:, None].copy())},
        gain=0.0,
        explanation={"method": "slide 29", "place": place.name, "reason": ""},
    )


def empty_proposal(place: Place) -> Proposal:
    """Return a proposal without units."""
    nothing = torch.zeros(0, dtype=torch.float64)
    return Proposal("slide 29", place, nothing.reshape(0, 2), nothing, {}, 0.0, {"reason": "no unit"})
