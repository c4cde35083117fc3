"""The two layers around the bend of a torch module with one hidden layer, and their weights as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from creases._typing import Floats
from creases.errors import InputError
from creases.network import places, read
from creases.splines._coefficients import coefficients


class Layers(NamedTuple):
    """The layer from the input to the units, and the one from the units to the output."""

    enter: nn.Linear
    leave: nn.Linear


def hidden_layers(model: nn.Module) -> Layers:
    """Return the two linear layers of a model with one hidden layer; nothing else may change values around its bend."""
    if not isinstance(model, nn.Module):
        raise InputError("model", "be a torch.nn.Module", type(model).__name__)
    weights = coefficients(read(model))  # refuses deep networks and several outputs
    hidden = places(model)
    if len(hidden) == 1 and len(hidden[0].consumers) == 1 and len(weights.v):
        enter, leave = (model.get_submodule(path) for path in (hidden[0].name, hidden[0].consumers[0].path))
        if isinstance(enter, nn.Linear) and isinstance(leave, nn.Linear):
            if enter.bias is None:
                raise InputError(
                    "model",
                    "have a bias in its first layer",
                    f"none in {hidden[0].name!r}",
                    "all breakpoints would be at 0",
                )
            same = [(enter.weight, weights.W), (enter.bias, weights.b), (leave.weight[0], weights.v)]
            if all(
                parameter_array(ours).shape == read_.shape and (parameter_array(ours) == read_).all()
                for ours, read_ in same
            ):
                return Layers(enter, leave)
    raise InputError(
        "model",
        "have one hidden layer: nn.Linear, a ReLU or leaky ReLU, nn.Linear to the output, with nothing that changes "
        "values between them (batch norm, scaling, clamps)",
    )


def parameter_array(parameter: Tensor) -> Floats:
    """Return a copy of a parameter's values as a float64 array."""
    return parameter.detach().double().cpu().numpy().copy()


def write_parameter(parameter: Tensor, values: Floats) -> None:
    """Overwrite the values of a parameter in place."""
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.asarray(values)))
