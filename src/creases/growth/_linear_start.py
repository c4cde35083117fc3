"""The network that an estimator begins with: hidden layers that, at first, do no more than pass a linear map on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def linear_start(inputs: int, hidden: Sequence[int], outputs: int, *, live: Tensor, seed: int) -> nn.Sequential:
    """A network of relu layers in float64 whose units come in mirrored pairs ``relu(a), relu(-a)``.

    As ``relu(a) - relu(-a) = a``, it is a linear function at the start (of odd widths, but for the last unit of a
    layer): at every input one unit of a pair is active, so nothing is dead.

    Parameters
    ----------
    hidden
        Widths of the hidden layers.
    live
        (inputs,) bool: inputs that vary. The others get weight 0, so that they never count.

    Examples
    --------
    >>> model = linear_start(3, (4,), 2, live=torch.ones(3, dtype=torch.bool), seed=0)
    >>> x = torch.ones(1, 3).double()
    >>> bool(torch.allclose(model(-x), -model(x)))
    True
    """
    numbers = torch.Generator().manual_seed(seed)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    reading = torch.diag(live.double())  # (signals, width): how the signals are had from what a layer gives
    for k, width in enumerate(hidden, 1):
        pairs = -(-width // 2)
        signals = _drawn(pairs, reading, 2.0, numbers)
        suffix = str(k) if len(hidden) > 1 else ""
        layers[f"hidden{suffix}"] = _layer(torch.cat([signals, -signals])[:width])
        layers[f"bend{suffix}"] = nn.ReLU()
        eye = torch.eye(pairs, dtype=torch.float64)
        reading = torch.cat([eye, -eye], 1)[:, :width]
    layers["output"] = _layer(_drawn(outputs, reading, 0.25, numbers))
    return nn.Sequential(layers)


def _drawn(count: int, reading: Tensor, variance: float, numbers: torch.Generator) -> Tensor:
    """Weights (count, width) of mixes, drawn at random, of what ``reading`` (signals, width) has from a layer."""
    mix = torch.randn(count, len(reading), generator=numbers, dtype=torch.float64)
    return torch.mul(mix @ reading, (variance / max(len(reading), 1)) ** 0.5)


def _layer(weight: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64, device="meta")  # draws no numbers
    layer.to_empty(device="cpu")
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.zero_()
    return layer
