"""Similarity of networks by what their hidden layers give, as is common practice: CKA layer by layer."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.compare.measures._cka import cka_matrix
from creases.errors import InputError
from creases.network import Network, PointsLike
from creases.network.program import propagate


def hidden_activations(net: Network, x: PointsLike) -> dict[str, Tensor]:
    """What every bend gives at samples (p, units), by its place in the model, and the output as ``"output"``."""
    samples, _ = net.as_batch(x)
    kept: dict[str, Tensor] = {}

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        value = step.apply(inputs)
        if step.is_bend:
            name = step.path if step.path not in kept else f"{step.path} (step {i})"
            kept[name] = value.flatten(1)
        return value

    with torch.no_grad():
        kept["output"] = propagate(net, {0: samples}, through)[len(net.steps)].flatten(1)
    return kept


def hidden_cka(
    a: Network, b: Network, x: PointsLike, *, unbiased: bool = False
) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """CKA of every bend of one network with every bend of the other: their names, and (bends of a, bends of b)."""
    first, second = hidden_activations(a, x), hidden_activations(b, x)
    if len(first["output"]) != len(second["output"]):
        raise InputError("x: expected the same samples for both networks")
    joined = cka_matrix([*first.values(), *second.values()], unbiased=unbiased)
    return [*first], [*second], joined[: len(first), len(first) :]
