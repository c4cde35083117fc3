"""A search over creases anywhere, by the size of the gradient they would get: a baseline that cannot say why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth.methods._fold.direction import ANGLES, unit_values
from creases.growth.methods._fold.predictions import Decisions, Residuals, decisions, residuals
from creases.growth.methods._fold.subnetwork import Subnetwork, layer_inputs, subnetwork_at
from creases.network.surgery import Place, find_place, unwrap_module


def crease_search(
    model: nn.Module,
    place: Place | str,
    X: Any,
    y: Any,
    *,
    loss: Literal["classification", "regression"] = "classification",
    points: int = 200,
    eps: float = 0.05,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
) -> Proposal:
    """Propose the unit, of many with creases through instances, whose output weights get the largest gradient.

    Creases pass through ``points`` instances drawn without replacement (all, if there are fewer), in 72 directions:
    around the circle in the plane, drawn at random in more dimensions. The output weights are eps / sqrt(2) long (eps
    for one output), against the gradient; the gain is to first order. Arguments as for :func:`creases.growth.methods.fold`.
    """
    if points < 1 or not 0 < eps < np.inf:
        raise InputError(f"points, eps: expected at least 1 and a number above 0, got {points} and {eps}")
    if loss not in ("classification", "regression"):
        raise InputError(f"loss: expected 'classification' or 'regression', got {loss!r}")
    model = unwrap_module(model)
    place = find_place(model, place, input_shape)
    tail = subnetwork_at(model, place, input_shape)
    _, inputs = layer_inputs(tail, X)
    outputs = tail.outputs(inputs)
    state = (decisions if loss == "classification" else residuals)(outputs, y, weight)
    slopes = state.weight[:, None] * _slopes(tail, inputs, state)
    rng = np.random.default_rng(seed)
    different = np.unique(inputs, axis=0)  # so that it makes no difference how often an instance comes
    through = different[rng.choice(len(different), min(points, len(different)), replace=False)]
    best, x_f, u, gradient = -1.0, through[0], through[0], slopes[0]
    for point in through:
        tried = _directions(inputs.shape[1], rng)
        gradients = unit_values(inputs - point, tried, tail.leak).T @ slopes / len(inputs)  # (k, o)
        size = np.linalg.norm(gradients, axis=1)
        i = int(size.argmax())
        if size[i] > best:
            best, x_f, u, gradient = float(size[i]), point, tried[i], gradients[i]
    length = eps if tail.net.n_out == 1 else eps * 0.5**0.5
    out = -length * gradient / (best or 1.0)
    w = tail.row_norm * u
    return Proposal(
        method="search",
        place=place,
        fan_in=torch.from_numpy(w)[None],
        bias=torch.tensor([-(w @ x_f)], dtype=torch.float64),
        fan_out={place.consumers[0].path: torch.from_numpy(out)[:, None]},
        gain=tail.row_norm * length * best,
        explanation={
            "method": "search",
            "place": place.name,
            "reason": "",
            "crease": {"normal": u.tolist(), "offset": -float(u @ x_f), "length": tail.row_norm},
            "gradient": best,
            "tried": len(through) * len(tried),
        },
    )


def _slopes(tail: Subnetwork, X: Floats, state: Decisions | Residuals) -> Floats:
    """Gradient (n, o) of each loss by what the new unit feeds."""
    if isinstance(state, Decisions):
        error = state.p - np.eye(state.p.shape[1])[state.true]
        error = error if tail.net.n_out > 1 else error[:, 1:]
    else:
        error = state.e
    if tail.direct:
        return error
    columns = [(error * tail.slopes(X, v)).sum(axis=1) for v in np.eye(tail.fan_out_size)]
    return np.column_stack(columns)


def _directions(d: int, rng: np.random.Generator) -> Floats:
    """Directions (k, d) of length 1."""
    if d == 1:
        return np.array([[1.0], [-1.0]])
    if d == 2:
        angle = 2 * np.pi * np.arange(ANGLES) / ANGLES
        return np.column_stack([np.cos(angle), np.sin(angle)])
    drawn = rng.normal(size=(ANGLES, d))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
