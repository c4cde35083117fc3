"""Networks with fewer units, as slices of stacked arrays."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from torch import nn

from creases._arguments import check_arguments
from creases._schema import instance
from creases._typing import Ints
from creases._validation import check_count
from creases.errors import InputError
from creases.lab import Batch
from creases.network import as_network


def as_batch(model: Any) -> Batch:
    """Return a batch, or one of a single model: linear layers with ReLUs (or leaky ones) between."""
    if not isinstance(model, Batch | nn.Module):
        model = as_network(model).module()
    if isinstance(model, Batch):
        batch = model
    elif isinstance(model, nn.Sequential) and len(model) and isinstance(model[0], nn.Linear):
        dtype = np.float64 if str(model[0].weight.dtype) == "torch.float64" else np.float32
        batch = Batch.from_modules([model], dtype=dtype)
    else:
        raise InputError(
            "model",
            "be a lab.Batch or a torch.nn.Sequential of linear layers with bends between",
            type(model).__name__,
        )
    if not batch.count:
        raise InputError("model", "have at least one network", "an empty batch")
    if not all(np.isfinite(part).all() for part in (*batch.weights, *batch.biases)):
        raise InputError("model", "have finite weights", "NaN or infinite ones")
    return batch


def select_units(batch: Batch, n: int, layer: int, units: Ints) -> Batch:
    """Return network n with only some units of a hidden layer, for each choice (c, k) of them: c networks."""
    count = len(units)
    weights = [np.broadcast_to(W[n], (count, *W[n].shape)) for W in batch.weights]
    biases = [np.broadcast_to(b[n], (count, *b[n].shape)) for b in batch.biases]
    weights[layer], biases[layer] = batch.weights[layer][n][units], batch.biases[layer][n][units]
    after = batch.weights[layer + 1][n]  # (out, width)
    weights[layer + 1] = np.ascontiguousarray(after[:, units].swapaxes(0, 1))  # (c, out, k)
    return Batch(tuple(weights), tuple(biases), batch.leak)


@check_arguments(batch=instance("Batch"))
def sub_networks(batch: Batch, k: int) -> Batch:
    """Return all sub-networks with k units of a network with one hidden layer, in the order of combinations."""
    if check_count(k, "k") > batch.widths[1]:
        raise InputError("k", f"be at most {batch.widths[1]}, the number of hidden units", f"{k}")
    return select_units(batch, 0, 0, np.array(list(combinations(range(batch.widths[1]), k))))


def without_each(batch: Batch, n: int, layer: int) -> Batch:
    """Return network n without each unit of a hidden layer in turn: as many networks as the layer has units.

    Removing the only unit of a layer removes the layer: the unit's bend is dropped, and the layers before and after
    become one, ``(W_2 W_1, W_2 b_1 + b_2)``. Where the unit is always on this is the same function.
    """
    width = batch.widths[layer + 1]
    if width > 1:
        units = np.array([[u for u in range(width) if u != removed] for removed in range(width)])
        return select_units(batch, n, layer, units)
    first, second = batch.weights[layer][n : n + 1], batch.weights[layer + 1][n : n + 1]
    product = second @ first
    offset = (second @ batch.biases[layer][n : n + 1, :, None])[..., 0] + batch.biases[layer + 1][n : n + 1]
    weights = [W[n : n + 1] for W in batch.weights]
    biases = [b[n : n + 1] for b in batch.biases]
    weights[layer : layer + 2], biases[layer : layer + 2] = [product], [offset]
    return Batch(tuple(weights), tuple(biases), batch.leak)
