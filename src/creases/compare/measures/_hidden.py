"""Similarity of networks by the activations of their hidden layers: CKA layer by layer."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import propagate
from creases.compare.measures._cka import cka_matrix
from creases.errors import InputError
from creases.network import Network, PointsLike, as_network


def hidden_activations(net: Network, X: PointsLike) -> dict[str, Tensor]:
    """Return the values (p, units) of every bend at samples, by its name in the model, and the ``"output"``."""
    net = as_network(net)
    samples, _ = net.as_batch(X, "X")
    activations: dict[str, Tensor] = {}

    def apply(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        value = step.apply(inputs)
        if step.is_bend:
            name = step.path if step.path not in activations else f"{step.path} (step {i})"
            activations[name] = value.flatten(1)
        return value

    with torch.no_grad():
        activations["output"] = propagate(net, {0: samples}, apply)[len(net.steps)].flatten(1)
    return activations


def hidden_cka(
    a: Network, b: Network, X: PointsLike, *, unbiased: bool = False
) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return the CKA of every bend of one network with every bend of the other.

    Returns
    -------
    names of a's bends, names of b's bends, CKA (bends of a, bends of b)
    """
    first, second = hidden_activations(a, X), hidden_activations(b, X)
    if len(first["output"]) != len(second["output"]):
        raise InputError("X", "be the same samples for both networks")
    every = cka_matrix([*first.values(), *second.values()], unbiased=unbiased)
    return [*first], [*second], every[: len(first), len(first) :]
