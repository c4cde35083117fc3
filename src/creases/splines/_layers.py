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
    """From the input to the units, and from the units to the output."""

    enter: nn.Linear
    leave: nn.Linear


def hidden_layers(model: nn.Module) -> Layers:
    """The two layers of a model with one hidden layer, which must be all there is around its bend."""
    if not isinstance(model, nn.Module):
        raise InputError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    found = coefficients(read(model))  # refuses deep networks and several outputs
    hidden = places(model)
    if len(hidden) == 1 and len(hidden[0].consumers) == 1 and len(found.v):
        enter, leave = (model.get_submodule(path) for path in (hidden[0].name, hidden[0].consumers[0].path))
        if isinstance(enter, nn.Linear) and isinstance(leave, nn.Linear):
            if enter.bias is None:
                raise InputError(
                    f"model: layer {hidden[0].name!r} has no bias, so every breakpoint is at 0; give it one"
                )
            same = [(enter.weight, found.W), (enter.bias, found.b), (leave.weight[0], found.v)]
            if all(
                parameter_array(ours).shape == read_.shape and (parameter_array(ours) == read_).all()
                for ours, read_ in same
            ):
                return Layers(enter, leave)
    raise InputError(
        "model: expected one hidden layer: nn.Linear on the input, a ReLU or leaky ReLU, nn.Linear to the output, with "
        "nothing that changes values between them (batch norm, scaling, clamps)"
    )


def parameter_array(parameter: Tensor) -> Floats:
    """A parameter's values, as an array of its own."""
    return parameter.detach().double().cpu().numpy().copy()


def write_parameter(parameter: Tensor, values: Floats) -> None:
    """Give a parameter new values, in place."""
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.asarray(values)))
