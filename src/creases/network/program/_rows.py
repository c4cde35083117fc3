"""The weights into and out of each unit of a network's bends, where dense layers are beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats

if TYPE_CHECKING:
    from creases.network._network import Network


def incoming_weights(net: Network, bend: int) -> Floats | None:
    """Weights and bias (units, inputs + 1) of what enters a bend of ReLUs; None unless a dense layer makes it."""
    step = net.steps[net.bends[bend]]
    before = step.inputs[0] - 1
    if step.op != "relu" or before < 0 or len(step.shape) != 1:
        return None
    layer = net.steps[before]
    if layer.op != "linear" or layer.shape != step.shape:
        return None
    weight = layer.tensors["weight"].detach().cpu().double().numpy()
    bias = np.zeros(len(weight)) if layer.offset is None else layer.offset.detach().cpu().double().numpy()
    return np.column_stack([weight, np.broadcast_to(bias, len(weight))])


def outgoing_weights(net: Network, bend: int) -> Floats | None:
    """Weights (units, readers' outputs) with which dense layers read a bend; None where anything else reads it."""
    at = net.bends[bend]
    if len(net.steps[at].shape) != 1:
        return None
    readers = [step for step in net.steps if at + 1 in step.inputs]
    if not readers or any(step.op != "linear" for step in readers):
        return None
    return np.concatenate([step.tensors["weight"].detach().cpu().double().numpy().T for step in readers], axis=1)
