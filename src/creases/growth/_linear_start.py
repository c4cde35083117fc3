"""The network that a growth run on a table starts from: a linear function in the form of a ReLU network."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def linear_start(
    n_inputs: int, hidden: Sequence[int], n_outputs: int, *, live: Tensor | None = None, seed: int = 0
) -> nn.Sequential:
    """Return a network of ReLU layers, in float64, whose units come in mirrored pairs ``relu(a), relu(-a)``.

    As ``relu(a) - relu(-a) = a``, it is a linear function at the start (for odd widths, except for the last unit of a
    layer): at every input one unit of a pair is active, so no unit is dead. The layers are ``hidden1``, ``bend1``,
    ``hidden2``, ..., ``output``.

    Parameters
    ----------
    n_inputs, hidden, n_outputs
        Number of inputs, widths of the hidden layers, number of outputs.
    live
        (n_inputs,) bool: inputs that vary; the others get weight 0. By default all do.
    seed
        Seed of the weights.

    Examples
    --------
    >>> model = linear_start(3, (4,), 2)
    >>> x = torch.ones(1, 3).double()
    >>> bool(torch.allclose(model(-x), -model(x)))
    True
    """
    numbers = torch.Generator().manual_seed(seed)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    live = torch.ones(n_inputs, dtype=torch.bool) if live is None else live
    reading = torch.diag(live.double())  # (signals, width): the signals as functions of a layer's outputs
    for k, width in enumerate(hidden, 1):
        pairs = -(-width // 2)
        signals = _draw_weights(pairs, reading, 2.0, numbers)
        layers[f"hidden{k}"] = _make_layer(torch.cat([signals, -signals])[:width])
        layers[f"bend{k}"] = nn.ReLU()
        eye = torch.eye(pairs, dtype=torch.float64)
        reading = torch.cat([eye, -eye], 1)[:, :width]
    layers["output"] = _make_layer(_draw_weights(n_outputs, reading, 0.25, numbers))
    return nn.Sequential(layers)


def _draw_weights(count: int, reading: Tensor, variance: float, numbers: torch.Generator) -> Tensor:
    """Return weights (count, width) of random mixtures of the signals that ``reading`` (signals, width) gives."""
    mix = torch.randn(count, len(reading), generator=numbers, dtype=torch.float64)
    return torch.mul(mix @ reading, (variance / max(len(reading), 1)) ** 0.5)


def _make_layer(weight: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64, device="meta")  # draws no numbers
    layer.to_empty(device="cpu")
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.zero_()
    return layer
