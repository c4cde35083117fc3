"""A search over creases through samples, by the gradient they would get: a baseline without a reason."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._validation import check_count, check_number
from creases.growth import Proposal
from creases.growth.methods.folding import decisions, subnetwork_at, unit_values
from creases.network import Place
from creases.network.surgery import find_place

Floats = NDArray[np.float64]

#: Directions tried through each sample.
ANGLES = 72


def crease_search(
    model: nn.Module,
    place: Place | str,
    X: Floats,
    y: NDArray[np.int64],
    *,
    points: int = 200,
    eps: float = 0.05,
    seed: int = 0,
) -> Proposal:
    """Propose the unit, of many with creases through samples, whose output weights get the largest gradient.

    Creases pass through ``points`` samples drawn without replacement (all, if there are fewer), in 72 directions:
    around the circle in the plane, drawn at random in more dimensions. The output weights are eps / sqrt(2) long (eps
    for one output), against the gradient; the gain is to first order.

    Parameters
    ----------
    model, place
        A classifier and its first hidden layer, which feeds the logits, or a later one of a deeper network.
    X, y
        Samples (n, d) and their classes (n,).
    """
    check_count(points, "points")
    check_number(eps, "eps", above=0)
    place = find_place(model, place)
    subnet = subnetwork_at(model, place)
    inputs = np.asarray(X, np.float64)
    state = decisions(subnet.outputs(inputs), y)
    error = state.p - np.eye(state.p.shape[1])[state.true]
    error = error if subnet.net.n_out > 1 else error[:, 1:]
    slopes = error  # (n, o) of each loss by the values that the new unit feeds
    if not subnet.feeds_output:
        view = subnet.view(inputs)
        slopes = np.column_stack([(error * view.slopes(v)).sum(axis=1) for v in np.eye(subnet.fan_out_size)])
    rng = np.random.default_rng(seed)
    different = np.unique(inputs, axis=0)  # so that repeated samples make no difference
    through = different[rng.choice(len(different), min(points, len(different)), replace=False)]
    best, x_f, u, gradient = -1.0, through[0], through[0], slopes[0]
    for point in through:
        tried = _directions(inputs.shape[1], rng)
        gradients = unit_values(inputs - point, tried, subnet.leak).T @ slopes / len(inputs)  # (k, o)
        size = np.linalg.norm(gradients, axis=1)
        i = int(size.argmax())
        if size[i] > best:
            best, x_f, u, gradient = float(size[i]), point, tried[i], gradients[i]
    length = eps if subnet.net.n_out == 1 else eps * 0.5**0.5
    out = -length * gradient / (best or 1.0)
    w = subnet.row_norm * u
    return Proposal(
        method="search",
        place=place,
        fan_in=torch.from_numpy(w)[None],
        bias=torch.tensor([-(w @ x_f)], dtype=torch.float64),
        fan_out={place.consumers[0].path: torch.from_numpy(out)[:, None]},
        gain=subnet.row_norm * length * best,
        explanation={
            "method": "search",
            "place": place.name,
            "reason": "",
            "crease": {"normal": u.tolist(), "offset": -float(u @ x_f), "length": subnet.row_norm},
            "gradient": best,
            "tried": len(through) * len(tried),
        },
    )


def _directions(d: int, rng: np.random.Generator) -> Floats:
    """Return directions (k, d) of length 1."""
    if d == 1:
        return np.array([[1.0], [-1.0]])
    if d == 2:
        angle = 2 * np.pi * np.arange(ANGLES) / ANGLES
        return np.column_stack([np.cos(angle), np.sin(angle)])
    normal = rng.normal(size=(ANGLES, d))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))
