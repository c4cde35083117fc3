"""The network that a growth run on a table starts from: a linear function in the form of a ReLU network."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear function ``mixture @ (signals @ x) + offset``; each signal takes a mirrored pair of units."""

    signals: Tensor  #: (s, d)
    mixture: Tensor  #: (m, s)
    offset: Tensor  #: (m,)

    @classmethod
    def from_weights(cls, weight: Tensor, offset: Tensor) -> LinearModel:
        """Return the function ``weight @ x + offset`` with weights (m, d), split evenly over both layers of a pair.

        Two classes have one signal: their difference. A row of zeros stays one, of a signal along the first input.
        """
        mixture = torch.eye(len(weight), dtype=torch.float64)
        if len(weight) == 2 and bool((weight[0] == -weight[1]).all()):
            weight, mixture = weight[1:], torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
        size = weight.norm(dim=1, keepdim=True).sqrt()
        along = torch.eye(1, weight.shape[1], dtype=torch.float64)
        signals = torch.where(size > 1e-6, weight / size.clamp_min(1e-6), along)
        return cls(signals, mixture * torch.where(size > 1e-6, size, 0.0).T, offset)

    def fits(self, hidden: Sequence[int]) -> bool:
        """Return whether layers of these widths have a pair of units for each signal."""
        return all(width // 2 >= len(self.signals) for width in hidden)


def linear_start(
    n_inputs: int,
    hidden: Sequence[int],
    n_outputs: int,
    *,
    linear: LinearModel | None = None,
    live: Tensor | None = None,
    seed: int = 0,
) -> nn.Sequential:
    """Return a network of ReLU layers, in float64, whose units come in mirrored pairs ``relu(a), relu(-a)``.

    As ``relu(a) - relu(-a) = a``, it is a linear function at the start (for odd widths, except for the last unit of a
    layer): at every input one unit of a pair is active, so no unit is dead. The layers are ``hidden1``, ``bend1``,
    ``hidden2``, ..., ``output``.

    Parameters
    ----------
    n_inputs, hidden, n_outputs
        Number of inputs, widths of the hidden layers, number of outputs.
    linear
        The linear function to start as, in as many pairs as it has signals; layers too narrow for it start at random.
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
    linear = linear if linear is not None and linear.fits(hidden) else None
    reading = torch.diag(live.double())  # (signals, width): the signals as functions of a layer's outputs
    for k, width in enumerate(hidden, 1):
        pairs = -(-width // 2)
        signals = _draw_weights(pairs, reading, 2.0, numbers)
        if linear is not None:
            count = len(linear.signals)
            signals[:count] = linear.signals if k == 1 else reading[:count]
        layers[f"hidden{k}"] = _make_layer(torch.cat([signals, -signals])[:width])
        layers[f"bend{k}"] = nn.ReLU()
        eye = torch.eye(pairs, dtype=torch.float64)
        reading = torch.cat([eye, -eye], 1)[:, :width]
    output = _draw_weights(n_outputs, reading, 0.25, numbers)
    if linear is not None:
        output = linear.mixture @ reading[: len(linear.signals)]
    layers["output"] = _make_layer(output, None if linear is None else linear.offset)
    return nn.Sequential(layers)


def _draw_weights(count: int, reading: Tensor, variance: float, numbers: torch.Generator) -> Tensor:
    """Return weights (count, width) of random mixtures of the signals that ``reading`` (signals, width) gives."""
    mix = torch.randn(count, len(reading), generator=numbers, dtype=torch.float64)
    return torch.mul(mix @ reading, (variance / max(len(reading), 1)) ** 0.5)


def _make_layer(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    with torch.random.fork_rng(devices=()):  # the numbers that it draws are replaced
        layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(torch.zeros(len(weight)) if bias is None else bias)
    return layer
