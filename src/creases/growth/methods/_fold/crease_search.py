"""A search over creases through samples, by the gradient they would get: a baseline without a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases._validation import check_choice, check_count, check_number
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence, drop_unweighted, task_of
from creases.growth.methods._fold.direction import ANGLES, unit_values
from creases.growth.methods._fold.predictions import Decisions, Residuals, decisions, residuals
from creases.growth.methods._fold.subnetwork import Subnetwork, layer_inputs, subnetwork_at
from creases.network.surgery import Place, copy_sharing_parameters, find_place, unwrap_module


@dataclass(frozen=True)
class CreaseSearch:
    """Growth by the crease, of many, with the largest gradient; see :func:`crease_search`."""

    points: int = 200
    eps: float = 0.05
    max_samples: int = 10_000  #: the same ones in every growth step

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        arrays, task = drop_unweighted(evidence.samples.arrays(self.max_samples)), task_of(evidence, "search")
        options: dict[str, Any] = {"points": self.points, "eps": self.eps, "seed": evidence.seed}
        model = copy_sharing_parameters(model)
        return crease_search(model, place, arrays.X, arrays.y, loss=task, weight=arrays.weight, **options)


def crease_search(
    model: nn.Module,
    place: Place | str,
    X: Any,
    y: Any,
    *,
    loss: Literal["classification", "regression"] = "classification",
    points: int = CreaseSearch.points,
    eps: float = CreaseSearch.eps,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
) -> Proposal:
    """Propose the unit, of many with creases through samples, whose output weights get the largest gradient.

    Creases pass through ``points`` samples drawn without replacement (all, if there are fewer), in 72 directions:
    around the circle in the plane, drawn at random in more dimensions. The output weights are eps / sqrt(2) long (eps
    for one output), against the gradient; the gain is to first order. Other arguments are
    those of :func:`creases.growth.methods.fold`.
    """
    check_count(points, "points")
    check_number(eps, "eps", above=0)
    check_choice(loss, ("classification", "regression"), "loss")
    model = unwrap_module(model)
    place = find_place(model, place, input_shape)
    subnet = subnetwork_at(model, place, input_shape)
    _, inputs = layer_inputs(subnet, X)
    outputs = subnet.outputs(inputs)
    state = (decisions if loss == "classification" else residuals)(outputs, y, weight)
    slopes = state.weight[:, None] * _slopes(subnet, inputs, state)
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


def _slopes(subnet: Subnetwork, X: Floats, state: Decisions | Residuals) -> Floats:
    """Return the gradient (n, o) of each loss by the values that the new unit feeds."""
    if isinstance(state, Decisions):
        error = state.p - np.eye(state.p.shape[1])[state.true]
        error = error if subnet.net.n_out > 1 else error[:, 1:]
    else:
        error = state.e
    if subnet.feeds_output:
        return error
    columns = [(error * subnet.slopes(X, v)).sum(axis=1) for v in np.eye(subnet.fan_out_size)]
    return np.column_stack(columns)


def _directions(d: int, rng: np.random.Generator) -> Floats:
    """Return directions (k, d) of length 1."""
    if d == 1:
        return np.array([[1.0], [-1.0]])
    if d == 2:
        angle = 2 * np.pi * np.arange(ANGLES) / ANGLES
        return np.column_stack([np.cos(angle), np.sin(angle)])
    normal = rng.normal(size=(ANGLES, d))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))
