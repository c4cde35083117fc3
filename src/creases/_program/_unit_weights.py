"""The incoming and outgoing weights of units between dense layers."""

from __future__ import annotations

import numpy as np

from creases._program._program import Program
from creases._typing import Floats


def incoming_weights(program: Program, bend: int) -> Floats | None:
    """Return the weights and biases (units, inputs + 1) of a ReLU layer; None unless a dense layer precedes it."""
    step = program.steps[program.bends[bend]]
    before = step.inputs[0] - 1
    if step.op != "relu" or before < 0 or len(step.shape) != 1:
        return None
    layer = program.steps[before]
    if layer.op != "linear" or layer.shape != step.shape:
        return None
    weight = layer.tensors["weight"].detach().cpu().double().numpy()
    bias = np.zeros(len(weight)) if layer.offset is None else layer.offset.detach().cpu().double().numpy()
    return np.column_stack([weight, np.broadcast_to(bias, len(weight))])


def outgoing_weights(program: Program, bend: int) -> Floats | None:
    """Return the weights (units, outputs) of the dense layers that read a bend; None if anything else reads it."""
    at = program.bends[bend]
    if len(program.steps[at].shape) != 1:
        return None
    readers = [step for step in program.steps if at + 1 in step.inputs]
    if not readers or any(step.op != "linear" for step in readers):
        return None
    return np.concatenate([step.tensors["weight"].detach().cpu().double().numpy().T for step in readers], axis=1)
