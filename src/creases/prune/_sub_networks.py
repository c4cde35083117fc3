"""Networks with fewer units, cut out of stacked arrays."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from torch import nn

from creases._typing import Ints
from creases.errors import InputError
from creases.lab import Batch


def as_batch(model: Any, name: str = "model") -> Batch:
    """A batch, or that of one torch module: linear layers with ReLUs (or leaky ones) between."""
    if isinstance(model, Batch):
        found = model
    elif isinstance(model, nn.Sequential) and len(model) and isinstance(model[0], nn.Linear):
        dtype = np.float64 if str(model[0].weight.dtype) == "torch.float64" else np.float32
        found = Batch.from_modules([model], dtype=dtype)
    else:
        raise InputError(
            f"{name}: expected a lab.Batch or a torch.nn.Sequential of linear layers with bends between, got "
            f"{type(model).__name__}"
        )
    if not found.count:
        raise InputError(f"{name}: expected at least one network, got an empty batch")
    if not all(np.isfinite(part).all() for part in (*found.weights, *found.biases)):
        raise InputError(f"{name}: has NaN or infinite weights")
    return found


def select_units(batch: Batch, n: int, layer: int, units: Ints) -> Batch:
    """Network n with only some units of a hidden layer, for each choice (c, k) of them: c networks."""
    count = len(units)
    weights = [np.broadcast_to(W[n], (count, *W[n].shape)) for W in batch.weights]
    biases = [np.broadcast_to(b[n], (count, *b[n].shape)) for b in batch.biases]
    weights[layer], biases[layer] = batch.weights[layer][n][units], batch.biases[layer][n][units]
    after = batch.weights[layer + 1][n]  # (out, width)
    weights[layer + 1] = np.ascontiguousarray(after[:, units].swapaxes(0, 1))  # (c, out, k)
    return Batch(tuple(weights), tuple(biases), batch.leak)


def sub_networks(batch: Batch, k: int) -> Batch:
    """All sub-networks with k units of a network with one hidden layer, ordered as ``itertools.combinations``."""
    return select_units(batch, 0, 0, np.array(list(combinations(range(batch.widths[1]), k))))


def without_each(batch: Batch, n: int, layer: int) -> Batch:
    """Network n without each unit of a hidden layer in turn: as many networks as the layer has units.

    The only unit of a layer takes the layer with it: the unit's bend is left out, so that the layers before and after
    are one, ``(W_2 W_1, W_2 b_1 + b_2)``. Where the unit is always on this is the same function.
    """
    width = batch.widths[layer + 1]
    if width > 1:
        units = np.array([[u for u in range(width) if u != gone] for gone in range(width)])
        return select_units(batch, n, layer, units)
    first, second = batch.weights[layer][n : n + 1], batch.weights[layer + 1][n : n + 1]
    joined = second @ first
    offset = (second @ batch.biases[layer][n : n + 1, :, None])[..., 0] + batch.biases[layer + 1][n : n + 1]
    weights = [W[n : n + 1] for W in batch.weights]
    biases = [b[n : n + 1] for b in batch.biases]
    weights[layer : layer + 2], biases[layer : layer + 2] = [joined], [offset]
    return Batch(tuple(weights), tuple(biases), batch.leak)
